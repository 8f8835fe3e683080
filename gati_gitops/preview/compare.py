"""Two objects, field by field: what was added, removed, replaced or put in another order.

Lists are compared by what their elements are merged by: Kubernetes' own keys where its schema has
them, else their names where all of them have one. Other lists are aligned, so that an element that
comes in between is one addition and not a change of all that follow.

``apply`` is the inverse: the changes between two objects turn the first into the second.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from gati_gitops.preview.model import FieldChange, Keyed, Op, Path
from gati_gitops.render.openapi import Type, builtin

LONGEST_ALIGNED = 400
"""Elements of lists that are aligned; longer ones are compared position by position."""

Key = tuple[Any, ...]


def compare(before: dict[str, Any], after: dict[str, Any]) -> tuple[FieldChange, ...]:
    """What turns one object into the other, in the order of the fields' names."""
    known = builtin().type_of(str(after.get("apiVersion")), str(after.get("kind")))
    return tuple(_mapping((), before, after, known or {}))


def same(one: Any, two: Any) -> bool:
    """Equal as JSON: true is not 1, and 1 is not 1.0."""
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(one == two)


def _value(path: Path, before: Any, after: Any, known: Any) -> Iterator[FieldChange]:
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _mapping(path, before, after, known if isinstance(known, dict) else {})
    elif isinstance(before, list) and isinstance(after, list):
        yield from _sequence(path, before, after, known)
    elif not same(before, after):
        yield FieldChange(path, Op.REPLACE, before, after)


def _mapping(
    path: Path, before: dict[str, Any], after: dict[str, Any], known: Type
) -> Iterator[FieldChange]:
    for name in sorted(before.keys() | after.keys()):
        here = (*path, name)
        if name not in after:
            yield FieldChange(here, Op.REMOVE, before[name])
        elif name not in before:
            yield FieldChange(here, Op.ADD, after=after[name])
        else:
            yield from _value(here, before[name], after[name], known.get(name) or known.get("*"))


# -- lists ---------------------------------------------------------------------------------------


def _sequence(path: Path, before: list[Any], after: list[Any], known: Any) -> Iterator[FieldChange]:
    of, names = known if isinstance(known, tuple) else ({}, ())
    if same(before, after):
        return
    for keys in (names, ("name",)):
        one, two = _by_key(before, keys), _by_key(after, keys)
        if one is not None and two is not None and (one.keys() & two.keys() or not one or not two):
            yield from _keyed(path, one, two, keys, of)
            return
    yield from _aligned(path, before, after, of)


def _by_key(elements: list[Any], names: Sequence[str]) -> dict[Key, Any] | None:
    """Elements by their keys; None where one has none, or two have the same."""
    found: dict[Key, Any] = {}
    for element in elements:
        if not names or not isinstance(element, dict):
            return None
        key = tuple(element.get(name) for name in names)
        if all(value is None for value in key) or any(isinstance(v, (dict, list)) for v in key):
            return None
        found[key] = element
    return found if len(found) == len(elements) else None


def _keyed(
    path: Path, before: dict[Key, Any], after: dict[Key, Any], names: Sequence[str], known: Type
) -> Iterator[FieldChange]:
    for key, element in before.items():
        if key not in after:
            yield FieldChange((*path, _step(names, key)), Op.REMOVE, element)
    for index, (key, element) in enumerate(after.items()):
        here = (*path, _step(names, key))
        if key not in before:
            yield FieldChange(here, Op.ADD, after=element, index=index)
        else:
            yield from _value(here, before[key], element, known)
    stayed = [key for key in before if key in after]
    now = [key for key in after if key in before]
    if stayed != now:
        yield FieldChange(path, Op.ORDER, _shown(names, stayed), _shown(names, now))


def _step(names: Sequence[str], key: Key) -> Keyed:
    return Keyed(tuple(zip(names, key, strict=True)))


def _shown(names: Sequence[str], keys: Iterable[Key]) -> list[Any]:
    return [dict(_step(names, key).keys) for key in keys]


