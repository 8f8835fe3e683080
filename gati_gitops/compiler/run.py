"""One compile under way: every unit placed on every cluster, with plan and ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gati_gitops.compiler.refuse import claimed, objected
from gati_gitops.emit.overlay import overlay_path
from gati_gitops.emit.patch import patches
from gati_gitops.emit.release import TEMPLATED, ReleaseFolder, release_folder, release_objects
from gati_gitops.errors import Problem
from gati_gitops.ledger.fold import Outcome, Policy, TakenBack, fold
from gati_gitops.ledger.stored import Stored
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.doors import Doors
from gati_gitops.plan.model import Release, UnitPlan
from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.realizable import contested
from gati_gitops.plan.units import Planner, route
from gati_gitops.spec.link import Linked, LinkedUnit
from gati_gitops.spec.load import Specs
from gati_gitops.spec.monitoring import Monitoring
from gati_gitops.spec.project import GatiProject

if TYPE_CHECKING:
    from gati_gitops.plan.templates.render import Templates


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Which part of the output a run is about; empty means all of it."""

    environments: frozenset[str] = frozenset()
    clusters: frozenset[str] = frozenset()
    units: frozenset[UnitKey] = frozenset()

    def has(self, env: str, cluster: str) -> bool:
        return (not self.environments or env in self.environments) and (
            not self.clusters or cluster in self.clusters
        )

    def wants(self, key: UnitKey) -> bool:
        """Whether a unit is compiled; others stay byte for byte as they are."""
        return not self.units or key in self.units


@dataclass(frozen=True, slots=True)
class Placed:
    """One unit on one cluster after the compile."""

    linked: LinkedUnit | None
    outcome: Outcome

    @property
    def plan(self) -> UnitPlan | None:
        return self.outcome.plan


class Builders:
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
class Owner:
    source: str
    project: str
    file: str
    monitoring: Monitoring | None


@dataclass(slots=True)
class Run:
    """One compile under way."""

    specs: Specs
    linked: Linked
    output: Output
    source: str
    narrowed: Narrowed
    problems: list[Problem] = field(default_factory=list)
    templates: Templates | None = None
    taken_back: Mapping[tuple[str, str, UnitKey], TakenBack] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """The settings' own file."""
        return self.specs.project_doc.file if self.specs.project_doc else "its defaults"

    def owner(self, env: str) -> Owner:
        """Who sets an environment; files that sources share must not depend on who compiles."""
        found = self.output.set_before(env)
        if found.get("owner", self.source) == self.source:
            project = self.specs.project
            return Owner(self.source, project.metadata.name, self.file, project.spec.monitoring)
        watched = found.get("monitoring")
        monitoring = Monitoring.model_validate(watched) if watched else None
        owner, project_name, file = (str(found.get(n)) for n in ("owner", "project", "file"))
        return Owner(owner, project_name, file, monitoring)

    def place(self) -> tuple[list[Placed], Planner]:
        planner = Planner(self.specs.project, self.source, Builders(), templates=self.templates)
        planner.compile_releases(self.linked.base)
        placed: list[Placed] = []
        for env, settings in sorted(self.specs.project.spec.environments.items()):
            policy = policy_of(self.specs.project, env)
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
        units = [unit for unit in units if self.narrowed.wants(_key(unit))]

        def folded(unit: LinkedUnit, doors: Doors | None) -> Outcome:
            wanted = planner.plan(unit, env, cluster, doors, around)
            key = _key(unit)
            stored = self.output.units(env, cluster).get(key)
            if stored is not None and stored.plan.source != self.source:
                raise claimed(wanted, stored)
            sibling = self._sibling(env, cluster, key) if stored is None else None
            return fold(policy, wanted, stored, sibling, self.taken_back.get((env, cluster, key)))

        for unit in units:
            here.pop(_key(unit), None)
        gone = {key: fold(policy, None, s) for key, s in here.items() if self._ours(s)}
        doors = self._doors(units, folded, [*gone.values()], here.values(), env, cluster)
        for unit in units:
            outcome = folded(unit, doors)
            self.problems += [objected(unit, env, o) for o in outcome.objections]
            yield Placed(unit, outcome)
        for outcome in gone.values():
            yield Placed(None, outcome)

    def _ours(self, stored: Stored) -> bool:
        return stored.plan.source == self.source and self.narrowed.wants(stored.plan.unit.key)

    def left_alone(self, env: str, cluster: str) -> dict[UnitKey, str]:
        """Units that this run has no say in, with their folders."""
        units = self.output.units(env, cluster)
        return {key: overlay_path(s.plan) for key, s in units.items() if not self._ours(s)}

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


def _key(unit: LinkedUnit) -> UnitKey:
    return UnitId(unit.namespace, unit.kind, unit.name).key


def policy_of(project: GatiProject, env: str) -> Policy:
    settings = project.spec.environments[env]
    rollout = project.spec.rollout_of(env)
    promoted = env in project.spec.promotion
    return Policy(rollout.strategy, promoted, settings.revisions, settings.on_delete)
