"""What a person did to the traffic while Git was down becomes a decision.

Who breaks the glass says so on the live route, with a reason. While that stands there, the route is
what was decided: the next pass writes it into the ledger and holds the unit. Another split without
a word on it is no decision but drift; it is told, and nothing moves.
"""

from __future__ import annotations

from collections.abc import Mapping

from gati_gitops.decide.observation import Live, LiveRoute
from gati_gitops.decide.verdict import Move, Verdict
from gati_gitops.ledger.model import DEPLOYED
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.report.clean import safe

ANNOTATION = "gati.dev/break-glass"
"""On a live route: why a person moved its traffic by hand."""
HELD = "break-glass: "
"""How the reason of a hold begins that came of it."""
_LONGEST = 400


def absorbed(stored: Stored, live: Live) -> Move | None:
    """The move that takes over what a person made of the traffic; None if there is nothing to."""
    reason = broken_glass(live)
    if not reason or not isinstance(live.route, LiveRoute):
        return None
    weights = shares(stored, live.route.weights)
    ledger = stored.ledger or recovered(stored)
    if weights is None or weights == {e.id: e.weight for e in ledger.entries if e.weight}:
        return None
    return Move(Verdict.ABSORB, weights=tuple(sorted(weights.items())), reason=f"{HELD}{reason}")


def broken_glass(live: Live) -> str:
    """Why the traffic is in a person's hands; empty if it is not.

    While this says something nothing else may move the unit: whatever the ledger would decide, the
    route would be taken for a person's answer to it.
    """
    if not isinstance(live.route, LiveRoute):
        return ""
    return safe(" ".join(live.route.break_glass.split()))[:_LONGEST]


def shares(stored: Stored, weights: Mapping[str, int]) -> dict[str, int] | None:
    """Percent by version id, of weights by name of Service; None if they are no such thing.

    One version that has all of the weight has 100 %, whatever number stands there.
    """
    ledger = stored.ledger or recovered(stored)
    names: dict[str, str] = {}
    for entry in ledger.entries:
        version = stored.plan.version(*entry.key)
        if version is not None and entry.phase in DEPLOYED:
            names[version.name] = entry.id
    if weights.keys() - names.keys() or any(weight < 0 for weight in weights.values()):
        return None
    found = {names[name]: weight for name, weight in weights.items() if weight}
    if len(found) == 1:
        return dict.fromkeys(found, 100)
    return found if sum(found.values()) == 100 else None
