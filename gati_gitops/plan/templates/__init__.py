"""User templates: objects that a platform team adds to every version, unit or namespace.

    text → language (only what is known to be harmless) → sandbox (rendered within a budget)
         → filled (values put into parsed YAML) → objects (named, labelled, checked like our own)

Jinja2 is imported below here and nowhere else, and only when there are templates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gati_gitops.errors import Problem
from gati_gitops.plan.units import routing
from gati_gitops.spec.link import Linked, link_all
from gati_gitops.spec.load import Specs

if TYPE_CHECKING:
    from gati_gitops.plan.templates.render import Templates


def templates_of(specs: Specs) -> Templates | None:
    """The templates of a project, ready to render; None where there are none."""
    if not specs.templates:
        return None
    from gati_gitops.plan.templates.render import Templates

    return Templates(specs.templates, specs.project)


def check_templates(specs: Specs, linked: Linked | None = None) -> tuple[Problem, ...]:
    """Render everything, and say what is wrong with it."""
    templates = templates_of(specs)
    if templates is None:
        return ()
    linked = linked or link_all(specs)
    for unit in linked.base:
        for version in unit.versions:
            templates.of_version(unit, version)
    for (env, cluster), units in linked.on.items():
        for name in sorted({unit.namespace for unit in units}):
            templates.of_namespace(name, env, cluster)
        hosts = routing(specs.project.spec.environments[env], cluster).hosts
        for unit in units:
            templates.of_unit(unit, env, cluster, unit.doc.model.spec.hosts or hosts)
            for version in unit.versions if units is not linked.base else ():
                templates.of_version(unit, version)
    return tuple(templates.problems)
