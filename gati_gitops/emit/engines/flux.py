"""Flux: one GitRepository, and a Kustomization per sync root.

``wait: false`` and no ``dependsOn`` on units: while a Kustomization waits for health it takes no
new commit, so one sick unit would delay the rollback of all. ``deletionPolicy: Orphan`` lets a
Kustomization go without what it applied, and ``prune`` still removes what leaves Git.

No ``postBuild``: with one, Flux replaces every ``${…}`` in our manifests, unknown names by nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gati_gitops.emit.engines.roots import Root, identity
from gati_gitops.emit.engines.target import Target
from gati_gitops.emit.objects.meta import Object, named


def flux_objects(target: Target, roots: Sequence[Root]) -> dict[str, list[Object]]:
    """File to objects."""
    files = {"source.yaml": [_repository(target)]}
    for root in roots:
        files[root.file] = [_kustomization(target, root)]
    return files


def _repository(target: Target) -> Object:
    flux = target.sync.flux
    spec: Object = {
        "interval": _duration(flux.interval),
        "timeout": "60s",
        "url": target.sync.repository,
        "ref": {"branch": target.sync.branch},
    }
    if flux.secret is not None:
        spec["secretRef"] = {"name": flux.secret}
    api, kind = "source.toolkit.fluxcd.io/v1", "GitRepository"
    head = named(api, kind, source_name(target), flux.namespace, target.labels())
    return {**head, "spec": spec}


def _kustomization(target: Target, root: Root) -> Object:
    flux, here = target.sync.flux, target.here
    spec: Object = {
        # A new commit is taken at once; this is how often drift is mended.
        "interval": "10m",
        "retryInterval": "30s",
        "timeout": "2m",
        "sourceRef": {"kind": "GitRepository", "name": source_name(target)},
        "path": f"./{target.at(root.folder)}",
        "prune": not root.guarded,
        "deletionPolicy": "Orphan",
        "force": False,
        # Nothing waits for namespaces and CRDs, so these may wait for themselves.
        "wait": root.guarded,
    }
    if here.service_account is not None:
        spec["serviceAccountName"] = here.service_account
    if here.kube_config is not None:
        secret = here.kube_config.model_dump(exclude_none=True)
        spec["kubeConfig"] = {"secretRef": secret}
    api, kind = "kustomize.toolkit.fluxcd.io/v1", "Kustomization"
    return {**named(api, kind, root.name, flux.namespace, target.labels(root)), "spec": spec}


def source_name(target: Target) -> str:
    """What the GitRepository of a cluster is called."""
    return identity(target.env, target.cluster)


def _duration(text: str) -> str:
    """As Go reads it: there are no days."""
    return re.sub(r"(\d+)d", lambda found: f"{int(found[1]) * 24}h", text)
