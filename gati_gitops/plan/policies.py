"""A team's own rules (``policies`` in gati.yaml), judged on what each environment would run.

Every rule sees the documents as an environment has them, so a partial document can break one, and
images under the name that nodes there pull. A violation stands at the field that breaks the rule.
What several environments violate at the same place is told once and names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pydantic import ValidationError

from gati_gitops.errors import Place, Problem, Severity
from gati_gitops.plan import defaults
from gati_gitops.plan.naming import UnitId, unit_labels
from gati_gitops.plan.releases import user_labels
from gati_gitops.plan.units import mirrored
from gati_gitops.spec.link import Linked, LinkedUnit, LinkedVersion
from gati_gitops.spec.load import Specs
from gati_gitops.spec.policy import (
    ImagesPolicy,
    LabelsPolicy,
    LimitsPolicy,
    Policies,
    RegistriesPolicy,
    ReplicasPolicy,
)
from gati_gitops.spec.source import place_of
from gati_gitops.spec.workload import Resources, RunningWorkload
from gati_gitops.yamlio.strict import dotted

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that something breaks, without the environment."""

    code: str
    level: str
    message: str
    place: Place
    path: Path
    remedy: str

    @property
    def rule(self) -> str:
        """The policy's name in gati.yaml."""
        return self.code.removeprefix("policy-")


def policies_of(specs: Specs, env: str) -> Policies:
    """What is in force in an environment; raises ValidationError where it does not fit together."""
    project = specs.project.spec
    found = project.policies.under(project.environments[env].policies)
    rules = {name: getattr(found, name) for name in Policies.model_fields}
    off = [name for name, rule in rules.items() if rule is not None and rule.severity == "none"]
    return found.model_copy(update=dict.fromkeys(off))


def check_policies(specs: Specs, linked: Linked) -> Iterator[Problem]:
    """Every violation, once for each place and severity, with the environments that have it."""
    found: dict[Violation, list[str]] = {}
    judged: dict[tuple[object, ...], list[Violation]] = {}
    for env, settings in specs.project.spec.environments.items():
        try:
            policies = policies_of(specs, env)
        except ValidationError as error:
            yield _misfit(specs, env, error)
            continue
        registries = settings.registries
        for cluster in settings.clusters:
            units = linked.on[env, cluster]
            # Environments that differ in nothing that a rule sees are judged once.
            key = (id(units), repr(policies), repr(registries))
            if key not in judged:
                judged[key] = list(_violations(units, policies, registries, specs))
            for violation in judged[key]:
                where = found.setdefault(violation, [])
                if env not in where:
                    where.append(env)
    for violation, where in found.items():
        yield _problem(specs, violation, where)


def _violations(
    units: Iterable[LinkedUnit],
    policies: Policies,
    registries: Mapping[str, str],
    specs: Specs,
) -> Iterator[Violation]:
    labels = policies.labels
    for unit in units:
        if labels is not None:
            yield from _labels(unit, labels, specs.project.metadata.name)
        for version in unit.versions:
            if version.workload is not None:  # else only an earlier release knows how it runs
                yield from _image(version, version.workload, policies, registries)
                yield from _pods(version, version.workload, policies, specs)


def _at(version: LinkedVersion, *path: str | int) -> Place:
    """Where a version's field was set: in its own document, or the one that it inherits from."""
    layers = [layer for doc in version.docs for layer in doc.layers]
    return place_of(layers, path) if layers else Place(version.docs[-1].file)


# -- images --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reference:
    """An image reference taken apart, with what Docker's tools add to a short one."""

    name: str
    """With its host: ``docker.io/library/node``."""
    tag: str
    digest: str

    @property
    def spellings(self) -> Iterator[str]:
        """All that a pattern may be about: with and without the host, the tag, the digest."""
        names = [self.name]
        names += [
            self.name.removeprefix(implied)
            for implied in ("docker.io/library/", "docker.io/")
            if self.name.startswith(implied)
        ]
        for name in names:
            yield name
            if self.tag:
                yield f"{name}:{self.tag}"
            if self.digest:
                yield f"{name}@{self.digest}"


def reference(image: str) -> Reference:
    """``node`` is ``docker.io/library/node:latest``."""
    rest, _, digest = image.partition("@")
    head, slash, last = rest.rpartition("/")
    last, _, tag = last.partition(":")
    name = f"{head}{slash}{last}"
    host = name.partition("/")[0]
    if "/" not in name:
        name = f"docker.io/library/{name}"
    elif "." not in host and ":" not in host and host != "localhost":
        name = f"docker.io/{name}"
    return Reference(name, tag or ("" if digest else "latest"), digest)


def _image(
    version: LinkedVersion,
    workload: RunningWorkload,
    policies: Policies,
    registries: Mapping[str, str],
) -> Iterator[Violation]:
    image = workload.image
    for mirror in mirrored(image, registries):
        image = mirror["newName"] + image.removeprefix(mirror["name"])
    seen = reference(image)
    path = ("spec", "image")
    shown = image if image == workload.image else f"{image} ({workload.image} in the spec)"

    def violation(code: str, level: str, message: str, remedy: str) -> Violation:
        return Violation(code, level, f"{shown} {message}", _at(version, *path), path, remedy)

    if policies.latest is not None and seen.tag == "latest" and not seen.digest:
        yield violation(
            "policy-latest",
            policies.latest.severity,
            "is whatever was pushed last",
            "name a tag that never moves, or a digest",
        )
    if policies.digest is not None and not seen.digest:
        yield violation(
            "policy-digest",
            policies.digest.severity,
            "has no digest, so its tag can be moved",
            "add the digest: name:tag@sha256:…",
        )
    if policies.registries is not None and not _allowed(seen, policies.registries):
        yield violation(
            "policy-registries",
            policies.registries.severity,
            "does not come from an allowed registry",
            f"use one of {_choices(policies.registries.allow)}",
        )
    if policies.images is not None and (pattern := _forbidden(seen, policies.images)):
        yield violation(
            "policy-images",
            policies.images.severity,
            f"is forbidden by {pattern}",
            "build on another image",
        )


