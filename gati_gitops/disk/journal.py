"""The journal: one file that holds a whole change set, so that a killed run can be finished.

    gati-gitops journal 1
    1024 base/shop/handler-cart/1-0-0-5f3a9c1e/deployment.yaml
    - overlays/prod/eu/shop/handler-old/route.yaml
                                          (an empty line, then the contents in that order)
    sha256 of everything above, in hex

It is written under another name, forced to disk and then renamed: what bears the committed name is
whole. Until the rename nothing of the tree has changed, and a run that dies leaves a file that the
next one throws away. After it the change is decided, and whoever comes next carries it out.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from gati_gitops.disk.paths import PRIVATE
from gati_gitops.errors import Place, Refused
from gati_gitops.tree import Changes, check_paths

COMMITTED = "journal"
UNCOMMITTED = "journal.new"
IGNORE = ".gitignore"

_MAGIC = b"gati-gitops journal "
_VERSION = b"1\n"
_DIGEST = 65  # 64 hex digits and a line end.
_CHUNK = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def prepare(private: int, changes: Changes) -> None:
    """Put a change set on disk, to be committed or discarded."""
    try:
        # Whoever runs `git add -A` between a kill and the next run must not commit the journal.
        _write(private, IGNORE, [b"*\n"], sync=False)
        _write(private, UNCOMMITTED, _encode(changes), sync=True)
    except BaseException:
        discard(private)
        raise


def commit(private: int) -> None:
    """Decide what was prepared; when this returns, it will happen."""
    os.rename(UNCOMMITTED, COMMITTED, src_dir_fd=private, dst_dir_fd=private)


def settle(private: int) -> None:
    """Force the commit to disk, the name of the journal's own folder included."""
    _sync_folder(private, ".")
    _sync_folder(private, "..")


def pending(private: int, shown: str) -> Changes | None:
    """The committed change set, if there is one; refused if it is damaged."""
    try:
        descriptor = os.open(COMMITTED, _READ, dir_fd=private)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        data = file.read()
    return _decode(data, f"{shown}/{PRIVATE}/{COMMITTED}")


def remove(private: int) -> None:
    """Forget a change set that has been carried out."""
    os.unlink(COMMITTED, dir_fd=private)
    discard(private)


def discard(private: int) -> None:
    """Throw away what a run left that died before its commit."""
    for name in (UNCOMMITTED, IGNORE):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=private)


def write_all(descriptor: int, content: bytes) -> None:
    """os.write until everything is written; one call nearly always."""
    written = os.write(descriptor, content)
    while written < len(content):
        written += os.write(descriptor, memoryview(content)[written:])


def _write(private: int, name: str, chunks: Iterable[bytes], *, sync: bool) -> None:
    descriptor = os.open(name, _CREATE, 0o644, dir_fd=private)
    try:
        for chunk in chunks:
            write_all(descriptor, chunk)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(private: int, name: str) -> None:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=private)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network and user-space file systems do not know this for folders.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def _encode(changes: Changes) -> Iterator[bytes]:
    index = "".join(
        f"- {path}\n" if content is None else f"{len(content)} {path}\n"
        for path, content in changes.items()
    )
    waiting = [_MAGIC + _VERSION, index.encode(), b"\n"]
    size = 0
    digest = hashlib.sha256()
    for content in changes.values():
        waiting.append(content or b"")
        size += len(waiting[-1])
        if size >= _CHUNK:
            chunk = b"".join(waiting)
            digest.update(chunk)
            yield chunk
            waiting, size = [], 0
    chunk = b"".join(waiting)
    digest.update(chunk)
    yield chunk + digest.hexdigest().encode() + b"\n"


def _decode(data: bytes, file: str) -> Changes:
    if data.startswith(_MAGIC) and not data.startswith(_MAGIC + _VERSION):
        raise Refused(
            f"{file} was left by another version of gati-gitops",
            remedy="run that version once more on this folder; it finishes what it began",
            place=Place(file),
        )
    try:
        changes = _parse(data)
    except ValueError as error:
        raise Refused(
            f"{file} is damaged, so the interrupted run that wrote it cannot be finished",
            remedy="restore the folder from Git, or delete the journal to go on from the files "
            "as they are; then run again",
            place=Place(file),
        ) from error
    # A digest is no signature: anybody can commit a journal to a repository.
    check_paths(changes)
    return changes


def _parse(data: bytes) -> Changes:
    body, digest = memoryview(data)[:-_DIGEST], data[-_DIGEST:]
    if hashlib.sha256(body).hexdigest().encode() + b"\n" != digest:
        raise ValueError("digest")
    start = len(_MAGIC + _VERSION)
    end = data.index(b"\n\n", start)
    changes: Changes = {}
    at = end + 2
    for line in bytes(body[start:end]).decode().split("\n"):
        size, _, path = line.partition(" ")
        if size == "-":
            changes[path] = None
            continue
        changes[path] = bytes(body[at : at + int(size)])
        at += int(size)
    if at != len(body):
        raise ValueError("length")
    return changes
