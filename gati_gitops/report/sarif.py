"""SARIF 2.1.0, which code hosts and editors show beside the line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from gati_gitops import __version__
from gati_gitops.errors import Place, Problem
from gati_gitops.redact import redact
from gati_gitops.report.rules import RULES

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write(problems: Sequence[Problem]) -> str:
    """One log with one run; each code that occurs is a rule."""
    codes = sorted({problem.code for problem in problems})
    run = {
        "tool": {
            "driver": {
                "name": "gati-gitops",
                "version": __version__,
                "rules": [_rule(code, problems) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(problem, codes.index(problem.code)) for problem in problems],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str, problems: Sequence[Problem]) -> dict[str, Any]:
    # A code without an entry is described by the first problem that has it.
    first = next(problem for problem in problems if problem.code == code)
    summary, remedy = RULES.get(code, (code.replace("-", " "), redact(first.remedy)))
    rule: dict[str, Any] = {"id": code, "shortDescription": {"text": summary}}
    if remedy:
        rule["help"] = {"text": remedy}
    return rule


def _result(problem: Problem, rule: int) -> dict[str, Any]:
    message = f"{problem.field}: {problem.message}" if problem.field else problem.message
    if problem.remedy:
        message += f"\nFix: {problem.remedy}"
    result: dict[str, Any] = {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": str(problem.severity),
        "message": {"text": redact(message)},
        "locations": [_location(problem.place)],
    }
    if problem.related:
        result["relatedLocations"] = [
            {**_location(place), "message": {"text": note}} for place, note in problem.related
        ]
    return result


def _location(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": quote(place.file.encode(errors="replace"))}
    }
    if place.line:
        physical["region"] = {"startLine": place.line, "startColumn": place.column}
    return {"physicalLocation": physical}
