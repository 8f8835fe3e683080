"""Findings for people and for machines: one writer per format, each a function to text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gati_gitops.errors import Problem

FORMATS = ("text", "json", "github", "sarif")


def report(
    problems: Sequence[Problem],
    format: str = "text",
    *,
    sources: Mapping[str, bytes] | None = None,
    colour: bool = False,
) -> str:
    """Problems in one of the formats. ``sources`` lets the text form show the lines it is about."""
    if format == "json":
        from gati_gitops.report import machine

        return machine.write(problems)
    if format == "github":
        from gati_gitops.report import github

        return github.write(problems)
    if format == "sarif":
        from gati_gitops.report import sarif

        return sarif.write(problems)
    from gati_gitops.report import text

    return text.write(problems, sources or {}, colour=colour)


def counted(problems: Sequence[Problem]) -> str:
    """``2 errors and 1 warning``."""
    errors = sum(problem.is_error for problem in problems)
    parts = [
        f"{number} {word}{'s' * (number != 1)}"
        for number, word in ((errors, "error"), (len(problems) - errors, "warning"))
        if number
    ]
    return " and ".join(parts) or "no problems"
