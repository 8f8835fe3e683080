"""What would be said several times, said once: units alike on several clusters, findings alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gati_gitops.errors import Place
from gati_gitops.preview.model import (
    ChangeClass,
    EnvironmentReview,
    FieldChange,
    Finding,
    Level,
    ObjectChange,
    Review,
    Target,
    UnitReview,
)
from gati_gitops.preview.names import number_of
from gati_gitops.preview.writers import words

FEW = 3
"""So many findings are not said together, if that costs their lines."""
_T = TypeVar("_T")
_Found = tuple[_T, _T, list[str]]
"""What two clusters are compared by, the thing as the first of them has it, and the clusters."""


@dataclass(frozen=True, slots=True)
class Alike:
    """What is the same on these clusters of an environment."""

    clusters: tuple[str, ...]
    units: tuple[UnitReview, ...]
    objects: tuple[ObjectChange, ...]


def alike(environment: EnvironmentReview, *, whole: bool = False) -> list[Alike]:
    """An environment's units, each once; what most clusters share comes first.

    Clusters share what changes alike; with ``whole``, what is the same in every field.
    """
    units: dict[str, list[_Found[UnitReview]]] = {}
    objects: dict[str, list[_Found[ObjectChange]]] = {}
    for cluster in environment.clusters:
        for unit in cluster.units:
            key = _comparable_unit(unit, whole=whole)
            _join(units.setdefault(unit.unit, []), key, unit, cluster.name)
        for change in cluster.objects:
            same = objects.setdefault(str(change.id), [])
            _join(same, _comparable(change, whole=whole), change, cluster.name)
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


def _comparable_unit(unit: UnitReview, *, whole: bool) -> UnitReview:
    return replace(
        unit,
        objects=tuple(_comparable(change, whole=whole) for change in unit.objects),
        versions=tuple(
            replace(v, objects=tuple(_comparable(change, whole=whole) for change in v.objects))
            for v in unit.versions
        ),
    )


def _comparable(change: ObjectChange, *, whole: bool) -> ObjectChange:
    """Without what differs from place to place and tells nobody anything."""
    if whole or not (change.fields or change.like):
        return replace(change, folder="", noise=())
    return replace(change, folder="", noise=(), before=None, after=None)


@dataclass(frozen=True, slots=True)
class Said:
    """Findings that say the same of several units."""

    finding: Finding
    """One of them."""
    units: tuple[str, ...]
    targets: tuple[Target, ...]
    about: str
    """The unit, how many units, or the object that it is about."""
    message: str
    """What is said, without the unit's name in front; of several, as ``each unit``."""
    remedy: str
    where: str
    place: Place | None
    """None where each has its own."""
    own: tuple[tuple[str, str, Place | None], ...] = ()
    """Of several units: each with what is said of it, and where."""


def said(findings: Iterable[Finding], known: words.Known) -> list[Said]:
    """Findings by what they say; in the order in which the first of each was found."""
    groups: dict[tuple[object, ...], list[tuple[str, Finding]]] = {}
    for finding in findings:
        units = {target.unit for target in finding.targets if target.unit}
        unit = min(units) if len(units) == 1 else ""
        told = (finding.code, finding.field, bool(unit))
        texts = (_bare(finding.message, unit, finding), _bare(finding.remedy, unit, finding))
        groups.setdefault((*told, *texts), []).append((unit, finding))
    return [_one(found, known) for group in groups.values() for found in _worth(group)]


def _worth(group: list[tuple[str, Finding]]) -> list[list[tuple[str, Finding]]]:
    """A few with lines of their own are better told one by one."""
    places = {finding.place for _, finding in group}
    return [group] if len(group) > FEW or len(places) == 1 else [[one] for one in group]


def _abstract(text: str, unit: str) -> str:
    """Without the name of the unit."""
    if not unit:
        return text
    name = unit.rpartition("/")[2]
    return text.replace(unit, "{unit}").replace(f"-{name}-", "-{name}-")


def _bare(text: str, unit: str, finding: Finding) -> str:
    """Without the names of the unit, of its version, and of an image that is called like it."""
    if not unit:
        return text
    for version in sorted({target.version for target in finding.targets if target.version}):
        for word, stands in ((version, "{version}"), (number_of(version), "{number}")):
            text = re.sub(rf"(?<![\w.]){re.escape(word)}(?!\w|\.\w)", stands, text)
    name = unit.rpartition("/")[2].removeprefix("module-")
    return re.sub(rf"/{re.escape(name)}(?![\w.-])", "/{name}", _abstract(text, unit))


