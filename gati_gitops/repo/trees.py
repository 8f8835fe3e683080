"""Git trees as snapshots, and new trees from old ones.

No index, no checkout, no filter: a snapshot reads objects as they are asked for, and a
new tree shares everything with the old one but the folders above what changed. Links and submodules
are listed like files, so that they are seen as foreign; reading or overwriting one is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from gati_gitops.errors import Place, Refused
from gati_gitops.repo.objects import BLOB, EXECUTABLE, FILE, FOLDER, LINK, Entry, Objects
from gati_gitops.tree import Changes, check_paths, check_root, shown

_PLAIN = (FILE, EXECUTABLE, b"100664")

_Nested = dict[str, "bytes | _Nested | None"]


class GitSnapshot:
    """The files of a tree, below ``root`` if one is given. Holds names and ids, no content."""

    def __init__(self, objects: Objects, tree: str, root: str = "") -> None:
        check_root(root)
        self._objects = objects
        self._folders: dict[str, dict[str, Entry]] = {}
        self._top = folder_of(objects, tree, root)

    def paths(self, folder: str) -> list[str]:
        """All files below a folder, sorted; the path itself if it is not a folder."""
        entry = self.entry(folder)
        if entry is None:
            return []
        if entry[0] != FOLDER:
            return [folder]
        found: list[str] = []
        waiting = [(folder, entry[1])]
        while waiting:
            here, id = waiting.pop()
            prefix = f"{here}/" if here else ""
            for name, (mode, child) in self._list(here, id).items():
                if mode == FOLDER:
                    waiting.append((prefix + name, child))
                else:
                    found.append(prefix + name)
        return sorted(found)

    def read(self, path: str) -> bytes | None:
        """A file's bytes, or None if it is not there."""
        entry = self.entry(path)
        if entry is None or entry[0] == FOLDER:
            return None
        if entry[0] not in _PLAIN:
            raise _special(path, entry[0])
        return self._objects.read(entry[1], BLOB)

    def id(self, path: str) -> str:
        """The id of a file or folder; empty if it is not there."""
        entry = self.entry(path)
        return "" if entry is None else entry[1].hex()

    def link(self, path: str) -> str | None:
        """Where a symbolic link points; None if there is none at this path."""
        entry = self.entry(path)
        if entry is None or entry[0] != LINK:
            return None
        return self._objects.read(entry[1], BLOB).decode("utf-8", "surrogateescape")

    def folder(self, path: str) -> dict[str, Entry]:
        """What stands in a folder itself; nothing if it is not there."""
        entry = self.entry(path)
        return self._list(path, entry[1]) if entry is not None and entry[0] == FOLDER else {}

    def entry(self, path: str) -> Entry | None:
        """Mode and id of a file, link or folder."""
        if not path:
            return None if self._top is None else (FOLDER, self._top)
        folder, _, name = path.rpartition("/")
        entries = self._folders.get(folder)
        if entries is None:
            above = self.entry(folder)
            if above is None or above[0] != FOLDER:
                if above is not None and above[0] not in _PLAIN:
                    raise _special(folder, above[0])
                return None
            entries = self._list(folder, above[1])
        return entries.get(name)

    def _list(self, folder: str, id: bytes) -> dict[str, Entry]:
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = {
                name.decode("utf-8", "surrogateescape"): entry
                for name, entry in self._objects.tree(id).items()
            }
        return known


def write_tree(objects: Objects, base: str, changes: Changes, root: str = "") -> str:
    """The id of the tree that the changes make of ``base`` (empty: of nothing)."""
    check_root(root)
    check_paths(changes)
    nested: _Nested = {}
    for path, content in changes.items():
        _put(nested, f"{root}/{path}" if root else path, content)
    made = _build(objects, bytes.fromhex(base), nested, "")
    return (made or objects.add_tree(())).hex()


def _put(nested: _Nested, path: str, content: bytes | None) -> None:
    *folders, name = path.split("/")
    for folder in folders:
        inner = nested.setdefault(folder, {})
        if inner is None:
            inner = nested[folder] = {}
        if not isinstance(inner, dict):
            raise Refused(path)
        nested = inner
    nested[name] = content


def _build(objects: Objects, base: bytes, nested: _Nested, where: str) -> bytes | None:
    entries = objects.tree(base) if base else {}
    for text, wanted in nested.items():
        name = text.encode()
        path = f"{where}{text}"
        mode, id = entries.get(name, (b"", b""))
        if isinstance(wanted, dict):
            made = _build(objects, id if mode == FOLDER else b"", wanted, f"{path}/")
            if made is None:
                entries.pop(name, None)
            else:
                entries[name] = (FOLDER, made)
        elif wanted is None:
            entries.pop(name, None)
        else:
            if mode and mode not in _PLAIN:
                raise _special(path, mode)
            entries[name] = (FILE, objects.add(BLOB, wanted))
    return objects.add_tree(entries.items()) if entries else None


Difference = tuple[str, "Entry | None", "Entry | None"]
"""A path and what stood there and stands there; folders are opened, not named."""


def differences(
    objects: Objects, before: bytes | None, after: bytes | None, *, prefix: str = ""
) -> Iterator[Difference]:
    """How two trees differ. Reads only the folders in which they do."""
    if before == after:
        return
    old, new = (objects.tree(id) if id else {} for id in (before, after))
    for name in sorted({name for name, _ in old.items() ^ new.items()}):
        path = prefix + name.decode("utf-8", "surrogateescape")
        was, is_ = old.get(name), new.get(name)
        if FOLDER in (was and was[0], is_ and is_[0]):
            folders = (entry[1] if entry and entry[0] == FOLDER else None for entry in (was, is_))
            yield from differences(objects, *folders, prefix=f"{path}/")
            was, is_ = (None if entry and entry[0] == FOLDER else entry for entry in (was, is_))
        if was or is_:
            yield path, was, is_


def folder_of(objects: Objects, tree: str, folder: str) -> bytes | None:
    """The tree of a folder; None if there is no such folder."""
    id = bytes.fromhex(tree)
    for name in folder.split("/") if folder else ():
        mode, id = objects.tree(id).get(name.encode(), (b"", b""))
        if mode != FOLDER:
            return None
    return id or None


def _special(path: str, mode: bytes) -> Refused:
    kind = "a symbolic link" if mode == LINK else "a submodule"
    return Refused(
        f"{shown(path)} is {kind} in the repository; we read and write plain files",
        remedy=f"remove {shown(path)} from the branch, then run again",
        place=Place(shown(path)),
    )
