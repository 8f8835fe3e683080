"""Where evidence that takes longer than one look is kept between two passes.

It is a cache: in a file, in a ConfigMap, or in memory. Whoever finds it lost, broken or of another
format begins anew and says so; a step and a drain last longer then, and nothing else happens. So
nothing here is ever worth stopping for. Only what never was a file of clocks is left alone: it is
somebody else's, and more than a cache to them.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.clocks import FORMAT, UnitClock, clock_data, clock_from
from gati_gitops.errors import Misnamed, Outside

if TYPE_CHECKING:
    from gati_gitops.observe.kube import Kube

Clocks = Mapping[Where, UnitClock]
KEY = "clocks.json.gz"
LIMIT = 950_000
"""Bytes; an API server takes a mebibyte of a ConfigMap, base64 and all."""
_BEGINNING = b'{"format":%d,"units":{' % FORMAT
_BEGUN = re.compile(rb'\{"format":\d+,"units":\{')
_ANOTHER = "give --clocks a file of its own: one that is not there yet, or that was kept before"


@dataclass(frozen=True, slots=True)
class Remembered:
    """What was kept, or why nothing was."""

    clocks: Clocks = field(default_factory=dict)
    lost: str = ""
    """Why all clocks begin anew; empty where none were ever kept, or all are there."""


class ClockStore(Protocol):
    """Keeps clocks from one pass to the next."""

    def read(self) -> Remembered: ...

    def write(self, clocks: Clocks) -> None:
        """Keep these instead. Raises Outside."""


class MemoryClocks:
    """For as long as the process lives."""

    def __init__(self, clocks: Clocks | None = None) -> None:
        self.clocks: Clocks = dict(clocks or {})

    def read(self) -> Remembered:
        return Remembered(self.clocks)

    def write(self, clocks: Clocks) -> None:
        self.clocks = dict(clocks)


class FileClocks:
    """In a file, which is replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last = b""
        self._strange = False
        self._kept = False
        """Whether clocks were found or kept here: then what breaks later is ours that broke."""

    def check(self) -> None:
        """Raises Misnamed for what is no place to keep clocks in."""
        if self._path.is_dir():
            raise Misnamed(f"{self._path} is a folder", remedy=_ANOTHER)
        self.read()
        if self._strange:
            raise Misnamed(f"{self._path} is no file of clocks", remedy=_ANOTHER)

    def read(self) -> Remembered:
        self._strange = False
        try:
            self._last = self._path.read_bytes()
        except FileNotFoundError:
            return Remembered()
        except OSError as error:
            return Remembered(lost=f"{self._path} cannot be read: {error.strerror}")
        ours = _is_ours(self._last)
        self._strange = not (ours or self._kept)
        self._kept = self._kept or ours
        if self._strange:
            return Remembered(lost=f"{self._path} is no file of clocks")
        return _decoded(self._last, str(self._path))

    def write(self, clocks: Clocks) -> None:
        if self._strange:
            raise Outside(
                f"clocks cannot be kept in {self._path}: it is no file of clocks", remedy=_ANOTHER
            )
        content = _encoded(clocks)
        if content == self._last:
            return
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
        try:
            new.write_bytes(content)
            new.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise Outside(
                f"clocks cannot be kept in {self._path}: {error.strerror}",
                remedy="give --clocks a file in a folder that can be written; until then steps and"
                " drains begin anew with every run",
            ) from None
        self._last, self._kept = content, True


class ConfigMapClocks:
    """In a ConfigMap of the cluster that the job runs in, packed."""

    def __init__(self, kube: Kube, namespace: str, name: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._name = name
        self._found: dict[str, Any] | None = None
        self._last = b""

    def __str__(self) -> str:
        return f"the ConfigMap {self._namespace}/{self._name}"

    def read(self) -> Remembered:
        self._found, self._last = None, b""
        try:
            found = self._kube.get("v1", "ConfigMap", self._name, self._namespace)
        except Outside as error:
            return Remembered(lost=f"{self} cannot be read: {error.message}")
        if found is None:
            return Remembered()
        self._found = found
        packed = (found.get("binaryData") or {}).get(KEY)
        if packed is None:
            return Remembered()
        try:
            self._last = gzip.decompress(b64decode(packed, validate=True))
        except (NotBase64, OSError, EOFError, zlib.error, TypeError, ValueError):
            return Remembered(lost=f"{self} is broken")
        return _decoded(self._last, str(self))

    def write(self, clocks: Clocks) -> None:
        content = _encoded(clocks)
        if content == self._last and self._found is not None:
            return
        # without a time in it, so that the same clocks are the same bytes
        packed = b64encode(gzip.compress(content, mtime=0)).decode()
        if len(packed) > LIMIT:
            raise Outside(
                f"the clocks of {len(clocks)} units do not fit into {self}",
                remedy="keep them in a file on a volume: --clocks FILE",
            )
        head = {"name": self._name, "namespace": self._namespace}
        new: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head}
        if self._found is not None:
            new = {**self._found, "apiVersion": "v1", "kind": "ConfigMap"}
        new["binaryData"] = {KEY: packed}
        # as it was read or not at all: two jobs do not mix their clocks
        write = self._kube.create if self._found is None else self._kube.replace
        self._found, self._last = write(new), content


def _encoded(clocks: Clocks) -> bytes:
    units: dict[str, Any] = {}
    for (env, cluster, (namespace, folder)), clock in sorted(clocks.items()):
        if clock != UnitClock():
            units[f"{env}/{cluster}/{namespace}/{folder}"] = clock_data(clock)
    text = json.dumps({"format": FORMAT, "units": units}, separators=(",", ":"), sort_keys=True)
    return text.encode() + b"\n"


def _is_ours(content: bytes) -> bool:
    """Whether a file holds clocks, whole or broken, or nothing at all.

    What a crash leaves of ours is empty, or begins as ours does; what can be read has its parts.
    """
    text = content.strip(b"\0 \t\r\n")
    if not text or _BEGUN.match(text):
        return True
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return _BEGINNING.startswith(text)
    return isinstance(data, dict) and (not data or {"format", "units"} <= data.keys())


def _decoded(content: bytes, where: str) -> Remembered:
    try:
        data = json.loads(content)
        if data.get("format") != FORMAT:
            return Remembered(lost=f"{where} has another format")
        found: dict[Where, UnitClock] = {}
        for name, said in data["units"].items():
            env, cluster, namespace, folder = name.split("/")
            found[env, cluster, (namespace, folder)] = clock_from(said)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return Remembered(lost=f"{where} is broken")
    return Remembered(found)
