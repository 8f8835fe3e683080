"""The report for a terminal.

prod on eu-1
  shop/cart
    HTTPRoute shop/handler-cart
      spec.rules[name=split].backendRefs[name=handler-cart-v1].weight
        Git 100, live 3 (kubectl-patch at 2026-05-04T10:11:12Z)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gati_gitops.decide.drift.model import FileDrift, ObjectDrift, PlaceDrift, Report, UnitDrift
from gati_gitops.reconcile.drift.told import (
    difference,
    engine_state,
    object_state,
    split_words,
    unit_notes,
    writers,
)
from gati_gitops.report.clean import safe

_STYLES = {"head": "1", "bad": "31", "dim": "2", "odd": "33"}


def report_lines(report: Report, *, colour: bool = False) -> list[str]:
    """What drifted, and what could not be seen; nothing at all where all is well."""
    pen = _Pen(colour)
    return [line for place in report.places for line in _place(place, pen)]


class _Pen:
    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, text: str, style: str = "") -> str:
        text = safe(text)
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colour and style else text


def _place(place: PlaceDrift, pen: _Pen) -> Iterator[str]:
    found: list[str] = []
    for unit in place.units:
        if unit.drifted:
            found += [f"  {line}" for line in _unit(unit, pen)]
    for item in place.objects:
        found += [f"  {line}" for line in _object(item, pen)]
    found += [f"  {line}" for line in _files(place.files, pen)]
    found += [f"  {pen(f'refused: {place.refused}', 'bad')}"] if place.refused else []
    found += [f"  {pen('not seen', 'odd')}  {pen(str(gap))}" for gap in place.unseen]
    if found:
        yield pen(f"{place.environment} on {place.cluster}", "head")
        yield from found


def _unit(unit: UnitDrift, pen: _Pen) -> Iterator[str]:
    yield pen(str(unit.unit), "head")
    yield from (f"  {pen(note, 'odd')}" for note in unit_notes(unit))
    if unit.out_of_sync:
        yield f"  engine   {pen(engine_state(unit.engine), 'bad')}"
    elif said := engine_state(unit.engine):
        yield f"  engine   {pen(said, 'dim')}"
    yield from (f"  traffic  {pen(line, 'bad')}" for line in split_words(unit.split))
    for item in unit.objects:
        yield from (f"  {line}" for line in _object(item, pen))
    yield from (f"  {line}" for line in _files(unit.files, pen))


def _object(item: ObjectDrift, pen: _Pen) -> Iterator[str]:
    state = object_state(item)
    yield f"{pen(str(item.id))} {pen(state, 'bad')}".rstrip()
    for field in item.fields:
        yield f"  {pen(field.shown, 'dim')}"
        who = writers(field.who)
        yield f"    {pen(difference(field), 'bad')}" + (f" {pen(f'({who})', 'dim')}" if who else "")


def _files(files: Iterable[FileDrift], pen: _Pen) -> Iterator[str]:
    for file in files:
        why = f": {file.why}" if file.why else ""
        yield f"{pen(file.path)} {pen(f'is {file.what}{why}', 'bad')}"
