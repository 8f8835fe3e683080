"""A version that comes: deployed, seen ready, and given more traffic while it proves itself.

The same road for all strategies; they differ in its steps and in what is asked at each. Nothing
that could not be seen moves a version, in either direction.
"""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.decide import before_traffic as guards
from gati_gitops.decide.checks import Check, Outcome, check, ours_among
from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.judged import Judged
from gati_gitops.decide.pods import can_be_woken, needed
from gati_gitops.decide.ready import hopeless
from gati_gitops.decide.verdict import Fact, Move, Verdict
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import percent, some, span
from gati_gitops.ledger.model import Phase


def rolling(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """Judge the version that is being rolled out."""
    if why := hopeless(unit, sight, clock):
        return left(unit, sight, unit.active, clock, why, ())
    if (where := unit.around.judged.get(sight.entry.key)) is not None:
        why = f"{sight.id} was rejected in {where}"
        return held(clock, why, f"rollback {unit.name}, or release {unit.name} {sight.id} there")
    if why := guards.step_is_not_shown(unit, sight):
        return Judged(Verdict.WAIT, f"{sight.id} waits for the cluster: {why}", clock, rolling=True)
    if unit.around.standby:
        return _following(unit, sight, clock)
    if sight.phase is Phase.STARTING or unit.rules.strategy == "direct" or _is_whole(unit):
        return _starting(unit, sight, clock)
    return _stepping(unit, sight, clock)


def _is_whole(unit: Unit) -> bool:
    """A module has no route that could split: its callers go over to a version all at once."""
    return unit.plan.route is None


# -- at weight 0 ----------------------------------------------------------------------------------


def _starting(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """Deployed: it gets its first share when it is seen ready, and what we sent it went well."""
    facts: tuple[Fact, ...] = (_pods(sight),)
    if can_be_woken(sight):
        return woken(sight, f"{sight.id} starts, and sleeps: it is woken first", clock, facts)
    if why := guards.pods_are_missing(unit, sight):
        return Judged(Verdict.WAIT, f"{sight.id} starts: {why}", clock, facts, rolling=True)
    found = _sent(unit, sight, clock)
    if found is not None:
        clock, facts = found.clock, facts + found.facts
        if decided := _limits(unit, sight, found):
            return replace(decided, facts=facts)
        if found.outcome is not Outcome.PASSED:
            return Judged(
                Verdict.WAIT, f"{sight.id} is ready: {found.why}", clock, facts, rolling=True
            )
    at_once = unit.rules.strategy == "blue-green" or _is_whole(unit)
    patience = unit.rules.step_for if at_once and unit.rules.strategy != "direct" else 0.0
    if clock.ready and unit.now - clock.ready < patience:
        why = f"ready for {span(unit.now - clock.ready)} of {span(patience)}"
        return Judged(Verdict.WAIT, f"{sight.id} is {why}", clock, facts, rolling=True)
    return onward(unit, sight, clock, f"{sight.id} is ready with {_count(sight)}", facts)


def _sent(unit: Unit, sight: Sight, clock: VersionClock) -> Check | None:
    """What requests of our own say, where they are configured."""
    if not unit.rules.synthetic:
        return None
    found = check(unit, sight, clock, None)
    tally = found.clock.tally
    if found.outcome in (Outcome.FAIL, Outcome.ERROR, Outcome.UNSEEN):
        return found
    if tally.sent < unit.rules.synthetic:
        why = f"{tally.sent} of {some(unit.rules.synthetic, 'request')} of our own were sent"
        return replace(found, outcome=Outcome.TOO_FEW, why=why)
    if tally.sent_failures > unit.rules.max_errors * tally.sent:
        why = f"{tally.sent_failures} of {some(tally.sent, 'request')} of our own failed"
        return replace(found, outcome=Outcome.UNPROVED, why=why)
    return replace(found, outcome=Outcome.PASSED, why="")


# -- at the weight of a step ----------------------------------------------------------------------


def _stepping(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    found = check(unit, sight, clock, unit.beside(sight))
    clock = found.clock
    if decided := _limits(unit, sight, found):
        return decided
    at = f"{sight.id} at {sight.entry.weight} % for {span(unit.now - clock.shown)}"
    if found.outcome is Outcome.TOO_FEW:
        if unit.now - clock.shown >= unit.rules.max_step:
            why = f"{at}: {found.why}, and a step lasts {span(unit.rules.max_step)} at most"
            return held(clock, why, f"release {unit.name} goes on waiting", found.facts)
        waits = f"{at}: {found.why} so far"
        return Judged(Verdict.WAIT, waits, clock, found.facts, rolling=True)
    if found.outcome is not Outcome.PASSED:
        verdict = {Outcome.ERROR: Verdict.ERROR, Outcome.FAIL: Verdict.WAIT}.get(
            found.outcome, Verdict.INCONCLUSIVE
        )
        count = clock.failed if found.outcome is Outcome.FAIL else clock.inconclusive
        count = clock.errors if found.outcome is Outcome.ERROR else count
        why = f"{at}: check {count} {found.outcome.value}: {found.why}"
        return Judged(verdict, why, clock, found.facts, rolling=True)
    return _passed(unit, sight, found, at)


def _passed(unit: Unit, sight: Sight, found: Check, at: str) -> Judged:
    clock, rules, tally = found.clock, unit.rules, found.clock.tally
    covered = min(unit.now - clock.shown, tally.until - tally.since)
    share = percent(tally.failures / tally.requests)
    seen = (
        f"{at}: {some(tally.requests, 'request')}{ours_among(tally.requests, tally)},"
        f" {share} failed (wanted <= {percent(rules.max_errors)})"
    )
    if covered < rules.step_for:
        why = f"{seen}, a step lasts {span(rules.step_for)}"
        return Judged(Verdict.WAIT, why, clock, found.facts, rolling=True)
    if again := guards.pods_began_again(unit, sight) or guards.route_was_changed(unit, sight):
        return Judged(Verdict.WAIT, f"{seen}; {again}", clock, found.facts, rolling=True)
    return onward(unit, sight, clock, seen, found.facts)


def _limits(unit: Unit, sight: Sight, found: Check) -> Judged | None:
    """What too many checks without a good end lead to."""
    clock, rules = found.clock, unit.rules
    at = f"{sight.id} at {sight.entry.weight} %"
    if clock.failed >= rules.failures or clock.failed_in_step >= rules.failures_in_step:
        times = max(clock.failed, clock.failed_in_step)
        why = f"{some(times, 'check')} failed: {found.why}"
        return left(unit, sight, unit.active, clock, why, found.facts)
    blind = found.outcome in (Outcome.UNSEEN, Outcome.ERROR)
    if clock.errors > rules.error_limit:
        why = f"{some(clock.errors, 'check')} in a row could not be made: {found.why}"
    elif clock.inconclusive >= rules.inconclusive_limit:
        why = f"{some(clock.inconclusive, 'check')} in a row proved nothing: {found.why}"
    else:
        return None
    if blind and rules.roll_back_without_data:
        return left(unit, sight, unit.active, clock, why, found.facts)
    return replace(
        held(clock, f"{at}: {why}", f"release {unit.name} goes on", found.facts), fails=True
    )


# -- on a cluster that waits ----------------------------------------------------------------------


def _following(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """A standby has no traffic to judge by: it follows those that have."""
    facts = (_pods(sight),)
    if sight.entry.key not in unit.around.led:
        why = f"{sight.id} waits: not every serving cluster has it Active"
        return Judged(Verdict.WAIT, why, clock, facts, rolling=True)
    if why := guards.pods_are_missing(unit, sight):
        return Judged(Verdict.WAIT, f"{sight.id} follows: {why}", clock, facts, rolling=True)
    why = f"{sight.id} is ready with {_count(sight)}, and Active on every serving cluster"
    return onward(unit, sight, clock, why, facts, last=True)


# -- forward, back or neither ---------------------------------------------------------------------


def onward(
    unit: Unit,
    sight: Sight,
    clock: VersionClock,
    why: str,
    facts: tuple[Fact, ...],
    *,
    last: bool = False,
) -> Judged:
    """The next step, if nothing stands in its way and there would be a way back."""
    entry = sight.entry
    active = unit.beside(sight)
    whole = last or active is None or _is_whole(unit)
    weight, after = (100, 100) if whole else _next(unit, entry.weight)
    if against := _against(unit, sight):
        reason = f"{why}; it stays there: {against}"
        return Judged(Verdict.FROZEN, reason, clock, facts, rolling=True)
    room = needed(unit, sight, weight)
    if active is not None and can_be_woken(active):
        return woken(active, f"{why}; {active.id} sleeps, and is woken first", clock, facts)
    if sight.ready < room:
        missing = f"{weight} % need {room} pods, and {sight.id} has {sight.ready}"
        if entry.floor < room:
            move = Move(Verdict.PREPARE, *entry.key, room=room)
            return _moves(move, f"{why}; {missing}: they come first", clock, facts)
        return Judged(Verdict.WAIT, f"{why}; {missing}", clock, facts, rolling=True)
    if against := guards.stable_cannot_carry(unit, sight):
        reason = f"{why}; it stays there: {against}"
        return Judged(Verdict.FROZEN, reason, clock, facts, rolling=True)
    if weight < 100 and (against := guards.they_cannot_share(unit, sight)):
        reason = f"{why}; it stays there: {against}"
        return Judged(Verdict.FROZEN, reason, clock, facts, rolling=True)
    if weight >= 100:
        move = Move(Verdict.ACTIVATE, *entry.key, weight=100)
        return _moves(move, f"{why}, it gets all of the traffic", clock, facts)
    floor = active.ready if active is not None and not active.entry.floor else 0
    room = needed(unit, sight, after)
    move = Move(Verdict.ADVANCE, *entry.key, weight=weight, floor=floor, room=room)
    return _moves(move, f"{why}, next step {weight} %", clock, facts)


def _next(unit: Unit, weight: int) -> tuple[int, int]:
    """The weight of the next step, and of the one after it; what other canaries have stays."""
    others = sum(s.entry.weight for s in unit.sights if s.phase is Phase.CANARY)
    rolling = unit.rolling
    others -= rolling.entry.weight if rolling is not None else 0
    steps = [step if step + others < 100 else 100 for step in unit.rules.steps if step > weight]
    return (*steps, 100, 100)[0], (*steps, 100, 100)[1]


def _against(unit: Unit, sight: Sight) -> str:
    """What stands in the way of any step."""
    return (
        guards.evidence_is_old(unit, sight)
        or guards.pods_are_missing(unit, sight)
        or guards.job_cannot_write(unit, sight)
        or guards.engine_does_not_sync(unit, sight)
        or guards.others_are_unread(unit, sight)
    )


def left(
    unit: Unit,
    sight: Sight,
    to: Sight | None,
    clock: VersionClock,
    why: str,
    facts: tuple[Fact, ...],
) -> Judged:
    """Leave a version for the one that can take its traffic."""
    if to is None or unit.rules.strategy == "manual":
        reason = f"{sight.id} fails: {why}"
        return Judged(Verdict.WAIT, f"{reason}; a person must look", clock, facts, rolling=True)
    other = to.entry is not sight.entry
    if other and can_be_woken(to):
        reason = f"{sight.id} fails ({why}); {to.id} sleeps, and is woken to take the traffic"
        return replace(woken(to, reason, clock, facts), urgent=True)
    if other and (against := guards.nobody_could_take_it(unit, to)):
        reason = f"{sight.id} fails ({why}), and its traffic cannot go back yet: {against}"
        return Judged(Verdict.FROZEN, reason, clock, facts, rolling=True)
    weight = f" at {sight.entry.weight} %" if sight.entry.weight else ""
    back = f"the traffic returns to {to.id}" if other else "the revision before returns"
    move = Move(Verdict.ROLLBACK, *sight.entry.key, to=to.id)
    return replace(_moves(move, f"{sight.id}{weight}: {why}; {back}", clock, facts), fails=True)


def held(clock: VersionClock, why: str, remedy: str, facts: tuple[Fact, ...] = ()) -> Judged:
    """Everything stands still until a person has looked."""
    return _moves(Move(Verdict.HOLD), f"{why}; a person must look: {remedy}", clock, facts)


def woken(sight: Sight, why: str, clock: VersionClock, facts: tuple[Fact, ...] = ()) -> Judged:
    """A version whose scaler let it sleep gets pods first."""
    move = Move(Verdict.PREPARE, *sight.entry.key, room=max(1, sight.fewest))
    return _moves(move, why, clock, facts)


def _moves(move: Move, why: str, clock: VersionClock, facts: tuple[Fact, ...]) -> Judged:
    return Judged(move.verdict, why, clock, facts, replace(move, reason=why), rolling=True)


def _pods(sight: Sight) -> Fact:
    workload = sight.workload
    ready, desired = (workload.ready, workload.desired) if workload is not None else (0, 0)
    return Fact("pods", f"{ready} of {desired} ready", "all", ok=ready >= max(desired, 1))


def _count(sight: Sight) -> str:
    return some(sight.ready, "pod")
