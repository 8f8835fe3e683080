"""The shape of a schema: which types it takes, and what becomes of a field by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gati_gitops.preview.crds.model import At, Node, mapping, sequence

PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
EMBEDDED = "x-kubernetes-embedded-resource"
ANYTHING: Node = {PRESERVE: True}
HEAD = ("apiVersion", "kind", "metadata")
"""What an embedded resource has without saying so."""


def types(node: Node) -> frozenset[str] | None:
    """The types that a schema takes; None: any of them."""
    if node.get(INT_OR_STRING) is True:
        return frozenset(("integer", "string"))
    wanted = node.get("type")
    if isinstance(wanted, str) and wanted:
        return frozenset((wanted,))
    if isinstance(wanted, list) and wanted:
        return frozenset(map(str, wanted))
    if "properties" in node:
        return frozenset(("object",))
    return frozenset(("array",)) if "items" in node else None


def takes(wanted: frozenset[str] | None, kind: str) -> bool:
    """Whether a value of one type is taken; every integer is a number."""
    return wanted is None or kind in wanted or (kind == "integer" and "number" in wanted)


def unlisted(node: Node) -> Node | None:
    """The schema of fields that are not listed; None: they are dropped."""
    additional = node.get("additionalProperties")
    if isinstance(additional, Mapping):
        return additional or ANYTHING
    if additional is True or node.get(PRESERVE) is True or types(node) is None:
        return ANYTHING
    return None


def field(node: Node, name: str) -> Node | None:
    """The schema of one field; None: it is dropped."""
    listed = mapping(node.get("properties"))
    if name in listed:
        return mapping(listed[name])
    if node.get(EMBEDDED) is True and name in HEAD:
        return ANYTHING
    return unlisted(node)


def items(node: Node) -> Node:
    return mapping(node["items"]) if "items" in node else ANYTHING


def required(node: Node) -> list[str]:
    return [name for name in sequence(node.get("required")) if isinstance(name, str)]


def defaults_below(node: Node, at: At) -> Iterator[tuple[At, Any]]:
    """Every default inside a schema, its own included."""
    waiting = [(at, node)]
    while waiting:
        here, one = waiting.pop()
        if "default" in one:
            yield here, one["default"]
        for name, child in mapping(one.get("properties")).items():
            waiting.append(((*here, "properties", name), mapping(child)))
        words = [w for w in ("items", "additionalProperties") if isinstance(one.get(w), Mapping)]
        waiting += [((*here, word), one[word]) for word in words]
