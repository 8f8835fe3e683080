"""Gateway API: one HTTPRoute per unit, further ones when the pins outgrow it.

A pin rule (path and header or query) is more specific than the split rule (path alone), so it wins
whatever the order. All defaults are written out, weights above all: an omitted one would mean 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.emit.routes.table import HEADERS, QUERIES, Backend, Pin, RouteTable
from gati_gitops.plan.model import Route, UnitPlan
from gati_gitops.plan.naming import hashed, slug, unit_labels
from gati_gitops.yamlio.emit import Shared

MAX_RULES = 16
MAX_BACKENDS = 16
_PARAMETER = re.compile(r":[A-Za-z_][A-Za-z0-9_]*")


def http_routes(plan: UnitPlan, route: Route, table: RouteTable) -> list[Object]:
    """The HTTPRoutes of one unit."""
    path = Shared(path_match(route.path))
    rules = [_pin_rule(path, pin) for pin in table.pins]
    split = [_split_rule(path, table.split)] if table.split else []
    room = MAX_RULES - len(split)
    first, rest = rules[:room], rules[room:]
    chunks = [first + split] + [rest[i : i + MAX_RULES] for i in range(0, len(rest), MAX_RULES)]
    return [_http_route(plan, route, number, chunk) for number, chunk in enumerate(chunks, 1)]


def path_match(path: str) -> Object:
    """A static path matches itself and what lies below it; parameters match one segment each."""
    if not _PARAMETER.search(path):
        trimmed = path.rstrip("/") or "/"
        return {"type": "PathPrefix", "value": trimmed}
    segments = path.rstrip("/").split("/")
    pattern = "/".join(
        "[^/]+" if _PARAMETER.fullmatch(segment) else _segment(segment) for segment in segments
    )
    return {"type": "RegularExpression", "value": f"^{pattern}/?$"}


def _segment(segment: str) -> str:
    parts = _PARAMETER.split(segment)
    return "[^/]+".join(re.sub(r"([.+*?()|\[\]{}^$\\])", r"\\\1", part) for part in parts)


def _http_route(plan: UnitPlan, route: Route, number: int, rules: list[Object]) -> Object:
    # further routes carry a hash, because users-2 may be another unit
    unit = plan.unit
    further = hashed(f"{unit.folder}-{number}", f"{unit.folder}/{number}")
    name = unit.object_name if number == 1 else further
    found = named(
        "gateway.networking.k8s.io/v1",
        "HTTPRoute",
        name,
        plan.unit.namespace,
        unit_labels(plan.unit, plan.project, plan.labels),
    )
    parent: Object = {
        "group": "gateway.networking.k8s.io",
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


def _pin_rule(path: Object, pin: Pin) -> Object:
    matches: list[Object] = [
        {"path": path, "headers": [{"type": "Exact", "name": name, "value": pin.version}]}
        for name in HEADERS
    ]
    matches += [
        {"path": path, "queryParams": [{"type": "Exact", "name": name, "value": pin.version}]}
        for name in QUERIES
    ]
    rule: Object = {
        "name": f"{'pin' if pin.backend else 'gone'}-{slug(pin.version)}",
        "matches": matches,
    }
    if pin.backend is not None:
        rule["backendRefs"] = _backends([pin.backend])
    return rule


def _split_rule(path: Object, split: Sequence[Backend]) -> Object:
    # versions without weight stand there only so that a step changes one number: they may go
    spare = max(0, len(split) - MAX_BACKENDS)
    idle = {backend.name for backend in [b for b in split if not b.weight][:spare]}
    kept = [backend for backend in split if backend.name not in idle]
    return {"name": "split", "matches": [{"path": path}], "backendRefs": _backends(kept)}


def _backends(backends: Sequence[Backend]) -> list[Object]:
    return [
        {"group": "", "kind": "Service", "name": b.name, "port": b.port, "weight": b.weight}
        for b in backends
    ]


def split_weights(objects: Sequence[Object]) -> dict[str, int]:
    """Weights by backend as the split rule of stored routes has them."""
    found: dict[str, int] = {}
    for item in objects:
        for rule in item.get("spec", {}).get("rules", ()):
            if rule.get("name") == "split":
                found.update({b["name"]: b["weight"] for b in rule.get("backendRefs", ())})
    return found


def tombstones(objects: Sequence[Object]) -> tuple[str, ...]:
    """Version ids that stored routes answer for though nothing of them is left."""
    return tuple(
        rule["matches"][0]["headers"][0]["value"]
        for item in objects
        for rule in item.get("spec", {}).get("rules", ())
        if rule.get("name", "").startswith("gone-")
    )
