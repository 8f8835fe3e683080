"""Rules that need several documents: weights, names, paths, identities, settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gati_gitops.errors import Place, Problem, Severity
from gati_gitops.plan.calls import check_modules
from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.policies import check_policies
from gati_gitops.plan.realizable import check_realizable
from gati_gitops.plan.scalers import check_scalers
from gati_gitops.plan.sensible import check_settings
from gati_gitops.plan.timescape import check_timescape
from gati_gitops.plan.units import routing
from gati_gitops.spec.link import Linked, LinkedUnit, LinkedVersion, link_all
from gati_gitops.spec.load import Specs
from gati_gitops.spec.project import Rollout

MOST_WEIGHTED = {"gateway-api": 16}
"""Backends of one rule, by the Gateway API's schema; elsewhere a percent for each is the limit."""
_BAD_PATH = re.compile(r"//|/\./|/\.\./|/\.\Z|/\.\.\Z|%2[fF]|%(?![0-9A-Fa-f]{2})|#")
_IDENTITY = {
    "GatiHandler": ("handlerPath", "version"),
    "GatiModule": ("moduleName", "moduleType", "version"),
    "GatiVersion": ("versionId", "handler"),
}


def check(specs: Specs, linked: Linked | None = None) -> tuple[Problem, ...]:
    """Every problem that only shows when documents are seen together."""
    linked = linked or link_all(specs)
    units = linked.base
    problems = list(linked.problems)
    problems += _paths(units)
    problems += _names(units)
    problems += _images(units)
    problems += _moved_identities(specs)
    problems += check_settings(specs)
    problems += check_policies(specs, linked)
    problems += check_realizable(specs, linked)
    for env, settings in specs.project.spec.environments.items():
        rollout = specs.project.spec.rollout_of(env)
        most = min(MOST_WEIGHTED.get(routing(settings, c).provider, 100) for c in settings.clusters)
        views = {id(units): units for c in settings.clusters if (units := linked.on[env, c])}
        for here in views.values():
            problems += _weights(here, rollout, env, most)
            problems += check_scalers(here, specs.project, env)
            problems += check_modules(here, specs.project)
            problems += check_timescape(here, rollout, env)
    return tuple(sorted(set(problems), key=Problem.sort_key))


def _paths(units: Sequence[LinkedUnit]) -> Iterator[Problem]:
    for unit in units:
        if unit.kind == "handler" and _BAD_PATH.search(unit.path):
            yield Problem(
                "bad-path",
                f"no router accepts the path {unit.path}",
                unit.doc.place("spec", "handlerPath"),
                "spec.handlerPath",
                "write it without empty or dot segments, encoded slashes or fragments",
            )


def _names(units: Sequence[LinkedUnit]) -> Iterator[Problem]:
    """Two versions that would share an object's name."""
    taken: dict[tuple[str, str], tuple[LinkedUnit, LinkedVersion]] = {}
    for unit in units:
        identity = UnitId(unit.namespace, unit.kind, unit.name)
        for version in unit.versions:
            name = identity.version_name(version.id)
            other = taken.setdefault((unit.namespace, name), (unit, version))
            if other[1] is version:
                continue
            yield Problem(
                "name-collision",
                f"version {version.id} of {identity.folder} and version {other[1].id} of"
                f" {other[0].kind}-{other[0].name} would both be named {name}",
                _version_place(version),
                _version_field(version),
                "rename one of the units, or change one of the version ids",
                related=((_version_place(other[1]), "the other one"),),
            )


def _images(units: Sequence[LinkedUnit]) -> Iterator[Problem]:
    for unit in units:
        for version in unit.versions:
            if version.workload is None and version.docs[-1].model.spec.image is None:
                yield Problem(
                    "version-without-image",
                    f"version {version.id} has no image of its own, and the handler is at"
                    f" {unit.target}: it compiles only where a release of it was published before",
                    version.docs[-1].place("spec"),
                    "spec.image",
                    "set spec.image, to be independent of earlier releases",
                    Severity.WARNING,
                )


