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
    """,
)
@all_environments
@click.argument("version", metavar="[VERSION]", required=False)
def command(version: str | None, all_environments: bool, **options: Any) -> None:
    """Leave what runs of UNIT, and return to VERSION or to what served before.

    A rollout in progress ends and its version is rejected. With none in progress, the Active
    version is left: for its revision before, or for the version that served before it. A version
    that still runs takes the traffic at once; one that is parked or gone starts first.
    """
    decide("rollback", options, version=version, everywhere=all_environments)
