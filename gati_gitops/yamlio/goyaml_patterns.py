"""Texts that differ in their values only are read alike.

The files of a repository come in few shapes: line for line the same keys in the same columns. The
first text of a shape is read by the loop over its lines, with numbers of lines for values, and
what comes of it is kept: a tree of numbers for each document. The next text of that shape only
puts its values in. A `Draft` has not even done that yet: whoever asks for no more than names, or
changes a scalar whose line is known, needs no tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, Final

Row = tuple[int, int, int, str, Any, str, str]
"""What a line is, its column, the width of its dashes, its key, its value, its shape (all of that
but the value, as text), and the line."""

# The keys of a mapping, or None for a list, and what picks its values.
Step = tuple[tuple[str, ...] | None, Callable[[list[Any]], Iterable[Any]]]

_VALUE_OF: Final = itemgetter(4)
_STRINGS: Final = {str}


class Documents(list[Any]):
    """What a text holds; `blank` when some key of it has no value at all."""

    blank = False


class Shape:
    """One document with the numbers of lines for values; the number after the last means blank."""

    __slots__ = ("_steps", "columns", "head", "tree")

    def __init__(self, tree: Any, columns: list[int]) -> None:
        self.tree = tree
        # Where in each line of the text the key or, in a list, the value stands.
        self.columns = columns
        self._steps: list[Step] = []
        self._add(tree)
        self.head = _head(tree, len(columns))

    def _add(self, node: Any) -> int:
        """The place among the values where the node will be found."""
        if type(node) is int:
            return node
        inner = node.values() if type(node) is dict else node
        places = [self._add(item) for item in inner]
        keys = tuple(node) if type(node) is dict else None
        self._steps.append((keys, _taking(places)))
        return len(self.columns) + len(self._steps)

    def filled(self, values: list[Any]) -> Any:
        """The document; each step adds what it makes to the values, for later steps to find."""
        add = values.append
        for keys, take in self._steps:
            add([*take(values)] if keys is None else dict(zip(keys, take(values), strict=False)))
        return values[-1]


def _taking(places: list[int]) -> Callable[[list[Any]], Iterable[Any]]:
    start = places[0] if places else 0
    stop = start + len(places)
    if places == [*range(start, stop)]:
        return itemgetter(slice(start, stop))
    return itemgetter(*places)


def _head(tree: Any, blank: int) -> list[int] | None:
    """The lines of apiVersion, kind, name and perhaps namespace, in an object that has these."""
    metadata = tree.get("metadata") if type(tree) is dict else None
    if type(metadata) is not dict or "items" in tree:
        return None
    lines = [tree.get("apiVersion"), tree.get("kind"), metadata.get("name")]
    if "namespace" in metadata:
        lines.append(metadata["namespace"])
    return lines if all(type(line) is int and line != blank for line in lines) else None


class Pattern:
    """The shapes of the documents of a text."""

    __slots__ = ("blank", "shapes")

    def __init__(self, documents: Documents, columns: list[int]) -> None:
        self.shapes = [Shape(document, columns) for document in documents]
        self.blank = documents.blank

    def filled(self, rows: list[Row], blank: Any) -> Documents:
        values = [*map(_VALUE_OF, rows), blank]
        documents = Documents([shape.filled([*values]) for shape in self.shapes])
        documents.blank = self.blank
        return documents


class Draft:
    """An object as its lines; `edits` holds what lines were changed to."""

    __slots__ = ("api_version", "edits", "kind", "name", "namespace", "rows", "shape")

    def __init__(self, rows: list[Row], shape: Shape, head: list[str]) -> None:
        self.rows = rows
        self.shape = shape
        self.api_version, self.kind, self.name, self.namespace = head
        self.edits: dict[int, Any] = {}

    def value(self, line: int) -> Any:
        return self.edits[line] if line in self.edits else self.rows[line][4]

    def filled(self) -> Any:
        values = [*map(_VALUE_OF, self.rows), None]
        for line, value in self.edits.items():
            values[line] = value
        return self.shape.filled(values)


def drafts(rows: list[Row], pattern: Pattern) -> list[Draft] | None:
    """The objects of a text, or None when they are not all of the ordinary kind."""
    found = []
    for shape in pattern.shapes:
        if shape.head is None or pattern.blank:
            return None
        head = [rows[line][4] for line in shape.head]
        if len(head) < 4:
            head.append("")
        if {*map(type, head)} != _STRINGS or not head[1] or not head[2]:
            return None
        found.append(Draft(rows, shape, head))
    return found
