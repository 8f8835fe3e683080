"""One compile, as many commits as environments: each holds its own files and nothing of another.

Environments are walls, so a changed file belongs to exactly one of them. Release folders are
shared: each environment brings those that it names, and whoever commits first writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gati_gitops.compiler import Compilation
from gati_gitops.emit.job import is_job_release, job_releases
from gati_gitops.emit.layout import record_group
from gati_gitops.emit.overlay import overlay_path
from gati_gitops.emit.release import release_path
from gati_gitops.ledger.fold import Outcome
from gati_gitops.plan.model import UnitPlan
from gati_gitops.publish.changes import ChangeSet, Fate
from gati_gitops.spec.project import GatiProject
from gati_gitops.tree import Changes

_STATE = frozenset(("unit.yaml", "rollout.yaml"))


@dataclass(frozen=True, slots=True)
class Part:
    """What a compile changes in one environment; records come later."""

    environment: str
    changes: Changes
    outcomes: tuple[Outcome, ...] = ()
    groups: frozenset[str] = field(default_factory=frozenset)
    """The records, and pull requests, that this source has here."""


def split(project: GatiProject, compilation: Compilation) -> list[Part]:
    """The parts in the order of gati.yaml; what belongs to no environment goes with the first."""
    environments = list(project.spec.environments)
    homes = {
        cluster: env
        for env, settings in project.spec.environments.items()
        for cluster in settings.clusters
    }
    changes: dict[str, Changes] = {env: {} for env in environments}
    common: Changes = {}
    bases: dict[str, Changes] = {}
    for path, content in compilation.changes.items():
        top, _, rest = path.partition("/")
        name = rest.partition("/")[0]
        if top == "overlays" and name in changes:
            if not rest.startswith(f"{name}/sources/"):
                changes[name][path] = content
        elif top == "clusters" and name in homes:
            changes[homes[name]][path] = content
        elif top == "base":
            bases.setdefault("/".join(path.split("/")[:4]), {})[path] = content
        else:
            common[path] = content
    by_env: dict[str, list[Outcome]] = {env: [] for env in environments}
    for placed in compilation.units:
        plan = placed.plan
        if plan is not None:
            by_env[plan.environment].append(placed.outcome)
    for env, outcomes in by_env.items():
        for folder in _named(compilation, env, outcomes, bases):
            changes[env].update(bases.get(folder, {}))
    used = {path for found in changes.values() for path in found}
    for found in bases.values():
        common |= {path: content for path, content in found.items() if path not in used}
    if common:
        first = next((env for env in environments if changes[env]), environments[0])
        changes[first] |= common
    return [
        Part(
            env,
            changes[env],
            tuple(by_env[env]),
            frozenset(record_group(project, o.plan) for o in by_env[env] if o.plan is not None),
        )
        for env in environments
    ]


def _named(
    compilation: Compilation, env: str, outcomes: Iterable[Outcome], new: Iterable[str]
) -> Iterator[str]:
    """Release folders that an environment names: those of its units, and of its jobs."""
    for plan in units_of(outcomes):
        yield from release_folders(plan)
    if any(is_job_release(folder) for folder in new):
        yield from sorted(job_releases(compilation.tree, env))


def release_folders(plan: UnitPlan) -> Iterator[str]:
    """The release folders that a unit names."""
    for name in sorted(plan.releases):
        yield release_path(plan.unit, name)


def quiet(part: Part, changed: ChangeSet) -> Part:
    """What of a part changes no manifest: it needs no approval, and a release needs only one."""
    if not any(path.startswith("clusters/") or _is_settings(path) for path in part.changes):
        objects = [unit.objects for unit in changed.units] + [f.objects for f in changed.folders]
        if not any(objects):
            return part
    silent = {
        (unit.cluster, unit.unit): unit
        for unit in changed.units
        if unit.fate is Fate.CHANGES and not unit.objects
    }
    found: Changes = {}
    outcomes: list[Outcome] = []
    for outcome in part.outcomes:
        plan = outcome.plan
        if plan is None or (plan.cluster, plan.unit) not in silent:
            continue
        folder = f"{overlay_path(plan)}/"
        files = {p: c for p, c in part.changes.items() if p.startswith(folder)}
        if not {p.removeprefix(folder) for p in files} <= _STATE:
            continue
        outcomes.append(outcome)
        found |= files
        named = tuple(f"{base}/" for base in release_folders(plan))
        found |= {p: c for p, c in part.changes.items() if p.startswith(named)} if named else {}
    return Part(part.environment, found, tuple(outcomes))


def without(part: Part, taken: Part) -> Part:
    """What is left of a part."""
    mine = {id(outcome) for outcome in taken.outcomes}
    return Part(
        part.environment,
        {path: c for path, c in part.changes.items() if path not in taken.changes},
        tuple(outcome for outcome in part.outcomes if id(outcome) not in mine),
        part.groups,
    )


def units_of(outcomes: Iterable[Outcome]) -> Iterator[UnitPlan]:
    for outcome in outcomes:
        if outcome.plan is not None:
            yield outcome.plan


def _is_settings(path: str) -> bool:
    return path.endswith("/project.yaml") and path.count("/") == 2
