"""Commits onto a branch that others write to as well.

Read the tip, ask what should change on it, make the commits, and move the branch only if it still
is where it was read. If somebody was faster, everything starts again on the new tip: texts are
never merged.

A push without an answer may have been applied, or may be applied yet. So before anything is done
again, what was sent is looked for in the branch, and if the branch has not moved, the very same
commits are sent again: a second copy of them cannot come to be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from gati_gitops.errors import GatiError, Outside
from gati_gitops.repo.commit import Draft, Signature, Signer, create_commit
from gati_gitops.repo.failures import Lost, Transient, Unclear, Unreachable
from gati_gitops.repo.heads import HEADS, Move
from gati_gitops.repo.notes import add_notes
from gati_gitops.repo.objects import Damaged, Objects
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.retry import Retry
from gati_gitops.repo.settle import landed
from gati_gitops.repo.steps import step
from gati_gitops.repo.trees import write_tree

__all__ = [
    "Draft",
    "Retry",
    "Signature",
    "Written",
    "delete_branch",
    "push_branch",
    "write",
    "write_notes",
]

Propose = Callable[[Tip], Sequence[Draft]]
"""What should come on top of a tip. Asked again when the tip has moved; nothing ends the work."""
Clock = Callable[[], float]
Still = Callable[[], bool]
"""Whether what was proposed may still be done; asked right before it is sent."""


@dataclass(frozen=True, slots=True)
class Written:
    """What came of it."""

    commits: tuple[str, ...]
    """Ours, oldest first; none if there was nothing to do."""
    tip: str
    attempts: int


def write(
    repository: Repository,
    propose: Propose,
    *,
    branch: str | None = None,
    author: Signature,
    committer: Signature | None = None,
    signer: Signer | None = None,
    retry: Retry | None = None,
    note_ref: str | None = None,
    clock: Clock = time.time,
    still: Still | None = None,
) -> Written:
    """Put what ``propose`` wants onto a branch, once; ``note_ref`` takes the notes of drafts.

    What ``still`` says no to is not sent: it is proposed again, as if the race had been lost.
    """
    hand = _Hand(author, committer or author, signer, clock)
    still = still or (lambda: True)
    return _Writing(repository, propose, branch, hand, retry or Retry(), note_ref, still).run()


def push_branch(
    repository: Repository,
    branch: str,
    drafts: Sequence[Draft],
    *,
    base: Tip,
    expected_old: str,
    author: Signature,
    committer: Signature | None = None,
    signer: Signer | None = None,
    retry: Retry | None = None,
    clock: Clock = time.time,
) -> str:
    """Make a branch of our own (for a pull request) these drafts on a base, whatever it was before.

    Only if it is at ``expected_old`` (empty: not there), so nobody's push is thrown away unseen:
    Lost otherwise.
    """
    hand = _Hand(author, committer or author, signer, clock)
    commits = _commits(base, drafts, hand, durable=not repository.address.is_remote)
    new = commits[-1] if commits else base.commit
    if new != expected_old:
        move = Move(f"{HEADS}{branch}", expected_old, new, force=True)
        _move(repository, move, retry or Retry())
    return new


def delete_branch(
    repository: Repository, branch: str, expected_old: str, *, retry: Retry | None = None
) -> None:
    """Take a branch of our own away, if it still is at ``expected_old``: Lost otherwise."""
    _move(repository, Move(f"{HEADS}{branch}", expected_old, ""), retry or Retry())


def write_notes(
    repository: Repository,
    ref: str,
    notes: Mapping[str, bytes],
    *,
    author: Signature,
    retry: Retry | None = None,
    clock: Clock = time.time,
) -> None:
    """Put notes on commits that are there already; those that are the same are not written."""
    _write_notes(repository, ref, notes, _Hand(author, author, None, clock), retry or Retry())


@dataclass(frozen=True, slots=True)
class _Hand:
    """Who commits, and how."""

    author: Signature
    committer: Signature
    signer: Signer | None
    clock: Clock


@dataclass(frozen=True, slots=True)
class _Chain:
    """Commits of ours on a base."""

    base: str
    commits: tuple[str, ...]
    notes: dict[str, bytes]


class _Writing:
    """One write, over as many attempts as it takes."""

    def __init__(
        self,
        repository: Repository,
        propose: Propose,
        branch: str | None,
        hand: _Hand,
        retry: Retry,
        note_ref: str | None,
        still: Still,
    ) -> None:
        self._repository = repository
        self._propose = propose
        self._branch = branch
        self._hand = hand
        self._retry = retry
        self._note_ref = note_ref
        self._still = still
        self._sent: list[_Chain] = []
        """What a server has got, and may have applied."""
        self._final: GatiError | None = None
        """Why it would be no use to send again what was not applied."""

    def run(self) -> Written:
        end = self._retry.clock() + self._retry.budget
        for attempt in count(1):
            try:
                return self._attempt(attempt)
            except (Lost, Transient, Unclear) as error:
                pause = max(self._retry.pause(attempt), getattr(error, "after", 0.0))
                if isinstance(error, Unreachable) and not self._repository.answered:
                    raise  # A server that has never answered is a wrong address until it does.
                if attempt >= self._retry.attempts or self._retry.clock() + pause > end:
                    return self._last_look(attempt, error)
                self._retry.sleep(pause)
            except Damaged:
                if not self._repository.renew():
                    raise
        raise AssertionError

    def _attempt(self, attempt: int) -> Written:
        tip = self._read()
        if arrived := self._arrived(tip):
            return Written(arrived.commits, tip.commit, attempt)
        if self._final:
            raise self._final
        again = [chain for chain in self._sent if chain.base == tip.commit]
        # one of them at most can get in: both want to move the branch from the same commit
        chain = again[0] if again and self._still() else self._make(tip)
        if chain is None:
            return Written((), tip.commit, attempt)
        self._push(tip, chain)
        return Written(chain.commits, chain.commits[-1], attempt)

    def _read(self) -> Tip:
        repository, branch = self._repository, self._branch
        tip = repository.tip_of(branch) if branch else repository.tip()
        step("after-read")
        return tip

    def _arrived(self, tip: Tip) -> _Chain | None:
        """What was sent without an answer, if the branch has it."""
        for chain in self._sent:
            if landed(self._repository, tip, chain.commits[-1], chain.base):
                self._write_notes(chain)
                return chain
        return None

    def _make(self, tip: Tip) -> _Chain | None:
        drafts = self._propose(tip)
        if not drafts:
            return None
        durable = not self._repository.address.is_remote
        commits = _commits(tip, drafts, self._hand, durable=durable)
        told = zip(commits, drafts, strict=True)
        notes = {commit: draft.note for commit, draft in told if draft.note is not None}
        return _Chain(tip.commit, commits, notes if self._note_ref else {})

    def _push(self, tip: Tip, chain: _Chain) -> None:
        move = Move(f"{HEADS}{tip.branch}", chain.base, chain.commits[-1])
        step("before-swap")
        if not self._still():
            raise Lost("what was to be written rests on what is too old by now", remedy="run again")
        try:
            left = self._repository.side.swap(move, *self._note_moves(chain.notes))
        except Unclear as error:
            self._sent.append(chain)
            self._final = None if isinstance(error.cause, Transient) else error.cause
            raise
        except Lost as error:
            if error.sent:
                self._sent.append(chain)
            raise
        step("after-swap")
        if left:
            self._write_notes(chain)

    def _note_moves(self, notes: Mapping[str, bytes]) -> list[Move]:
        if not self._note_ref:
            return []
        return _note_moves(self._repository, self._note_ref, notes, self._hand)

    def _write_notes(self, chain: _Chain) -> None:
        """Notes that did not get in together with what they are about."""
        if self._note_ref:
            _write_notes(self._repository, self._note_ref, chain.notes, self._hand, self._retry)

    def _last_look(self, attempt: int, error: GatiError) -> Written:
        """No more attempts; yet what was sent before may have arrived."""
        doubt = ""
        for look in range(1, 4 if self._sent else 1):
            try:
                tip = self._read()
                if arrived := self._arrived(tip):
                    return Written(arrived.commits, tip.commit, attempt)
                doubt = ""
                break
            except Transient:
                doubt = "; whether anything was written is not known"
                self._retry.sleep(self._retry.pause(look))
        times = "1 attempt" if attempt == 1 else f"{attempt} attempts"
        raise Outside(
            f"gave up after {times}: {error.message}{doubt}",
            remedy=error.remedy or "others write to this branch without a pause; run again",
        )


def _commits(tip: Tip, drafts: Sequence[Draft], hand: _Hand, *, durable: bool) -> tuple[str, ...]:
    """A chain of commits on a tip, on disk; no branch knows of them yet."""
    tree, parent, made = tip.tree, tip.commit, []
    # History is sorted by time, so nothing may be older than what it stands on.
    now = max(int(hand.clock()), tip.time)
    for draft in drafts:
        tree = draft.tree or write_tree(tip.objects, tree, draft.changes, draft.root)
        parent = create_commit(
            tip.objects,
            tree,
            [parent] if parent else [],
            draft.message,
            author=hand.author,
            committer=hand.committer,
            time=now,
            signer=hand.signer,
        )
        made.append(parent)
    tip.objects.flush(durable=durable)
    return tuple(made)


def _note_moves(
    repository: Repository, ref: str, notes: Mapping[str, bytes], hand: _Hand
) -> list[Move]:
    if not notes:
        return []
    side = repository.side
    old = repository.heads().ref(ref)
    if old:
        side.bring(ref, old)
    objects = Objects(side.git)
    new = add_notes(objects, old, notes, committer=hand.committer, time=int(hand.clock()))
    objects.flush()
    return [] if new == old else [Move(ref, old, new)]


def _write_notes(
    repository: Repository, ref: str, notes: Mapping[str, bytes], hand: _Hand, retry: Retry
) -> None:
    for attempt in range(1, retry.attempts + 1):
        try:
            moves = _note_moves(repository, ref, notes, hand)
            if not moves or not repository.side.swap(*moves):
                return
        except (Lost, Transient, Unclear):
            pass
        retry.sleep(retry.pause(attempt))
    raise Outside(
        f"the commits are on the branch of {repository.address}, but their notes are not",
        remedy=f"look who else writes to {ref}",
    )


def _move(repository: Repository, move: Move, retry: Retry) -> None:
    """Move a reference that is ours alone; an answer that was lost is settled by looking."""
    for attempt in count(1):
        try:
            repository.side.swap(move)
            return
        except (Lost, Transient, Unclear) as error:
            if isinstance(error, Lost) and not error.sent and attempt == 1:
                raise
            if attempt >= retry.attempts:
                raise Outside(
                    f"gave up after {attempt} attempts: {error.message}", remedy=error.remedy
                ) from None
            final = isinstance(error, Unclear) and not isinstance(error.cause, Transient)
            retry.sleep(retry.pause(attempt))
            now = repository.heads().ref(move.ref)
            if now == move.new:
                return
            if now != move.old:
                raise Lost(f"{move.ref} of {repository.address} is at {now or 'nothing'}") from None
            if final:
                raise
