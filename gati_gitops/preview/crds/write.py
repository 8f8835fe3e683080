"""Changes of CRDs for people and for machines.

The JSON form is a promise: fields are added, never renamed, while ``schemaVersion`` is 1.

    {"schemaVersion": 1, "tool": "gati-gitops", "version": "0.1.0",
     "summary": {"breaking": 1, "risky": 0, "safe": 2},
     "changes": [{"crd": "gatihandlers.gati.dev", "version": "v1alpha1", "path": "spec.port",
                  "rule": "bound", "level": "breaking", "old": "maximum 65535",
                  "new": "maximum 100", "why": "…", "instead": "…",
                  "file": "crds/new.yaml", "line": 12, "column": 9}]}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from gati_gitops import __version__
from gati_gitops.errors import Place, Problem, Severity
from gati_gitops.preview.crds.model import CrdChange, Level
from gati_gitops.redact import redact
from gati_gitops.report import report
from gati_gitops.report.clean import safe

_STYLES = {Level.BREAKING: "1;31", Level.RISKY: "1;33", Level.SAFE: "32"}
_LONG = 60
_MANY = 10
_ROOM = " " * 12

Where = Callable[[CrdChange], Place]


def write(
    changes: Sequence[CrdChange],
    format: str = "text",
    *,
    place: Where,
    colour: bool = False,
    width: int = 100,
) -> str:
    """The changes in one of the formats that reports have."""
    if format == "json":
        return _json(changes, place)
    if format == "text":
        return _text(changes, colour=colour, width=width)
    return report([_problem(c, place(c)) for c in changes if c.level is not Level.SAFE], format)


def counted(changes: Sequence[CrdChange]) -> str:
    """``1 breaking, 2 risky and 5 safe changes``."""
    numbers = [(sum(c.level is level for c in changes), level) for level in Level]
    parts = [f"{number} {level}" for number, level in numbers if number]
    if not parts:
        return "no changes"
    listed = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return f"{listed} change{'s' * (len(changes) != 1)}"


def _text(changes: Sequence[CrdChange], *, colour: bool, width: int) -> str:
    def paint(style: str, text: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if colour else text

    lines: list[str] = []
    for (crd, version), group in groupby(changes, key=lambda c: (c.crd, c.version)):
        lines += [paint("1", safe(f"{crd} {version}".rstrip()))]
        alike: dict[tuple[object, ...], list[CrdChange]] = {}
        for change in group:
            alike.setdefault(_alike(change), []).append(change)
        for same in alike.values():
            level = paint(_STYLES[same[0].level], f"{same[0].level:<8}")
            lines.append(f"  {level}  {safe(_what(same))}  {_moved(same[0])}".rstrip())
            lines += [f"{_ROOM}{line}" for line in _paths(same)]
            lines += _said(same[0], width)
        lines.append("")
    return "".join(f"{line}\n" for line in (*lines, counted(changes)))


def _alike(change: CrdChange) -> tuple[object, ...]:
    """Changes that are the same but for the field; one sentence is enough for all of them."""
    return (change.level, change.rule, change.old, change.new, change.why, change.instead)


def _what(same: list[CrdChange]) -> str:
    if len(same) > 1:
        return f"{same[0].rule} in {len(same)} fields"
    return f"{same[0].path}: {same[0].rule}" if same[0].path else str(same[0].rule)


def _paths(same: list[CrdChange]) -> Iterator[str]:
    if len(same) > 1:
        yield from (safe(change.path) for change in same[:_MANY])
        if len(same) > _MANY:
            yield f"and {len(same) - _MANY} more; --format json names all"


def _moved(change: CrdChange) -> str:
    if change.old is None and change.new is None:
        return ""
    old, new = (safe(_cut(value or "none")) for value in (change.old, change.new))
    return f"{old} → {new}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def _said(change: CrdChange, width: int) -> Iterator[str]:
    said = [change.why, *([f"instead: {change.instead}"] if change.instead else [])]
    for sentence in said:
        for line in wrap(safe(sentence), max(width - len(_ROOM), 40)):
            yield f"{_ROOM}{line}"


def _json(changes: Sequence[CrdChange], place: Where) -> str:
    listed = []
    for change in changes:
        where = place(change)
        listed.append(
            {
                "crd": change.crd,
                "version": change.version,
                "path": change.path,
                "rule": str(change.rule),
                "level": str(change.level),
                "old": change.old and redact(change.old),
                "new": change.new and redact(change.new),
                "why": redact(change.why),
                "instead": change.instead,
                "file": where.file,
                "line": where.line,
                "column": where.column,
            }
        )
    data = {
        "schemaVersion": 1,
        "tool": "gati-gitops",
        "version": __version__,
        "summary": {str(level): sum(c.level is level for c in changes) for level in Level},
        "changes": listed,
    }
    return json.dumps(data, indent=2) + "\n"


def _problem(change: CrdChange, place: Place) -> Problem:
    """As reports of specs have it: what breaks is an error, what may break a warning."""
    severity = Severity.ERROR if change.level is Level.BREAKING else Severity.WARNING
    where = f"{change.crd} {change.version}".rstrip()
    moved = f": {change.old or 'none'} → {change.new or 'none'}" if change.old or change.new else ""
    message = f"{where}: {change.rule}{moved}: {change.why}"
    return Problem(f"crd-{change.rule}", message, place, change.path, change.instead, severity)
