"""Units on a cluster with all that differs in them; what of it is said once comes later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gati_gitops.plan.job import FOLDER
from gati_gitops.plan.naming import VERSION_LABEL, UnitId, slug
from gati_gitops.preview.folders import Differing, FolderNames, folder_of
from gati_gitops.preview.objects import Item, Reader, applied
from gati_gitops.preview.pair import Changed, Group, Owned, Pairing
from gati_gitops.preview.renames import deployed, renamed_units, renamed_versions, serving
from gati_gitops.preview.side import Side, UnitPlace, UnitSide


@dataclass(slots=True)
class UnitDraft:
    """One unit on one cluster, or two that are one under another name."""

    place: UnitPlace
    before: UnitSide | None
    after: UnitSide | None
    changes: list[Changed] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    """New version ids and those that they were."""
    like: dict[str, str] = field(default_factory=dict)
    """New version ids and those that serve until then."""
    pods: tuple[dict[str, Item], dict[str, Item]] = field(default_factory=lambda: ({}, {}))
    """The Deployment of each version, before and after, changed or not."""

    @property
    def unit(self) -> UnitId:
        side = self.after or self.before
        assert side is not None
        return side.plan.unit

    @property
    def renamed(self) -> bool:
        """Whether it has another name, or lives in another namespace, than before."""
        return (
            self.before is not None
            and self.after is not None
            and self.before.plan.unit != self.after.plan.unit
        )


@dataclass(slots=True)
class ClusterDraft:
    """What differs on one cluster."""

    environment: str
    cluster: str
    units: list[UnitDraft]
    around: list[Changed] = field(default_factory=list)
    """Changes of objects that belong to no unit."""


def drafts(before: Side, after: Side, found: Differing, reader: Reader) -> list[ClusterDraft]:
    """Every cluster on which something differs."""
    pairing = Pairing()
    folders = [folder_of(place) for place in found.units]
    folders += [folder for paths in found.around.values() for folder in _jobs(paths)]
    names = (FolderNames(before.files, folders), FolderNames(after.files, folders))
    clusters = {place[:2]: None for place in found.units} | dict.fromkeys(found.around)
    made = []
    for env, cluster in clusters:
        places = [place for place in found.units if place[:2] == (env, cluster)]
        units = _units(places, before, after)
        renamed: dict[Group, Group] = {}
        like: dict[Group, Group] = {}
        for unit in units:
            _groups(unit, renamed, like)
        paths = found.around.get((env, cluster), ())
        one, two = (
            [*_of_units(side, places, reader, known), *_around(side, paths, reader, known)]
            for side, known in zip((before, after), names, strict=True)
        )
        _remember_pods(units, one, two)
        changed = pairing.changes(one, two, renamed, like)
        made.append(ClusterDraft(env, cluster, units, _sorted_out(changed, units)))
    return made


def _units(places: Iterable[UnitPlace], before: Side, after: Side) -> list[UnitDraft]:
    places = list(places)
    gone = [before.units[p] for p in places if p in before.units and p not in after.units]
    came = [after.units[p] for p in places if p in after.units and p not in before.units]
    renamed = {two.place: one for one, two in renamed_units(gone, came)}
    old = {one.place for one in renamed.values()}
    return [
        UnitDraft(place, renamed.get(place) or before.units.get(place), after.units.get(place))
        for place in places
        if place not in old
    ]


def _groups(draft: UnitDraft, renamed: dict[Group, Group], like: dict[Group, Group]) -> None:
    """Which groups of objects are others under a new name, or will take over from others."""
    before, after = draft.before, draft.after
    if before is None or after is None:
        return
    draft.versions = renamed_versions(before, after)
    old, new = before.plan.unit, after.plan.unit
    if old != new:
        renamed[new, ""] = (old, "")
        renamed |= {((new, id)): (old, id) for id in deployed(before) & deployed(after)}
    renamed |= {(new, now): (old, was) for now, was in draft.versions.items()}
    model = serving(before)
    for version in deployed(after) - deployed(before) - draft.versions.keys():
        if model:
            draft.like[version] = model
            like[new, version] = (old, model)


def _of_units(
    side: Side, places: Iterable[UnitPlace], reader: Reader, names: FolderNames
) -> Iterator[Owned]:
    for place in places:
        folder = folder_of(place)
        unit = side.units.get(place)
        if unit is not None:
            ids = {slug(version.id): version.id for version in unit.plan.versions}
            for item in reader.unit(side, folder, names.of(folder)):
                group = (unit.plan.unit, ids.get(item.label(VERSION_LABEL), ""))
                yield Owned(item, group, folder)


def _around(
    side: Side, paths: Iterable[str], reader: Reader, names: FolderNames
) -> Iterator[Owned]:
    jobs = _jobs(paths)
    for folder in jobs:
        for item in reader.unit(side, folder, names.of(folder)):
            yield Owned(item, (None, ""), folder)
    for path in paths:
        folder, _, name = path.rpartition("/")
        content = side.files.get(path)
        if content is not None and applied(name) and folder not in jobs:
            for item in reader.file(content):
                yield Owned(item, (None, ""), folder)


def _jobs(paths: Iterable[str]) -> dict[str, None]:
    """Folders of jobs, which build on a release like those of units."""
    return {path.rpartition("/")[0]: None for path in paths if f"/{FOLDER}/" in path}


def _remember_pods(units: Iterable[UnitDraft], *sides: Iterable[Owned]) -> None:
    homes = _homes(units)
    for number, owned in enumerate(sides):
        for item in owned:
            unit, version = item.group
            if unit in homes and version and item.id.kind == "Deployment":
                homes[unit].pods[number][version] = item.item


def _homes(units: Iterable[UnitDraft]) -> dict[UnitId | None, UnitDraft]:
    return {
        side.plan.unit: unit
        for unit in units
        for side in (unit.before, unit.after)
        if side is not None
    }


def _sorted_out(changed: Iterable[Changed], units: Iterable[UnitDraft]) -> list[Changed]:
    """Give each unit its changes; what is of no unit is left."""
    homes = _homes(units)
    rest: list[Changed] = []
    for change in changed:
        home = homes.get(change.group[0])
        (home.changes if home is not None else rest).append(change)
    return rest
