"""The report: what differs, as frozen data that every writer reads.

    Report
      places                 one per environment and cluster
        units                objects, files, engine and traffic of each
        objects, files       of namespaces and of the cluster as a whole
        unseen               what could not be looked at: never the same as nothing

Values that may be secret are fingerprints by the time they are in here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from gati_gitops.decide.drift.fields import FieldDrift
from gati_gitops.decide.observation import Engine, EngineState, Missing
from gati_gitops.plan.naming import UnitId
from gati_gitops.preview.model import ObjectId
from gati_gitops.spec.drift import DriftPolicy

FORMAT = 1
"""Version of the report's data; the JSON form carries it."""


class What(StrEnum):
    """How an object or a file differs."""

    CHANGED = "changed"
    MISSING = "missing"
    """Git has it, and it is not there."""
    EXTRA = "extra"
    """It says that it is ours, and Git does not have it."""


@dataclass(frozen=True, slots=True)
class ObjectDrift:
    """One object that is not as Git says."""

    id: ObjectId
    what: What
    fields: tuple[FieldDrift, ...] = ()
    version: str = ""
    """The version of the unit that it belongs to; empty if to all of it."""
    why: str = ""
    """What is known of it besides."""


@dataclass(frozen=True, slots=True)
class FileDrift:
    """One file of the repository that is not what was decided."""

    path: str
    what: What
    why: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """What one version gets of the requests that name none."""

    version: str
    declared: int
    """Percent."""
    requests: int
    low: float
    """Between these the true share lies, for all that was seen."""
    high: float

    @property
    def fits(self) -> bool:
        return self.low <= self.declared / 100 <= self.high


@dataclass(frozen=True, slots=True)
class Split:
    """The traffic of a unit, as its gateway counts it."""

    shares: tuple[Share, ...]
    seconds: float
    source: str = ""

    @property
    def drifted(self) -> bool:
        return not all(share.fits for share in self.shares)


@dataclass(frozen=True, slots=True)
class UnitDrift:
    """One unit on one cluster."""

    unit: UnitId
    objects: tuple[ObjectDrift, ...] = ()
    files: tuple[FileDrift, ...] = ()
    split: Split | Missing | None = None
    """None: nobody was asked."""
    engine: Engine | Missing | None = None
    """Of the root that it is in; None where no engine is known."""
    held: str = ""
    broken_glass: str = ""
    """Why a person moved its traffic by hand."""

    @property
    def drifted(self) -> bool:
        split = isinstance(self.split, Split) and self.split.drifted
        return bool(self.objects or self.files or split or self.out_of_sync)

    @property
    def out_of_sync(self) -> bool:
        """Whether its engine stands still, or says itself that there is a difference."""
        if not isinstance(self.engine, Engine):
            return False
        stopped = self.engine.state in (EngineState.SUSPENDED, EngineState.STUCK)
        return stopped or self.engine.why == OUT_OF_SYNC


OUT_OF_SYNC = "OutOfSync"
"""Argo CD's word for a difference that it has found; to be behind a new commit is none."""


@dataclass(frozen=True, slots=True)
class PlaceDrift:
    """One cluster of one environment."""

    environment: str
    cluster: str
    policy: DriftPolicy = "report"
    units: tuple[UnitDrift, ...] = ()
    """All that were looked at."""
    objects: tuple[ObjectDrift, ...] = ()
    """Of namespaces and of the cluster as a whole."""
    files: tuple[FileDrift, ...] = ()
    unseen: tuple[Missing, ...] = ()
    refused: str = ""
    """Why the settings of its environment can't be read."""

    @property
    def drifted(self) -> bool:
        return bool(self.objects or self.files or any(unit.drifted for unit in self.units))


@dataclass(frozen=True, slots=True)
class Report:
    """All that was looked at."""

    branch: str
    commit: str
    places: tuple[PlaceDrift, ...] = field(default=())

    @property
    def drifted(self) -> bool:
        return any(place.drifted for place in self.places)

    @property
    def unseen(self) -> tuple[tuple[PlaceDrift, Missing], ...]:
        return tuple((place, missing) for place in self.places for missing in place.unseen)

    def units(self) -> Iterator[tuple[PlaceDrift, UnitDrift]]:
        """Those that drifted."""
        for place in self.places:
            for unit in place.units:
                if unit.drifted:
                    yield place, unit

    @property
    def beyond_repair(self) -> bool:
        """Whether settings can't be read, and the history can't give them back."""
        return any(m.why == place.refused for place, m in self.unseen if place.refused)

    @property
    def exit_code(self) -> int:
        """What is certain counts: drift that was seen is drift, whatever else was not.

        An environment whose settings can't be read is more than that: nothing moves there.
        """
        if any(place.refused for place in self.places):
            return 5
        return 1 if self.drifted else 4 if self.unseen else 0
