"""Istio: one VirtualService per unit, one Service per version.

The first rule that matches wins, so pins stand before the split; within the pins headers stand
before query parameters, as Gateway API has it. VirtualServices of one host are asked in the order
of their age, so a path stands there without what belongs to stronger paths of other units.
Hosts are full names, because a short one would mean a Service of the route's own namespace.
"""

from __future__ import annotations

from collections.abc import Iterator

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.emit.routes.naming import route_name
from gati_gitops.emit.routes.table import HEADERS, QUERIES, Backend, Pin, RouteTable, rule_names
from gati_gitops.plan.model import Route, UnitPlan
from gati_gitops.plan.naming import unit_labels
from gati_gitops.plan.paths import NOTHING, parse, regex

GONE = 410
LATER = "-query"


def virtual_services(plan: UnitPlan, route: Route, table: RouteTable) -> list[Object]:
    """The VirtualService of one unit."""
    found = named(
        "networking.istio.io/v1",
        "VirtualService",
        route_name(plan, route),
        route.namespace or plan.unit.namespace,
        unit_labels(plan.unit, plan.project, plan.labels),
    )
    paths = uri_matches(route.path, route.beside)
    names = rule_names(table.pins)
    http = [
        _pin(plan, paths, pin, names[pin], "headers", [name.lower() for name in HEADERS])
        for pin in table.pins
    ]
    http += [
        _pin(plan, paths, pin, names[pin] + LATER, "queryParams", QUERIES) for pin in table.pins
    ]
    if table.split:
        http.append(
            {
                "name": "split",
                "match": [{"uri": path} for path in paths],
                "route": list(_destinations(plan, table.split)),
            }
        )
    found["spec"] = {
        "hosts": list(route.hosts or ("*",)),
        "gateways": list(route.gateways),
        "http": http,
    }
    return [found]


def uri_matches(path: str, beside: tuple[str, ...] = ()) -> list[Object]:
    """A prefix is a plain one in Istio, so the path itself and what lies below it are two."""
    pattern = parse(path)
    if not pattern.open or beside:
        return [{"regex": regex(path, beside) or NOTHING}]
    trimmed = path.rstrip("/")
    return [{"exact": trimmed}, {"prefix": f"{trimmed}/"}] if trimmed else [{"prefix": "/"}]


def _pin(
    plan: UnitPlan,
    paths: list[Object],
    pin: Pin,
    name: str,
    kind: str,
    keys: list[str] | tuple[str, ...],
) -> Object:
    rule: Object = {
        "name": name,
        "match": [
            {"uri": path, kind: {key: {"exact": pin.version}}} for key in keys for path in paths
        ],
    }
    if pin.backend is None:
        body = {"string": f"version {pin.version} is gone"}
        return {**rule, "directResponse": {"status": GONE, "body": body}}
    return {**rule, "route": list(_destinations(plan, [pin.backend]))}


def _destinations(
    plan: UnitPlan, backends: list[Backend] | tuple[Backend, ...]
) -> Iterator[Object]:
    for backend in backends:
        yield {
            "destination": {
                "host": f"{backend.name}.{plan.unit.namespace}.svc.cluster.local",
                "port": {"number": backend.port},
            },
            # one destination gets all of it whatever its weight says
            "weight": backend.weight if len(backends) > 1 else 100,
        }
