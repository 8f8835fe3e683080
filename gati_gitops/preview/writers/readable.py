"""Change classes as people read them: with short names, and only where they save reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gati_gitops.preview.model import ChangeClass, FieldChange, ObjectChange, Review, UnitReview


def readable(review: Review) -> Review:
    """The review with its classes as people read them.

    They are called C1, C2 and so on. A class of one unit is none: its changes stand with the unit.
    """
    kept = [
        change
        for change in review.classes
        if change.units > 1 or (not change.units and _many(change))
    ]
    names = {change.id: f"C{number}" for number, change in enumerate(kept, 1)}
    return replace(
        review,
        classes=tuple(
            replace(change, id=names[change.id], fields=_plain(change.fields)) for change in kept
        ),
        environments=tuple(
            replace(
                environment,
                clusters=tuple(
                    replace(
                        cluster,
                        units=tuple(_renamed_unit(unit, names) for unit in cluster.units),
                        objects=_renamed(cluster.objects, names),
                    )
                    for cluster in environment.clusters
                ),
            )
            for environment in review.environments
        ),
        objects=_renamed(review.objects, names),
    )


def _plain(fields: tuple[FieldChange, ...]) -> tuple[FieldChange, ...]:
    """A class's own fields are not said elsewhere: here is where they are said."""
    return tuple(replace(field, change_class="") for field in fields)


def _many(change: ChangeClass) -> bool:
    return len({target.object for target in change.targets}) > 2


def _renamed_unit(unit: UnitReview, names: Mapping[str, str]) -> UnitReview:
    return replace(
        unit,
        objects=_renamed(unit.objects, names),
        versions=tuple(replace(v, objects=_renamed(v.objects, names)) for v in unit.versions),
    )


def _renamed(
    objects: tuple[ObjectChange, ...], names: Mapping[str, str]
) -> tuple[ObjectChange, ...]:
    return tuple(
        replace(
            change,
            change_class=names.get(change.change_class, ""),
            fields=tuple(
                replace(field, change_class=names.get(field.change_class, ""))
                if field.change_class
                else field
                for field in change.fields
            ),
        )
        if change.change_class or any(field.change_class for field in change.fields)
        else change
        for change in objects
    )
