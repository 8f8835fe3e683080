"""ingress-nginx, for clusters that still have it: an Ingress, and a canary Ingress beside it.

It knows one canary per path: two versions at most, one header, exact value. The canary is pinned by
X-Gati-Version; a request that pins the other one is shared out like any other, and there is no rule
that fails for a version that has gone. Validate says so. Paths with parameters are refused there:
one regular expression turns all paths of its host into such, and ignores case.
"""

from __future__ import annotations

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.emit.routes.naming import numbered
from gati_gitops.emit.routes.table import HEADERS, Backend, RouteTable
from gati_gitops.errors import Place, Problem, SpecsInvalid
from gati_gitops.plan.model import Route, UnitPlan
from gati_gitops.plan.naming import hashed, unit_labels

PREFIX = "nginx.ingress.kubernetes.io/"
GONE = "gati.dev/gone"
TOTAL = 100


def ingresses(plan: UnitPlan, route: Route, table: RouteTable) -> list[Object]:
    """The Ingress of the Active version, and the canary Ingress of the other.

    They change places only when all traffic is on one side: two objects never change at once.
    """
    backends = sorted(table.split, key=lambda b: (b.name != table.active, -b.weight))
    if sum(backend.weight > 0 for backend in backends) > 2:
        raise SpecsInvalid([_too_many(plan, backends)])
    if not backends:
        return []
    gone = " ".join(pin.version for pin in table.pins if pin.backend is None)
    name = numbered(plan, 1)
    found = [_ingress(plan, route, name, backends[0], {GONE: gone} if gone else {})]
    canary = _canary(table, backends)
    if canary is not None:
        other, version = canary
        annotations = {
            f"{PREFIX}canary": "true",
            f"{PREFIX}canary-by-header": HEADERS[0],
            f"{PREFIX}canary-by-header-value": version,
            f"{PREFIX}canary-weight": str(_share(other, backends)),
            f"{PREFIX}canary-weight-total": str(TOTAL),
        }
        found.append(_ingress(plan, route, canary_name(plan), other, annotations))
    return found


def canary_name(plan: UnitPlan) -> str:
    """What the canary Ingress is called; users-canary may be another unit."""
    folder = plan.unit.folder
    return hashed(f"{folder}-canary", f"{folder}/canary")


def _canary(table: RouteTable, backends: list[Backend]) -> tuple[Backend, str] | None:
    """The second version: the one that has weight, else the newest that waits for some."""
    versions = {pin.backend.name: pin.version for pin in table.pins if pin.backend}
    others = [backend for backend in backends[1:] if backend.name in versions]
    if not others:
        return None
    best = max(others, key=lambda backend: (backend.weight, versions[backend.name]))
    return best, versions[best.name]


def _share(canary: Backend, backends: list[Backend]) -> int:
    return canary.weight * TOTAL // sum(backend.weight for backend in backends)


def _ingress(
    plan: UnitPlan, route: Route, name: str, backend: Backend, annotations: dict[str, str]
) -> Object:
    found = named(
        "networking.k8s.io/v1",
        "Ingress",
        name,
        plan.unit.namespace,
        unit_labels(plan.unit, plan.project, plan.labels),
        annotations or None,
    )
    path: Object = {
        "path": route.path.rstrip("/") or "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": backend.name, "port": {"number": backend.port}}},
    }
    spec: Object = {"ingressClassName": route.ingress_class}
    if route.tls_secret:
        tls: Object = {"hosts": list(route.hosts)} if route.hosts else {}
        spec["tls"] = [{**tls, "secretName": route.tls_secret}]
    hosts: list[Object] = [{"host": host} for host in route.hosts] or [{}]
    spec["rules"] = [{**host, "http": {"paths": [path]}} for host in hosts]
    found["spec"] = spec
    return found


def _too_many(plan: UnitPlan, backends: list[Backend]) -> Problem:
    names = ", ".join(backend.name for backend in backends if backend.weight)
    return Problem(
        "too-many-live-versions",
        f"{plan.unit} has more than two versions with weight, and ingress-nginx can split among two"
        f" only: {names}",
        Place(plan.files[0] if plan.files else ""),
        "spec.routingWeight",
        "give at most two of them weight, or use another routing provider",
    )
