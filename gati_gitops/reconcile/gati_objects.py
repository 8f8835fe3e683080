"""The Gati objects that are in a cluster, beside those that the compiler read in the specs.

People may apply their specs as well, so that `kubectl get gatihandlers` shows them. Nothing depends
on it: where the kinds are not installed there are none, and units are told of by their Deployments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gati_gitops.observe.kube import Kube, KubeUnserved
from gati_gitops.plan.naming import UnitId
from gati_gitops.spec.common import API_VERSION

Object = dict[str, Any]
_OF_KIND = {"handler": "GatiHandler", "module": "GatiModule"}


@dataclass(frozen=True, slots=True)
class GatiObjects:
    """Those of one cluster, as they were a moment ago."""

    units: Mapping[tuple[str, str, str], Object] = field(default_factory=dict)
    """By kind, namespace and name."""
    versions: Mapping[tuple[str, str, str], Object] = field(default_factory=dict)
    """GatiVersions by namespace, handler and version id; only those that name their handler."""

    def of(self, unit: UnitId) -> Object | None:
        return self.units.get((_OF_KIND[unit.kind], unit.namespace, unit.name))

    def version(self, unit: UnitId, id: str) -> Object | None:
        return self.versions.get((unit.namespace, unit.name, id))


def gati_objects(kube: Kube) -> GatiObjects:
    """All of them. Raises KubeError, but not where the kinds are not installed."""
    units: dict[tuple[str, str, str], Object] = {}
    versions: dict[tuple[str, str, str], Object] = {}
    for kind in _OF_KIND.values():
        for item in _listed(kube, kind):
            units[kind, item["metadata"]["namespace"], item["metadata"]["name"]] = item
    for item in _listed(kube, "GatiVersion"):
        spec = item["spec"]
        if spec.get("handler") and spec.get("versionId"):
            key = (item["metadata"]["namespace"], str(spec["handler"]), str(spec["versionId"]))
            versions[key] = item
    return GatiObjects(units, versions)


def _listed(kube: Kube, kind: str) -> list[Object]:
    try:
        return kube.picked(API_VERSION, kind, _kept)
    except KubeUnserved:
        return []


def _kept(item: Object) -> Object:
    """Without the spec's bulk, and without managed fields."""
    head, spec = item["metadata"], item.get("spec") or {}
    names = ("name", "namespace", "uid", "generation")
    return {
        "apiVersion": API_VERSION,
        "kind": item["kind"],
        "metadata": {name: head[name] for name in names if name in head},
        "spec": {name: spec[name] for name in ("handler", "versionId") if name in spec},
        "status": item.get("status") or {},
    }
