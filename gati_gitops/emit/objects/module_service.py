"""The Service of a module as a whole: one name for callers, whichever version is Active.

Versions have Services of their own beside it. A Service can't split by weight, so the callers of a
module go over to a new version at once, when it becomes Active.
"""

from __future__ import annotations

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.ledger.model import Entry, Phase
from gati_gitops.plan.model import PlannedVersion, UnitPlan
from gati_gitops.plan.naming import selector, unit_labels


def module_service(plan: UnitPlan, deployed: list[tuple[Entry, PlannedVersion]]) -> Object | None:
    """None for handlers, which are called through their route, and while nothing runs."""
    if plan.unit.kind != "module" or not deployed:
        return None
    _, version = max(deployed, key=lambda pair: _rank(pair[0], plan.target))
    unit = plan.unit
    labels = unit_labels(unit, plan.project, plan.labels)
    found = named("v1", "Service", unit.object_name, unit.namespace, labels)
    port = {"name": "rpc", "port": version.port, "protocol": "TCP", "targetPort": version.port}
    found["spec"] = {
        "internalTrafficPolicy": "Cluster",
        "ports": [port],
        "selector": selector(unit, version.id),
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    return found


def _rank(entry: Entry, target: str) -> tuple[bool, int, bool, bool, str]:
    """Where nothing is Active, what comes nearest to it."""
    alive = entry.phase is not Phase.PARKED
    return (entry.phase is Phase.ACTIVE, entry.weight, alive, entry.id == target, entry.id)
