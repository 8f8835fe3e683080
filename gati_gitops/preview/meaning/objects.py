"""Objects that go, are made again, or hold secrets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from gati_gitops.preview.immutable import immutable
from gati_gitops.preview.locate import spec_field
from gati_gitops.preview.mask import MASKED
from gati_gitops.preview.meaning.scene import UnitScene
from gati_gitops.preview.model import Action, FieldChange, Finding, Level, ObjectChange
from gati_gitops.preview.words import counted, listed, short, short_path

_HOLDS_DATA = frozenset(("PersistentVolumeClaim", "Secret", "ConfigMap", "PersistentVolume"))


def recreated(unit: UnitScene) -> Iterator[Finding]:
    for version, change in unit.changes():
        if change.action is Action.RECREATE:
            fields = _fixed(change)
            yield unit.finding(
                "object-recreated",
                Level.DANGER,
                f"{change.id.kind} {change.id.name} must be deleted and made again:"
                f" {listed([short_path(one.path) for one in fields])} can't be changed in place",
                version=version,
                at=spec_field(fields[0].path) if fields else ("spec",),
                change=change,
                field=fields[0].shown if fields else "",
                remedy="give it another name, or delete it yourself when that does no harm",
            )


def _fixed(change: ObjectChange) -> tuple[FieldChange, ...]:
    every = (*change.fields, *change.noise)
    return immutable(change.id, change.before or {}, change.after or {}, every)


def pruned(unit: UnitScene) -> Iterator[Finding]:
    """What goes, a sentence for each version; what holds data apart."""
    lost: dict[str, list[ObjectChange]] = {}
    for version, change in unit.changes():
        if unit.scene.first and (unit.after is None or _vanished(unit, version)):
            continue  # where it was published it stays until nobody needs it
        if change.action is Action.DELETE:
            lost.setdefault(version, []).append(change)
        elif change.action is Action.RENAME and not unit.scene.first:
            was = unit.draft.versions.get(version, version)
            lost.setdefault(was, []).append(change)
    for version, changes in lost.items():
        kept = [c for c in changes if c.action is Action.DELETE]
        for change in kept:
            if change.id.kind in _HOLDS_DATA - {"ConfigMap"}:
                yield unit.finding(
                    "object-pruned",
                    Level.DANGER,
                    f"{change.id.kind} {change.id.name} goes, with what it holds",
                    version=version,
                    change=change,
                )
        whose = f" of version {version}" if version else ""
        yield unit.finding(
            "object-pruned",
            Level.WARNING,
            f"{counted(len(changes), 'object')}{whose} {'goes' if len(changes) == 1 else 'go'}"
            f"{_renamed(changes)}: {_kinds(changes)}",
            version=version,
        )


def _vanished(unit: UnitScene, version: str) -> bool:
    """Whether a version is in no spec any more."""
    found = unit.version(version)
    return bool(version) and found is not None and found.after is None


def _renamed(changes: Iterable[ObjectChange]) -> str:
    if all(change.action is Action.RENAME for change in changes):
        return ", and come again under another name"
    return ""


def _kinds(changes: Iterable[ObjectChange]) -> str:
    count = Counter(change.id.kind for change in changes)
    return listed(f"{kind} × {n}" if n > 1 else kind for kind, n in sorted(count.items()))


def removed(unit: UnitScene) -> Iterator[Finding]:
    """Units that are no longer there at all, or on their way out."""
    name, was = unit.review.unit, unit.review.was
    if was:
        yield unit.finding(
            "unit-renamed",
            Level.WARNING if unit.scene.first else Level.DANGER,
            f"{was} is now {name}: where {was} was published it retires, and {name} starts anew"
            if unit.scene.first
            else f"{was} is now {name}: all of its objects go, and come again",
            at=("metadata", "name"),
        )
    elif unit.after is None:
        if unit.scene.first:
            yield unit.finding(
                "unit-retires",
                Level.WARNING,
                f"{name} is no longer in the specs: where it was published it serves until nobody"
                " calls it, then it goes",
            )
        else:
            yield unit.finding(
                "unit-removed", Level.DANGER, f"{name} goes, with all of its versions"
            )
    elif unit.review.retiring and unit.before is not None and not unit.before.ledger.retiring:
        yield unit.finding(
            "unit-retires",
            Level.WARNING,
            f"{name} retires: it serves until nobody calls it, then it is parked and goes",
        )


def secrets(unit: UnitScene) -> Iterator[Finding]:
    """Values that are never shown, and that they changed."""
    for version, change in unit.changes():
        if change.id.kind == "Secret" and not change.id.group:
            yield from _secret(unit, version, change)
        elif change.action in (Action.CHANGE, Action.RECREATE, Action.RENAME) or change.like:
            yield from _literals(unit, version, change)


def _secret(unit: UnitScene, version: str, change: ObjectChange) -> Iterator[Finding]:
    before, after = _data(change.before), _data(change.after)
    keys = [key for key in sorted(before | after) if before.get(key) != after.get(key)]
    if keys:
        shown = listed(f"{k} {before.get(k, 'none')} → {after.get(k, 'none')}" for k in keys)
        yield unit.finding(
            "secret-changed",
            Level.NOTE if change.action is Action.CREATE else Level.WARNING,
            f"Secret {change.id.name}: {shown}",
            version=version,
            change=change,
        )


def _data(item: dict[str, Any] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("data", "stringData"):
        data = (item or {}).get(name)
        found |= {str(k): str(v) for k, v in data.items()} if isinstance(data, dict) else {}
    return found


def _literals(unit: UnitScene, version: str, change: ObjectChange) -> Iterator[Finding]:
    for one in change.fields:
        text = json.dumps([one.before, one.after])
        if MASKED.search(text):
            yield unit.finding(
                "secret-changed",
                Level.WARNING,
                f"{change.id.kind} {change.id.name}: {short_path(one.path)} holds what looks like a"
                " secret, and changes",
                version=version,
                at=spec_field(one.path),
                change=change,
                field=one.shown,
                before=short(one.before) if one.before is not None else "",
                after=short(one.after) if one.after is not None else "",
                remedy="keep it in a Secret and name that in envRefs",
            )
