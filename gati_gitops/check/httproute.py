"""What Gateway API asks of an HTTPRoute beyond its schema.

Its CRD says these in CEL, which is not evaluated here; so the rules that a route of ours could
break are written out. A field that is missing counts with the default that the CRD gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gati_gitops.check.compiled import Finding, Trail

GROUP = "gateway.networking.k8s.io"
_PATH = re.compile(r"(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9a-fA-F]{2})+\Z")
_NOT_INSIDE = ("//", "/./", "/../", "%2f", "%2F", "#")
_NOT_LAST = ("/..", "/.")
_DURATION = re.compile(r"([0-9]+)(ms|h|m|s)")
_UNIT = {"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_REPEATABLE = ("RequestMirror", "ExtensionRef")
_REPLACEMENTS = {"ReplaceFullPath": "replaceFullPath", "ReplacePrefixMatch": "replacePrefixMatch"}
_TOTAL_MATCHES = 128


def check_httproute(route: dict[str, Any]) -> Iterator[Finding]:
    """Findings of one route; parts that the schema refuses anyway are passed over."""
    spec = _dict(route.get("spec"))
    at: Trail = ("spec", ())
    yield from _parents(spec.get("parentRefs"), ("parentRefs", at))
    rules = _list(spec.get("rules"))
    here: Trail = ("rules", at)
    # Without matches a rule has one, by default.
    total = sum(len(_list(rule.get("matches", [{}]))) for rule in rules)
    if total > _TOTAL_MATCHES:
        yield Finding(
            here,
            "too-long",
            f"have {total} matches together; at most {_TOTAL_MATCHES} are allowed",
            "split the route",
        )
    names: dict[str, int] = {}
    for index, rule in enumerate(rules):
        name = rule.get("name")
        if isinstance(name, str) and names.setdefault(name, index) != index:
            message = f"{name} is also the name of rule {names[name]}"
            yield Finding(("name", (index, here)), "duplicate-entry", message)
        yield from _rule(rule, (index, here))


def _parents(parents: Any, at: Trail) -> Iterator[Finding]:
    seen: dict[tuple[Any, ...], list[str]] = {}
    for index, parent in enumerate(_list(parents)):
        group, kind = parent.get("group", GROUP), parent.get("kind", "Gateway")
        parent_key = (group, kind, parent.get("name"), parent.get("namespace") or "")
        sections = seen.setdefault(parent_key, [])
        section = parent.get("sectionName") or ""
        if sections and (section in sections or "" in (section, *sections)):
            yield Finding(
                (index, at),
                "duplicate-entry",
                f"names {parent.get('name')} again, without a sectionName of its own",
                "give each reference another sectionName",
            )
        sections.append(section)


def _rule(rule: dict[str, Any], at: Trail) -> Iterator[Finding]:
    for index, match in enumerate(_list(rule.get("matches"))):
        if isinstance(match.get("path"), dict):
            yield from _path(match["path"], ("path", (index, ("matches", at))))
    backends = _list(rule.get("backendRefs"))
    for index, backend in enumerate(backends):
        here: Trail = (index, ("backendRefs", at))
        yield from _port(backend, here)
        yield from _filters(backend.get("filters"), rule, ("filters", here))
    yield from _filters(rule.get("filters"), rule, ("filters", at))
    if backends and any(f.get("type") == "RequestRedirect" for f in _list(rule.get("filters"))):
        message = "must be empty in a rule that redirects"
        yield Finding(("backendRefs", at), "bad-value", message)
    times = _dict(rule.get("timeouts"))
    whole, backend_time = (_milliseconds(times.get(k)) for k in ("request", "backendRequest"))
    if whole and backend_time and backend_time > whole:
        message = "must not have a backendRequest longer than request"
        yield Finding(("timeouts", at), "bad-value", message)


def _path(path: dict[str, Any], at: Trail) -> Iterator[Finding]:
    value = path.get("value", "/")
    if path.get("type", "PathPrefix") not in ("Exact", "PathPrefix") or not isinstance(value, str):
        return
    here: Trail = ("value", at)
    if not value.startswith("/"):
        yield Finding(here, "bad-value", f"must start with '/', but is {value!r}")
        return
    for part in _NOT_INSIDE:
        if part in value:
            yield Finding(here, "bad-value", f"must not contain '{part}', but is {value}")
    for part in _NOT_LAST:
        if value.endswith(part):
            yield Finding(here, "bad-value", f"must not end with '{part}', but is {value}")
    if "#" not in value and not _PATH.match(value):
        message = f"may only have the characters of a URL path, but is {value!r}"
        yield Finding(here, "bad-value", message, "write other characters as %XX")


def _port(backend: dict[str, Any], at: Trail) -> Iterator[Finding]:
    is_service = backend.get("group", "") == "" and backend.get("kind", "Service") == "Service"
    if is_service and "port" not in backend:
        yield Finding(
            ("port", at), "missing-field", "is missing; a reference to a Service needs it"
        )


def _filters(filters: Any, rule: dict[str, Any], at: Trail) -> Iterator[Finding]:
    types = [item.get("type") for item in _list(filters)]
    for type_ in dict.fromkeys(types):
        if types.count(type_) > 1 and type_ not in _REPEATABLE:
            yield Finding(at, "duplicate-entry", f"may have only one filter of type {type_}")
    if "RequestRedirect" in types and "URLRewrite" in types:
        yield Finding(at, "bad-value", "must not have both RequestRedirect and URLRewrite")
    for index, item in enumerate(_list(filters)):
        yield from _filter(item, rule, (index, at))


def _filter(item: dict[str, Any], rule: dict[str, Any], at: Trail) -> Iterator[Finding]:
    type_ = item.get("type")
    if isinstance(type_, str):
        own = "cors" if type_ == "CORS" else "urlRewrite" if type_ == "URLRewrite" else (
            type_[:1].lower() + type_[1:]
        )  # fmt: skip
        if own not in item:
            yield Finding(
                (own, at), "missing-field", f"is missing; a filter of type {type_} needs it"
            )
        for other in item.keys() - {"type", own}:
            message = f"does not belong to a filter of type {type_}"
            yield Finding((other, at), "bad-value", message)
    for name in ("requestRedirect", "urlRewrite"):
        path = _dict(_dict(item.get(name)).get("path"))
        yield from _replacement(path, ("path", (name, at)))
        if path.get("type") == "ReplacePrefixMatch" and not _one_prefix(rule):
            message = (
                "can replace a prefix only in a rule with exactly one match, of type PathPrefix"
            )
            yield Finding(("path", (name, at)), "bad-value", message)
    if isinstance(item.get("requestMirror"), dict):
        yield from _mirror(item["requestMirror"], ("requestMirror", at))
    for name, allowed in _dict(item.get("cors")).items():
        if isinstance(allowed, list) and "*" in allowed and len(allowed) > 1:
            message = "must not have '*' beside other values"
            yield Finding((name, ("cors", at)), "bad-value", message)


def _mirror(mirror: dict[str, Any], at: Trail) -> Iterator[Finding]:
    yield from _port(_dict(mirror.get("backendRef")), ("backendRef", at))
    if "percent" in mirror and "fraction" in mirror:
        yield Finding(at, "bad-value", "must have only one of percent and fraction")
    fraction = _dict(mirror.get("fraction"))
    above, below = fraction.get("numerator"), fraction.get("denominator", 100)
    if isinstance(above, int) and isinstance(below, int) and above > below:
        message = "must not have a numerator above the denominator"
        yield Finding(("fraction", at), "bad-value", message)


def _replacement(path: dict[str, Any], at: Trail) -> Iterator[Finding]:
    for type_, field in _REPLACEMENTS.items():
        if path.get("type") == type_ and field not in path:
            message = f"is missing; a path of type {type_} needs it"
            yield Finding((field, at), "missing-field", message)
        if field in path and isinstance(path.get("type"), str) and path["type"] != type_:
            message = f"belongs to a path of type {type_}"
            yield Finding((field, at), "bad-value", message)


def _one_prefix(rule: dict[str, Any]) -> bool:
    matches = _list(rule.get("matches", [{"path": {}}]))
    if len(matches) != 1 or "path" not in matches[0]:
        return False
    return bool(_dict(matches[0]["path"]).get("type", "PathPrefix") == "PathPrefix")


def _milliseconds(text: Any) -> int:
    if not isinstance(text, str):
        return 0
    return sum(int(number) * _UNIT[unit] for number, unit in _DURATION.findall(text))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[dict[str, Any]]:
    return [_dict(item) for item in value] if isinstance(value, list) else []
