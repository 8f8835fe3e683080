"""Annotations of GitHub's workflow log, one line per problem.

A line is a command to the runner, so user's text in it is escaped as the runner undoes it; an
unescaped line end would let a spec give commands of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from gati_gitops.errors import Problem
from gati_gitops.report.clean import safe


def write(problems: Sequence[Problem]) -> str:
    """``::error file=…,line=…,col=…,title=…::message``."""
    return "".join(_line(problem) + "\n" for problem in problems)


def _line(problem: Problem) -> str:
    place = problem.place
    properties = {"file": safe(place.file)}
    if place.line:
        properties |= {"line": str(place.line), "col": str(place.column)}
    properties["title"] = safe(f"{problem.code} {problem.field}".rstrip())
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    notes = (f"see {place}: {note}" for place, note in problem.related)
    message = "\n".join(safe(line) for line in (problem.message, problem.remedy, *notes) if line)
    return f"::{problem.severity} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
