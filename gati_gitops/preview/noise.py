"""Differences that tell nobody anything, folded away; they are still there for who asks.

Provenance and digests follow from changes that are shown elsewhere. A name that an object has from
its version or unit follows from the rename.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from gati_gitops.emit.objects.deployment import FILES_DIGEST
from gati_gitops.preview.model import FieldChange, Op
from gati_gitops.preview.names import Names, abstract

_ANNOTATIONS = frozenset(
    (
        FILES_DIGEST,
        "alpha.config.kubernetes.io/transformations",
        "argocd.argoproj.io/tracking-id",
        "config.kubernetes.io/origin",
        "kubectl.kubernetes.io/last-applied-configuration",
    )
)


def sift(
    changes: Iterable[FieldChange], before: Names, after: Names
) -> tuple[tuple[FieldChange, ...], tuple[FieldChange, ...]]:
    """What tells something, and what does not."""
    told: list[FieldChange] = []
    noise: list[FieldChange] = []
    for change in changes:
        (noise if _is_noise(change, before, after) else told).append(change)
    twins = _twins(told, before, after)
    noise += [change for change in told if id(change) in twins]
    return tuple(change for change in told if id(change) not in twins), tuple(noise)


def _is_noise(change: FieldChange, before: Names, after: Names) -> bool:
    path = change.path
    if len(path) >= 3 and path[-2] == "annotations" and path[-1] in _ANNOTATIONS:
        return True
    if change.op is not Op.REPLACE or before.words == after.words or path[-1] == "image":
        return False  # that a new version has its own image is what it is about
    return bool(before.value(change.before) == after.value(change.after))


def _twins(changes: list[FieldChange], before: Names, after: Names) -> set[int]:
    """Elements that went and came again under the name that they now have."""
    if before.words == after.words:
        return set()
    gone: dict[str, int] = {}
    found: set[int] = set()
    for change in changes:
        if change.op is Op.REMOVE:
            gone[_canonical(abstract(change, before, after), change.before, before)] = id(change)
    for change in changes:
        if change.op is Op.ADD:
            key = _canonical(abstract(change, before, after), change.after, after)
            if key in gone:
                found |= {id(change), gone[key]}
    return found


def _canonical(change: FieldChange, value: object, names: Names) -> str:
    path = [step if isinstance(step, str) else str(step) for step in change.path]
    return json.dumps([path, names.value(value)], sort_keys=True)
