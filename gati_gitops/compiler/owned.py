"""Only the owner of an environment says how changes come about there.

Whoever else publishes into it follows what the owner has left on the branch, whatever its own
gati.yaml says: otherwise a second source could do without the first one's approvals and promotions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from gati_gitops.errors import Refused
from gati_gitops.output import Output
from gati_gitops.spec.project import Environment, GatiProject, ProjectSpec, Promotion

_FIELDS = {
    "rollout": "rollout",
    "decommission": "decommission",
    "revisions": "revisions",
    "onDelete": "on_delete",
    "modes": "modes",
    "deletionBudget": "deletion_budget",
    "protected": "protected",
    "drift": "drift",
}
"""The settings that an owner makes for all, and what they are called in the model."""
_OF_PROJECT = frozenset(("rollout", "decommission", "deletion_budget"))
"""Those that a project may set for all environments."""


def owned(
    project: GatiProject, output: Output, source: str, wanted: Collection[str] = ()
) -> GatiProject:
    """A project with the settings of those who own its environments.

    Settings that can't be read are refused, of ``wanted`` environments only if some are named.
    """
    environments, promotion = dict(project.spec.environments), dict(project.spec.promotion)
    for env, ruling, rule, _ in _others(project, output, source, wanted):
        update = {field: getattr(ruling, field) for field in _FIELDS.values()}
        environments[env] = environments[env].model_copy(update=update)
        promotion.pop(env, None)
        promotion |= {env: rule} if rule else {}
    if (environments, promotion) == (project.spec.environments, project.spec.promotion):
        return project
    spec = project.spec.model_copy(update={"environments": environments, "promotion": promotion})
    return project.model_copy(update={"spec": spec})


def overruled(
    project: GatiProject, output: Output, source: str, wanted: Collection[str] = ()
) -> Iterator[str]:
    """What a project says in vain, in words."""
    spec = project.spec
    for env, ruling, rule, owner in _others(project, output, source, wanted):
        own = spec.environments[env]
        said = own.model_fields_set | (spec.model_fields_set & _OF_PROJECT)
        names = [
            name
            for name, field in _FIELDS.items()
            if field in said and _said(spec, env, field) != getattr(ruling, field)
        ]
        names += ["promotion"] if spec.promotion.get(env) not in (None, rule) else []
        if names:
            yield f"{env} is set by the source {owner}; not followed here: {', '.join(names)}"


def _said(spec: ProjectSpec, env: str, field: str) -> object:
    """What a project itself wants of a setting in an environment."""
    if field == "rollout":
        return spec.rollout_of(env)
    if field == "decommission":
        return spec.decommission_of(env)
    return getattr(spec.environments[env], field) or getattr(spec, field, None)


def _others(
    project: GatiProject, output: Output, source: str, wanted: Collection[str]
) -> Iterator[tuple[str, Environment, Promotion | None, str]]:
    """Environments that another source owns, with its settings and its name."""
    for env, own in project.spec.environments.items():
        try:
            said = output.set_before(env)
        except Refused:
            if not wanted or env in wanted:
                raise
            continue
        owner = str(said.get("owner", source))
        if owner != source:
            yield env, *_read(env, own, said), owner


def _read(
    env: str, own: Environment, said: Mapping[str, Any]
) -> tuple[Environment, Promotion | None]:
    data = {name: said[name] for name in _FIELDS if name in said}
    try:
        ruling = Environment.model_validate({**data, "clusters": own.clusters})
        rule = said.get("promotion")
        return ruling, Promotion.model_validate(rule) if rule else None
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise Refused(
            f"overlays/{env}/project.yaml has settings that this version does not know: {where}",
            remedy=f"use the version that {said['owner']} publishes with, or a newer one",
        ) from None
