"""``reject``: a version is bad."""

from __future__ import annotations

from typing import Any

import click

from gati_gitops.cli.deciding import decide, decision


@decision(
    "reject",
    """
    gati-gitops reject shop/cart v2 --repo deploy.git --reason "loses items"
    gati-gitops reject shop/cart v2 --repo deploy.git --env staging --reason "fails its tests"
    """,
)
@click.argument("version", metavar="VERSION")
def command(version: str, **options: Any) -> None:
    """Judge VERSION of UNIT bad: its weight returns to the Active version.

    It is not rolled out again, here or in environments that follow this one, until its spec
    changes or a person releases it. The Active version cannot be rejected: roll back instead.
    """
    decide("reject", options, version=version)
