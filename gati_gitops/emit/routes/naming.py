"""Names of route objects: the unit's own, and what stays unique where several are needed."""

from __future__ import annotations

from gati_gitops.plan.model import Route, UnitPlan
from gati_gitops.plan.naming import hashed


def numbered(plan: UnitPlan, number: int) -> str:
    """The unit's name; further ones carry a hash, because users-2 may be another unit."""
    folder = plan.unit.folder
    if number == 1:
        return plan.unit.object_name
    return hashed(f"{folder}-{number}", f"{folder}/{number}")


def route_name(plan: UnitPlan, route: Route, number: int = 1) -> str:
    """The name of a route; away from home units of several namespaces meet."""
    if not route.namespace:
        return numbered(plan, number)
    unit = plan.unit
    return hashed(f"{unit.namespace}-{unit.folder}", f"{unit.namespace}/{unit.folder}/{number}")
