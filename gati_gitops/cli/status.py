"""``status``: where every unit stands."""

from __future__ import annotations

import json
import sys

import click

from gati_gitops.cli.common import wants_colour
from gati_gitops.cli.deciding import root_option
from gati_gitops.cli.repository import opened, repository_options

HISTORY = 500


@click.command(
    "status",
    epilog="""\b
Examples:
  gati-gitops status --repo deploy.git
  gati-gitops status --repo deploy.git --env prod --held
  gati-gitops status --repo deploy.git --unit shop/cart --format json

\b
SINCE is when a version got its phase and weight; >3d: earlier, further back than was looked.
Exit codes: 0 told, 2 no such unit, environment or cluster, 4 Git failed.""",
)
@repository_options
@root_option
@click.option("--env", multiple=True, metavar="NAME", help="Only there; may be repeated.")
@click.option("--cluster", multiple=True, metavar="NAME", help="Only there; may be repeated.")
@click.option("--unit", multiple=True, metavar="UNIT", help="Only this one; may be repeated.")
@click.option("--held", is_flag=True, help="Only what is held.")
@click.option(
    "--history",
    type=click.IntRange(0),
    default=HISTORY,
    show_default=True,
    metavar="N",
    help="How many commits to look back for since when; 0 leaves it out.",
)
@click.option("--format", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(
    repo: str,
    branch: str | None,
    cache: str | None,
    root: str | None,
    env: tuple[str, ...],
    cluster: tuple[str, ...],
    unit: tuple[str, ...],
    held: bool,
    history: int,
    format: str,
) -> None:
    """Print units with their versions, phases, weights and holds, per environment.

    Everything is read from the ledgers on the branch; no specs and no cluster are asked.
    """
    import shutil
    import time

    from gati_gitops.publish.places import find_root, places
    from gati_gitops.publish.status import dated, standings
    from gati_gitops.publish.status_table import status_data, status_lines

    with opened(repo, branch, cache) as repository:
        tip = repository.tip()
        where = find_root(tip, root)
        before = tip.snapshot(where)
        found = places(before)
        keys = [found.find(name) for name in dict.fromkeys(unit)] or None
        rows = standings(before, found, found.chosen(env, cluster), keys, held=held)
        if history:
            rows = dated(tip, rows, root=where, deepen=repository.deepen, limit=history)
        name = repository.branch
    if format == "json":
        click.echo(json.dumps(status_data(rows, name, tip.commit), indent=2, ensure_ascii=False))
        return
    tty = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if tty else 0
    if rows:
        lines = status_lines(rows, time.time(), width=width, colour=wants_colour(sys.stdout))
        click.echo("\n".join(lines), color=True)
    number, stopped = len({row.unit for row in rows}), len({r.unit for r in rows if r.ledger.hold})
    units = f"{number} unit{'s' * (number != 1)}"
    click.echo(f"{units}, {stopped} held, at {tip.commit[:12]} of {name}", err=True)
