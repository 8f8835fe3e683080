"""A folder on disk, for the renderer."""

from __future__ import annotations

import errno
import os

from gati_gitops.errors import Outside

_FLAGS = os.O_RDONLY | os.O_CLOEXEC
_CHUNK = 1 << 16
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG)


class DiskFiles:
    """Files below a root; links are followed, and `real` tells where they lead."""

    def __init__(self, root: str | os.PathLike[str] = "/") -> None:
        self._root = os.path.realpath(root).rstrip("/")
        self._folders = {"": ""}  # path -> where its links lead, from the root
        self._files: set[str] = set()  # read, and not links

    def read(self, path: str) -> bytes | None:
        full = f"{self._root}/{path}"
        try:
            descriptor = os.open(full, _FLAGS | os.O_NOFOLLOW)
            self._files.add(path)
        except OSError as error:
            if error.errno != errno.ELOOP:
                return self._absent(error, path)
            try:
                descriptor = os.open(full, _FLAGS)
            except OSError as deeper:
                return self._absent(deeper, path)
        try:
            data = os.read(descriptor, _CHUNK)
            if len(data) == _CHUNK:
                while more := os.read(descriptor, 1 << 20):
                    data += more
            return data
        except OSError as error:
            return self._absent(error, path)
        finally:
            os.close(descriptor)

    def _absent(self, error: OSError, path: str) -> bytes | None:
        if error.errno in _ABSENT:
            return None
        remedy = "check the permissions"
        raise Outside(f"cannot read {path}: {error.strerror}", remedy=remedy) from error

    def is_file(self, path: str) -> bool:
        """Whether there is something to read; reading tells a folder from a file."""
        return os.access(f"{self._root}/{path}", os.F_OK)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(f"{self._root}/{path}")  # noqa: PTH112 - asked for every base

    def real(self, path: str) -> str:
        if path in self._files:
            folder, slash, name = path.rpartition("/")
            return f"{self._folder(folder)}{slash}{name}"
        return self._folder(path)

    def _folder(self, path: str) -> str:
        known = self._folders.get(path)
        if known is None:
            parent, slash, name = path.rpartition("/")
            known = f"{self._folder(parent)}{slash}{name}".lstrip("/")
            full = f"{self._root}/{known}"
            if os.path.islink(full):  # noqa: PTH114 - once per folder
                known = os.path.realpath(full).removeprefix(f"{self._root}/").rstrip("/")
            self._folders[path] = known
        return known
