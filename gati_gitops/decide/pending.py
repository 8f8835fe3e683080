"""A version that waits: for its turn, for another environment's proof, or for a person."""

from __future__ import annotations

from gati_gitops.decide import before_traffic as guards
from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.judged import Judged
from gati_gitops.decide.verdict import Fact, Move, Verdict
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.ledger.model import Entry, Phase


def pending(unit: Unit, sight: Sight, clock: VersionClock, *, baking: str) -> Judged:
    """Judge a version of which nothing runs yet. ``baking``: who was made Active a moment ago."""
    entry, id = sight.entry, sight.id
    if entry.paused:
        why = f"{id} waits: it was queued at a rollback; release {unit.name} starts it"
        return Judged(Verdict.WAIT, why, clock)
    if (where := unit.around.judged.get(entry.key)) is not None:
        return _rejected(sight, clock, where)
    if sight.planned is None:
        return Judged(Verdict.WAIT, f"{id} waits, and how it runs is not stored", clock)
    if why := _unproved(unit, entry):
        return Judged(Verdict.WAIT, f"{id} waits: {why}", clock)
    rolling = unit.ledger.rolling
    is_target = bool(entry.overtaken) or id == _target(unit)
    if is_target and rolling is not None and rolling.id != id:
        return Judged(Verdict.WAIT, f"{id} waits its turn: {rolling.id} is rolled out", clock)
    if is_target and baking:
        return Judged(Verdict.WAIT, f"{id} waits its turn: {baking} has just got there", clock)
    if (newer := _newer(unit, entry)) is not None:
        return Judged(Verdict.WAIT, f"{id} waits: {newer.id} is newer, and may start", clock)
    if why := guards.engine_does_not_sync(unit, sight) or guards.others_are_unread(unit, sight):
        return Judged(Verdict.FROZEN, f"{id} could start: {why}", clock)
    proof = unit.around.proved.get(entry.key, "")
    facts = (Fact("proved", proof, ok=True),) if proof else ()
    why = f"{id} starts: {proof or 'its turn has come'}"
    return Judged(Verdict.START, why, clock, facts, Move(Verdict.START, *entry.key, reason=why))


def _rejected(sight: Sight, clock: VersionClock, where: str) -> Judged:
    why = f"{sight.id} does not start: it was rejected in {where}"
    if not sight.entry.overtaken:
        return Judged(Verdict.WAIT, why, clock)
    # the specs want a newer one, so nobody else would strike it from what waits
    move = Move(Verdict.SETTLE, *sight.entry.key, reason=why)
    return Judged(Verdict.SETTLE, why, clock, (), move)


def _unproved(unit: Unit, entry: Entry) -> str:
    """What another environment still has to show; empty: nothing, or it has."""
    after = unit.rules.promoted_after
    if not after or entry.key in unit.around.proved:
        return ""
    return unit.around.unproved.get(entry.key) or f"{after} has not proved it"


def _newer(unit: Unit, entry: Entry) -> Entry | None:
    """Of those that may start, the newest does."""
    if not entry.overtaken:
        return None
    for other in unit.ledger.entries:
        is_newer = not other.overtaken or other.overtaken > entry.overtaken
        waits = other.phase is Phase.PENDING and not other.paused and other.key != entry.key
        if (
            waits
            and is_newer
            and other.key not in unit.around.judged
            and not _unproved(unit, other)
        ):
            return other
    return None


def _target(unit: Unit) -> str:
    wanted = unit.plan.wanted
    return wanted.target if wanted is not None else unit.plan.target
