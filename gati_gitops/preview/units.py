"""A unit's part of the report: its versions as they were and will be, and their objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gati_gitops.ledger.model import DEPLOYED, SCALED, Entry, Phase
from gati_gitops.ledger.show import pulled_image
from gati_gitops.plan.model import PlannedVersion
from gati_gitops.preview.drafts import UnitDraft
from gati_gitops.preview.model import (
    Action,
    ObjectChange,
    State,
    UnitReview,
    VersionReview,
)
from gati_gitops.preview.pair import Changed
from gati_gitops.preview.side import UnitSide

_KINDS = (
    "Deployment",
    "Service",
    "HTTPRoute",
    "VirtualService",
    "IngressRoute",
    "TraefikService",
    "Ingress",
    "HorizontalPodAutoscaler",
    "ScaledObject",
    "ConfigMap",
    "Secret",
    "NetworkPolicy",
)
"""What people look for first."""


def unit_review(draft: UnitDraft) -> UnitReview | None:
    """None where nothing differs that anybody applies or has decided."""
    before, after = draft.before, draft.after
    versions = tuple(_versions(draft))
    objects = _objects(changed.change for changed in draft.changes if not changed.group[1])
    if not versions and not objects and not _decided(before, after):
        return None
    side = after or before
    assert side is not None
    unit = side.plan.unit
    return UnitReview(
        str(unit),
        unit.kind,
        unit.namespace,
        unit.name,
        _action(draft),
        versions,
        objects,
        files=side.plan.files,
        was=str(before.plan.unit) if draft.renamed and before is not None else "",
        retiring=after is not None and after.ledger.retiring,
        held=after.ledger.hold if after is not None else "",
    )


def _action(draft: UnitDraft) -> Action:
    if draft.before is None:
        return Action.CREATE
    if draft.after is None:
        return Action.DELETE
    return Action.RENAME if draft.renamed else Action.CHANGE


def _decided(before: UnitSide | None, after: UnitSide | None) -> bool:
    """Whether something was decided that shows in no version."""
    if before is None or after is None:
        return True
    one, two = before.ledger, after.ledger
    was = (one.hold, one.retiring, one.target, before.notes)
    return was != (two.hold, two.retiring, two.target, after.notes)


def _versions(draft: UnitDraft) -> Iterable[VersionReview]:
    changes: dict[str, list[Changed]] = {}
    for changed in draft.changes:
        if changed.group[1]:
            changes.setdefault(changed.group[1], []).append(changed)
    ids = dict.fromkeys((*_ids(draft.before), *_ids(draft.after)))
    gone = set(draft.versions.values())
    for version in sorted(ids | dict.fromkeys(changes)):
        if version in gone and version not in _ids(draft.after) and version not in changes:
            continue  # it is told with the version that it has become
        was = draft.versions.get(version, "")
        before, after = state(draft.before, was or version), state(draft.after, version)
        mine = changes.get(version, [])
        if _news(before) != _news(after) or mine:
            yield VersionReview(
                version,
                before,
                after,
                _objects(changed.change for changed in mine),
                restarts=_runs(before) and any(restarts(changed.change) for changed in mine),
                was=was,
                like=draft.like.get(version, ""),
            )


def _news(found: State | None) -> State | None:
    """Without the release folder, whose name changes with every byte in it, comments too."""
    return replace(found, release="") if found is not None else None


def _ids(side: UnitSide | None) -> dict[str, None]:
    entries = side.ledger.entries if side is not None else ()
    return dict.fromkeys(entry.id for entry in entries)


def _runs(found: State | None) -> bool:
    return found is not None and found.phase in {str(phase) for phase in SCALED}


def restarts(change: ObjectChange) -> bool:
    """Whether a change of a Deployment replaces its pods."""
    if change.action not in (Action.CHANGE, Action.RECREATE) or change.id.kind != "Deployment":
        return False
    every = (*change.fields, *change.noise)
    return change.action is Action.RECREATE or any(
        one.path[:2] == ("spec", "template") for one in every
    )


def state(side: UnitSide | None, version: str) -> State | None:
    """A version as a side has it; None where it has none."""
    if side is None:
        return None
    found = [entry for entry in side.ledger.entries if entry.id == version]
    if not found:
        return None
    entry = next((one for one in found if one.phase is not Phase.PENDING), found[0])
    waiting = next((one for one in found if one.phase is Phase.PENDING and one is not entry), None)
    planned = side.plan.version(*entry.key)
    weighted = side.plan.route is not None and entry.phase in DEPLOYED
    scaler, least, most = _pods(planned, entry)
    return State(
        phase=str(entry.phase),
        weight=entry.weight if weighted else None,
        image=pulled_image(planned) if planned is not None else entry.image,
        digest=entry.digest,
        release=planned.release if planned is not None else "",
        scaler=scaler,
        min=least,
        max=most,
        waiting=waiting.digest if waiting is not None else "",
    )


def _pods(planned: PlannedVersion | None, entry: Entry) -> tuple[str, int, int]:
    """Who decides how many pods there are, or will be, the fewest and the most."""
    if planned is None or entry.phase is Phase.REMOVED:
        return "", 0, 0
    if entry.phase is Phase.PARKED:
        return "none", 0, 0
    scaling = planned.scaling.at_least(entry.floor)
    if scaling.owned:
        return scaling.type, scaling.min, scaling.max
    return scaling.type, scaling.replicas, scaling.replicas


def _objects(changes: Iterable[ObjectChange]) -> tuple[ObjectChange, ...]:
    return tuple(sorted(changes, key=object_order))


def object_order(change: ObjectChange) -> tuple[int, str, str, str]:
    kind = change.id.kind
    rank = _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
    return (rank, kind, change.id.namespace, change.id.name)
