"""From a linked version to a Release, and the digest that ledgers know it by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from gati_gitops.plan import defaults
from gati_gitops.plan.calls import Around, calls
from gati_gitops.plan.model import Release
from gati_gitops.plan.naming import VERSION_ANNOTATION, UnitId
from gati_gitops.plan.reach import Call
from gati_gitops.spec.kinds import HandlerSpec, ModuleSpec
from gati_gitops.spec.link import LinkedUnit, LinkedVersion
from gati_gitops.spec.workload import RunningWorkload

# How many, how much traffic and under which host: decided by overlays, so not part of a release.
_NOT_OF_THE_POD = frozenset(
    ("replicas", "autoscaling", "hosts", "metrics", "egress", "timescape", "version", "handlerPath")
)
_RESERVED_LABELS = ("app.kubernetes.io/", "gati.dev/")


def spec_digest(
    data: Mapping[str, Any],
    labels: Mapping[str, str],
    transformers: tuple[str, ...] = (),
    borrowed: Mapping[str, Any] | None = None,
) -> str:
    """Digest of what a spec says about the pods of one version: no path, no compiler, no header."""
    relevant: dict[str, Any] = {k: v for k, v in data.items() if k not in _NOT_OF_THE_POD}
    if labels:
        relevant["labels"] = labels
    if transformers:
        relevant["transformers"] = transformers
    if borrowed:
        relevant["borrowed"] = borrowed
    text = json.dumps(relevant, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:16]


def release(
    unit: LinkedUnit, version: LinkedVersion, project: str, around: Around | None = None
) -> Release:
    """Everything decided. The version must know how it runs."""
    around = around or Around()
    workload, module = version.workload, unit.module
    assert workload is not None
    annotations = {VERSION_ANNOTATION: version.id}
    labels = user_labels(unit)
    called = calls(unit, version, around.modules)
    added = around.added(unit, version)
    borrowed = _borrowed(unit, workload, called, around)
    if added:
        borrowed["templates"] = [item.object for item in added]
    if isinstance(unit.doc.model.spec, HandlerSpec):
        annotations["gati.dev/path"] = unit.path
    elif module is not None:
        annotations["gati.dev/module"] = module.module_name
        annotations["gati.dev/module-type"] = module.module_type
        annotations["gati.dev/runtime"] = module.runtime
    return Release(
        unit=UnitId(unit.namespace, unit.kind, unit.name),
        version=version.id,
        digest=spec_digest(version.data, labels, version.transformers, borrowed),
        files=tuple(dict.fromkeys((*version.files, *(item.template for item in added)))),
        project=project,
        port_name=port_name(module),
        labels=labels,
        annotations=annotations,
        workload=workload,
        resources=defaults.resources(workload, around.defaults.resources),
        env=defaults.env(workload, version, module, called),
        probes=defaults.probes(workload, module),
        writable=defaults.writable(workload, module),
        pull_policy=defaults.pull_policy(workload),
        priority_class=_priority_class(workload, around),
        runtime_class=_runtime_class(unit, workload, around),
        calls=called,
        added=added,
        metrics_port=_metrics_port(workload),
    )


def _metrics_port(workload: RunningWorkload) -> int:
    own = workload.metrics
    if own is None or not own.scrape or own.port in (None, workload.port):
        return 0
    return own.port or 0


def _priority_class(workload: RunningWorkload, around: Around) -> str:
    own = workload.placement.priority_class if workload.placement else None
    return own or around.defaults.priority_class or ""


def _runtime_class(unit: LinkedUnit, workload: RunningWorkload, around: Around) -> str:
    own = workload.placement.runtime_class if workload.placement else None
    wasm = unit.module is not None and unit.module.module_type == "wasm"
    return own or (around.defaults.wasm_runtime_class if wasm else "") or ""


def _borrowed(
    unit: LinkedUnit, workload: RunningWorkload, called: tuple[Call, ...], around: Around
) -> dict[str, Any]:
    """What the pods have from elsewhere than their own documents."""
    found: dict[str, Any] = {}
    if called:
        found["modules"] = [[c.namespace, c.name, c.port, c.scheme] for c in called]
    if around.defaults.resources is not None:
        resources = defaults.resources(workload, around.defaults.resources)
        if resources != defaults.resources(workload):
            found["resources"] = resources
    if around.defaults.priority_class and not (
        workload.placement and workload.placement.priority_class
    ):
        found["priorityClass"] = around.defaults.priority_class
    if _runtime_class(unit, workload, around) != _runtime_class(unit, workload, Around()):
        found["runtimeClass"] = around.defaults.wasm_runtime_class
    if _metrics_port(workload):
        found["metricsPort"] = _metrics_port(workload)
    return found


def port_name(module: ModuleSpec | None) -> str:
    """What a unit's port is called in Deployments and Services."""
    return "http" if module is None else "rpc"


def user_labels(unit: LinkedUnit) -> dict[str, str]:
    """Labels a team put on its document, for every object made from it."""
    labels = unit.doc.model.metadata.labels
    return {k: v for k, v in sorted(labels.items()) if not k.startswith(_RESERVED_LABELS)}
