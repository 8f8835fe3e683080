"""What templates see: plain data about the project, the unit and where it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gati_gitops.plan.naming import UNIT_LABEL, UnitId, selector, slug
from gati_gitops.plan.releases import port_name
from gati_gitops.spec.link import LinkedUnit, LinkedVersion
from gati_gitops.spec.project import GatiProject

Values = dict[str, Any]

KNOWN: Mapping[str, frozenset[str]] = {
    "version": frozenset(("project", "unit", "version")),
    "unit": frozenset(("project", "environment", "cluster", "unit")),
    "environment": frozenset(("project", "environment", "cluster", "namespace")),
}
"""The values of each scope."""


def project_values(project: GatiProject) -> Values:
    return {"name": project.metadata.name, "labels": dict(project.metadata.labels)}


def unit_values(unit: LinkedUnit) -> Values:
    """What is true of a unit whichever of its versions runs, and wherever it runs."""
    identity = UnitId(unit.namespace, unit.kind, unit.name)
    metadata, module = unit.doc.model.metadata, unit.module
    return {
        "kind": unit.kind,
        "name": unit.name,
        "namespace": unit.namespace,
        "object": identity.object_name,
        "path": unit.path,
        "labels": dict(metadata.labels),
        "annotations": dict(metadata.annotations),
        "selector": {UNIT_LABEL: identity.object_name},
        "portName": port_name(module),
        "module": None
        if module is None
        else {
            "name": module.module_name,
            "type": module.module_type,
            "runtime": module.runtime,
            "capabilities": list(module.capabilities),
        },
    }


def version_values(unit: LinkedUnit, version: LinkedVersion) -> Values:
    """One version as its spec describes it."""
    identity = UnitId(unit.namespace, unit.kind, unit.name)
    workload = version.workload
    assert workload is not None
    return {
        "id": version.id,
        "slug": slug(version.id),
        "name": identity.version_name(version.id),
        "image": workload.image,
        "port": workload.port,
        "env": dict(workload.env),
        "selector": dict(selector(identity, version.id)),
    }


def place_values(project: GatiProject, env: str, cluster: str) -> Values:
    """Where something runs."""
    settings = project.spec.environments[env]
    return {
        "project": project_values(project),
        "environment": {"name": env},
        "cluster": {"name": cluster, "role": settings.clusters[cluster].role},
    }
