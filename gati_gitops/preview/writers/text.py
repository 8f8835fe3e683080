"""For a terminal: what matters first, every line within the width.

preview main (4f1c2d3a) → HEAD (9b8e7a61)
2 dangers and 1 warning in 57 units on 3 clusters in 2 environments; 3 objects created, 120 changed

danger   shop/cart  the Service is deleted and made again
           prod (eu, us) · specs/cart.yaml:14
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from gati_gitops.preview.codes import CODES
from gati_gitops.preview.model import (
    Action,
    ChangeClass,
    EnvironmentReview,
    FieldChange,
    Level,
    ObjectChange,
    Review,
    UnitReview,
)
from gati_gitops.preview.writers import words
from gati_gitops.preview.writers.columns import cut, folded, width_of, wrapped
from gati_gitops.preview.writers.gather import (
    Alike,
    Memory,
    Said,
    alike,
    by_code,
    strays,
    verdict,
)
from gati_gitops.preview.writers.readable import readable
from gati_gitops.report.clean import safe

_STYLES = {
    "danger": "1;31",
    "warning": "33",
    "note": "36",
    "head": "1",
    "dim": "2",
    "+": "32",
    "-": "31",
    "~": "33",
    "!": "1;31",
    ">": "35",
}
_MOST_ROWS = 24
_MOST_NAMES = 12
_MOST_PATHS = 4
_MOST_FINDINGS = {Level.DANGER: 200, Level.WARNING: 20, Level.NOTE: 8}
_LEAST_WIDTH = 40


def write_text(review: Review, *, width: int = 100, colour: bool = False) -> str:
    """The review, in lines of at most ``width`` columns."""
    page = _Page(max(width, _LEAST_WIDTH), colour=colour)
    review = readable(review)
    _head(page, review)
    if not review.same:
        _findings(page, review)
        _classes(page, review.classes, words.known_places(review))
        memory = Memory()
        for environment in review.environments:
            if environment.clusters:  # else its settings change, and that is told
                _environment(page, environment, memory)
        _objects_of(page, "Beside the environments", review.objects)
    return page.text()


class _Page:
    """Lines so far; styles and breaks are its business."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self.width = width
        self._colour = colour
        self._lines: list[str] = []

    def text(self) -> str:
        return "\n".join(self._lines).strip("\n") + "\n"

    def gap(self) -> None:
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def paint(self, style: str, text: str) -> str:
        code = _STYLES.get(style) if self._colour and text else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    def put(self, text: str, style: str = "", *, indent: int = 0, hang: int = 0) -> None:
        """A paragraph, broken where it is too long."""
        lead = " " * indent
        for line in wrapped(safe(text), self.width - indent - hang):
            self._lines.append(lead + self.paint(style, line))
            if hang:
                lead, hang = " " * (indent + hang), 0

    def titled(self, title: str, style: str, text: str, *, indent: int) -> None:
        """A title, and what explains it on the same line."""
        title = safe(title)
        whole = f"{title}: {safe(text)}" if text else title
        for at, line in enumerate(wrapped(whole, self.width - indent - 2)):
            if not at and line.startswith(title):
                line = self.paint(style, title) + self.paint("dim", line[len(title) :])  # noqa: PLW2901
            else:
                line = "  " * bool(at) + self.paint("dim", line)  # noqa: PLW2901
            self._lines.append(" " * indent + line)

    def pair(self, left: str, style: str, right: str, *, indent: int, column: int) -> None:
        """A label, then text in a column of its own."""
        left = cut(safe(left), max(self.width - indent - 4, 8))
        start = max(indent + column, indent + width_of(left) + 2)
        lines = list(wrapped(safe(right), self.width - start))
        if start > self.width // 2 and len(lines) > 1:  # Too little room beside the label.
            start = indent + 4
            lines = ["", *wrapped(safe(right), self.width - start)]
        shown = " " * indent + self.paint(style, left)
        gap = " " * (start - indent - width_of(left))
        self._lines.append((shown + gap + lines[0]).rstrip() if lines else shown)
        self._lines += [" " * start + line for line in lines[1:]]

    def rule(self, title: str, right: str = "") -> None:
        self.gap()
        title = cut(safe(title), self.width)
        right = cut(safe(right), max(self.width - width_of(title) - 2, 0))
        space = " " * (self.width - width_of(title) - width_of(right))
        self._lines.append((self.paint("head", title) + space + self.paint("dim", right)).rstrip())

    def rows(self, rows: Sequence[words.Row], *, indent: int) -> None:
        """Lines of a difference; long ones go on below themselves."""
        room = self.width - indent - 2
        shown = [
            (sign if first else " ", line, sign)
            for sign, text in rows
            for first, line in _marked(folded(safe(text), room))
        ]
        left = len(shown) - _MOST_ROWS
        if left > 1:
            shown = shown[:_MOST_ROWS]
        for mark, line, style in shown:
            self._lines.append(" " * indent + self.paint(style, f"{mark} {line}".rstrip()))
        if left > 1:
            self.put(f"… {words.counted(left, 'more line')}", "dim", indent=indent)


