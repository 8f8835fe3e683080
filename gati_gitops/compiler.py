"""The compiler as one function: specs and what stood there before in, the new tree out.

    load → link → releases → plan → fold with the ledgers → overlays → tree

Pure: the same specs on the same snapshot give the same bytes. Units of other sources, environments
that the project does not name and everything outside our folders stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from gati_gitops import __version__
from gati_gitops.emit.added import (
    collisions,
    namespace_files,
    unpermitted,
    unpermitted_in_namespace,
)
from gati_gitops.emit.engines import sync_files
from gati_gitops.emit.engines.target import RECORD, recorded_target, target_of
from gati_gitops.emit.layout import cluster_files, crd_copies, environment_files, namespaces_of
from gati_gitops.emit.overlay import manifests, overlay_path, same_manifests
from gati_gitops.emit.patch import patches
from gati_gitops.emit.release import (
    TEMPLATED,
    ReleaseFolder,
    release_folder,
    release_objects,
    unspoilt,
)
from gati_gitops.errors import Place, Problem, Refused, SpecsInvalid
from gati_gitops.ledger.fold import Objection, Outcome, Policy, Stored, fold
from gati_gitops.ledger.model import Ledger
from gati_gitops.ledger.store import dump_ledger, dump_plan
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.check import check
from gati_gitops.plan.doors import Doors
from gati_gitops.plan.model import Release, UnitPlan
from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.realizable import contested
from gati_gitops.plan.templates import templates_of
from gati_gitops.plan.units import Planner, route
from gati_gitops.spec.crds import crd_files
from gati_gitops.spec.link import Linked, LinkedUnit, link_all
from gati_gitops.spec.load import Specs
from gati_gitops.spec.monitoring import Monitoring
from gati_gitops.tree import OWNED, Changes, Snapshot, Tree, difference, is_ours, owned_paths

if TYPE_CHECKING:
    from gati_gitops.plan.templates.render import Templates


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Which part of the output a run is about; empty means all of it."""

    environments: frozenset[str] = frozenset()
    clusters: frozenset[str] = frozenset()

    def has(self, env: str, cluster: str) -> bool:
        return (not self.environments or env in self.environments) and (
            not self.clusters or cluster in self.clusters
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """One unit on one cluster after the compile."""

    linked: LinkedUnit | None
    outcome: Outcome

    @property
    def plan(self) -> UnitPlan | None:
        return self.outcome.plan


@dataclass(frozen=True, slots=True)
class Compilation:
    """What a compile gives."""

    units: tuple[Placed, ...]
    tree: Tree
    changes: Changes
    new: frozenset[str]
    """Those of the changes that were not there before."""
    warnings: tuple[Problem, ...]
    foreign: tuple[str, ...] = ()
    """Files in our folders that we did not make; only with ``discard``."""


# What the models say can't change while a process runs, and making it costs as much as 100 units.
_crds = cache(crd_files)


class _Builders:
    """The next stage's hands, as the planner wants them."""

    def build(self, release: Release) -> dict[str, dict[str, Any]]:
        return release_objects(release)

    def folder(self, release: Release, objects: dict[str, dict[str, Any]]) -> ReleaseFolder:
        return release_folder(release, objects)

    def difference(
        self, base: dict[str, dict[str, Any]], wanted: dict[str, dict[str, Any]]
    ) -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
        foreign = [item for file, item in base.items() if file.startswith(TEMPLATED)]
        return patches(list(base.values()), list(wanted.values()), foreign)


@dataclass(frozen=True, slots=True)
class _Owner:
    source: str
    project: str
    file: str
    monitoring: Monitoring | None


@dataclass(slots=True)
class _Run:
    """One compile under way."""

    specs: Specs
    linked: Linked
    output: Output
    source: str
    narrowed: Narrowed
    problems: list[Problem] = field(default_factory=list)
    templates: Templates | None = None

    @property
    def file(self) -> str:
        """The settings' own file."""
        return self.specs.project_doc.file if self.specs.project_doc else "its defaults"

    def owner(self, env: str) -> _Owner:
        """Who sets an environment; files that sources share must not depend on who compiles."""
        found = self.output.settings(env)
        if found.get("owner", self.source) == self.source:
            project = self.specs.project
            return _Owner(self.source, project.metadata.name, self.file, project.spec.monitoring)
        watched = found.get("monitoring")
        monitoring = Monitoring.model_validate(watched) if watched else None
        owner, project_name, file = (str(found.get(n)) for n in ("owner", "project", "file"))
        return _Owner(owner, project_name, file, monitoring)

    def place(self) -> tuple[list[Placed], Planner]:
        planner = Planner(self.specs.project, self.source, _Builders(), templates=self.templates)
        planner.compile_releases(self.linked.base)
        placed: list[Placed] = []
        for env, settings in sorted(self.specs.project.spec.environments.items()):
            policy = _policy(self.specs, env)
            for cluster in sorted(settings.clusters):
                if not self.narrowed.has(env, cluster):
                    continue
                units = self.linked.on[env, cluster]
                placed += self._cluster(units, planner, policy, env, cluster)
        return placed, planner

    def _cluster(
        self,
        units: Iterable[LinkedUnit],
        planner: Planner,
        policy: Policy,
        env: str,
        cluster: str,
    ) -> Iterable[Placed]:
        here = dict(self.output.units(env, cluster))
        around = planner.around(units)

        def folded(unit: LinkedUnit, doors: Doors | None) -> Outcome:
            wanted = planner.plan(unit, env, cluster, doors, around)
            key = (unit.namespace, wanted.unit.folder)
            stored = self.output.units(env, cluster).get(key)
            if stored is not None and stored.plan.source != self.source:
                raise _claimed(wanted, stored)
            sibling = self._sibling(env, cluster, key) if stored is None else None
            return fold(policy, wanted, stored, sibling)

        for unit in units:
            here.pop((unit.namespace, UnitId(unit.namespace, unit.kind, unit.name).folder), None)
        gone = {key: fold(policy, None, s) for key, s in here.items() if self._ours(s)}
        doors = self._doors(units, folded, [*gone.values()], here.values(), env, cluster)
        for unit in units:
            outcome = folded(unit, doors)
            self.problems += [_objected(unit, env, o) for o in outcome.objections]
            yield Placed(unit, outcome)
        for outcome in gone.values():
            yield Placed(None, outcome)

    def _ours(self, stored: Stored) -> bool:
        return stored.plan.source == self.source

    def _doors(
        self,
        units: Iterable[LinkedUnit],
        folded: Callable[[LinkedUnit, Doors | None], Outcome],
        gone: Iterable[Outcome],
        left: Iterable[Stored],
        env: str,
        cluster: str,
    ) -> Doors:
        """The routes that serve on a cluster after this compile; only they may take requests."""
        settings = self.specs.project.spec.environments[env]
        wanted = [(unit, found) for unit in units if (found := route(unit, settings, cluster))]
        stored = [(s.plan, s.ledger) for s in left if not self._ours(s)]
        stored += [(o.plan, o.ledger) for o in gone if o.plan is not None]
        others = [(plan.route, ledger) for plan, ledger in stored if plan.route is not None]
        self.problems += contested(wanted, [plan for plan, _ in stored], self.source)
        all_of_them = Doors([found for _, found in wanted] + [found for found, _ in others])
        serving = [found for found, ledger in others if ledger is None or ledger.serving]
        for unit, found in wanted:
            if all_of_them.crowded(found) and folded(unit, None).ledger.serving:
                serving.append(found)
        return Doors(serving)

    def _sibling(self, env: str, cluster: str, key: UnitKey) -> Stored | None:
        """The unit as a serving sibling runs it, if one does."""
        for name, settings in sorted(self.specs.project.spec.environments[env].clusters.items()):
            if name != cluster and settings.role == "serving":
                found = self.output.units(env, name).get(key)
                if found is not None and found.ledger is not None:
                    return found
        return None


def compile_specs(
    specs: Specs,
    before: Snapshot,
    *,
    narrowed: Narrowed | None = None,
    discard: bool = False,
    upgrade: bool = False,
) -> Compilation:
    """Compile on top of ``before``. Raises SpecsInvalid or Refused; nothing is half done."""
    output = Output(before)
    linked = link_all(specs, output.names())
    problems = [*specs.warnings, *check(specs, linked)]
    if any(problem.is_error for problem in problems):
        raise SpecsInvalid(problems)
    narrowed = narrowed or Narrowed()
    source = specs.project.spec.source or specs.project.metadata.name
    if not upgrade:
        _check_compiler(output, specs, source, narrowed)
    run = _Run(specs, linked, output, source, narrowed, problems, templates_of(specs))
    placed, planner = run.place()
    problems += _collisions(run, placed)
    problems += _added_problems(run, placed, planner)
    if any(problem.is_error for problem in problems):
        raise SpecsInvalid(problems)
    tree, scope = _write(run, placed, planner)
    if run.templates is not None and run.templates.problems:  # of namespaces: the last to be made
        raise SpecsInvalid([*problems, *run.templates.problems])
    foreign = tuple(_foreign(before, tree, scope if narrowed != Narrowed() else OWNED))
    if foreign and not discard:
        raise Refused(
            f"{len(foreign)} file{'s' * (len(foreign) > 1)} in our folders that we did not make: "
            + ", ".join(foreign[:5])
            + ("…" if len(foreign) > 5 else ""),
            remedy="move them out of base/, overlays/, crds/ and clusters/, or remove them with"
            " --discard",
        )
    changes = difference(before, tree, scope)
    changes |= {path: None for path in foreign if path not in tree}
    changes.update({path: None for path in foreign if path not in tree})
    warnings = tuple(sorted(set(problems), key=Problem.sort_key))
    new = frozenset(path for path in changes if before.read(path) is None)
    return Compilation(tuple(placed), tree, changes, new, warnings, foreign)


def _policy(specs: Specs, env: str) -> Policy:
    project = specs.project.spec
    settings = project.environments[env]
    rollout = settings.rollout or project.rollout
    promoted = env in project.promotion
    return Policy(rollout.strategy, promoted, settings.revisions, settings.on_delete)


# -- writing -------------------------------------------------------------------------------------


def _write(run: _Run, placed: list[Placed], planner: Planner) -> tuple[Tree, list[str]]:
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
        folder = overlay_path(plan)
        for name, content in files.items():
            tree[f"{folder}/{name}"] = content
        tree[f"{folder}/unit.yaml"] = outcome.unit_yaml or dump_plan(plan)
        tree[f"{folder}/rollout.yaml"] = output.with_comments(
            f"{folder}/rollout.yaml", dump_ledger(ledger, plan.files)
        )
    for env, settings in specs.project.spec.environments.items():
        wanted = [name for name in settings.clusters if run.narrowed.has(env, name)]
        for cluster in wanted:
            plans = by_cluster.get((env, cluster), [])
            others = output.foreign_units(env, cluster, run.source)
            keys = [(p.unit.namespace, p.unit.folder) for p in plans] + list(others)
            owner = run.owner(env)
            added = _namespace_templates(run, env, cluster, keys)
            tree.update(
                cluster_files(
                    env, cluster, keys, owner.project, owner.file, owner.monitoring, added
                )
            )
            tree.update(crd_copies(env, cluster, crds))
            for path in others.values():
                tree.update(output.files(path))
            tree.update(_sync(run, env, cluster, keys, namespaces_of(tree, env, cluster)))
            scope += [f"overlays/{env}/{cluster}", f"clusters/{cluster}"]
        if wanted:
            tree.update(_environment(run, env, by_cluster))
            scope.append(f"overlays/{env}/sources/{run.source}")
    tree.update(_bases(run, live, planner, scope))
    return tree, scope


def _sync(
    run: _Run, env: str, cluster: str, units: list[UnitKey], wide: Mapping[str, bool]
) -> Tree:
    """What the cluster's engine needs to sync it."""
    before, owner = run.output.files(f"clusters/{cluster}"), run.owner(env)
    if owner.source == run.source:
        target = target_of(run.specs.project, env, cluster)
    else:
        record = run.output.record(f"clusters/{cluster}/{RECORD}")
        target = recorded_target(record, owner.project, env, cluster)
    crds = [file.removesuffix(".yaml") for file in _crds() if file != "kustomization.yaml"]
    return sync_files(target, units, crds, wide, before, owner.file) if target else {}


def _namespace_templates(
    run: _Run, env: str, cluster: str, units: Iterable[UnitKey]
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


def _environment(run: _Run, env: str, by_cluster: Mapping[tuple[str, str], list[UnitPlan]]) -> Tree:
    owned = {
        f"{plan.unit.namespace}/{plan.unit.folder}"
        for (name, _), plans in by_cluster.items()
        if name == env
        for plan in plans
    }
    for cluster in run.specs.project.spec.environments[env].clusters:
        if not run.narrowed.has(env, cluster):
            owned |= {
                "/".join(key)
                for key, stored in run.output.units(env, cluster).items()
                if stored.plan.source == run.source
            }
    files = environment_files(run.specs.project, env, run.source, __version__, owned, run.file)
    if run.owner(env).source != run.source:
        del files[f"overlays/{env}/project.yaml"]
    return files


def _bases(run: _Run, live: list[Outcome], planner: Planner, scope: list[str]) -> Tree:
    """The release folders that anything names: new ones written, old ones kept byte for byte."""
    folders: dict[str, ReleaseFolder] = {}
    for compiled in planner.releases.values():
        folder = compiled.folder
        assert isinstance(folder, ReleaseFolder)
        folders[folder.path] = folder
    named = run.output.named_elsewhere(scope, run.source)
    for outcome in live:
        assert outcome.plan is not None
        unit = outcome.plan.unit
        for version in outcome.plan.versions:
            named.add(f"base/{unit.namespace}/{unit.folder}/{version.release}")
    tree: Tree = {}
    for path in named:
        if path in folders:
            for file, content in folders[path].files.items():
                tree[f"{path}/{file}"] = content
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


def _foreign(before: Snapshot, tree: Mapping[str, bytes], scope: Iterable[str]) -> Iterable[str]:
    """Files in our folders that nobody of us made."""
    for folder in scope:
        for path in owned_paths(before, folder):
            content = before.read(path)
            if content is None or content == tree.get(path) or is_ours(content):
                continue
            if path not in tree or not path.endswith("/rollout.yaml"):  # people write in ledgers
                yield path


# -- refusals ------------------------------------------------------------------------------------


def _check_compiler(output: Output, specs: Specs, source: str, narrowed: Narrowed) -> None:
    for env, settings in specs.project.spec.environments.items():
        others = output.compilers(env, source) - {__version__}
        if others and any(narrowed.has(env, cluster) for cluster in settings.clusters):
            raise Refused(
                f"{env} was compiled by version {min(others)}, this is {__version__}",
                remedy="use that version, or compile with --upgrade and review what changes",
            )


def _added_problems(run: _Run, placed: list[Placed], planner: Planner) -> Iterable[Problem]:
    """What is wrong with the objects that templates made for versions and units."""
    if run.templates is None:
        return
    yield from run.templates.problems
    live = [(p.plan, p.outcome.ledger) for p in placed if p.plan is not None]
    releases = {
        key: (compiled.objects, compiled.release.added)
        for key, compiled in planner.releases.items()
    }
    yield from collisions(live, releases)
    yield from unpermitted(run.specs.project, [plan for plan, _ in live], releases)


def _collisions(run: _Run, placed: list[Placed]) -> Iterable[Problem]:
    """Versions that would share an object's name with one that the specs no longer have."""
    taken: dict[tuple[str, str, str], tuple[UnitId, str]] = {}
    for env, cluster in sorted({(p.plan.environment, p.plan.cluster) for p in placed if p.plan}):
        for stored in run.output.units(env, cluster).values():
            if stored.plan.source != run.source:
                for version in stored.plan.versions:
                    key = (cluster, stored.plan.unit.namespace, version.name)
                    taken[key] = (stored.plan.unit, version.id)
    for place in placed:
        for version in place.plan.versions if place.plan else ():
            assert place.plan is not None
            unit = place.plan.unit
            key = (place.plan.cluster, unit.namespace, version.name)
            other = taken.setdefault(key, (unit, version.id))
            if other != (unit, version.id):
                yield Problem(
                    "name-collision",
                    f"version {version.id} of {unit} and version {other[1]} of {other[0]}, which"
                    f" is still there, would both be named {version.name}",
                    place.linked.doc.place("spec") if place.linked else Place(version.files[0]),
                    "spec",
                    "choose another version id, or rename the unit",
                )


def _claimed(wanted: UnitPlan, stored: Stored) -> Refused:
    return Refused(
        f"{wanted.unit} on {wanted.cluster} belongs to the source {stored.plan.source};"
        f" {wanted.source} ({', '.join(wanted.files)}) claims it too",
        remedy="rename the unit in one of the two sources, or retire it in the other first",
    )


def _objected(unit: LinkedUnit, env: str, objection: Objection) -> Problem:
    version = next((v for v in unit.versions if v.id == objection.version), unit.versions[0])
    doc = version.docs[-1]
    field_ = "spec.image" if "image" in objection.code else "spec"
    return Problem(
        objection.code,
        f"{objection.message} (in {env})",
        doc.place(*field_.split(".")),
        field_,
        objection.remedy,
    )
