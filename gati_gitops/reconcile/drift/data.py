"""The report as data for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gati_gitops.decide.drift.fields import FieldDrift
from gati_gitops.decide.drift.model import (
    FORMAT,
    FileDrift,
    ObjectDrift,
    PlaceDrift,
    Report,
    Split,
    UnitDrift,
)
from gati_gitops.decide.observation import Engine, Missing

Data = dict[str, Any]


def report_data(report: Report) -> Data:
    """Only what drifted is listed; how much was looked at is counted."""
    return {
        "format": FORMAT,
        "branch": report.branch,
        "commit": report.commit,
        "drifted": report.drifted,
        "complete": not report.unseen,
        "places": [_place(place) for place in report.places],
    }


def _place(place: PlaceDrift) -> Data:
    refused = {"refused": place.refused} if place.refused else {}
    return {
        **refused,
        "environment": place.environment,
        "cluster": place.cluster,
        "policy": place.policy,
        "looked": len(place.units),
        "units": [_unit(unit) for unit in place.units if unit.drifted],
        "objects": [_object(item) for item in place.objects],
        "files": _files(place.files),
        "unseen": [_missing(gap) for gap in place.unseen],
    }


def _unit(unit: UnitDrift) -> Data:
    found: Data = {
        "unit": str(unit.unit),
        "objects": [_object(item) for item in unit.objects],
        "files": _files(unit.files),
    }
    if unit.held:
        found["held"] = unit.held
    if unit.broken_glass:
        found["breakGlass"] = unit.broken_glass
    if isinstance(unit.engine, Engine):
        engine = unit.engine
        found["engine"] = {"state": engine.state, "why": engine.why, "revision": engine.revision}
    if isinstance(unit.split, Split):
        found["traffic"] = _split(unit.split)
    return found


def _object(item: ObjectDrift) -> Data:
    id = item.id
    found: Data = {
        "group": id.group,
        "kind": id.kind,
        "namespace": id.namespace,
        "name": id.name,
        "what": item.what,
    }
    if item.version:
        found["version"] = item.version
    if item.why:
        found["why"] = item.why
    if item.fields:
        found["fields"] = [_field(field) for field in item.fields]
    return found


def _field(field: FieldDrift) -> Data:
    found: Data = {"path": field.shown, "op": field.op}
    if field.git is not None:
        found["git"] = field.git
    if field.live is not None:
        found["live"] = field.live
    if field.left_over:
        found["leftOver"] = True
    if field.who:
        found["who"] = [
            {"manager": who.manager, "operation": who.operation, "time": who.time}
            for who in field.who
        ]
    return found


def _files(files: Iterable[FileDrift]) -> list[Data]:
    return [
        {"path": file.path, "what": file.what, **({"why": file.why} if file.why else {})}
        for file in files
    ]


def _split(split: Split) -> Data:
    return {
        "drifted": split.drifted,
        "seconds": round(split.seconds),
        "source": split.source,
        "versions": [
            {
                "version": share.version,
                "declared": share.declared,
                "requests": share.requests,
                "low": round(100 * share.low, 2),
                "high": round(100 * share.high, 2),
            }
            for share in split.shares
        ],
    }


def _missing(gap: Missing) -> Data:
    return {"gap": gap.gap, "why": gap.why, "source": gap.source}
