"""One change of a CustomResourceDefinition, and how bad it is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Node = Mapping[str, Any]
"""A schema, or another part of a CRD."""
At = tuple[str | int, ...]
"""Where something stands in the document of a CRD."""


class Level(StrEnum):
    """From bad to good."""

    BREAKING = "breaking"
    """An object that was taken is refused, data that was kept is dropped, or a client fails."""
    RISKY = "risky"
    """Nobody can prove that nothing breaks, or something means more than it did."""
    SAFE = "safe"
    """All that was taken is taken, is kept, and means the same."""


ORDER = {level: number for number, level in enumerate(Level)}


class Rule(StrEnum):
    """What changed."""

    # The definition as a whole.
    CRD_REMOVED = "crd-removed"
    CRD_ADDED = "crd-added"
    CRD_TWICE = "crd-twice"
    GROUP = "group"
    SCOPE = "scope"
    NAMES = "names"
    CONVERSION = "conversion"
    PRUNING = "pruning"
    # Its versions.
    VERSION_REMOVED = "version-removed"
    STORED_VERSION_REMOVED = "stored-version-removed"
    VERSION_ADDED = "version-added"
    SERVED = "served"
    STORAGE = "storage"
    DEPRECATED = "deprecated"
    STATUS = "status-subresource"
    SCALE = "scale-subresource"
    COLUMNS = "printer-columns"
    SELECTABLE = "selectable-fields"
    # Fields.
    FIELD_REMOVED = "field-removed"
    FIELD_ADDED = "field-added"
    REQUIRED_ADDED = "required-added"
    REQUIRED_REMOVED = "required-removed"
    TYPE = "type"
    NULLABLE = "nullable"
    DEFAULT_ADDED = "default-added"
    DEFAULT_CHANGED = "default-changed"
    DEFAULT_REMOVED = "default-removed"
    UNKNOWN_FIELDS = "unknown-fields"
    EMBEDDED = "embedded-resource"
    LIST_TYPE = "list-type"
    MAP_TYPE = "map-type"
    # Values.
    ENUM = "enum"
    BOUND = "bound"
    PATTERN = "pattern"
    FORMAT = "format"
    LOGIC = "logic"
    CEL = "cel"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CrdChange:
    """One change. ``old`` and ``new`` are JSON text; None says that there is nothing."""

    crd: str
    """Its name: ``<plural>.<group>``."""
    version: str
    """Empty for what all versions share; ``v1 → v2`` for what is lost between two of them."""
    path: str
    """The field of an object, or of the definition itself: ``spec.volumes[].name``, ``scope``."""
    rule: Rule
    level: Level
    old: str | None
    new: str | None
    why: str
    """What it does to whom, or why it does nothing."""
    instead: str = ""
    """What would not break."""
    at: At = ()
    """Where in the new document, or in the old one where the new has no such place."""
    gone: bool = False
    """Whether ``at`` is about the old document."""


def worst(changes: Iterable[CrdChange]) -> Level | None:
    """The worst level among changes; None where there are none."""
    return min((change.level for change in changes), key=ORDER.__getitem__, default=None)


def spelled(value: Any, limit: int = 200) -> str:
    """A value as JSON text on one line, cut short."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def mapping(value: Any) -> Node:
    """``value`` if it is a mapping: what a CRD has in the wrong place counts as nothing."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def field_path(at: At) -> str:
    """``properties, spec, properties, volumes, items`` as ``spec.volumes[]``."""
    shown = ""
    steps = iter(at)
    for step in steps:
        if step == "properties":
            name = str(next(steps, ""))
            plain = name.replace("-", "").replace("_", "").replace("$", "").isalnum()
            shown += f".{name}" if plain else f'["{name}"]'
        elif step == "items":
            shown += "[]"
        elif step == "additionalProperties":
            shown += ".*"
    return shown.removeprefix(".")
