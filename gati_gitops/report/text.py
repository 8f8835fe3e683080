"""For people: the place, what is wrong there, the line itself, and what to do.

shop/users.yaml:7:12: error[wrong-type] spec.version: version must be text; 1.10 is a number
  7 |   version: 1.10
    |            ^
  fix: quote it: "1.10"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gati_gitops.errors import Place, Problem
from gati_gitops.redact import redact
from gati_gitops.report.clean import neutral, safe

_WIDTH = 100
_BREAK = re.compile("\r\n|\r|\n")
_STYLES = {"error": "1;31", "warning": "1;33", "place": "1", "dim": "2", "fix": "32"}


def write(problems: Sequence[Problem], sources: Mapping[str, bytes], *, colour: bool) -> str:
    """One block per problem, with an empty line between blocks."""
    lines = _Lines(sources)
    return "".join(_block(problem, lines, _Paint(colour)) + "\n" for problem in problems)


def _block(problem: Problem, lines: _Lines, paint: _Paint) -> str:
    severity = str(problem.severity)
    head = paint("place", safe(f"{problem.place}:")) + " "
    head += paint(severity, f"{severity}[{problem.code}]")
    if problem.field:
        head += f" {safe(problem.field)}:"
    rows = [f"{head} {safe(problem.message)}"]
    rows += (paint("dim", row) for row in lines.excerpt(problem.place))
    if problem.remedy:
        rows.append(f"  {paint('fix', 'fix:')} {safe(problem.remedy)}")
    rows += (
        f"  {paint('dim', 'see:')} {safe(f'{place} {note}')}" for place, note in problem.related
    )
    return "\n".join(rows) + "\n"


class _Paint:
    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colour else text


class _Lines:
    """The lines of the sources, split once per file."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self._sources = sources
        self._split: dict[str, list[str]] = {}

    def excerpt(self, place: Place) -> Iterator[str]:
        """The line of a place with a caret under its column; nothing where it isn't known."""
        lines = self._of(place.file)
        if not 0 < place.line <= len(lines):
            return
        line, column = lines[place.line - 1], place.column - 1
        start = max(0, column - _WIDTH * 2 // 3) if len(line) > _WIDTH else 0
        shown = redact(line)
        if shown != line:
            start, column = 0, min(column, len(shown))
        # A sign that is escaped takes more room, and the caret must stay under its own.
        before = neutral(shown[start:column].replace("\t", " "))
        after = neutral(shown[column : start + _WIDTH].replace("\t", " "))
        number = str(place.line)
        yield f"  {number} | {before}{after}".rstrip()
        yield f"  {' ' * len(number)} | {' ' * len(before)}^"

    def _of(self, file: str) -> list[str]:
        if file not in self._split:
            text = self._sources.get(file, b"").decode(errors="replace")
            self._split[file] = _BREAK.split(text) if text else []
        return self._split[file]
