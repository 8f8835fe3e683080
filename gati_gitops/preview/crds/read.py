"""CRDs out of files, and where in them something stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gati_gitops.errors import Place, Problem, SpecsInvalid
from gati_gitops.preview.crds.definition import definition_name, is_definition
from gati_gitops.preview.crds.model import At, CrdChange
from gati_gitops.yamlio.goyaml_read import GoYamlError, decode, read_resources
from gati_gitops.yamlio.goyaml_scalars import plain
from gati_gitops.yamlio.strict import marks

_SEPARATOR = re.compile(rb"(?m)^---(?:[ \t].*)?\r?\n")


@dataclass(frozen=True, slots=True)
class Located:
    """A CRD and the part of a file that it was read from."""

    document: Any
    file: str
    line: int
    """How many lines stand before that part."""
    content: bytes = field(repr=False)
    inside: At = ()
    """Where in that part it is: in a List it is an item."""

    def place(self, at: At) -> Place:
        """The position of something in it, or of its nearest parent."""
        found = marks(self.content, 0)
        path = (*self.inside, *at)
        for length in range(len(path), len(self.inside), -1):
            mark = found.get(path[:length])
            if mark is not None:
                return Place(self.file, self.line + mark.key[0], mark.key[1])
        return Place(self.file, self.line + 1, 1)


def read_definitions(files: Iterable[tuple[str, bytes]]) -> list[Located]:
    """The CRDs of some files; other objects are passed over. Raises SpecsInvalid."""
    found: list[Located] = []
    problems: list[Problem] = []
    for file, content in sorted(files):
        for line, part in _parts(content):
            try:
                found += _located(file, line, part)
            except GoYamlError as error:
                place = Place(file, line + error.line, 1) if error.line else Place(file)
                remedy = "name files of CustomResourceDefinitions"
                problems.append(Problem("bad-yaml", error.message, place, remedy=remedy))
    if problems:
        raise SpecsInvalid(problems)
    return found


def _parts(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The documents of a file as they are written, with the number of lines before each."""
    start = line = 0
    for match in _SEPARATOR.finditer(content):
        yield line, content[start : match.start()]
        line += content.count(b"\n", start, match.end())
        start = match.end()
    yield line, content[start:]


def _located(file: str, line: int, part: bytes) -> Iterator[Located]:
    if b"CustomResourceDefinition" not in part:
        return
    documents = read_resources(decode(part))
    listed = len(documents) > 1 or (len(documents) == 1 and not _root_is(part, documents[0]))
    for number, document in enumerate(documents):
        if is_definition(document):
            inside: At = ("items", number) if listed else ()
            yield Located(plain(document), file, line, part, inside)


def _root_is(part: bytes, document: Any) -> bool:
    """Whether a document is the part itself, and not an item of a List."""
    kind = marks(part, 0).get(("kind",))
    return kind is None or kind.text == document.get("kind")


class Places:
    """Where changes stand, in the new files or, of what is gone, in the old ones."""

    def __init__(self, old: Sequence[Located], new: Sequence[Located]) -> None:
        self._old = {definition_name(one.document): one for one in old}
        self._new = {definition_name(one.document): one for one in new}

    def of(self, change: CrdChange) -> Place:
        sides = (self._old, self._new) if change.gone else (self._new, self._old)
        found = next((side[change.crd] for side in sides if change.crd in side), None)
        return found.place(change.at) if found is not None else Place("")
