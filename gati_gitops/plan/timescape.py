"""Timescape: a breaking version shares traffic only when requests can be translated.

A transformer translates between two adjacent versions, in both directions. The framework makes it a
module of the app named ``transformer-<from>-to-<to>``, with the ``tsv:`` of an id left out, and
walks a linear chain of at most ten of them. Specs name transformers by that name, or shorter as
``<from>-to-<to>``; the code itself travels in the image, the list of them in GATI_TRANSFORMERS.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from gati_gitops.errors import Problem, Severity
from gati_gitops.spec.link import LinkedUnit, LinkedVersion
from gati_gitops.spec.project import Rollout

MAX_HOPS = 10
_PREFIX, _BETWEEN = "transformer-", "-to-"


def module_name(transformer: str) -> str:
    """The name of the framework's module for a transformer."""
    return _PREFIX + _bare(transformer)


def version_name(version: str) -> str:
    """A version id as the framework writes it into the name of a transformer."""
    return version.replace("tsv:", "").replace(":", "-")


def _bare(transformer: str) -> str:
    for suffix in (".ts", ".js", ".mjs"):
        transformer = transformer.removesuffix(suffix)
    return transformer.rpartition("/")[2].removeprefix(_PREFIX).replace("tsv:", "")


def check_timescape(units: Sequence[LinkedUnit], rollout: Rollout, env: str) -> Iterator[Problem]:
    """Breaking versions that would get weight beside a version they can't be translated to."""
    for unit in units:
        if not any(version.breaking or version.transformers for version in unit.versions):
            continue
        names = {version_name(version.id): version for version in unit.versions}
        steps: dict[str, str] = {}
        for version in unit.versions:
            yield from _read_steps(unit, version, names, steps)
        for version in unit.versions:
            if version.breaking:
                yield from _chains(unit, version, steps, rollout, env)


def hops(transformers: Iterable[str], start: str, end: str) -> int | None:
    """How many transformers lead from one version to another; None where no chain does."""
    names = {version_name(version) for version in (start, end)}
    found = (_split(_bare(transformer), names) for transformer in transformers)
    steps = {first: last for first, known, last in found if known}
    return _hops(version_name(start), version_name(end), steps)


def _read_steps(
    unit: LinkedUnit,
    version: LinkedVersion,
    names: Mapping[str, LinkedVersion],
    steps: dict[str, str],
) -> Iterator[Problem]:
    """Add a version's transformers to the chain; what can't be part of one is a problem."""
    for number, transformer in enumerate(version.transformers):
        start, found, end = _split(_bare(transformer), names)
        if not found:
            yield _problem(
                "transformer-unknown", version, number, Severity.WARNING,
                f"{transformer} names no two versions of {unit.name}: the chain ignores it",
                f"name it <from>-to-<to>, with ids such as {', '.join(sorted(names)[:3])}",
            )  # fmt: skip
        elif steps.get(start, end) != end or any(s != start for s, e in steps.items() if e == end):
            yield _problem(
                "transformers-branch", version, number, Severity.ERROR,
                f"the transformers of {unit.name} branch at {transformer}; a chain is linear",
                "keep one transformer from and one to each version, between neighbours only",
            )  # fmt: skip
        else:
            steps[start] = end


def _split(name: str, names: Container[str]) -> tuple[str, bool, str]:
    """``a-to-b`` as its two ids; an id may itself contain the word between them."""
    parts = name.split(_BETWEEN)
    ways = [(_BETWEEN.join(parts[:at]), _BETWEEN.join(parts[at:])) for at in range(1, len(parts))]
    # versions in the middle of a chain may have left the specs long ago
    known = [way for way in ways if way[0] in names or way[1] in names] or ways
    return (known[0][0], True, known[0][1]) if len(known) == 1 else ("", False, "")


def _chains(
    unit: LinkedUnit,
    version: LinkedVersion,
    steps: Mapping[str, str],
    rollout: Rollout,
    env: str,
) -> Iterator[Problem]:
    manual = rollout.strategy == "manual"
    if manual and not version.weight:
        return
    for other in unit.versions:
        if other is version or (manual and not other.weight):
            continue
        hops = _hops(version_name(other.id), version_name(version.id), steps)
        if hops is None or hops > MAX_HOPS:
            why = "no chain of transformers" if hops is None else f"only a chain of {hops} hops"
            meets = other.weight is not None and other.weight > 0 and bool(version.weight)
            yield _problem(
                "breaking-without-chain", version, None,
                Severity.ERROR if meets else Severity.WARNING,
                f"version {version.id} of {unit.name} is breaking, and {why} leads from {other.id}"
                f" to it: they can't share traffic in {env}",
                f"add the transformer {_PREFIX}{version_name(other.id)}{_BETWEEN}"
                f"{version_name(version.id)} (at most {MAX_HOPS} hops), or give it no weight",
            )  # fmt: skip


def _hops(start: str, end: str, steps: Mapping[str, str]) -> int | None:
    """How many transformers lead from one version to another, in either direction."""
    for at, goal in ((start, end), (end, start)):
        for count in range(1, len(steps) + 1):
            if at not in steps:
                break
            at = steps[at]  # noqa: PLW2901
            if at == goal:
                return count
    return None


def _problem(
    code: str,
    version: LinkedVersion,
    number: int | None,
    severity: Severity,
    message: str,
    remedy: str,
) -> Problem:
    doc = version.docs[-1]
    inside = () if doc.model.kind == "GatiVersion" else ("timescape",)
    path: tuple[str | int, ...] = ("spec", *inside, "breaking")
    if number is not None:
        path = ("spec", *inside, "transformers", number)
    field = ".".join(map(str, path))
    return Problem(code, message, doc.place(*path), field, remedy, severity)
