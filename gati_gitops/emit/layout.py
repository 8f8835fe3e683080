"""The folders around the units: namespaces, clusters, environments, CRDs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gati_gitops.emit.monitoring.dashboard import dashboard
from gati_gitops.emit.monitoring.rules import rules
from gati_gitops.emit.objects.meta import Object
from gati_gitops.emit.objects.namespace import namespace
from gati_gitops.emit.release import KUSTOMIZATION, template_file
from gati_gitops.plan.job import FOLDER
from gati_gitops.plan.model import Added, UnitPlan
from gati_gitops.plan.naming import slug
from gati_gitops.plan.units import routing
from gati_gitops.spec.monitoring import Monitoring
from gati_gitops.spec.project import Environment, GatiProject
from gati_gitops.spec.publishing import PullRequests
from gati_gitops.tree import Tree, header
from gati_gitops.yamlio.emit import dump, dump_all

RECORD_FORMAT = 1
WHOLE, NO_OWNER = "all", "unowned"
"""Groups of the units of an environment: all of them, and those that name no owner."""
BUILT_IN = frozenset(("default", "kube-public", "kube-system"))
"""Namespaces that every cluster has, and that hold what is not ours to restrict."""


def cluster_files(
    env: str,
    cluster: str,
    units: Iterable[tuple[str, str]],
    project: str,
    source_file: str,
    monitoring: Monitoring | None = None,
    added: Mapping[str, Tree] | None = None,
    jobs: Mapping[str, bool] | None = None,
) -> Tree:
    """Kustomizations of a cluster and its namespaces. ``units`` are (namespace, folder) pairs.

    ``added`` are the files that templates, and the job, give to the folders of namespaces; ``jobs``
    has the namespaces with a job, and whether the Namespace goes with it.
    """
    line = header([source_file])
    root = f"overlays/{env}/{cluster}"
    by_namespace: dict[str, list[str]] = {}
    for name, folder in sorted(units):
        by_namespace.setdefault(name, []).append(folder)
    files: Tree = {}
    wide = _namespace_wide(sorted(by_namespace), project, monitoring)
    jobs = jobs or {}
    for name, ours in jobs.items():
        if ours and name not in BUILT_IN:
            wide.setdefault(name, {})["namespace.yaml"] = namespace(name, project)
    wide |= {name: {} for name in added or {} if name not in wide}
    for name, objects in wide.items():
        folder = f"{root}/{name}/_namespace"
        more = (added or {}).get(name, {})
        files |= {f"{folder}/{file}": dump(item, line) for file, item in objects.items()}
        files |= {f"{folder}/{file}": content for file, content in more.items()}
        files[f"{folder}/kustomization.yaml"] = _kustomization(sorted([*objects, *more]), line)
    for name, folders in by_namespace.items():
        files[f"{root}/{name}/kustomization.yaml"] = _kustomization(folders, line)
    roots = ["_crds"]
    for name in sorted(wide.keys() | by_namespace.keys() | jobs.keys()):
        roots += [f"{name}/_namespace"] * (name in wide) + [f"{name}/{FOLDER}"] * (name in jobs)
        roots += [name] * (name in by_namespace)
    files[f"{root}/kustomization.yaml"] = _kustomization(roots, line)
    return files


def _namespace_wide(
    names: list[str], project: str, monitoring: Monitoring | None
) -> dict[str, dict[str, Object]]:
    """Objects that belong to a namespace and to no unit of it, by file."""
    found: dict[str, dict[str, Object]] = {name: {} for name in names}
    for name in names:
        if name not in BUILT_IN:
            found[name]["namespace.yaml"] = namespace(name, project)
        if monitoring is not None and monitoring.rules:
            found[name]["rules.yaml"] = rules(name, project, monitoring)
    if monitoring is not None and monitoring.dashboard and names:
        made = dashboard(project, monitoring.namespace, names)
        found.setdefault(monitoring.namespace, {})["dashboard.yaml"] = made
    return {name: objects for name, objects in found.items() if objects}


def namespaces_of(tree: Mapping[str, bytes], env: str, cluster: str) -> dict[str, bool]:
    """Namespaces with objects of their own, and whether the Namespace itself is one of them."""
    root, end = f"overlays/{env}/{cluster}/", "/_namespace/kustomization.yaml"
    names = [p[len(root) : -len(end)] for p in tree if p.startswith(root) and p.endswith(end)]
    return {name: f"{root}{name}/_namespace/namespace.yaml" in tree for name in sorted(names)}


def namespace_files(added: Iterable[Added]) -> Tree:
    """Objects of a namespace, a file for each template."""
    by_file: dict[str, list[Added]] = {}
    for item in added:
        by_file.setdefault(template_file(item), []).append(item)
    return {
        file: dump_all([item.object for item in items], header([items[0].template]))
        for file, items in by_file.items()
    }


def crd_copies(env: str, cluster: str, crds: Mapping[str, bytes]) -> Tree:
    """Our CRDs as one cluster has them: a sync root of its own, so that they never ride along."""
    return {f"overlays/{env}/{cluster}/_crds/{file}": data for file, data in crds.items()}


def record_group(project: GatiProject, plan: UnitPlan) -> str:
    """The record, and the pull request, that a unit belongs to."""
    return group_of(project.spec.pull_requests, plan)


def group_of(settings: PullRequests, plan: UnitPlan) -> str:
    """The same by what an environment remembers of the project."""
    if settings.group_by == "namespace":
        return plan.unit.namespace
    if settings.group_by == "owner":
        owner = plan.labels.get(settings.owner_label)
        return slug(owner) if owner else NO_OWNER
    return WHOLE


def record_path(env: str, source: str, group: str) -> str:
    return f"overlays/{env}/sources/{source}/{group}.yaml"


def ahead_path(env: str, source: str) -> str:
    """Where units stand that were stored before the pull request of their group is merged."""
    return f"overlays/{env}/sources/{source}/_ahead.yaml"


def environment_files(
    project: GatiProject, env: str, source: str, compiler: str, groups: Iterable[str], file: str
) -> Tree:
    """The environment's settings, and the records of what this source published there."""
    line = header([file])
    settings = settings_data(project, env, source, file)
    files: Tree = {f"overlays/{env}/project.yaml": dump(settings, line)}
    for group in sorted(groups):
        record = {"format": RECORD_FORMAT, "source": source, "group": group, "compiler": compiler}
        files[record_path(env, source, group)] = dump(record, line)
    return files


