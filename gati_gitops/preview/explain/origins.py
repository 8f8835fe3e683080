"""Origins of the fields of an object: the table of its kind, and what the scope knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gati_gitops.emit.job.monitoring import BOARD
from gati_gitops.plan.job import COMPONENT, DRIFT
from gati_gitops.plan.naming import MANAGER, UNIT_LABEL, VERSION_LABEL
from gati_gitops.preview.explain.fields import fits, leaves, lookup, match, show
from gati_gitops.preview.explain.model import Cause, Kind, Origin, Path
from gati_gitops.preview.explain.rule import Rule
from gati_gitops.preview.explain.rules import RULES
from gati_gitops.preview.explain.scope import Scope
from gati_gitops.preview.explain.sources import Found, filled, find

Object = Mapping[str, Any]
_OF_VERSIONS = frozenset(
    (
        "Deployment", "Service", "ServiceAccount", "ConfigMap", "HorizontalPodAutoscaler",
        "ScaledObject", "PodDisruptionBudget",
    )
)  # fmt: skip
_OF_UNITS = frozenset(
    (
        "HTTPRoute", "ReferenceGrant", "VirtualService", "IngressRoute", "TraefikService",
        "Ingress", "NetworkPolicy", "ServiceMonitor", "PodMonitor",
    )
)  # fmt: skip
_OF_CLUSTERS = frozenset(
    (
        "Namespace", "PrometheusRule", "CustomResourceDefinition", "Application", "AppProject",
        "GitRepository",
    )
)  # fmt: skip


def origins(scope: Scope, made: Object, file: str = "") -> dict[str, Origin]:
    """Every field of an object with where it comes from. ``file`` is its path in the output."""
    scope, table = located(scope, made, file)
    return {show(path): _origin(scope, table, made, path) for path, _ in leaves(made)}


def origin(scope: Scope, made: Object, path: Path, file: str = "") -> Origin:
    """Where one field comes from; of a part, its first field's."""
    scope, table = located(scope, made, file)
    value: Any = made
    for step in path:
        value = value[step]
    first = next(iter(leaves(value, path)))[0]
    return _origin(scope, table, made, first)


def _origin(scope: Scope, table: str, made: Object, path: Path) -> Origin:
    for rule in _candidates(table, _shape(path)):
        bound = match(rule.steps, path, made)
        if bound is not None:
            value: Any = made
            for step in path:
                value = value[step]
            held = scope.holding({**scope.bound, **bound, "object": made})
            return _resolved(rule, held, value)
    return Origin(Kind.RULE, "the compiler writes it")


def _shape(path: Path) -> tuple[str | None, ...]:
    """A path without its indexes: what many fields have in common."""
    return tuple(step if isinstance(step, str) else None for step in path)


@lru_cache(maxsize=4096)
def _candidates(table: str, shape: tuple[str | None, ...]) -> tuple[Rule, ...]:
    """The rules that may be about fields of one shape."""
    return tuple(rule for rule in RULES.get(table, ()) if fits(rule.steps, shape))


def known(scope: Scope, made: Object, path: Path, file: str = "") -> bool:
    """Whether some rule is about a field."""
    _, table = located(scope, made, file)
    rules = _candidates(table, _shape(path))
    return any(match(rule.steps, path, made) is not None for rule in rules)


# -- which table, which version ------------------------------------------------------------------


def located(scope: Scope, made: Object, file: str) -> tuple[Scope, str]:
    """The scope of the object's own version, and the table of its kind."""
    api, kind = str(made.get("apiVersion", "")), str(made.get("kind", ""))
    name = file.rpartition("/")[2]
    if not api:
        return scope, "record" if "/sources/" in file else name
    if kind == "Kustomization":
        flux = api.startswith("kustomize.toolkit.fluxcd.io/")
        return scope, "flux" if flux else kind
    if part := _part_of_job(made):
        return scope, f"{part}-{kind}"
    template = _template(scope, made, name)
    if template:
        return replace(scope, bound={"template": template}), "template"
    labels = lookup(made, "metadata.labels") or {}
    if "grafana_dashboard" in labels:
        return scope, "dashboard"
    if VERSION_LABEL in labels:
        return scope.of_version(scope.by_slug(labels[VERSION_LABEL])), kind
    if kind == "Service":
        selected = (lookup(made, "spec.selector") or {}).get(VERSION_LABEL, "")
        return scope.of_version(scope.by_slug(selected)), "module-service"
    if kind == "Ingress":
        backend = lookup(made, "spec.rules.0.http.paths.0.backend.service.name")
        return scope.holding({"version": backend}), kind
    return scope, kind


