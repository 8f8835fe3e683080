"""A repository on this machine: a bare one, or one with a work tree.

libgit2's own push to a path compares nothing and loses commits, so there is none here. Objects are
written straight into the repository, and the branch moves under Git's own lock (`<branch>.lock`),
only if it still is where we read it. Any git that runs at the same time honours that lock.
"""

from __future__ import annotations

from pathlib import Path

import pygit2
from pygit2.enums import ReferenceType, RepositoryOpenFlag

from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.address import Address
from gati_gitops.repo.failures import Lost, Transient
from gati_gitops.repo.heads import HEADS, Heads


class Local:
    """The side that is written to, when it is a folder."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.git = _open(address)

    def heads(self) -> Heads:
        refs = {}
        for name in self.git.listall_references():
            if value := self._value(name):
                refs[name] = value
        head = self.git.references.get("HEAD")
        target = head.target if head and head.type == ReferenceType.SYMBOLIC else ""
        return Heads(refs, str(target).removeprefix(HEADS))

    def bring(self, branch: str, commit: str) -> None:
        """Nothing to fetch: all there is stands in this very repository."""

    def deepen(self, commit: str) -> bool:
        return False

    def swap(self, ref: str, old: str, new: str, *, force: bool = False) -> None:
        """Move a reference from ``old`` to ``new`` (either may be empty), or say who won."""
        try:
            with self.git.transaction() as transaction:
                transaction.lock_ref(ref)
                if (now := self._value(ref)) != old:
                    raise Lost(f"{ref} of {self.address} is at {now or 'nothing'} by now")
                if new:
                    transaction.set_target(ref, new, message="gati-gitops")
                else:
                    transaction.remove(ref)
        except pygit2.GitError as error:
            raise self._locked(ref, error) from None

    def close(self) -> None:
        self.git.free()

    def _value(self, ref: str) -> str:
        found = self.git.references.get(ref)
        return str(found.target) if found and found.type == ReferenceType.DIRECT else ""

    def _locked(self, ref: str, error: pygit2.GitError) -> Outside:
        lock = Path(self.git.path, f"{ref}.lock")
        if lock.exists():
            return Transient(
                f"{ref} of {self.address} is locked by another process",
                remedy=f"if none is at work there, remove {lock}",
            )
        return Outside(f"{ref} of {self.address} cannot be moved: {error}")


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
        raise Outside(
            f"{address} {what}", remedy=f"`git init --bare {address.url}` makes an empty one"
        ) from None
