"""What ledgers of other clusters say of a version."""

from __future__ import annotations

import pytest

from gati_gitops.decide.promotion import followed, proofs
from gati_gitops.ledger.model import Entry, Ledger, Phase

DAY = 86400
KEY = ("v2", "d2")


def ledger(*entries):
    return Ledger(seq=1, target="v2").with_entries(entries)


def v2(phase=Phase.ACTIVE, **fields):
    return Entry(fields.pop("id", "v2"), fields.pop("digest", "d2"), phase, **fields)


@pytest.mark.parametrize(
    ("upstream", "why"),
    [
        ({}, "has no cluster that serves"),
        ({"a": None}, "a does not have the unit"),
        ({"a": ledger()}, "a does not have it"),
        ({"a": ledger(v2(Phase.PENDING))}, "a has not started it"),
        ({"a": ledger(v2(digest="other"))}, "a does not have it"),
        (
            {"a": ledger(v2(Phase.CANARY, weight=10))},
            "a has it Canary, and wants to see it serve for 1d",
        ),
        ({"a": ledger(v2(proved=3600))}, "a has seen it serve for 1h of 1d"),
        ({"a": ledger(v2(Phase.REJECTED, proved=DAY))}, "a has rejected it"),
        ({"a": ledger(v2(Phase.PARKED, proved=DAY, rejected=True))}, "a has rejected it"),
        ({"a": ledger(v2(digest="d3", revoked=("d2",), proved=DAY))}, "a has rejected it"),
        (
            {"a": ledger(v2(proved=DAY)), "b": ledger(v2(proved=60))},
            "b has seen it serve for 1m of 1d",
        ),
    ],
)
def test_what_is_not_proved_says_what_it_waits_for(upstream, why):
    proved, unproved = proofs([KEY], upstream, "staging", DAY)
    assert proved == {} and why in unproved[KEY]


@pytest.mark.parametrize(
    "entry",
    [
        v2(proved=DAY),
        v2(proved=2 * DAY),
        v2(Phase.DRAINING, proved=DAY),
        v2(Phase.REMOVED, proved=DAY),
    ],
)
def test_what_served_for_the_dwell_everywhere_is_proved(entry):
    proved, unproved = proofs([KEY], {"a": ledger(entry), "b": ledger(entry)}, "staging", DAY)
    assert unproved == {} and proved[KEY] == "seen to serve in staging (a, b) for 1d"


def test_a_dwell_of_nothing_still_wants_to_have_seen_it_serve():
    starting = {"a": ledger(v2(Phase.STARTING))}
    assert proofs([KEY], starting, "staging", 0)[0] == {}
    assert proofs([KEY], {"a": ledger(v2(proved=1))}, "staging", 0)[1] == {}


def test_standbys_follow_what_every_serving_cluster_has():
    both = {"a": ledger(v2()), "b": ledger(v2(), v2(Phase.PARKED, id="v1", digest="d1"))}
    led, left = followed([KEY, ("v1", "d1"), ("v9", "d9")], both)
    assert led == {KEY}
    assert left == {("v1", "d1"), ("v9", "d9")}, "what a cluster has forgotten is gone there"


@pytest.mark.parametrize(
    "siblings",
    [
        {},
        {"a": None},
        {"a": ledger(v2()), "b": None},
        {"a": ledger(v2(Phase.CANARY, weight=10))},
        {"a": ledger(v2(rejected=True))},
        {"a": ledger(v2(digest="other"))},
    ],
)
def test_standbys_follow_nobody_else(siblings):
    led, left = followed([KEY], siblings)
    assert led == frozenset() and left == frozenset()


def test_what_waits_again_is_not_gone():
    siblings = {"a": ledger(v2(Phase.PENDING), v2(id="v1", digest="d1"))}
    assert followed([KEY], siblings)[1] == frozenset()
