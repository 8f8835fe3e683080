"""A version that serves: for a while after it got there, what it replaced is the way back."""

from __future__ import annotations

from gati_gitops.decide.canary import left
from gati_gitops.decide.checks import Check, Outcome, check
from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.judged import Judged
from gati_gitops.decide.ready import hopeless, unready
from gati_gitops.decide.verdict import Fact, Move, Verdict
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import span
from gati_gitops.ledger.model import Phase

JUDGED = ("canary", "blue-green")
"""Strategies that take a version back by what its requests show."""


def way_back(unit: Unit) -> Sight | None:
    """Who served before the Active version, while it can take the traffic at once."""
    found = [
        sight
        for sight in unit.sights
        if sight.phase is Phase.DRAINING
        and not sight.entry.barred
        and (not sight.clock.since or unit.now - sight.clock.since < unit.rules.rollback_for)
    ]
    return max(found, key=lambda sight: sight.clock.since or unit.now, default=None)


def bakes(unit: Unit) -> bool:
    """Whether the Active version got there a moment ago, and could be taken back."""
    active = unit.active
    if active is None or unit.rules.strategy not in JUDGED or unit.ledger.returning is not None:
        return False
    if way_back(unit) is None or unit.around.standby or unit.ledger.retiring:
        return False
    served = active.clock.active
    return not served or unit.now - served < unit.rules.step_for


def baking(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """Judge a version that has just got all of the traffic."""
    back = way_back(unit)
    assert back is not None
    if why := hopeless(unit, sight, clock):
        return left(unit, sight, back, clock, why, ())
    if not clock.shown:
        why = f"{sight.id} waits for the cluster to show it at {sight.entry.weight} %"
        return Judged(Verdict.WAIT, why, clock, rolling=True)
    found = check(unit, sight, clock, None)
    if failed := _failed(unit, sight, back, found):
        return failed
    for_now = f"{sight.id} serves for {span(unit.now - clock.shown)}"
    why = f"{for_now}, {back.id} is the way back for the first {span(unit.rules.step_for)}"
    return Judged(_verdict(found), _with(why, found), found.clock, found.facts, rolling=True)


def revised(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """Judge a new revision of a version; the one before it is kept until this one is proved."""
    judged = unit.rules.strategy in JUDGED and bool(sight.entry.weight)
    if judged and (why := hopeless(unit, sight, clock)):
        return left(unit, sight, sight, clock, why, ())
    name = f"the new revision of {sight.id}"
    if not clock.shown or (why := unready(sight)):
        why = unready(sight) or "the cluster does not show it yet"
        return Judged(Verdict.WAIT, f"{name}: {why}", clock, rolling=judged)
    facts: tuple[Fact, ...] = ()
    stood = unit.now - max(clock.shown, clock.ready)
    if judged:
        found = check(unit, sight, clock, None)
        if failed := _failed(unit, sight, sight, found):
            return failed
        clock, facts = found.clock, found.facts
        few = found.outcome is Outcome.TOO_FEW and unit.now - clock.shown >= unit.rules.max_step
        if found.outcome is not Outcome.PASSED and not few:
            why = f"{name}: {found.why}"
            return Judged(_verdict(found), why, clock, facts, rolling=True)
        if not few:  # what nobody measured proves nothing
            stood = min(stood, clock.tally.until - clock.tally.since)
    if stood < unit.rules.step_for:
        why = f"{name} is well for {span(stood)} of {span(unit.rules.step_for)}"
        return Judged(Verdict.WAIT, why, clock, facts, rolling=judged)
    why = f"{name} is well for {span(stood)}: the one before it is not needed any more"
    move = Move(Verdict.SETTLE, *sight.entry.key, reason=why)
    return Judged(Verdict.SETTLE, why, clock, facts, move)


def beside(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """Judge a version that has a share beside the one being rolled out: it keeps it, or fails."""
    active = unit.active
    name = f"{sight.id} keeps {sight.entry.weight} %"
    if unit.rules.strategy not in JUDGED or active is None or unit.around.standby:
        return Judged(Verdict.STEADY, name, clock)
    if why := hopeless(unit, sight, clock):
        return left(unit, sight, active, clock, why, ())
    if not clock.shown:
        return Judged(Verdict.WAIT, f"{name}: the cluster does not show it yet", clock)
    found = check(unit, sight, clock, active)
    if failed := _failed(unit, sight, active, found):
        return failed
    return Judged(_verdict(found, Verdict.STEADY), _with(name, found), found.clock, found.facts)


def _failed(unit: Unit, sight: Sight, to: Sight, found: Check) -> Judged | None:
    clock, rules = found.clock, unit.rules
    if clock.failed < rules.failures and clock.failed_in_step < rules.failures_in_step:
        return None
    return left(unit, sight, to, clock, found.why, found.facts)


def _verdict(found: Check, fine: Verdict = Verdict.WAIT) -> Verdict:
    if found.outcome is Outcome.ERROR:
        return Verdict.ERROR
    unsure = found.outcome in (Outcome.UNSEEN, Outcome.UNPROVED)
    return Verdict.INCONCLUSIVE if unsure else fine


def _with(why: str, found: Check) -> str:
    return f"{why}: {found.why}" if found.why else why


def serves(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """An Active version of which there is nothing to decide."""
    back = unit.ledger.returning
    if back is not None:
        return Judged(Verdict.WAIT, f"{sight.id} serves until {back.id} is ready", clock)
    why = unready(sight)
    facts: tuple[Fact, ...] = (Fact("pods", why or f"all {sight.ready} ready", "all", ok=not why),)
    where = unit.around.judged.get(sight.entry.key)
    rejected = f", and was rejected in {where}" if where is not None else ""
    said = f"{sight.id} serves {sight.entry.weight} %{rejected}" + (f": {why}" if why else "")
    if clock.active and clock.shown and any(d > sight.entry.proved for d in unit.around.dwells):
        clock, failed, more = _proving(unit, sight, clock)
        facts += more
        said += f": it fails, and begins anew to prove itself ({failed})" if failed else ""
    return Judged(Verdict.STEADY, said, clock, facts)


def _proving(
    unit: Unit, sight: Sight, clock: VersionClock
) -> tuple[VersionClock, str, tuple[Fact, ...]]:
    """Who is to prove itself for others must not fail meanwhile; nothing else hangs on it."""
    found = check(unit, sight, clock, None)
    if found.clock.failed < unit.rules.failures:
        return found.clock, "", found.facts
    return found.clock._replace(active=unit.now, failed=0), found.why, found.facts
