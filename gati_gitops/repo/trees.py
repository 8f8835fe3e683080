"""Git trees as snapshots, and new trees from old ones.

No index, no checkout, no filter: a snapshot reads objects as they are asked for, and a new tree
shares everything with the old one but the folders above what changed. Links and submodules are
listed like files, so that they are seen as foreign; reading or overwriting one is refused.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

from gati_gitops.errors import Place, Refused
from gati_gitops.repo.objects import (
    BLOB,
    EXECUTABLE,
    FILE,
    FOLDER,
    LINK,
    SUBMODULE,
    Entry,
    Objects,
    decoded,
    object_id,
)
from gati_gitops.tree import Changes, check_paths, check_root, shown

_PLAIN = (FILE, EXECUTABLE, b"100664")

_Wish = bytes | dict[str, "_Wish"] | None
"""What a name is to become: content, nothing, or a folder of names with wishes of their own."""

_ITSELF = ""
"""Among a folder's wishes that of its own name: a file that makes way for it, or the reverse."""


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

    def holds(self, path: str, content: bytes) -> bool:
        """Whether these are a file's bytes; nothing is read to tell."""
        entry = self.entry(path)
        if entry is None or entry[0] not in _PLAIN:
            return False
        return entry[1] == object_id(BLOB, content)

    def id(self, path: str) -> str:
        """The id of a file or folder; empty if it is not there."""
        entry = self.entry(path)
        return "" if entry is None else entry[1].hex()

    def link(self, path: str) -> str | None:
        """Where a symbolic link points; None if there is none at this path."""
        entry = self.entry(path)
        if entry is None or entry[0] != LINK:
            return None
        return decoded(self._objects.read(entry[1], BLOB))

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
            if above is None:
                self._folders[folder] = {}  # asked for again by every file of a new folder
                return None
            if above[0] != FOLDER:
                if above[0] not in _PLAIN:
                    raise _special(folder, above[0])
                return None
            entries = self._list(folder, above[1])
        return entries.get(name)

    def _list(self, folder: str, id: bytes) -> dict[str, Entry]:
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = {
                decoded(name): entry for name, entry in self._objects.tree(id).items()
            }
        return known


def write_tree(objects: Objects, base: str, changes: Changes, root: str = "") -> str:
    """The id of the tree that the changes make of ``base`` (empty: of nothing)."""
    check_root(root)
    check_paths(changes)
    wishes: dict[str, _Wish] = {}
    for path, content in changes.items():
        _wish(wishes, f"{root}/{path}" if root else path, content)
    made = _build(objects, bytes.fromhex(base), wishes, "")
    return (made or objects.add_tree(())).hex()


def _wish(wishes: dict[str, _Wish], path: str, content: bytes | None) -> None:
    *folders, name = path.split("/")
    for folder in folders:
        below = wishes.setdefault(folder, {})
        if not isinstance(below, dict):
            below = wishes[folder] = {_ITSELF: below}
        wishes = below
    below = wishes.get(name)
    if isinstance(below, dict):
        below[_ITSELF] = content
    else:
        wishes[name] = content


def _build(objects: Objects, base: bytes, wishes: dict[str, _Wish], where: str) -> bytes:
    """The tree of a folder; empty if nothing is left in it."""
    entries = objects.tree(base) if base else {}
    added: list[bytes] = []
    changed = False
    for text, wish in wishes.items():
        name = text.encode()
        before = entries.get(name)
        after = _after(objects, before, wish, f"{where}{text}")
        if after == before:
            continue
        changed = True
        if after is None:
            del entries[name]
            continue
        if before is None:
            added.append(name)
        entries[name] = after
    if not changed:
        return base
    if added:
        _refuse_twins(entries, added, where)
    return objects.add_tree(entries.items()) if entries else b""


def _after(objects: Objects, before: Entry | None, wish: _Wish, path: str) -> Entry | None:
    """What stands at a path when the changes are made."""
    folder = before[1] if before is not None and before[0] == FOLDER else b""
    file = None if folder else before
    inner, content, is_file = folder, wish, True
    if isinstance(wish, dict):
        is_file = _ITSELF in wish
        content = wish.pop(_ITSELF, None)
        inner = _build(objects, folder, wish, f"{path}/")
    assert not isinstance(content, dict)
    if is_file and folder and (inner or content is None):
        raise _in_the_way(path, "a folder", "a file")
    if inner:
        if content is not None:
            raise Refused(
                f"{path} would be both a file and a folder",
                remedy="rename what one of the two is made from",
                place=Place(path),
            )
        if file is not None and not is_file:
            raise _in_the_way(path, _kind(file), "a folder")
        return FOLDER, inner
    if content is not None:
        if file is not None and file[0] not in _PLAIN:
            raise _special(path, file[0])
        return FILE, objects.add(BLOB, content, there=file[1] if file else b"")
    return None if is_file else file


def _refuse_twins(entries: Iterable[bytes], added: Iterable[bytes], where: str) -> None:
    """Two names that some file systems take for one would overwrite each other there."""
    new = {_folded(name): name for name in added}
    for name in entries:
        other = new.get(_folded(name), name)
        if other != name:
            one, two = (shown(where + decoded(each)) for each in sorted((name, other)))
            raise Refused(
                f"{one} and {two} are one file where names are compared without case or accents",
                remedy="rename what one of the two is made from",
                place=Place(two),
            )


def _folded(name: bytes) -> bytes:
    if name.isascii():
        return name.lower()
    folded = unicodedata.normalize("NFD", decoded(name)).casefold()
    return unicodedata.normalize("NFC", folded).encode("utf-8", "surrogateescape")


Difference = tuple[str, "Entry | None", "Entry | None"]
"""A path and what stood there and stands there; folders are opened, not named."""


def differences(
    objects: Objects, before: bytes | None, after: bytes | None, *, prefix: str = ""
) -> Iterator[Difference]:
    """How two trees differ. Reads only the folders in which they do."""
    waiting = [(prefix, before, after)]
    while waiting:
        where, was, now = waiting.pop()
        old, new = (objects.tree(id) if id else {} for id in (was, now))
        for name in {name for name, _ in old.items() ^ new.items()}:
            path = where + decoded(name)
            sides = old.get(name), new.get(name)
            folders = [side[1] if side and side[0] == FOLDER else None for side in sides]
            files = [side if side and side[0] != FOLDER else None for side in sides]
            if any(folders):
                waiting.append((f"{path}/", folders[0], folders[1]))
            if any(files):
                yield path, files[0], files[1]


def folder_of(objects: Objects, tree: str, folder: str) -> bytes | None:
    """The tree of a folder; None if there is no such folder."""
    id = bytes.fromhex(tree)
    for name in folder.split("/") if folder and tree else ():
        mode, id = objects.tree(id).get(name.encode(), (b"", b""))
        if mode != FOLDER:
            return None
    return id or None


def _kind(entry: Entry) -> str:
    return {LINK: "a symbolic link", SUBMODULE: "a submodule"}.get(entry[0], "a file")


def _in_the_way(path: str, kind: str, wanted: str) -> Refused:
    return Refused(
        f"{shown(path)} is {kind} in the repository where we need {wanted}",
        remedy=f"remove {shown(path)} from the branch, then run again",
        place=Place(shown(path)),
    )


def _special(path: str, mode: bytes) -> Refused:
    return Refused(
        f"{shown(path)} is {_kind((mode, b''))} in the repository; we read and write plain files",
        remedy=f"remove {shown(path)} from the branch, then run again",
        place=Place(shown(path)),
    )
