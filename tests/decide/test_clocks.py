"""Clocks are a cache: they survive being stored, and whatever else is stored is no clock."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.decide.clocks import Tally, UnitClock, VersionClock, clock_data, clock_from

numbers = st.integers(0, 10**12) | st.floats(0, 1e12)
tallies = st.builds(Tally()._replace, since=numbers, until=numbers, requests=st.integers(0, 99))
versions = st.builds(
    VersionClock()._replace,
    phase=st.text(max_size=9),
    shown=numbers,
    tally=tallies,
    passes=st.integers(0, 9),
)


@given(st.text(max_size=20), st.dictionaries(st.text(max_size=20), versions, max_size=4), numbers)
def test_what_is_stored_comes_back(stamp, found, looked):
    clock = UnitClock(stamp, found, looked)
    assert clock_from(json.loads(json.dumps(clock_data(clock)))) == clock


def test_what_stands_at_nothing_is_not_stored():
    data = clock_data(UnitClock("s", {"v1@d": VersionClock(phase="Active")}))
    assert data["versions"] == {"v1@d": {"phase": "Active"}}


def test_a_clock_that_knows_nothing_still_says_that_it_is_there():
    assert clock_data(UnitClock("s", {"v1@d": VersionClock()}))["versions"] == {"v1@d": {}}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "x",
        {},
        {"stamp": "s", "looked": 1},
        {"stamp": 5, "looked": 1, "versions": {}},
        {"stamp": "s", "looked": "now", "versions": {}},
        {"stamp": "s", "looked": 1, "versions": {"v": {"shown": "long ago"}}},
        {"stamp": "s", "looked": 1, "versions": {"v": {"shown": True}}},
        {"stamp": "s", "looked": 1, "versions": {"v": {"shown": float("nan")}}},
        {"stamp": "s", "looked": 1, "versions": {"v": {"phase": 7}}},
        {"stamp": "s", "looked": 1, "versions": {"v": {"tally": 7}}},
        {"stamp": "s", "looked": 1, "versions": {"v": {"tally": {"until": float("inf")}}}},
        {"stamp": "s", "looked": 1, "versions": ["v"]},
    ],
)
def test_what_is_no_clock_has_never_been_seen(data):
    assert clock_from(data) == UnitClock()


def test_a_newer_clock_is_read_as_far_as_it_is_known():
    data = {"stamp": "s", "looked": 1, "versions": {"v": {"shown": 5, "mood": "good"}}}
    assert clock_from(data).versions["v"].shown == 5
