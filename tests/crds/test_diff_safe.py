"""A change that is called safe never refuses or drops what was taken. Two judges that know nothing
of the comparison, our checker and jsonschema, are given documents made from the schemas."""

import copy
import json
from collections.abc import Callable, Iterator
from itertools import combinations
from random import Random
from typing import Any

import jsonschema
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from gati_gitops.check.compiled import Compiler
from gati_gitops.check.custom import CustomKind, strict_schema
from gati_gitops.preview.crds import Level, compare_crds

PRESERVE = "x-kubernetes-preserve-unknown-fields"
NAMES = ("a", "b", "c")

# -- schemas -------------------------------------------------------------------------------------

_NUMBER: dict[str, tuple[Any, ...]] = {
    "minimum": (-2, 0, 1),
    "maximum": (2, 3, 5),
    "exclusiveMinimum": (True,),
    "exclusiveMaximum": (True,),
    "multipleOf": (1, 2, 3, 0.5),
    "format": ("int32", "int64"),
    "enum": ([1], [1, 2], [0, 1, 2], [3]),
    "default": (1, 2),
    "nullable": (True,),
}
WORDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "integer": _NUMBER,
    "number": _NUMBER,
    "string": {
        "minLength": (0, 1, 2),
        "maxLength": (1, 2, 4),
        "pattern": ("^a", "a", "^[ab]*$", "^[a-c]*$", "^[a-c]+$", "b", "^.{0,2}$", "^(a|ab)+$", "(?i)A"),
        "enum": (["a"], ["a", "b"], ["ab", "a", "b"]),
        "default": ("a", "ab"),
        "nullable": (True,),
    },
    "array": {
        "minItems": (0, 1),
        "maxItems": (1, 2, 3),
        "x-kubernetes-list-type": ("atomic", "set"),
        "nullable": (True,),
    },
    "object": {
        "required": (["a"], ["b"], ["a", "b"], []),
        PRESERVE: (True,),
        "minProperties": (0, 1),
        "maxProperties": (1, 2, 3),
        "anyOf": (
            [{"required": ["a"]}],
            [{"required": ["a"]}, {"required": ["b"]}],
            [{"maxProperties": 1}, {"required": ["b"]}, {"required": ["a"]}],
        ),
        "allOf": ([{"required": ["a"]}], [{"required": ["a"]}, {"maxProperties": 2}]),
        "not": ({"required": ["c"]},),
    },
}  # fmt: skip
SHAPES = ("integer", "number", "string", "string", "array", "object", "object", "map", "any", "int-or-string", "boolean")  # fmt: skip


def schema(dice: Random, depth: int = 0) -> dict[str, Any]:
    kind = dice.choice(SHAPES if depth < 2 else SHAPES[:4])
    if kind == "any":
        return {PRESERVE: True}
    if kind == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    node: dict[str, Any] = {"type": "object" if kind == "map" else kind}
    if kind == "array":
        node["items"] = schema(dice, depth + 1)
    if kind == "map":
        node["additionalProperties"] = schema(dice, depth + 1)
    if kind == "object":
        names = dice.sample(NAMES, dice.randint(1, 3))
        node["properties"] = {name: schema(dice, depth + 1) for name in names}
    for word, options in WORDS.get(node["type"], {}).items():
        if dice.random() < 0.2:
            node[word] = dice.choice(options)
    return copy.deepcopy(node)


