"""Letting Git say what people did to a cluster, where a plan can say it.

Two things can be adopted, because plan and ledger hold them as decisions of their own: how the
traffic is split, and how many pods a version without a scaler has. All else comes from specs. An
image under a version's name never changes; variables, resources and probes are a revision, which is
published, proved and promoted: to adopt those would put into Git what nobody published, and the
next publish would take it out again. So that is told, and stays drift.

What is adopted is held, with who did it. When the hold ends the specs have the word again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gati_gitops.decide.absorb import shares
from gati_gitops.decide.drift.fields import FieldDrift
from gati_gitops.decide.drift.model import ObjectDrift, UnitDrift, What
from gati_gitops.emit.routes.stored import split_weights
from gati_gitops.ledger.model import WEIGHTED, Entry, Ledger, Phase
from gati_gitops.ledger.outcome import Outcome, numbered
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.plan.model import PlannedVersion, UnitPlan

HELD = "adopted: "
"""How the reason of a hold begins that came of it."""
_ROUTES = frozenset(("HTTPRoute", "VirtualService", "TraefikService", "Ingress"))
_WEIGHTS = frozenset(("weight", "nginx.ingress.kubernetes.io/canary-weight"))
_REPLICAS = ("spec", "replicas")


@dataclass(frozen=True, slots=True)
class Adopted:
    """What Git is to say now, and what it cannot say."""

    outcome: Outcome | None
    """None: there is nothing to adopt."""
    words: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def adopted(stored: Stored, drift: UnitDrift, routes: Sequence[dict[str, Any]]) -> Adopted:
    """What of a unit's drift becomes its plan and ledger. ``routes`` are its live ones."""
    ledger = stored.ledger or recovered(stored)
    if ledger.hold:
        return Adopted(None, left=(f"it is held: {ledger.hold}",))
    plan, words, left = stored.plan, list[str](), list[str]()
    moved = [item for item in drift.objects if _is_split(item)]
    if moved:
        weights = shares(stored, split_weights(list(routes)))
        split = _split(ledger, weights) if weights is not None else None
        if split is None or weights is None:
            left.append("its live weights are no split that a ledger could have")
        elif split != ledger:
            ledger = split
            told = ", ".join(f"{id} {weight} %" for id, weight in sorted(weights.items()))
            words.append(f"traffic {told}{_by(f for item in moved for f in item.fields)}")
    for item in drift.objects:
        count = _replicas(stored, item)
        if count is not None:
            version, number = count
            plan = _with_replicas(plan, version, number)
            was = version.scaling.replicas
            words.append(f"pods of {version.id} {was} → {number}{_by(item.fields)}")
        elif item not in moved:
            left.append(f"{item.id} is {item.what}, and only specs can say that")
    if not words:
        return Adopted(None, left=tuple(left))
    held = replace(ledger, hold=HELD + "; ".join(words))
    outcome = numbered(plan, stored.plan.wanted, held, stored)
    return Adopted(outcome, tuple(words), tuple(left))


# -- traffic -------------------------------------------------------------------------------------


def _is_split(item: ObjectDrift) -> bool:
    """Whether nothing but weights of a route differ."""
    return (
        item.what is What.CHANGED
        and item.id.kind in _ROUTES
        and all(field.path[-1] in _WEIGHTS for field in item.fields)
    )


def _split(ledger: Ledger, weights: Mapping[str, int]) -> Ledger | None:
    """A ledger with these weights; None where one of them cannot have any."""
    can = {e.id for e in ledger.entries if e.phase in (*WEIGHTED, Phase.STARTING, Phase.DRAINING)}
    barred = {e.id for e in ledger.entries if e.barred}
    if not weights.keys() <= can - barred:
        return None
    top = max(sorted(weights), key=lambda id: (weights[id], id != ledger.target))

    def moved(entry: Entry) -> Entry:
        weight = weights.get(entry.id, 0)
        if entry.phase is Phase.PENDING:
            return entry
        if weight:
            phase = Phase.ACTIVE if entry.id == top else Phase.CANARY
            return replace(entry, phase=phase, weight=weight)
        if entry.phase in WEIGHTED:  # nobody has judged it: it is not rejected
            return replace(entry, phase=Phase.DRAINING, weight=0)
        return entry

    return ledger.with_entries(moved(entry) for entry in ledger.entries)


# -- pods ----------------------------------------------------------------------------------------


def _replicas(stored: Stored, item: ObjectDrift) -> tuple[PlannedVersion, int] | None:
    """A version and the number of pods that a person gave it, if nothing else differs."""
    if item.id.kind != "Deployment" or [field.path for field in item.fields] != [_REPLICAS]:
        return None
    number = item.fields[0].live
    ledger = stored.ledger or recovered(stored)
    for entry in ledger.entries:
        version = stored.plan.version(*entry.key)
        if version is None or version.name != item.id.name or entry.phase is Phase.PARKED:
            continue
        # none at all is an outage, or the work of something that we do not know
        if isinstance(number, int) and number > 0 and not version.scaling.owned:
            return version, number
    return None


def _with_replicas(plan: UnitPlan, version: PlannedVersion, number: int) -> UnitPlan:
    scaling = replace(version.scaling, replicas=number)
    changed = replace(version, scaling=scaling)
    return replace(plan, versions=tuple(changed if v is version else v for v in plan.versions))


def _by(fields: Iterable[FieldDrift]) -> str:
    """Who did it, the last one of them."""
    who = sorted((w for field in fields for w in field.who), key=lambda w: w.time)
    return f", by {who[-1]}" if who else ""
