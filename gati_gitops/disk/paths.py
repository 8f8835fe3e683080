"""How a failing disk is put into words.

A path is checked as text (tree.py) before anything is opened, and opened component by component, so
that neither a spec's strange name nor a link somebody planted leads out of our folders.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from gati_gitops.errors import GatiError, Outside, Place, Refused
from gati_gitops.tree import shown

PRIVATE = ".gati-gitops"
"""The folder below the root for lock and journal; gone when nothing is under way."""

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_IN_THE_WAY = {errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY}


def in_the_way(path: str, what: str) -> Refused:
    return Refused(f"{path} is {what}", remedy=f"remove {path} and run again", place=Place(path))


def trouble(error: OSError, path: str, doing: str) -> GatiError:
    """An operating system's error as ours."""
    message = f"cannot {doing} {path}: {error.strerror}"
    if error.errno in _IN_THE_WAY:
        return Refused(
            message,
            remedy="a link, file or folder is where another belongs; remove it, then run again",
            place=Place(path),
        )
    remedy = "look at the file system, then run again"
    if error.errno in _FULL:
        remedy = "make room (quota and ulimit count, too), then run again"
    elif error.errno in _FORBIDDEN:
        remedy = "give this user the right to do that, or choose another folder, then run again"
    return Outside(message, remedy=remedy, place=Place(path))


@contextmanager
def explained(path: str, doing: str, after: str = "") -> Iterator[None]:
    """Turn an OSError of the block into ours; ``after`` is a sentence on what happens next."""
    try:
        yield
    except OSError as error:
        told = trouble(error, f"{shown(path)}", doing)
        told.remedy += after
        raise told from error
