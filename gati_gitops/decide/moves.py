"""From what a verdict asks for to what is written: a Move on the ledger that it was decided on."""

from __future__ import annotations

from gati_gitops.decide.verdict import Move, Verdict
from gati_gitops.errors import Refused
from gati_gitops.ledger import moves
from gati_gitops.ledger.fold import Outcome, Policy
from gati_gitops.ledger.model import Phase
from gati_gitops.ledger.stored import Stored


def moved(policy: Policy, stored: Stored, move: Move) -> Outcome:
    """Plan and ledger after a move. Refused where the ledger cannot become that.

    ``version`` and ``digest`` name what the verdict is about: of a rollback, what is left.
    """
    id, digest = move.version, move.digest
    match move.verdict:
        case Verdict.START:
            return moves.start(policy, stored, id, digest)
        case Verdict.PREPARE:
            return moves.prepare(policy, stored, id, move.floor, move.room)
        case Verdict.ADVANCE | Verdict.ACTIVATE if policy.strategy == "manual":
            return moves.follow(policy, stored, id)
        case Verdict.ADVANCE:
            return moves.weigh(policy, stored, id, move.weight, move.floor, move.room)
        case Verdict.ACTIVATE:
            return moves.activate(policy, stored, id)
        case Verdict.ROLLBACK:
            return moves.give_back(policy, stored, id, digest, move.to)
        case Verdict.RETURN:
            return moves.returns(policy, stored)
        case Verdict.ABSORB:
            return moves.absorb(policy, stored, dict(move.weights), move.reason)
        case Verdict.HOLD:
            return moves.stop(policy, stored, move.reason)
        case Verdict.PROVE:
            return moves.prove(policy, stored, id, digest, move.seconds)
        case _:
            return _leaving(policy, stored, move)


def _leaving(policy: Policy, stored: Stored, move: Move) -> Outcome:
    """What takes something away, or brings it back."""
    id = move.version
    match move.verdict:
        case Verdict.PARK:
            return moves.park(policy, stored, id)
        case Verdict.REVIVE:
            return moves.revive(policy, stored, id)
        case Verdict.REMOVE if _is_gone(stored, id):
            return moves.forget(policy, stored, id)
        case Verdict.REMOVE:
            return moves.remove(policy, stored, id)
        case Verdict.RETIRE:
            return moves.retire_done(policy, stored)
        case Verdict.SETTLE:
            return moves.settle(policy, stored, id, move.digest)
        case Verdict.HAND_OVER:
            return moves.handed_over(policy, stored, id)
        case _:
            raise Refused(f"{move.verdict} changes no ledger", remedy="report this: it is a bug")


def _is_gone(stored: Stored, id: str) -> bool:
    entry = stored.ledger.live(id) if stored.ledger is not None else None
    return entry is not None and entry.phase is Phase.REMOVED
