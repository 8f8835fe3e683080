"""What can be asked about when an object is explained: documents, plan, ledger and settings.

An Explainer knows the specs as a whole. A Scope is one place of the output: a unit on a cluster, a
release folder, a namespace or a cluster, with the documents that count there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from gati_gitops.emit.job import job_files
from gati_gitops.emit.routes.table import route_table, rule_names
from gati_gitops.ledger.model import Entry, Ledger
from gati_gitops.plan.calls import Around, directory
from gati_gitops.plan.job import job_plan
from gati_gitops.plan.model import PlannedVersion, UnitPlan
from gati_gitops.plan.naming import UnitId, slug
from gati_gitops.plan.releases import release
from gati_gitops.plan.templates import templates_of
from gati_gitops.spec.link import Linked, LinkedUnit, LinkedVersion
from gati_gitops.spec.load import Doc, Specs
from gati_gitops.spec.template import Template

Key = tuple[str, str]
"""Namespace and folder of a unit."""
RELEASED = "released"
"""Bound where it is about what all clusters share."""


class Explainer:
    """The specs, ready to be asked about any place of the output."""

    def __init__(self, specs: Specs | None = None, linked: Linked | None = None) -> None:
        self.specs = specs
        self._linked = linked
        self._units: dict[tuple[str, str], dict[Key, LinkedUnit]] = {}

    def unit(self, plan: UnitPlan, ledger: Ledger | None = None, stored: bytes = b"") -> Scope:
        """A unit on a cluster; ``stored`` is its rollout.yaml, to name lines of it."""
        place = (plan.environment, plan.cluster)
        linked = self._of(place).get(plan.unit.key)
        return Scope(self, *place, plan.unit, linked, plan, ledger, stored)

    def base(self, unit: UnitId) -> Scope:
        """A release folder: what the documents say without any environment."""
        return Scope(self, "", "", unit, self._of(("", "")).get(unit.key))

    def cluster(self, environment: str = "", cluster: str = "", namespace: str = "") -> Scope:
        """What belongs to no unit."""
        return Scope(self, environment, cluster, namespace=namespace)

    def job(self, release: str) -> Scope:
        """A release folder of the job: what the project says of it, as some cluster has it."""
        environments = self.specs.project.spec.environments if self.specs else {}
        for env, settings in environments.items():
            for cluster in settings.clusters:
                assert self.specs is not None
                plan = job_plan(self.specs.project, env, cluster)
                file = self.specs.project_doc.file if self.specs.project_doc else ""
                if plan is not None and job_files(plan, file).release == release:
                    return replace(self.cluster(env, cluster), bound={RELEASED: True})
        return replace(self.cluster(), bound={RELEASED: True})

    def outdated(self, plan: UnitPlan) -> list[str]:
        """Versions of a unit that these specs would compile to something else."""
        unit = self._of(("", "")).get(plan.unit.key)
        if self.specs is None or self._linked is None or unit is None:
            return []
        known: dict[str, set[str]] = {}
        for version in plan.versions:
            known.setdefault(version.id, set()).add(version.digest)
        project, templates = self.specs.project, templates_of(self.specs)
        around = Around(directory(self._linked.base), project.spec.defaults, templates)
        return [
            version.id
            for version in unit.versions
            if version.workload is not None
            and version.id in known
            and release(unit, version, plan.project, around).digest not in known[version.id]
        ]

    def environment_of(self, cluster: str) -> str:
        """The environment that a cluster belongs to; empty if nobody knows."""
        environments = self.specs.project.spec.environments if self.specs else {}
        return next((env for env, said in environments.items() if cluster in said.clusters), "")

    def modules(self, place: tuple[str, str], namespace: str) -> Iterator[LinkedUnit]:
        """Modules, those of a namespace first."""
        found = [unit for unit in self._of(place).values() if unit.module is not None]
        yield from sorted(found, key=lambda unit: unit.namespace != namespace)

    def handlers(self, place: tuple[str, str]) -> Iterator[LinkedUnit]:
        return (unit for unit in self._of(place).values() if unit.module is None)

    def namespaces(self, place: tuple[str, str]) -> list[str]:
        return sorted({unit.namespace for unit in self._of(place).values()})

    def units_in(self, place: tuple[str, str], namespace: str) -> list[LinkedUnit]:
        return [unit for unit in self._of(place).values() if unit.namespace == namespace]

    @cached_property
    def templates(self) -> dict[str, Template]:
        found = self.specs.templates if self.specs is not None else ()
        return {template.name: template for template in found}

    def _of(self, place: tuple[str, str]) -> dict[Key, LinkedUnit]:
        if place not in self._units:
            units: tuple[LinkedUnit, ...] = ()
            if self._linked is not None:
                units = self._linked.on.get(place, self._linked.base)
            self._units[place] = {
                UnitId(unit.namespace, unit.kind, unit.name).key: unit for unit in units
            }
        return self._units[place]


@dataclass(frozen=True)
class Scope:
    """One place of the output, and the version that a field is about."""

    explainer: Explainer
    environment: str = ""
    cluster: str = ""
    unit: UnitId | None = None
    linked: LinkedUnit | None = None
    plan: UnitPlan | None = None
    ledger: Ledger | None = None
    stored: bytes = field(default=b"", repr=False)
    namespace: str = ""
    id: str = ""
    """The version that is asked about; empty: the unit as a whole."""
    bound: Mapping[str, Any] = field(default_factory=dict)

    def of_version(self, id: str) -> Scope:
        return replace(self, id=id)

    def holding(self, bound: Mapping[str, Any]) -> Scope:
        """The same with what the holes of a pattern were filled with.

        ``version`` is the name of a version's objects, ``pin`` that of a route's rule, ``address``
        a Service's address: they say which version a part of a route is about.
        """
        scope = replace(self, bound=bound)
        for name, known in (("version", self._names), ("pin", self._rules), ("id", self._ids)):
            if isinstance(bound.get(name), str) and bound[name] in known:
                return replace(scope, id=known[bound[name]])
        address = bound.get("address")
        if isinstance(address, str) and address.partition(".")[0] in self._names:
            return replace(scope, id=self._names[address.partition(".")[0]])
        return scope

    # -- versions --------------------------------------------------------------------------------

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Every version that anybody knows of."""
        found = [version.id for version in self.linked.versions] if self.linked else []
        found += [version.id for version in self.plan.versions] if self.plan else []
        found += [entry.id for entry in self.ledger.entries] if self.ledger else []
        return tuple(dict.fromkeys(found))

    @cached_property
    def _ids(self) -> dict[str, str]:
        return {id_: id_ for id_ in self.ids}

    @cached_property
    def _names(self) -> dict[str, str]:
        return {self.unit.version_name(id_): id_ for id_ in self.ids} if self.unit else {}

    @cached_property
    def _rules(self) -> dict[str, str]:
        """Rules of the route by name; Istio has two for every pin."""
        if self.plan is None or self.ledger is None:
            return {}
        table = route_table(self.plan, self.ledger)
        names = rule_names(table.pins) if table else {}
        found = {name: pin.version for pin, name in names.items()}
        return found | {f"{name}-query": version for name, version in found.items()}

    def by_slug(self, label: str) -> str:
        """The version that a label or a release folder names; empty if none does."""
        return next((id_ for id_ in self.ids if slug(id_) == label), "")

    @property
    def version(self) -> LinkedVersion | None:
        """The documents of the version that is asked about."""
        versions = self.linked.versions if self.linked else ()
        return next((version for version in versions if version.id == self.id), None)

    @property
    def entry(self) -> Entry | None:
        return self.ledger.live(self.id) if self.ledger else None

    @property
    def planned(self) -> PlannedVersion | None:
        entry = self.entry
        if self.plan is None or entry is None:
            return None
        return self.plan.version(*entry.key)

    @property
    def docs(self) -> tuple[Doc[Any], ...]:
        """The documents of the version, the one that counts most first."""
        version = self.version
        return tuple(reversed(version.docs)) if version is not None else ()

    # -- settings --------------------------------------------------------------------------------

    @property
    def project(self) -> Doc[Any] | None:
        return self.explainer.specs.project_doc if self.explainer.specs else None

    @property
    def strategy(self) -> str:
        """How new versions get traffic here."""
        specs = self.explainer.specs
        if specs is None or self.environment not in specs.project.spec.environments:
            return ""
        return specs.project.spec.rollout_of(self.environment).strategy

    @property
    def rollout_file(self) -> str:
        if self.unit is None:
            return ""
        namespace, folder = self.unit.key
        return f"overlays/{self.environment}/{self.cluster}/{namespace}/{folder}/rollout.yaml"
