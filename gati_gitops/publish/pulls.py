"""The life of our pull requests: offered, kept fresh, taken back.

What is wanted and what is there (branches and pull requests) are compared, and only what differs is
done, so any run finishes what an earlier one began: a branch that was pushed before the forge
failed gets its pull request, one whose offer is gone is closed. A branch is pushed and deleted only
at the value that was seen. People have the last word: their commits are not overwritten, and what
they closed is not offered again until it is something else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from gati_gitops.errors import GatiError, Outside, Refused
from gati_gitops.forge.model import Done, Forge, PullRequest, Text
from gati_gitops.forge.text import marked, marker, unmarked
from gati_gitops.publish.branches import (
    PREFIX,
    Built,
    branch_name,
    environment_of,
    in_history,
    outdated,
    read_branch,
    wants,
)
from gati_gitops.publish.hand import Hand
from gati_gitops.repo.commit import Draft
from gati_gitops.repo.failures import Lost
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.steps import step
from gati_gitops.repo.writer import delete_branch
from gati_gitops.spec.common import seconds
from gati_gitops.spec.publishing import PullRequests
from gati_gitops.tree import Changes

Outcome = Literal[
    "opened", "updated", "unchanged", "closed", "expired", "declined", "kept", "failed"
]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One pull request that there should be."""

    environment: str
    group: str
    """Empty where one pull request holds the whole environment."""
    changes: Changes
    """Against the base; relative to the output's root."""
    message: str
    title: str
    body: str
    folders: tuple[str, ...] = ()
    """Release folders that its overlays name."""


@dataclass(frozen=True, slots=True)
class Pull:
    """What became of one pull request."""

    branch: str
    outcome: Outcome
    why: str = ""
    number: int = 0
    url: str = ""
    commit: str = ""
    """What its branch is at; empty if there is none."""
    notes: tuple[str, ...] = ()
    error: GatiError | None = None


def offer(
    repository: Repository,
    forge: Callable[[], Forge],
    base: Tip,
    wanted: Sequence[Wanted],
    settings: PullRequests,
    hand: Hand,
    *,
    source: str,
    environments: Collection[str] | None = None,
    root: str = "",
) -> tuple[Pull, ...]:
    """Make pull requests from ``base`` be as wanted. The forge is spoken to only if need be.

    Branches of other ``environments`` are left alone; None means all of the source, those that it
    no longer has too. What fails is told in its Pull, and the others go on.
    """
    prefix = f"{PREFIX}{source}/"
    scope = None if environments is None else {*environments, *(w.environment for w in wanted)}
    heads = {
        branch: commit
        for branch, commit in repository.branches(prefix).items()
        if scope is None or environment_of(branch, source) in scope
    }
    named = {branch_name(source, w.environment, w.group): w for w in wanted}
    if not heads and not named:
        return ()
    try:
        there = forge()
        found = there.find(prefix)
    except GatiError as error:  # nothing was pushed or closed
        return tuple(
            Pull(branch, "failed", error.message, commit=heads.get(branch, ""), error=error)
            for branch in {**heads, **named}
        )
    pulls = {pull.branch: pull for pull in found if pull.base == base.branch}
    return _Offering(repository, there, base, settings, hand, root, pulls).run(heads, named)


def worst(pulls: Sequence[Pull]) -> GatiError | None:
    """What the run should end with: failures outside before refusals; None if all went well."""
    errors = [pull.error for pull in pulls if pull.error is not None]
    return next((e for e in errors if not isinstance(e, Refused)), errors[0] if errors else None)


