"""``hold``: a unit stands still."""

from __future__ import annotations

from typing import Any

from gati_gitops.cli.deciding import decide, decision


@decision(
    "hold",
    """
    gati-gitops hold shop/cart --repo deploy.git --reason "the database is being moved"
    gati-gitops hold shop/cart --repo deploy.git --env prod --cluster eu-1 --reason "incident 42"
    """,
)
def command(**options: Any) -> None:
    """Freeze UNIT: phases, weights and manifests stay until it is released.

    A publish goes on storing what the specs say, and new versions wait. Without --env the unit is
    held in every environment.
    """
    decide("hold", options)
