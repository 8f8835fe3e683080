"""Look before the first change: what is known to fail is refused while nothing has happened.

What changes between this look and the writing is met by roll.py, which follows no link; only then
must somebody clear the way before the next run can finish.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from gati_gitops.disk.paths import explained, in_the_way, trouble
from gati_gitops.errors import GatiError, Place, Refused
from gati_gitops.tree import Changes, above, shown

_BLOCK = 4096


def look(root: Path, changes: Changes) -> None:
    """Raise if the changes cannot be made."""
    written = {path: content for path, content in changes.items() if content is not None}
    for path in sorted(above(written) & written.keys()):
        raise Refused(
            f"{path} would be both a file and a folder",
            remedy="rename what one of the two is made from",
            place=Place(path),
        )
    with explained(os.fspath(root), "look at"):
        present = _folders(root, changes, above(written))
        _files(root, changes, present)
        _rights(root, changes, present)
        _space(root, written)


def _folders(root: Path, changes: Changes, needed: set[str]) -> set[str]:
    """The folders above the changes that are there; anything else in their place is refused."""
    present = {""}
    for folder in sorted(above(changes)):
        if folder.rpartition("/")[0] not in present:
            continue
        mode = _mode(root, folder)
        if mode is not None and stat.S_ISDIR(mode):
            present.add(folder)
        elif mode is not None and changes.get(folder, b"") is not None and folder in needed:
            raise _blocked(root, folder, mode, "a folder")
    return present


def _files(root: Path, changes: Changes, present: set[str]) -> None:
    for path, content in changes.items():
        if path.rpartition("/")[0] not in present:
            continue
        mode = _mode(root, path)
        if mode is None or stat.S_ISREG(mode):
            continue
        # Removing a link or a special file touches nothing but its name.
        if stat.S_ISDIR(mode):
            if content is None or not _goes(root, path, changes):
                raise _blocked(root, path, mode, "a file")
        elif content is not None:
            raise _blocked(root, path, mode, "a file")


def _goes(root: Path, folder: str, changes: Changes) -> bool:
    """Whether the changes remove everything below a folder."""
    with os.scandir(root / folder) as entries:
        found = [
            (f"{folder}/{entry.name}", entry.is_dir(follow_symlinks=False)) for entry in entries
        ]
    return bool(found) and all(
        _goes(root, path, changes) if is_folder else changes.get(path, b"") is None
        for path, is_folder in found
    )


def _rights(root: Path, changes: Changes, present: set[str]) -> None:
    touched = set()
    for path in changes:
        folder = path.rpartition("/")[0]
        while folder not in present:
            folder = folder.rpartition("/")[0]
        touched.add(folder)
    for folder in sorted(touched):
        if not os.access(root / folder, os.W_OK | os.X_OK):
            error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            raise trouble(error, shown(root / folder), "write to")


def _space(root: Path, written: dict[str, bytes]) -> None:
    """Room for the journal and the files, in blocks; roughly, to fail before the commit."""
    need = sum(2 * len(content) + _BLOCK for content in written.values())
    there = os.statvfs(root)
    if there.f_blocks and there.f_bavail * there.f_frsize < need:
        error = OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} ({need >> 10} KiB are needed)")
        raise trouble(error, shown(root), "write to")


def _mode(root: Path, path: str) -> int | None:
    try:
        return os.lstat(f"{root}/{path}").st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _blocked(root: Path, path: str, mode: int, wanted: str) -> GatiError:
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file"}
    kind = kinds.get(stat.S_IFMT(mode), "a special file")
    return in_the_way(shown(root / path), f"{kind} where we need {wanted}")
