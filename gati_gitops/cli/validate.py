"""``validate``: every problem of the specs at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gati_gitops.cli.common import across, load_specs, session, specs_argument
from gati_gitops.errors import SpecsInvalid
from gati_gitops.report import FORMATS, counted

if TYPE_CHECKING:
    from gati_gitops.spec.load import Specs


@click.command(
    "validate",
    epilog="""\b
Examples:
  gati-gitops validate specs
  gati-gitops validate specs --format github
  gati-gitops validate specs --format sarif > problems.sarif
  cat users.yaml | gati-gitops validate -

\b
Exit codes: 0 no errors, 3 the specs are wrong, 4 they cannot be read.""",
)
@specs_argument
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Form of the report.",
)
@click.option("--strict", is_flag=True, help="Warnings fail, too.")
def command(specs: str, format: str, strict: bool) -> None:
    """Report every problem of the specs, as file:line:column, and write nothing.

    SPECS is a folder, a file, or - for standard input; the current folder by default.
    """
    here = session()
    here.format = format
    here.report_to_stdout = True
    loaded = load_specs(specs)
    problems = (*loaded.warnings, *across(loaded))
    if any(strict or problem.is_error for problem in problems):
        raise SpecsInvalid(problems)
    if problems or format != "text":
        here.report(problems)
    if format == "text":
        click.echo(f"{_inventory(loaded)}: {counted(problems)}")


def _inventory(specs: Specs) -> str:
    def count(number: int, word: str) -> str:
        return f"{number} {word}{'s' * (number != 1)}"

    parts = (
        count(len(specs.handlers), "handler"),
        count(len(specs.modules), "module"),
        count(len(specs.versions), "version"),
    )
    environments = count(len(specs.project.spec.environments), "environment")
    return f"{', '.join(parts)} in {environments}"