def settings_data(project: GatiProject, env: str, owner: str, file: str) -> Object:
    """What an environment's overlay remembers of gati.yaml, defaults included."""
    settings: Environment = project.spec.environments[env]
    promotion = project.spec.promotion.get(env)
    data: dict[str, Any] = {
        "format": RECORD_FORMAT,
        "project": project.metadata.name,
        "owner": owner,
        "environment": env,
        "file": file,
        "rollout": _dump(project.spec.rollout_of(env)),
        "decommission": _dump(project.spec.decommission_of(env)),
        "revisions": settings.revisions,
        "onDelete": settings.on_delete,
        "modes": _dump(settings.modes),
        "deletionBudget": _dump(settings.deletion_budget or project.spec.deletion_budget),
        "commits": _dump(project.spec.commits),
        "pullRequests": _dump(project.spec.pull_requests),
        "clusters": {
            # how it is synced is recorded beside its engine's objects; its job says the rest itself
            name: _dump(
                cluster.model_copy(
                    update={"routing": routing(settings, name), "sync": None, "job": None}
                )
            )
            for name, cluster in sorted(settings.clusters.items())
        },
    }
    if settings.protected:
        data["protected"] = True
    if settings.drift != "report":
        data["drift"] = settings.drift
    if project.spec.monitoring is not None:
        data["monitoring"] = _dump(project.spec.monitoring)
    if promotion is not None:
        data["promotion"] = _dump(promotion)
    if settings.registries:
        data["registries"] = dict(sorted(settings.registries.items()))
    return data


def _dump(model: Any) -> dict[str, Any]:
    data: dict[str, Any] = model.model_dump(by_alias=True, exclude_none=True, mode="json")
    return data


def _kustomization(resources: list[str], line: str) -> bytes:
    return dump({**KUSTOMIZATION, "resources": resources}, line)