def _allowed(seen: Reference, rule: RegistriesPolicy) -> bool:
    # Segment by segment: a * must not reach over a slash into a host that somebody else owns.
    segments = seen.name.split("/")
    return any(
        len(wanted) <= len(segments) and all(map(fnmatchcase, segments, wanted))
        for wanted in (allowed.split("/") for allowed in rule.allow)
    )


def _forbidden(seen: Reference, rule: ImagesPolicy) -> str:
    """The first pattern that the image fits, or nothing."""
    patterns = rule.forbid
    return next((p for p in patterns if any(fnmatchcase(s, p) for s in seen.spellings)), "")


# -- pods ----------------------------------------------------------------------------------------


def _pods(
    version: LinkedVersion, workload: RunningWorkload, policies: Policies, specs: Specs
) -> Iterator[Violation]:
    if policies.limits is not None:
        given = specs.project.spec.defaults.resources
        yield from _limits(version, workload, policies.limits, given)
    if policies.replicas is not None:
        yield from _replicas(version, workload, policies.replicas)


def _limits(
    version: LinkedVersion, workload: RunningWorkload, rule: LimitsPolicy, given: Resources | None
) -> Iterator[Violation]:
    has = defaults.resources(workload, given).get("limits", {})
    for name in rule.require:
        if name not in has:
            path = ("spec", "resources", "limits", name)
            yield Violation(
                "policy-limits", rule.severity,
                f"version {version.id} has no {name} limit, so it may take all that its node has",
                _at(version, *path), path, f"add {dotted(path)}",
            )  # fmt: skip


def _replicas(
    version: LinkedVersion, workload: RunningWorkload, rule: ReplicasPolicy
) -> Iterator[Violation]:
    scaling = defaults.scaling(workload, version.tier)
    owned = scaling.owned
    low, high = scaling.floor, scaling.max if owned else scaling.replicas
    who = f"version {version.id} may have" if owned else f"version {version.id} has"
    for broken, number, bound, words, field in (
        (rule.min is not None and low < rule.min, low, rule.min, "fewer than", "min"),
        (rule.max is not None and high > rule.max, high, rule.max, "more than", "max"),
    ):
        if broken:
            path = ("spec", "autoscaling", field) if owned else ("spec", "replicas")
            yield Violation(
                "policy-replicas", rule.severity,
                f"{who} {number} pod{'s' * (number != 1)}, {words} the {bound} of the policy",
                _at(version, *path), path,
                f"set {dotted(path)} to {'at least' if field == 'min' else 'at most'} {bound}",
            )  # fmt: skip


# -- labels --------------------------------------------------------------------------------------


def _labels(unit: LinkedUnit, rule: LabelsPolicy, project: str) -> Iterator[Violation]:
    identity = UnitId(unit.namespace, unit.kind, unit.name)
    has: Mapping[str, Any] = unit_labels(identity, project, user_labels(unit))
    for key, allowed in rule.require.items():
        path = ("metadata", "labels", key)
        if key not in has:
            message, remedy = f"the label {key} is missing", f"add it under {dotted(path[:2])}"
            if allowed:
                remedy += f": {_choices(allowed)}"
        elif allowed and not any(fnmatchcase(has[key], pattern) for pattern in allowed):
            message = f"the label {key} must not be {has[key]!r}"
            remedy = f"write {_choices(allowed)}"
        else:
            continue
        place = unit.doc.place(*path)
        yield Violation("policy-labels", rule.severity, message, place, path, remedy)


def _choices(allowed: list[str]) -> str:
    return " or ".join(allowed[:5]) + (" or …" if len(allowed) > 5 else "")


# -- problems ------------------------------------------------------------------------------------


def _problem(specs: Specs, violation: Violation, where: list[str]) -> Problem:
    names = ", ".join(where[:5]) + (f" and {len(where) - 5} more" if len(where) > 5 else "")
    declared = _declared(specs, violation.rule, where)
    return Problem(
        violation.code,
        f"{violation.message} (in {names})",
        violation.place,
        dotted(violation.path),
        violation.remedy,
        Severity(violation.level),
        ((declared, "the policy"),) if declared is not None else (),
    )


def _declared(specs: Specs, rule: str, where: list[str]) -> Place | None:
    """Where gati.yaml says so: of the first environment that has a word of its own, if one has."""
    project, doc = specs.project.spec, specs.project_doc
    if doc is None:
        return None
    for env in where:
        if rule in project.environments[env].policies.model_fields_set:
            return doc.place("spec", "environments", env, "policies", rule)
    if rule in project.policies.model_fields_set:
        return doc.place("spec", "policies", rule)
    return None


def _misfit(specs: Specs, env: str, error: ValidationError) -> Problem:
    detail = error.errors(include_url=False)[0]
    path = ("spec", "environments", env, "policies", *detail["loc"])
    doc = specs.project_doc
    return Problem(
        "bad-value",
        f"laid over the project's policies this is not valid:"
        f" {detail['msg'].removeprefix('Value error, ')}",
        doc.place(*path) if doc is not None else Place("gati.yaml"),
        dotted(path),
        "change it here, or under spec.policies",
    )
