"""Who judges which version."""

from __future__ import annotations

from gati_gitops.decide.canary import rolling
from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.judged import Judged
from gati_gitops.decide.verdict import Verdict
from gati_gitops.decide.view import Sight, Unit


def judged_versions(unit: Unit, ticks: list[VersionClock]) -> list[Judged]:
    """A verdict on every version, in the ledger's order."""
    clocks = {id(sight): clock for sight, clock in zip(unit.sights, ticks, strict=True)}
    active, target = unit.active, unit.rolling
    way_back = clocks[id(active)] if active is not None else VersionClock()
    return [_judged(unit, sight, clocks[id(sight)], way_back, target) for sight in unit.sights]


def _judged(
    unit: Unit, sight: Sight, clock: VersionClock, way_back: VersionClock, target: Sight | None
) -> Judged:
    if sight is target:
        return rolling(unit, sight, clock, way_back)
    return Judged(Verdict.STEADY, f"{sight.id} is {sight.phase}", clock)
