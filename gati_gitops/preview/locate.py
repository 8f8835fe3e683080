"""Where the specs say what a finding is about: from a unit and a field to file and line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gati_gitops.emit.objects.deployment import FILES_DIGEST
from gati_gitops.errors import Place
from gati_gitops.plan.naming import UnitId
from gati_gitops.preview.model import Keyed, Path
from gati_gitops.preview.side import UnitPlace
from gati_gitops.spec.link import Linked, LinkedUnit, LinkedVersion
from gati_gitops.spec.load import Specs
from gati_gitops.spec.source import place_of

WEIGHT = ("spec", "weight")
"""Stands for the weight of a version, which handlers and versions say in different fields."""

Field = tuple[str, ...]

# What a field of a pod, or of its container, is called in a spec.
_POD: Mapping[str, Field] = {
    "image": ("spec", "image"),
    "env": ("spec", "env"),
    "envFrom": ("spec", "envFrom"),
    "command": ("spec", "command"),
    "args": ("spec", "args"),
    "resources": ("spec", "resources"),
    "ports": ("spec", "port"),
    "livenessProbe": ("spec", "probes", "liveness"),
    "readinessProbe": ("spec", "probes", "readiness"),
    "startupProbe": ("spec", "probes", "startup"),
    "securityContext": ("spec", "security"),
    "volumeMounts": ("spec", "volumes"),
    "volumes": ("spec", "volumes"),
    "lifecycle": ("spec", "drain"),
    "terminationGracePeriodSeconds": ("spec", "drain"),
    "imagePullPolicy": ("spec", "imagePullPolicy"),
    "imagePullSecrets": ("spec", "imagePullSecrets"),
    "nodeSelector": ("spec", "placement", "nodeSelector"),
    "tolerations": ("spec", "placement", "tolerations"),
    "priorityClassName": ("spec", "placement", "priorityClass"),
    "runtimeClassName": ("spec", "placement", "runtimeClass"),
    "serviceAccountName": ("spec", "serviceAccount", "name"),
    "automountServiceAccountToken": ("spec", "serviceAccount", "token"),
}


def spec_field(path: Path) -> Field:
    """The field of a spec that a field of a Deployment most likely comes from."""
    if path[-1:] == (FILES_DIGEST,):
        return ("spec", "volumes")
    steps = list(path)
    for head in (["spec", "template"], ["spec"]):
        if steps[: len(head)] == head and len(steps) > len(head):
            steps = steps[len(head) :]
    if steps[:1] == ["spec"]:
        steps = steps[1:]
    if steps[:1] == ["containers"] and len(steps) > 2:
        steps = steps[2:]
    if "labels" in steps[:2]:
        return ("metadata", "labels")
    if not steps or not isinstance(steps[0], str):
        return ("spec",)
    found = _POD.get(steps[0], ("spec",))
    if steps[0] == "env" and len(steps) > 1 and isinstance(steps[1], Keyed):
        return (*found, str(steps[1].keys[0][1]))
    if steps[0] == "resources":
        return (*found, *(step for step in steps[1:] if isinstance(step, str)))
    return found


@dataclass(slots=True)
class Locator:
    """Finds places in the specs of one side."""

    specs: Specs
    linked: Linked
    prefix: str = ""
    """What stands before the names of spec files, for who looks from elsewhere."""
    _units: dict[tuple[str, str], dict[tuple[str, str], LinkedUnit]] = field(
        default_factory=dict, repr=False
    )
    _places: dict[tuple[int, Field], Place] = field(default_factory=dict, repr=False)

    def __call__(self, where: UnitPlace, version: str, at: Field) -> Place | None:
        env, cluster, namespace, folder = where
        if not folder:
            doc = self.specs.project_doc
            return self._seen(doc.place(*at)) if doc is not None else None
        unit = self._unit(env, cluster, namespace, folder)
        if unit is None:
            return None
        found = next((one for one in unit.versions if one.id == version), None)
        key = (id(found or unit), at)
        if key not in self._places:  # clusters mostly have the very same documents
            place = (
                _said(found, at)
                if found is not None
                else unit.doc.place(*_plain(at, unit.doc.model.kind))
            )
            self._places[key] = self._seen(place)
        return self._places[key]

    def content(self, where: UnitPlace) -> object:
        """All that the documents of a unit say; None where there are none."""
        unit = self._unit(*where)
        return unit and (unit.doc.data, [(version.id, version.data) for version in unit.versions])

    def _unit(self, env: str, cluster: str, namespace: str, folder: str) -> LinkedUnit | None:
        if (env, cluster) not in self._units:
            units = self.linked.on.get((env, cluster), self.linked.base)
            known = {UnitId(unit.namespace, unit.kind, unit.name).key: unit for unit in units}
            self._units[env, cluster] = known
        return self._units[env, cluster].get((namespace, folder))

    def _seen(self, place: Place) -> Place:
        return Place(f"{self.prefix}{place.file}", place.line, place.column)


def _said(version: LinkedVersion, at: Field) -> Place:
    """Where a version's field was set: in its own document, or the one that it inherits from."""
    doc = version.docs[-1]
    if at == WEIGHT or (at == ("spec", "version") and doc.model.kind == "GatiVersion"):
        return doc.place(*_plain(at, doc.model.kind))
    layers = [layer for one in version.docs for layer in one.layers]
    return place_of(layers, at) if layers else Place(doc.file)


def _plain(at: Field, kind: str) -> Field:
    if at == ("spec", "version") and kind == "GatiVersion":
        return ("spec", "versionId")
    if at != WEIGHT:
        return at
    inside = () if kind == "GatiVersion" else ("timescape",)
    return ("spec", *inside, "routingWeight")
