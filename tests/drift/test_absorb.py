"""What a person did to the traffic, and when it is taken for a decision."""

import pytest

from gati_gitops.decide.absorb import absorbed, broken_glass
from gati_gitops.decide.observation import Gap, Live, LiveRoute, Missing
from gati_gitops.decide.verdict import Verdict
from gati_gitops.ledger import moves
from gati_gitops.ledger.fold import Policy
from gati_gitops.ledger.model import Phase
from gati_gitops.output import Output
from gati_gitops.tree import MemorySnapshot
from tests.drift.kit import compiled

V1, V2 = "handler-cart-v1", "handler-cart-v2"


@pytest.fixture(scope="module")
def stored():
    """v1 has 90, v2 has 10."""
    return Output(MemorySnapshot(compiled())).unit("prod", "eu", ("shop", "handler-cart"))


def seen(weights, glass="v2 loses items", **more):
    route = LiveRoute(weights, current=True, break_glass=glass, **more)
    return Live(1.0, {}, route, {}, Missing(Gap.NO_DATA, ""))


@pytest.mark.parametrize(
    "weights,taken",
    [
        ({V1: 100, V2: 0}, {"v1": 100}),
        ({V1: 100}, {"v1": 100}),
        ({V1: 1, V2: 0}, {"v1": 100}),  # all of it, whatever the number
        ({V1: 50, V2: 50}, {"v1": 50, "v2": 50}),
        ({V1: 90, V2: 10}, None),  # as the ledger has it
        ({V1: 9, V2: 1}, None),  # no percent
        ({V1: 60, V2: 60}, None),
        ({V1: 100, "someone-else": 0}, None),
        ({V1: 110, V2: -10}, None),
        ({V1: 0, V2: 0}, None),
        ({}, None),
    ],
)
def test_weights_that_are_taken(stored, weights, taken):
    move = absorbed(stored, seen(weights))
    assert (dict(move.weights) if move else None) == taken
    if move is not None:
        assert move.verdict is Verdict.ABSORB
        assert move.reason == "break-glass: v2 loses items"


def test_without_a_word_on_the_route_nothing_is(stored):
    assert absorbed(stored, seen({V1: 100}, glass="")) is None


@pytest.mark.parametrize("route", [None, Missing(Gap.AMBIGUOUS, "two splits")])
def test_a_route_that_is_not_known_is_no_decision(stored, route):
    live = Live(1.0, {}, route, {}, Missing(Gap.NO_DATA, ""))
    assert absorbed(stored, live) is None and broken_glass(live) == ""


def test_the_reason_is_one_harmless_line(stored):
    live = seen({V1: 100}, glass="a\n b\x1b[31m" + "x" * 1000 + " glpat-abcdefghijklmnopqrstuv")
    said = broken_glass(live)
    assert "\n" not in said and "\x1b" not in said and len(said) <= 400
    assert "glpat-abc" not in broken_glass(seen({V1: 100}, glass="glpat-abcdefghijklmnopqrstuv"))


def test_what_was_absorbed_is_not_absorbed_again(stored):
    from dataclasses import replace

    live = seen({V1: 100, V2: 0})
    move = absorbed(stored, live)
    outcome = moves.absorb(Policy(), stored, dict(move.weights), move.reason)
    after = replace(stored, plan=outcome.plan, ledger=outcome.ledger)
    assert absorbed(after, live) is None
    assert broken_glass(live)  # but nothing else moves while it stands there
    entries = {e.id: (e.phase, e.weight) for e in outcome.ledger.entries}
    assert entries == {"v1": (Phase.ACTIVE, 100), "v2": (Phase.REJECTED, 0)}
    assert outcome.ledger.hold == "break-glass: v2 loses items"
    assert outcome.ledger.seq == stored.ledger.seq + 1
