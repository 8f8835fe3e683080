"""Rules by name: ours, ours without one guard, and those that people write first."""

from __future__ import annotations

from contextlib import contextmanager

from gati_gitops.decide.decide import decide
from tests.simulator.guards import without
from tests.simulator.naive import NAIVE

OURS = "ours"


@contextmanager
def rules_named(name):
    """The function that decides; ``without GUARD``: ours, with one guard gone."""
    if name in NAIVE:
        yield NAIVE[name]
    elif name.startswith("without "):
        with without(*name.removeprefix("without ").split()):
            yield decide
    else:
        yield decide
