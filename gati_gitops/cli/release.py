"""``release``: what waits for a person goes on."""

from __future__ import annotations

from typing import Any

import click

from gati_gitops.cli.deciding import decide, decision


@decision(
    "release",
    """
    gati-gitops release shop/cart --repo deploy.git --reason "the database is moved"
    gati-gitops release shop/cart --repo deploy.git --env prod --reason "seen to be ready"
    gati-gitops release shop/cart v2 --repo deploy.git --env prod --reason "it was the network"
    """,
)
@click.argument("version", metavar="[VERSION]", required=False)
def command(version: str | None, **options: Any) -> None:
    """End the hold of UNIT, or let go on what waits for a person.

    Where UNIT is held, the hold ends and nothing else is decided. Where it is not, a version that
    waits as Pending starts, and under strategy manual one that is Starting gets the weight of its
    spec. With VERSION, the rejection of that version is lifted.
    """
    decide("release", options, version=version)
