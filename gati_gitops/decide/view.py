"""One unit with all that is known of it, laid out for those who judge."""

from __future__ import annotations

from dataclasses import dataclass

from gati_gitops.decide.around import Around
from gati_gitops.decide.clocks import UnitClock, VersionClock
from gati_gitops.decide.observation import (
    Gap,
    Live,
    Missing,
    Observation,
    Telemetry,
    Workload,
)
from gati_gitops.decide.rules import Rules
from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.plan.model import PlannedVersion, UnitPlan

UNSEEN = Missing(Gap.NO_DATA, "nothing was measured of it")


@dataclass(frozen=True, slots=True)
class Sight:
    """One version, and what was seen of it."""

    entry: Entry
    planned: PlannedVersion | None
    """None: how it ran is no longer stored."""
    workload: Workload | None
    """None: the cluster does not have it."""
    telemetry: Telemetry | Missing
    clock: VersionClock
    """What was known of it before this look."""

    def at(self, clock: VersionClock) -> Sight:
        """The same, as it is known by now."""
        return Sight(self.entry, self.planned, self.workload, self.telemetry, clock)

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def phase(self) -> Phase:
        return self.entry.phase

    @property
    def fewest(self) -> int:
        """The fewest pods that it is meant to have; 0: it may sleep."""
        return self.planned.scaling.floor if self.planned is not None else 1

    @property
    def ready(self) -> int:
        return self.workload.ready if self.workload is not None else 0


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit on one cluster, as it is judged in one pass."""

    rules: Rules
    plan: UnitPlan
    ledger: Ledger
    live: Live
    now: float
    """When the cluster was looked at: what came later nobody knows, however late it is judged."""
    around: Around
    sights: tuple[Sight, ...]
    """In the ledger's order."""
    judged: float = 0.0
    """When it is judged."""
    differs: str = ""
    """Why the live route is not the ledger's; empty: it is."""

    @property
    def name(self) -> str:
        return str(self.plan.unit)

    @property
    def active(self) -> Sight | None:
        return self._of(self.ledger.active)

    def beside(self, sight: Sight) -> Sight | None:
        """The Active version, if that is another one."""
        active = self.ledger.active
        return self._of(active) if active is not sight.entry else None

    @property
    def rolling(self) -> Sight | None:
        return self._of(self.ledger.rolling)

    def _of(self, entry: Entry | None) -> Sight | None:
        return next((s for s in self.sights if s.entry is entry), None) if entry else None


def viewed(
    rules: Rules,
    plan: UnitPlan,
    ledger: Ledger,
    seen: Observation,
    live: Live,
    clock: UnitClock,
    now: float,
    around: Around,
) -> Unit:
    """What is known, version by version."""
    telemetry = seen.telemetry
    planned = {version.key: version for version in plan.versions}
    sights = []
    for entry in ledger.entries:
        version = planned.get(entry.key)
        said: Telemetry | Missing
        if version is None or entry.phase is Phase.PENDING:
            workload, said = None, UNSEEN
        else:
            workload = live.workloads.get(version.name)
            if isinstance(telemetry, Missing):
                said = telemetry
            else:
                said = telemetry.get(version.name, UNSEEN)
        sights.append(Sight(entry, version, workload, said, clock.of(*entry.key)))
    looked = min(now, live.at)
    return Unit(rules, plan, ledger, live, looked, around, tuple(sights), now)
