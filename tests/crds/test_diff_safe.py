"""A change that is called safe never refuses or drops what was taken. Two judges that know nothing
of the comparison, our checker and jsonschema, are given documents made from the schemas."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from gati_gitops.check.compiled import Compiler
from gati_gitops.check.custom import CustomKind, strict_schema
from gati_gitops.preview.crds import Level, compare_crds

PRESERVE = "x-kubernetes-preserve-unknown-fields"
NAMES = ("a", "b", "c")

# -- schemas -------------------------------------------------------------------------------------

_TEXTS = st.sampled_from(["", "a", "b", "ab", "abc", "7", "aaaa"])


def _number(low: int = -3, high: int = 6) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.integers(low, 1),
            "maximum": st.integers(2, high),
            "exclusiveMinimum": st.booleans(),
            "exclusiveMaximum": st.booleans(),
            "multipleOf": st.sampled_from([1, 2, 3, 0.5]),
            "format": st.sampled_from(["int32", "int64"]),
            "enum": st.lists(st.integers(-2, 5), min_size=1, max_size=3, unique=True),
            "default": st.integers(-2, 5),
            "nullable": st.booleans(),
        },
    )


def _string() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(1, 4),
            "pattern": st.sampled_from(["^a", "^[ab]*$", "^[a-c]+$", "b", "^.{0,2}$", "^(a|ab)+$"]),
            "enum": st.lists(_TEXTS, min_size=1, max_size=3, unique=True),
            "default": _TEXTS,
            "nullable": st.booleans(),
        },
    )


_OTHERS = st.sampled_from(
    [{"type": "boolean"}, {"x-kubernetes-int-or-string": True}, {PRESERVE: True}]
)


def _object(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
        },
        optional={
            "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
            PRESERVE: st.booleans(),
            "minProperties": st.integers(0, 1),
            "maxProperties": st.integers(1, 3),
            "anyOf": st.lists(
                st.sampled_from([{"required": ["a"]}, {"required": ["b"]}, {"maxProperties": 1}]),
                min_size=1, max_size=3,
            ),
        },
    )  # fmt: skip


def _map(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("object"), "additionalProperties": inner},
        optional={"maxProperties": st.integers(0, 2)},
    )


def _array(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={
            "minItems": st.integers(0, 1),
            "maxItems": st.integers(1, 3),
            "x-kubernetes-list-type": st.sampled_from(["atomic", "set"]),
            "nullable": st.booleans(),
        },
    )


SCALARS = st.one_of(_number(), _string(), _OTHERS)
SCHEMAS = st.recursive(
    SCALARS, lambda inner: st.one_of(_object(inner), _map(inner), _array(inner)), max_leaves=5
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema, and the same with a word or two changed: at random, or so that it takes more."""
    old = draw(SCHEMAS)
    new = copy.deepcopy(old)
    for _ in range(draw(st.integers(1, 3))):
        node = draw(st.sampled_from(list(_nodes(new))))
        if draw(st.integers(0, 3)):
            _loosen(draw, node)
            continue
        other = copy.deepcopy(draw(SCHEMAS))
        if other.get("type") == node.get("type"):
            word = draw(st.sampled_from(sorted(other)))
            node[word] = other[word]
        else:
            node.clear()
            node.update(other)
    return old, new


_BOUNDS = {"minimum": -1, "minLength": -1, "minItems": -1, "minProperties": -1}
_WIDER = {
    "^a": "a",
    "^[ab]*$": "^[a-c]*$",
    "^[a-c]+$": "^[a-c]",
    "b": "b|c",
    "^(a|ab)+$": "^[ab]+$",
}


def _loosen(draw: st.DrawFn, node: dict[str, Any]) -> None:
    """Something that people do to be kind; whether it is, others judge."""
    words = [w for w in node if w not in ("type", "items", "properties", "additionalProperties")]
    word = draw(st.sampled_from([*sorted(words), "field", "field"]))
    if word == "field":
        if "properties" in node:
            name = draw(st.sampled_from([*NAMES, "d"]))
            node["properties"].setdefault(name, copy.deepcopy(draw(SCALARS)))
    elif word.startswith(("min", "max")) and node[word] is not None and draw(st.booleans()):
        node[word] = max(node[word] + _BOUNDS.get(word, 1), -9 if word == "minimum" else 0)
    elif word == "required":
        node[word] = node[word][1:]
    elif word == "pattern" and node[word] in _WIDER:
        node[word] = _WIDER[node[word]]
    elif word == "anyOf":
        node[word] = [*node[word], {"required": ["c"]}]
    elif word == "x-kubernetes-int-or-string":
        node["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    elif word == PRESERVE and "type" in node:
        node[word] = True
    elif word != PRESERVE:
        del node[word]


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("properties", {}).values():
        yield from _nodes(child)
    for word in ("items", "additionalProperties"):
        if isinstance(node.get(word), dict):
            yield from _nodes(node[word])


def crd(schema: dict[str, Any]) -> dict[str, Any]:
    root = {"type": "object", "properties": {"spec": schema}}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
            ],
        },
    }  # fmt: skip


# -- documents -----------------------------------------------------------------------------------


@st.composite
def documents(draw: st.DrawFn, old: dict[str, Any], new: dict[str, Any]) -> Any:
    """A value near the edges of either schema, often one that the old one takes."""
    node = draw(st.sampled_from([old, old, new]))
    return draw(_values(node, old if node is new else new))


