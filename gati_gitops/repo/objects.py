"""A repository's object database: read at once, written together.

What is new stays in memory under the id that it will have, where whoever builds on it finds it: the
next commit of a chain needs the tree of the one before. `flush` brings everything to disk: few
objects as Git itself would (one file each), many as one pack. Nothing refers to them until a ref is
moved, so a process that dies before that has changed nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pygit2
from pygit2.enums import RepositoryOpenFlag

from gati_gitops.errors import Outside, Refused
from gati_gitops.repo.packs import write_pack
from gati_gitops.repo.steps import step

# As packs number them, and libgit2 does.
COMMIT, TREE, BLOB = 1, 2, 3

FILE, EXECUTABLE, LINK, FOLDER, SUBMODULE = b"100644", b"100755", b"120000", b"40000", b"160000"
"""Modes of the entries of a tree."""

Entry = tuple[bytes, bytes]
"""Mode and id."""

LOOSE = 50
"""Up to so many new objects become files of their own; more become a pack."""

_NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob"}
_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)


class Damaged(Outside):
    """An object that cannot be used as it is in the repository."""


class Missing(Damaged):
    """An object that the repository should have, and has not."""

    def __init__(self, id: bytes) -> None:
        self.id = id.hex()
        super().__init__(
            f"the repository lacks the object {self.id}",
            remedy="its clone is shallow, partial or damaged; fetch all of it, then run again",
        )


class Objects:
    """The objects of one repository, and those that it will have."""

    def __init__(self, git: pygit2.Repository) -> None:
        self.git = git
        self._odb = git.odb
        self._new: dict[bytes, tuple[int, bytes]] = {}

    def read(self, id: bytes, kind: int) -> bytes:
        """An object's content."""
        found = self._new.get(id)
        if found is None:
            try:
                found = self._odb.read(pygit2.Oid(id))
            except KeyError as error:
                raise Missing(id) from error
            except pygit2.GitError as error:
                raise _damaged(id, str(error)) from error
        if found[0] != kind:
            raise _damaged(id, f"it is no {_NAMES[kind].decode()}")
        return found[1]

    def tree(self, id: bytes) -> dict[bytes, Entry]:
        """A tree's entries by name, in Git's order."""
        data = self.read(id, TREE)
        found = _ENTRY.findall(data)
        entries = {name: (mode, entry) for mode, name, entry in found}
        if sum(map(len, map(b"".join, found))) + 2 * len(found) != len(data):
            raise _damaged(id, "its entries cannot be told apart")
        return entries

    def has(self, id: bytes) -> bool:
        return id in self._new or pygit2.Oid(id) in self._odb

    def add(self, kind: int, data: bytes, *, there: bytes = b"") -> bytes:
        """Keep an object until the next flush, unless it is the one that is ``there``; its id."""
        id = object_id(kind, data)
        if id != there:
            self._new[id] = kind, data
        return id

    def add_tree(self, entries: Iterable[tuple[bytes, Entry]], *, there: bytes = b"") -> bytes:
        """Keep a tree of these entries, in whatever order they come."""
        ordered = sorted(entries, key=_tree_order)
        data = b"".join([b"%b %b\0%b" % (mode, name, id) for name, (mode, id) in ordered])
        return self.add(TREE, data, there=there)

    def flush(self, *, durable: bool = False) -> None:
        """Write what is new. ``durable``: wait until it would survive a power cut."""
        step("before-objects")
        new = self._new
        try:
            if len(new) > LOOSE:
                write_pack(object_folder(self.git) / "pack", self._absent(), durable=durable)
            else:
                for kind, data in new.values():
                    self._odb.write(kind, data)
                if durable:
                    self._sync(new)
        except (OSError, pygit2.GitError) as error:
            raise Outside(
                f"cannot write objects to {self.git.path}: {error}",
                remedy="look at the disk (room, rights), then run again; no branch was moved",
            ) from error
        self._new = {}
        step("after-objects")

    def _absent(self) -> dict[bytes, tuple[int, bytes]]:
        """What is new and not there yet."""
        # The backends themselves: the database would look for new packs after every miss.
        backends = list(self._odb.backends)
        for backend in backends:
            backend.refresh()
        there = [backend.exists for backend in backends]
        found = self._new.copy()
        for id in self._new:
            oid = pygit2.Oid(id)
            if any(exists(oid) for exists in there):
                del found[id]
        return found

    def _sync(self, ids: Iterable[bytes]) -> None:
        """Force files to disk, as git does under `core.fsync=loose-object`."""
        folder = object_folder(self.git)
        for id in ids:
            name = id.hex()
            # What was there before may be in a pack.
            with suppress(FileNotFoundError), (folder / name[:2] / name[2:]).open("rb") as file:
                os.fsync(file.fileno())


def open_git(path: str) -> pygit2.Repository:
    """Open the repository at exactly this path, or say what keeps us from it."""
    try:
        return pygit2.Repository(path, RepositoryOpenFlag.NO_SEARCH)
    except pygit2.GitError as error:
        if "not owned by" in str(error):
            raise Refused(
                f"{path} belongs to another user, and Git does not trust it",
                remedy=f"`git config --global --add safe.directory {path}` says that you do",
            ) from None
        if "object format" in str(error):
            raise Outside(
                f"{path} names its objects by SHA-256, which this version cannot read",
                remedy="use a repository with SHA-1 ids, Git's default",
            ) from None
        raise Outside(
            f"{path} cannot be opened as a Git repository: {error}",
            remedy="look at it with `git status`, then run again",
        ) from None


def object_id(kind: int, data: bytes) -> bytes:
    digest = hashlib.sha1(b"%b %d\0" % (_NAMES[kind], len(data)), usedforsecurity=False)
    digest.update(data)
    return digest.digest()


def decoded(name: bytes) -> str:
    """A name in a tree as text, whatever the locale; what is not UTF-8 can be told by `shown`."""
    return name.decode("utf-8", "surrogateescape")


def object_folder(git: pygit2.Repository) -> Path:
    """Where a repository keeps its objects; linked work trees share those of the first."""
    assert git.path is not None
    home = Path(git.path)
    common = home / "commondir"
    return (home / common.read_text().strip() if common.is_file() else home) / "objects"


def _tree_order(entry: tuple[bytes, Entry]) -> bytes:
    name, (mode, _) = entry
    return name + b"/" if mode == FOLDER else name


def _damaged(id: bytes, reason: str) -> Damaged:
    return Damaged(
        f"the repository's object {id.hex()} cannot be used: {reason}",
        remedy="look at the repository with `git fsck`; a damaged clone is best made anew",
    )
