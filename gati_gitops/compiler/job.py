"""The job on a cluster: compiled by who owns the environment, kept as it is by everybody else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gati_gitops.compiler.run import Run
from gati_gitops.emit.job import job_files, job_namespaces, job_releases
from gati_gitops.emit.job.monitoring import DASHBOARD, dashboard
from gati_gitops.output import Output
from gati_gitops.plan.job import gateway_namespace, job_folder, job_plan
from gati_gitops.spec.routing import Routing
from gati_gitops.tree import Tree, header
from gati_gitops.yamlio.emit import dump


@dataclass(frozen=True, slots=True)
class Watching:
    """What watches one cluster."""

    namespaces: Mapping[str, bool] = field(default_factory=dict)
    """Where it is, and whether the Namespace goes with it."""
    overlay: Tree = field(default_factory=dict)
    releases: Mapping[str, Tree] = field(default_factory=dict)
    """Release folders that it names; of one without files those that stand there."""
    shared: Mapping[str, Tree] = field(default_factory=dict)
    """What it gives to folders of namespaces."""


def watching(run: Run, env: str, cluster: str) -> Watching:
    """The job of a cluster after this compile."""
    if run.owner(env).source != run.source:
        return kept(run.output, env, cluster)
    plan = job_plan(run.specs.project, env, cluster)
    if plan is None:
        return Watching()
    files = job_files(plan, run.file)
    shared: dict[str, Tree] = {}
    if (board := dashboard(plan)) is not None:
        line = header([run.file])
        shared[board["metadata"]["namespace"]] = {DASHBOARD: dump(board, line)}
    return Watching(
        {plan.namespace: plan.holds_namespace},
        files.overlay,
        {files.release: files.base},
        shared,
    )


def kept(output: Output, env: str, cluster: str) -> Watching:
    """The job of a cluster as it stands there."""
    root = f"overlays/{env}/{cluster}"
    paths = output.paths(root)
    names = job_namespaces(paths, env, cluster)
    if not names:
        return Watching()
    overlay: Tree = {}
    for name in names:
        overlay |= output.files(job_folder(env, cluster, name))
    gateway = _gateway(output.settings(env), cluster)
    end = f"/_namespace/{DASHBOARD}"
    boards = {
        path[len(root) + 1 : -len(end)]: {DASHBOARD: output.read(path) or b""}
        for path in paths
        if path.endswith(end)
    }
    return Watching(
        {name: name != gateway for name in names},
        overlay,
        {path: {} for path in sorted(job_releases(overlay, env))},
        boards,
    )


def _gateway(settings: Mapping[str, Any], cluster: str) -> str:
    said = ((settings.get("clusters") or {}).get(cluster) or {}).get("routing") or {}
    way = Routing()
    provider = str(said.get("provider", way.provider))
    namespace = str((said.get("gateway") or {}).get("namespace", way.gateway.namespace))
    return gateway_namespace(provider, namespace)
