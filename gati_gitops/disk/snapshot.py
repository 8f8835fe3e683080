"""A folder as the compiler reads it.

Links are never followed. A link or a special file below our folders is listed like a file, so that
it is seen as foreign; reading it is refused, because its bytes are not in the folder.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from gati_gitops.disk.paths import PRIVATE, explained, in_the_way, trouble
from gati_gitops.tree import shown

# A FIFO without writer would block the open for ever; on regular files O_NONBLOCK means nothing.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ABSENT = {errno.ENOENT, errno.ENOTDIR}
_SPECIAL = {errno.ELOOP, errno.ENXIO, errno.ENODEV}


class DiskSnapshot:
    """The files below a root. Holds no content: what is read is as it is on disk now."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)
        # Folders that were seen not to be links; each is looked at once, not once per file.
        self._real = {""}

    def paths(self, folder: str) -> list[str]:
        """All files below a folder, sorted; the path itself if it is not a folder."""
        mode = self._mode(folder)
        if mode is None:
            return []
        if not stat.S_ISDIR(mode):
            return [folder]
        found: list[str] = []
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            prefix = f"{here}/" if here else ""
            with explained(self._at(here), "list"), os.scandir(self._at(here)) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        found.append(prefix + entry.name)
                    elif prefix or entry.name != PRIVATE:
                        waiting.append(prefix + entry.name)
        return sorted(found)

    def read(self, path: str) -> bytes | None:
        """A file's bytes, or None if it is not there."""
        folder = path.rpartition("/")[0]
        if folder not in self._real and not self._is_real(folder):
            return None
        try:
            descriptor = os.open(self._at(path), _READ)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            if error.errno in _SPECIAL:
                raise self._foreign(path) from error
            raise trouble(error, shown(self._at(path)), "read") from error
        try:
            with explained(self._at(path), "read"):
                status = os.fstat(descriptor)
                if stat.S_ISDIR(status.st_mode):
                    return None
                if not stat.S_ISREG(status.st_mode):
                    raise self._foreign(path)
                return _read_all(descriptor, status.st_size)
        finally:
            os.close(descriptor)

    def _is_real(self, folder: str) -> bool:
        """Whether a folder is there; refused if it, or one above it, is a link."""
        if folder in self._real:
            return True
        mode = self._mode(folder)
        if mode is not None and stat.S_ISLNK(mode):
            raise self._foreign(folder)
        if mode is None or not stat.S_ISDIR(mode):
            return False
        self._real.add(folder)
        return True

    def _mode(self, path: str) -> int | None:
        if not path:
            return stat.S_IFDIR if os.path.isdir(self._root) else None  # noqa: PTH112
        if not self._is_real(path.rpartition("/")[0]):
            return None
        with explained(self._at(path), "read"):
            try:
                return os.lstat(self._at(path)).st_mode
            except (FileNotFoundError, NotADirectoryError):
                return None

    def _at(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def _foreign(self, path: str) -> Exception:
        return in_the_way(shown(self._at(path)), "a link or special file; we read plain files")


def _read_all(descriptor: int, size: int) -> bytes:
    # One byte more than the size: a short answer proves the end without another call.
    content = os.read(descriptor, size + 1)
    if len(content) == size:
        return content
    chunks = [content]
    while chunk := os.read(descriptor, 1 << 16):
        chunks.append(chunk)
    return b"".join(chunks)