def _values(node: dict[str, Any], other: dict[str, Any]) -> st.SearchStrategy[Any]:
    if node.get("nullable") is True or other.get("nullable") is True:
        rest = {word: value for word, value in node.items() if word != "nullable"}
        return st.one_of(st.none(), _values(rest, {}))
    kind = node.get("type", "any")
    if "enum" in node and kind != "object":
        return st.sampled_from(node["enum"])
    if kind in ("integer", "number"):
        half = st.integers(-8, 16).map(lambda n: n / 2)
        return st.integers(-4, 8) if kind == "integer" else st.one_of(half, st.integers(-4, 8))
    if kind == "string":
        return st.text("abc7", max_size=5)
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(_values(node["items"], other.get("items") or {}), max_size=4)
    if kind == "object" and "properties" in node:
        return st.fixed_dictionaries(
            {},
            optional={
                name: _values(child, other.get("properties", {}).get(name) or {})
                for name, child in node["properties"].items()
            }
            | ({"z": st.sampled_from([1, "x", {}])} if node.get(PRESERVE) else {}),
        )
    if kind == "object":
        inner = node.get("additionalProperties")
        inside = _values(inner, {}) if isinstance(inner, dict) else st.just(1)
        return st.dictionaries(st.sampled_from(NAMES), inside, max_size=3)
    if node.get("x-kubernetes-int-or-string"):
        return st.one_of(st.integers(0, 5), _TEXTS)
    return st.sampled_from([None, 1, "a", [], {}, {"a": 1}, 0.5, True])


def defaulted(value: Any, schema: dict[str, Any]) -> Any:
    """As the API server fills a document in before it looks at it."""
    if isinstance(value, dict):
        value = dict(value)
        for name, child in schema.get("properties", {}).items():
            null = value.get(name, 0) is None and not child.get("nullable") and "type" in child
            if "default" in child and (name not in value or null):
                value[name] = copy.deepcopy(child["default"])
            if name in value:
                value[name] = defaulted(value[name], child)
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            value = {k: v if k in schema.get("properties", {}) else defaulted(v, extra) for k, v in value.items()}  # fmt: skip
        return value
    if isinstance(value, list) and "items" in schema:
        return [defaulted(item, schema["items"]) for item in value]
    return value


def checked(value: Any, schema: dict[str, Any]) -> bool:
    """By our own checker, which refuses what would be dropped."""
    root = {"type": "object", "properties": {"spec": schema}}
    strict = strict_schema(CustomKind("example.com/v1", "Thing", root))["properties"]["spec"]
    found: list[Any] = []
    Compiler().compile(strict)(value, (), found)
    return not found


def plain_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """In the words of JSON Schema, for a judge from elsewhere."""
    words = dict(schema)
    kinds = words.pop("type", None)
    if words.pop("x-kubernetes-int-or-string", False):
        kinds = ["integer", "string"]
    if kinds is not None:
        kinds = [kinds] if isinstance(kinds, str) else kinds
        words["type"] = [*kinds, "null"] if words.pop("nullable", False) else kinds
    for word, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if words.pop(word, False) and limit in words:
            words[word] = words.pop(limit)
    if "properties" in words:
        words["properties"] = {n: plain_schema(c) for n, c in words["properties"].items()}
    if "items" in words:
        words["items"] = plain_schema(words["items"])
    if isinstance(words.get("additionalProperties"), dict):
        words["additionalProperties"] = plain_schema(words["additionalProperties"])
    elif schema.get("type") == "object" and not schema.get(PRESERVE):
        words["additionalProperties"] = False
    if words.pop("x-kubernetes-list-type", "") == "set":
        words["uniqueItems"] = True
    if "enum" in words and schema.get("nullable"):
        words["enum"] = [*words["enum"], None]
    words.pop("format", None)
    words.pop("default", None)
    return {word: value for word, value in words.items() if not word.startswith("x-")}


def judged_elsewhere(value: Any, schema: dict[str, Any]) -> bool:
    return jsonschema.Draft202012Validator(plain_schema(schema)).is_valid(value)


def sound(schema: dict[str, Any]) -> bool:
    """Whether an API server would take the schema: its defaults are valid."""
    return all(
        "default" not in node or (checked(node["default"], node) and judged_elsewhere(node["default"], node))
        for node in _nodes(schema)
    ) and all(set(node.get("required", ())) <= set(node.get("properties", NAMES)) for node in _nodes(schema))  # fmt: skip


def is_safe(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return all(change.level is Level.SAFE for change in compare_crds([crd(old)], [crd(new)]))


@settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(pairs(), st.data())
def test_what_is_safe_takes_all_that_was_taken(pair, data):
    old, new = pair
    if not sound(old) or not sound(new):
        event("not a CRD")
        return
    safe = is_safe(old, new)
    event("same" if old == new else "safe" if safe else "not safe")
    if not safe:
        return
    for _ in range(4):
        value = data.draw(documents(old, new))
        stored = defaulted(value, old)
        for judge in (checked, judged_elsewhere):
            if judge(stored, old):
                note(json.dumps([old, new, value]))
                assert judge(defaulted(value, new), new), judge.__name__


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SCHEMAS)
def test_a_schema_is_compatible_with_itself(schema):
    assert compare_crds([crd(schema)], [crd(copy.deepcopy(schema))]) == ()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs())
def test_every_change_is_told(pair):
    """Nothing that a judge could tell apart goes without a word."""
    old, new = pair
    if plain_schema(old) != plain_schema(new) and sound(old) and sound(new):
        words = {
            "required",
            "anyOf",
            "enum",
            "multipleOf",
            "minLength",
            "minItems",
            "minProperties",
        }
        if not any(word in node for side in pair for node in _nodes(side) for word in words):
            assert compare_crds([crd(old)], [crd(new)])
