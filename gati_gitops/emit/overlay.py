"""A unit's overlay: what the environment and the rollout decide, from plan and ledger alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

from gati_gitops.emit.monitoring.monitors import monitor
from gati_gitops.emit.objects.meta import Object
from gati_gitops.emit.objects.module_service import module_service
from gati_gitops.emit.objects.network_policy import network_policies
from gati_gitops.emit.objects.scalers import disruption_budget, scaler
from gati_gitops.emit.patch import apply_replicas
from gati_gitops.emit.release import KUSTOMIZATION, release_path
from gati_gitops.emit.routes import routes
from gati_gitops.ledger.model import DEPLOYED, SCALED, Entry, Ledger, Phase
from gati_gitops.plan.model import PlannedVersion, UnitPlan
from gati_gitops.tree import Tree, header
from gati_gitops.yamlio.emit import dump, dump_all

# all of a plan but where it is for; nothing that is built may depend on these
_content = attrgetter(
    *(
        field.name
        for field in fields(UnitPlan)
        if field.name not in ("environment", "cluster", "source", "target", "added", "next")
    )
)
_TEMPLATES = "templates.yaml"
_TO_ROOT = "../../../../../"  # overlays/<env>/<cluster>/<namespace>/<unit>/


def overlay_path(plan: UnitPlan) -> str:
    unit = plan.unit
    return f"overlays/{plan.environment}/{plan.cluster}/{unit.namespace}/{unit.folder}"


def same_manifests(one: tuple[UnitPlan, Ledger], two: tuple[UnitPlan, Ledger]) -> bool:
    """Whether two clusters get the same bytes, so that they need to be made only once.

    What templates give may differ in every cluster, so it counts only whether there is any.
    """
    (plan, ledger), (other, others_ledger) = one, two
    return (
        ledger.entries == others_ledger.entries
        and ledger.retiring == others_ledger.retiring
        and bool(plan.added) == bool(other.added)
        and _content(plan) == _content(other)
    )


def manifests(plan: UnitPlan, ledger: Ledger) -> Tree:
    """What is built and applied: nothing in it names the environment or the cluster."""
    deployed = _deployed(plan, ledger)
    # of what is deployed: a version that only waits must not change a byte here
    line = header([file for _, version in deployed for file in version.files] or plan.files)
    files: Tree = {}
    resources = [_TO_ROOT + release_path(plan.unit, v.release) for _, v in deployed]
    for name, objects in _own(plan, ledger, deployed):
        if objects:
            files[name] = dump_all(objects, line)
            resources.append(name)
    if deployed and plan.added:
        files |= template_files(plan)
        resources.append(_TEMPLATES)
    kustomization: Object = {**KUSTOMIZATION, "resources": sorted(resources)}
    inline = [{"patch": _inline(p)} for pair in deployed for p in _patches(plan, *pair)]
    if inline:
        kustomization["patches"] = inline
    images = {image["name"]: image for _, version in deployed for image in version.images}
    if images:
        kustomization["images"] = [images[name] for name in sorted(images)]
    files["kustomization.yaml"] = dump(kustomization, line)
    return files


def template_files(plan: UnitPlan) -> Tree:
    """What templates give the unit on its cluster."""
    line = header([item.template for item in plan.added])
    return {_TEMPLATES: dump_all([item.object for item in plan.added], line)}


def overlay_objects(plan: UnitPlan, ledger: Ledger) -> Iterator[Object]:
    """What the overlay of a unit has of its own, as we make it."""
    for file, objects in _own(plan, ledger, _deployed(plan, ledger)):
        if file != "extra.yaml":
            yield from objects


def _own(
    plan: UnitPlan, ledger: Ledger, deployed: list[tuple[Entry, PlannedVersion]]
) -> tuple[tuple[str, Sequence[Object]], ...]:
    return (
        ("route.yaml", routes(plan, ledger)),
        ("service.yaml", _service(plan, deployed)),
        ("network.yaml", network_policies(plan, [version for _, version in deployed])),
        ("scaling.yaml", _scaling(plan, deployed)),
        ("monitoring.yaml", _monitoring(plan, deployed)),
        ("extra.yaml", [item for _, version in deployed for item in version.extras]),
    )


def _deployed(plan: UnitPlan, ledger: Ledger) -> list[tuple[Entry, PlannedVersion]]:
    return [
        (entry, _floored(entry, version))
        for entry in ledger.entries
        if entry.phase in DEPLOYED and (version := plan.version(*entry.key)) is not None
    ]


def _floored(entry: Entry, version: PlannedVersion) -> PlannedVersion:
    """Who must be able to take all of the traffic back keeps the pods for it."""
    scaling = version.scaling.at_least(entry.floor)
    return version if scaling is version.scaling else replace(version, scaling=scaling)


def _service(plan: UnitPlan, deployed: list[tuple[Entry, PlannedVersion]]) -> list[Object]:
    found = module_service(plan, deployed)
    return [found] if found is not None else []


def _monitoring(plan: UnitPlan, deployed: list[tuple[Entry, PlannedVersion]]) -> list[Object]:
    found = monitor(plan) if deployed else None
    return [found] if found is not None else []


def _scaling(plan: UnitPlan, deployed: list[tuple[Entry, PlannedVersion]]) -> list[Object]:
    """Scalers and disruption budgets as whole objects."""
    found = []
    for entry, version in deployed:
        if entry.phase in SCALED:
            found += [scaler(plan, version), disruption_budget(plan, version)]
    return [item for item in found if item is not None]


def _inline(patch: Object) -> str:
    """A patch as text. Kustomize strips it, and what ends in a line of text would lose its end."""
    last: Any = patch
    while isinstance(last, dict | list) and last:
        last = [*last.values()][-1] if isinstance(last, dict) else last[-1]
    if isinstance(last, str) and last != last.rstrip():
        others = {key: value for key, value in patch.items() if key != "metadata"}
        patch = {**others, "metadata": patch["metadata"]}
    return dump(patch).decode()


def _patches(plan: UnitPlan, entry: Entry, version: PlannedVersion) -> list[Object]:
    """One strategic-merge patch per changed object; the Deployment's carries the replica count."""
    parked = entry.phase is Phase.PARKED
    if version.scaling.owned and not parked:
        return list(version.patches)
    head: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": version.name, "namespace": plan.unit.namespace},
    }
    own = next((p for p in version.patches if p["kind"] == "Deployment"), None)
    replicas = 0 if parked else version.scaling.replicas
    others = [p for p in version.patches if p is not own]
    return [apply_replicas(own, head, replicas), *others]
