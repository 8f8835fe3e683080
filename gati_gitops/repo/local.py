"""A repository on this machine: a bare one, or one with a work tree.

libgit2's own push to a path compares nothing and loses commits, so there is none here. Objects are
written straight into the repository, and the branch moves under Git's own lock (`<branch>.lock`),
only if it still is where we read it. Any git that runs at the same time honours that lock.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pygit2
from pygit2.enums import ReferenceType, RepositoryOpenFlag

from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.address import Address
from gati_gitops.repo.failures import Lost, NoRepository
from gati_gitops.repo.heads import HEADS, Heads, Move
from gati_gitops.repo.steps import step
from gati_gitops.repo.worktree import WorkTree


class Local:
    """The side that is written to, when it is a folder."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.git = _open(address)
        self._work_tree = WorkTree(self.git, address.text)
        self._work_tree.recover()

    def heads(self) -> Heads:
        found = self.git.references.iterator()
        refs = {ref.name: _target(ref) for ref in found}
        head = self.git.references.get("HEAD")
        target = str(head.target) if head and head.type == ReferenceType.SYMBOLIC else ""
        return Heads(
            {name: value for name, value in refs.items() if value}, target.removeprefix(HEADS)
        )

    def bring(self, ref: str, commit: str) -> None:
        """Nothing to fetch: all there is stands in this very repository."""

    def deepen(self, commit: str) -> bool:
        return False

    def seek(self, ref: str, commit: str) -> bool:
        return commit in self.git

    def may_write(self) -> None:
        for name in ("objects", "refs/heads"):
            folder = Path(self.git.path or "", name)
            if not os.access(folder, os.W_OK):
                raise Outside(f"{folder} cannot be written", remedy="look at the rights on it")

    def renew(self) -> bool:
        return False

    def swap(self, *moves: Move) -> tuple[Move, ...]:
        """Make all moves or, if any reference is elsewhere by now, none."""
        first = moves[0]
        if first.ref.startswith(HEADS) and self._work_tree.follows(first.ref):
            self._expect(first)  # Else the files would be compared with another commit's.
            with self._work_tree.moving(first.old, first.new):
                self._swap(moves)
        else:
            self._swap(moves)
        return ()

    def close(self, *, sound: bool = True) -> None:
        self.git.free()

    def _swap(self, moves: tuple[Move, ...]) -> None:
        step("before-lock")
        try:
            with self.git.transaction() as transaction:
                for move in moves:
                    transaction.lock_ref(move.ref)
                for move in moves:
                    self._expect(move)
                    if move.new:
                        transaction.set_target(move.ref, move.new, message="gati-gitops")
                    else:
                        transaction.remove(move.ref)
        except pygit2.GitError as error:
            raise self._trouble(moves, error) from None
        step("after-unlock")

    def _expect(self, move: Move) -> None:
        """Under the lock: the comparison that the whole protocol rests on."""
        if (now := self._value(move.ref)) != move.old:
            raise Lost(f"{move.ref} of {self.address} is at {now or 'nothing'} by now")

    def _value(self, ref: str) -> str:
        # pygit2 never lets go of the name that it is asked for: so it is always the same one
        found = self.git.references.get(sys.intern(ref))
        return _target(found) if found is not None else ""

    def _trouble(self, moves: tuple[Move, ...], error: pygit2.GitError) -> Outside:
        for move in moves:
            lock = Path(self.git.path or "", f"{move.ref}.lock")
            if lock.exists():
                return Lost(
                    f"{move.ref} of {self.address} is locked by another process",
                    remedy=f"if none is at work there, remove {lock}",
                )
        if "lock" in str(error):  # It was gone again before we looked.
            return Lost(f"{self.address} was locked by another process")
        return Outside(
            f"cannot move {moves[0].ref} of {self.address}: {error}",
            remedy="look at the disk (room, rights), then run again; nothing was moved",
        )


def _target(ref: pygit2.Reference) -> str:
    """The commit that a reference is at; one that only names another is at none."""
    return str(ref.target) if ref.type == ReferenceType.DIRECT else ""


def _open(address: Address) -> pygit2.Repository:
    try:
        return pygit2.Repository(address.url, RepositoryOpenFlag.NO_SEARCH)
    except pygit2.GitError as error:
        if "owned by" in str(error):
            raise Refused(
                f"{address} belongs to another user, and Git does not trust it",
                remedy=f"`git config --global --add safe.directory {address.url}` says that you do",
            ) from None
        what = "is no Git repository" if Path(address.url).exists() else "is not there"
        if around := pygit2.discover_repository(address.url):
            top = pygit2.Repository(around).workdir or around
            remedy = f"it is a folder of the repository {Path(top)}: give that"
            raise Outside(f"{address} {what}", remedy=remedy) from None
        remedy = f"`git init --bare {address.url}` makes an empty one"
        raise NoRepository(f"{address} {what}", remedy=remedy) from None
