"""Explained fields for people and for machines.

The JSON form is a promise: fields are added, never renamed, while ``schemaVersion`` is 1.

    {"schemaVersion": 1, "tool": "gati-gitops", "version": "0.1.0",
     "objects": [{"file": "overlays/…/scaling.yaml", "object": "HorizontalPodAutoscaler shop/users",
                  "fields": [{"path": "spec.minReplicas", "value": 2, "kind": "spec",
                              "sentence": "…", "field": "spec.replicas", "file": "users.yaml",
                              "line": 8, "column": 13, "also": []}]}]}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import Any

from gati_gitops import __version__
from gati_gitops.preview.explain.model import Explained, Kind
from gati_gitops.report.clean import safe

_STYLES = {Kind.SPEC: "32", Kind.DEFAULT: "33", Kind.RULE: "2", Kind.LEDGER: "35"}
_LONG = 70


@dataclass(frozen=True, slots=True)
class Page:
    """The explained fields of one object."""

    file: str
    object: str
    fields: tuple[Explained, ...]


def as_json(pages: Sequence[Page]) -> str:
    """One JSON object, indented, with a line end."""
    data = {
        "schemaVersion": 1,
        "tool": "gati-gitops",
        "version": __version__,
        "objects": [
            {
                "file": page.file,
                "object": page.object,
                "fields": [
                    {"path": one.path, "value": one.value, **asdict(one.origin)}
                    for one in page.fields
                ],
            }
            for page in pages
        ],
    }
    return json.dumps(data, indent=2, default=str) + "\n"


def as_text(pages: Sequence[Page], *, colour: bool = False, width: int = 100) -> str:
    """A block for each field; all fields of an object are a line each."""
    return "\n".join(_page(page, colour=colour, width=width) for page in pages)


def _page(page: Page, *, colour: bool, width: int) -> str:
    def paint(style: str, text: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if colour else text

    lines = [paint("1", safe(f"{page.object}  {page.file}"))]
    many = len(page.fields) > 3
    for one in page.fields:
        kind = paint(_STYLES[one.origin.kind], f"{one.origin.kind:<7}")
        shown = f"{safe(one.path)}: {safe(_value(one.value))}"
        if many:
            lines.append(f"  {kind}  {shown}  {paint('2', safe(_source(one)))}".rstrip())
            continue
        lines.append(f"  {shown}")
        lines.append(f"    {kind}  {safe(_source(one))}".rstrip())
        sentence = wrap(safe(one.origin.sentence), max(width - 13, 40))
        lines += [f"             {line}" for line in sentence]
        for cause in one.origin.also:
            place = f"{cause.file}:{cause.line}" if cause.line else cause.file
            lines.append(f"    {'and':<7}  {safe(f'{cause.field}  {place}')}")
    return "".join(f"{line}\n" for line in lines)


def _source(one: Explained) -> str:
    origin = one.origin
    if origin.kind is Kind.RULE:
        return ""
    if origin.kind is Kind.DEFAULT:
        return f"{origin.field} in {origin.file} would change it"
    return f"{origin.field}  {origin.place}".strip()


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
