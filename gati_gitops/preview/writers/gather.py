"""What would be said several times, said once: units alike on several clusters, findings alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gati_gitops.errors import Place
from gati_gitops.preview.model import (
    EnvironmentReview,
    Finding,
    Level,
    ObjectChange,
    Review,
    Target,
    UnitReview,
)

_T = TypeVar("_T")
_Found = tuple[_T, _T, list[str]]
"""What two clusters are compared by, the thing as the first of them has it, and the clusters."""


@dataclass(frozen=True, slots=True)
class Alike:
    """What is the same on these clusters of an environment."""

    clusters: tuple[str, ...]
    units: tuple[UnitReview, ...]
    objects: tuple[ObjectChange, ...]


def alike(environment: EnvironmentReview) -> list[Alike]:
    """An environment's units, each once; what most clusters share comes first."""
    units: dict[str, list[_Found[UnitReview]]] = {}
    objects: dict[str, list[_Found[ObjectChange]]] = {}
    for cluster in environment.clusters:
        for unit in cluster.units:
            _join(units.setdefault(unit.unit, []), _without_folders(unit), unit, cluster.name)
        for change in cluster.objects:
            same = objects.setdefault(str(change.id), [])
            _join(same, replace(change, folder=""), change, cluster.name)
    groups: dict[tuple[str, ...], tuple[list[UnitReview], list[ObjectChange]]] = {}
    for _, unit, clusters in (found for same in units.values() for found in same):
        groups.setdefault(tuple(clusters), ([], []))[0].append(unit)
    for _, change, clusters in (found for others in objects.values() for found in others):
        groups.setdefault(tuple(clusters), ([], []))[1].append(change)
    order = [cluster.name for cluster in environment.clusters]
    return [
        Alike(clusters, tuple(groups[clusters][0]), tuple(groups[clusters][1]))
        for clusters in sorted(groups, key=lambda names: (-len(names), order.index(names[0])))
    ]


def _join(found: list[_Found[_T]], key: _T, thing: _T, cluster: str) -> None:
    for other, _, clusters in found:
        if other == key:
            clusters.append(cluster)
            return
    found.append((key, thing, [cluster]))


def _without_folders(unit: UnitReview) -> UnitReview:
    """The unit without what differs between clusters and tells nobody anything."""
    return replace(
        unit,
        objects=tuple(replace(change, folder="") for change in unit.objects),
        versions=tuple(
            replace(version, objects=tuple(replace(c, folder="") for c in version.objects))
            for version in unit.versions
        ),
    )


@dataclass(frozen=True, slots=True)
class Said:
    """Findings that say the same of several units."""

    finding: Finding
    """One of them; of several, its message names ``{unit}``."""
    units: tuple[str, ...]
    targets: tuple[Target, ...]


def said(findings: Iterable[Finding]) -> list[Said]:
    """Findings by what they say; in the order in which the first of each was found."""
    groups: dict[tuple[object, ...], list[tuple[str, Finding]]] = {}
    for finding in findings:
        units = sorted({target.unit for target in finding.targets if target.unit})
        unit = units[0] if len(units) == 1 else ""
        told = replace(
            finding,
            message=_abstract(finding.message, unit),
            remedy=_abstract(finding.remedy, unit),
            targets=(),
            before="",
            after="",
            place=None,
        )
        groups.setdefault((told, bool(unit)), []).append((unit, finding))
    return [_one(found) for found in groups.values()]


def _abstract(text: str, unit: str) -> str:
    if not unit:
        return text
    name = unit.rpartition("/")[2]
    return text.replace(unit, "{unit}").replace(f"-{name}-", "-{name}-")


def _one(found: Sequence[tuple[str, Finding]]) -> Said:
    unit, first = found[0]
    targets = tuple(dict.fromkeys(target for _, finding in found for target in finding.targets))
    if len(found) == 1:
        units = tuple(sorted({target.unit for target in targets if target.unit}))
        return Said(first, units, targets)
    places = {finding.place for _, finding in found}
    shown = replace(
        first,
        message=_abstract(first.message, unit),
        remedy=_abstract(first.remedy, unit),
        place=first.place if len(places) == 1 else None,
    )
    return Said(shown, tuple(dict.fromkeys(unit for unit, _ in found if unit)), targets)


def by_code(review: Review, level: Level) -> list[tuple[str, list[Said]]]:
    """The findings of a level, those of a code together, in the review's order."""
    groups: dict[str, list[Finding]] = {}
    for finding in review.findings:
        if finding.level is level:
            groups.setdefault(finding.code, []).append(finding)
    return [(code, said(found)) for code, found in groups.items()]


@dataclass(frozen=True, slots=True)
class Mark:
    """All findings of one code at one line of the specs."""

    code: str
    level: Level
    place: Place | None
    told: tuple[Said, ...]


def marks(review: Review, levels: Iterable[Level]) -> list[Mark]:
    """What annotations beside the specs' lines say; worst first, then in the review's order."""
    found: dict[tuple[str, Level, Place | None], list[Finding]] = {}
    for level in levels:
        for finding in review.findings:
            if finding.level is level:
                found.setdefault((finding.code, level, finding.place), []).append(finding)
    return [Mark(*key, tuple(said(findings))) for key, findings in found.items()]