def _marked(lines: Iterable[str]) -> Iterator[tuple[bool, str]]:
    yield from ((not at, line) for at, line in enumerate(lines))


# -- parts ---------------------------------------------------------------------------------------


def _head(page: _Page, review: Review) -> None:
    base, head = words.compared(review)
    page.put(f"preview {base} → {head}", "head")
    if review.same:
        page.put("Nothing changes.")
    else:
        found = verdict(review) or "no dangers"
        page.put(f"{found} in {words.reach(review.radius)}; {words.effect(review.radius)}")
    page.put(words.ledgers(review), "dim")
    for note in review.notes:
        page.put(note, "dim")


def _findings(page: _Page, review: Review) -> None:
    for level in Level:
        if groups := by_code(review, level):
            page.rule(f"{level.capitalize()}s", f"{sum(len(told) for _, told in groups):,}")
            for code, found in groups:
                _group(page, level, code, found)


def _group(page: _Page, level: Level, code: str, found: list[Said]) -> None:
    """Findings of one code; the reason once."""
    meaning = CODES.get(code)
    page.titled(meaning.title if meaning else code, level, meaning.why if meaning else "", indent=2)
    most = _MOST_FINDINGS[level]
    column = min(max(width_of(safe(one.about)) for one in found[:most]) + 2, 34)
    for one in found[:most]:
        if one.about:
            page.pair(one.about, "head", one.message, indent=4, column=column)
        else:
            page.put(one.message, indent=4, hang=2)
        if len(one.units) > 1:
            page.put(words.some(one.units, _MOST_NAMES), indent=6)
        where = [one.where, str(one.place or "")]
        if line := " · ".join(part for part in where if part):
            page.put(line, "dim", indent=6, hang=2)
        if one.remedy:
            page.put(f"fix: {one.remedy}", "+", indent=6, hang=2)
    if len(found) > most:
        page.put(f"and {len(found) - most:,} more", "dim", indent=4)


def _classes(page: _Page, classes: Sequence[ChangeClass], known: words.Known) -> None:
    if not classes:
        return
    page.rule("The same change in many places", f"{len(classes):,}")
    for change in classes:
        sign = words.SIGNS[change.action]
        page.pair(f"{change.id} {sign}", sign, change.title, indent=2, column=6)
        page.put(words.class_reach(change, known), "dim", indent=8, hang=2)
        _fields(page, change.fields, indent=8)
        for targets, fields in strays(change):
            where = words.places(targets, known)
            page.pair(targets[0].unit, "head", f"otherwise, in {where}", indent=8, column=0)
            _fields(page, fields, indent=10)


