"""Both sides, compiled on the same output.

Where gati.yaml or a template differs everything may differ, and both sides are compiled as a whole;
else only what differs is (``partial.py``).
"""

from __future__ import annotations

from gati_gitops.compiler import Narrowed, compile_specs
from gati_gitops.output import Output
from gati_gitops.preview.given import Given, both, side_of
from gati_gitops.preview.partial import Partial
from gati_gitops.preview.scope import same_settings
from gati_gitops.preview.side import Side
from gati_gitops.spec.link import link_all
from gati_gitops.tree import Snapshot


def sides(
    base: Given, head: Given, before: Snapshot, narrowed: Narrowed | None = None
) -> tuple[Side, Side]:
    """What a review compares. Raises WrongSides."""
    narrowed = narrowed or Narrowed()
    if same_settings(base.specs, head.specs):
        return Partial(base, head, before, narrowed).sides()
    return whole_sides(base, head, before, narrowed)


def whole_sides(
    base: Given, head: Given, before: Snapshot, narrowed: Narrowed
) -> tuple[Side, Side]:
    """Both compiled as a whole."""
    return both(lambda number: _whole((base, head)[number], before, narrowed), base, head)


def _whole(given: Given, before: Snapshot, narrowed: Narrowed) -> Side:
    specs = given.specs
    named = frozenset(specs.project.spec.environments)
    if narrowed.environments and not narrowed.environments & named:
        return Side({}, {}, given.compared)
    compilation = compile_specs(specs, before, narrowed=narrowed, discard=True, upgrade=True)
    linked = link_all(specs, Output(before).names())
    return side_of(given, compilation, linked, narrowed)
