"""A disk that fails: nothing has changed, or the next run finishes it; never a traceback."""

import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gati_gitops.disk import roll
from gati_gitops.disk.paths import trouble
from gati_gitops.errors import Outside, Place, Refused
from tests.disk.world import CHANGES, OLD, after, finish, found, in_child, put, write
from tests.tools import missing

LARGE = {f"base/large-{number}": bytes(100_000) for number in range(20)}
RECORDED = "the change is recorded in full, and the next run finishes it"


def failing(root, changes):
    """The error of a run that changes nothing and leaves nothing behind."""
    before = found(root)
    with pytest.raises(Outside) as failure:
        write(root, changes)
    assert found(root) == before
    assert RECORDED not in failure.value.remedy
    return failure.value


def test_a_journal_beyond_the_file_size_limit(tmp_path):
    put(tmp_path, OLD)

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        error = failing(tmp_path, {**CHANGES, **LARGE})
        assert error.exit_code == 4
        assert "File too large" in error.message and "make room" in error.remedy

    assert in_child(limited) == 0
    write(tmp_path, CHANGES)
    assert found(tmp_path) == after(OLD, CHANGES)


def test_too_little_room_is_seen_before_anything_is_written(tmp_path, monkeypatch):
    put(tmp_path, OLD)
    there = list(os.statvfs(tmp_path))
    there[4] = 0  # f_bavail
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(there))
    monkeypatch.setattr("gati_gitops.disk.journal.prepare", lambda *_: pytest.fail("written"))
    assert "No space left on device" in failing(tmp_path, LARGE).message


class Fault:
    """The n-th call of an os function fails, and no other."""

    def __init__(self, name, number):
        self._real, self._left = getattr(os, name), number
        self.happened = False

    def __call__(self, *arguments, **options):
        self._left -= 1
        if self._left == -1:
            self.happened = True
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return self._real(*arguments, **options)


@pytest.mark.parametrize("name", ["open", "write", "mkdir", "rename", "unlink", "rmdir", "fsync"])
def test_any_call_may_fail(tmp_path, monkeypatch, name):
    """Each call of a function in turn: the tree is as it was, or as it should be after the next run."""
    new = after(OLD, CHANGES)
    for number in range(100):
        root = put(tmp_path / str(number), OLD)
        fault = Fault(name, number)
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fault)
            try:
                write(root, CHANGES)
                recorded = True
            except Outside as error:
                failure = error
                recorded = RECORDED in error.remedy
        if not fault.happened:
            assert found(root) == new
            return
        # Only when everything has been done, and a lock is left to be removed, it is kept quiet.
        if (root / ".gati-gitops/journal").exists() or not recorded:
            assert str(root) in failure.message and os.strerror(errno.EIO) in failure.message
        finish(root)
        assert found(root) == (new if recorded else OLD), number


@pytest.mark.parametrize(
    "code, kind, remedy",
    [
        (errno.ENOSPC, Outside, "make room"),
        (errno.EDQUOT, Outside, "make room"),
        (errno.EACCES, Outside, "the right"),
        (errno.EROFS, Outside, "the right"),
        (errno.EIO, Outside, "file system"),
        (errno.ELOOP, Refused, "remove it"),
        (errno.ENOTDIR, Refused, "remove it"),
    ],
)
def test_an_error_says_what_helps(code, kind, remedy):
    error = trouble(OSError(code, os.strerror(code)), "out/base", "write")
    assert type(error) is kind
    assert error.message == f"cannot write out/base: {os.strerror(code)}"
    assert remedy in error.remedy and error.place == Place("out/base")


def test_a_folder_that_may_not_go_stays_empty(tmp_path, monkeypatch):
    """A mount point, or a folder in one that we may not change."""
    put(tmp_path, {"base/a": b""})

    def busy(path, **_):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(os, "rmdir", busy)
    write(tmp_path, {"base/a": None})
    assert "base/" in found(tmp_path)


def test_syncfs_fails(tmp_path, monkeypatch):
    put(tmp_path, OLD)

    def fail(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(roll, "_sync", fail)
        with pytest.raises(Outside) as failure:
            write(tmp_path, CHANGES)
    assert RECORDED in failure.value.remedy
    assert finish(tmp_path)
    assert found(tmp_path) == after(OLD, CHANGES)


@pytest.fixture
def public():
    """A folder that every user may reach; pytest's own are private."""
    folder = Path(tempfile.mkdtemp(prefix="gati-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def as_nobody(work):
    def dropped():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        work()

    assert in_child(dropped) == 0


@pytest.mark.parametrize("folder", ["base/shop/cart", "base/shop", "crds", "."])
def test_a_folder_without_the_right_to_write(public, folder):
    put(public / "out", OLD)
    if os.getuid() == 0:
        for path in (public / "out", *(public / "out").rglob("*")):
            os.chown(path, 65534, 65534)
    closed = public / "out" / folder
    closed.chmod(0o555)

    def refused():
        error = failing(public / "out", CHANGES)
        assert f"{closed}" in error.message and "Permission denied" in error.message

    try:
        as_nobody(refused)
    finally:
        closed.chmod(0o755)


IN_A_NAMESPACE = """
import os, subprocess, sys
from pathlib import Path
from tests.disk.test_faults import LARGE, failing
from tests.disk.world import CHANGES, OLD, after, found, put, write
root = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", root], check=True)
put(root, OLD)
assert "No space left" in failing(root, LARGE).message
os.statvfs = lambda _, real=os.statvfs: real("/")  # What if the look before had been wrong?
assert "No space left" in failing(root, LARGE).message
write(root, CHANGES)
assert found(root) == after(OLD, CHANGES)
subprocess.run(["mount", "-o", "remount,ro", root], check=True)
assert "Read-only file system" in failing(root, {"base/a": b"x"}).message
print("seen")
"""


def test_a_full_and_a_read_only_disk(tmp_path):
    enter = (
        ["unshare", "--mount"] if os.getuid() == 0 else ["unshare", "--map-root-user", "--mount"]
    )
    if not shutil.which("unshare") or subprocess.call([*enter, "true"], stderr=subprocess.DEVNULL):
        missing("a mount namespace", "it wants `unshare`, and root or user namespaces")
    ran = subprocess.run(
        [*enter, sys.executable, "-c", IN_A_NAMESPACE, tmp_path],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "seen\n", ran.stderr
