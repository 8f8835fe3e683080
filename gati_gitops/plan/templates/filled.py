"""From rendered text to documents: the text is read once, then values take the tokens' places.

A value that stands alone and unquoted keeps its type, so a mapping can be printed whole. In quotes,
in a block or beside other text it becomes text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jinja2.exceptions import TemplateRuntimeError

from gati_gitops.plan.templates.budget import BadTemplate, text_of
from gati_gitops.plan.templates.sandbox import TOKEN, Rendered, unmarked
from gati_gitops.yamlio.strict import Path, marks, read


@dataclass(frozen=True, slots=True)
class Skeleton:
    """Rendered text, read: what all things have in common that take the same way."""

    documents: tuple[tuple[int, Any], ...]
    """Number and content of each document, tokens and all."""
    content: bytes
    lines: tuple[int, ...]

    def line(self, number: int) -> int:
        """The template's line of a line of the text, both counted from 1."""
        return self.lines[min(max(number, 1), len(self.lines)) - 1]

    def line_at(self, document: int, path: Path) -> int:
        """The template's line of a field, or of the nearest one above it that there is."""
        found = marks(self.content, document)
        for length in range(len(path), -1, -1):
            if path[:length] in found:
                return self.line(found[path[:length]].key[0])
        return 1


@dataclass(frozen=True, slots=True)
class Filled:
    """One document with its values, and the way back to the template's lines."""

    value: Any
    skeleton: Skeleton
    number: int
    renamed: Mapping[Path, Path] = field(default_factory=dict)
    """Paths whose keys hold values, as they stand in the text."""

    def line(self, *path: str | int) -> int:
        """The template's line of a field."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.renamed:
                path = (*self.renamed[path[:length]], *path[length:])
                break
        return self.skeleton.line_at(self.number, path)


def skeleton(rendered: Rendered) -> Skeleton:
    """Read a text; raises BadTemplate with the template's line."""
    text, lines = unmarked(rendered.text, rendered.lines)
    content = text.encode()
    reading = read(content, "")
    problems = [*reading.problems, *(p for d in reading.documents for p in d.problems)]
    if problems:
        first = min(problems, key=lambda problem: problem.place.line)
        number = first.place.line
        line = lines[min(max(number, 1), len(lines)) - 1]
        message = TOKEN.sub("{{ … }}", first.message)
        raise BadTemplate(line, f"what it gives is not YAML that we read: {message}",
                          TOKEN.sub("{{ … }}", first.remedy))  # fmt: skip
    documents = tuple((d.number, d.value) for d in reading.documents if d.value is not None)
    return Skeleton(documents, content, lines)


def filled(bones: Skeleton, values: tuple[Any, ...]) -> list[Filled]:
    """The documents of one thing; raises BadTemplate where a value does not fit its place."""
    found = []
    for number, document in bones.documents:
        renamed: dict[Path, Path] = {}
        try:
            value = _fill(document, values, bones, number, (), (), renamed)
        except _Misplaced as error:
            line = bones.line_at(number, error.path)
            raise BadTemplate(line, error.message, error.remedy) from None
        found.append(Filled(value, bones, number, renamed))
    return found


class _Misplaced(Exception):
    def __init__(self, path: Path, message: str, remedy: str) -> None:
        super().__init__(message)
        self.path, self.message, self.remedy = path, message, remedy


def _fill(
    node: Any,
    values: tuple[Any, ...],
    bones: Skeleton,
    number: int,
    path: Path,
    new: Path,
    renamed: dict[Path, Path],
) -> Any:
    if isinstance(node, str):
        return _scalar(node, values, bones, number, path)
    if isinstance(node, list):
        return [
            _fill(item, values, bones, number, (*path, n), (*new, n), renamed)
            for n, item in enumerate(node)
        ]
    if not isinstance(node, dict):
        return node
    found: dict[str, Any] = {}
    for key, item in node.items():
        name = _text(key, values, (*path, key))
        if name in found:
            raise _Misplaced((*path, key), f"{name[:60]} is set twice", "keep one of the two")
        if name != key:
            renamed[*new, name] = (*path, key)
        found[name] = _fill(item, values, bones, number, (*path, key), (*new, name), renamed)
    return found


def _scalar(node: str, values: tuple[Any, ...], bones: Skeleton, number: int, path: Path) -> Any:
    alone = TOKEN.fullmatch(node)
    if alone is not None:
        value = values[int(alone[1])]
        if isinstance(value, str):
            return value
        if marks(bones.content, number)[path].plain:
            return _copied(value)
    return _text(node, values, path)


def _text(node: str, values: tuple[Any, ...], path: Path) -> str:
    try:
        return TOKEN.sub(lambda match: text_of(values[int(match[1])]), node)
    except TemplateRuntimeError as error:
        raise _Misplaced(path, str(error), "print it alone and unquoted") from None


def _copied(value: Any) -> Any:
    """Plain lists and dicts: what is stored must not be shared with what it came from."""
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_copied(item) for item in value]
    return value
