"""Annotations of GitHub's workflow log: one line for each danger and warning of a spec's line.

GitHub shows ten errors and ten warnings of a step, so what concerns many units is said once. User's
text is escaped as the runner undoes it; an unescaped line end would let a spec give it commands.
"""

from __future__ import annotations

from gati_gitops.preview.codes import CODES
from gati_gitops.preview.model import Level, Review
from gati_gitops.preview.writers import words
from gati_gitops.preview.writers.gather import Mark, marks
from gati_gitops.report.clean import safe

_COMMANDS = {Level.DANGER: "error", Level.WARNING: "warning"}
_MOST = 12


def write_github(review: Review) -> str:
    """``::error file=…,line=…,title=…::message``; nothing where nothing is dangerous."""
    return "".join(_line(mark) + "\n" for mark in marks(review, _COMMANDS))


def _line(mark: Mark) -> str:
    properties = {}
    if mark.place:
        properties["file"] = safe(mark.place.file)
        if mark.place.line:
            properties |= {"line": str(mark.place.line), "col": str(mark.place.column or 1)}
    meaning = CODES.get(mark.code)
    properties["title"] = meaning.title if meaning else safe(mark.code)
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = "\n".join(safe(line) for line in message_lines(mark))
    return f"::{_COMMANDS[mark.level]} {listed}::{_data(message)}"


def message_lines(mark: Mark) -> list[str]:
    """What a mark says, without markup."""
    lines = []
    for one in mark.told[:_MOST]:
        lines.append(f"{one.about}: {one.message}" if one.about else one.message)
        if len(one.units) > 1:
            lines.append(words.some(one.units, _MOST))
        if one.where:
            lines.append(f"in {one.where}")
    if len(mark.told) > _MOST:
        lines.append(f"and {len(mark.told) - _MOST:,} more")
    remedies = dict.fromkeys(one.remedy for one in mark.told if one.remedy)
    return lines + [f"fix: {remedy}" for remedy in list(remedies)[:3]]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
