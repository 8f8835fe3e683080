"""What a commit may not take away, whoever asks for it by mistake.

A mistyped folder or a broken checkout looks like the wish to delete everything. So what goes is
counted against a budget per environment, retiring from the moment it starts; some kinds go only by
name; and no unit at all is never a wish. All refusals come at once, each with what would lift it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gati_gitops.errors import Refused
from gati_gitops.publish.changes import ChangeSet
from gati_gitops.publish.objects import ObjectId
from gati_gitops.spec.publishing import DeletionBudget

PROTECTED = frozenset(
    (
        ("", "Namespace"),
        ("", "PersistentVolumeClaim"),
        ("", "Secret"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    )
)
"""Kinds that take data with them; group and kind."""
ALWAYS = 2
"""So many units are within any percentage: small environments can retire one, too."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a person has said yes to."""

    removals: int = 0
    """``--allow-removals N``: so many units, and so many objects, may go from an environment."""
    deletes: frozenset[str] = frozenset()
    """``--delete KIND/NAME`` or ``KIND/NAMESPACE/NAME``."""


@dataclass(frozen=True, slots=True)
class Input:
    """How many units the specs have, and how many the output has of their source."""

    source: str
    wanted: int
    stored: int


def guard(
    change_sets: Iterable[ChangeSet],
    budgets: Mapping[str, DeletionBudget],
    allowed: Allowed | None = None,
    specs: Input | None = None,
) -> None:
    """Raise Refused if a commit would take away more than it may."""
    allowed = allowed or Allowed()
    sets = list(change_sets)
    findings = list(_empty(specs)) if specs is not None else []
    removals: list[int] = []
    for changes in sets:
        budget = budgets.get(changes.environment, DeletionBudget())
        for number, what in _over(changes, budget, allowed):
            removals.append(number)
            findings.append((what, ""))
    if removals:
        findings.append(("", f"if that is meant: --allow-removals {max(removals)}"))
    findings += _protected(sets, allowed)
    if findings:
        raise Refused(
            "; ".join(what for what, _ in findings if what),
            remedy="; ".join(dict.fromkeys(remedy for _, remedy in findings if remedy)),
        )


def _empty(specs: Input) -> Iterator[tuple[str, str]]:
    if specs.wanted:
        return
    what = "the specs hold no unit at all"
    if specs.stored:
        units = f"{specs.stored} unit{'s' * (specs.stored != 1)}"
        what = f"{what}, and the output has {units} of the source {specs.source}"
    remedy = (
        "check the folder that was given as SPECS; to take a unit down on purpose:"
        " gati-gitops retire UNIT --env ENV"
    )
    yield what, remedy


def _over(
    changes: ChangeSet, budget: DeletionBudget, allowed: Allowed
) -> Iterator[tuple[int, str]]:
    """What an environment would lose beyond its budget."""
    env = changes.environment
    going = sorted({change.unit for change in changes.units if change.counted})
    units, objects = len(going), _lost(changes)
    named = ", ".join(str(unit) for unit in going[:5]) + (
        f" and {units - 5} more" if units > 5 else ""
    )
    if units > max(budget.units, allowed.removals):
        yield units, f"{units} units of {env} would go, and its budget is {budget.units}: {named}"
    elif units > max(ALWAYS, allowed.removals) and units * 100 > budget.percent * changes.stood:
        share = f"{units} of the {changes.stood} units of {env}"
        yield units, f"{share} would go, and its budget is {budget.percent} %: {named}"
    if objects > max(budget.objects, allowed.removals):
        yield objects, f"{objects} objects of {env} would go, and its budget is {budget.objects}"


def _lost(changes: ChangeSet) -> int:
    return sum(len(clusters) for clusters in changes.objects(lambda o: o.removed).values())


def _protected(sets: Iterable[ChangeSet], allowed: Allowed) -> Iterator[tuple[str, str]]:
    """Objects that go only when they are named."""
    found: dict[ObjectId, list[str]] = {}
    for changes in sets:
        for key, clusters in changes.objects(lambda o: o.removed).items():
            if (key.group, key.kind) in PROTECTED:
                found.setdefault(key, []).extend(clusters)
    for key, clusters in sorted(found.items()):
        alone = sum((k.kind, k.name) == (key.kind, key.name) for k in found) == 1
        names = {_flag(key)} | ({f"{key.kind}/{key.name}"} if alone else set())
        if not names & allowed.deletes:
            yield (
                f"{key} would go from {', '.join(sorted(set(clusters)))}, with all that is in it",
                f"if that is meant: --delete {_flag(key)}",
            )


def _flag(key: ObjectId) -> str:
    return "/".join(part for part in (key.kind, key.namespace, key.name) if part)
