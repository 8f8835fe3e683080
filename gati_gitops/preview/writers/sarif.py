"""SARIF 2.1.0, which code hosts and editors show beside the line of the spec that is the cause."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from gati_gitops import __version__
from gati_gitops.errors import Place
from gati_gitops.preview.codes import CODES
from gati_gitops.preview.model import Level, Review
from gati_gitops.preview.writers.gather import Mark, marks
from gati_gitops.preview.writers.github import message_lines
from gati_gitops.redact import redact
from gati_gitops.report.clean import safe

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Level.DANGER: "error", Level.WARNING: "warning", Level.NOTE: "note"}


def write_sarif(review: Review) -> str:
    """One log with one run; each code that occurs is a rule."""
    found = marks(review, Level)
    codes = sorted({mark.code for mark in found})
    run = {
        "tool": {
            "driver": {
                "name": "gati-gitops preview",
                "version": __version__,
                "rules": [_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(mark, codes.index(mark.code)) for mark in found],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: str) -> dict[str, Any]:
    meaning = CODES.get(code)
    rule: dict[str, Any] = {
        "id": code,
        "shortDescription": {"text": meaning.title if meaning else code.replace("-", " ")},
    }
    if meaning and meaning.why:
        rule["help"] = {"text": meaning.why}
    return rule


def _result(mark: Mark, rule: int) -> dict[str, Any]:
    text = "\n".join(safe(line) for line in message_lines(mark))
    # The same finding of the next commit is the same result, though its line has moved.
    about = "\0".join((mark.code, safe(mark.place.file) if mark.place else "", text))
    result: dict[str, Any] = {
        "ruleId": mark.code,
        "ruleIndex": rule,
        "level": _LEVELS[mark.level],
        "message": {"text": text},
        "partialFingerprints": {"gatiPreview/v1": sha256(about.encode()).hexdigest()},
    }
    if mark.place:
        result["locations"] = [_location(mark.place)]
    return result


def _location(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": quote(redact(place.file).encode(errors="replace"))}
    }
    if place.line:
        physical["region"] = {"startLine": place.line, "startColumn": place.column or 1}
    return {"physicalLocation": physical}
