"""An output repository, wherever it is: its branches, and the trees at their tips.

Nothing is checked out. What is read is read from an object database: the repository's own when it
is on this machine, else a clone that holds what was asked for and little more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

import pygit2

from gati_gitops.errors import GatiError, Outside, Refused
from gati_gitops.repo.address import Address
from gati_gitops.repo.clones import Clone
from gati_gitops.repo.commit import read_commit
from gati_gitops.repo.credentials import Credentials
from gati_gitops.repo.exchange import Line, Progress, Timeouts
from gati_gitops.repo.heads import HEADS, Heads, Move
from gati_gitops.repo.local import Local
from gati_gitops.repo.objects import Damaged, Objects
from gati_gitops.repo.transport import Server
from gati_gitops.repo.trees import GitSnapshot

FIRST_BRANCH = "main"
"""What the first publish into an empty repository makes, where the repository names none."""


class Side(Protocol):
    """Where commits are written to, and how."""

    @property
    def git(self) -> pygit2.Repository:
        """The object database that is read and written."""

    def heads(self) -> Heads:
        """All references as they are now."""

    def bring(self, ref: str, commit: str) -> None:
        """See to it that the commit which a reference is at can be read here."""

    def deepen(self, commit: str) -> bool:
        """Bring a commit's parents, and more; False if there is no more to be had."""

    def seek(self, ref: str, commit: str) -> bool:
        """Bring a reference's history as far as a commit; False if it is not in it."""

    def swap(self, *moves: Move) -> tuple[Move, ...]:
        """Make the moves if every reference is where it should be.

        Lost, Rejected, Unclear or a failure of the connection otherwise, going by the first move;
        those of the others that were refused are given back.
        """

    def may_write(self) -> None:
        """Find out whether we would be let in to write. Raises what stands in the way."""

    def renew(self) -> bool:
        """Throw away what was kept from earlier runs; False if there was nothing."""

    def close(self, *, sound: bool = True) -> None: ...


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

    @property
    def git(self) -> pygit2.Repository:
        return self.side.git

    @property
    def answered(self) -> bool:
        """Whether the repository has been seen to be there."""
        return self._heads is not None

    @property
    def branch(self) -> str:
        """The branch that is meant: as asked for, else the repository's own default."""
        return self._wanted or self._default(self._heads or self.heads())

    def heads(self) -> Heads:
        """All references, asked for anew."""
        self._heads = self.side.heads()
        return self._heads

    def branches(self, prefix: str = "") -> dict[str, str]:
        """The tips of all branches that begin like this, asked for anew."""
        return self.heads().branches(prefix)

    def seen(self, prefix: str = "") -> dict[str, str]:
        """The same as they were seen last."""
        return (self._heads or self.heads()).branches(prefix)

    def tip(self) -> Tip:
        """The tip of the branch that is meant, as it is now."""
        heads = self.heads()
        return self._tip_in(heads, self._wanted or self._default(heads))

    def tip_of(self, branch: str) -> Tip:
        """The tip of a branch as it is now; without a commit only in an empty repository."""
        return self._tip_in(self.heads(), branch)

    def at(self, commit: str) -> Tip:
        """Any commit of the branch's history."""
        if commit not in self.git and not self.side.seek(f"{HEADS}{self.tip().branch}", commit):
            raise Outside(f"there is no commit {commit} in the history of {self.address}")
        return self._read("", commit)

    def deepen(self, commit: str) -> bool:
        """Bring a commit's parents, and more; False if there is no more to be had."""
        return self.side.deepen(commit)

    def closed_to_us(self) -> str:
        """Why nothing could be written now, in words; empty if it could, as far as one can see."""
        try:
            self.side.may_write()
        except GatiError as error:
            return error.message
        return ""

    def renew(self) -> bool:
        """Throw away a kept clone that is damaged; False if there is none to blame."""
        return self.side.renew()

    def close(self, *, sound: bool = True) -> None:
        self.side.close(sound=sound)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        # A clone that failed us is not used by the next run.
        self.close(sound=not isinstance(error, Damaged))

    def _tip_in(self, heads: Heads, branch: str) -> Tip:
        commit = heads.branch(branch)
        if not commit:
            if not heads.refs:
                return Tip(branch, "", "", 0, Objects(self.git))
            raise self._no_branch(branch, heads)
        self.side.bring(f"{HEADS}{branch}", commit)
        try:
            return self._read(branch, commit)
        except Damaged:
            if not self.renew():
                raise
        self.side.bring(f"{HEADS}{branch}", commit)
        return self._read(branch, commit)

    def _read(self, branch: str, commit: str) -> Tip:
        objects = Objects(self.git)
        found = read_commit(objects, commit)
        objects.tree(bytes.fromhex(found.tree))
        return Tip(branch, commit, found.tree, found.time, objects)

    def _default(self, heads: Heads) -> str:
        if heads.default and (not heads.refs or heads.branch(heads.default)):
            return heads.default
        # A server whose default branch is not there names none. After a first publish of ours there
        # is one branch, which is ours; anything else is for a person to say.
        if not heads.refs or (not heads.default and list(heads.branches()) == [FIRST_BRANCH]):
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


def create_repository(path: Path) -> None:
    """An empty bare repository in a folder of its own."""
    pygit2.init_repository(str(path), bare=True, initial_head=FIRST_BRANCH)


def open_repository(
    address: Address,
    *,
    branch: str | None = None,
    credentials: Credentials | None = None,
    cache: Path | None = None,
    timeouts: Timeouts | None = None,
    progress: Progress | None = None,
) -> Repository:
    """Open a repository; a server is spoken to when something is asked of it."""
    if branch is not None and not _is_branch(branch):
        raise Refused(f"{branch!r} cannot be the name of a branch", remedy="give another --branch")
    if not address.is_remote:
        return Repository(address, Local(address), branch)
    line = Line(
        address,
        credentials or Credentials(),
        timeouts or Timeouts(),
        progress or (lambda _: None),
    )
    return Repository(address, Server(line, Clone(address, cache)), branch)


def _is_branch(name: str) -> bool:
    return not name.startswith("-") and pygit2.reference_is_valid_name(f"{HEADS}{name}")
