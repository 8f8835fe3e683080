"""The objects of a unit, or of a namespace, against those of a cluster.

Objects are found by what they are called. What Git does not have is ours only if it says so: it
bears our labels and those of our project, and nobody else made it out of an object of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gati_gitops.decide.drift.fields import field_drift
from gati_gitops.decide.drift.model import ObjectDrift, What
from gati_gitops.ledger.model import DEPLOYED
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.plan.naming import (
    MANAGER,
    UNIT_LABEL,
    VERSION_ANNOTATION,
    VERSION_LABEL,
    UnitId,
    slug,
)
from gati_gitops.preview.mask import Mask
from gati_gitops.preview.objects import identity

Object = dict[str, Any]
Workload = tuple[str, str]
"""Namespace and name of a Deployment."""

MANAGED_BY = "app.kubernetes.io/managed-by"
PART_OF = "app.kubernetes.io/part-of"
OURS = f"{MANAGED_BY}={MANAGER}"
"""The label by which all that we wrote is found."""
_SCALERS = frozenset((("autoscaling", "HorizontalPodAutoscaler"), ("keda.sh", "ScaledObject")))


@dataclass(frozen=True, slots=True)
class Comparing:
    """How objects of one cluster are held against Git's."""

    engine: str
    """``argocd``, ``flux``, or empty where none is known."""
    mask: Mask
    scaled: frozenset[Workload] = field(default_factory=frozenset)
    """Whose number of pods belongs to a scaler."""

    def one(self, git: Object, live: Object) -> ObjectDrift | None:
        """What is not as Git says, of an object that is there."""
        id = identity(git)
        scaled = id.kind == "Deployment" and (id.namespace, id.name) in self.scaled
        if not field_drift(git, live, self.engine, scaled=scaled):
            return None
        # again without what must not be seen: the same fields, other values
        shown = self.mask.object(git), self.mask.object(live)
        found = field_drift(*shown, self.engine, scaled=scaled)
        return ObjectDrift(id, What.CHANGED, found, version_of(git))


def absent(git: Object) -> ObjectDrift:
    """An object that Git has and the cluster does not."""
    return ObjectDrift(identity(git), What.MISSING, version=version_of(git))


def scaled_workloads(*sides: Iterable[Object]) -> frozenset[Workload]:
    """Deployments that a scaler names, in Git or on the cluster."""
    found = set()
    for item in (item for side in sides for item in side):
        id = identity(item)
        if (id.group, id.kind) in _SCALERS:
            target = (item.get("spec") or {}).get("scaleTargetRef") or {}
            if target.get("kind", "Deployment") == "Deployment" and target.get("name"):
                found.add((id.namespace, str(target["name"])))
    return frozenset(found)


# -- what Git does not have ----------------------------------------------------------------------


def is_ours(item: Object, projects: frozenset[str]) -> bool:
    """Whether an object says that it came from here, and from no object that did."""
    labels = labels_of(item)
    derived = (item.get("metadata") or {}).get("ownerReferences")
    return labels.get(MANAGED_BY) == MANAGER and labels.get(PART_OF) in projects and not derived


def unit_of(item: Object, units: Iterable[UnitId]) -> UnitId | None:
    """The unit that an object says it belongs to; some of a unit's live in other namespaces."""
    name = labels_of(item).get(UNIT_LABEL, "")
    if not name:
        return None
    named = [unit for unit in units if unit.object_name == name]
    home = identity(item).namespace
    near = [unit for unit in named if unit.namespace == home]
    return near[0] if near else named[0] if len(named) == 1 else None


def extra(item: Object, stored: Stored | None) -> ObjectDrift:
    """An object of ours that Git does not have, and what is known of it."""
    version = version_of(item)
    why = ""
    if version and stored is not None:
        ledger = stored.ledger or recovered(stored)
        entry = next((e for e in ledger.entries if version in (e.id, slug(e.id))), None)
        if entry is None:
            why = f"the ledger does not know {version}"
        elif entry.phase not in DEPLOYED:
            version, why = entry.id, f"{entry.id} is {entry.phase}"
    elif stored is None and labels_of(item).get(UNIT_LABEL):
        why = f"Git has no unit {labels_of(item)[UNIT_LABEL]} here"
    return ObjectDrift(identity(item), What.EXTRA, version=version, why=why)


def labels_of(item: Object) -> Mapping[str, str]:
    return (item.get("metadata") or {}).get("labels") or {}


def version_of(item: Object) -> str:
    """The version that an object belongs to; empty if to the unit as a whole."""
    annotations = (item.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(VERSION_ANNOTATION) or labels_of(item).get(VERSION_LABEL, ""))
