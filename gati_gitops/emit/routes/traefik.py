"""Traefik: an IngressRoute for the rules of a unit, a TraefikService for its split.

Every rule has a priority, made of its host, its path and its pin, so that all units together come
out in the order of ``plan.paths`` whatever their age. A prefix is a plain one in Traefik, so the
path itself and what lies below it are two. A rule whose Service is not there is dropped and its
requests go to the next rule; that is why a tombstone names a service of Traefik's own, which
answers 418, and why parked versions want ``allowEmptyServices``, the chart's default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.emit.routes.naming import numbered
from gati_gitops.emit.routes.table import HEADERS, QUERIES, Backend, RouteTable
from gati_gitops.plan.model import Route, UnitPlan
from gati_gitops.plan.naming import unit_labels
from gati_gitops.plan.paths import parse, regex

GONE = "gati.dev/gone"
"""Annotation with the version ids for which tombstones answer."""
TOMBSTONE = "noop@internal"
_API = "traefik.io/v1alpha1"
# Together below 2**31, because Traefik's number is an int of its machine.
_PINS = 499
_SEGMENTS = 64
_ORDERED = 8
_ORDERS = 6561


def ingress_routes(plan: UnitPlan, route: Route, table: RouteTable) -> list[Object]:
    """The IngressRoute and the TraefikService of one unit."""
    name, labels = numbered(plan, 1), unit_labels(plan.unit, plan.project, plan.labels)
    gone = " ".join(pin.version for pin in table.pins if pin.backend is None)
    found = named(
        _API, "IngressRoute", name, plan.unit.namespace, labels, {GONE: gone} if gone else None
    )
    spec: Object = {"entryPoints": list(route.entry_points)} if route.entry_points else {}
    spec["routes"] = list(_rules(route, table, name))
    if route.tls_secret:
        spec["tls"] = {"secretName": route.tls_secret}
    found["spec"] = spec
    if not table.split:
        return [found]
    split = named(_API, "TraefikService", name, plan.unit.namespace, labels)
    split["spec"] = {"weighted": {"services": [_service(b, weighted=True) for b in table.split]}}
    return [found, split]


def _rules(route: Route, table: RouteTable, split: str) -> Iterator[Object]:
    path = _path(route.path)
    for rank, host in _hosts(route.hosts):
        base = priority(route.path, rank)
        scope = f"{host} && {path}" if host else path
        for kind, keys, offset in (("Header", HEADERS, 500), ("Query", QUERIES, 0)):
            for number, pin in enumerate(table.pins):
                asked = _any(f"{kind}({_quoted(key)}, {_quoted(pin.version)})" for key in keys)
                target = (
                    {"kind": "TraefikService", "name": TOMBSTONE}
                    if pin.backend is None
                    else _service(pin.backend)
                )
                yield _rule(f"{scope} && {asked}", base + offset + max(1, _PINS - number), target)
        if table.split:
            yield _rule(scope, base, {"kind": "TraefikService", "name": split})


def priority(path: str, host_rank: int) -> int:
    """Host first, then segments, then which of the first eight are literal; room for pins above."""
    pattern = parse(path)
    depth, strengths = pattern.rank
    literal = 0
    for strength in (*strengths, *[0] * _ORDERED)[:_ORDERED]:
        literal = literal * 3 + strength
    return ((host_rank * _SEGMENTS + min(depth, _SEGMENTS - 1)) * _ORDERS + literal) * 1000 + 1


def _rule(match: str, priority: int, service: Object) -> Object:
    return {"kind": "Rule", "match": match, "priority": priority, "services": [service]}


def _service(backend: Backend, *, weighted: bool = False) -> Object:
    found: Object = {"kind": "Service", "name": backend.name, "port": backend.port}
    return {**found, "weight": backend.weight} if weighted else found


def _hosts(hosts: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Rank and matcher: exact names win over wildcards, those over none."""
    exact = [f"Host({_quoted(host)})" for host in hosts if not host.startswith("*.")]
    if exact:
        yield 2, _any(exact)
    for host in hosts:
        if host.startswith("*."):
            suffix = host[1:].replace(".", r"\.")
            yield 1, f"HostRegexp({_quoted(f'^.+{suffix}$')})"
    if not hosts:
        yield 0, ""


def _path(path: str) -> str:
    trimmed = path.rstrip("/")
    if not parse(path).open:
        return f"PathRegexp({_quoted(regex(path))})"
    if not trimmed:
        return "PathPrefix(`/`)"
    return _any((f"Path({_quoted(trimmed)})", f"PathPrefix({_quoted(trimmed + '/')})"))


def _any(choices: Iterable[str]) -> str:
    found = list(choices)
    return found[0] if len(found) == 1 else f"({' || '.join(found)})"


def _quoted(text: str) -> str:
    """In backticks; a text that has one itself is a Go string."""
    if "`" not in text:
        return f"`{text}`"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
