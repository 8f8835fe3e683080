"""What an environment says about changes of its units."""

from __future__ import annotations

from dataclasses import dataclass

from gati_gitops.spec.project import Revisions, Strategy


@dataclass(frozen=True, slots=True)
class Policy:
    """What an environment says about changes."""

    strategy: Strategy = "manual"
    promoted: bool = False
    """New versions wait until another environment has proved them."""
    revisions: Revisions = "roll"
    on_delete: str = "drain"
