"""Change classes: the same change in many places is said once, and what strays from it apart.

Every change of a field is abstracted (names of the unit and the version give way to placeholders).
Those that are the same afterwards, in objects of the same role, are one; and those of one role that
are found in the very same places make one class. What changed the same fields as a class, but
otherwise, is an outlier of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from gati_gitops.plan.naming import UnitId
from gati_gitops.preview.drafts import ClusterDraft, UnitDraft
from gati_gitops.preview.model import (
    Action,
    ChangeClass,
    FieldChange,
    ObjectChange,
    Outlier,
    Target,
)
from gati_gitops.preview.names import Names, abstract
from gati_gitops.preview.pair import Changed
from gati_gitops.preview.renames import serving
from gati_gitops.preview.words import class_title

STRAY = 5
"""A class with this many times fewer places than another of its shape is made of outliers."""

Role = tuple[str, str, str, str]
"""Group and kind, action, and name of an object without what is its unit's and version's."""
Others = tuple[tuple[str, str], ...]
Made = tuple[ChangeClass, tuple[str, ...]]
"""A class, and the keys of its atoms."""


@dataclass(slots=True)
class _Atom:
    """One abstract change, and where it is."""

    role: Role
    change: FieldChange | None
    """None: the object as a whole."""
    where: dict[Target, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Spot:
    """An object's change and the atoms that it consists of, field by field."""

    target: Target
    change: ObjectChange
    atoms: tuple[str, ...]


def classify(clusters: Sequence[ClusterDraft]) -> tuple[ChangeClass, ...]:
    """Find the classes; the drafts' changes learn which of them says them."""
    finder = _Finder()
    for cluster in clusters:
        for unit in cluster.units:
            for changed in unit.changes:
                finder.add(_target(cluster, unit, changed), changed, unit)
        for changed in cluster.around:
            target = Target(cluster.environment, cluster.cluster, object=changed.change.id)
            finder.add(target, changed, None)
    classes, ids = finder.classes()
    spots = iter(finder.spots)
    for cluster in clusters:
        for unit in cluster.units:
            unit.changes = [_told(changed, next(spots), ids) for changed in unit.changes]
        cluster.around = [_told(changed, next(spots), ids) for changed in cluster.around]
    return classes


def _target(cluster: ClusterDraft, unit: UnitDraft, changed: Changed) -> Target:
    return Target(cluster.environment, cluster.cluster, str(unit.unit), changed.group[1])


def _told(changed: Changed, spot: _Spot, ids: Mapping[str, str]) -> Changed:
    change = changed.change
    if not change.fields:
        told = replace(change, change_class=ids.get(spot.atoms[0], ""))
    else:
        fields = tuple(
            replace(one, change_class=ids.get(atom, "")) if atom in ids else one
            for one, atom in zip(change.fields, spot.atoms, strict=True)
        )
        told = replace(change, fields=fields)
    return Changed(told, changed.group)


