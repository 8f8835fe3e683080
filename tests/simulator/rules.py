"""Rules by name: ours, ours without one guard, and those that people write first."""

from __future__ import annotations

from tests.simulator.naive import NAIVE

OURS = "ours"


def rules_named(name):
    """The function that decides."""
    if name in NAIVE:
        return NAIVE[name]
    from gati_gitops.decide.decide import decide

    return decide
