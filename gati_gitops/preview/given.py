"""What a preview is given of each side, and how it tells which of them is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from gati_gitops.compiler import Compilation, Narrowed
from gati_gitops.errors import Problem, SpecsInvalid
from gati_gitops.preview.locate import Locator
from gati_gitops.preview.model import Compared
from gati_gitops.preview.side import Side, compiled_side
from gati_gitops.spec.link import Linked
from gati_gitops.spec.load import Specs

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Given:
    """The specs of one side, and what it is called."""

    specs: Specs
    compared: Compared
    prefix: str = ""
    """What stands before the names of spec files, for who looks from elsewhere."""


class WrongSides(SpecsInvalid):
    """The specs of one side, or of both, are wrong; problems name files as each side has them."""

    def __init__(self, wrong: Iterable[tuple[str, Iterable[Problem]]]) -> None:
        found = [(name, tuple(problems)) for name, problems in wrong]
        self.sides = tuple(name for name, _ in found)
        """``base``, ``head`` or both."""
        super().__init__(problem for _, problems in found for problem in problems)


def both(do: Callable[[int], T], *given: Given) -> tuple[T, T]:
    """Do something for the base (0) and the head (1); tell what is wrong with either of them."""
    found: list[T] = []
    wrong: list[tuple[str, list[Problem]]] = []
    for number, name in enumerate(("base", "head")):
        try:
            found.append(do(number))
        except SpecsInvalid as error:
            prefix = given[number].prefix
            wrong.append((name, [seen_from(problem, prefix) for problem in error.problems]))
    if wrong:
        raise WrongSides(wrong)
    return found[0], found[1]


def seen_from(problem: Problem, prefix: str) -> Problem:
    """A problem with files as they are called from outside of the specs."""
    return replace(
        problem,
        place=replace(problem.place, file=f"{prefix}{problem.place.file}"),
        related=tuple((replace(p, file=f"{prefix}{p.file}"), note) for p, note in problem.related),
    )


def side_of(given: Given, compilation: Compilation, linked: Linked, narrowed: Narrowed) -> Side:
    """A side as it was compiled."""
    locate = Locator(given.specs, linked, given.prefix)
    problems = tuple(seen_from(problem, given.prefix) for problem in compilation.warnings)
    side = compiled_side(compilation, given.compared, locate, clusters_of(given.specs, narrowed))
    return replace(side, problems=problems, prefix=given.prefix)


def clusters_of(specs: Specs, narrowed: Narrowed) -> dict[str, tuple[str, ...]]:
    """Environments and their clusters, as far as a preview is about them."""
    found = {
        env: tuple(name for name in settings.clusters if narrowed.has(env, name))
        for env, settings in specs.project.spec.environments.items()
    }
    return {env: names for env, names in found.items() if names}
