"""What the job does where people decide: it waits for pods, and then does what they asked for."""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.decide import before_traffic as guards
from gati_gitops.decide.canary import woken
from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.judged import Judged
from gati_gitops.decide.pods import can_be_woken
from gati_gitops.decide.ready import hopeless, unready
from gati_gitops.decide.shown import version_differs
from gati_gitops.decide.verdict import Move, Verdict
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import some, span
from gati_gitops.ledger.model import Phase


def given(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """Under ``manual``: a version that was seen ready gets the weight of its spec."""
    weights = _weights(unit)
    weight = weights.get(sight.id, 0)
    if sight.phase is Phase.CANARY:
        return Judged(Verdict.STEADY, f"{sight.id} has {sight.entry.weight} %, as asked", clock)
    if not weight:
        return Judged(Verdict.STEADY, f"{sight.id} serves those who name it", clock)
    waiting = [s for s in unit.sights if s.phase is Phase.STARTING and weights.get(s.id)]
    for other in waiting:
        if can_be_woken(other):
            return woken(other, f"{other.id} starts, and sleeps: it is woken first", clock)
        if why := hopeless(unit, other, other.clock):
            return Judged(Verdict.WAIT, f"{other.id} fails: {why}; a person must look", clock)
        if why := version_differs(unit, other) or guards.pods_are_missing(unit, other):
            return Judged(Verdict.WAIT, f"{sight.id} starts: {other.id}: {why}", clock)
        if (where := unit.around.judged.get(other.entry.key)) is not None:
            return Judged(Verdict.WAIT, f"{other.id} was rejected in {where}", clock)
    if why := guards.step_is_not_shown(unit, sight):
        return Judged(Verdict.WAIT, f"{sight.id} waits for the cluster: {why}", clock)
    why = f"{sight.id} is ready with {some(sight.ready, 'pod')}"
    against = (
        guards.evidence_is_old(unit, sight)
        or guards.job_cannot_write(unit, sight)
        or guards.engine_does_not_sync(unit, sight)
        or guards.others_are_unread(unit, sight)
        or guards.stable_cannot_carry(unit, sight)
    )
    if against:
        return Judged(Verdict.FROZEN, f"{why}; it stays there: {against}", clock, rolling=True)
    why = f"{why}, and gets the {weight} % of its spec"
    move = Move(Verdict.ADVANCE, *sight.entry.key, weight=weight, reason=why)
    return Judged(Verdict.ADVANCE, why, clock, (), move)


def _weights(unit: Unit) -> dict[str, int]:
    wanted = unit.plan.wanted
    return {v.id: v.weight or 0 for v in wanted.versions} if wanted is not None else {}


def returning(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """The version that a rollback waits for: it takes the traffic as soon as it can."""
    left = unit.ledger.active
    if can_be_woken(sight):
        why = f"{sight.id} is to take the traffic back, and sleeps: it is woken first"
        return replace(woken(sight, why, clock), urgent=True)
    why = version_differs(unit, sight) or unready(sight)
    if why := why or guards.nobody_could_take_it(unit, sight):
        waited = f" for {span(unit.now - clock.unready)}" if clock.unready else ""
        waits = f"{sight.id} is to take the traffic back, and is not ready{waited}: {why}"
        return Judged(Verdict.WAIT, waits, clock, rolling=True)
    why = f"{sight.id} is ready, and takes the traffic back from {left.id if left else 'nobody'}"
    return Judged(
        Verdict.RETURN, why, clock, (), Move(Verdict.RETURN, *sight.entry.key, reason=why), True
    )