class _Finder:
    def __init__(self) -> None:
        self._atoms: dict[str, _Atom] = {}
        self.spots: list[_Spot] = []
        self._keys: dict[tuple[int, Role, int, int], tuple[str, FieldChange]] = {}
        self._names: dict[tuple[UnitId, str, Others], Names] = {}
        self._nameless = Names({})

    def add(self, target: Target, changed: Changed, unit: UnitDraft | None) -> None:
        change = changed.change
        before, after = self._of(changed, unit)
        role = (f"{change.id.group}/{change.id.kind}", str(change.action),
                "like" if change.like else "", after.text(change.id.name))  # fmt: skip
        keys = []
        for one in change.fields:
            key, made = self._abstract(one, role, before, after)
            self._atoms.setdefault(key, _Atom(role, made)).where[target] = None
            keys.append(key)
        if not change.fields:
            whole = (
                after.value(_bare(change.after))
                if change.after
                else before.value(_bare(change.before))
            )
            key = _digest([role, whole if change.action is not Action.RENAME else None])
            self._atoms.setdefault(key, _Atom(role, None)).where[target] = None
            keys.append(key)
        self.spots.append(_Spot(target, change, tuple(keys)))

    def _of(self, changed: Changed, unit: UnitDraft | None) -> tuple[Names, Names]:
        """The names of both sides; they differ where something was renamed."""
        if unit is None:
            return self._nameless, self._nameless
        version = changed.group[1]
        old = unit.before.plan.unit if unit.before is not None else unit.unit
        was = unit.versions.get(version) or unit.like.get(version, version)
        now = unit.unit if unit.after is not None else old
        others = () if version else _versions(unit)
        return self._named(old, was, others), self._named(now, version, others)

    def _named(self, unit: UnitId, version: str, others: Others) -> Names:
        key = (unit, version, others)
        if key not in self._names:
            self._names[key] = Names.of(unit, version, dict(others))
        return self._names[key]

    def _abstract(
        self, change: FieldChange, role: Role, before: Names, after: Names
    ) -> tuple[str, FieldChange]:
        known = (id(change), role, id(before), id(after))
        if known not in self._keys:
            made = abstract(change, before, after)
            path = [str(step) for step in made.path]
            key = _digest([role, path, str(made.op), made.before, made.after])
            self._keys[known] = (key, made)
        return self._keys[known]

    def classes(self) -> tuple[tuple[ChangeClass, ...], dict[str, str]]:
        together: dict[tuple[Role, frozenset[Target]], list[str]] = {}
        for key, atom in self._atoms.items():
            if len(atom.where) > 1:
                together.setdefault((atom.role, frozenset(atom.where)), []).append(key)
        made = [self._class(keys) for keys in together.values()]
        made.sort(key=lambda c: (-len(c[0].targets), c[0].targets, c[0].kind, c[0].title))
        kept = self._that_fold(_without_strays(made))
        outliers = self._outliers(kept)
        ids = {key: found.id for found, keys in kept for key in keys}
        classes = [replace(found, outliers=tuple(outliers.get(found.id, ()))) for found, _ in kept]
        return tuple(classes), ids

    def _that_fold(self, made: Sequence[Made]) -> list[Made]:
        """Without classes of whole objects that leave every unit more to say: a list of kinds of
        which two units have the same tells nobody anything.
        """
        said = {key for _, keys in made for key in keys}
        rest = {
            _whose(spot.target) for spot in self.spots if any(key not in said for key in spot.atoms)
        }
        return [
            (found, keys)
            for found, keys in made
            if found.fields or any(_whose(target) not in rest for target in found.targets)
        ]

    def _class(self, keys: Sequence[str]) -> Made:
        atoms = [self._atoms[key] for key in keys]
        kind = atoms[0].role[0].rpartition("/")[2]
        action = Action(atoms[0].role[1])
        fields = tuple(atom.change for atom in atoms if atom.change is not None)
        targets = tuple(sorted(atoms[0].where, key=_order))
        number = f"c{_digest([sorted(keys), [str(_order(t)) for t in targets]])[:8]}"
        found = ChangeClass(
            number,
            class_title(kind, action, fields, like=bool(atoms[0].role[2])),
            kind,
            action,
            tuple(replace(one, change_class=number) for one in fields),
            targets,
            len({target.unit or str(target.object) for target in targets}),
        )
        return found, tuple(keys)

    def _outliers(self, kept: Sequence[Made]) -> dict[str, list[Outlier]]:
        """What changed the same fields as a class, in objects of the same role, otherwise."""
        said = {key for _, keys in kept for key in keys}
        shapes = {self._shape(keys): found.id for found, keys in reversed(kept)}
        found: dict[str, list[Outlier]] = {}
        for spot in self.spots:
            left = [key for key in spot.atoms if key not in said]
            if not left or not spot.change.fields:
                continue
            home = shapes.get(self._shape(left))
            if home is not None:
                fields = zip(spot.change.fields, spot.atoms, strict=True)
                own = tuple(one for one, key in fields if key in left)
                found.setdefault(home, []).append(Outlier(spot.target, own))
        return found

    def _shape(self, keys: Sequence[str]) -> str:
        atoms = [self._atoms[key] for key in keys]
        changes = [
            (*map(str, atom.change.path), str(atom.change.op)) for atom in atoms if atom.change
        ]
        return _digest([atoms[0].role, sorted(changes)])


def _versions(unit: UnitDraft) -> Others:
    """In objects of a unit as a whole: the version that serves, and the one that is to."""
    old, new = serving(unit.before), unit.after.plan.target if unit.after is not None else ""
    found = {old: "{serving}"} if old == new else {old: "{serving}", new: "{next}"}
    return tuple((id, shown) for id, shown in found.items() if id)


def _without_strays(made: Iterable[Made]) -> list[Made]:
    """Without small classes that changed the same fields as a large one: these are outliers."""
    largest: dict[tuple[object, ...], int] = {}
    kept: list[Made] = []
    for found, keys in made:  # largest first
        shape = (found.kind, found.action, *(one.shown for one in found.fields))
        most = largest.setdefault(shape, len(found.targets))
        if not found.fields or len(found.targets) * STRAY > most:
            kept.append((found, keys))
    return kept


def _bare(value: Mapping[str, Any] | None) -> dict[str, Any]:
    """An object without labels and annotations: who owns a unit makes it no other object."""
    found = dict(value or {})
    metadata = dict(found.get("metadata") or {})
    found["metadata"] = {
        key: item for key, item in metadata.items() if key not in ("labels", "annotations")
    }
    return found


def _whose(target: Target) -> tuple[str, str, str, str]:
    about = "" if target.unit else str(target.object)
    return (target.environment, target.cluster, target.unit, about)


def _order(target: Target) -> tuple[str, ...]:
    return (
        target.environment,
        target.cluster,
        target.unit,
        target.version,
        str(target.object or ""),
    )


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()
