"""A folder on disk, for the renderer."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from gati_gitops.errors import Outside

_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG)


class DiskFiles:
    """Files below a root; links are followed, and `real` tells where they lead."""

    def __init__(self, root: str | os.PathLike[str] = "/") -> None:
        self._root = os.path.realpath(root).rstrip("/")
        self._real: dict[str, str] = {}

    def read(self, path: str) -> bytes | None:
        try:
            descriptor = os.open(f"{self._root}/{path}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            return self._absent(error, path)
        try:
            size = os.fstat(descriptor).st_size
            data = os.read(descriptor, size + 1)
            while len(data) > size and (more := os.read(descriptor, 1 << 20)):
                data += more
            return data
        except OSError as error:
            return self._absent(error, path)
        finally:
            os.close(descriptor)

    def _absent(self, error: OSError, path: str) -> None:
        if error.errno in _ABSENT:
            return
        raise Outside(f"cannot read {path}: {error.strerror}", remedy="check the permissions")

    def is_dir(self, path: str) -> bool:
        return Path(f"{self._root}/{path}").is_dir()

    def real(self, path: str) -> str:
        folder, _, name = path.rpartition("/")
        known = self._real.get(folder)
        if known is None:
            known = self._real[folder] = os.path.realpath(f"{self._root}/{folder}")
        full = f"{known}/{name}"
        if os.path.islink(full):
            full = os.path.realpath(full)
        prefix = f"{self._root}/"
        return full.removeprefix(prefix).rstrip("/")
