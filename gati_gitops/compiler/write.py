"""Placed units to files: overlays, release folders, and all that stands around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from gati_gitops import __version__
from gati_gitops.compiler.added import unpermitted_in_namespace
from gati_gitops.compiler.job import Watching, watching
from gati_gitops.compiler.run import Placed, Run
from gati_gitops.emit.engines import sync_files
from gati_gitops.emit.engines.target import RECORD, recorded_target, target_of
from gati_gitops.emit.layout import (
    RECORD_FORMAT,
    ahead_path,
    cluster_files,
    crd_copies,
    environment_files,
    namespace_files,
    namespaces_of,
    record_group,
    record_path,
)
from gati_gitops.emit.overlay import manifests, overlay_path, same_manifests, template_files
from gati_gitops.emit.release import TEMPLATED, ReleaseFolder, release_path, unspoilt
from gati_gitops.errors import Refused
from gati_gitops.ledger.fold import Outcome
from gati_gitops.ledger.model import Ledger
from gati_gitops.ledger.store import dump_ledger, dump_plan
from gati_gitops.output import UnitKey
from gati_gitops.plan.model import UnitPlan
from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.units import Planner
from gati_gitops.spec.crds import shipped_crd_files
from gati_gitops.tree import Tree

_crds = cache(shipped_crd_files)  # can't change while a process runs


def write(run: Run, placed: list[Placed], planner: Planner) -> tuple[Tree, list[str]]:
    """Every file that this run is answerable for, and the folders in which nothing else may be."""
    specs, output = run.specs, run.output
    tree: Tree = {}
    scope = ["base", "crds"]
    crds = _crds()
    tree.update({f"crds/{file}": content for file, content in crds.items()})
    live = [p.outcome for p in placed if p.outcome.plan is not None]
    by_cluster: dict[tuple[str, str], list[UnitPlan]] = {}
    made: dict[UnitId, list[tuple[UnitPlan, Ledger, Tree]]] = {}
    for outcome in live:
        plan, ledger = outcome.plan, outcome.ledger
        assert plan is not None
        by_cluster.setdefault((plan.environment, plan.cluster), []).append(plan)
        variants = made.setdefault(plan.unit, [])
        files = next((m[2] for m in variants if same_manifests((plan, ledger), m[:2])), None)
        if files is None:
            files = manifests(plan, ledger)
            variants.append((plan, ledger, files))
        elif plan.added and files.keys() >= (own := template_files(plan)).keys():
            files = files | own
        folder = overlay_path(plan)
        for name, content in files.items():
            tree[f"{folder}/{name}"] = content
        tree[f"{folder}/unit.yaml"] = outcome.unit_yaml or dump_plan(plan)
        tree[f"{folder}/rollout.yaml"] = output.with_comments(
            f"{folder}/rollout.yaml", dump_ledger(ledger, plan.files)
        )
    jobs: dict[str, Tree] = {}
    for env, settings in specs.project.spec.environments.items():
        wanted = [name for name in settings.clusters if run.narrowed.has(env, name)]
        for cluster in wanted:
            plans = by_cluster.get((env, cluster), [])
            others = run.left_alone(env, cluster)
            keys = [(p.unit.namespace, p.unit.folder) for p in plans] + list(others)
            job = watching(run, env, cluster)
            jobs |= job.releases
            tree.update(surroundings(run, env, cluster, keys, job))
            tree.update(crd_copies(env, cluster, crds))
            for path in others.values():
                tree.update(output.files(path))
            scope += [f"overlays/{env}/{cluster}", f"clusters/{cluster}"]
        if wanted:
            tree.update(_environment(run, env, by_cluster))
            scope.append(f"overlays/{env}/sources/{run.source}")
    tree.update(_bases(run, live, planner, scope, jobs))
    return tree, scope


def surroundings(
    run: Run, env: str, cluster: str, units: list[UnitKey], job: Watching | None = None
) -> Tree:
    """What stands around the units of a cluster: namespaces, the job, and what syncs them."""
    owner = run.owner(env)
    job = job or watching(run, env, cluster)
    added = _namespace_templates(run, env, cluster, units)
    for name, files in job.shared.items():
        added[name] = {**added.get(name, {}), **files}
    tree = cluster_files(
        env,
        cluster,
        units,
        owner.project,
        owner.file,
        owner.monitoring,
        added,
        job.namespaces,
    )
    return tree | job.overlay | _sync(run, env, cluster, units, tree, job)


def _sync(
    run: Run, env: str, cluster: str, units: list[UnitKey], tree: Tree, job: Watching
) -> Tree:
    """What the cluster's engine needs to sync it."""
    before, owner = run.output.files(f"clusters/{cluster}"), run.owner(env)
    record = run.output.record(f"clusters/{cluster}/{RECORD}")
    if owner.source == run.source:
        target = target_of(run.specs.project, env, cluster, record)
    else:
        target = recorded_target(record, owner.project, env, cluster)
    if target is None:
        return {}
    crds = [file.removesuffix(".yaml") for file in _crds() if file != "kustomization.yaml"]
    wide = namespaces_of(tree, env, cluster)
    return sync_files(target, units, crds, wide, before, owner.file, job.namespaces)


