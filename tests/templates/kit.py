"""What the tests of templates share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gati_gitops.errors import Problem, SpecsInvalid
from gati_gitops.plan.templates import check_templates
from gati_gitops.spec.load import load
from tests.compile.kit import handler, project

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ version.name }}-x\n"


def files(template: str, unit: str | None = None, **more: str) -> dict[str, str]:
    """A project with one unit and one template."""
    found = {
        "gati.yaml": project({"staging": ["stage"], "prod": ["east"]}),
        "users.yaml": unit or handler(env={"A": "1", "B": "2"}),
        "templates/extra.yaml.j2": template,
    }
    return found | {f"templates/{name}.yaml.j2": text for name, text in more.items()}


def problems(specs: Mapping[str, str]) -> list[Problem]:
    """What validate says of templates."""
    try:
        found = load((name, text.encode()) for name, text in specs.items())
    except SpecsInvalid as error:
        return list(error.problems)
    return list(check_templates(found))


def refused(template: str, unit: str | None = None) -> Problem:
    """The one thing that is wrong with a template."""
    (problem,) = problems(files(template, unit))
    assert problem.place.file == "templates/extra.yaml.j2"
    assert problem.remedy
    return problem


def version_template(body: str) -> str:
    """A template of a ConfigMap whose data is ``body``, which starts in line 7."""
    return f"{{# gati: version #}}\n{HEAD}data:\n{body}\n"


def values(body: str, unit: str | None = None) -> Any:
    """What the data of that ConfigMap comes to."""
    from gati_gitops.plan.templates.render import Templates
    from gati_gitops.spec.link import link_all

    specs = load((n, t.encode()) for n, t in files(version_template(body), unit).items())
    templates = Templates(specs.templates, specs.project)
    (found,) = link_all(specs).base
    added = templates.of_version(found, found.versions[0])
    assert templates.problems == []
    return added[0].object["data"]
