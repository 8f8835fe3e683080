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
"""Group and kind of what takes other things with it."""
_LOST = {
    "Namespace": "all that is in it",
    "PersistentVolumeClaim": "its data",
    "Secret": "what it holds",
    "CustomResourceDefinition": "every object of its kind",
}
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
    if specs is not None and not specs.wanted:
        raise _empty(specs)
    over = [
        found
        for changes in sets
        for found in _over(changes, budgets.get(changes.environment, DeletionBudget()), allowed)
    ]
    protected = _protected(sets, allowed)
    details = [*(what for _, what in over), *protected.values()]
    if not details:
        return
    flags = [f"--allow-removals {max(number for number, _ in over)}"] if over else []
    flags += [f"--delete {_flag(key)}" for key in protected]
    raise Refused(
        details[0] if len(details) == 1 else "this would take away more than a commit may",
        details=details if len(details) > 1 else (),
        remedy=f"if that is meant: {' '.join(flags)}",
    )


def _empty(specs: Input) -> Refused:
    what = "the specs hold no unit at all"
    if specs.stored:
        units = f"{specs.stored} unit{'s' * (specs.stored != 1)}"
        what = f"{what}, and the output has {units} of the source {specs.source}"
    return Refused(
        what,
        remedy="check the folder that was given as SPECS; to take a unit down on purpose:"
        " gati-gitops retire UNIT --env ENV",
    )


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


def _protected(sets: Iterable[ChangeSet], allowed: Allowed) -> dict[ObjectId, str]:
    """Objects that go only when they are named, and nobody named."""
    found: dict[ObjectId, list[str]] = {}
    for changes in sets:
        for key, clusters in changes.objects(lambda o: o.removed).items():
            if (key.group, key.kind) in PROTECTED:
                found.setdefault(key, []).extend(clusters)
    return {
        key: f"{key} would go from {', '.join(sorted(set(clusters)))}, with {_LOST[key.kind]}"
        for key, clusters in sorted(found.items())
        if not _names(key, found) & allowed.deletes
    }


def _names(key: ObjectId, all_of_them: Iterable[ObjectId]) -> set[str]:
    """How a person may name it: without the namespace only where that leaves no doubt."""
    alone = sum((k.kind, k.name) == (key.kind, key.name) for k in all_of_them) == 1
    return {_flag(key), *([f"{key.kind}/{key.name}"] if alone else [])}


def _flag(key: ObjectId) -> str:
    return "/".join(part for part in (key.kind, key.namespace, key.name) if part)