def pair(dice: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema, and the same with something in it changed."""
    old = schema(dice)
    new = copy.deepcopy(old)
    for _ in range(dice.randint(1, 2)):
        _change(dice, dice.choice(list(_nodes(new))))
    return old, new


def _change(dice: Random, node: dict[str, Any]) -> None:
    words = WORDS.get(node.get("type", ""), {})
    what = dice.random()
    if words and what < 0.7:
        word = dice.choice(sorted(words))
        options = [option for option in (*words[word], None) if option != node.get(word)]
        new = copy.deepcopy(dice.choice(options))
        if new is None:
            node.pop(word, None)
        else:
            node[word] = new
    elif "properties" in node and what < 0.95:
        name = dice.choice(NAMES)
        if name in node["properties"] and dice.random() < 0.5:
            del node["properties"][name]
        else:
            node["properties"][name] = schema(dice, 2)
    else:
        other = schema(dice, 1)
        node.clear()
        node.update(other)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("properties", {}).values():
        yield from _nodes(child)
    for word in ("items", "additionalProperties"):
        if isinstance(node.get(word), dict):
            yield from _nodes(node[word])


def crd(spec: dict[str, Any]) -> dict[str, Any]:
    root = {"type": "object", "properties": {"spec": spec}}
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


_NUMBERS = (*range(-5, 9), 0.5, 1.5, 2.5)
_WORDS = ("", "a", "b", "c", "ab", "ba", "bc", "7", "abc", "aaa", "aaaa", "aaaaa", "abcab")


def pool(old: dict[str, Any], new: dict[str, Any]) -> list[Any]:
    """Values around the edges of both schemas: enough of them to meet what one refuses."""
    found: list[Any] = [None] if old.get("nullable") or new.get("nullable") else []
    kinds = {old.get("type", ""), new.get("type", "")}
    if kinds & {"integer", "number", ""}:
        found += _NUMBERS
    if kinds & {"string", ""}:
        found += _WORDS
    if kinds & {"boolean", ""}:
        found += [True, False]
    if kinds & {"array", ""}:
        inside = pool(
            old.get("items") or {"type": "string"}, new.get("items") or {"type": "string"}
        )
        found += [
            [],
            *([item] for item in inside[:30]),
            inside[:2],
            inside[:1] * 2,
            inside[:3],
            inside[:4],
        ]
    if kinds & {"object", ""}:
        found += _objects(old, new)
    return found


def _objects(old: dict[str, Any], new: dict[str, Any]) -> list[Any]:
    fields: dict[str, list[Any]] = {}
    free = {"type": "string"}
    for name in (*NAMES, "d"):
        sides = [
            side.get("properties", {}).get(name) or _extra(side) or free for side in (old, new)
        ]
        fields[name] = pool(*sides)[:30]
    taken = {name: next((v for v in fields[name] if _takes(old, name, v)), 1) for name in fields}
    found: list[Any] = [{}]
    for size in (1, 2, 3, 4):
        found += [{name: taken[name] for name in names} for names in combinations(fields, size)]
    for others in ((), ("a",), ("a", "b"), ("a", "b", "c")):
        for name, values in fields.items():
            rest = {other: taken[other] for other in others if other != name}
            found += [{**rest, name: value} for value in values]
    return found


def _extra(side: dict[str, Any]) -> dict[str, Any] | None:
    extra = side.get("additionalProperties")
    return extra if isinstance(extra, dict) else None


def _takes(old: dict[str, Any], name: str, value: Any) -> bool:
    child = old.get("properties", {}).get(name) or _extra(old)
    return child is not None and checked(defaulted(value, child), child)


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


def checker(schema: dict[str, Any]) -> Callable[[Any], bool]:
    """Our own checker, which refuses what would be dropped."""
    root = {"type": "object", "properties": {"spec": schema}}
    strict = strict_schema(CustomKind("example.com/v1", "Thing", root))["properties"]["spec"]
    check = Compiler().compile(strict)

    def takes(value: Any) -> bool:
        found: list[Any] = []
        check(value, (), found)
        return not found

    return takes


def checked(value: Any, schema: dict[str, Any]) -> bool:
    return checker(schema)(value)


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


def from_elsewhere(schema: dict[str, Any]) -> Callable[[Any], bool]:
    return jsonschema.Draft202012Validator(plain_schema(schema)).is_valid


def sound(schema: dict[str, Any]) -> bool:
    """Whether an API server would take the schema: its defaults are valid, it requires what it has."""
    for node in _nodes(schema):
        if "default" in node:
            value = node["default"]
            if not checker(node)(value) or not from_elsewhere(node)(value):
                return False
        if not set(node.get("required", ())) <= set(node.get("properties", NAMES)):
            return False
    return True


def is_safe(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return all(change.level is Level.SAFE for change in compare_crds([crd(old)], [crd(new)]))


DICE = st.integers(0, 2**64).map(Random)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(DICE)
def test_what_is_safe_takes_all_that_was_taken(dice):
    for _ in range(20):
        old, new = pair(dice)
        if not sound(old) or not sound(new):
            continue
        safe = is_safe(old, new)
        event("same" if old == new else "safe" if safe else "not safe")
        if not safe or old == new:
            continue
        values = pool(old, new)
        for judge in (checker, from_elsewhere):
            before, after = judge(old), judge(new)
            for value in values:
                if before(defaulted(value, old)):
                    said = f"{judge.__name__}: {json.dumps([old, new, value])}"
                    assert after(defaulted(value, new)), said


@settings(max_examples=50, deadline=None)
@given(DICE)
def test_a_schema_is_compatible_with_itself(dice):
    for _ in range(10):
        made = schema(dice)
        assert compare_crds([crd(made)], [crd(copy.deepcopy(made))]) == ()


@settings(max_examples=50, deadline=None)
@given(DICE)
def test_every_change_is_told(dice):
    """Nothing that a judge could tell apart goes without a word."""
    for _ in range(20):
        old, new = pair(dice)
        if plain_schema(old) != plain_schema(new) and not is_told(old, new):
            values = pool(old, new)
            for judge in (checker, from_elsewhere):
                before, after = judge(old), judge(new)
                for value in values:
                    assert before(value) == after(value), json.dumps([old, new, value])


def is_told(old: dict[str, Any], new: dict[str, Any]) -> bool:
    return bool(compare_crds([crd(old)], [crd(new)]))
