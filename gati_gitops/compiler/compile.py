"""The one function, and what it gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gati_gitops import __version__
from gati_gitops.compiler.added import collisions, unpermitted
from gati_gitops.compiler.lost import refuse_lost
from gati_gitops.compiler.owned import owned
from gati_gitops.compiler.run import Narrowed, Placed, Run
from gati_gitops.compiler.write import write
from gati_gitops.errors import Place, Problem, Refused, Severity, SpecsInvalid
from gati_gitops.ledger.fold import TakenBack
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.check import check
from gati_gitops.plan.model import UnitPlan
from gati_gitops.plan.templates import templates_of
from gati_gitops.plan.units import Planner
from gati_gitops.spec.link import link_all
from gati_gitops.spec.load import Specs
from gati_gitops.tree import OWNED, Changes, Snapshot, Tree, compare


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


def compile_specs(
    specs: Specs,
    before: Snapshot,
    *,
    narrowed: Narrowed | None = None,
    discard: bool = False,
    upgrade: bool = False,
    sweep: bool = True,
    partial: bool = False,
    taken_back: Mapping[tuple[str, str, UnitKey], TakenBack] | None = None,
) -> Compilation:
    """Compile on top of ``before``. Raises SpecsInvalid or Refused; nothing is half done.

    With ``sweep``, release folders that nobody names go at once; a repository with open branches
    that may still name them wants a later commit for that. With ``partial``, ``before`` shows some
    units and the names of all: those that are not shown are not lost. ``taken_back`` are units, by
    environment and cluster, that a person removed from the output.
    """
    output = Output(before)
    source = specs.project.spec.source or specs.project.metadata.name
    narrowed = narrowed or Narrowed()
    wanted = narrowed.environments
    specs = replace(specs, project=owned(specs.project, output, source, wanted))
    linked = link_all(specs, output.names())
    problems = [*specs.warnings, *check(specs, linked)]
    if any(problem.is_error for problem in problems):
        raise SpecsInvalid(problems)
    if not upgrade:
        _check_compiler(output, specs, source, narrowed)
    for env, settings in specs.project.spec.environments.items():
        for cluster in settings.clusters:
            if narrowed.has(env, cluster) and not partial:
                refuse_lost(output, env, cluster, compiled=True)
    run = Run(
        specs, linked, output, source, narrowed, problems, templates_of(specs), taken_back or {}
    )
    placed, planner = run.place()
    problems += _collisions(run, placed)
    problems += _left_behind(run)
    problems += _added_problems(run, placed, planner)
    if any(problem.is_error for problem in problems):
        raise SpecsInvalid(problems)
    tree, scope = write(run, placed, planner)
    if run.templates is not None and run.templates.problems:  # of namespaces: the last to be made
        raise SpecsInvalid([*problems, *run.templates.problems])
    watched = scope if narrowed != Narrowed() else OWNED
    found = compare(before, tree, scope if sweep else [f for f in scope if f != "base"], watched)
    foreign, changes = found.foreign, found.changes
    if foreign and not discard:
        raise Refused(
            f"{len(foreign)} file{'s' * (len(foreign) > 1)} in our folders that we did not make: "
            + ", ".join(foreign[:5])
            + ("…" if len(foreign) > 5 else ""),
            remedy="move them out of base/, overlays/, crds/ and clusters/, or remove them with"
            " --discard",
        )
    changes |= {path: None for path in foreign if path not in tree}
    warnings = tuple(sorted(set(problems), key=Problem.sort_key))
    return Compilation(tuple(placed), tree, changes, found.new, warnings, foreign)


def _check_compiler(output: Output, specs: Specs, source: str, narrowed: Narrowed) -> None:
    for env, settings in specs.project.spec.environments.items():
        others = output.compilers(env, source) - {__version__}
        if others and any(narrowed.has(env, cluster) for cluster in settings.clusters):
            raise Refused(
                f"{env} was compiled by version {min(others)}, this is {__version__}",
                remedy="use that version, or compile with --upgrade and review what changes",
            )


def _left_behind(run: Run) -> Iterable[Problem]:
    """Clusters that the output has of this source and the project no longer names."""
    environments = run.specs.project.spec.environments
    for env, cluster in run.output.clusters():
        if env in environments and cluster in environments[env].clusters:
            continue
        if any(s.plan.source == run.source for s in run.output.units(env, cluster).values()):
            yield Problem(
                "cluster-left-behind",
                f"the output still has cluster {cluster} of {env}, which the project no longer"
                " names: it stays as it is, and what syncs it goes on",
                run.specs.project_doc.place("spec", "environments")
                if run.specs.project_doc
                else Place(run.file),
                "spec.environments",
                f"retire its units first; then remove overlays/{env}/{cluster} and"
                f" clusters/{cluster} by hand",
                Severity.WARNING,
            )


def _added_problems(run: Run, placed: list[Placed], planner: Planner) -> Iterable[Problem]:
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


def _collisions(run: Run, placed: list[Placed]) -> Iterable[Problem]:
    """Objects that would share a name with what the specs no longer have, or another source has."""
    taken: dict[tuple[str, str, str], str] = {}
    for env, cluster in sorted({(p.plan.environment, p.plan.cluster) for p in placed if p.plan}):
        for key in run.left_alone(env, cluster):
            plan = run.output.units(env, cluster)[key].plan
            for name, what, _ in _named(plan):
                taken[cluster, plan.unit.namespace, name] = what
    for place in placed:
        for name, what, file in _named(place.plan) if place.plan else ():
            assert place.plan is not None
            other = taken.setdefault((place.plan.cluster, place.plan.unit.namespace, name), what)
            if other != what:
                yield Problem(
                    "name-collision",
                    f"{what} and {other}, which is still there, would both be named {name}",
                    place.linked.doc.place("spec") if place.linked else Place(file),
                    "spec",
                    "choose another version id, or rename the unit",
                )


def _named(plan: UnitPlan) -> Iterable[tuple[str, str, str]]:
    """The names of a unit's objects, whose they are, and the file that asks for them."""
    if plan.unit.kind == "module":
        yield plan.unit.object_name, f"the Service of {plan.unit}", next(iter(plan.files), "")
    for version in plan.versions:
        yield version.name, f"version {version.id} of {plan.unit}", version.files[0]