def _moved_identities(specs: Specs) -> Iterator[Problem]:
    """An environment may change how a version runs, not which version it is."""
    bases = {
        (doc.model.kind, doc.model.metadata.namespace, doc.model.metadata.name): doc
        for docs in (specs.handlers, specs.modules, specs.versions)
        for doc in docs
    }
    for (env, _), docs in specs.partials.items():
        for doc in docs.values():
            key = (doc.model.kind, doc.model.metadata.namespace, doc.model.metadata.name)
            for name in _IDENTITY[doc.model.kind]:
                if key in bases and doc.data["spec"].get(name) != bases[key].data["spec"].get(name):
                    yield Problem(
                        "identity-changed",
                        f"{name} differs in {env}; an environment can't change who a unit is",
                        doc.place("spec", name),
                        f"spec.{name}",
                        "change it in the base document; environments get versions by rollout",
                    )


def _weights(
    units: Sequence[LinkedUnit], rollout: Rollout, env: str, most: int
) -> Iterator[Problem]:
    for unit in units:
        silent = [version for version in unit.versions if version.weight is None]
        total = sum(version.weight or 0 for version in unit.versions)
        weighted = [version for version in unit.versions if version.weight]
        if len(weighted) > most:
            yield _weight_problem(
                "too-many-weights",
                weighted[most],
                f"{len(weighted)} versions of {unit.name} have a weight; a route splits traffic"
                f" between at most {most}",
                "give weight 0 to some of them",
            )
        if silent and (len(unit.versions) > 1 or total):
            yield _weight_problem(
                "weight-missing",
                silent[0],
                f"{len(silent)} versions of {unit.name} have no weight",
                "give each version a routingWeight",
            )
        elif rollout.strategy == "manual" and total != 100:
            shares = " + ".join(f"{v.id} {v.weight}" for v in unit.versions)
            yield _weight_problem(
                "weights-sum",
                unit.versions[-1],
                f"the weights of {unit.name} sum to {total}, not to 100, in {env}: {shares}",
                "under strategy manual these weights are the traffic: make them sum to 100",
                [version for version in unit.versions[:-1] if version.docs],
            )
        elif rollout.strategy != "manual":
            yield from _seeds(unit, rollout, total)


def _seeds(unit: LinkedUnit, rollout: Rollout, total: int) -> Iterator[Problem]:
    """Under the other strategies weights only seed a unit, so one version must stand out."""
    top = max(version.weight or 0 for version in unit.versions)
    leaders = [version for version in unit.versions if version.weight == top]
    if len(leaders) > 1:
        yield _weight_problem(
            "weights-tie",
            leaders[1],
            f"versions {leaders[0].id} and {leaders[1].id} of {unit.name} both have weight {top}",
            f"under strategy {rollout.strategy} the highest weight becomes Active: raise one",
            leaders[:1],
        )
    elif total > 100:
        yield _weight_problem(
            "weights-sum",
            leaders[0],
            f"the weights of {unit.name} sum to {total}, above 100",
            "lower them: together they are at most 100",
        )
    elif total < 100:
        begins = 100 - (total - top)
        problem = _weight_problem(
            "weight-unfollowed",
            leaders[0],
            f"nobody will follow the weight {top} of version {leaders[0].id} of {unit.name}: under"
            f" strategy {rollout.strategy} it begins with the rest, {begins}",
            f"write {begins}, or leave it out",
        )
        yield replace(problem, severity=Severity.WARNING)


def _weight_problem(
    code: str,
    version: LinkedVersion,
    message: str,
    remedy: str,
    others: Sequence[LinkedVersion] = (),
) -> Problem:
    doc = version.docs[-1]
    path = (
        ("spec", "routingWeight")
        if doc.model.kind == "GatiVersion"
        else ("spec", "timescape", "routingWeight")
    )
    related = tuple((_version_place(other), f"version {other.id}") for other in others)
    return Problem(code, message, doc.place(*path), ".".join(path), remedy, related=related)


def _version_field(version: LinkedVersion) -> str:
    return {
        "GatiVersion": "spec.versionId",
        "GatiHandler": "spec.version",
        "GatiModule": "spec.version",
    }[version.docs[-1].model.kind]


def _version_place(version: LinkedVersion) -> Place:
    return version.docs[-1].place(*_version_field(version).split("."))