def _environment(page: _Page, environment: EnvironmentReview, memory: Memory) -> None:
    units = {unit.unit for cluster in environment.clusters for unit in cluster.units}
    named = len(environment.clusters) > 1
    alone = [] if named else [cluster.name for cluster in environment.clusters]
    about = [*alone, *([words.counted(len(units), "unit")] if units else [])]
    page.rule(environment.name, " · ".join(about))
    if environment.totals and words.changes_sum(environment.totals):
        _totals(page, environment)
    for group in alike(environment):
        _alike(page, group, environment.name, memory, named=named)


def _totals(page: _Page, environment: EnvironmentReview) -> None:
    totals = environment.totals
    assert totals is not None
    if not totals.whole:
        page.put("what the units that change request:", "dim", indent=2)
    least, most = (
        (totals.least_before, totals.least_after),
        (totals.most_before, totals.most_after),
    )
    sums = {"sum": least} if least == most else {"fewest": least, "most": most}
    for label, (before, after) in sums.items():
        moved = [
            f"{name} {old} → {new} ({delta})"
            for name, old, new, delta in words.measures(before, after)
            if delta
        ]
        if moved:
            page.pair(label, "dim", " · ".join(moved), indent=2, column=8)


def _alike(page: _Page, group: Alike, environment: str, memory: Memory, *, named: bool) -> None:
    if named:
        page.put(", ".join(group.clusters), "head", indent=2, hang=2)
    plain = [unit for unit in group.units if words.is_plain(unit)]
    for unit in group.units:
        if not words.is_plain(unit):
            _unit(page, unit, environment, memory)
    for names, units in groupby(sorted(plain, key=words.unit_classes), words.unit_classes):
        known = [unit.unit for unit in units]
        page.pair(
            f"only {', '.join(names)}",
            "dim",
            f"{words.counted(len(known), 'unit')}: {words.some(known, _MOST_NAMES)}",
            indent=4,
            column=0,
        )
    for change in group.objects:
        _object(page, change, indent=4)


def _unit(page: _Page, unit: UnitReview, environment: str, memory: Memory) -> None:
    sign = words.SIGNS[unit.action]
    page.pair(f"{sign} {unit.unit}", sign, words.unit_line(unit), indent=4, column=0)
    for version in unit.versions:
        restarts = "; its pods restart" if version.restarts else ""
        page.put(words.version_line(version) + restarts, indent=6, hang=2)
    for sentence in (*([f"held: {unit.held}"] if unit.held else ()), *unit.rollout):
        page.put(f"› {sentence}", "note", indent=6, hang=2)
    fresh, known = memory.split(unit, environment)
    for change in fresh:
        _object(page, change, indent=6)
    for name, number in known.items():
        page.put(f"{words.counted(number, 'object')} as in {name}", "dim", indent=6)


def _object(page: _Page, change: ObjectChange, *, indent: int) -> None:
    sign = words.SIGNS[change.action]
    extra = [f"as in {', '.join(names)}"] if (names := words.classes_of(change)) else []
    if likeness := words.likeness(change):
        extra.insert(0, likeness)
    if change.action is Action.RECREATE:
        extra.insert(0, "deleted and made again")
    page.pair(f"{sign} {change.id}", sign, "; ".join(extra), indent=indent, column=0)
    _fields(page, words.own_fields(change), indent=indent + 4)


def _fields(page: _Page, fields: Iterable[FieldChange], *, indent: int) -> None:
    for paths, rows in words.grouped(fields):
        for path in paths[:_MOST_PATHS]:
            page.put(path, indent=indent, hang=2)
        if len(paths) > _MOST_PATHS:
            more = words.counted(len(paths) - _MOST_PATHS, "more field")
            page.put(f"and {more}", "dim", indent=indent)
        page.rows(rows, indent=indent + 2)


def _objects_of(page: _Page, title: str, objects: Sequence[ObjectChange]) -> None:
    if objects:
        page.rule(title, words.counted(len(objects), "object"))
        for change in objects:
            _object(page, change, indent=4)
