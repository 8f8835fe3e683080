"""What only the whole tells: how much is touched at once, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gati_gitops.preview.model import EnvironmentReview, Finding, Level, Radius, Target
from gati_gitops.preview.words import counted, listed

MANY = 20
"""Units that nobody looks at one by one."""


def sums_up(environments: Sequence[EnvironmentReview], radius: Radius) -> Iterator[Finding]:
    if radius.units and (radius.units > 1 or radius.environments > 1):
        numbers = (
            (radius.created, "created"),
            (radius.changed, "changed"),
            (radius.recreated, "made again"),
            (radius.renamed, "renamed"),
            (radius.deleted, "deleted"),
        )
        objects = listed(f"{number} {verb}" for number, verb in numbers if number) or "none"
        yield Finding(
            "blast-radius",
            Level.WARNING if radius.units >= MANY else Level.NOTE,
            f"{counted(radius.units, 'unit')} in {counted(radius.environments, 'environment')} on"
            f" {counted(radius.clusters, 'cluster')}; objects: {objects}",
            tuple(Target(environment.name) for environment in environments),
        )
    for environment in environments:
        yield from _cost(environment)


def _cost(environment: EnvironmentReview) -> Iterator[Finding]:
    sums = environment.totals
    if sums is None or sums.least_before.cost is None or sums.least_after.cost is None:
        return
    least = sums.least_after.cost - sums.least_before.cost
    most = (sums.most_after.cost or 0) - (sums.most_before.cost or 0)
    if least or most:
        fewest, with_most = _signed(least), _signed(most)
        bounds = f" with the fewest pods, {with_most} with the most" if with_most != fewest else ""
        yield Finding(
            "cost",
            Level.NOTE,
            f"{environment.name} costs {fewest} a month{bounds}",
            (Target(environment.name),),
            before=f"{sums.least_before.cost:.2f}",
            after=f"{sums.least_after.cost:.2f}",
        )


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else '−'}{abs(value):.2f}"
