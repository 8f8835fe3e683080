"""Words, numbers and little differences that every form for people shares."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gati_gitops.preview.model import (
    Action,
    Amount,
    ChangeClass,
    FieldChange,
    ObjectChange,
    Op,
    Radius,
    Review,
    State,
    Target,
    Totals,
    UnitReview,
    VersionReview,
)
from gati_gitops.preview.quantities import show_cpu, show_memory
from gati_gitops.yamlio.emit import dump

SIGNS = {
    Action.CREATE: "+",
    Action.CHANGE: "~",
    Action.RECREATE: "!",
    Action.RENAME: ">",
    Action.DELETE: "-",
}
ACTIONS = {
    Action.CREATE: "created",
    Action.DELETE: "deleted",
    Action.CHANGE: "changed",
    Action.RECREATE: "recreated",
    Action.RENAME: "renamed",
}
Row = tuple[str, str]
"""A line of a difference: its sign (``-``, ``+`` or a space) and its text."""


def counted(number: int, one: str, many: str = "") -> str:
    """``1 unit``, ``1,200 units``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: Iterable[str]) -> str:
    """``a, b and c``"""
    *most, last = [*words] or [""]
    return f"{', '.join(most)} and {last}" if most else last


def some(words: Sequence[str], most: int) -> str:
    """The first of many, and how many more there are."""
    if len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most:,} more"


# -- the whole -----------------------------------------------------------------------------------


def reach(radius: Radius) -> str:
    """``57 units on 3 clusters in 2 environments``"""
    if not radius.environments:
        return counted(radius.units, "unit")
    if not radius.units and not radius.objects:
        return f"the settings of {counted(radius.environments, 'environment')}"
    where = f"on {counted(radius.clusters, 'cluster')} in " if radius.clusters > 1 else "in "
    where += counted(radius.environments, "environment")
    return f"{counted(radius.units, 'unit')} {where}"


def effect(radius: Radius) -> str:
    """``3 objects created, 120 changed``"""
    numbers = [
        (radius.created, "created"),
        (radius.changed, "changed"),
        (radius.recreated, "recreated"),
        (radius.renamed, "renamed"),
        (radius.deleted, "deleted"),
    ]
    said = [f"{number:,} {word}" for number, word in numbers if number]
    if not said:
        return "no object changes"
    first = next(number for number, _ in numbers if number)
    head, _, rest = said[0].partition(" ")
    return ", ".join([f"{head} object{'s' * (first != 1)} {rest}", *said[1:]])


def compared(review: Review) -> tuple[str, str]:
    """The two sides as their user called them, with what revision that was."""
    base, head = (
        f"{side.name} ({side.commit[:8]})"
        if side.commit and side.commit != side.name
        else side.name
        for side in (review.base, review.head)
    )
    return base, head


def ledgers(review: Review) -> str:
    """Of which output; where there is none, a note of the review says what that means."""
    return f"with the ledgers of {review.ledger}" if review.ledger else ""


# -- where ---------------------------------------------------------------------------------------


Known = Mapping[str, Sequence[str]]
"""The environments of a review in their order, each with its clusters."""


def known_places(review: Review) -> Known:
    return {
        environment.name: tuple(cluster.name for cluster in environment.clusters)
        for environment in review.environments
    }


def places(targets: Iterable[Target], known: Known, *, most: int = 8) -> str:
    """``prod (eu), staging``: environments, and of which only a part is meant, the clusters."""
    found: dict[str, dict[str, None]] = {}
    for target in targets:
        if target.environment:
            clusters = found.setdefault(target.environment, {})
            if target.cluster:
                clusters[target.cluster] = None
    order = list(known)
    names = sorted(found, key=lambda name: order.index(name) if name in known else len(order))
    return some(
        [
            f"{name} ({some(list(found[name]), 4)})"
            if found[name] and set(found[name]) != set(known.get(name, ()))
            else name
            for name in names
        ],
        most,
    )


def subject(targets: Sequence[Target]) -> str:
    """What a finding is about: a unit, an object, or nothing in particular."""
    if units := {target.unit for target in targets if target.unit}:
        return min(units) if len(units) == 1 else counted(len(units), "unit")
    objects = [target.object for target in targets if target.object]
    return str(objects[0]) if objects else ""


# -- versions ------------------------------------------------------------------------------------


def version_line(version: VersionReview) -> str:
    """``1.3.0 Starting → Canary 10 %``: what a version is, and what it becomes."""
    before, after = version.before, version.after
    name = f"{version.id} (was {version.was})" if version.was else version.id
    if before is None:
        return f"{name} new: {_state(after)}" if after else name
    if after is None:
        return f"{name} goes (was {_state(before)})"
    if replace(before, waiting=after.waiting) == after:
        return f"{name} {_state(after)}"
    old, new = _state(before), _state(after)
    return f"{name} {old}" + (f" → {new}" if old != new else "")


def _state(state: State | None) -> str:
    if state is None:
        return "none"
    weight = "" if state.weight is None else f" {state.weight} %"
    waiting = ", a revision waits" if state.waiting else ""
    return f"{state.phase}{weight}{waiting}".strip() or "none"


def unit_line(unit: UnitReview) -> str:
    """What happens to a unit as a whole."""
    if unit.action is Action.RENAME:
        return f"renamed from {unit.was}"
    if unit.retiring:
        return "retires"
    return {Action.CREATE: "new", Action.DELETE: "goes"}.get(unit.action, "changes")