@dataclass(slots=True)
class _Offering:
    repository: Repository
    forge: Forge
    base: Tip
    settings: PullRequests
    hand: Hand
    root: str
    open: dict[str, PullRequest]

    def run(self, heads: dict[str, str], wanted: dict[str, Wanted]) -> tuple[Pull, ...]:
        # first what goes: git has no branch a/b beside a branch a
        gone = [self._tried(branch, None) for branch in heads if branch not in wanted]
        return (*gone, *(self._tried(b, w, heads.get(b, "")) for b, w in wanted.items()))

    def _tried(self, branch: str, wanted: Wanted | None, head: str = "") -> Pull:
        try:
            return self._offer(branch, wanted, head) if wanted else self._withdraw(branch)
        except GatiError as error:
            return self._told(branch, "failed", error.message, error=error)

    # -- offering --------------------------------------------------------------------------------

    def _offer(self, branch: str, wanted: Wanted, head: str) -> Pull:
        pull = self.open.get(branch)
        built = self._read(branch) if head else None
        if built and not built.ours:
            return self._kept(branch, built)
        key = wants(wanted.changes)
        if pull is None and (declined := self._declined(branch, key)):
            return declined
        why = self._outdated(built, wanted) if built else "it is new"
        if built and pull and not why and self._is_expired(pull):
            return self._expire(branch, built, pull)
        commit = self._push(branch, wanted, built) if why or not built else built.commit
        step("after-branch")
        done = self._say(branch, wanted, pull, key, commit)
        notes = (*done.notes, *self._merging(done.pull, commit))
        outcome: Outcome = "updated" if why else "unchanged"
        return self._told(
            branch, outcome if pull else "opened", why, commit=commit, notes=notes, pull=done.pull
        )

    def _read(self, branch: str) -> Built:
        pull = self.open.get(branch)
        known = marked(pull.body, "head") if pull else ""
        return read_branch(self.repository, branch, self.root, self.hand.author, known)

    def _outdated(self, built: Built, wanted: Wanted) -> str:
        if not in_history(self.repository, self.base, built.base, built.base_time):
            return f"{self.base.branch} has been reset"
        return outdated(
            wanted.changes,
            wanted.folders,
            built.touched,
            built.before,
            built.after,
            self.base.snapshot(self.root),
        )

    def _push(self, branch: str, wanted: Wanted, built: Built | None) -> str:
        draft = Draft(wanted.changes, wanted.message, wanted.environment, root=self.root)
        try:
            stands = built.commit if built else ""
            return self.hand.push(self.repository, branch, [draft], self.base, stands)
        except Lost:
            raise Outside(
                f"{branch} was moved by somebody else meanwhile", remedy="run again"
            ) from None

    def _say(
        self, branch: str, wanted: Wanted, pull: PullRequest | None, key: str, commit: str
    ) -> Done:
        # at the top, where a text that is too long is not cut
        marks = f"{marker('wants', key)}\n{marker('head', commit)}"
        text = Text(
            wanted.title,
            f"{marks}\n\n{wanted.body}",
            tuple(self.settings.labels),
            tuple(self.settings.reviewers),
        )
        try:
            if pull is None:
                return self.forge.open(branch, self.base.branch, text)
            return self.forge.update(pull, replace(text, draft=pull.draft))
        except GatiError as error:
            note = f"its branch {branch} is pushed; the next run goes on from there"
            error.remedy = f"{error.remedy}; {note}" if error.remedy else note
            raise

    def _merging(self, pull: PullRequest, commit: str) -> tuple[str, ...]:
        if not self.settings.auto_merge or pull.auto_merge or pull.draft:
            return ()
        note = self.forge.merge_when_ready(pull, commit)
        return (f"not merged by itself: {note}",) if note else ()

    # -- not offering ----------------------------------------------------------------------------

    def _kept(self, branch: str, built: Built) -> Pull:
        why = f"{branch} has commits that are not ours, and they are not overwritten"
        remedy = "merge or close its pull request, then delete the branch; or take the commits out"
        return self._told(
            branch, "kept", why, commit=built.commit, error=Refused(why, remedy=remedy)
        )

    def _declined(self, branch: str, key: str) -> Pull | None:
        """Whether the last thing that happened to this very offer was that it was closed."""
        last = next(iter(self.forge.closed(branch)), None)
        if last is None or last.state != "closed" or marked(last.body, "wants") != key:
            return None
        why = "it was closed without a merge, and wants the same still; to take it, reopen it"
        return self._told(branch, "declined", why, pull=last)

    def _is_expired(self, pull: PullRequest) -> bool:
        now = datetime.fromtimestamp(self.hand.clock(), UTC)
        return (now - pull.updated).total_seconds() > seconds(self.settings.expire_after)

    def _expire(self, branch: str, built: Built, pull: PullRequest) -> Pull:
        why = (
            f"Nobody took this for {self.settings.expire_after}, so it is closed."
            " It is offered again when what it wants changes."
        )
        self.forge.close(pull, why)
        return self._told(branch, "expired", why, pull=pull, notes=self._delete(branch, built))

    def _withdraw(self, branch: str) -> Pull:
        built, pull = self._read(branch), self.open.get(branch)
        if not built.ours:
            return self._kept(branch, built)
        tip = self.base.snapshot(self.root)
        merged = all(tip.id(path) == built.after.id(path) for path in built.touched)
        why = (
            f"All of this is on {self.base.branch} now, so there is nothing left to merge."
            if merged
            else "This is superseded: the specs no longer want it, or offer it elsewhere."
        )
        if pull:
            # without its mark, the same may be offered again when it is wanted again
            self.forge.close(pull, why, unmarked(pull.body))
        return self._told(branch, "closed", why, pull=pull, notes=self._delete(branch, built))

    def _delete(self, branch: str, built: Built) -> tuple[str, ...]:
        step("before-delete")
        try:
            delete_branch(self.repository, branch, built.commit, retry=self.hand.retry)
        except Lost:
            if branch in self.repository.branches(branch):
                return (f"{branch} was moved by somebody else meanwhile, and stays",)
        return ()

    def _told(
        self,
        branch: str,
        outcome: Outcome,
        why: str,
        *,
        commit: str = "",
        notes: tuple[str, ...] = (),
        pull: PullRequest | None = None,
        error: GatiError | None = None,
    ) -> Pull:
        pull = pull or self.open.get(branch)
        number, url = (pull.number, pull.url) if pull else (0, "")
        return Pull(branch, outcome, why, number, url, commit, notes, error)
