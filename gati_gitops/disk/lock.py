"""One run at a time in one folder.

The lock is flock's, so it goes with the process that holds it, however that ends. The file is only
there to be locked and to say who holds it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NewType

from gati_gitops.disk.paths import FOLDER, PRIVATE, explained
from gati_gitops.errors import Outside, Place, Refused
from gati_gitops.tree import shown

Held = NewType("Held", Path)
"""A folder whose lock we hold: what `recover` and `apply` ask for."""

_LOCK = "lock"
_ATTEMPTS = 1000
_OPEN = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def locked(root: Path) -> Iterator[Held]:
    """Keep every other run out of a folder while the block recovers, reads and applies.

    The folder is made if it is not there, and goes again if nothing was put into it.
    """
    made = [folder for folder in (root, *root.parents) if not os.path.lexists(folder)]
    with explained(f"{root}/{PRIVATE}", "lock"):
        private, lock = _acquire(root)
    try:
        yield Held(root)
    finally:
        # While the lock is still ours: whoever has opened the file sees that it is no longer the
        # one with that name, and starts over.
        with suppress(OSError):
            os.unlink(_LOCK, dir_fd=private)
            (root / PRIVATE).rmdir()
            for folder in made:
                folder.rmdir()
        os.close(lock)
        os.close(private)


def _acquire(root: Path) -> tuple[int, int]:
    for _ in range(_ATTEMPTS):
        with suppress(FileNotFoundError):
            (root / PRIVATE).mkdir(parents=True, exist_ok=True)
            private = os.open(root / PRIVATE, FOLDER)
            try:
                lock = _try(private, root)
            except BaseException:
                os.close(private)
                raise
            if lock is not None:
                return private, lock
            os.close(private)
    raise Outside(
        f"cannot lock {shown(root)}: its lock file vanishes again and again",
        remedy="look whether something deletes files there, then run again",
        place=Place(shown(root)),
    )


def _try(private: int, root: Path) -> int | None:
    """The locked file, or None if it was deleted while we reached for it."""
    lock = os.open(_LOCK, _OPEN, 0o644, dir_fd=private)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(_LOCK, dir_fd=private, follow_symlinks=False)):
            os.ftruncate(lock, 0)
            os.write(lock, f"process {os.getpid()} on {os.uname().nodename}".encode())
            return lock
    except BlockingIOError as error:
        holder = os.read(lock, 200).decode(errors="replace") or "a process that has just started"
        os.close(lock)
        raise Refused(
            f"{shown(root)} is in use by another run of gati-gitops: {holder}",
            remedy="wait until that run has ended; its lock ends with it",
            place=Place(shown(root)),
        ) from error
    except BaseException:
        os.close(lock)
        raise
    os.close(lock)
    return None
