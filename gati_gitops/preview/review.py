"""Two sides in, the whole report out. Only what differs is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gati_gitops.preview.classes import classify
from gati_gitops.preview.drafts import ClusterDraft, drafts
from gati_gitops.preview.folders import Differing, differing, spelled
from gati_gitops.preview.mask import Mask
from gati_gitops.preview.meaning import findings
from gati_gitops.preview.meaning.causes import moved_settings
from gati_gitops.preview.meaning.rollout import rollout
from gati_gitops.preview.meaning.scene import ClusterScene, Scene, UnitScene
from gati_gitops.preview.meaning.sums import sums_up
from gati_gitops.preview.meaning.totals import Prices, totals
from gati_gitops.preview.model import (
    Action,
    ClusterReview,
    EnvironmentReview,
    ObjectChange,
    Radius,
    Review,
)
from gati_gitops.preview.objects import Reader
from gati_gitops.preview.side import Side
from gati_gitops.preview.units import object_order, unit_review
from gati_gitops.preview.words import counted
from gati_gitops.yamlio.goyaml_read import decode, read_config

FIRST = "no ledger was given: both sides are shown as a first publish, where nothing runs yet"


def review(
    before: Side,
    after: Side,
    mask: Mask,
    *,
    ledger: str = "",
    notes: Iterable[str] = (),
    prices: Prices | None = None,
    touched: Collection[str] | None = None,
    only: Collection[str] = (),
) -> Review:
    """What turns one side into the other, and what that means.

    ``ledger`` names the output that both were compiled on, empty if none; ``touched`` the files
    that may differ, where somebody knows; ``only`` the units that somebody asks for.
    """
    homes = before.homes | after.homes
    found = _without_lost(differing(before.files, after.files, touched, homes), after)
    found = _narrowed(found, only) if only else found
    drafted = drafts(before, after, found, Reader(mask))
    classes = classify(drafted)
    settings, moved = _settings(before, after, found), moved_settings(before, after)
    scene = Scene(before, after, found, settings, first=not ledger, moved=moved)
    scenes = [_cluster(scene, cluster) for cluster in drafted]
    clusters = [one.review for one in scenes if one.review.units or one.review.objects]
    where = {id(one.review): one.environment for one in scenes}
    sums = totals(drafted, prices)
    names = _order(before, after, [*(where[id(c)] for c in clusters), *found.settings])
    environments = tuple(
        EnvironmentReview(name, tuple(c for c in clusters if where[id(c)] == name), sums.get(name))
        for name in names
    )
    radius = _radius(environments)
    return Review(
        before.compared,
        after.compared,
        ledger,
        (*((FIRST,) if not ledger else ()), *notes, *_silent(drafted, clusters)),
        (*findings(scene, scenes), *sums_up(environments, radius)),
        classes,
        environments,
        tuple(change for c in clusters if not where[id(c)] for change in c.objects),
        radius,
    )


def _without_lost(found: Differing, after: Side) -> Differing:
    """Without clusters that the head no longer names: what is there stays as it is."""
    named = {(env, name) for env, clusters in after.environments.items() for name in clusters}
    if not named:
        return found
    return replace(
        found,
        units={place: None for place in found.units if place[:2] in named},
        around={home: paths for home, paths in found.around.items() if home in named},
        settings=[env for env in found.settings if env in after.environments],
    )


def _narrowed(found: Differing, only: Collection[str]) -> Differing:
    """Nothing but some units."""
    units = {place: None for place in found.units if spelled(place) in only}
    return replace(found, units=units, around={}, settings=[])


def _settings(
    before: Side, after: Side, found: Differing
) -> tuple[Mapping[str, Mapping[str, Any]], Mapping[str, Mapping[str, Any]]]:
    names = dict.fromkeys((*found.settings, *(place[0] for place in found.units)))
    one, two = ({env: _read(side, env) for env in names} for side in (before, after))
    return one, two


def _read(side: Side, env: str) -> Mapping[str, Any]:
    content = side.files.get(f"overlays/{env}/project.yaml")
    data = read_config(decode(content)) if content is not None else {}
    return data if isinstance(data, dict) else {}


def _cluster(scene: Scene, cluster: ClusterDraft) -> ClusterScene:
    units: list[UnitScene] = []
    for draft in cluster.units:
        made = unit_review(draft)
        if made is not None:
            bare = UnitScene(scene, draft, made)
            told = tuple(sentence for _, _, sentence in rollout(bare))
            units.append(UnitScene(scene, draft, replace(made, rollout=told)))
    around = tuple(sorted((changed.change for changed in cluster.around), key=object_order))
    made_of = ClusterReview(cluster.cluster, tuple(unit.review for unit in units), around)
    return ClusterScene(scene, made_of, cluster.environment, tuple(units))


def _silent(drafted: Sequence[ClusterDraft], told: Sequence[ClusterReview]) -> Iterable[str]:
    """Units whose files differ in words alone: of which spec they come from, mostly."""
    shown = sum(len(cluster.units) for cluster in told)
    rest = sum(len(cluster.units) for cluster in drafted) - shown
    if rest:
        yield f"{counted(rest, 'folder')} would differ only in what is said of their origin"


def _order(before: Side, after: Side, touched: Sequence[str]) -> list[str]:
    known = dict.fromkeys((*after.environments, *before.environments, *sorted(touched)))
    here, there = before.environments, after.environments
    moved = {env for env in {*here, *there} if here and there and (env in here) != (env in there)}
    wanted = {*touched, *moved}
    return [name for name in known if name and name in wanted]


def _radius(environments: Sequence[EnvironmentReview]) -> Radius:
    units: set[str] = set()
    clusters = 0
    count: Counter[Action] = Counter()
    for environment in environments:
        for cluster in environment.clusters:
            clusters += 1
            units |= {unit.unit for unit in cluster.units}
            count.update(change.action for change in _all_objects(cluster))
    return Radius(
        len(environments),
        clusters,
        len(units),
        count[Action.CREATE],
        count[Action.CHANGE],
        count[Action.RECREATE],
        count[Action.RENAME],
        count[Action.DELETE],
    )


def _all_objects(cluster: ClusterReview) -> Iterable[ObjectChange]:
    yield from cluster.objects
    for unit in cluster.units:
        yield from (change for _, change in unit.all_objects())
