"""All templates of a project, rendered for versions, units and namespaces.

A template that fails is told once, at the line that failed, and left alone after that: what fails
for one unit fails for a thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gati_gitops.errors import Place, Problem
from gati_gitops.plan.model import Added
from gati_gitops.plan.naming import MANAGER, UnitId, unit_labels, version_labels
from gati_gitops.plan.releases import user_labels
from gati_gitops.plan.templates.budget import BadTemplate
from gati_gitops.plan.templates.context import (
    KNOWN,
    place_values,
    project_values,
    unit_values,
    version_values,
)
from gati_gitops.plan.templates.filled import Skeleton, filled, skeleton
from gati_gitops.plan.templates.objects import Owner, checked
from gati_gitops.plan.templates.sandbox import Program, Sandbox
from gati_gitops.spec.link import LinkedUnit, LinkedVersion
from gati_gitops.spec.project import GatiProject
from gati_gitops.spec.template import Template


class Templates:
    """The templates of a project; ``problems`` grows as they are rendered."""

    def __init__(self, templates: Iterable[Template], project: GatiProject) -> None:
        self._project = project
        self.problems: list[Problem] = []
        sandbox = Sandbox()
        self._ready: dict[str, list[_Ready]] = {scope: [] for scope in KNOWN}
        for template in templates:
            try:
                program = Program(sandbox, template.text, KNOWN[template.scope])
                self._ready[template.scope].append(_Ready(template, program))
            except BadTemplate as error:
                self.problems.append(_problem(template, error))

    def of_version(self, unit: LinkedUnit, version: LinkedVersion) -> tuple[Added, ...]:
        """Objects that belong to one version, wherever it runs."""
        if not self._ready["version"] or version.workload is None:
            return ()
        identity = UnitId(unit.namespace, unit.kind, unit.name)
        project = self._project.metadata.name
        labels = version_labels(identity, version.id, project, user_labels(unit))
        owner = Owner("version", unit.namespace, labels, identity.version_name(version.id))
        values = {
            "project": project_values(self._project),
            "unit": unit_values(unit),
            "version": version_values(unit, version),
        }
        return self._render("version", values, owner, f"{identity} {version.id}")

    def of_unit(
        self, unit: LinkedUnit, env: str, cluster: str, hosts: Iterable[str]
    ) -> tuple[Added, ...]:
        """Objects that belong to a unit on one cluster."""
        if not self._ready["unit"]:
            return ()
        identity = UnitId(unit.namespace, unit.kind, unit.name)
        labels = unit_labels(identity, self._project.metadata.name, user_labels(unit))
        owner = Owner("unit", unit.namespace, labels, identity.object_name)
        values = {
            **place_values(self._project, env, cluster),
            "unit": {**unit_values(unit), "hosts": list(hosts)},
        }
        return self._render("unit", values, owner, f"{identity} in {env} on {cluster}")

    def of_namespace(self, name: str, env: str, cluster: str) -> tuple[Added, ...]:
        """Objects that belong to a namespace of an environment."""
        if not self._ready["environment"]:
            return ()
        labels = {
            "app.kubernetes.io/managed-by": MANAGER,
            "app.kubernetes.io/part-of": self._project.metadata.name,
        }
        owner = Owner("environment", name, labels, "")
        values = {**place_values(self._project, env, cluster), "namespace": {"name": name}}
        return self._render("environment", values, owner, f"{name} in {env} on {cluster}")

    def _render(
        self, scope: str, values: Mapping[str, Any], owner: Owner, whom: str
    ) -> tuple[Added, ...]:
        found: list[Added] = []
        taken: dict[tuple[str, str, str], str] = {}
        for ready in self._ready[scope]:
            if ready.failed:
                continue
            try:
                made = ready.render(values, owner)
            except BadTemplate as error:
                ready.failed = True
                self.problems.append(_problem(ready.template, error, whom))
                continue
            for added in made:
                if added.identity in taken:
                    first, ready.failed = taken[added.identity], True
                    self.problems.append(_twice(ready.template, added, first, whom))
                    continue
                taken[added.identity] = added.template
                found.append(added)
        return tuple(found)


class _Ready:
    """A template that can be rendered, and the texts of it that have been read."""

    def __init__(self, template: Template, program: Program) -> None:
        self.template = template
        self.failed = False
        self._program = program
        self._skeletons: dict[str, Skeleton] = {}

    def render(self, values: Mapping[str, Any], owner: Owner) -> list[Added]:
        rendered = self._program.render(values)
        bones = self._skeletons.get(rendered.text)
        if bones is None:
            bones = self._skeletons[rendered.text] = skeleton(rendered)
        return [
            Added(self.template.file, checked(document, owner))
            for document in filled(bones, rendered.values)
        ]


def _problem(template: Template, error: BadTemplate, whom: str = "") -> Problem:
    return Problem(
        "template-invalid",
        f"{error.message} (for {whom})" if whom else error.message,
        Place(template.file, error.line, 1),
        remedy=error.remedy,
    )


def _twice(template: Template, added: Added, first: str, whom: str) -> Problem:
    where = "twice" if first == template.file else f"here and in {first}"
    return Problem(
        "template-collision",
        f"{added.object['kind']} {added.object['metadata']['name']} is made {where} (for {whom})",
        Place(template.file, 1, 1),
        remedy="give one of the two another name",
    )
