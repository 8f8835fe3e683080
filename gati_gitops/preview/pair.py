"""Objects of two sides that are the same object, and what differs between them.

Group, kind, namespace and name make an object; what has no partner by these may have been renamed
with its version or unit. Kubernetes knows no renaming: one object goes and one comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gati_gitops.plan.naming import UnitId
from gati_gitops.preview.compare import compare
from gati_gitops.preview.immutable import immutable
from gati_gitops.preview.model import Action, FieldChange, ObjectChange, ObjectId
from gati_gitops.preview.names import Names
from gati_gitops.preview.noise import sift
from gati_gitops.preview.objects import Item, Object

Group = tuple[UnitId | None, str]
"""A version of a unit; "" for objects of the unit as a whole, None for those of no unit."""


@dataclass(frozen=True, slots=True)
class Owned:
    """An object, and whose it is."""

    item: Item
    group: Group
    folder: str

    @property
    def id(self) -> ObjectId:
        return self.item.id

    @property
    def object(self) -> Object:
        return self.item.shown


@dataclass(frozen=True, slots=True)
class Changed:
    """A change, and whose it is: of the head, or of the base for what goes."""

    change: ObjectChange
    group: Group


class Pairing:
    """Compares objects; what several clusters have alike is compared once."""

    def __init__(self) -> None:
        self._fields: dict[tuple[int, int], tuple[FieldChange, ...]] = {}
        self._names: dict[Group, Names] = {}

    def changes(
        self,
        before: Iterable[Owned],
        after: Iterable[Owned],
        renamed: Mapping[Group, Group],
        like: Mapping[Group, Group],
    ) -> list[Changed]:
        """All changes of a cluster.

        ``renamed`` and ``like`` lead from groups of the head to those that they were, or that serve
        until they take over.
        """
        gone = {item.id: item for item in before}
        there = dict(gone)
        came: list[Owned] = []
        found: list[Changed] = []
        now = list(after)
        for item in now:
            was = gone.pop(item.id, None)
            if was is None:
                came.append(item)
            elif changed := self._both(was, item):
                found.append(Changed(changed, item.group))
        partners = _partners(gone.values(), came, renamed)
        here = {item.id: item for item in now}
        models = _partners([*there.values(), *here.values()], came, like)
        for item in came:
            partner = partners.get(item.id)
            if partner is not None:
                del gone[partner.id]
                found.append(Changed(self._renamed(partner, item), item.group))
            else:
                found.append(Changed(self._created(item, models.get(item.id)), item.group))
        for item in gone.values():
            deleted = ObjectChange(item.id, Action.DELETE, before=item.object, folder=item.folder)
            found.append(Changed(deleted, item.group))
        return found

    def _both(self, was: Owned, item: Owned) -> ObjectChange | None:
        changes = self._compared(was, item)
        if not changes:
            return None
        fields, noise = sift(changes, self._named(was.group), self._named(item.group))
        fixed = immutable(item.id, was.object, item.object, changes)
        return ObjectChange(
            item.id,
            Action.RECREATE if fixed else Action.CHANGE,
            fields,
            noise,
            before=was.object,
            after=item.object,
            folder=item.folder,
        )

    def _renamed(self, was: Owned, item: Owned) -> ObjectChange:
        changes = self._compared(was, item)
        fields, noise = sift(changes, self._named(was.group), self._named(item.group))
        return ObjectChange(
            item.id, Action.RENAME, fields, noise, was.id, was.object, item.object, item.folder
        )

    def _created(self, item: Owned, model: Owned | None) -> ObjectChange:
        created = ObjectChange(item.id, Action.CREATE, after=item.object, folder=item.folder)
        if model is None:
            return created
        changes = self._compared(model, item)
        fields, noise = sift(changes, self._named(model.group), self._named(item.group))
        return ObjectChange(
            item.id,
            Action.CREATE,
            fields,
            noise,
            after=item.object,
            folder=item.folder,
            like=model.id,
        )

    def _compared(self, one: Owned, two: Owned) -> tuple[FieldChange, ...]:
        key = (id(one.item), id(two.item))
        if key not in self._fields:
            alike = one.item.is_same(two.item)
            self._fields[key] = () if alike else compare(one.object, two.object)
        return self._fields[key]

    def _named(self, group: Group) -> Names:
        unit, version = group
        if group not in self._names:
            self._names[group] = Names.of(unit, version) if unit is not None else Names({})
        return self._names[group]


def _partners(
    gone: Iterable[Owned], came: Iterable[Owned], groups: Mapping[Group, Group]
) -> dict[ObjectId, Owned]:
    """For what came, what it was: of the group's objects, the only one of its kind."""
    if not groups:
        return {}
    left: dict[tuple[Group, str, str], list[Owned]] = {}
    for item in gone:
        left.setdefault((item.group, item.id.group, item.id.kind), []).append(item)
    wanted: dict[tuple[Group, str, str], list[Owned]] = {}
    for item in came:
        if item.group in groups:
            wanted.setdefault((groups[item.group], item.id.group, item.id.kind), []).append(item)
    found: dict[ObjectId, Owned] = {}
    for key, items in wanted.items():
        known = {_role(item): item for item in left.get(key, ())}
        roles = [_role(item) for item in items]
        if len(known) == len(items) == 1:
            found[items[0].id] = next(iter(known.values()))
        elif len(set(roles)) == len(roles):
            found |= {i.id: known[r] for i, r in zip(items, roles, strict=True) if r in known}
    return found


def _role(item: Owned) -> str:
    """A name without what the version and the unit give to it."""
    unit, version = item.group
    return Names.of(unit, version).text(item.id.name) if unit is not None else item.id.name
