"""Gateways in small: what each provider would do with a request, given the objects we compiled.

Each follows its provider's own rules of matching and precedence, and leaves open what the provider leaves
open: ages of objects are handed in, and Gateway API may put regular expressions before or behind prefixes.
An answer is the weights by Service, FAILS for a response by the edge itself, or None when nothing matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

FAILS = "fails"
Answer = dict[str, int] | str | None
Objects = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    host: str = "shop.example.com"

    def header(self, name: str) -> str | None:
        return {key.lower(): value for key, value in self.headers.items()}.get(name.lower())


def host_rank(hosts: Iterable[str], host: str) -> tuple[int, int] | None:
    """How well the best of some host names fits: exact before wildcard, longer before shorter."""
    ranks = []
    for name in hosts:
        if name == host:
            ranks.append((2, len(name)))
        elif name.startswith("*.") and host.endswith(name[1:]):
            ranks.append((1, len(name)))
        elif name == "*":
            ranks.append((0, 0))
    return max(ranks, default=None)


def below(path: str, prefix: str) -> bool:
    """A prefix of whole segments."""
    trimmed = prefix.rstrip("/")
    return path == trimmed or path.startswith(f"{trimmed}/")


def shares(weights: dict[str, int]) -> dict[str, int]:
    found = {name: weight for name, weight in weights.items() if weight}
    assert found, "a split where nobody gets anything"
    return found


# -- Gateway API -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Implementation:
    """What Gateway API leaves to those who implement it."""

    expressions_first: bool
    """Exact > RegularExpression > PathPrefix, as Envoy Gateway, Contour and kgateway; else as Istio."""
    longest_first: bool
    """Among expressions the longer one wins; else only what follows in the order counts."""


IMPLEMENTATIONS = [Implementation(a, b) for a in (True, False) for b in (True, False)]


def gateway_api(objects: Objects, request: Request, way: Implementation) -> Answer:
    """``objects`` are in the order of their age."""
    best: tuple[Any, ...] | None = None
    chosen: tuple[dict[str, Any], dict[str, Any]] | None = None
    routes = [item for item in objects if item["kind"] == "HTTPRoute"]
    for age, route in enumerate(routes):
        assert 1 <= len(route["spec"]["rules"]) <= 16
        assert sum(len(rule["matches"]) for rule in route["spec"]["rules"]) <= 128
        host = host_rank(route["spec"].get("hostnames", ["*"]), request.host)
        for number, rule in enumerate(route["spec"]["rules"]):
            assert len(rule["matches"]) <= 64 and len(rule.get("backendRefs", ())) <= 16
            for match in rule["matches"]:
                path = _path_rank(match["path"], request.path, way)
                if host is None or path is None or not _asked(match, request):
                    continue
                headers, query = len(match.get("headers", ())), len(match.get("queryParams", ()))
                rank = (host, path, headers, query, -age, -number)
                if best is None or rank > best:
                    best, chosen = rank, (route, rule)
    if chosen is None:
        return None
    route, rule = chosen
    refs = [ref for ref in rule.get("backendRefs", ()) if _granted(objects, route, ref)]
    return shares({ref["name"]: ref["weight"] for ref in refs}) if refs else FAILS


def _path_rank(match: dict[str, str], path: str, way: Implementation) -> tuple[int, int] | None:
    kind, value = match["type"], match["value"]
    assert len(value) <= 1024
    if kind == "Exact":
        return (3, 0) if path == value else None
    if kind == "PathPrefix":
        return (1, len(value)) if below(path, value) else None
    rank = (2 if way.expressions_first else 0, len(value) if way.longest_first else 0)
    return rank if re.fullmatch(value, path) else None


def _asked(match: dict[str, Any], request: Request) -> bool:
    headers = all(request.header(h["name"]) == h["value"] for h in match.get("headers", ()))
    return headers and all(
        request.query.get(q["name"]) == q["value"] for q in match.get("queryParams", ())
    )


def _granted(objects: Objects, route: dict[str, Any], ref: dict[str, Any]) -> bool:
    home = route["metadata"]["namespace"]
    there = ref.get("namespace", home)
    if there == home:
        return True
    return any(
        item["kind"] == "ReferenceGrant"
        and item["metadata"]["namespace"] == there
        and any(f["kind"] == "HTTPRoute" and f["namespace"] == home for f in item["spec"]["from"])
        and any(t["kind"] == "Service" and t["name"] == ref["name"] for t in item["spec"]["to"])
        for item in objects
    )


# -- Istio -----------------------------------------------------------------------------------------


def istio(objects: Objects, request: Request) -> Answer:
    """``objects`` are in the order of their age: so their rules are merged, and the first match wins."""
    ranked = [(host_rank(item["spec"]["hosts"], request.host), item) for item in objects]
    top = max((rank for rank, _ in ranked if rank is not None), default=None)
    for rank, item in ranked:
        if rank is None or rank != top:
            continue
        for rule in item["spec"]["http"]:
            if any(_istio_match(match, request) for match in rule["match"]):
                if "directResponse" in rule:
                    return FAILS
                targets = rule["route"]
                names = {t["destination"]["host"].split(".")[0]: t["weight"] for t in targets}
                return dict.fromkeys(names, 100) if len(names) == 1 else shares(names)
    return None


def _istio_match(match: dict[str, Any], request: Request) -> bool:
    ((kind, value),) = match["uri"].items()
    path = request.path
    fits = {
        "exact": lambda: path == value,
        "prefix": lambda: path.startswith(value),
        "regex": lambda: re.fullmatch(value, path) is not None,
    }
    headers, query = match.get("headers", {}), match.get("queryParams", {})
    assert all(name == name.lower() for name in headers)
    return (
        fits[kind]()
        and all(request.header(name) == asked["exact"] for name, asked in headers.items())
        and all(request.query.get(name) == asked["exact"] for name, asked in query.items())
    )


# -- Traefik ---------------------------------------------------------------------------------------

_TOKEN = re.compile(r'\s*(&&|\|\||[(),]|[A-Za-z]+|`[^`]*`|"(?:[^"\\]|\\.)*")')


def traefik(objects: Objects, request: Request) -> Answer:
    services = {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item
        for item in objects
        if item["kind"] == "TraefikService"
    }
    found = [
        (rule["priority"], item["metadata"]["namespace"], rule["services"])
        for item in objects
        if item["kind"] == "IngressRoute"
        for rule in item["spec"]["routes"]
        if _rule(rule["match"])(request)
    ]
    if not found:
        return None
    priorities = [priority for priority, _, _ in found]
    assert all(0 < priority < 2**31 for priority in priorities)
    top = max(found, key=lambda one: one[0])
    assert priorities.count(top[0]) == 1, "two rules of one priority"
    (service,) = top[2]
    if service["kind"] == "Service":
        return {service["name"]: 1}
    if service["name"] == "noop@internal":
        return FAILS
    weighted = services[top[1], service["name"]]["spec"]["weighted"]["services"]
    return shares({one["name"]: one["weight"] for one in weighted})


def _rule(text: str) -> Callable[[Request], bool]:
    tokens = _TOKEN.findall(text)
    assert "".join(tokens) == re.sub(r"\s", "", text), text
    rule, rest = _either(tokens)
    assert not rest, text
    return rule


def _either(tokens: list[str]) -> tuple[Callable[[Request], bool], list[str]]:
    rule, rest = _both(tokens)
    while rest and rest[0] == "||":
        other, rest = _both(rest[1:])
        rule = lambda request, a=rule, b=other: a(request) or b(request)  # noqa: E731
    return rule, rest


def _both(tokens: list[str]) -> tuple[Callable[[Request], bool], list[str]]:
    rule, rest = _one(tokens)
    while rest and rest[0] == "&&":
        other, rest = _one(rest[1:])
        rule = lambda request, a=rule, b=other: a(request) and b(request)  # noqa: E731
    return rule, rest


def _one(tokens: list[str]) -> tuple[Callable[[Request], bool], list[str]]:
    if tokens[0] == "(":
        rule, rest = _either(tokens[1:])
        assert rest[0] == ")"
        return rule, rest[1:]
    name, end = tokens[0], tokens.index(")")
    values = [_text(token) for token in tokens[2:end] if token != ","]
    return lambda request: _MATCHERS[name](request, *values), tokens[end + 1 :]


def _text(token: str) -> str:
    return token[1:-1] if token[0] == "`" else re.sub(r"\\(.)", r"\1", token[1:-1])


_MATCHERS: dict[str, Callable[..., bool]] = {
    "Host": lambda request, host: request.host == host,
    "HostRegexp": lambda request, value: re.search(value, request.host) is not None,
    "Path": lambda request, path: request.path == path,
    "PathPrefix": lambda request, prefix: request.path.startswith(prefix),
    "PathRegexp": lambda request, value: re.search(value, request.path) is not None,
    "Header": lambda request, name, value: request.header(name) == value,
    "Query": lambda request, name, value: request.query.get(name) == value,
}


# -- ingress-nginx ---------------------------------------------------------------------------------

_CANARY = "nginx.ingress.kubernetes.io/canary"


def ingress_nginx(objects: Objects, request: Request) -> Answer:
    found: dict[bool, tuple[Any, dict[str, str], str]] = {}
    for item in objects:
        notes = item["metadata"].get("annotations", {})
        canary = notes.get(_CANARY) == "true"
        for rule in item["spec"]["rules"]:
            host = host_rank([rule.get("host", "*")], request.host)
            for path in rule["http"]["paths"]:
                assert path["pathType"] == "Prefix"
                if host is not None and below(request.path, path["path"]):
                    rank = (host, len(path["path"]))
                    assert canary not in found or found[canary][0] != rank, (
                        "two canaries of one path"
                    )
                    if canary not in found or rank > found[canary][0]:
                        found[canary] = (rank, notes, path["backend"]["service"]["name"])
    if False not in found:
        return None
    rank, _, main = found[False]
    if True not in found or found[True][0] != rank:
        return {main: 100}
    _, notes, other = found[True]
    if request.header(notes[f"{_CANARY}-by-header"]) == notes[f"{_CANARY}-by-header-value"]:
        return {other: 1}
    weight, total = int(notes[f"{_CANARY}-weight"]), int(notes[f"{_CANARY}-weight-total"])
    return shares({main: total - weight, other: weight})
