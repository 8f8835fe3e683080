"""Folders for tests: trees on disk, and a process that is killed at a step of its work."""

import os
import signal
import stat
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from gati_gitops.disk import roll
from gati_gitops.disk.paths import PRIVATE
from gati_gitops.disk.writer import apply, locked, recover
from gati_gitops.tree import Changes, Tree

# What makes the run in `test_crash` pass every kind of change.
OLD: Tree = {
    "base/shop/cart/same.yaml": b"same",
    "base/shop/cart/changed.yaml": b"before",
    "base/shop/old/only.yaml": b"the last file of its folder",
    "base/shop/turns": b"a file that becomes a folder",
    "base/shop/flat/a.yaml": b"a folder that becomes a file",
    "crds/gone.yaml": b"gone",
}
CHANGES: Changes = {
    "base/shop/cart/changed.yaml": b"after, and longer",
    "base/shop/old/only.yaml": None,
    "base/shop/turns": None,
    "base/shop/turns/now.yaml": b"in the folder",
    "base/shop/flat/a.yaml": None,
    "base/shop/flat": b"flat",
    "crds/gone.yaml": None,
    "overlays/dev/new.yaml": b"new",
    "overlays/dev/empty.yaml": b"",
}


def after(old: Tree, changes: Changes) -> Tree:
    both = {**old, **changes}
    return {path: content for path, content in both.items() if content is not None}


def put(root: Path, tree: Tree) -> Path:
    """A tree on disk, by plain means."""
    for path, content in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def found(root: Path) -> Tree:
    """All files below a root, by plain means; a folder without files stands as `name/`."""
    tree: Tree = {}
    for folder, folders, files in os.walk(root):
        here = Path(folder).relative_to(root)
        for name in files:
            path = root / here / name
            mode = path.lstat().st_mode
            tree[(here / name).as_posix()] = path.read_bytes() if stat.S_ISREG(mode) else b"special"
        if not folders and not files and here != Path():
            tree[f"{here.as_posix()}/"] = b""
    return tree


def write(root: Path, changes: Changes) -> None:
    with locked(root) as held:
        apply(held, changes)


def finish(root: Path) -> bool:
    with locked(root) as held:
        return recover(held)


def is_committed(root: Path) -> bool:
    return (root / PRIVATE / "journal").exists()


def in_child(work: Callable[[], object]) -> int:
    """The status of a process that does this work: 0, 1 after an exception, or minus the signal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # The child runs nothing of threads.
        child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work()
        os._exit(0)
    except BaseException as error:  # noqa: BLE001
        os.write(2, f"{error!r}\n".encode())
    os._exit(1)


class Steps:
    """Names every call that changes the disk, and kills the process before one of them.

    A write is two steps, the second in the middle of its bytes.
    """

    def __init__(self, root: Path, kill_at: int | None = None) -> None:
        self.names: list[str] = []
        self._root = root
        self._kill_at = kill_at
        self._files: dict[int, str] = {}

    def install(self) -> None:
        """For a child only: it is not undone."""
        for name in ("open", "write", "ftruncate", "fsync", "mkdir", "rename", "unlink", "rmdir"):
            setattr(os, name, partial(getattr(self, name), getattr(os, name)))
        roll._sync = partial(self.sync, roll._sync)

    def step(self, name: str) -> None:
        if self.is_next():
            os.kill(os.getpid(), signal.SIGKILL)
        self.names.append(name)

    def is_next(self) -> bool:
        return len(self.names) == self._kill_at

    def name(self, path, folder: int | None) -> str:
        full = Path(self._files[folder] if folder is not None else "", os.fspath(path))
        return os.path.normpath(full.relative_to(self._root) if full.is_absolute() else full)

    def open(self, real, path, flags, mode=0o777, *, dir_fd=None):
        name = self.name(path, dir_fd)
        if flags & os.O_CREAT:
            self.step(f"create {name}")
        descriptor = real(path, flags, mode, dir_fd=dir_fd)
        self._files[descriptor] = name
        return descriptor

    def write(self, real, descriptor, content):
        self.step(f"write {self._files[descriptor]}")
        if self.is_next():
            real(descriptor, content[: len(content) // 2])
        self.step(f"write {self._files[descriptor]}, half done")
        return real(descriptor, content)

    def ftruncate(self, real, descriptor, length):
        self.step(f"truncate {self._files[descriptor]}")
        real(descriptor, length)

    def fsync(self, real, descriptor):
        self.step(f"sync {self._files[descriptor]}")
        real(descriptor)

    def mkdir(self, real, path, mode=0o777, *, dir_fd=None):
        self.step(f"mkdir {self.name(path, dir_fd)}")
        real(path, mode, dir_fd=dir_fd)

    def rename(self, real, source, target, *, src_dir_fd=None, dst_dir_fd=None):
        old, new = self.name(source, src_dir_fd), self.name(target, dst_dir_fd)
        self.step(f"rename {old} to {new}")
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def unlink(self, real, path, *, dir_fd=None):
        self.step(f"unlink {self.name(path, dir_fd)}")
        real(path, dir_fd=dir_fd)

    def rmdir(self, real, path, *, dir_fd=None):
        self.step(f"rmdir {self.name(path, dir_fd)}")
        real(path, dir_fd=dir_fd)

    def sync(self, real, root):
        self.step("sync everything")
        real(root)


def steps(root: Path, work: Callable[[], object]) -> list[str]:
    """The steps of some work, by name; it is done in a child."""
    names = root.with_name("steps")

    def traced() -> None:
        seen = Steps(root)
        seen.install()
        work()
        names.write_text("\n".join(seen.names))

    assert in_child(traced) == 0
    return names.read_text().split("\n")


def killed(root: Path, work: Callable[[], object], at: int) -> None:
    """Do some work in a child that is killed before a step."""

    def doomed() -> None:
        Steps(root, kill_at=at).install()
        work()

    assert in_child(doomed) == -signal.SIGKILL
