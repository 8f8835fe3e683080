"""Writing an object that nobody looked into: its own lines in the order of the output.

kustomize prints keys sorted and scalars in its own spelling, and otherwise in the style that most
files have. So for each shape of a document there is a layout, made once: which line comes when,
and what stands between. A file that is indented otherwise has none and is written from its tree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

from gati_gitops.yamlio.goyaml_fast import resource_row
from gati_gitops.yamlio.goyaml_patterns import Draft, Shape
from gati_gitops.yamlio.goyaml_write import ordered, write_item

_LINE_OF: Final = itemgetter(6)


class Layout:
    """The lines of a document, from `start` to `stop`, in the order of the output.

    Each line is there twice, as it is and as the first of a list's entry; after those come the
    lines that are the same for all documents of the shape.
    """

    __slots__ = ("fixed", "start", "stop", "take")

    def __init__(self, order: list[int | str]) -> None:
        lines = [line >> 1 for line in order if isinstance(line, int)]
        self.start, self.stop = min(lines), max(lines) + 1
        size = self.stop - self.start
        self.fixed = [line for line in order if isinstance(line, str)]
        fixed = iter(range(2 * size, 2 * size + len(self.fixed)))

        def place(line: int | str) -> int:
            if isinstance(line, str):
                return next(fixed)
            return (line >> 1) - self.start + (line & 1) * size

        self.take: Callable[[list[str]], tuple[str, ...]] = itemgetter(*map(place, order))


class _OtherwiseIndentedError(Exception):
    """The output would have a line in another column."""


def draft_text(draft: Draft) -> str | None:
    """The object as kustomize prints it, or None when its lines do not do."""
    layout = _layout(draft.shape)
    if layout is None:
        return None
    lines = [*map(_written, map(_LINE_OF, draft.rows[layout.start : layout.stop]))]
    for line, value in draft.edits.items():
        row = draft.rows[line]
        lines[line - layout.start] = _spelled(row[1] + row[2], row[3], value)
    plain, dashed = zip(*lines, strict=True)
    return "\n".join(layout.take([*plain, *dashed, *layout.fixed]))


@lru_cache(maxsize=1 << 16)
def _written(line: str) -> tuple[str, str]:
    _, here, width, key, value, _, _ = resource_row(line)
    return _spelled(here + width, key, value)


def _spelled(column: int, key: str, value: Any) -> tuple[str, str]:
    """A line as it is and as the first of an entry; a scalar in a list is always the latter."""
    deeper = " " * (column + 2) if key else " " * column
    dash = " " * (column - 2) + "- "
    if not key:
        return ("", _item(value, dash, deeper))
    ((_, spelled),) = ordered((key,))
    dashed = _item(value, f"{dash}{spelled} ", deeper) if column > 1 else ""
    return _item(value, f"{' ' * column}{spelled} ", deeper), dashed


def _item(value: Any, lead: str, deeper: str) -> str:
    lines: list[str] = []
    write_item(value, lead, "", deeper, lines)
    return lines[0]


@lru_cache(maxsize=1 << 10)
def _layout(shape: Shape) -> Layout | None:
    order: list[int | str] = []
    try:
        _mapping(shape, shape.tree, "", "", order)
    except _OtherwiseIndentedError:
        return None
    return Layout(order)


# A line is noted as twice its number, and one more where it is the first of an entry.


def _mapping(
    shape: Shape, node: dict[str, Any], lead: str, indent: str, order: list[int | str]
) -> None:
    deeper = indent + "  "
    for key, spelled in ordered(tuple(node)):
        item = node[key]
        if type(item) is int:
            if shape.columns[item] != len(indent):
                raise _OtherwiseIndentedError
            order.append(2 * item + (lead != indent))
        elif not item:
            order.append(f"{lead}{spelled} {'{}' if type(item) is dict else '[]'}")
        else:
            order.append(lead + spelled)
            if type(item) is dict:
                _mapping(shape, item, deeper, deeper, order)
            else:
                _sequence(shape, item, indent, order)
        lead = indent


def _sequence(shape: Shape, node: list[Any], indent: str, order: list[int | str]) -> None:
    deeper = indent + "  "
    for item in node:
        if type(item) is int:
            if shape.columns[item] != len(deeper):
                raise _OtherwiseIndentedError
            order.append(2 * item + 1)
        elif not item:
            order.append(f"{indent}- {'{}' if type(item) is dict else '[]'}")
        elif type(item) is dict:
            _mapping(shape, item, indent + "- ", deeper, order)
        else:
            raise _OtherwiseIndentedError