def _aligned(path: Path, before: list[Any], after: list[Any], known: Any) -> Iterator[FieldChange]:
    """Positions of what goes are those before, of all else those after."""
    for one, two, three, four in _gaps(before, after):
        paired = min(two - one, four - three)
        for offset in range(paired):
            yield from _value(
                (*path, three + offset), before[one + offset], after[three + offset], known
            )
        for index in range(one + paired, two):
            yield FieldChange((*path, index), Op.REMOVE, before[index])
        for index in range(three + paired, four):
            yield FieldChange((*path, index), Op.ADD, after=after[index], index=index)


def _gaps(before: list[Any], after: list[Any]) -> Iterator[tuple[int, int, int, int]]:
    """The stretches that differ."""
    if max(len(before), len(after)) > LONGEST_ALIGNED:
        yield 0, len(before), 0, len(after)
        return
    one, two = [_canonical(item) for item in before], [_canonical(item) for item in after]
    for tag, *stretch in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if tag != "equal":
            start, end, start_after, end_after = stretch
            yield start, end, start_after, end_after


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


# -- the inverse ---------------------------------------------------------------------------------


def apply(changes: Iterable[FieldChange], value: Any) -> Any:
    """The value after the changes; the one that was given stays as it is."""
    return _applied([(change.path, change) for change in changes], value)


Pending = list[tuple[Path, FieldChange]]


def _applied(changes: Pending, value: Any) -> Any:
    whole = [change for path, change in changes if not path and change.op is not Op.ORDER]
    if whole:
        return whole[-1].after
    if not changes:
        return value
    if isinstance(value, dict):
        return _applied_to_mapping(changes, value)
    steps = [path[0] for path, _ in changes if path]
    keyed = next((step for step in steps if isinstance(step, Keyed)), None)
    if keyed is not None or not steps:
        return _applied_by_key(changes, value)
    return _applied_by_position(changes, value)


def _applied_to_mapping(changes: Pending, value: dict[str, Any]) -> dict[str, Any]:
    found = dict(value)
    for name, below in _below(changes).items():
        if any(not path and change.op is Op.REMOVE for path, change in below):
            del found[str(name)]
        else:
            found[str(name)] = _applied(below, found.get(str(name)))
    return found


def _below(changes: Pending) -> dict[Any, Pending]:
    found: dict[Any, Pending] = {}
    for path, change in changes:
        if path:
            found.setdefault(path[0], []).append((path[1:], change))
    return found


def _applied_by_key(changes: Pending, value: list[Any]) -> list[Any]:
    below, kept, added = _below(changes), [], []
    for element in value:
        step = next((s for s in below if _named(element, s)), None)
        inside = below.get(step, [])
        if not any(not path and change.op is Op.REMOVE for path, change in inside):
            kept.append(_applied(inside, element))
    for inside in below.values():
        added += [c for path, c in inside if not path and c.op is Op.ADD]
    for path, change in changes:
        if not path and change.op is Op.ORDER:
            order = [Keyed(tuple(wanted.items())) for wanted in change.after]
            kept = [next(e for e in kept if _named(e, step)) for step in order]
    for change in sorted(added, key=lambda change: change.index or 0):
        kept.insert(change.index or 0, change.after)
    return kept


def _named(element: Any, step: Any) -> bool:
    return isinstance(element, dict) and all(
        element.get(name) == value for name, value in step.keys
    )


def _applied_by_position(changes: Pending, value: list[Any]) -> list[Any]:
    gone = {path[0] for path, c in changes if len(path) == 1 and c.op is Op.REMOVE}
    added = {path[0]: c for path, c in changes if len(path) == 1 and c.op is Op.ADD}
    inside = _below([(p, c) for p, c in changes if len(p) > 1 or c.op in (Op.REPLACE, Op.ORDER)])
    kept = iter([element for index, element in enumerate(value) if index not in gone])
    found: list[Any] = []
    for index in range(len(value) - len(gone) + len(added)):
        if index in added:
            found.append(added[index].after)
        else:
            found.append(_applied(inside.get(index, []), next(kept)))
    return found
