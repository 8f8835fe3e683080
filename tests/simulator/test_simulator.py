"""The world in small: our rules do no harm in it, others do, and a guard that is gone is missed.

`make simulate` plays many more schedules; `python -m tests.simulator --schedule N --trace` tells one.
"""

from __future__ import annotations

import json

import pytest

from gati_gitops.decide.decide import decide
from tests.simulator.crowd import all_of, some
from tests.simulator.guards import COMING, mutants, without
from tests.simulator.mutate import MISSED, first_caught
from tests.simulator.naive import NAIVE
from tests.simulator.report import FAMILIES, families, passed, report
from tests.simulator.rules import OURS, rules_named
from tests.simulator.schedule import run

SEED = 7
SCHEDULES = 300


@pytest.fixture(scope="module")
def ours():
    return some((SEED, 0, SCHEDULES, OURS))


def test_nobody_meets_nobody(ours):
    assert ours.unsafe == 0, ours.named


def test_most_stories_come_to_an_end(ours):
    assert ours.decided >= 0.6 * SCHEDULES
    assert passed(ours)


def test_every_kind_of_decision_is_made(ours):
    assert {"advance", "activate", "rollback", "park", "remove", "revive", "hold"} <= set(
        ours.moves
    )


@pytest.mark.parametrize("name", NAIVE)
def test_naive_rules_do_harm(name):
    found = some((SEED, 0, 100, name))
    assert found.unsafe >= 5, "the world is too kind"


def test_a_number_tells_the_same_story_again():
    with rules_named(OURS) as decide:
        first = [run(SEED, number, decide, tells=True) for number in range(20)]
        again = [run(SEED, number, decide, tells=True) for number in reversed(range(20))][::-1]
        other = [run(SEED + 1, number, decide, tells=True) for number in range(20)]
    assert [one.told for one in first] == [one.told for one in again]
    assert all(one.told for one in first)
    assert [one.told for one in first] != [one.told for one in other]


@pytest.mark.slow
def test_the_sum_does_not_depend_on_how_it_is_shared_out(ours):
    assert all_of(SEED, SCHEDULES, OURS, 2, quiet=True) == ours


@pytest.mark.parametrize("guard", mutants())
def test_a_guard_that_is_gone_is_missed(guard):
    """In a schedule that is known for it, where those before it do no harm by their absence."""
    behind = mutants()[guard].behind
    again = "the world has changed: python -m tests.simulator --mutate --write"
    number = json.loads(MISSED.read_text()).get(guard)
    assert number is not None, again
    with without(guard, *behind):
        assert run(1, number, decide).unsafe, again
    with without(*behind):
        assert not run(1, number, decide).unsafe


def test_a_guard_that_is_gone_is_found_by_looking():
    after, harm = first_caught(SEED, ["pods_are_missing"], COMING, 2000)
    assert after and harm, "nobody misses it"


def test_every_kind_of_fault_happens(ours):
    found = families(ours)
    assert [name for name, number in found.items() if number < 3] == [], "the world is too kind"
    assert found.keys() == FAMILIES.keys(), "faults that the report does not know"


def test_the_report_says_what_was_found(ours):
    naive = some((SEED, 0, 50, "or vector(0)"))
    text = report({OURS: ours, "or vector(0)": naive}, SEED, 1.0, 1)
    assert "0 unsafe of 300" in text
    assert "or vector(0)" in text
