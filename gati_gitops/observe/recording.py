"""Recordings: looks at clusters and metrics in a file, to be looked at again.

One line is one look at one cluster. The first line says which format it is. A look is added by one
write, and a reader leaves out a last line that does not end: whoever is killed while recording, or
finds the disk full, leaves all the looks before.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from gati_gitops import __version__
from gati_gitops.decide.observation import Gap, Live, Missing, Telemetry
from gati_gitops.errors import Misnamed, Outside, Place
from gati_gitops.observe.recording_codec import Shared, Tables, decoded, encoded
from gati_gitops.observe.wanted import Lives, LiveSource, MetricsSource, Telemetries, Wanted
from gati_gitops.output import UnitKey
from gati_gitops.redact import HIDDEN, replaced

FORMAT = 1
_KIND = "gati-gitops recording"
_LIVE = Mapping[str, Live | Missing] | Missing
_TELEMETRY = Mapping[str, Mapping[str, Telemetry | Missing]] | Missing
Seen = TypeVar("Seen")


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of one cluster in one pass."""

    cluster: str
    at: float
    """By the job's clock."""
    live: Lives | Missing
    telemetry: Telemetries | Missing


# -- writing --------------------------------------------------------------------------------------


class Recorder:
    """Adds looks to a file, which is made or continued."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        if path.exists() and path.stat().st_size:
            _header(path)
            _mend(path)
        else:
            _begin(path)

    def write(self, look: Look) -> None:
        line = (_line(look) + "\n").encode()
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            try:
                before = os.fstat(file).st_size
                if os.write(file, line) != len(line):
                    os.truncate(file, before)
                    raise OSError(0, "the disk is full")
            finally:
                os.close(file)
        except OSError as error:
            raise _unwritten(self._path, error) from None

    def over(
        self, cluster: str, live: LiveSource, metrics: MetricsSource
    ) -> tuple[LiveSource, MetricsSource]:
        """The same sources; each time both have looked, that is a line."""
        halves: dict[str, Any] = {}

        def taken(half: str, seen: object) -> None:
            halves[half] = seen
            if len(halves) == 2:
                self.write(Look(cluster, self._clock(), **halves))
                halves.clear()

        return (
            _Heard(live.look, lambda seen: taken("live", seen)),
            _Heard(metrics.look, lambda seen: taken("telemetry", seen)),
        )


@dataclass(frozen=True, slots=True)
class _Heard(Generic[Seen]):
    """A source of which somebody takes notes."""

    source: Callable[[Wanted], Seen]
    note: Callable[[Seen], None]

    def look(self, wanted: Wanted, /) -> Seen:
        seen = self.source(wanted)
        self.note(seen)
        return seen


def _begin(path: Path) -> None:
    """An empty recording; nobody ever finds a file without its first line."""
    first = json.dumps({"kind": _KIND, "format": FORMAT, "by": __version__}) + "\n"
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_text(first, encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        with suppress(OSError):
            fresh.unlink()
        raise _unwritten(path, error) from None


def _unwritten(path: Path, error: OSError) -> Outside:
    return Outside(
        f"can't record to {path}: {error.strerror}",
        remedy="give --record a file in a folder that is there, can be written and has room",
    )


def _mend(path: Path) -> None:
    """Cut off a line that somebody was killed over."""
    with path.open("rb+") as file:
        text = file.read()
        whole = text.rfind(b"\n") + 1
        if whole != len(text):
            file.truncate(whole)


def _line(look: Look) -> str:
    tables = Tables()
    live = look.live if isinstance(look.live, Missing) else _flat(look.live)
    telemetry = look.telemetry if isinstance(look.telemetry, Missing) else _flat(look.telemetry)
    data = {
        "cluster": look.cluster,
        "at": look.at,
        "live": encoded(live, _LIVE, tables),
        "telemetry": encoded(telemetry, _TELEMETRY, tables),
    }
    text = json.dumps({**data, **tables.data()}, separators=(",", ":"), allow_nan=False)
    return replaced(text, lambda _: HIDDEN)


def _flat(found: Mapping[UnitKey, Seen]) -> dict[str, Seen]:
    return {"/".join(key): value for key, value in found.items()}


# -- reading --------------------------------------------------------------------------------------


def read_recording(path: Path) -> Iterator[Look]:
    """The looks of a file, oldest first. Raises Misnamed."""
    _header(path)
    with path.open("rb") as file:
        next(file)
        for number, line in enumerate(file, 2):
            if line.endswith(b"\n"):  # else it was never finished
                yield _look(line, Place(str(path), number, 1))


def cut_off(path: Path) -> str:
    """Words about a last look that was never finished; empty where there is none."""
    _header(path)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return f"{path} ends in the middle of line {number}"
    return ""


def passes(looks: Iterable[Look]) -> Iterator[tuple[Look, ...]]:
    """Looks of one pass after another: a pass looks at a cluster once."""
    found: dict[str, Look] = {}
    for look in looks:
        if look.cluster in found:
            yield tuple(found.values())
            found = {}
        found[look.cluster] = look
    if found:
        yield tuple(found.values())


@dataclass(frozen=True, slots=True)
class Replayed(Generic[Seen]):
    """A source that says what was once seen, whoever asks."""

    seen: Mapping[UnitKey, Seen] | Missing
    nothing: Seen
    """What is said of a unit that was not looked at."""

    def look(self, wanted: Wanted, /) -> Mapping[UnitKey, Seen] | Missing:
        if isinstance(self.seen, Missing):
            return self.seen
        return {key: self.seen.get(key, self.nothing) for key in wanted.units}


def sources(look: Look) -> tuple[LiveSource, MetricsSource]:
    """A recorded look as what it was seen by."""
    unseen: Live | Missing = Missing(Gap.NO_DATA, "the recording has nothing of it")
    return Replayed(look.live, unseen), Replayed(look.telemetry, {})


def _header(path: Path) -> None:
    try:
        with path.open("rb") as file:
            said = json.loads(file.readline(1 << 16))
    except OSError as error:
        raise Misnamed(
            f"can't read the recording {path}: {error.strerror}",
            remedy="name a file that reconcile --record has written",
        ) from None
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or said.get("kind") != _KIND:
        raise Misnamed(
            f"{path} is no recording", remedy="name a file that reconcile --record has written"
        )
    if said.get("format") != FORMAT:
        raise Misnamed(
            f"{path} is a recording of format {said.get('format')!r}, and only {FORMAT} is known"
            " here",
            remedy=f"read it with gati-gitops {said.get('by', 'that wrote it')}, or record again",
        )


def _look(line: bytes, place: Place) -> Look:
    try:
        data = json.loads(line)
        shared = Shared(data)
        return Look(
            str(data["cluster"]),
            float(data["at"]),
            _keyed(decoded(data["live"], _LIVE, shared)),
            _keyed(decoded(data["telemetry"], _TELEMETRY, shared)),
        )
    except (AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError):
        raise Misnamed(
            "the recording is damaged: this line can't be understood",
            remedy="record again, or remove that line",
            place=place,
        ) from None


def _keyed(found: Mapping[str, Seen] | Missing) -> Mapping[UnitKey, Seen] | Missing:
    if isinstance(found, Missing):
        return found
    keyed: dict[UnitKey, Seen] = {}
    for name, value in found.items():
        namespace, slash, folder = name.partition("/")
        if not slash:
            raise ValueError(name)
        keyed[namespace, folder] = value
    return keyed
