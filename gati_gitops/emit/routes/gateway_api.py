"""Gateway API: one HTTPRoute per unit, further ones when the pins outgrow it.

A pin rule (path and header or query) is more specific than the split rule (path alone), so it wins
whatever the order. All defaults are written out, weights above all: an omitted one would mean 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.emit.routes.naming import numbered, route_name
from gati_gitops.emit.routes.table import HEADERS, QUERIES, Backend, Pin, RouteTable, rule_names
from gati_gitops.plan.model import Route, UnitPlan
from gati_gitops.plan.naming import unit_labels
from gati_gitops.plan.paths import MAX_PATH, NOTHING, parse, regex
from gati_gitops.yamlio.emit import Shared

MAX_RULES = 16
MAX_BACKENDS = 16
GROUP = "gateway.networking.k8s.io"


def http_routes(plan: UnitPlan, route: Route, table: RouteTable) -> list[Object]:
    """The HTTPRoutes of one unit, and the grants they need when they live elsewhere."""
    path = Shared(path_match(route.path, route.beside))
    away = plan.unit.namespace if route.namespace else ""
    names = rule_names(table.pins)
    rules = [_pin_rule(path, pin, names[pin], away) for pin in table.pins]
    split = [_split_rule(path, table.split, away)] if table.split else []
    room = MAX_RULES - len(split)
    first, rest = rules[:room], rules[room:]
    chunks = [first + split] + [rest[i : i + MAX_RULES] for i in range(0, len(rest), MAX_RULES)]
    found = [_http_route(plan, route, number, chunk) for number, chunk in enumerate(chunks, 1)]
    return [*found, *_grants(plan, route, table)] if away else found


def path_match(path: str, beside: tuple[str, ...] = ()) -> Object:
    """A static path matches itself and what lies below it; parameters match one segment each.

    Beside a stronger path with parameters a static one becomes an expression too, without what is
    the other's: which of a prefix and an expression wins is left to each implementation.
    """
    static = parse(path).open
    if static and not beside:
        return {"type": "PathPrefix", "value": path.rstrip("/") or "/"}
    value = regex(path, beside) or NOTHING
    if len(value) > MAX_PATH:  # too many neighbours for one expression; validate has warned
        return path_match(path) if beside else {"type": "RegularExpression", "value": value}
    return {"type": "RegularExpression", "value": value}


def _http_route(plan: UnitPlan, route: Route, number: int, rules: list[Object]) -> Object:
    found = named(
        "gateway.networking.k8s.io/v1",
        "HTTPRoute",
        route_name(plan, route, number),
        route.namespace or plan.unit.namespace,
        unit_labels(plan.unit, plan.project, plan.labels),
    )
    parent: Object = {
        "group": GROUP,
        "kind": "Gateway",
        "name": route.gateway,
        "namespace": route.gateway_namespace,
    }
    if route.section:
        parent["sectionName"] = route.section
    spec: Object = {"parentRefs": [parent]}
    if route.hosts:
        spec["hostnames"] = list(route.hosts)
    spec["rules"] = rules
    found["spec"] = spec
    return found


def _grants(plan: UnitPlan, route: Route, table: RouteTable) -> list[Object]:
    """Leave for routes of another namespace to name our Services, and no others."""
    backends = [*table.split, *(pin.backend for pin in table.pins if pin.backend)]
    names = sorted({backend.name for backend in backends})
    found = []
    for number, start in enumerate(range(0, len(names), MAX_BACKENDS), 1):
        grant = named(
            f"{GROUP}/v1beta1",  # every bundle serves it
            "ReferenceGrant",
            numbered(plan, number),
            plan.unit.namespace,
            unit_labels(plan.unit, plan.project, plan.labels),
        )
        grant["spec"] = {
            "from": [{"group": GROUP, "kind": "HTTPRoute", "namespace": route.namespace}],
            "to": [
                {"group": "", "kind": "Service", "name": name}
                for name in names[start : start + MAX_BACKENDS]
            ],
        }
        found.append(grant)
    return found


def _pin_rule(path: Object, pin: Pin, name: str, away: str) -> Object:
    matches: list[Object] = [
        {"path": path, "headers": [{"type": "Exact", "name": name, "value": pin.version}]}
        for name in HEADERS
    ]
    matches += [
        {"path": path, "queryParams": [{"type": "Exact", "name": name, "value": pin.version}]}
        for name in QUERIES
    ]
    rule: Object = {"name": name, "matches": matches}
    if pin.backend is not None:
        rule["backendRefs"] = _backends([pin.backend], away)
    return rule


def _split_rule(path: Object, split: Sequence[Backend], away: str) -> Object:
    # versions without weight stand there only so that a step changes one number: they may go
    spare = max(0, len(split) - MAX_BACKENDS)
    idle = {backend.name for backend in [b for b in split if not b.weight][:spare]}
    kept = [backend for backend in split if backend.name not in idle]
    return {"name": "split", "matches": [{"path": path}], "backendRefs": _backends(kept, away)}


def _backends(backends: Sequence[Backend], away: str) -> list[Object]:
    where = {"namespace": away} if away else {}
    return [
        {
            "group": "",
            "kind": "Service",
            "name": b.name,
            **where,
            "port": b.port,
            "weight": b.weight,
        }
        for b in backends
    ]
