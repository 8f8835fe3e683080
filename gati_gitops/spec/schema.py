"""One plain schema tree per model: what CRDs and editor schemas are both written from.

pydantic describes a model as JSON Schema with references, unions with null and generated titles.
Here that becomes a tree that can be walked without looking anything up: references are inlined, an
optional value is its own type marked ``nullable``, and a map is ``additionalProperties`` with the
bounds of its keys in ``propertyNames``. Rules across fields hang on their node as
``x-kubernetes-validations``; the editor schema drops them, the CRD keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from gati_gitops.spec.schema_rules import rules_of

Node = dict[str, Any]

RULES = "x-kubernetes-validations"
# Keywords in the order that reads best in a generated file; `properties` and `items` come last.
_ORDER = (
    "description", "type", "format", "enum", "default", "nullable", "minimum", "maximum",
    "minLength", "maxLength", "pattern", "minItems", "maxItems", "minProperties", "maxProperties",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", RULES, "propertyNames", "required",
    "additionalProperties", "items", "properties",
)  # fmt: skip
_DROPPED = {"title", "anyOf", "$ref", "$defs", "const", "patternProperties"}


class _Generator(GenerateJsonSchema):
    """pydantic's description, with the rules of each model beside its properties."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        described = super().model_schema(schema)
        rules = rules_of(schema["cls"])
        return {**described, RULES: rules} if rules else described


def schema_of(model: type[BaseModel]) -> Node:
    """The tree of one model, by the names that a document uses."""
    described = model.model_json_schema(by_alias=True, schema_generator=_Generator)
    return _plain(described, described.get("$defs", {}))


def _plain(raw: Node, defs: dict[str, Node]) -> Node:
    if "$ref" in raw:
        # What a field says of itself comes before what its type says.
        target = defs[raw["$ref"].rsplit("/", 1)[-1]]
        raw = {**target, **{key: value for key, value in raw.items() if key != "$ref"}}
    if "anyOf" in raw:
        return _optional(raw, defs)
    node = {key: value for key, value in raw.items() if key not in _DROPPED}
    if RULES in raw:  # pydantic sorts keys; a rule reads better before its message.
        node[RULES] = [{"rule": r["rule"], "message": r["message"]} for r in raw[RULES]]
    if "const" in raw:
        node["enum"] = [raw["const"]]
    if "properties" in raw:
        node["properties"] = {
            name: _plain(child, defs) for name, child in raw["properties"].items()
        }
    if "items" in raw:
        node["items"] = _plain(raw["items"], defs)
    if isinstance(raw.get("additionalProperties"), dict):
        node["additionalProperties"] = _plain(raw["additionalProperties"], defs)
    for pattern, child in raw.get("patternProperties", {}).items():
        node["additionalProperties"] = _plain(child, defs)
        node["propertyNames"] = {**node.get("propertyNames", {}), "pattern": pattern}
    return ordered(node)


def _optional(raw: Node, defs: dict[str, Node]) -> Node:
    options = [option for option in raw["anyOf"] if option != {"type": "null"}]
    if len(options) != 1:
        raise TypeError(f"a structural schema has no unions: {raw}")
    own = {key: value for key, value in raw.items() if key not in _DROPPED}
    if own.get("default", ...) is None:
        del own["default"]
    return ordered({**_plain(options[0], defs), **own, "nullable": True})


def ordered(node: Node) -> Node:
    """The same node with its keywords in reading order."""
    known = {key: node[key] for key in _ORDER if key in node}
    return {**known, **{key: value for key, value in node.items() if key not in known}}


def rewrite(node: Node, change: Callable[[Node], Node]) -> Node:
    """``change`` applied to every node, children first."""
    new = dict(node)
    if "properties" in new:
        new["properties"] = {
            name: rewrite(child, change) for name, child in new["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if isinstance(new.get(key), dict):
            new[key] = rewrite(cast("Node", new[key]), change)
    return change(new)
