"""Writing many objects as one pack.

A pack and its index, as Git's documentation `gitformat-pack` describes them (version 2), without
deltas. Both are written under names that `git gc` knows as leavings, and renamed when whole, the
index last: before that nobody sees the pack.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from gati_gitops.repo.steps import step

_LARGE = 1 << 31


def write_pack(folder: Path, objects: Mapping[bytes, tuple[int, bytes]], *, durable: bool) -> str:
    """Write objects (id to kind and content) into a pack folder; the pack's name, if any."""
    if not objects:
        return ""
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f"tmp_pack_{os.getpid()}_{os.urandom(6).hex()}"
    index = temporary.with_name(temporary.name.replace("pack", "idx"))
    try:
        places, trailer = _write_objects(temporary, objects, durable=durable)
        _write_index(index, places, trailer, durable=durable)
        name = f"pack-{trailer.hex()}"
        step("pack-written")
        temporary.rename(folder / f"{name}.pack")
        step("pack-named")
        index.rename(folder / f"{name}.idx")
    finally:
        for path in (temporary, index):
            with suppress(FileNotFoundError):
                path.unlink()
    if durable:
        _sync(folder)
    return name


def _write_objects(
    path: Path, objects: Mapping[bytes, tuple[int, bytes]], *, durable: bool
) -> tuple[list[tuple[bytes, int, int]], bytes]:
    """Id, checksum and offset of each object, and the digest of the whole."""
    places: list[tuple[bytes, int, int]] = []
    digest = hashlib.sha1(usedforsecurity=False)
    with path.open("xb", buffering=1 << 20) as file:
        header = struct.pack(">4sII", b"PACK", 2, len(objects))
        file.write(header)
        digest.update(header)
        offset = len(header)
        for id, (kind, data) in objects.items():
            entry = _head(kind, len(data)) + zlib.compress(data, 1)
            places.append((id, zlib.crc32(entry), offset))
            offset += len(entry)
            file.write(entry)
            digest.update(entry)
        file.write(digest.digest())
        _finish(file, durable=durable)
    return places, digest.digest()


def _head(kind: int, size: int) -> bytes:
    head = bytearray()
    byte, size = kind << 4 | size & 15, size >> 4
    while size:
        head.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    head.append(byte)
    return bytes(head)


def _write_index(
    path: Path, places: list[tuple[bytes, int, int]], trailer: bytes, *, durable: bool
) -> None:
    places.sort()
    ids, checksums, offsets = zip(*places, strict=True)
    firsts = [0] * 256
    for id in ids:
        firsts[id[0]] += 1
    for number in range(1, 256):
        firsts[number] += firsts[number - 1]
    far = [offset for offset in offsets if offset >= _LARGE]
    position = iter(range(_LARGE, _LARGE + len(far)))
    near = [offset if offset < _LARGE else next(position) for offset in offsets]
    body = b"".join(
        (
            struct.pack(">4sI256I", b"\xfftOc", 2, *firsts),
            *ids,
            struct.pack(f">{len(ids)}I", *checksums),
            struct.pack(f">{len(ids)}I", *near),
            struct.pack(f">{len(far)}Q", *far),
            trailer,
        )
    )
    with path.open("xb") as file:
        file.write(body + hashlib.sha1(body, usedforsecurity=False).digest())
        _finish(file, durable=durable)


def _finish(file: BinaryIO, *, durable: bool) -> None:
    file.flush()
    os.fchmod(file.fileno(), 0o444)
    if durable:
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
