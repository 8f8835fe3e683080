"""Rights in the cluster: who may do what with the API server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from gati_gitops.preview.meaning.scene import UnitScene
from gati_gitops.preview.model import Action, Finding, Level, ObjectChange
from gati_gitops.preview.words import listed

ROLES = ("Role", "ClusterRole")
BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_SENSITIVE = frozenset(("*", "secrets", "pods/exec", "serviceaccounts/token"))
_POWERFUL = frozenset(("*", "escalate", "bind", "impersonate"))

Found = tuple[Level, str]


def rights(unit: UnitScene) -> Iterator[Finding]:
    for version, change in unit.changes(*ROLES, *BINDINGS, "ServiceAccount"):
        for code, level, message in of_object(change):
            yield unit.finding(code, level, message, version=version, change=change)


def of_object(change: ObjectChange) -> Iterator[tuple[str, Level, str]]:
    """Code, level and sentence for a change of an object that grants rights."""
    name = f"{change.id.kind} {change.id.name}"
    if change.id.kind == "ServiceAccount":
        yield from _account(change, name)
        return
    field, describe = ("rules", _rule) if change.id.kind in ROLES else ("subjects", _subject)
    came = _new(change.before, change.after, field)
    went = _new(change.after, change.before, field)
    role, was = (_role(side) for side in (change.after, change.before))
    if role and was and role != was:
        level = Level.DANGER if role == "cluster-admin" else Level.WARNING
        whom = listed(_subject(one)[1] for one in (change.after or {}).get("subjects") or ())
        yield "rbac-widened", level, f"{name}: {whom} gets {role} instead of {was}"
    for level, what in _described(came, describe):
        worst = Level.DANGER if role == "cluster-admin" else level
        granted = f" gets {role}" if role else ""
        yield "rbac-widened", worst, f"{name}: {what}{granted}"
    if went or (change.action is Action.DELETE and not came):
        lost = listed(what for _, what in _described(went, describe))
        yield "rbac", Level.NOTE, f"{name} grants less: {lost or 'all of it goes'}"


def _role(binding: Any) -> str:
    return str(((binding or {}).get("roleRef") or {}).get("name", ""))


def _account(change: ObjectChange, name: str) -> Iterator[tuple[str, Level, str]]:
    """Clouds give rights by annotations of a ServiceAccount."""
    fields = [one for one in change.fields if "annotations" in one.path]
    for one in fields:
        key = one.path[-1]
        if isinstance(key, str) and not key.startswith("gati.dev/") and key != "annotations":
            yield "rbac", Level.WARNING, f"{name} has another {key}"


def _new(before: Any, after: Any, field: str) -> list[Any]:
    known = {json.dumps(item, sort_keys=True) for item in (before or {}).get(field) or ()}
    return [
        item
        for item in (after or {}).get(field) or ()
        if json.dumps(item, sort_keys=True) not in known
    ]


def _described(items: list[Any], describe: Callable[[Any], Found]) -> list[Found]:
    return [describe(item) for item in items]


def _rule(rule: Any) -> Found:
    verbs = [str(verb) for verb in rule.get("verbs") or ()]
    what = [str(name) for name in rule.get("resources") or rule.get("nonResourceURLs") or ()]
    grave = _POWERFUL & set(verbs) or _SENSITIVE & set(what)
    only = rule.get("resourceNames")
    named = f" named {listed(only)}" if only else ""
    return (
        Level.DANGER if grave else Level.WARNING,
        f"may {listed(verbs)} {listed(what)}{named}".replace("may *", "may do all to"),
    )


def _subject(subject: Any) -> Found:
    kind, name = str(subject.get("kind", "")), str(subject.get("name", ""))
    grave = name in ("system:anonymous", "system:unauthenticated", "system:authenticated")
    where = f"{subject['namespace']}/" if subject.get("namespace") else ""
    return (Level.DANGER if grave else Level.WARNING, f"{kind} {where}{name}")
