"""Every object against every schema that will judge it.

A built-in kind is checked for each Kubernetes minor, a custom one against its CRD. What all minors
say is said once; what only some say names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from gati_gitops.check.compiled import Check, Finding
from gati_gitops.check.custom import CustomKind, by_kind, custom_kinds, strict_schema
from gati_gitops.check.httproute import GROUP as GATEWAY_API
from gati_gitops.check.httproute import check_httproute
from gati_gitops.check.kubernetes import Minor, minors
from gati_gitops.check.values import unreadable_patterns
from gati_gitops.errors import Place, Problem, Severity
from gati_gitops.spec.common import API_VERSION
from gati_gitops.spec.crds import crds as own_crds
from gati_gitops.yamlio.strict import dotted

# Read by kustomize, not by a cluster.
_NOT_APPLIED = "kustomize.config.k8s.io/"

Key = tuple[str, str]


def check_objects(
    objects: Iterable[tuple[str | Place, Any]],
    crds: Iterable[CustomKind] = (),
    kubernetes: Sequence[str] = (),
) -> list[Problem]:
    """All problems of all objects, sorted; ``kubernetes`` names minors, the newest three if none.

    Each object comes with the file, or the place in a file, that it is reported at.
    """
    checker = _Checker(minors(kubernetes), crds)
    problems = {
        problem
        for place, value in objects
        for problem in checker.check(place if isinstance(place, Place) else Place(place), value)
    }
    return sorted(problems, key=Problem.sort_key)


class _Checker:
    def __init__(self, known: list[Minor], crds: Iterable[CustomKind]) -> None:
        self._minors = known
        self._given = by_kind(crds)
        self._checks: dict[Key, list[tuple[str, Check]]] = {}
        self._unread: dict[Key, tuple[str, ...]] = {}

    def check(self, place: Place, value: Any) -> Iterable[Problem]:
        if not isinstance(value, dict):
            return [Problem("wrong-type", "an object must be a mapping", place)]
        api_version, kind = value.get("apiVersion"), value.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind, str):
            message = "an object needs apiVersion and kind, both as text"
            return [Problem("missing-field", message, place, remedy="add them")]
        if api_version.startswith(_NOT_APPLIED):
            return []
        return self._judge(place, (api_version, kind), value)

    def _judge(self, place: Place, key: Key, value: dict[str, Any]) -> Iterable[Problem]:
        who = f"{key[1]} {_name(value)}"
        checks = self._checks_of(key)
        if checks:
            yield from self._skipped(key)
        else:
            yield _no_schema(place, key)
        said: dict[tuple[Any, ...], dict[str, None]] = {}
        for judge, check in checks:
            found: list[Finding] = []
            check(value, (), found)
            for finding in found:
                said.setdefault((finding.path, *_rest(finding)), {})[judge] = None
        for finding in _more(key, value):
            said[(finding.path, *_rest(finding))] = dict.fromkeys(name for name, _ in checks)
        for (path, code, message, remedy), judges in said.items():
            some = "" if len(judges) == len(checks) else f", Kubernetes {', '.join(judges)}"
            yield Problem(code, f"{message} ({who}{some})", place, dotted(path), remedy)

    def _checks_of(self, key: Key) -> list[tuple[str, Check]]:
        """Who judges this kind: the minors that have it, or its CRD."""
        if key not in self._checks:
            built_in = [(minor.name, minor.check(*key)) for minor in self._minors]
            checks = [(name, check) for name, check in built_in if check is not None]
            custom = self._custom(key)
            if not checks and custom is not None:
                schema = strict_schema(custom)
                # Object metadata is the same in every minor we know.
                checks = [("", self._minors[-1].compiler.compile(schema))]
            elif checks and len(checks) < len(built_in):
                checks += [(name, _absent(key)) for name, check in built_in if check is None]
            self._checks[key] = checks
        return self._checks[key]

    def _custom(self, key: Key) -> CustomKind | None:
        return self._given.get(key) or (self._own.get(key) if key[0] == API_VERSION else None)

    @cached_property
    def _own(self) -> dict[Key, CustomKind]:
        return by_kind(k for file, crd in own_crds().items() for k in custom_kinds(crd, file))

    def _skipped(self, key: Key) -> Iterable[Problem]:
        kind = self._custom(key)
        if key in self._unread or kind is None:
            return
        self._unread[key] = tuple(sorted(set(unreadable_patterns(kind.schema))))
        for pattern in self._unread[key]:
            message = f"the pattern {pattern} of {key[1]} cannot be checked here and was skipped"
            yield Problem("not-checked", message, Place(kind.file), severity=Severity.WARNING)


def _rest(finding: Finding) -> tuple[str, str, str]:
    return finding.code, finding.message, finding.remedy


def _more(key: Key, value: dict[str, Any]) -> Iterable[Finding]:
    """What no schema says."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        yield Finding(("name", ("metadata", ())), "missing-field", "is missing")
    if key[0].startswith(f"{GATEWAY_API}/") and key[1] == "HTTPRoute":
        yield from check_httproute(value)


def _absent(key: Key) -> Check:
    def check(value: Any, trail: Any, found: list[Finding]) -> None:
        found.append(Finding((), "unknown-kind", f"there is no kind {key[1]} in {key[0]}"))

    return check


def _no_schema(place: Place, key: Key) -> Problem:
    return Problem(
        "not-checked",
        f"{key[0]} {key[1]} has no schema here, so it was not checked",
        place,
        remedy="give its CustomResourceDefinition with --crds",
        severity=Severity.WARNING,
    )


def _name(value: dict[str, Any]) -> str:
    metadata = value.get("metadata")
    return str(metadata.get("name", "?")) if isinstance(metadata, dict) else "?"
