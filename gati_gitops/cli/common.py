"""What the verbs share: the specs argument, loading, and where words go.

A Session is made for each run. It remembers which files were read, so that whoever reports an error
can show the line it is about, with a path that works from where the user stands.
"""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from gati_gitops.errors import Place, Problem, SpecsInvalid
from gati_gitops.report import report

if TYPE_CHECKING:
    from gati_gitops.compiler import Narrowed
    from gati_gitops.spec.load import Specs
    from gati_gitops.spec.project import GatiProject

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(slots=True)
class Session:
    """One run of the program."""

    debug: bool = False
    format: str = "text"
    """The format of a report on the specs, when they are wrong."""
    report_to_stdout: bool = False
    prefix: str = ""
    sources: Mapping[str, bytes] = field(default_factory=dict)

    def report(self, problems: Iterable[Problem]) -> None:
        """Print problems in the format and to the stream that the verb has chosen."""
        to_stdout = self.report_to_stdout or self.format != "text"
        stream = sys.stdout if to_stdout else sys.stderr
        ordered = sorted(set(problems), key=Problem.sort_key)
        colour = wants_colour(stream)
        text = report(
            [self._seen_from_here(problem) for problem in ordered],
            self.format,
            sources={self._path(file): content for file, content in self.sources.items()},
            colour=colour,
        )
        click.echo(text, nl=False, file=stream, color=colour)

    def _seen_from_here(self, problem: Problem) -> Problem:
        if not self.prefix:
            return problem
        return replace(
            problem,
            place=self._place(problem.place),
            related=tuple((self._place(place), note) for place, note in problem.related),
        )

    def _place(self, place: Place) -> Place:
        return replace(place, file=self._path(place.file))

    def _path(self, file: str) -> str:
        return posixpath.normpath(posixpath.join(self.prefix, file)) if self.prefix else file


def session() -> Session:
    """The session of the running verb."""
    found = click.get_current_context().find_object(Session)
    return found if found is not None else Session()


specs_argument = click.argument("specs", default=".", metavar="[SPECS]")
"""A folder of specs, a file, or - for standard input; the current folder by default."""


def load_specs(specs: str) -> Specs:
    """Read and check the specs. The session learns what was read."""
    from gati_gitops.disk.specs import STDIN, read_specs
    from gati_gitops.spec.load import examine

    files = read_specs(specs)
    here = session()
    here.sources = dict(files)
    if specs != STDIN:
        folder = os.path.dirname(specs) if os.path.isfile(specs) else specs  # noqa: PTH113, PTH120
        here.prefix = "" if folder in ("", ".") else folder.replace(os.sep, "/")
    loaded, problems = examine(files)
    if loaded is None or any(problem.is_error for problem in problems):
        more = across(loaded) if loaded is not None else ()
        # What is called may be in a namespace that could not be looked at.
        raise SpecsInvalid((*problems, *(p for p in more if p.code != "unknown-module")))
    return loaded


def across(specs: Specs) -> tuple[Problem, ...]:
    """What only shows when documents are seen together."""
    from gati_gitops.plan.check import check
    from gati_gitops.plan.templates import check_templates
    from gati_gitops.spec.link import link_all

    linked = link_all(specs)
    return (*check(specs, linked), *check_templates(specs, linked))


def wants_colour(stream: IO[Any]) -> bool:
    """Colour on a terminal only; NO_COLOR and FORCE_COLOR have the last word."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _narrowing(name: str, what: str) -> Callable[[Function], Function]:
    return click.option(
        name, multiple=True, metavar="NAME", help=f"Only this {what}; may be repeated."
    )


environment_option = _narrowing("--env", "environment")


def narrowing(command: Any) -> Any:
    """The options that narrow a verb to environments and clusters."""
    return environment_option(_narrowing("--cluster", "cluster")(command))


def narrowed(project: GatiProject, env: tuple[str, ...], cluster: tuple[str, ...]) -> Narrowed:
    """What the narrowing options mean here; what is not there is a usage error."""
    from gati_gitops.compiler import Narrowed

    environments = project.spec.environments
    clusters = {name for settings in environments.values() for name in settings.clusters}
    for what, wanted, known in (
        ("environment", env, set(environments)),
        ("cluster", cluster, clusters),
    ):
        for name in wanted:
            if name not in known:
                raise click.UsageError(
                    f"there is no {what} {name}; the project has {', '.join(sorted(known))}"
                )
    homes = [settings.clusters for name, settings in environments.items() if name in env]
    for name in cluster:
        if homes and not any(name in home for home in homes):
            raise click.UsageError(f"cluster {name} is not in {' or '.join(env)}")
    return Narrowed(frozenset(env), frozenset(cluster))
