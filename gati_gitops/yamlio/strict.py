"""Reading YAML that people wrote: strictly, with positions, and on to the end.

libyaml's parser gives the events; what they mean is decided here (YAML 1.2 core schema, see
``scalars``). Refused are the parts of YAML that surprise: anchors, aliases and merge keys, tags,
duplicate and non-string keys, and whatever is too deep, too large or not plain UTF-8 text.

Positions of all nodes cost more than the values, and only faulty documents need them. So ``read``
keeps none but those of its own findings, and ``marks`` reads a document again when asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from gati_gitops.errors import Place, Problem
from gati_gitops.yamlio.scalars import Disputed, plain, short
from gati_gitops.yamlio.text import CONTROL, explained, unreadable

MAX_DEPTH = 64
MAX_DOCUMENTS = 10_000
MAX_PROBLEMS = 100

# libyaml, where PyYAML was built with it; every wheel of it is.
_Parser: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Where one node stands: of its key (of itself in a list), and of its value; from 1."""

    key: tuple[int, int]
    value: tuple[int, int]
    text: str | None
    """The scalar as it was written, None for a list or mapping."""
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file. ``value`` is what could be read even when there are problems."""

    number: int
    line: int
    value: Any
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A file: its documents, and the problems that ended reading before the end."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()


def read(content: bytes, file: str) -> Reading:
    """Every document of a file; never raises on what the file holds."""
    problem = unreadable(content, file)
    if problem is not None:
        return Reading((), (problem,))
    reader = _Reader(content, file)
    try:
        reader.run()
    except _Stop as stop:
        return Reading(tuple(reader.done), (*reader.problems, stop.problem))
    return Reading(tuple(reader.done))


@lru_cache(maxsize=4)
def marks(content: bytes, number: int) -> dict[Path, Mark]:
    """The position of every node of one document, by path; the root is at ``()``."""
    found: dict[Path, Mark] = {}
    if unreadable(content, "") is None:
        with suppress(_Stop):
            _Reader(content, "", wanted=number, marks=found).run()
    return found


def dotted(path: Path | list[str | int]) -> str:
    """``("spec", "metrics", 0, "target")`` as ``spec.metrics[0].target``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[A-Za-z_$][\w$-]*", part):
            text += f".{part}" if text else part
        else:
            text += f'["{short(part)}"]'
    return text


