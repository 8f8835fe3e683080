"""Who judges which version."""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.decide.baking import bakes, baking, beside, revised, serves
from gati_gitops.decide.canary import rolling
from gati_gitops.decide.chores import chores
from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.drain import draining
from gati_gitops.decide.judged import Judged
from gati_gitops.decide.manual import given, returning
from gati_gitops.decide.parked import parked, removed
from gati_gitops.decide.pending import pending
from gati_gitops.decide.verdict import Move, Verdict
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.ledger.model import DEPLOYED, Phase


def judged_versions(unit: Unit) -> list[Judged]:
    """A verdict on every version, in the ledger's order."""
    is_baking = bakes(unit)
    found = []
    for sight in unit.sights:
        judged = _judged(unit, sight, is_baking=is_baking)
        is_active = sight.phase is Phase.ACTIVE
        found.append(chores(unit, sight, judged, baking=is_baking and is_active))
    return _retired(unit, found)


def _judged(unit: Unit, sight: Sight, *, is_baking: bool) -> Judged:
    clock = sight.clock
    match sight.phase:
        case Phase.PENDING:
            active = unit.active
            return pending(unit, sight, clock, baking=active.id if is_baking and active else "")
        case Phase.STARTING | Phase.CANARY:
            return _coming(unit, sight, clock, is_baking=is_baking)
        case Phase.ACTIVE:
            return _serving(unit, sight, clock, is_baking=is_baking)
        case Phase.DRAINING | Phase.REJECTED:
            return draining(unit, sight, clock)
        case Phase.PARKED:
            return parked(unit, sight, clock)
        case Phase.REMOVED:
            return removed(unit, sight, clock)


def _coming(unit: Unit, sight: Sight, clock: VersionClock, *, is_baking: bool) -> Judged:
    if unit.ledger.retiring:
        return draining(unit, sight, clock)
    if unit.ledger.returning is sight.entry:
        return returning(unit, sight, clock)
    if unit.rules.strategy == "manual":
        return given(unit, sight, clock)
    if sight.entry is not unit.ledger.rolling:
        if sight.phase is Phase.CANARY:
            return beside(unit, sight, clock)
        return Judged(Verdict.STEADY, f"{sight.id} serves those who name it", clock)
    active = unit.active
    if is_baking and active is not None:
        why = f"{sight.id} waits its turn: {active.id} has just got there"
        return Judged(Verdict.WAIT, why, clock, rolling=True)
    return rolling(unit, sight, clock)


def _serving(unit: Unit, sight: Sight, clock: VersionClock, *, is_baking: bool) -> Judged:
    if unit.ledger.retiring:
        return draining(unit, sight, clock)
    if unit.ledger.returning is not None:
        return serves(unit, sight, clock)
    if sight.entry.previous:
        return revised(unit, sight, clock)
    if is_baking:
        return baking(unit, sight, clock)
    return serves(unit, sight, clock)


def _retired(unit: Unit, found: list[Judged]) -> list[Judged]:
    """A unit goes as a whole, when all that is left of it may."""
    if not unit.ledger.retiring:
        return found
    deployed = [j for s, j in zip(unit.sights, found, strict=True) if s.phase in DEPLOYED]
    all_may = bool(deployed) and all(judged.verdict is Verdict.RETIRE for judged in deployed)
    done = []
    for judged in found:
        if judged.verdict is Verdict.RETIRE:
            move = Move(Verdict.RETIRE, reason=judged.reason) if all_may else None
            verdict = Verdict.RETIRE if all_may else Verdict.WAIT
            done.append(replace(judged, verdict=verdict, move=move))
        else:
            done.append(judged)
    return done
