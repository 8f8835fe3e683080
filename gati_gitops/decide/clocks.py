"""Evidence that takes longer than one look: since when, how often, how much.

Clocks are a cache. They live outside Git, and whoever loses them begins again: a step lasts longer,
a drain waits longer, nothing else happens. Each belongs to one state of one ledger, so that what
was seen of the last step never counts for this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Tally:
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


@dataclass(frozen=True, slots=True)
class VersionClock:
    """What is remembered of one version. Times are seconds of the job's clock; 0 is never."""

    phase: str = ""
    """The phase that the ledger had it in; empty: nothing is remembered of it."""
    known: float = 0.0
    """When it was first looked for."""
    since: float = 0.0
    """Since when the cluster shows it in that phase."""
    shown: float = 0.0
    """Since when the cluster shows the version as the ledger wants it."""
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
    asleep: float = 0.0
    """Since when it has no pods and no addresses, without being parked."""
    quiet: float = 0.0
    """Since when nobody calls it, with all the evidence for that."""
    passes: int = 0
    """Complete looks in a row that found it quiet."""
    passed: float = 0.0
    """When the last of them was."""
    pinned: float = 0.0
    """When somebody last named it."""
    marked: float = 0.0
    """When what its counters stood at was last written down, by the metric source's clock."""
    pods_total: float = -1.0
    """What the counters of its pods stood at then, in sum; -1: not known."""
    edge_total: float = -1.0
    """What the gateway's stood at."""
    owed: float = 0.0
    """Requests that were open when it lost its weight: that they end means nothing."""
    active: float = 0.0
    """Since when it is seen Active: the dwell."""


@dataclass(frozen=True, slots=True)
class UnitClock:
    """What is remembered of one unit on one cluster."""

    stamp: str = ""
    """The state of the ledger that the clocks of its versions belong to."""
    versions: Mapping[str, VersionClock] = field(default_factory=dict)
    """By version id and digest, as ``id@digest``."""
    looked: float = 0.0
    """When it was last looked at."""

    def of(self, id: str, digest: str) -> VersionClock:
        return self.versions.get(f"{id}@{digest}", VersionClock())

    def with_version(self, id: str, digest: str, clock: VersionClock) -> UnitClock:
        return replace(self, versions={**self.versions, f"{id}@{digest}": clock})


def clock_data(clock: UnitClock) -> dict[str, Any]:
    """A clock as it is stored; what stands at nothing is left out."""
    blank = VersionClock()
    versions: dict[str, Any] = {}
    for name, version in sorted(clock.versions.items()):
        said = asdict(version)
        unsaid = asdict(blank)
        kept = {key: value for key, value in said.items() if value != unsaid[key]}
        if kept:
            versions[name] = kept
    return {"stamp": clock.stamp, "looked": clock.looked, "versions": versions}


def clock_from(data: Any) -> UnitClock:
    """A stored clock; what cannot be understood has never been seen."""
    try:
        versions = {
            str(name): _version(said) for name, said in dict(data.get("versions", {})).items()
        }
        return UnitClock(str(data.get("stamp", "")), versions, float(data.get("looked", 0)))
    except (AttributeError, TypeError, ValueError):
        return UnitClock()


def _version(said: Mapping[str, Any]) -> VersionClock:
    known = {item.name: item for item in fields(VersionClock)}
    values: dict[str, Any] = {}
    for name, value in said.items():
        if name not in known:
            continue
        if name in ("tally", "recent", "baseline"):
            values[name] = Tally(**value)
        elif isinstance(value, str) == (name == "phase"):
            values[name] = value
    return VersionClock(**values)
