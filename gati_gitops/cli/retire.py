"""``retire``: a unit or a version goes without waiting for evidence."""

from __future__ import annotations

from typing import Any

import click

from gati_gitops.cli.deciding import all_environments, decide, decision
from gati_gitops.cli.repository import removal_options


@decision(
    "retire",
    """
    gati-gitops retire shop/cart --repo deploy.git --env prod --reason "replaced by basket"
    gati-gitops retire shop/cart v1 --repo deploy.git --env prod --reason "nobody calls it"
    """,
)
@all_environments
@click.option("--now", is_flag=True, help="Also if the specs still have the unit.")
@removal_options
@click.argument("version", metavar="[VERSION]", required=False)
def command(
    version: str | None,
    all_environments: bool,
    now: bool,
    allow_removals: int,
    deletes: tuple[str, ...],
    **options: Any,
) -> None:
    """Take UNIT away at once, or one VERSION of it that has no weight.

    A unit whose specs are gone retires by itself once nobody calls it; this does not wait. Whoever
    still calls it gets errors. It counts against the deletion budget.
    """
    from gati_gitops.publish.guards import Allowed

    allowed = Allowed(allow_removals, frozenset(deletes))
    decide(
        "retire", options, version=version, everywhere=all_environments, now=now, allowed=allowed
    )
