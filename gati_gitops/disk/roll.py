"""Carry out a change set: remove, then make folders, then write.

Doing it again gives the same, whatever had been done before, and nothing is reached through a link:
each folder is opened by its name in the folder above.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from gati_gitops.disk.journal import write_all
from gati_gitops.disk.paths import FOLDER, trouble
from gati_gitops.tree import Changes, above, shown

TEMPORARY = ".gati-gitops.tmp"
"""A file's new content before it takes the old one's place, in the same folder."""

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Not empty, a mount point, or not ours to remove: an empty folder more does no harm.
_STAYS = {errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.EACCES, errno.EPERM}
_MODE = 0o644  # Less what the user's umask takes away, as with any other program.


def roll(root: Path, changes: Changes, *, again: bool) -> None:
    """Turn the folder into what the changes say; ``again`` if somebody may have begun before us."""
    written = sorted(path for path, content in changes.items() if content is not None)
    removed = sorted(path for path, content in changes.items() if content is None)
    emptied = sorted(above(removed) - above(written), reverse=True)
    path = ""
    try:
        # Removals come first: a file may have to make way for a folder, or the reverse.
        with _Folders(root) as folders:
            for path in removed:
                _remove_file(folders, path)
            for path in emptied:
                _remove_folder(folders, path)
        with _Folders(root) as folders:
            for path in written:
                content = changes[path]
                assert content is not None
                _write_file(folders, path, content, again=again)
        path = ""
        _sync(root)
    except OSError as error:
        raise trouble(error, shown(root / path), "write") from error


class _Folders:
    """The open folders from the root down to the one in use.

    Paths come in sorted order, so each folder is opened (and made) once.
    """

    def __init__(self, root: Path) -> None:
        self._open = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        self._names: list[str] = []
        self._path = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._open:
            os.close(folder)

    def enter(self, path: str, *, make: bool = False) -> int:
        if path == self._path:
            return self._open[-1]
        names = path.split("/") if path else []
        shared = 0
        for ours, theirs in zip(self._names, names, strict=False):
            if ours != theirs:
                break
            shared += 1
        while len(self._names) > shared:
            os.close(self._open.pop())
            self._names.pop()
        self._path = "/".join(self._names)
        for name in names[shared:]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=self._open[-1])
            self._open.append(os.open(name, FOLDER, dir_fd=self._open[-1]))
            self._names.append(name)
        self._path = path
        return self._open[-1]


def _remove_file(folders: _Folders, path: str) -> None:
    folder, _, name = path.rpartition("/")
    # A run before us may have removed it, or put a folder in its place, or a file in its folder's.
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        os.unlink(name, dir_fd=folders.enter(folder))


def _remove_folder(folders: _Folders, path: str) -> None:
    folder, _, name = path.rpartition("/")
    try:
        os.rmdir(name, dir_fd=folders.enter(folder))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        if error.errno not in _STAYS:
            raise


def _write_file(folders: _Folders, path: str, content: bytes, *, again: bool) -> None:
    folder, _, name = path.rpartition("/")
    inside = folders.enter(folder, make=True)
    if not again:
        # A new file needs no second name: torn by a kill, the next run writes it again.
        with suppress(FileExistsError):
            _create(inside, name, content)
            return
    try:
        _create(inside, TEMPORARY, content)
    except FileExistsError:
        os.unlink(TEMPORARY, dir_fd=inside)
        _create(inside, TEMPORARY, content)
    os.rename(TEMPORARY, name, src_dir_fd=inside, dst_dir_fd=inside)


def _create(folder: int, name: str, content: bytes) -> None:
    descriptor = os.open(name, _CREATE, _MODE, dir_fd=folder)
    try:
        write_all(descriptor, content)
    finally:
        os.close(descriptor)


def _sync(root: Path) -> None:
    """Wait until the file system of a folder has everything on disk."""
    import ctypes

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
        return
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if syncfs(folder):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
    finally:
        os.close(folder)
