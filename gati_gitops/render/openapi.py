"""What strategic merging must know of a type: which of its lists merge, and by which keys.

The facts for Kubernetes' own kinds are in data/kubernetes.json, derived from the schema that
kustomize embeds (bench/kubernetes_schema.py). A kustomization may name a schema of its own
(`openapi.path`), which is derived here in the same way and then stands alone, as in kustomize.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pkgutil import get_data
from typing import Any, Final

_REF: Final = "#/definitions/"
_STRATEGY: Final = "x-kubernetes-patch-strategy"
_KEY: Final = "x-kubernetes-patch-merge-key"
_KEYS: Final = "x-kubernetes-list-map-keys"
_GVK: Final = "x-kubernetes-group-version-kind"

# A type is a table of the fields under which a list merges: field -> type, or (type of an element,
# merge keys) for a list that does. The empty table is a known type with nothing to merge.
Type = dict[str, Any]


class Schema:
    """Types by kind, and which kinds live outside of namespaces."""

    def __init__(self, types: dict[str, Type], cluster_scoped: frozenset[str]) -> None:
        self._types = types
        self.cluster_scoped = cluster_scoped
        self._cluster = frozenset(tuple(kind.split(" ", 1)) for kind in cluster_scoped)

    def type_of(self, api_version: str, kind: str) -> Type | None:
        return self._types.get(f"{api_version} {kind}")

    def is_cluster_scoped(self, api_version: str, kind: str) -> bool:
        return (api_version, kind) in self._cluster


@lru_cache(maxsize=1)
def builtin() -> Schema:
    data = json.loads(get_data(__package__, "data/kubernetes.json") or "{}")
    nodes: list[Type] = [{} for _ in data["nodes"]]
    for node, fields in zip(nodes, data["nodes"], strict=True):
        for field, child in fields.items():
            is_list = isinstance(child, list)
            node[field] = (nodes[child[0]], tuple(child[1])) if is_list else nodes[child]
    types = {kind: nodes[number] for kind, number in data["kinds"].items()}
    return Schema(types, frozenset(data["cluster"]))


def custom(document: dict[str, Any]) -> Schema:
    """A schema of the user's own, from an OpenAPI document."""
    types: dict[str, Type] = {}
    definitions = document.get("definitions") or {}
    numbered = Definitions(definitions)
    kinds = numbered.kinds()
    nodes: list[Type] = [{} for _ in numbered.nodes]
    for node, fields in zip(nodes, numbered.nodes, strict=True):
        for field, child in fields.items():
            is_list = isinstance(child, list)
            node[field] = (nodes[child[0]], tuple(child[1])) if is_list else nodes[child]
    for kind, number in kinds.items():
        types[kind] = nodes[number]
    scopes: dict[str, bool] = {}
    for path, info in (document.get("paths") or {}).items():
        gvk = ((info or {}).get("get") or {}).get(_GVK)
        if isinstance(gvk, dict):
            namespaced = "namespaces/{namespace}" in path
            scopes[_kind(gvk)] = scopes.get(_kind(gvk), False) or namespaced
    cluster = frozenset(kind for kind, namespaced in scopes.items() if not namespaced)
    return Schema(types, builtin().cluster_scoped | cluster)


def _kind(gvk: dict[str, Any]) -> str:
    group, version = gvk.get("group"), gvk.get("version")
    return f"{group}/{version} {gvk.get('kind')}" if group else f"{version} {gvk.get('kind')}"


class Definitions:
    """OpenAPI definitions, reduced to numbered nodes of what merges.

    A node maps a field to the number of its type, or to [number of an element's type, merge keys].
    Node 0 is a type under which nothing merges.
    """

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions = definitions
        self.nodes: list[dict[str, Any]] = [{}]
        self._numbers: dict[str, int] = {}
        self._merging: set[str] = set()
        grown = True
        while grown:
            grown = False
            for name, definition in definitions.items():
                if name not in self._merging and self._any_merges(definition):
                    self._merging.add(name)
                    grown = True

    def kinds(self) -> dict[str, int]:
        return {
            _kind(gvk): self.node(name)
            for name, definition in self.definitions.items()
            for gvk in definition.get(_GVK) or []
        }

    def node(self, name: str) -> int:
        if name not in self._merging:
            return 0
        if name not in self._numbers:
            self._numbers[name] = len(self.nodes)
            self.nodes.append({})
            self.nodes[self._numbers[name]] = self._fields(self.definitions[name])
        return self._numbers[name]

    def _any_merges(self, schema: dict[str, Any]) -> bool:
        return any(self._merges(field) or self._leads_on(field) for _, field in _children(schema))

    def _merges(self, field: dict[str, Any]) -> bool:
        return field.get("type") == "array" and "merge" in field.get(_STRATEGY, "").split(",")

    def _leads_on(self, field: dict[str, Any]) -> bool:
        if "$ref" in field:
            return field["$ref"].removeprefix(_REF) in self._merging
        return field.get("type") != "array" and self._any_merges(field)

    def _fields(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {
            name: self._child(field)
            for name, field in _children(schema)
            if self._merges(field) or self._leads_on(field)
        }

    def _child(self, field: dict[str, Any]) -> Any:
        if self._merges(field):
            keys = field.get(_KEYS) or ([field[_KEY]] if _KEY in field else [])
            return [self._target(field.get("items") or {}), keys]
        return self._target(field)

    def _target(self, field: dict[str, Any]) -> int:
        if "$ref" in field:
            return self.node(field["$ref"].removeprefix(_REF))
        if not self._any_merges(field):
            return 0
        self.nodes.append({})
        number = len(self.nodes) - 1
        self.nodes[number] = self._fields(field)
        return number


def _children(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    children = [*(schema.get("properties") or {}).items()]
    rest = schema.get("additionalProperties")
    if isinstance(rest, dict):
        children.append(("*", rest))
    return children
