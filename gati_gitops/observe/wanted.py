"""What is to be looked at on one cluster, for metrics and objects alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from gati_gitops.decide.observation import Live, Missing, Telemetry
from gati_gitops.decide.rules import Rules
from gati_gitops.ledger.model import DEPLOYED, Entry
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.output import UnitKey
from gati_gitops.plan.model import PlannedVersion

SCRAPE = 30.0
"""Seconds between two scrapes, at most, where no plan says it."""
MARGIN = 6
"""Scrapes that a window is longer than the time that is judged: the ends of it are ragged, and what
was there before is told from what began in it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Units of one cluster, and how much of the past is of interest."""

    cluster: str
    units: Mapping[UnitKey, Stored]
    window: float = 360.0
    """Seconds."""
    bounds: tuple[float, ...] = ()
    """Seconds within which requests should be answered; only these are asked for."""

    @classmethod
    def by(cls, rules: Rules, cluster: str, units: Mapping[UnitKey, Stored]) -> Wanted:
        """What an environment's rules need to see of these units."""
        scrape = max((scrape_of(stored) for stored in units.values()), default=SCRAPE)
        judged = max(rules.grace, 2 * rules.interval)
        return cls(cluster, units, judged + MARGIN * scrape, (rules.latency,))


@dataclass(frozen=True, slots=True)
class Deployed:
    """One version that has objects on the cluster."""

    key: UnitKey
    stored: Stored
    version: PlannedVersion
    entry: Entry


def deployed(wanted: Wanted) -> Iterator[Deployed]:
    """Every version that is, or may be, on the cluster."""
    for key, stored in wanted.units.items():
        ledger = stored.ledger if stored.ledger is not None else recovered(stored)
        for entry in ledger.entries:
            version = stored.plan.version(entry.id, entry.digest)
            if version is not None and entry.phase in DEPLOYED:
                yield Deployed(key, stored, version, entry)


def scrape_of(stored: Stored) -> float:
    """Seconds between two scrapes of a unit's pods, as it was planned."""
    scraped = stored.plan.scraped
    return float(scraped.interval) if scraped is not None else SCRAPE


Lives = Mapping[UnitKey, Live | Missing]
Telemetries = Mapping[UnitKey, Mapping[str, Telemetry | Missing]]
"""By unit, and by name of version object."""


class LiveSource(Protocol):
    """Who looks at the objects of a cluster."""

    def look(self, wanted: Wanted, /) -> Lives | Missing: ...


class MetricsSource(Protocol):
    """Who looks at what a cluster measures."""

    def look(self, wanted: Wanted, /) -> Telemetries | Missing: ...
