"""``plan``: what the specs come to, with every name, weight and phase decided."""

from __future__ import annotations

import json

import click

from gati_gitops.cli.common import load_specs, narrowing, session, specs_argument


@click.command(
    "plan",
    epilog="""\b
Examples:
  gati-gitops plan specs
  gati-gitops plan specs --env prod --ledger deploy
  gati-gitops plan specs --format yaml --unit shop/cart

\b
Without --ledger the plan is that of a first publish.""",
)
@specs_argument
@click.option(
    "--ledger",
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="Compiled output whose ledgers count: a copy of the output repository.",
)
@narrowing
@click.option("--unit", metavar="UNIT", help="Only this unit: NAMESPACE/NAME.")
@click.option("--format", type=click.Choice(["text", "yaml", "json"]), default="text")
def command(
    specs: str,
    ledger: str | None,
    env: tuple[str, ...],
    cluster: tuple[str, ...],
    unit: str | None,
    format: str,
) -> None:
    """Print what SPECS come to, per environment: units, versions, phases, weights, pods."""
    from pathlib import Path

    from gati_gitops.cli.common import narrowed
    from gati_gitops.compiler import compile_specs
    from gati_gitops.disk.snapshot import DiskSnapshot
    from gati_gitops.disk.writer import refuse_unfinished
    from gati_gitops.ledger.show import HEADINGS, aligned, shown_data, tables
    from gati_gitops.tree import MemorySnapshot, Snapshot
    from gati_gitops.yamlio.emit import dump

    loaded = load_specs(specs)
    before: Snapshot = MemorySnapshot()
    if ledger is not None:
        root = Path(ledger) / loaded.project.spec.output.root
        refuse_unfinished(root)
        before = DiskSnapshot(root)
    result = compile_specs(
        loaded, before, narrowed=narrowed(loaded.project, env, cluster), upgrade=True
    )
    session().report(result.warnings)
    units = [
        (placed.outcome.plan, placed.outcome.ledger)
        for placed in result.units
        if placed.outcome.plan is not None and unit in (None, *placed.outcome.plan.unit.spellings)
    ]
    order = list(loaded.project.spec.environments)
    units.sort(key=lambda pair: order.index(pair[0].environment))
    if unit is not None and not units:
        raise click.UsageError(f"there is no unit {unit}; a unit is named NAMESPACE/NAME")
    if format == "json":
        click.echo(json.dumps(shown_data(units), indent=2))
    elif format == "yaml":
        click.echo(dump(shown_data(units)).decode(), nl=False)
    else:
        for number, ((name, at), rows) in enumerate(tables(units).items()):
            click.echo(f"{chr(10) * bool(number)}{name} on {at}")
            for line in aligned([HEADINGS, *rows]):
                click.echo(f"  {line}")
