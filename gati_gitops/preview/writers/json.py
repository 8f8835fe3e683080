"""For programs: the whole Review as JSON. ``review.schema.json`` beside this file is its schema.

Names are those of the model in camelCase. What is empty is left out, but never a side of a field's
change: ``before`` is missing only where there was no such field, ``after`` only where it goes.
"""

from __future__ import annotations

import json
from pkgutil import get_data
from typing import Any

from gati_gitops.preview.model import (
    FORMAT,
    Amount,
    ChangeClass,
    ClusterReview,
    Compared,
    EnvironmentReview,
    FieldChange,
    Finding,
    Keyed,
    ObjectChange,
    ObjectId,
    Op,
    Radius,
    Review,
    State,
    Step,
    Target,
    Totals,
    UnitReview,
    VersionReview,
)

Json = dict[str, Any]


def write_json(review: Review) -> str:
    """All of it on one line, as a program wants it; `jq .` makes it readable."""
    return json.dumps(review_data(review), ensure_ascii=False) + "\n"


def review_schema() -> Json:
    """The JSON Schema of what ``write_json`` gives."""
    data: Json = json.loads(get_data(__package__, "review.schema.json") or "{}")
    return data


def review_data(review: Review) -> Json:
    """The review as plain values."""
    return {
        "format": FORMAT,
        "same": review.same,
        "base": _compared(review.base),
        "head": _compared(review.head),
        "ledger": review.ledger,
        "notes": list(review.notes),
        "radius": _radius(review.radius),
        "findings": [_finding(finding) for finding in review.findings],
        "classes": [_class(found) for found in review.classes],
        "environments": [_environment(environment) for environment in review.environments],
        "objects": [_object(change) for change in review.objects],
    }


def _some(**fields: Any) -> Json:
    """Without what is empty; 0 is not."""
    return {
        name: value
        for name, value in fields.items()
        if value is not None and value is not False and value not in ("", [], {})
    }


def _compared(side: Compared) -> Json:
    return {"name": side.name} | _some(commit=side.commit, project=side.project)


def _radius(radius: Radius) -> Json:
    return {
        "environments": radius.environments,
        "clusters": radius.clusters,
        "units": radius.units,
        "created": radius.created,
        "changed": radius.changed,
        "recreated": radius.recreated,
        "renamed": radius.renamed,
        "deleted": radius.deleted,
    }


# -- what is said of many ------------------------------------------------------------------------


def _finding(finding: Finding) -> Json:
    place = finding.place
    where = (
        _some(file=place.file, line=place.line or None, column=place.column or None)
        if place
        else {}
    )
    return {
        "code": finding.code,
        "level": str(finding.level),
        "message": finding.message,
        "targets": [_target(target) for target in finding.targets],
    } | _some(
        place=where,
        field=finding.field,
        before=finding.before,
        after=finding.after,
        remedy=finding.remedy,
    )


def _target(target: Target) -> Json:
    return _some(
        environment=target.environment,
        cluster=target.cluster,
        unit=target.unit,
        version=target.version,
        object=_id(target.object) if target.object is not None else None,
    )


def _class(found: ChangeClass) -> Json:
    return {
        "id": found.id,
        "title": found.title,
        "action": str(found.action),
        "units": found.units,
        "fields": [_field(change) for change in found.fields],
        "targets": [_target(target) for target in found.targets],
    } | _some(
        kind=found.kind,
        outliers=[
            {"target": _target(one.target), "fields": [_field(change) for change in one.fields]}
            for one in found.outliers
        ],
    )


# -- what differs --------------------------------------------------------------------------------


def _environment(environment: EnvironmentReview) -> Json:
    totals = environment.totals
    return {
        "name": environment.name,
        "clusters": [_cluster(cluster) for cluster in environment.clusters],
    } | _some(totals=_totals(totals) if totals is not None else None)


def _cluster(cluster: ClusterReview) -> Json:
    return {"name": cluster.name, "units": [_unit(unit) for unit in cluster.units]} | _some(
        objects=[_object(change) for change in cluster.objects]
    )


def _unit(unit: UnitReview) -> Json:
    return {
        "unit": unit.unit,
        "kind": unit.kind,
        "namespace": unit.namespace,
        "name": unit.name,
        "action": str(unit.action),
        "versions": [_version(version) for version in unit.versions],
        "objects": [_object(change) for change in unit.objects],
    } | _some(
        was=unit.was,
        retiring=unit.retiring,
        held=unit.held,
        rollout=list(unit.rollout),
        files=list(unit.files),
    )


def _version(version: VersionReview) -> Json:
    return {"id": version.id, "objects": [_object(change) for change in version.objects]} | _some(
        was=version.was,
        like=version.like,
        restarts=version.restarts,
        before=_state(version.before),
        after=_state(version.after),
    )


def _state(state: State | None) -> Json | None:
    if state is None:
        return None
    runs = bool(state.scaler)
    return {"phase": state.phase} | _some(
        weight=state.weight,
        image=state.image,
        digest=state.digest,
        release=state.release,
        waiting=state.waiting,
        scaler=state.scaler,
        min=state.min if runs else None,
        max=state.max if runs else None,
    )


def _object(change: ObjectChange) -> Json:
    return {"id": _id(change.id), "action": str(change.action)} | _some(
        was=_id(change.was) if change.was is not None else None,
        like=_id(change.like) if change.like is not None else None,
        folder=change.folder,
        changeClass=change.change_class,
        fields=[_field(one) for one in change.fields],
        noise=[_field(one) for one in change.noise],
        before=change.before,
        after=change.after,
    )


def _id(id: ObjectId) -> Json:
    return {"group": id.group, "kind": id.kind, "name": id.name} | _some(namespace=id.namespace)


def _field(change: FieldChange) -> Json:
    found: Json = {
        "path": change.shown,
        "steps": [_step(step) for step in change.path],
        "op": str(change.op),
    }
    if change.op is not Op.ADD:
        found["before"] = change.before
    if change.op is not Op.REMOVE:
        found["after"] = change.after
    return found | _some(index=change.index, changeClass=change.change_class)


def _step(step: Step) -> Any:
    return dict(step.keys) if isinstance(step, Keyed) else step


# -- sums ----------------------------------------------------------------------------------------


def _totals(totals: Totals) -> Json:
    return {
        "whole": totals.whole,
        "least": {"before": _amount(totals.least_before), "after": _amount(totals.least_after)},
        "most": {"before": _amount(totals.most_before), "after": _amount(totals.most_after)},
    }


def _amount(amount: Amount) -> Json:
    return {
        "pods": amount.pods,
        "cpuRequests": amount.cpu_requests,
        "memoryRequests": amount.memory_requests,
        "cpuLimits": amount.cpu_limits,
        "memoryLimits": amount.memory_limits,
    } | _some(cost=amount.cost)
