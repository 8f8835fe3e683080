"""Where the renderer reads from: questions that a folder, a commit or a tree in memory answers.

Paths are posix paths from one root, without a leading slash; the root itself is the empty path.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Protocol


class FileSystem(Protocol):
    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or None when there is no such file."""

    def is_file(self, path: str) -> bool:
        """Whether there may be such a file; a cheap question before `read`."""

    def is_dir(self, path: str) -> bool: ...

    def real(self, path: str) -> str:
        """The path with its symbolic links followed."""


class MemoryFiles:
    """A tree in memory: path -> bytes."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._folders: set[str] = {""}
        for path in files:
            folder = posixpath.dirname(path)
            while folder not in self._folders:
                self._folders.add(folder)
                folder = posixpath.dirname(folder)

    def read(self, path: str) -> bytes | None:
        return self._files.get(path)

    def is_file(self, path: str) -> bool:
        return path in self._files

    def is_dir(self, path: str) -> bool:
        return path in self._folders

    def real(self, path: str) -> str:
        return path


def join(folder: str, path: str) -> str:
    """`path` as seen from `folder`; it may lead out of it but not out of the root."""
    joined = posixpath.normpath(f"{folder}/{path}" if folder else path)
    if joined.startswith(".."):
        return joined
    return "" if joined == "." else joined.lstrip("/")


def is_within(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")
