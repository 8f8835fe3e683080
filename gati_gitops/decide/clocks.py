"""Evidence that takes longer than one look: since when, how often, how much.

Clocks are a cache. They live outside Git, and whoever loses them begins again: a step lasts longer,
a drain waits longer, nothing else happens. Each belongs to one state of one ledger, so that what
was seen of the last step never counts for this one.

Clocks change with every look at every version: tuples are the cheapest values to change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

FORMAT = 1


class Tally(NamedTuple):
    """Requests of a version that were seen in its step, added up pass by pass."""

    since: float = 0.0
    """From when on they are counted, by the metric source's clock; 0: not yet."""
    until: float = 0.0
    """Up to when they are counted."""
    requests: int = 0
    born: int = 0
    """Those of them that a counter had when it was first seen: it may have had them for longer."""
    failures: int = 0
    slow: int = 0
    timed: int = 0
    """Requests whose duration is known."""
    edge: int = 0
    """Requests that the gateway counted."""
    edge_failures: int = 0
    sent: int = 0
    """Requests of our own."""
    sent_failures: int = 0
    sent_until: float = 0.0


class VersionClock(NamedTuple):
    """What is remembered of one version. Times are seconds of the job's clock; 0 is never."""

    phase: str = ""
    """The phase that the ledger had it in; empty: nothing is remembered of it."""
    known: float = 0.0
    """When it was first looked for."""
    since: float = 0.0
    """Since when the cluster shows it in that phase."""
    shown: float = 0.0
    """Since when the cluster shows the version as the ledger wants it."""
    stirred: float = 0.0
    """When its route was last seen to have been changed."""
    fell: float = 0.0
    """When a container of it was last seen to have begun again."""
    restarted: float = 0.0
    """When the last of them did, as the cluster says."""
    ready: float = 0.0
    """Since when all of its pods are ready."""
    unready: float = 0.0
    """Since when they are not."""
    crashing: float = 0.0
    """Since when a container of it does not stay up."""
    checked: float = 0.0
    """When it was last checked."""
    tally: Tally = Tally()
    recent: Tally = Tally()
    """The part of it since the last check."""
    baseline: Tally = Tally()
    """Of the Active version, over the same time."""
    failed: int = 0
    """Checks that failed in a row."""
    failed_in_step: int = 0
    inconclusive: int = 0
    errors: int = 0
    out: float = 0.0
    """Since when nothing of it takes requests, without being parked: it sleeps, or is broken."""
    quiet: float = 0.0
    """Since when nobody calls it, with all the evidence for that."""
    passes: int = 0
    """Complete looks in a row that found it quiet."""
    passed: float = 0.0
    """When the last of them was."""
    pinned: float = 0.0
    """When somebody last named it."""
    left: float = 0.0
    """Since when the cluster shows that only those who name it can call it."""
    marked: float = 0.0
    """When what its counters stood at was last written down, by the metric source's clock."""
    pods_total: float = -1.0
    """What the counters of its pods stood at then, in sum; -1: not known."""
    edge_total: float = -1.0
    """What the gateway's stood at."""
    owed: float = 0.0
    """Requests that were open when it lost its weight: that they end means nothing."""
    excused: float = 0.0
    """Up to when what was counted is such requests, by the metric source's clock."""
    active: float = 0.0
    """Since when it is seen Active: the dwell."""
    back: float = 0.0
    """When it was seen to have lost a share that it had got back while it left; -1: it has it."""


@dataclass(frozen=True, slots=True)
class UnitClock:
    """What is remembered of one unit on one cluster."""

    stamp: str = ""
    """The state of the ledger that the clocks of its versions belong to."""
    versions: Mapping[str, VersionClock] = field(default_factory=dict)
    """By version id and digest, as ``id@digest``."""
    looked: float = 0.0
    """When it was last looked at."""
    edition: str = ""
    """Of the live route then."""

    def of(self, id: str, digest: str) -> VersionClock:
        return self.versions.get(f"{id}@{digest}", VersionClock())


def clock_data(clock: UnitClock) -> dict[str, Any]:
    """A clock as it is stored; what stands at nothing is left out."""
    versions = {name: _said(version) for name, version in sorted(clock.versions.items())}
    said = {"stamp": clock.stamp, "looked": clock.looked, "versions": versions}
    return {**said, "edition": clock.edition} if clock.edition else said


def _said(clock: VersionClock | Tally) -> dict[str, Any]:
    blank = type(clock)()
    return {
        name: _said(value) if isinstance(value, Tally) else value
        for name, value, nothing in zip(clock._fields, clock, blank, strict=True)
        if value != nothing
    }


def clock_from(data: Any) -> UnitClock:
    """A stored clock; what cannot be understood has never been seen."""
    try:
        stamp, looked, said = data["stamp"], data["looked"], data["versions"]
        versions = {str(name): _read(VersionClock(), version) for name, version in said.items()}
        edition = _like("", data.get("edition", ""))
        return UnitClock(_like("", stamp), versions, _like(0.0, looked), edition)
    except (AttributeError, KeyError, TypeError, ValueError):
        return UnitClock()


def _read(blank: Any, said: Mapping[str, Any]) -> Any:
    values = {}
    for name, nothing in zip(blank._fields, blank, strict=True):
        if name in said:
            tally = isinstance(nothing, Tally)
            values[name] = _read(nothing, said[name]) if tally else _like(nothing, said[name])
    return blank._replace(**values)


def _like(nothing: Any, value: Any) -> Any:
    """The value, if it is of the kind that is expected. Raises ValueError."""
    if isinstance(nothing, str) and isinstance(value, str):
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and not isinstance(nothing, str) and math.isfinite(value):
        return value
    raise ValueError(f"{value!r} is no clock")
