"""Whether the cluster shows what the ledger says. Clocks run from there, not from a commit."""

from __future__ import annotations

from gati_gitops.decide.observation import Missing
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.emit.routes.table import route_table
from gati_gitops.ledger.model import DEPLOYED, Phase


def route_differs(unit: Unit) -> str:
    """Why the live route is not the ledger's; empty: it is."""
    live = unit.live.route
    wanted = _wanted(unit)
    if wanted is None:
        return ""
    if isinstance(live, Missing):
        return f"its route could not be read: {live}"
    if live is None:
        return "the cluster does not have its route yet" if wanted else ""
    found = {name: weight for name, weight in live.weights.items() if weight}
    if found != wanted:
        return f"the cluster's route says {_split(found)}, the ledger {_split(wanted)}"
    if not live.current:
        return f"the gateway has not taken its route: {live.why or 'not accepted yet'}"
    return ""


def _wanted(unit: Unit) -> dict[str, int] | None:
    """Weights by name as Git has them; None where nothing is routed.

    A module is called by one Service, which selects the pods of one version.
    """
    if unit.plan.unit.kind == "module":
        active = unit.active
        return {active.planned.name: 100} if active and active.planned else None
    if unit.plan.route is None:
        return None
    table = route_table(unit.plan, unit.ledger)
    return {b.name: b.weight for b in table.split if b.weight} if table is not None else {}


def _split(weights: dict[str, int]) -> str:
    said = ", ".join(f"{name} {weight}" for name, weight in sorted(weights.items()))
    return said or "nothing"


def version_differs(unit: Unit, sight: Sight) -> str:
    """Why what runs of a version is not what the ledger says; empty: it is."""
    workload, planned = sight.workload, sight.planned
    if sight.phase not in DEPLOYED:
        return ""
    if workload is None:
        return "the cluster does not have it yet"
    if sight.phase is Phase.PARKED:
        if workload.desired or workload.pods or workload.endpoints:
            return f"{len(workload.pods)} of its pods are still there"
        return ""
    if planned is not None and workload.release and workload.release != planned.release:
        return f"it runs {workload.release}, the ledger has {planned.release}"
    if sight.entry.previous and not _is_new(unit, sight):
        return "its pods may still be those of the revision before"
    return ""


def _is_new(unit: Unit, sight: Sight) -> bool:
    """Whether what runs is the last revision: told by the Deployment, or by the age of its pods.

    Not by the engine: it may be in step with a commit that is older than the revision.
    """
    workload, planned = sight.workload, sight.planned
    assert workload is not None
    if planned is not None and workload.release:
        return workload.release == planned.release
    known = sight.clock.known
    return bool(known) and bool(workload.pods) and all(p.created >= known for p in workload.pods)
