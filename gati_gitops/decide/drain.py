"""A version that goes: it keeps its pods until all evidence says that nobody calls it."""

from __future__ import annotations

from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.judged import Judged
from gati_gitops.decide.quiet import agreed, quiet
from gati_gitops.decide.verdict import Fact, Move, Verdict
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import span
from gati_gitops.ledger.model import Phase


def draining(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """Judge a version without weight, or the last one of a unit that retires."""
    found = quiet(unit, sight, clock)
    clock = found.clock
    name = f"{sight.id} {'retires' if sight.phase is Phase.ACTIVE else 'drains'}"
    if found.never:
        why = f"{name}, and only a person can say when it may go ({found.never})"
        return Judged(Verdict.WAIT, f"{why}: {_command(unit, sight)}", clock, found.facts)
    if found.calls:
        return _late(unit, sight, clock, f"{name}: {found.calls}", found.facts)
    if found.gap:
        verdict = Verdict.INCONCLUSIVE if clock.shown else Verdict.WAIT
        return _late(unit, sight, clock, f"{name}: {found.gap}", found.facts, verdict)
    if found.block:
        return Judged(Verdict.WAIT, f"{name}: {found.block}", clock, found.facts)
    if why := agreed(unit, clock):
        return Judged(Verdict.WAIT, f"{name}: nobody calls, {why}", clock, found.facts)
    seen = f"{clock.passes} looks of {span(unit.rules.grace)} and more found no call"
    if not unit.rules.automatic:
        why = f"{name}: {seen}; it could go: {_command(unit, sight)}"
        return Judged(Verdict.WAIT, why, clock, found.facts)
    why = f"{name}: {seen}; its pods go, and one commit brings them back"
    move = Move(Verdict.PARK, *sight.entry.key, reason=why)
    return Judged(Verdict.PARK, why, clock, found.facts, move)


def _late(
    unit: Unit,
    sight: Sight,
    clock: VersionClock,
    why: str,
    facts: tuple[Fact, ...],
    verdict: Verdict = Verdict.WAIT,
) -> Judged:
    """What does not end by itself is for a person, and nothing is taken away meanwhile."""
    drained = unit.now - clock.since if clock.since else 0.0
    if drained >= unit.rules.max_drain:
        why = f"{why}; after {span(drained)} a person should look: {_command(unit, sight)}"
    return Judged(verdict, why, clock, facts)


def _command(unit: Unit, sight: Sight) -> str:
    if sight.phase is Phase.ACTIVE:
        return f"retire {unit.name} --env {unit.plan.environment}"
    return f"retire {unit.name} {sight.id} --env {unit.plan.environment}"
