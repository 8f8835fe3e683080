"""JSON. The shape is a promise: fields are added, never renamed, while ``schemaVersion`` is 1.

    {"schemaVersion": 1, "tool": "gati-gitops", "version": "0.1.0",
     "summary": {"errors": 1, "warnings": 0},
     "problems": [{"severity": "error", "code": "wrong-type", "file": "users.yaml", "line": 7,
                   "column": 12, "field": "spec.version", "message": "…", "remedy": "…",
                   "related": [{"file": "…", "line": 1, "column": 1, "message": "…"}]}]}

Lines and columns count from 1; 0 means the file as a whole. Problems are sorted by place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gati_gitops import __version__
from gati_gitops.errors import Place, Problem
from gati_gitops.redact import redact

SCHEMA_VERSION = 1


def write(problems: Sequence[Problem]) -> str:
    """One JSON object, indented, with a line end."""
    errors = sum(problem.is_error for problem in problems)
    found = {
        "schemaVersion": SCHEMA_VERSION,
        "tool": "gati-gitops",
        "version": __version__,
        "summary": {"errors": errors, "warnings": len(problems) - errors},
        "problems": [_problem(problem) for problem in problems],
    }
    return json.dumps(found, indent=2) + "\n"


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "severity": str(problem.severity),
        "code": problem.code,
        **_place(problem.place),
        "field": problem.field,
        "message": redact(problem.message),
        "remedy": redact(problem.remedy),
        "related": [{**_place(place), "message": note} for place, note in problem.related],
    }


def _place(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line, "column": place.column}
