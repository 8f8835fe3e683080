"""Tests of one value: enumerations, bounds, patterns and formats, before and after."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from gati_gitops.check.values import python_pattern, value_tests
from gati_gitops.preview.crds.found import RATCHETED, Found, breaking, risky, safe, said
from gati_gitops.preview.crds.model import At, Level, Node, Rule, spelled, text
from gati_gitops.preview.crds.patterns import included
from gati_gitops.preview.crds.shapes import types

_SIZES = (
    ("minLength", "maxLength", "characters"),
    ("minItems", "maxItems", "entries"),
    ("minProperties", "maxProperties", "keys"),
)
_BITS = {"int32": 31, "int64": 63}
Edge = tuple[Fraction, bool] | None
"""A bound, and whether it is itself outside; None: there is none."""


def value_changes(old: Node, new: Node, at: At) -> Iterator[Found]:
    """What changes for the values of a node that both sides have."""
    yield from _enum(old, new, at)
    tests = (*_sizes(old, new, at), *_numbers(old, new, at), *_multiple(old, new, at))
    tests += (*_unique(old, new, at), *_pattern(old, new, at), *_format(old, new, at))
    proved = any(found.level is not Level.SAFE for found in tests) and _all_pass(old, new)
    for found in tests:
        if proved and found.level is not Level.SAFE:
            why = "every value that the list of allowed values had passes it"
            yield replace(found, level=Level.SAFE, why=why, instead="")
        else:
            yield found


def _all_pass(old: Node, new: Node) -> bool:
    """Whether the few values that were allowed at all pass the new tests."""
    allowed = old.get("enum")
    if not isinstance(allowed, list):
        return False
    pattern = new.get("pattern")
    if pattern is not None and (not isinstance(pattern, str) or python_pattern(pattern) is None):
        return False
    kept = {word: value for word, value in new.items() if word != "enum"}
    if kept.get("format") != old.get("format") and kept.get("format") not in (None, *_BITS):
        return False  # Not every format that the API server knows is known here.
    try:
        return all(passes(value) for _, passes, _ in value_tests(kept) for value in allowed)
    except (TypeError, ZeroDivisionError):
        return False


# --------------------------------------------------------------------------------------- the rules


def _enum(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = old.get("enum"), new.get("enum")
    if before == after:
        return
    if not isinstance(after, list):
        yield risky(
            at, Rule.ENUM, said(old, "enum"), said(new, "enum"),
            "any value is taken now: programs that know only the old ones will meet others",
            "list the new values, and teach readers about them first",
        )  # fmt: skip
        return
    allowed = {spelled(value, 10_000): value for value in after}
    if not isinstance(before, list):
        both = {"true", "false"} <= allowed.keys() and types(old) == frozenset(("boolean",))
        if both:
            yield safe(at, Rule.ENUM, None, said(new, "enum"), "it leaves out no value")
            return
        yield breaking(
            at, Rule.ENUM, None, said(new, "enum"),
            f"any value was taken, other ones are refused now; {RATCHETED}",
            "describe the values without refusing others, or list them in a new version",
        )  # fmt: skip
        return
    known = {spelled(value, 10_000): value for value in before}
    if gone := [text_ for text_ in known if text_ not in allowed]:
        yield breaking(
            at, Rule.ENUM, said(old, "enum"), said(new, "enum"),
            f"{', '.join(gone[:5])} {'are' if len(gone) > 1 else 'is'} refused now; {RATCHETED}",
            "keep the value and give it the meaning of the one that replaces it",
        )  # fmt: skip
    elif more := [text_ for text_ in allowed if text_ not in known]:
        yield risky(
            at, Rule.ENUM, said(old, "enum"), said(new, "enum"),
            f"programs that know only the old values will meet {', '.join(more[:5])}",
            "update whoever reads the field before anybody sets the new value",
        )  # fmt: skip
    else:
        yield safe(at, Rule.ENUM, said(old, "enum"), said(new, "enum"), "the same values")


def _sizes(old: Node, new: Node, at: At) -> Iterator[Found]:
    for low, high, what in _SIZES:
        yield from _bound(old, new, at, low, _size(old, low) or None, _size(new, low) or None, what)
        yield from _bound(old, new, at, high, _size(old, high), _size(new, high), what)


def _size(node: Node, word: str) -> Fraction | None:
    return _fraction(node.get(word))


def _bound(
    old: Node,
    new: Node,
    at: At,
    word: str,
    before: Fraction | None,
    after: Fraction | None,
    what: str,
) -> Iterator[Found]:
    if said(old, word) == said(new, word):
        return
    lower = word.startswith("min")
    tighter = after is not None and (
        before is None or (after > before if lower else after < before)
    )
    if tighter:
        yield _tightened(old, new, at, word, f"{'fewer' if lower else 'more'} {what}")
    else:
        yield safe(at, Rule.BOUND, _bounds(old, word), _bounds(new, word), "it refuses nothing new")


def _tightened(old: Node, new: Node, at: At, word: str, which: str) -> Found:
    return breaking(
        at, Rule.BOUND, _bounds(old, word), _bounds(new, word),
        f"values with {which} were taken and are refused now; {RATCHETED}",
        "keep the old bound here and check the tighter one in your controller, or in a new version",
    )  # fmt: skip


def _bounds(node: Node, word: str) -> str | None:
    """A bound as it reads: ``maximum 5, itself excluded``."""
    if word not in node:
        return None
    outside = node.get(f"exclusive{word.capitalize()}") is True
    return f"{word} {spelled(node[word])}" + ", itself excluded" * outside


def _numbers(old: Node, new: Node, at: At) -> Iterator[Found]:
    for word in ("minimum", "maximum"):
        if _bounds(old, word) == _bounds(new, word):
            continue
        before, after = _edge(old, word, formatted=True), _edge(new, word, formatted=False)
        if _tighter(before, after, word):
            which = f"{'lower' if word == 'minimum' else 'higher'} numbers"
            yield _tightened(old, new, at, word, which)
        else:
            yield safe(
                at, Rule.BOUND, _bounds(old, word), _bounds(new, word), "it refuses nothing new"
            )


def _tighter(before: Edge, after: Edge, word: str) -> bool:
    if after is None:
        return False
    if before is None:
        return True
    if after[0] != before[0]:
        return (after[0] > before[0]) == (word == "minimum")
    return after[1] and not before[1]


def _edge(node: Node, word: str, *, formatted: bool) -> Edge:
    """The least or greatest number that is taken."""
    value = _fraction(node.get(word))
    outside = node.get(f"exclusive{word.capitalize()}") is True
    low = word == "minimum"
    if value is not None and "number" not in (types(node) or ("number",)):
        whole = math.ceil(value) if low else math.floor(value)
        if outside and whole == value:
            whole += 1 if low else -1
        value, outside = Fraction(whole), False
    edge: Edge = None if value is None else (value, outside)
    bits = _BITS.get(text(node.get("format"))) if formatted else None
    if bits is not None:
        own: Edge = (Fraction(-(2**bits) if low else 2**bits - 1), False)
        if _tighter(edge, own, word):
            return own
    return edge


def _multiple(old: Node, new: Node, at: At) -> Iterator[Found]:
    if said(old, "multipleOf") == said(new, "multipleOf"):
        return
    before, after = _fraction(old.get("multipleOf")), _fraction(new.get("multipleOf"))
    if after and not (before and before % after == 0):
        yield _tightened(old, new, at, "multipleOf", "other remainders")
    else:
        why = "every value that was taken is still taken"
        yield safe(at, Rule.BOUND, _bounds(old, "multipleOf"), _bounds(new, "multipleOf"), why)


def _unique(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = old.get("uniqueItems") is True, new.get("uniqueItems") is True
    if after and not before:
        yield _tightened(old, new, at, "uniqueItems", "an entry twice")
    elif before != after:
        why = "an entry may be there twice"
        yield safe(at, Rule.BOUND, _bounds(old, "uniqueItems"), _bounds(new, "uniqueItems"), why)


def _pattern(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = text(old.get("pattern")), text(new.get("pattern"))
    if before == after:
        return
    shown = (said(old, "pattern"), said(new, "pattern"))
    if not after:
        yield safe(at, Rule.PATTERN, *shown, "any text is taken")
        return
    least, most = _size(old, "minLength"), _size(old, "maxLength")
    answer = included(before, after, int(least or 0), None if most is None else int(most))
    if answer.included:
        yield safe(at, Rule.PATTERN, *shown, "proved: it takes every text that was taken")
    elif answer.witness is not None:
        yield breaking(
            at, Rule.PATTERN, *shown,
            f"{spelled(answer.witness)}, for one, was taken and is refused now; {RATCHETED}",
            "write a pattern that takes the old values as well",
        )  # fmt: skip
    elif not before:
        yield breaking(
            at, Rule.PATTERN, *shown,
            f"any text was taken, and what does not match is refused now; {RATCHETED}",
            "check it in your controller, or in a new version",
        )  # fmt: skip
    else:
        yield risky(
            at, Rule.PATTERN, *shown,
            "nobody can tell whether it takes every text that the old one took:"
            f" {answer.unknown}; what it does not take is refused",
            "try it on the values that are stored",
        )  # fmt: skip


def _format(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = text(old.get("format")), text(new.get("format"))
    if before == after:
        return
    shown = (said(old, "format"), said(new, "format"))
    if before in ("", *_BITS) and after in ("", *_BITS) and "string" not in (types(new) or ()):
        edges = [
            (_edge(old, word, formatted=True), _edge(new, word, formatted=True))
            for word in ("minimum", "maximum")
        ]
        if all(one == two for one, two in edges):
            yield safe(at, Rule.FORMAT, *shown, "its bounds say the same already")
        else:
            yield risky(
                at, Rule.FORMAT, *shown,
                "the numbers that fit are others: larger ones are refused now, or programs with"
                " the smaller type meet them",
                "state the bounds with minimum and maximum",
            )  # fmt: skip
    elif not after:
        yield safe(at, Rule.FORMAT, *shown, "any value of its type is taken")
    else:
        yield risky(
            at, Rule.FORMAT, *shown,
            f"values that are no {after} are refused, by API servers that know this format;"
            f" {RATCHETED}",
            "try it on the values that are stored",
        )  # fmt: skip


def _fraction(value: Any) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # As it is written: 0.1 means a tenth, not what a machine makes of it.
    return Fraction(str(value)) if math.isfinite(value) else None
