"""What can be put in order when nothing else is to be done: proofs, hand-overs, spare pods."""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.decide.judged import Judged
from gati_gitops.decide.verdict import Move, Verdict
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import span
from gati_gitops.ledger.handover import awaits_hand_over
from gati_gitops.ledger.model import Phase

LAST = frozenset((Verdict.PARK, Verdict.REMOVE, Verdict.RETIRE))
"""What can wait for the next pass, when nothing else is left to be told of a version."""

KEEPING = frozenset((Phase.ACTIVE, Phase.DRAINING))
"""Who may have pods beyond need."""


def chores(unit: Unit, sight: Sight, found: Judged, *, baking: bool) -> Judged:
    """What was found, or what can be done beside it."""
    busy = found.move is not None and found.verdict not in LAST
    # while the route is another or cannot be read, it may be in a person's hands
    if busy or found.rolling or baking or unit.differs:
        return found
    move = _proved(unit, sight, found) or _handed_over(unit, sight) or _spare(unit, sight, found)
    if move is None:
        return found
    return replace(found, verdict=move.verdict, reason=move.reason, move=move)


def _proved(unit: Unit, sight: Sight, found: Judged) -> Move | None:
    """It has served for as long as another environment asks; that goes on after its successor."""
    entry, since = sight.entry, found.clock.active
    if entry.barred or not since or unit.around.standby or sight.phase is Phase.PENDING:
        return None
    served = unit.now - since
    wanted = [max(dwell, 1.0) for dwell in unit.around.dwells]
    stood = [dwell for dwell in wanted if entry.proved < dwell <= served]
    if not stood:
        return None
    why = f"{sight.id} is seen to serve for {span(served)}, wanted {span(max(stood))}"
    return Move(Verdict.PROVE, *entry.key, seconds=int(max(stood)), reason=why)


def _handed_over(unit: Unit, sight: Sight) -> Move | None:
    if not awaits_hand_over(unit.plan, sight.entry) or sight.workload is None:
        return None
    owner = sight.workload.replicas_owner
    if not owner:
        return None
    why = f"{owner} holds the number of pods of {sight.id}: its scaler takes it from there"
    return Move(Verdict.HAND_OVER, *sight.entry.key, reason=why)


def _spare(unit: Unit, sight: Sight, found: Judged) -> Move | None:
    """Pods that were kept for a rollout, or for the way back, are their scaler's business again."""
    clock = found.clock
    if sight.phase is not Phase.ACTIVE or unit.ledger.rolling is not None:
        return None
    kept = [s for s in unit.sights if s.entry.floor and s.phase in KEEPING]
    if not kept or not clock.shown or unit.now - clock.shown < unit.rules.step_for:
        return None
    pods = " and ".join(f"{one.entry.floor} pods of {one.id}" for one in kept)
    why = f"no rollout needs {pods} any more: the scaler decides"
    return Move(Verdict.SETTLE, *sight.entry.key, reason=why)
