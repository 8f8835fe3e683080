"""Values, paths and changes as short words, for titles and sentences."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from gati_gitops.preview.model import Action, FieldChange, Keyed, Op, Path, show_path

LONGEST = 60
NAMED = 3
"""Fields that a title names; the others are counted."""


def short_path(path: Path) -> str:
    """A path without what everybody knows to be above it."""
    for head in (("spec", "template", "spec"), ("spec", "template"), ("spec",)):
        if path[: len(head)] == head and len(path) > len(head):
            path = path[len(head) :]
            break
    if len(path) > 2 and path[0] == "containers" and isinstance(path[1], Keyed):
        path = path[2:]
    return show_path(path)


def short(value: Any) -> str:
    """A value on one line, cut short."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    text = " ".join(text.split()) if isinstance(value, str) and "\n" in value else text
    if text == "":
        return '""'
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def change_words(change: FieldChange) -> str:
    """``image a:1 → a:2``, ``env[name=X] added``"""
    path = short_path(change.path)
    if change.op is Op.ADD:
        inner = isinstance(change.after, (dict, list))
        return f"{path} added" if inner else f"{path} added: {short(change.after)}"
    if change.op is Op.REMOVE:
        inner = isinstance(change.before, (dict, list))
        return f"{path} removed" if inner else f"{path} removed: {short(change.before)}"
    if change.op is Op.ORDER:
        return f"{path} in another order"
    if isinstance(change.before, (dict, list)) or isinstance(change.after, (dict, list)):
        return f"{path} replaced"
    return f"{path} {short(change.before)} → {short(change.after)}"


def class_title(kind: str, action: Action, fields: Sequence[FieldChange], *, like: bool) -> str:
    said = listed([change_words(change) for change in fields], NAMED)
    if action is Action.CREATE:
        if like:
            return f"new {kind}, as the serving version's" + (f" but {said}" if said else "")
        return f"new {kind}"
    if action is Action.DELETE:
        return f"{kind} goes"
    if action is Action.RENAME:
        return f"{kind} under another name" + (f": {said}" if said else "")
    if action is Action.RECREATE:
        return f"{kind} made again: {said}"
    return f"{kind}: {said}" if said else f"{kind}: only what follows from other changes"


def listed(words: Iterable[str], most: int = 5) -> str:
    """``a, b, c and 4 more``"""
    found = list(words)
    rest = len(found) - most
    return ", ".join(found[:most]) + (f" and {rest} more" if rest > 0 else "")


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 unit``, ``3 units``"""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
