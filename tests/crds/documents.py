"""Documents of our kinds, made by hypothesis from the schemas: right ones and nearly right ones."""

import copy
import re
from functools import cache
from typing import Any

from hypothesis import strategies as st

from gati_gitops.spec.common import QUANTITY
from gati_gitops.spec.schema import Node, schema_of

OPTIONAL_FIELDS = 3
tree_of = cache(schema_of)
_QUANTITIES = ("0", "1", "100m", "0.5", "128Mi", "2Gi", "1e3", "+1", "1.", "500k", "3Ei")


@st.composite
def documents(draw: st.DrawFn, model: type) -> dict[str, Any]:
    """A document with every value inside its bounds; rules across fields are left to chance."""
    tree = tree_of(model)
    return {
        "apiVersion": "gati.dev/v1alpha1",
        "kind": model.__name__,
        "metadata": {"name": draw(values(tree["properties"]["metadata"]["properties"]["name"]))},
        "spec": draw(values(tree["properties"]["spec"])),
    }


@st.composite
def values(draw: st.DrawFn, node: Node) -> Any:
    if "enum" in node:
        return draw(st.sampled_from(node["enum"]))
    match node["type"]:
        case "boolean":
            return draw(st.booleans())
        case "integer":
            return draw(st.integers(node.get("minimum", 0), node.get("maximum", 10**6)))
        case "number":
            low, high = node.get("exclusiveMinimum", 0), node.get("exclusiveMaximum", 10**6)
            return draw(st.floats(low, high, exclude_min=True, exclude_max=True, width=32))
        case "string":
            return draw(texts(node))
        case "array":
            size = min(node.get("maxItems", 2), 2)
            return draw(st.lists(values(node["items"]), max_size=size))
        case "object" if "properties" in node:
            required = node.get("required", [])
            others = [name for name in node["properties"] if name not in required]
            chosen = draw(st.lists(st.sampled_from(others), max_size=OPTIONAL_FIELDS, unique=True)
                          if others else st.just([]))  # fmt: skip
            return {name: draw(values(node["properties"][name])) for name in [*required, *chosen]}
        case "object":
            keys = texts({"type": "string", **node.get("propertyNames", {})})
            return draw(st.dictionaries(keys, values(node["additionalProperties"]), max_size=2))
    raise AssertionError(node)


def texts(node: Node) -> st.SearchStrategy[str]:
    low, high = node.get("minLength", 0), min(node.get("maxLength", 20), 300)
    if node.get("pattern") == QUANTITY:
        return st.sampled_from(_QUANTITIES)
    if "pattern" in node:
        pattern = re.sub(r"\$\Z", r"\\Z", node["pattern"])
        return st.from_regex(pattern, fullmatch=pattern.endswith(r"\Z")).filter(
            lambda text: low <= len(text) <= node.get("maxLength", 300)
        )
    return st.text(min_size=low, max_size=min(high, 20))


@st.composite
def spoiled(draw: st.DrawFn, model: type) -> dict[str, Any]:
    """A document in which one value, somewhere, was changed for the worse (or only made odd)."""
    document = copy.deepcopy(draw(documents(model)))
    spec = tree_of(model)["properties"]["spec"]
    holder, key, node = draw(st.sampled_from(list(_places(document, "spec", spec))))
    change = draw(st.sampled_from(list(_changes(node, holder[key]))))
    if change is REMOVED:
        del holder[key]
    else:
        holder[key] = change
    return document


REMOVED = object()


def _places(holder: Any, key: Any, node: Node):
    yield holder, key, node
    value = holder[key]
    if node["type"] == "array":
        for index in range(len(value)):
            yield from _places(value, index, node["items"])
    elif node["type"] == "object":
        for name in list(value):
            child = node.get("properties", {}).get(name) or node["additionalProperties"]
            yield from _places(value, name, child)


def _changes(node: Node, value: Any):
    yield REMOVED
    yield 12.5
    yield [1]
    yield "a text\n"
    match node["type"]:
        case "integer":
            yield from (True, "1")
            yield from (node["minimum"] - 1,) if "minimum" in node else ()
            yield from (node["maximum"] + 1,) if "maximum" in node else ()
        case "boolean":
            yield from ("true", 1)
        case "string":
            yield from ("", "x" * (node.get("maxLength", 0) + 1), value + "\n", " " + value, 7)
            yield from ("Ünïcode", "UPPER", "/a", "a:b", "-")
        case "array":
            yield {}
            yield value + value
            if "maxItems" in node:
                yield (value or [None]) * (node["maxItems"] + 1)
        case "object":
            yield []
            yield {**value, "unheard-of": "x"}
            yield {**value, "a=b": "x"}
