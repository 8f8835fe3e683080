"""``rollback``: back to what served before."""

from __future__ import annotations

from typing import Any

import click

from gati_gitops.cli.deciding import all_environments, decide, decision


@decision(
    "rollback",
    """
    gati-gitops rollback shop/cart --repo deploy.git --env prod --reason "errors after v2"
    gati-gitops rollback shop/cart v1 --repo deploy.git --env prod --reason "v2 loses items"
    gati-gitops rollback shop/cart --repo deploy.git --env prod --reason "no Git" --break-glass
    """,
    formats=("text", "json", "sh"),
)
@all_environments
@click.option(
    "--break-glass",
    is_flag=True,
    help="Git is down: write nothing, and print what moves the traffic by hand.",
)
@click.option(
    "--context",
    "contexts",
    multiple=True,
    metavar="[CLUSTER=]NAME",
    help="With --break-glass: the context that commands for a cluster name.",
)
@click.argument("version", metavar="[VERSION]", required=False)
def command(
    version: str | None,
    all_environments: bool,
    break_glass: bool,
    contexts: tuple[str, ...],
    **options: Any,
) -> int:
    """Leave what runs of UNIT, and return to VERSION or to what served before.

    A rollout in progress ends and its version is rejected. With none in progress, the Active
    version is left: for its revision before, or for the version that served before it. A version
    that still runs takes the traffic at once; one that is parked or gone starts first.
    """
    if break_glass:
        from gati_gitops.cli.break_glass import say_how

        return say_how(options, version or "", contexts, everywhere=all_environments)
    if options["format"] == "sh" or contexts:
        raise click.UsageError("--format sh and --context belong to --break-glass")
    decide("rollback", options, version=version, everywhere=all_environments)
    return 0
