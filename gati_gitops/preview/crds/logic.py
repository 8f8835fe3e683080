"""CEL rules, and anyOf and its like: where a change can rarely be proved harmless."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gati_gitops.preview.crds.found import (
    NEVER_RATCHETED,
    RATCHETED,
    Found,
    breaking,
    risky,
    safe,
    said,
)
from gati_gitops.preview.crds.model import At, Node, Rule, mapping, sequence, spelled, text
from gati_gitops.preview.crds.shapes import INT_OR_STRING

CEL = "x-kubernetes-validations"
_EITHER = [{"type": "integer"}, {"type": "string"}]


def logic_changes(old: Node, new: Node, at: At) -> Iterator[Found]:
    """Changes of what a schema demands beyond shape and single values."""
    yield from _rules(old, new, at)
    yield from _all_of(old, new, at)
    yield from _any_of(old, new, at)
    for word in ("oneOf", "not"):
        before, after = old.get(word), new.get(word)
        if before != after:
            yield _changed(at, word, before, after)


# --------------------------------------------------------------------------------------------- CEL


def _rules(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = _listed(old), _listed(new)
    gone = {key: rule for key, rule in before.items() if key not in after}
    come = {key: rule for key, rule in after.items() if key not in before}
    for rule in come.values():
        was = _twin(rule, gone)
        place = (*at, CEL)
        if was is not None:
            yield risky(
                place, Rule.CEL, spelled(gone.pop(was).get("rule")), spelled(rule.get("rule")),
                f"nobody can tell what of the old it refuses; {_who(rule)}",
                "try it on the objects that are stored",
            )  # fmt: skip
        else:
            yield breaking(
                place, Rule.CEL, None, spelled(rule.get("rule")),
                f"what it forbids was taken before: {text(rule.get('message')) or 'see the rule'};"
                f" {_who(rule)}",
                "add it in a new version, or let your controller warn first",
            )  # fmt: skip
    for rule in gone.values():
        why = "what it forbade is taken now"
        yield safe((*at, CEL), Rule.CEL, spelled(rule.get("rule")), None, why)


def _who(rule: Node) -> str:
    if "oldSelf" in text(rule.get("rule")):
        return "it compares with the value before, so it is about updates, and is never ratcheted"
    return RATCHETED


def _listed(node: Node) -> dict[str, Node]:
    """Rules by what they demand; how they word it does not matter."""
    rules = [mapping(rule) for rule in sequence(node.get(CEL))]
    return {
        f"{' '.join(text(rule.get('rule')).split())} {rule.get('optionalOldSelf') is True}": rule
        for rule in rules
    }


def _twin(rule: Node, gone: dict[str, Node]) -> str | None:
    """The rule that this one was before: it has its message, or its field and reason."""
    for word in ("message", "messageExpression", "fieldPath"):
        for key, was in gone.items():
            if rule.get(word) and rule.get(word) == was.get(word):
                return key
    return None


# ------------------------------------------------------------------------------ anyOf and its like


def _all_of(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = _parts(old, "allOf"), _parts(new, "allOf")
    if before == after:
        return
    if after.keys() <= before.keys():
        yield safe(at, Rule.LOGIC, said(old, "allOf"), said(new, "allOf"), "it demands less")
    else:
        yield _changed(at, "allOf", old.get("allOf"), new.get("allOf"))


def _any_of(old: Node, new: Node, at: At) -> Iterator[Found]:
    before, after = _parts(old, "anyOf"), _parts(new, "anyOf")
    if before == after:
        return
    if not after or (before and before.keys() <= after.keys()):
        yield safe(at, Rule.LOGIC, said(old, "anyOf"), said(new, "anyOf"), "it takes more")
    else:
        yield _changed(at, "anyOf", old.get("anyOf"), new.get("anyOf"))


def _parts(node: Node, word: str) -> dict[str, Any]:
    parts = list(sequence(node.get(word)))
    if node.get(INT_OR_STRING) is True:
        # Generators write it beside the word that says the same.
        parts = [] if word == "anyOf" and parts == _EITHER else parts
        parts = [part for part in parts if part != {"anyOf": _EITHER}]
    return {spelled(part, 100_000): part for part in parts}


def _changed(at: At, word: str, before: Any, after: Any) -> Found:
    old, new = (None if value is None else f"{word} {spelled(value)}" for value in (before, after))
    if before is None:
        why = f"what does not fit {word} was taken and is refused now; {NEVER_RATCHETED}"
        return breaking(at, Rule.LOGIC, old, new, why, "demand it in a new version")
    if after is None:
        return safe(at, Rule.LOGIC, old, new, "it demands less")
    return risky(
        at, Rule.LOGIC, old, new,
        f"nobody can tell what of the old a changed {word} refuses; {NEVER_RATCHETED}",
        "try it on the objects that are stored",
    )  # fmt: skip
