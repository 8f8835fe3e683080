"""Weighted routes: what share of the traffic reaches which version, and how one is pinned.

A provider is a function from RouteTable to objects. The table is the same for all of them, so
that all give the same traffic.
"""

from __future__ import annotations

from gati_gitops.emit.objects.meta import Object
from gati_gitops.emit.routes.gateway_api import http_routes
from gati_gitops.emit.routes.ingress_nginx import ingresses
from gati_gitops.emit.routes.istio import virtual_services
from gati_gitops.emit.routes.table import RouteTable, route_table
from gati_gitops.emit.routes.traefik import ingress_routes
from gati_gitops.ledger.model import Ledger
from gati_gitops.plan.model import UnitPlan

_PROVIDERS = {
    "gateway-api": http_routes,
    "istio": virtual_services,
    "traefik": ingress_routes,
    "ingress-nginx": ingresses,
}


def routes(plan: UnitPlan, ledger: Ledger) -> list[Object]:
    """The route objects of a unit; none for a module or a unit of which nothing is deployed."""
    table = route_table(plan, ledger)
    if plan.route is None or table is None:
        return []
    return _PROVIDERS[plan.route.provider](plan, plan.route, table)


__all__ = ["RouteTable", "route_table", "routes"]