# -- sums ----------------------------------------------------------------------------------------


def money(cost: float) -> str:
    return f"{cost:,.2f}"


def signed(text: str, difference: float) -> str:
    return f"+{text}" if difference > 0 else text.replace("-", "−")


Measure = tuple[str, str, str, str]
"""A name, before, after, and the difference with its sign; empty where there is none."""


def measures(before: Amount, after: Amount) -> list[Measure]:
    """What an environment asks for, in the order people read it."""
    rows: list[tuple[str, float, float, Any]] = [
        ("pods", before.pods, after.pods, lambda number: f"{number:,}"),
        ("CPU", before.cpu_requests, after.cpu_requests, show_cpu),
        ("memory", before.memory_requests, after.memory_requests, show_memory),
        ("CPU limits", before.cpu_limits, after.cpu_limits, show_cpu),
        ("memory limits", before.memory_limits, after.memory_limits, show_memory),
    ]
    if before.cost is not None or after.cost is not None:
        rows.append(("cost a month", before.cost or 0.0, after.cost or 0.0, money))
    return [
        (name, show(old), show(new), signed(show(new - old), new - old) if new != old else "")
        for name, old, new, show in rows
    ]


def changes_sum(totals: Totals) -> bool:
    return totals.least_before != totals.least_after or totals.most_before != totals.most_after


# -- differences ---------------------------------------------------------------------------------


def value_lines(value: Any) -> list[str]:
    """A value as YAML, a line each."""
    if isinstance(value, str) and "\n" in value:
        return value.removesuffix("\n").split("\n")
    return dump(value).decode().removesuffix("\n").split("\n")


def rows_of(change: FieldChange) -> list[Row]:
    """One field as lines with signs."""
    before, after = change.before, change.after
    if change.op is Op.ORDER:
        old = ", ".join(map(str, before or ()))
        new = ", ".join(map(str, after or ()))
        return [("-", f"order: {old}"), ("+", f"order: {new}")]
    if change.op is Op.ADD:
        return [("+", line) for line in value_lines(after)]
    if change.op is Op.REMOVE:
        return [("-", line) for line in value_lines(before)]
    old_lines, new_lines = value_lines(before), value_lines(after)
    if len(old_lines) > 1 and len(new_lines) > 1:
        return list(_hunks(old_lines, new_lines))
    return [*(("-", line) for line in old_lines), *(("+", line) for line in new_lines)]


def _hunks(before: list[str], after: list[str], context: int = 2) -> Iterator[Row]:
    for line in list(difflib.unified_diff(before, after, lineterm="", n=context))[2:]:
        if not line.startswith("@@"):
            yield line[:1], line[1:]
        elif not line.startswith("@@ -1,"):
            yield " ", "…"


def grouped(fields: Iterable[FieldChange]) -> list[tuple[list[str], list[Row]]]:
    """Fields with the same difference, their paths together."""
    groups: dict[tuple[Row, ...], list[str]] = {}
    for field in fields:
        groups.setdefault(tuple(rows_of(field)), []).append(field.shown)
    return [(paths, list(rows)) for rows, paths in groups.items()]


# -- what is said elsewhere ----------------------------------------------------------------------


def own_fields(change: ObjectChange) -> tuple[FieldChange, ...]:
    """The fields that no class says."""
    return tuple(field for field in change.fields if not field.change_class)


def likeness(change: ObjectChange) -> str:
    """What a changed object was, or what a new one is like."""
    if change.was:
        return f"was {change.was}"
    if change.like:
        return f"as {change.like.name}" + (", but:" if change.fields else "")
    return ""


def classes_of(change: ObjectChange) -> list[str]:
    """The classes that say a part of this object's change, or all of it."""
    found = {field.change_class for field in change.fields if field.change_class}
    return sorted(found | ({change.change_class} if change.change_class else set()), key=by_number)


def said_elsewhere(change: ObjectChange) -> bool:
    """Whether classes say everything of this object."""
    if change.change_class:
        return True
    return bool(change.fields) and not own_fields(change)


def unit_classes(unit: UnitReview) -> list[str]:
    found = {name for _, change in unit.all_objects() for name in classes_of(change)}
    return sorted(found, key=by_number)


def is_plain(unit: UnitReview) -> bool:
    """Whether nothing needs to be said of a unit that classes do not say."""
    return (
        unit.action is Action.CHANGE
        and bool(unit_classes(unit))
        and all(said_elsewhere(change) for _, change in unit.all_objects())
        and not (unit.rollout or unit.held or unit.retiring)
    )


def by_number(name: str) -> tuple[str, int, str]:
    """``C2`` before ``C10``."""
    letters = name.rstrip("0123456789")
    return letters, int(name[len(letters) :] or 0), name


def class_reach(change: ChangeClass, known: Known) -> str:
    """``57 units · dev, prod · 3 outliers``"""
    parts = [
        counted(change.units, "unit") if change.units else counted(len(change.targets), "place")
    ]
    if where := places(change.targets, known, most=6):
        parts.append(where)
    if change.outliers:
        units = {(one.target.unit, one.target.version) for one in change.outliers}
        parts.append(counted(len(units), "outlier"))
    return " · ".join(parts)
