"""Windows in which nothing moves, by clocks on walls that are set forward and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.reconcile.freeze import frozen
from gati_gitops.spec.rollout import DAYS, Freeze


def window(since: str, until: str, zone: str = "UTC") -> Freeze:
    return Freeze.model_validate(
        {"reason": "weekend", "from": since, "until": until, "zone": zone}, by_alias=True
    )


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "moment, is_frozen",
    [
        ("2026-11-20T17:59", False),  # a Friday
        ("2026-11-20T18:00", True),
        ("2026-11-22T12:00", True),
        ("2026-11-23T05:59", True),
        ("2026-11-23T06:00", False),
        ("2026-11-25T12:00", False),
    ],
)
def test_every_week(moment, is_frozen):
    found = frozen([window("Fri 18:00", "Mon 06:00")], at(moment))
    assert bool(found) == is_frozen
    if found:
        assert found.startswith("weekend (frozen until 2026-11-23 06:00 UTC")


def test_once_in_the_calendar():
    windows = [window("2026-12-20 00:00", "2027-01-04 08:00", "Europe/Berlin")]
    assert not frozen(windows, at("2026-12-19T22:59"))
    assert frozen(windows, at("2026-12-19T23:00"))
    assert frozen(windows, at("2027-01-04T06:59"))
    assert not frozen(windows, at("2027-01-04T07:00"))


def test_an_hour_that_lives_twice_is_frozen_both_times():
    # Berlin sets its clocks back on 2026-10-25, 03:00 to 02:00; a Sunday
    windows = [window("Sun 02:30", "Sun 02:45", "Europe/Berlin")]
    assert frozen(windows, at("2026-10-25T00:30"))  # 02:30 for the first time
    assert frozen(windows, at("2026-10-25T01:30"))  # and for the second
    assert frozen(windows, at("2026-10-25T01:44"))
    assert not frozen(windows, at("2026-10-25T01:45"))


def test_an_hour_that_is_skipped_ends_no_window_early():
    # Berlin sets its clocks forward on 2026-03-29, 02:00 to 03:00; a Sunday
    windows = [window("Sat 18:00", "Sun 02:30", "Europe/Berlin")]
    assert frozen(windows, at("2026-03-29T00:59"))  # 01:59
    assert frozen(windows, at("2026-03-29T01:29"))  # 03:29, which is 02:29 by the old clock
    assert not frozen(windows, at("2026-03-29T01:30"))


def test_no_window_no_freeze():
    assert frozen([], 0.0) == ""


@given(
    start=st.integers(0, 7 * 24 * 60 - 1),
    length=st.integers(1, 7 * 24 * 60 - 1),
    minute=st.integers(0, 3 * 7 * 24 * 60),
)
def test_in_utc_a_weekly_window_is_plain_arithmetic(start, length, minute):
    week = 7 * 24 * 60

    def words(m: int) -> str:
        m %= week
        return f"{DAYS[m // 1440]} {m % 1440 // 60:02d}:{m % 60:02d}"

    monday = datetime(2026, 11, 16, tzinfo=UTC)
    moment = (monday + timedelta(minutes=minute)).timestamp()
    expected = (minute - start) % week < length
    assert bool(frozen([window(words(start), words(start + length))], moment)) == expected
