"""Variables of the container: the runtime's own, the spec's, and where modules are."""

from __future__ import annotations

from typing import Any

from gati_gitops.preview.explain.rule import Sources, chosen, rule
from gati_gitops.preview.explain.rules.head import API_DEFAULT, BOX
from gati_gitops.preview.explain.scope import Scope


def _variable(scope: Scope, value: Any) -> Sources:
    """What a spec says wins over where modules are."""
    host = str(scope.bound.get("n")).endswith("_HOST")
    return (".env.$n", *(_reference(scope) if host else ("module:spec.port",)))


def _variable_name(scope: Scope, value: Any) -> Sources:
    """The runtime's own variables are there whether a spec sets them or not."""
    module = scope.linked.module if scope.linked else None
    own = {"GATI_VERSION", "HOST", "PORT"}
    own |= {"NODE_ENV"} if module is None or module.module_type == "node" else set()
    own |= {"WASM_RUNTIME"} if module is not None and module.module_type == "wasm" else set()
    if value == "GATI_TRANSFORMERS":
        return ("transformers",)
    return () if value in own else (".env.$n", ".envRefs.$n")


def _reference(scope: Scope, value: Any = None) -> Sources:
    """The entry of ``modules`` that a variable is about."""
    name = str(scope.bound.get("n"))
    workload = scope.version.workload if scope.version else None
    for number, entry in enumerate(workload.modules if workload else ()):
        spelled = entry.rpartition("/")[2].upper().replace("-", "_")
        if name.startswith(f"GATI_MODULE_{spelled}_"):
            return (f".modules[{number}]",)
    return (".modules",)


_ENV = f"{BOX}.env"
_VARIABLES = (
    rule(
        f"{_ENV}[name=GATI_VERSION].value", "tells the runtime which version it is",
        ".env.GATI_VERSION", "id",
    ),
    rule(
        f"{_ENV}[name=HOST].value", "where the runtime listens",
        ".env.HOST", default="the runtime listens on all addresses",
    ),
    rule(
        f"{_ENV}[name=PORT].value", "tells the runtime its port",
        ".env.PORT", ".port",
    ),
    rule(
        f"{_ENV}[name=NODE_ENV].value", "what Node is told about where it runs",
        ".env.NODE_ENV", default="everything runs as in production",
    ),
    rule(
        f"{_ENV}[name=WASM_RUNTIME].value", "tells the image what runs it",
        ".env.WASM_RUNTIME", "unit:spec.runtime",
    ),
    rule(
        f"{_ENV}[name=GATI_TRANSFORMERS].value", "the transformers that this version has",
        ".env.GATI_TRANSFORMERS", "transformers",
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.secretKeyRef.name", "the Secret that the variable comes from",
        ".envRefs.$n.secret",
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.secretKeyRef.key", "the key of the Secret", ".envRefs.$n.key"
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.secretKeyRef.optional", "whether it may be missing",
        ".envRefs.$n.optional",
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.configMapKeyRef.name",
        "the ConfigMap that the variable comes from", ".envRefs.$n.configMap",
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.configMapKeyRef.key", "the key of the ConfigMap",
        ".envRefs.$n.key",
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.configMapKeyRef.optional", "whether it may be missing",
        ".envRefs.$n.optional",
    ),
    rule(f"{_ENV}[name=$n].valueFrom.fieldRef.apiVersion", API_DEFAULT),
    rule(
        f"{_ENV}[name=$n].valueFrom.fieldRef.fieldPath", "the field of the pod it comes from",
        ".envRefs.$n.field",
    ),
    chosen(
        f"{_ENV}[name=$n@GATI_MODULE_*].name", "where a module that it calls is found", _reference
    ),
    chosen(
        f"{_ENV}[name=$n@GATI_MODULE_*].value", "where a module that it calls is found", _variable,
        also=_reference,
    ),
    rule(f"{_ENV}[name=$n].value", "a variable of the spec", ".env.$n"),
    chosen(f"{_ENV}[name=$n].name", "a variable of the framework's runtime", _variable_name),
)  # fmt: skip

_FROM = f"{BOX}.envFrom[]"
_SOURCES = (
    rule(f"{_FROM}.secretRef.name", "all keys of a Secret as variables", ".envFrom[$1].secret"),
    rule(f"{_FROM}.secretRef.optional", "whether it may be missing", ".envFrom[$1].optional"),
    rule(
        f"{_FROM}.configMapRef.name", "all keys of a ConfigMap as variables",
        ".envFrom[$1].configMap",
    ),
    rule(f"{_FROM}.configMapRef.optional", "whether it may be missing", ".envFrom[$1].optional"),
    rule(f"{_FROM}.prefix", "what the variables' names begin with", ".envFrom[$1].prefix"),
)  # fmt: skip

RULES = (*_SOURCES, *_VARIABLES)
