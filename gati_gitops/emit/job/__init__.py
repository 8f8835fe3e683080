"""The job that watches rollouts, compiled like everything else.

What no cluster decides is a release folder, ``base/<namespace>/reconciler/<version>-<digest>``.
What one does (its rights there, its network, its alerts, and for whom it works) is a folder of the
cluster, ``overlays/<env>/<cluster>/<namespace>/_reconciler``, which is synced on its own: a unit
that cannot be built never stops what would roll it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gati_gitops.emit.job.alerts import rule
from gati_gitops.emit.job.monitoring import monitor
from gati_gitops.emit.job.network import network_policy
from gati_gitops.emit.job.rbac import rights
from gati_gitops.emit.job.workload import (
    disruption_budget,
    drift_workload,
    service,
    service_account,
    workload,
)
from gati_gitops.emit.objects.meta import Object
from gati_gitops.emit.patch import patches
from gati_gitops.emit.release import KUSTOMIZATION, folder_digest
from gati_gitops.plan.job import FOLDER, JobPlan
from gati_gitops.tree import Tree, header
from gati_gitops.yamlio.emit import dump, dump_all

BASE = "reconciler"
_RELEASE = re.compile(rb"base/[a-z0-9-]+/[a-z0-9-]+/[a-z0-9-]+")
_TO_ROOT = "../../../../../"  # overlays/<env>/<cluster>/<namespace>/_reconciler/


@dataclass(frozen=True, slots=True)
class JobFiles:
    """The job on one cluster, as files."""

    release: str
    """The path of its release folder."""
    base: Tree
    overlay: Tree


def job_files(plan: JobPlan, file: str) -> JobFiles:
    """All of it; ``file`` is where its settings stand."""
    line = header([file])
    common, here = _running(plan.released), _running(plan)
    base = {name: dump(item, line) for name, item in common.items()}
    base["kustomization.yaml"] = dump({**KUSTOMIZATION, "resources": sorted(common)}, line)
    release = f"base/{plan.namespace}/{BASE}/{plan.version}-{folder_digest(base)}"
    own: dict[str, Sequence[Object | None]] = {
        "drift.yaml": [drift_workload(plan)],
        "monitoring.yaml": [monitor(plan), rule(plan)],
        "network.yaml": [network_policy(plan)],
        "rights.yaml": rights(plan),
        "scaling.yaml": [disruption_budget(plan)],
    }
    files: Tree = {}
    for name, items in own.items():
        if objects := [item for item in items if item is not None]:
            files[name] = dump_all(objects, line)
    changed, _ = patches(list(common.values()), list(here.values()))
    kustomization: Object = {
        **KUSTOMIZATION,
        "resources": sorted([_TO_ROOT + release, *files]),
        "patches": [{"patch": dump(patch).decode()} for patch in changed],
    }
    if plan.images:
        kustomization["images"] = list(plan.images)
    files["kustomization.yaml"] = dump(kustomization, line)
    return JobFiles(
        release,
        {f"{release}/{name}": content for name, content in base.items()},
        {f"{plan.home}/{name}": content for name, content in files.items()},
    )


def _running(plan: JobPlan) -> dict[str, Object]:
    """What its release folder holds, by file."""
    built = (service_account(plan), service(plan), workload(plan))
    return {f"{item['kind'].lower()}.yaml": item for item in built if item is not None}


def job_namespaces(paths: Iterable[str], env: str, cluster: str) -> list[str]:
    """Where a job is on a cluster, as paths of an output tell it; what awaits pruning is none."""
    root, end = f"overlays/{env}/{cluster}/", f"/{FOLDER}/rights.yaml"
    return sorted(p[len(root) : -len(end)] for p in paths if p.startswith(root) and p.endswith(end))


def is_job_release(path: str) -> bool:
    """Whether a release folder is a job's."""
    return path.split("/")[2:3] == [BASE]


def job_releases(tree: Mapping[str, bytes], env: str) -> set[str]:
    """Release folders that the jobs of an environment name."""
    start, end = f"overlays/{env}/", f"/{FOLDER}/kustomization.yaml"
    return {
        found.decode()
        for path, content in tree.items()
        if path.startswith(start) and path.endswith(end)
        for found in _RELEASE.findall(content)
    }
