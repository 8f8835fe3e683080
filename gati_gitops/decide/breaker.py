"""Many at once are not many accidents: then it is what is measured that is doubted.

Rollbacks and holds of more units than an environment allows are none of them done, and a person is
told. A unit counts once on however many clusters it fails, since a bad release is bad on all of
them; one that is held because it has few requests, or was rejected on another cluster, does not
count: nothing was measured there that could be wrong. The limit is a number of units, or a share of
those that are being rolled out, whichever is more: of a thousand units ten may be rolling, and ten
that fail at once have one cause. What takes things away is done a few at a time; the rest has its
turn in the next pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gati_gitops.decide.rules import Rules
from gati_gitops.decide.verdict import Decision, Verdict
from gati_gitops.output import UnitKey

Place = tuple[str, str, UnitKey]
"""Environment, cluster and unit."""

TAKES_AWAY = frozenset((Verdict.PARK, Verdict.REMOVE, Verdict.RETIRE))


def tripped(rules: Rules, decisions: Mapping[Place, Decision]) -> str:
    """Why nothing that fails is acted on; empty: few enough fail."""
    failing = {key for (_, _, key), made in decisions.items() if made.fails}
    rolling = {key for (_, _, key), made in decisions.items() if made.rolling}
    limit = max(rules.breaker_units, int(rules.breaker_share * len(rolling)))
    if len(failing) <= limit:
        return ""
    return (
        f"{len(failing)} of {len(rolling)} rollouts fail at once, more than {limit}:"
        " what is measured is doubted, and nothing moves"
    )


def broken(
    rules: Rules, decisions: Mapping[Place, Decision], total: int
) -> Mapping[Place, Decision]:
    """What is left of the decisions of one environment; ``total``: how many units it has."""
    if why := tripped(rules, decisions):
        return {place: _frozen(made, why) for place, made in decisions.items()}
    limit = max(rules.breaker_units, int(rules.breaker_share * total))
    taken: set[UnitKey] = set()
    found: dict[Place, Decision] = {}
    for place in sorted(decisions):
        made = decisions[place]
        if made.verdict in TAKES_AWAY and made.move is not None:
            if place[2] in taken or len(taken) < limit:
                taken.add(place[2])
            else:
                made = _frozen(made, f"{limit} units lose something in this pass already")
        found[place] = made
    return {place: found[place] for place in decisions}


def _frozen(made: Decision, why: str) -> Decision:
    if made.move is None or made.verdict in (Verdict.REVIVE, Verdict.RETURN, Verdict.ABSORB):
        return made
    reason = f"{why}. Without that: {made.verdict}, {made.reason}"
    return replace(made, verdict=Verdict.FROZEN, reason=reason, move=None)
