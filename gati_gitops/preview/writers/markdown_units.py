"""The units of an environment as folds of a comment, and the differences inside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import groupby

from gati_gitops.preview.model import (
    EnvironmentReview,
    FieldChange,
    Level,
    ObjectChange,
    Review,
    UnitReview,
)
from gati_gitops.preview.writers import words
from gati_gitops.preview.writers.budget import Piece
from gati_gitops.preview.writers.columns import cut
from gati_gitops.preview.writers.escape import block, code, fold, html, html_code, prose
from gati_gitops.preview.writers.gather import Alike, Memory, alike

DOTS = {Level.DANGER: "🔴", Level.WARNING: "🟠", Level.NOTE: "🔵"}
LONGEST_LINE = 400
MOST_NAMES = 30
_MOST_ROWS = 40
_MOST_PATHS = 4


class Rank(IntEnum):
    """Who gets room first; each may take what the ones before it leave."""

    HEAD = 0
    DANGERS = 1
    TITLES = 2
    CLASSES = 3
    DANGEROUS = 4
    """Differences of units that a danger is about."""
    LINES = 5
    """One line for each of the first units."""
    WARNINGS = 6
    WARNED = 7
    MORE_LINES = 8
    UNITS = 9
    REST = 10


def environment_pieces(
    review: Review, environment: EnvironmentReview, memory: Memory
) -> Iterator[Piece]:
    levels = _levels(review, environment.name)
    yield Piece(((Rank.LINES, f"#### {code(environment.name)}"),), about="environment")
    if environment.totals and words.changes_sum(environment.totals):
        yield Piece(((Rank.LINES, _sums(environment)),))
    named = len(environment.clusters) > 1
    for group in alike(environment):
        where = f" on {', '.join(map(html_code, group.clusters))}" if named else ""
        yield from _alike(group, where, levels, environment.name, memory)


def _levels(review: Review, environment: str) -> dict[str, Level]:
    """The worst that is said of each unit of an environment."""
    order = list(Level)
    worst: dict[str, Level] = {}
    for finding in review.findings:
        for target in finding.targets:
            if target.environment == environment and target.unit:
                known = worst.get(target.unit, Level.NOTE)
                worst[target.unit] = min(known, finding.level, key=order.index)
    return worst


def _sums(environment: EnvironmentReview) -> str:
    """What the table does not say: the sums with as many pods as may run."""
    totals = environment.totals
    assert totals is not None
    if (totals.most_before, totals.most_after) == (totals.least_before, totals.least_after):
        return ""
    moved = [
        f"{name} {old} → {new} (**{delta}**)"
        for name, old, new, delta in words.measures(totals.most_before, totals.most_after)
        if delta
    ]
    return f"With the most pods: {' · '.join(moved)}" if moved else ""


def _alike(
    group: Alike, where: str, levels: dict[str, Level], environment: str, memory: Memory
) -> Iterator[Piece]:
    plain = [unit for unit in group.units if words.is_plain(unit)]
    for unit in group.units:
        if not words.is_plain(unit):
            shown = memory.split(unit, environment)
            yield _unit(unit, where, levels.get(unit.unit), *shown)
    for classes, found in groupby(sorted(plain, key=words.unit_classes), words.unit_classes):
        known = [unit.unit for unit in found]
        lead = f"Only {html(', '.join(classes))}{where}: {words.counted(len(known), 'unit')}"
        yield Piece(
            ((Rank.LINES, lead), (Rank.UNITS, f"{lead}: {names(known)}")), about="list of units"
        )
    yield from (object_piece(change, where) for change in group.objects)


def _unit(
    unit: UnitReview,
    where: str,
    level: Level | None,
    objects: Sequence[ObjectChange],
    shown: dict[str, int],
) -> Piece:
    dot = f"{DOTS[level]} " if level in (Level.DANGER, Level.WARNING) else ""
    states = "; ".join(words.version_line(version) for version in unit.versions[:4])
    summary = (
        f"{dot}<code>{words.SIGNS[unit.action]}</code> {html_code(unit.unit)}"
        f" {html(words.unit_line(unit))}{where}" + (f": {html(cut(states, 200))}" if states else "")
    )
    lines = [
        f"- {prose(sentence)}"
        for sentence in (*([f"held: {unit.held}"] if unit.held else ()), *unit.rollout)
    ]
    lines += [
        f"- pods of {code(version.id)} restart" for version in unit.versions if version.restarts
    ]
    lines += [
        f"- {words.counted(number, 'object')} as in {code(name)}" for name, number in shown.items()
    ]
    heads = [_object_head(change) for change in objects]
    whole = [line for change in objects for line in _object_lines(change)]
    said = ["\n".join(lines)] if lines else []
    rank = {Level.DANGER: Rank.DANGEROUS, Level.WARNING: Rank.WARNED}.get(
        level or Level.NOTE, Rank.UNITS
    )
    texts = [f"- {summary}"]
    if objects:
        texts.append(fold(summary, "\n\n".join([*said, block(heads)])))
        texts.append(fold(summary, "\n\n".join([*said, block(whole)])))
    elif said:
        texts.append(fold(summary, *said))
    return Piece(
        tuple((rank if at else min(rank, Rank.LINES), text) for at, text in enumerate(texts)),
        about="unit",
    )


def object_piece(change: ObjectChange, where: str = "") -> Piece:
    summary = f"<code>{words.SIGNS[change.action]}</code> {html_code(str(change.id))}{where}"
    lines = list(_object_lines(change))
    whole = fold(summary, block(lines)) if len(lines) > 1 else f"- {summary}"
    return Piece(
        tuple(dict.fromkeys(((Rank.LINES, f"- {summary}"), (Rank.UNITS, whole)))), about="object"
    )


def _object_head(change: ObjectChange) -> str:
    extra = f" {words.likeness(change)}".rstrip()
    if classes := words.classes_of(change):
        extra += f" as in {', '.join(classes)}"
    return f"@@ {words.SIGNS[change.action]} {change.id}{extra} @@"


def _object_lines(change: ObjectChange) -> Iterator[str]:
    yield _object_head(change)
    yield from field_lines(words.own_fields(change))


def field_lines(fields: Iterable[FieldChange]) -> Iterator[str]:
    for paths, rows in words.grouped(fields):
        yield from (f"  {cut(path, LONGEST_LINE)}:" for path in paths[:_MOST_PATHS])
        if len(paths) > _MOST_PATHS:
            yield f"  and {words.counted(len(paths) - _MOST_PATHS, 'more field')}:"
        yield from (f"{sign}   {cut(text, LONGEST_LINE)}" for sign, text in rows[:_MOST_ROWS])
        if len(rows) > _MOST_ROWS:
            yield f"  … {words.counted(len(rows) - _MOST_ROWS, 'more line')}"


def names(names: Sequence[str], most: int = MOST_NAMES) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(code, names[:most])) + more
