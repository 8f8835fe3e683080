"""Custom resources: the schema in a CustomResourceDefinition, as strict as the API server is.

With strict field validation the API server refuses a field that the schema does not have, where
otherwise it would prune it silently; so every object here is closed unless its schema says
otherwise. What a CRD says in ``anyOf`` and its like only adds tests and closes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gati_gitops.check.compiled import UNIQUE_BY
from gati_gitops.errors import Place, Problem, SpecsInvalid
from gati_gitops.yamlio.goyaml_read import GoYamlError, decode, read_resources

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_EMBEDDED = "x-kubernetes-embedded-resource"
_LOGIC = ("allOf", "anyOf", "oneOf")
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@dataclass(frozen=True, slots=True)
class CustomKind:
    """One served version of a custom resource."""

    api_version: str
    kind: str
    schema: Mapping[str, Any]
    file: str = ""


def read_crds(files: Mapping[str, bytes]) -> list[CustomKind]:
    """The kinds that files of CustomResourceDefinitions define; other objects are passed over."""
    kinds: list[CustomKind] = []
    problems: list[Problem] = []
    for file, content in sorted(files.items()):
        try:
            for document in read_resources(decode(content)):
                kinds.extend(custom_kinds(document, file))
        except GoYamlError as error:
            place = Place(file, error.line, 1) if error.line else Place(file)
            remedy = "give --crds files of CustomResourceDefinitions"
            problems.append(Problem("bad-yaml", error.message, place, remedy=remedy))
    if problems:
        raise SpecsInvalid(problems)
    return kinds


def custom_kinds(document: Any, file: str = "") -> list[CustomKind]:
    """What one document defines; nothing when it is no CRD with a schema."""
    if not isinstance(document, Mapping) or document.get("kind") != "CustomResourceDefinition":
        return []
    spec = document.get("spec") or {}
    group, kind = spec.get("group"), (spec.get("names") or {}).get("kind")
    if not isinstance(kind, str):
        return []
    return [
        CustomKind(f"{group}/{version['name']}", kind, version["schema"]["openAPIV3Schema"], file)
        for version in spec.get("versions") or ()
        if version.get("served", True) and (version.get("schema") or {}).get("openAPIV3Schema")
    ]


def strict_schema(kind: CustomKind) -> dict[str, Any]:
    """The JSON Schema of a whole object; metadata is Kubernetes' own."""
    root = _strict(kind.schema)
    own = kind.schema.get("properties", {}).get("metadata", {}).get("properties", {})
    metadata = {"$ref": f"#/$defs/{OBJECT_META}"}
    if own:
        named = {name: _value(bounds) for name, bounds in own.items()}
        metadata = {"allOf": [metadata, {"properties": named}]}  # type: ignore[dict-item]
    root["properties"] = {
        **root.get("properties", {}),
        "apiVersion": {"type": "string", "enum": [kind.api_version]},
        "kind": {"type": "string", "enum": [kind.kind]},
        "metadata": metadata,
    }
    root["required"] = sorted({*root.get("required", ()), "apiVersion", "kind", "metadata"})
    return root


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    new = _value(schema)
    if schema.get(_INT_OR_STRING):
        new["type"] = ["integer", "string"]
    elif "type" in schema:
        new["type"] = schema["type"]
    if schema.get("nullable") and "type" in new:
        types = new["type"] if isinstance(new["type"], list) else [new["type"]]
        new["type"] = [*types, "null"]
    if "properties" in schema:
        new["properties"] = {name: _strict(child) for name, child in schema["properties"].items()}
    if "items" in schema:
        new["items"] = _strict(schema["items"])
    if schema.get("x-kubernetes-list-type") == "map":
        new[UNIQUE_BY] = schema.get("x-kubernetes-list-map-keys", ())
    if schema.get("x-kubernetes-list-type") == "set":
        new["uniqueItems"] = True
    if schema.get("type") == "object":
        new["additionalProperties"] = _additional(schema)
        if schema.get(_EMBEDDED):
            for name in ("apiVersion", "kind", "metadata"):
                new.setdefault("properties", {}).setdefault(name, {})
    return new


def _additional(schema: Mapping[str, Any]) -> Any:
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        return _strict(additional)
    return additional is True or bool(schema.get(_PRESERVE))


def _value(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The tests of a schema without its shape."""
    shape = {"type", "properties", "items", "additionalProperties", "nullable", "not", *_LOGIC}
    new = {key: value for key, value in schema.items() if key not in shape}
    for word in _LOGIC:
        if word in schema:
            new[word] = [_tests(part) for part in schema[word]]
    if "not" in schema:
        new["not"] = _tests(schema["not"])
    return new


def _tests(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Below ``anyOf`` and its like: the same, all the way down, and nothing closed."""
    new = _value(schema)
    if "type" in schema:
        new["type"] = schema["type"]
    if "properties" in schema:
        new["properties"] = {name: _tests(child) for name, child in schema["properties"].items()}
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), Mapping):
            new[word] = _tests(schema[word])
    return new


def by_kind(kinds: Iterable[CustomKind]) -> dict[tuple[str, str], CustomKind]:
    """By apiVersion and kind; the last definition of a kind counts."""
    return {(kind.api_version, kind.kind): kind for kind in kinds}
