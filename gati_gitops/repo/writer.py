"""Commits onto a branch that others write to as well.

Read the tip, ask what should change on it, make the commits, and move the branch only if it still
is where it was read. If somebody was faster, everything starts again on the new tip: texts are never
merged. A push without an answer is settled by looking at the repository before anything is done
again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gati_gitops.errors import Outside
from gati_gitops.repo.commit import Draft, Signature, Signer, create_commit
from gati_gitops.repo.failures import Lost, Transient
from gati_gitops.repo.heads import HEADS
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.steps import step
from gati_gitops.repo.trees import write_tree

Propose = Callable[[Tip], Sequence[Draft]]


@dataclass(frozen=True, slots=True)
class Retry:
    """How often to start again, and how long to wait before: Kargo's numbers."""

    attempts: int = 10
    first: float = 1.0
    factor: float = 1.5
    jitter: float = 0.5
    cap: float = 30.0
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random

    def pause(self, attempt: int) -> float:
        """Seconds after an attempt that failed; the first is 1."""
        base = min(self.cap, self.first * self.factor ** (attempt - 1))
        return base * (1 + self.jitter * (2 * self.random() - 1))


@dataclass(frozen=True, slots=True)
class Written:
    """What came of it."""

    commits: tuple[str, ...]
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
    clock: Callable[[], float] = time.time,
) -> Written:
    """Put what ``propose`` wants onto a branch; nothing is written if it wants nothing."""
    retry = retry or Retry()
    target = branch or repository.branch
    for attempt in range(1, retry.attempts + 1):
        tip = repository.tip_of(target)
        step("after-read")
        drafts = propose(tip)
        if not drafts:
            return Written((), tip.commit, attempt)
        commits = make_commits(
            tip, drafts, author=author, committer=committer or author, signer=signer, clock=clock
        )
        step("before-swap")
        try:
            repository.side.swap(f"{HEADS}{target}", tip.commit, commits[-1])
        except (Lost, Transient) as error:
            if attempt == retry.attempts:
                raise Outside(f"gave up after {attempt} attempts: {error.message}") from None
            retry.sleep(retry.pause(attempt))
            continue
        step("after-swap")
        return Written(commits, commits[-1], attempt)
    raise AssertionError


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
    clock: Callable[[], float] = time.time,
) -> str:
    """Make a branch of our own (for a pull request) these drafts on a base, whatever it was before.

    Only if it is at ``expected_old`` (empty: not there), so nobody's push is thrown away unseen.
    """
    commits = make_commits(
        base, drafts, author=author, committer=committer or author, signer=signer, clock=clock
    )
    new = commits[-1] if commits else base.commit
    if new != expected_old:
        repository.side.swap(f"{HEADS}{branch}", expected_old, new, force=True)
    return new


def delete_branch(repository: Repository, branch: str, expected_old: str) -> None:
    """Take a branch of our own away, if it still is at ``expected_old``."""
    repository.side.swap(f"{HEADS}{branch}", expected_old, "")


def make_commits(
    tip: Tip,
    drafts: Sequence[Draft],
    *,
    author: Signature,
    committer: Signature,
    signer: Signer | None = None,
    clock: Callable[[], float] = time.time,
) -> tuple[str, ...]:
    """A chain of commits on a tip, on disk; no branch knows of them yet."""
    tree, parent, made = tip.tree, tip.commit, []
    # A chain that is older than its parent would confuse whoever sorts history by time.
    now = max(int(clock()), tip.time)
    for draft in drafts:
        tree = write_tree(tip.objects, tree, draft.changes, draft.root)
        parent = create_commit(
            tip.objects,
            tree,
            [parent] if parent else [],
            draft.message,
            author=author,
            committer=committer,
            time=now,
            signer=signer,
        )
        made.append(parent)
    tip.objects.flush()
    return tuple(made)
