"""The bare clone that a remote repository is read through.

Nothing in it is truth: it is a cache of objects, and may be thrown away at any time. A kept one
lives in a folder that the user names, under a lock that ends with its process. Who finds it locked
takes a clone of his own for the time being; who meets damage in it, or a lock that a killed process
left, makes it anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pygit2

from gati_gitops.errors import Outside
from gati_gitops.repo.address import Address
from gati_gitops.repo.steps import step

SEEN = "seen.json"
"""A file beside each kept clone: which commits branches were at, and when."""
_REMEMBERED = 32
_FORMAT = "1"
_MARK = "gati-gitops"
"""A file in each kept clone, which says of what it is; a clone without it is not used."""
_PACKS, _LOOSE = 50, 5000
"""With more packs or loose objects than this, a clone is slower than a new one."""


class Clone:
    """A bare repository to fetch into and to build commits in."""

    def __init__(self, address: Address, cache: Path | None) -> None:
        self._address = address
        self._lock: int | None = None
        self._mark = f"{_FORMAT} {address.url}\n"
        self.kept = cache is not None and self._take(cache)
        if not self.kept:
            self._home = Path(tempfile.mkdtemp(prefix="gati-gitops-"))
        found = self._opened()
        self._fresh = found is None
        self.git = found or self._made()

    def private(self) -> Path:
        """A folder beside the objects, for what is needed while the clone is in use."""
        folder = self._home / "private"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        return folder

    def renew(self) -> bool:
        """Throw away what earlier runs left; False if this clone has nothing of theirs."""
        if self._fresh:
            return False
        self._fresh = True
        self.git.free()
        self.git = self._made()
        return True

    def close(self, *, sound: bool = True) -> None:
        self.git.free()
        if not self.kept:
            shutil.rmtree(self._home, ignore_errors=True)
            return
        shutil.rmtree(self._home / "private", ignore_errors=True)
        if not sound:
            with suppress(OSError):
                (self._home / "clone" / _MARK).unlink()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def saw(self, ref: str, commit: str, default: str) -> None:
        """Remember where a reference was, for the time when the server can't be asked."""
        if not self.kept:
            return
        seen = {"ref": ref, "commit": commit, "default": default, "time": time.time()}
        new = self._home / f"{SEEN}.new"
        with suppress(OSError):  # a courtesy to others, and nothing that this run needs
            known = [one for one in read_seen(self._home) if one["ref"] != ref]
            new.write_text(json.dumps([seen, *known[:_REMEMBERED]]))
            new.replace(self._home / SEEN)

    def _take(self, cache: Path) -> bool:
        self._home = home_of(self._address, cache)
        try:
            self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(self._home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None
            return False
        except OSError as error:
            raise Outside(
                f"cannot use {cache} as a cache: {error.strerror}",
                remedy="give a --cache folder that this user may write to",
            ) from None
        return True

    def _opened(self) -> pygit2.Repository | None:
        folder = self._home / "clone"
        try:
            if (folder / _MARK).read_text() != self._mark or _is_worn(folder):
                return None
            return pygit2.Repository(str(folder))
        except (OSError, UnicodeDecodeError, pygit2.GitError):
            return None

    def _made(self) -> pygit2.Repository:
        folder, new = self._home / "clone", self._home / "new"
        step("before-clone")
        try:
            for old in (new, folder):
                if old.exists():
                    shutil.rmtree(old)
            git = pygit2.init_repository(str(new), bare=True)
            git.free()
            (new / _MARK).write_text(self._mark)
            new.rename(folder)
            step("after-clone")
            return pygit2.Repository(str(folder))
        except (OSError, pygit2.GitError) as error:
            raise Outside(
                f"cannot make a clone in {self._home}: {error}",
                remedy="look at the disk (room, rights), then run again",
            ) from None


def home_of(address: Address, cache: Path) -> Path:
    """Where a repository's kept clone is."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", address.url.partition("://")[2])[-60:].strip("-.")
    digest = hashlib.sha256(address.url.encode()).hexdigest()[:16]
    return cache / f"{name}-{digest}"


def read_seen(home: Path) -> list[dict[str, Any]]:
    """Where references were when they were last seen, the newest first; none if nobody knows."""
    try:
        found = json.loads((home / SEEN).read_text())
        return [one for one in found if isinstance(one, dict) and {"ref", "commit"} <= one.keys()]
    except (OSError, ValueError, TypeError):
        return []


def _is_worn(folder: Path) -> bool:
    """Whether many runs have left much to look through."""
    packs = sum(1 for _ in folder.glob("objects/pack/*.pack"))
    return packs > _PACKS or sum(1 for _ in folder.glob("objects/??/*")) > _LOOSE