def _part_of_job(made: Object) -> str:
    """What it is of what watches the cluster; empty if it does not belong to that."""
    labels = lookup(made, "metadata.labels") or {}
    name = str(lookup(made, "metadata.name") or "")
    if "grafana_dashboard" in labels:
        return "job" if name.startswith(BOARD) else ""
    part, whose = (labels.get(f"app.kubernetes.io/{k}") for k in ("component", "managed-by"))
    if whose != MANAGER or UNIT_LABEL in labels:
        return ""
    return {COMPONENT: "job", DRIFT: "drift"}.get(str(part), "")


def _template(scope: Scope, made: Object, file: str) -> str:
    """The template that made an object; empty if the compiler did."""
    if file.startswith("template-"):
        name = file.removeprefix("template-").removesuffix(".yaml")
        stem, _, number = name.rpartition("-")
        numbered = number.isdecimal() and name not in scope.explainer.templates
        return stem if stem and numbered else name
    group, _, _ = str(made["apiVersion"]).rpartition("/")
    kind, metadata = str(made["kind"]), made.get("metadata") or {}
    for item in scope.plan.added if scope.plan else ():
        if item.identity == (group, kind, metadata.get("name")):
            return item.template.rpartition("/")[2].partition(".")[0]
    if not _foreign(scope, kind, metadata):
        return ""
    texts = scope.explainer.templates
    fits = [name for name, template in texts.items() if f"kind: {kind}" in template.text]
    return fits[0] if fits else "*"


def _foreign(scope: Scope, kind: str, metadata: Mapping[str, Any]) -> bool:
    """Whether an object is none that the compiler builds."""
    labels = metadata.get("labels") or {}
    if scope.unit is None:
        return kind not in _OF_CLUSTERS and "grafana_dashboard" not in labels
    if kind in _OF_VERSIONS:
        names = {scope.unit.version_name(id_) for id_ in scope.ids}
        return metadata.get("name") not in names | {scope.unit.object_name}
    return kind not in _OF_UNITS or VERSION_LABEL in labels


# -- from rule to origin -------------------------------------------------------------------------


def _resolved(rule: Rule, scope: Scope, value: Any) -> Origin:
    chosen = rule.chosen(scope, value)
    looked = [find(scope, source) for source in chosen]
    found = [one for one in looked if one is not None]
    there = next((one for one in found if one.there), None)
    parts = [find(scope, source) for source in rule.parts(scope, value)]
    also = tuple(dict.fromkeys(one.cause for one in parts if one is not None and one.there))
    if there is not None:
        return _made(rule, there, also)
    if found and rule.default:
        unset = found[0]
        return Origin(Kind.DEFAULT, rule.default, unset.field, unset.place.file, also=also)
    if chosen and not found and scope.unit is not None and scope.version is None:
        return _unseen(rule, scope, chosen)
    return Origin(Kind.RULE, rule.why, also=also)


def _made(rule: Rule, found: Found, also: tuple[Cause, ...]) -> Origin:
    place = found.place
    kind = Kind.LEDGER if found.ledger else Kind.SPEC
    others = tuple(cause for cause in also if cause != found.cause)
    return Origin(kind, rule.why, found.field, place.file, place.line, place.column, others)


def _unseen(rule: Rule, scope: Scope, chosen: tuple[str, ...]) -> Origin:
    """The documents are not at hand, or no longer there; the plan still names their files."""
    planned = scope.planned
    files = planned.files if planned else scope.plan.files if scope.plan else ()
    field = f"spec{chosen[0]}" if chosen[0].startswith(".") else chosen[0].partition(":")[2]
    field = filled(scope, field)
    why = "the specs were not looked at" if scope.explainer.specs is None else "its spec is gone"
    return Origin(Kind.SPEC, f"{rule.why} ({why})", field, files[0] if files else "")
