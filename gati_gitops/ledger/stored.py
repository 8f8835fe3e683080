"""What the output holds of one unit on one cluster, and a ledger read back when it is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.plan.model import UnitPlan


@dataclass(frozen=True, slots=True)
class Seen:
    """What manifests alone tell of a unit's state."""

    weights: Mapping[str, int] = field(default_factory=dict)
    """Weights by object name, as the split rule of the route has them."""
    releases: frozenset[str] = frozenset()
    """Release folders that the kustomization names."""
    gone: tuple[str, ...] = ()
    """Version ids for which a tombstone answers."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What the output holds of one unit on one cluster."""

    plan: UnitPlan
    ledger: Ledger | None
    """None: a person deleted it."""
    seen: Seen = field(default_factory=Seen)
    """What its manifests say; asked only when the ledger is gone."""


def recovered(stored: Stored) -> Ledger:
    """A ledger deleted by hand means held; its phases are read back from the manifests."""
    seen = stored.seen
    whole = sum(seen.weights.values()) == 100
    # a split that is no percentage is the 503 of a unit that retires
    retiring = bool(seen.weights) and not whole
    top = max(seen.weights.values(), default=0)
    entries = [Entry(name, "", Phase.REMOVED) for name in seen.gone]
    for version in stored.plan.versions:
        if version.release not in seen.releases:
            continue
        weight = seen.weights.get(version.name, 0) if whole else 0
        if stored.plan.route is None:
            phase, weight = Phase.ACTIVE, 100
        elif weight:
            phase = Phase.ACTIVE if weight == top else Phase.CANARY
            top = -1 if weight == top else top  # one version is Active
        elif retiring or (whole and version.name not in seen.weights):
            phase = Phase.PARKED
        else:
            phase = Phase.STARTING if version.id == stored.plan.target else Phase.DRAINING
        entries.append(Entry(version.id, version.digest, phase, weight))
    hold = "the ledger was deleted by hand"
    ledger = Ledger(target=stored.plan.target, hold=hold, retiring=retiring)
    return ledger.with_entries(entries)