def _one(found: Sequence[tuple[str, Finding]], known: words.Known) -> Said:
    unit, first = found[0]
    targets = tuple(dict.fromkeys(target for _, finding in found for target in finding.targets))
    units = tuple(dict.fromkeys(target.unit for target in targets if target.unit))
    message, remedy = first.message, first.remedy
    own: list[tuple[str, str, Place | None]] = []
    if len(units) > 1:
        own = [(of, _led(one.message, of), one.place) for of, one in found if of]
        alike = len({_abstract(one.message, of) + _abstract(one.remedy, of) for of, one in found})
        message, remedy = (
            _abstract(text, unit) if alike == 1 else _bare(text, unit, first)
            for text in (message, remedy)
        )
        unit = "{unit}"
    message = _led(message, unit).replace("{unit}", "each unit")
    remedy = remedy.replace("{unit}", "the unit")
    places = {finding.place for _, finding in found}
    if len({(finding.before, finding.after) for _, finding in found}) > 1:
        first = replace(first, before="", after="")
    return Said(
        first,
        units,
        targets,
        words.subject(targets),
        message,
        remedy,
        words.places(targets, known),
        first.place if len(places) == 1 else None,
        tuple(own),
    )


def _led(message: str, unit: str) -> str:
    """Without the unit in front."""
    for lead in (f"{unit}: ", f"{unit} ") if unit else ():
        message = message.removeprefix(lead)
    return message


def strays(change: ChangeClass) -> list[tuple[tuple[Target, ...], tuple[FieldChange, ...]]]:
    """The outliers of a class; those of a unit that are alike on several clusters once."""
    found: list[tuple[list[Target], tuple[FieldChange, ...]]] = []
    for outlier in change.outliers:
        whose = (outlier.target.unit, outlier.target.version)
        for targets, fields in found:
            if (targets[0].unit, targets[0].version) == whose and fields == outlier.fields:
                targets.append(outlier.target)
                break
        else:
            found.append(([outlier.target], outlier.fields))
    return [(tuple(targets), fields) for targets, fields in found]


def by_code(review: Review, level: Level) -> list[tuple[str, list[Said]]]:
    """The findings of a level, those of a code together, in the review's order."""
    known = words.known_places(review)
    groups: dict[str, list[Finding]] = {}
    for finding in review.findings:
        if finding.level is level:
            groups.setdefault(finding.code, []).append(finding)
    return [(code, said(found, known)) for code, found in groups.items()]


def numbers(review: Review) -> dict[Level, int]:
    """How much there is to say of each level."""
    return {level: sum(len(told) for _, told in by_code(review, level)) for level in Level}


def verdict(review: Review) -> str:
    """``2 dangers and 1 warning``; empty where there is neither."""
    found = numbers(review)
    return words.listed(
        words.counted(found[level], level)
        for level in (Level.DANGER, Level.WARNING)
        if found[level]
    )


@dataclass(frozen=True, slots=True)
class Mark:
    """All findings of one code at one line of the specs."""

    code: str
    level: Level
    place: Place | None
    told: tuple[Said, ...]


def marks(review: Review, levels: Iterable[Level]) -> list[Mark]:
    """What annotations beside the specs' lines say, worst first.

    Of each code the first comes before the second of any: forges show only so many.
    """
    known = words.known_places(review)
    found: dict[tuple[str, Level, Place | None], list[Finding]] = {}
    for finding in review.findings:
        found.setdefault((finding.code, finding.level, finding.place), []).append(finding)
    order = list(levels)
    count: Counter[tuple[str, Level]] = Counter()
    ranked: list[tuple[int, int, Mark]] = []
    for (code, level, place), findings in found.items():
        if level in order:
            mark = Mark(code, level, place, tuple(said(findings, known)))
            ranked.append((order.index(level), count[code, level], mark))
            count[code, level] += 1
    return [mark for *_, mark in sorted(ranked, key=lambda one: one[:2])]


class Memory:
    """What has been shown of each unit, so that the next environment need not show it again."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, str], list[tuple[ObjectChange, str]]] = {}

    def split(
        self, unit: UnitReview, environment: str
    ) -> tuple[list[ObjectChange], dict[str, int]]:
        """The objects to be shown, and how many are as in which environment before."""
        fresh: list[ObjectChange] = []
        known: dict[str, int] = {}
        for _, change in unit.all_objects():
            bare = _comparable(change, whole=False)
            shown = self._shown.setdefault((unit.unit, str(change.id)), [])
            where = next((name for other, name in shown if other == bare), "")
            if where and where != environment:
                known[where] = known.get(where, 0) + 1
            else:
                fresh.append(change)
                shown.append((bare, environment))
        return fresh, known
