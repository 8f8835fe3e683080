"""An output repository, wherever it is: its branches, and the trees at their tips.

Nothing is checked out. What is read is read from an object database: the repository's own when it
is on this machine, else a clone that holds what was asked for and little more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

import pygit2

from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.address import Address
from gati_gitops.repo.commit import read_commit
from gati_gitops.repo.credentials import Credentials
from gati_gitops.repo.heads import HEADS, Heads
from gati_gitops.repo.local import Local
from gati_gitops.repo.objects import Objects
from gati_gitops.repo.trees import GitSnapshot

Progress = Callable[[str], None]
FIRST_BRANCH = "main"
"""What the first publish into an empty repository makes, where the repository names none."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; libgit2's own are none at all."""

    connect: float = 10
    """Until a server takes the connection."""
    idle: float = 60
    """Between two answers of a server."""
    total: float = 600
    """For one exchange as a whole."""


class Side(Protocol):
    """Where commits are written to, and how."""

    @property
    def git(self) -> pygit2.Repository:
        """The object database that is read and written."""

    def heads(self) -> Heads:
        """All references as they are now."""

    def bring(self, branch: str, commit: str) -> None:
        """See to it that the commit at the tip of a branch can be read here."""

    def deepen(self, commit: str) -> bool:
        """Bring the history before a commit; False if there is no more of it."""

    def swap(self, ref: str, old: str, new: str, *, force: bool = False) -> None:
        """Move a reference if it is at ``old``: Lost, Rejected, Transient or Unclear otherwise."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Tip:
    """A commit as it was read; without any, the branch of an empty repository."""

    branch: str
    commit: str
    tree: str
    time: int
    objects: Objects = field(repr=False, compare=False)

    def snapshot(self, root: str = "") -> GitSnapshot:
        return GitSnapshot(self.objects, self.tree, root)


class Repository:
    """Made by ``open_repository``; a context manager."""

    def __init__(self, address: Address, side: Side, branch: str | None) -> None:
        self.address = address
        self.side = side
        self._wanted = branch
        self._heads: Heads | None = None
        self.heads()

    @property
    def git(self) -> pygit2.Repository:
        return self.side.git

    @functools.cached_property
    def branch(self) -> str:
        """The branch that is meant: as asked for, else the repository's own default."""
        return self._wanted or self._default()

    def heads(self) -> Heads:
        """All references, asked for anew."""
        self._heads = self.side.heads()
        return self._heads

    def tip(self) -> Tip:
        return self.tip_of(self.branch)

    def tip_of(self, branch: str) -> Tip:
        """The tip of a branch as it is now; without a commit only in an empty repository."""
        heads = self.heads()
        commit = heads.branch(branch)
        if not commit:
            if not heads.refs:
                return Tip(branch, "", "", 0, Objects(self.git))
            raise self._no_branch(branch, heads)
        self.side.bring(branch, commit)
        return self._tip(branch, commit)

    def at(self, commit: str) -> Tip:
        """Any commit of the repository's history."""
        if commit not in self.git:
            self.side.bring(self.branch, commit)
        return self._tip("", commit)

    def branches(self, prefix: str = "") -> dict[str, str]:
        """The tips of all branches that begin like this."""
        return self.heads().branches(prefix)

    def deepen(self, commit: str) -> bool:
        """Bring the history before a commit; False if there is no more of it."""
        return self.side.deepen(commit)

    def close(self) -> None:
        self.side.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _tip(self, branch: str, commit: str) -> Tip:
        objects = Objects(self.git)
        found = read_commit(objects, commit)
        return Tip(branch, commit, found.tree, found.time, objects)

    def _default(self) -> str:
        heads = self._heads or self.heads()
        if heads.default and (not heads.refs or heads.branch(heads.default)):
            return heads.default
        if not heads.refs:
            return FIRST_BRANCH
        raise self._no_branch(heads.default, heads)

    def _no_branch(self, branch: str, heads: Heads) -> Outside:
        names = list(heads.branches())
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        has = f"it has {shown}" if names else "it has no branch at all"
        what = f"no branch {branch}" if branch else "no default branch"
        return Outside(
            f"there is {what} at {self.address}; {has}",
            remedy="give --branch, or make the branch first: one that was deleted or renamed is"
            " not brought back",
        )


def open_repository(
    address: Address,
    *,
    branch: str | None = None,
    credentials: Credentials | None = None,
    cache: Path | None = None,
    timeouts: Timeouts | None = None,
    progress: Progress | None = None,
) -> Repository:
    """Open a repository and look at its references; nothing is fetched yet."""
    if branch is not None and not _is_branch(branch):
        raise Refused(f"{branch!r} cannot be the name of a branch", remedy="give another --branch")
    return Repository(address, Local(address), branch)


def _is_branch(name: str) -> bool:
    return not name.startswith("-") and pygit2.reference_is_valid_name(f"{HEADS}{name}")
