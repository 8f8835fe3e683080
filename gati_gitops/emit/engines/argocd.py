"""Argo CD: an Application per sync root, and AppProjects with the rights that those need.

Applications carry no finalizer, so deleting one deletes nothing that it synced. No waves and no
hooks: all objects of a root are applied together, and what takes traffic from a crashing version
waits for nobody's health.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gati_gitops.emit.engines.rights import (
    JOB_CLUSTER_KINDS,
    JOB_KINDS,
    NAMESPACE_KINDS,
    UNIT_KINDS,
)
from gati_gitops.emit.engines.roots import Root, identity
from gati_gitops.emit.engines.target import Target
from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.plan.job import job_name
from gati_gitops.spec.sync import IN_CLUSTER

_API = "argoproj.io/v1alpha1"
_PATHS = "argocd.argoproj.io/manifest-generate-paths"
# With `refresh` a retry takes the newest commit, so a bad one never delays the one that mends it.
_RETRY = {
    "limit": 10,
    "refresh": True,
    "backoff": {"duration": "5s", "factor": 2, "maxDuration": "1m"},
}


def argocd_objects(
    target: Target, roots: Sequence[Root], crds: Iterable[str]
) -> dict[str, list[Object]]:
    """File to objects."""
    projects = [_units_project(target, roots), _cluster_project(target, roots, crds)]
    if any(root.job for root in roots):
        projects.append(_job_project(target, roots))
    files = {"project.yaml": projects}
    for root in roots:
        files[root.file] = [_application(target, root)]
    return files


def automated(root: Root) -> Object:
    """How a root is synced by itself."""
    said = {"prune": True, "selfHeal": True}
    # That no unit is left is always a decision; without namespace or CRD it is an accident.
    return said if root.guarded else {**said, "allowEmpty": True}


def _application(target: Target, root: Root) -> Object:
    base = f";/{target.at(root.base)}" if root.base else ""
    options = ["ServerSideApply=true", "PruneLast=true"]
    destination = {**_cluster(target)}
    if root.namespace:
        destination["namespace"] = root.namespace
    return {
        **_named(target, "Application", root.name, root, {_PATHS: f".{base}"}),
        "spec": {
            "project": _project_name(target, root),
            "source": {
                "repoURL": target.sync.repository,
                "targetRevision": target.sync.branch,
                "path": target.at(root.folder),
            },
            "destination": destination,
            "syncPolicy": {
                "automated": automated(root),
                "syncOptions": [*options, "Prune=confirm"] if root.guarded else options,
                "retry": _RETRY,
            },
        },
    }


def _units_project(target: Target, roots: Sequence[Root]) -> Object:
    """May hold what units are made of, in their namespaces, and nothing of the cluster's own."""
    own = {root.namespace for root in roots if not root.guarded and not root.job}
    namespaces = sorted(own.union(target.route_namespaces))
    return _project(
        target,
        "units",
        f"The units of {target.project} on {target.cluster} ({target.env}).",
        [{**_cluster(target), "namespace": namespace} for namespace in namespaces],
        # Without a list of its own a project may hold nothing that belongs to the cluster.
        {"namespaceResourceWhitelist": _kinds({*UNIT_KINDS, *_extra(target)})},
    )


def _cluster_project(target: Target, roots: Sequence[Root], crds: Iterable[str]) -> Object:
    """May hold our CRDs and namespaces, each by its name."""
    namespaces = [root.namespace for root in roots if root.guarded and root.namespace]
    permitted = [
        {"group": "apiextensions.k8s.io", "kind": "CustomResourceDefinition", "name": name}
        for name in sorted(crds)
    ] + [
        {"group": "", "kind": "Namespace", "name": root.namespace}
        for root in roots
        if root.holds_namespace
    ]
    # But without a list of these it may hold every namespaced kind.
    namespaced = (
        {"namespaceResourceWhitelist": _kinds({*NAMESPACE_KINDS, *_extra(target)})}
        if NAMESPACE_KINDS
        else {"namespaceResourceBlacklist": _kinds([("*", "*")])}
    )
    return _project(
        target,
        "cluster",
        f"Namespaces and CRDs of {target.project} on {target.cluster} ({target.env}).",
        [
            _cluster(target),
            *({**_cluster(target), "namespace": namespace} for namespace in namespaces),
        ],
        {"clusterResourceWhitelist": permitted, **namespaced},
    )


def _job_project(target: Target, roots: Sequence[Root]) -> Object:
    """May give rights, so nothing but the job may be in it."""
    namespaces = {root.namespace for root in roots if root.job}
    if _cluster(target) == {"server": IN_CLUSTER}:
        namespaces.add(target.sync.argocd.namespace)  # where the job reads what was synced
    name = job_name(target.project)
    permitted = [{"group": group, "kind": kind, "name": name} for group, kind in JOB_CLUSTER_KINDS]
    return _project(
        target,
        "reconciler",
        f"What watches {target.cluster} ({target.env}) for {target.project}.",
        [{**_cluster(target), "namespace": namespace} for namespace in sorted(namespaces)],
        {
            "clusterResourceWhitelist": permitted,
            "namespaceResourceWhitelist": _kinds(JOB_KINDS),
        },
    )


def _project(
    target: Target, part: str, words: str, destinations: list[Object], rights: Object
) -> Object:
    return {
        **_named(target, "AppProject", identity(target.env, target.cluster, part), None, {}),
        "spec": {
            "description": words,
            "sourceRepos": [target.sync.repository],
            "destinations": destinations,
            **rights,
        },
    }


def _project_name(target: Target, root: Root) -> str:
    part = "cluster" if root.guarded else "reconciler" if root.job else "units"
    return identity(target.env, target.cluster, part)


def _cluster(target: Target) -> dict[str, str]:
    if target.here.name is not None:
        return {"name": target.here.name}
    return {"server": target.here.server or IN_CLUSTER}


def _extra(target: Target) -> set[tuple[str, str]]:
    """Kinds that the project's templates make."""
    return {(kind.group, kind.kind) for kind in target.sync.argocd.kinds}


def _kinds(kinds: Iterable[tuple[str, str]]) -> list[Object]:
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]


def _named(
    target: Target, kind: str, name: str, root: Root | None, annotations: dict[str, str]
) -> Object:
    labels = target.labels(root)
    return named(_API, kind, name, target.sync.argocd.namespace, labels, annotations)