def _namespace_templates(
    run: Run, env: str, cluster: str, units: Iterable[UnitKey]
) -> dict[str, Tree]:
    """Files that templates give to namespaces: those of the environment's owner, always."""
    names = sorted({namespace for namespace, _ in units})
    if run.owner(env).source == run.source:
        templates = run.templates
        if templates is None:
            return {}
        made = {name: templates.of_namespace(name, env, cluster) for name in names}
        for added in made.values():
            project = run.specs.project
            templates.problems += unpermitted_in_namespace(project, env, cluster, added)
        return {name: namespace_files(added) for name, added in made.items() if added}
    found: dict[str, Tree] = {}
    for name in names:
        folder = f"overlays/{env}/{cluster}/{name}/_namespace/"
        kept = {p.removeprefix(folder): c for p, c in run.output.files(folder[:-1]).items()}
        found[name] = {file: c for file, c in kept.items() if file.startswith(TEMPLATED)}
    return {name: files for name, files in found.items() if files}


def _environment(run: Run, env: str, by_cluster: Mapping[tuple[str, str], list[UnitPlan]]) -> Tree:
    project = run.specs.project
    plans = [plan for (name, _), found in by_cluster.items() if name == env for plan in found]
    for cluster in project.spec.environments[env].clusters:
        if not run.narrowed.has(env, cluster):
            stored = run.output.units(env, cluster).values()
            plans += [s.plan for s in stored if s.plan.source == run.source]
    groups = {record_group(project, plan) for plan in plans}
    files = environment_files(project, env, run.source, __version__, groups, run.file)
    for path in (record_path(env, run.source, group) for group in groups):
        files[path] = _record(run, path, files[path])
    ahead = ahead_path(env, run.source)
    if (kept := run.output.read(ahead)) is not None:
        files[ahead] = kept
    if run.owner(env).source != run.source:
        del files[f"overlays/{env}/project.yaml"]
    return files


def _record(run: Run, path: str, fresh: bytes) -> bytes:
    """A record that a publish has completed stays until the next publish writes it."""
    old = run.output.record(path)
    same = old.get("format") == RECORD_FORMAT and old.get("compiler") == __version__
    return (run.output.read(path) or fresh) if same else fresh


def _bases(
    run: Run,
    live: list[Outcome],
    planner: Planner,
    scope: list[str],
    jobs: Mapping[str, Tree],
) -> Tree:
    """The release folders that anything names: new ones written, old ones kept byte for byte."""
    folders: dict[str, ReleaseFolder] = {}
    for compiled in planner.releases.values():
        folder = compiled.folder
        assert isinstance(folder, ReleaseFolder)
        folders[folder.path] = folder
    named = run.output.named_elsewhere(scope, run.source) | jobs.keys()
    for outcome in live:
        assert outcome.plan is not None
        unit = outcome.plan.unit
        named |= {release_path(unit, name) for name in outcome.plan.releases}
    tree: Tree = {}
    for path in named:
        if path in folders:
            for file, content in folders[path].files.items():
                tree[f"{path}/{file}"] = content
            continue
        if jobs.get(path):
            tree.update(jobs[path])
            continue
        kept = run.output.files(path)
        if not kept:
            raise Refused(
                f"the release folder {path} is named by an overlay but is not there",
                remedy="restore it from Git; an overlay can't build without it",
            )
        if not unspoilt(path, kept):
            raise Refused(
                f"the release folder {path} is not what was compiled: its name no longer fits",
                remedy="restore it from Git; what was released never changes",
            )
        tree.update(kept)
    return tree