class _Stop(Exception):
    """Reading ends here, with what was read."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Reader:
    """One pass over the events of a file."""

    def __init__(
        self,
        content: bytes,
        file: str,
        wanted: int = -1,
        marks: dict[Path, Mark] | None = None,
    ) -> None:
        self._content = content
        self._file = file
        self._wanted = wanted
        self._marks: dict[Path, Mark] | None = None
        self._collect = marks
        self.done: list[Document] = []
        self.problems: list[Problem] = []  # Of the document that is being read.
        self._path: list[str | int] = []
        self._next: Callable[[], Any] = _Parser(content).get_event

    def run(self) -> None:
        """Fill ``done``; raises _Stop where the file can't be read on."""
        try:
            self._documents()
        except yaml.YAMLError as error:
            raise _Stop(explained(error, self._content, self._file)) from None

    def _documents(self) -> None:
        self._next()  # The stream's start.
        number = 0
        while True:
            event = self._next()
            if type(event) is yaml.StreamEndEvent:
                return
            if number >= MAX_DOCUMENTS:
                raise _Stop(
                    Problem(
                        "yaml-too-many-documents",
                        f"the file has more than {MAX_DOCUMENTS:,} documents",
                        self._place(event.start_mark),
                        remedy="split it into several files",
                    )
                )
            self._path = []
            self._marks = self._collect if number == self._wanted else None
            if event.version not in (None, (1, 2)):
                self._report(
                    "yaml-directive", f"%YAML {'.'.join(map(str, event.version))} is not read",
                    event.start_mark, remedy="remove the directive; specs are YAML 1.2",
                )  # fmt: skip
            root = self._next()
            value = self._node(root, 0, root.start_mark)
            self._next()  # The document's end.
            line = root.start_mark.line + 1
            self.done.append(Document(number, line, value, tuple(self.problems)))
            self.problems = []
            if number == self._wanted:
                return
            number += 1

    def _node(self, event: Any, depth: int, key: Any) -> Any:
        """The value of the node that starts with ``event``; ``key`` is where its field stands."""
        kind = type(event)
        if (
            kind is yaml.ScalarEvent
            and self._marks is None
            and event.anchor is None
            and event.tag is None
        ):
            return self._scalar(event)
        if self._marks is not None:
            value = event.start_mark
            scalar = kind is yaml.ScalarEvent
            self._marks[tuple(self._path)] = Mark(
                (key.line + 1, key.column + 1),
                (value.line + 1, value.column + 1),
                event.value if scalar else None,
                scalar and not event.style,
            )
        if kind is yaml.AliasEvent:
            self._report(
                "yaml-alias",
                f"the alias *{short(event.anchor)} stands for a value elsewhere",
                event.start_mark,
                remedy="write the value out; specs have no anchors and aliases",
            )
            return None
        if event.anchor is not None:
            self._report(
                "yaml-alias",
                f"the anchor &{short(event.anchor)} is not allowed",
                event.start_mark,
                remedy="remove the anchor and write the value out where it is used",
            )
        if event.tag is not None:
            self._report(
                "yaml-tag",
                f"the tag {short(event.tag.replace('tag:yaml.org,2002:', '!!'))} is not allowed",
                event.start_mark,
                remedy="remove the tag; quote a value that is meant as text",
            )
        if kind is yaml.ScalarEvent:
            return self._scalar(event)
        if depth >= MAX_DEPTH:
            raise _Stop(
                Problem(
                    "yaml-too-deep",
                    f"the document is nested more than {MAX_DEPTH} levels deep",
                    self._place(event.start_mark),
                    remedy="flatten it; no spec needs so many levels",
                )
            )
        if kind is yaml.MappingStartEvent:
            return self._mapping(depth + 1)
        return self._sequence(depth + 1)

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if not event.style:
            try:
                return plain(text)
            except Disputed as error:
                self._report(error.code, error.message, event.start_mark, remedy=error.remedy)
                return text
        if (
            event.style == '"'
            and (match := CONTROL.search(text))
            and match[0] not in "\u2028\u2029"
        ):
            self._report(
                "yaml-control-character",
                f"the text holds the character U+{ord(match[0]):04X}",
                event.start_mark,
                remedy="remove it; Kubernetes keeps no control characters",
            )
            return text.replace("\0", "")
        return text

    def _sequence(self, depth: int) -> list[Any]:
        items: list[Any] = []
        path = self._path
        while True:
            event = self._next()
            if type(event) is yaml.SequenceEndEvent:
                return items
            path.append(len(items))
            items.append(self._node(event, depth, event.start_mark))
            path.pop()

    def _mapping(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        first: dict[str, Any] = {}
        path = self._path
        while True:
            event = self._next()
            if type(event) is yaml.MappingEndEvent:
                return values
            mark = event.start_mark
            key = self._key(event, depth)
            if key is None:
                self._skip(depth)
                continue
            path.append(key)
            if key in values:
                self._twice(key, mark, first[key])
                path.pop()
                self._skip(depth)
                continue
            first[key] = mark
            values[key] = self._node(self._next(), depth, mark)
            path.pop()

    def _key(self, event: Any, depth: int) -> str | None:
        """The text of a key, or None after a report."""
        if type(event) is not yaml.ScalarEvent:
            if type(event) is not yaml.AliasEvent:
                self._node(event, depth, event.start_mark)
            self._report(
                "yaml-key", "a key must be text", event.start_mark, remedy="write a plain name"
            )
            return None
        text: str = event.value
        if not event.style:
            if text == "<<":
                self._report(
                    "yaml-alias",
                    "the merge key << is not allowed",
                    event.start_mark,
                    remedy="write the merged fields out",
                )
                return None
            try:
                value = plain(text)
            except Disputed:
                value = None
            if not isinstance(value, str):
                self._report(
                    "yaml-key",
                    f"the key {short(text)} is not text to every reader"
                    if text
                    else "a key is empty",
                    event.start_mark,
                    remedy=f'quote it: "{short(text)}"' if text else "name the field",
                )
                return None
        if event.anchor is not None or event.tag is not None:
            self._report(
                "yaml-key",
                f"the key {short(text)} has an anchor or a tag",
                event.start_mark,
                remedy="write the key alone",
            )
        return text

    def _skip(self, depth: int) -> None:
        """Read on over a value whose key was refused; what is wrong in it does not matter."""
        kept, path, found = len(self.problems), list(self._path), self._marks
        self._marks = None
        event = self._next()
        self._node(event, depth, event.start_mark)
        self._marks = found
        self._path[:] = path
        del self.problems[kept:]

    def _twice(self, key: str, again: Any, first: Any) -> None:
        before = self._place(first)
        self._report(
            "yaml-duplicate-key",
            f"{short(key)} is set twice: here and in line {before.line}",
            again,
            remedy="keep one of the two",
            related=((before, "set here first"),),
        )

    # ------------------------------------------------------------------------------------ problems

    def _place(self, mark: Any) -> Place:
        return Place(self._file, mark.line + 1, mark.column + 1)

    def _report(
        self,
        code: str,
        message: str,
        mark: Any,
        *,
        remedy: str,
        related: tuple[tuple[Place, str], ...] = (),
    ) -> None:
        place = self._place(mark)
        problem = Problem(code, message, place, dotted(self._path), remedy, related=related)
        if len(self.problems) >= MAX_PROBLEMS:
            raise _Stop(problem)
        self.problems.append(problem)
