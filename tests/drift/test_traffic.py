"""The split that a gateway counts, against the weights that were declared."""

import random

import pytest

from gati_gitops.decide.drift.model import Split
from gati_gitops.decide.drift.traffic import FEWEST, interval, split_of, written_at
from gati_gitops.decide.observation import EdgeSeries, Gap, Missing, Series, Telemetry, Window
from gati_gitops.output import Output
from gati_gitops.tree import MemorySnapshot
from tests.drift.kit import compiled

V1, V2 = "handler-cart-v1", "handler-cart-v2"
AT, SPAN, SCRAPE = 10_000.0, 900.0, 15.0
LONG_AGO = 1.0


@pytest.fixture(scope="module")
def stored():
    """v1 has 90, v2 has 10."""
    return Output(MemorySnapshot(compiled())).unit("prod", "eu", ("shop", "handler-cart"))


def counted(total, *, start=500.0, up=1.0, points=None, source="prometheus"):
    """A version whose gateway counted so many requests, evenly."""
    times = tuple(AT - SPAN + n * SCRAPE for n in range(int(SPAN / SCRAPE) + 1))
    steps = len(times) - 1
    values = points or tuple(start + total * n / steps for n in range(len(times)))
    requests = Series((("code", "200"),), times, values)
    alive = Series((("pod", "gateway"),), times, tuple(up for _ in times))
    edge = EdgeSeries((requests,), Missing(Gap.UNSUPPORTED, ""), (alive,))
    return Telemetry(Window(AT, SPAN, SCRAPE, source), {}, edge)


def test_a_split_as_declared_has_not_drifted(stored):
    found = split_of(stored, {V1: counted(900), V2: counted(100)}, LONG_AGO)
    assert isinstance(found, Split) and not found.drifted
    assert {s.version: s.requests for s in found.shares} == {"v1": 900, "v2": 100}


def test_another_one_has(stored):
    found = split_of(stored, {V1: counted(700), V2: counted(300)}, LONG_AGO)
    assert found.drifted and not any(share.fits for share in found.shares)


def test_few_requests_say_nothing(stored):
    found = split_of(stored, {V1: counted(1), V2: counted(FEWEST - 2)}, LONG_AGO)
    assert isinstance(found, Missing) and found.gap is Gap.NO_DATA


def test_weights_that_have_only_just_changed_are_not_judged(stored):
    seen = {V1: counted(0), V2: counted(1000)}
    found = split_of(stored, seen, AT - SCRAPE)
    assert isinstance(found, Missing)
    # nor where nobody knows when they did
    assert isinstance(split_of(stored, seen, 0.0), Missing)


def test_only_what_came_after_the_change_counts(stored):
    """All went to v2 until a moment in the middle; since then it is as declared."""
    steps = int(SPAN / SCRAPE)
    half = steps // 2
    one = tuple(500.0 + max(0, n - half) * 90 for n in range(steps + 1))
    two = tuple(500.0 + min(n, half) * 1000 + max(0, n - half) * 10 for n in range(steps + 1))
    seen = {V1: counted(0, points=one), V2: counted(0, points=two)}
    changed = AT - SPAN + half * SCRAPE
    assert split_of(stored, seen, LONG_AGO).drifted
    assert not split_of(stored, seen, changed).drifted


@pytest.mark.parametrize(
    "second,gap",
    [
        (Missing(Gap.ERROR, "down"), Gap.ERROR),
        (counted(100, up=0.0), Gap.PARTIAL),
        (counted(0, points=tuple([500.0] * 30 + [3.0] * 31)), Gap.PARTIAL),
        (counted(0, points=tuple([float("nan")] * 61)), Gap.NOT_A_NUMBER),
        (Telemetry(Window(AT, SPAN, SCRAPE)), Gap.UNSUPPORTED),
    ],
)
def test_what_is_not_known_is_no_split(stored, second, gap):
    found = split_of(stored, {V1: counted(900), V2: second}, LONG_AGO)
    assert isinstance(found, Missing) and found.gap is gap


def test_a_unit_that_splits_nothing_is_not_asked(stored):
    unit = Output(MemorySnapshot(compiled())).unit("prod", "eu", ("shop", "handler-users"))
    assert split_of(unit, {}, LONG_AGO) is None


def test_by_chance_nothing_drifts():
    """A million units may be asked, and none of them is accused for its luck."""
    seed = random.Random(7)
    for _ in range(3000):
        total = seed.choice((100, 500, 3000))
        share = seed.choice((0.01, 0.1, 0.5, 0.9))
        hits = sum(seed.random() < share for _ in range(total))
        low, high = interval(hits, total)
        assert low <= share <= high


@pytest.mark.parametrize("total", [200, 2000, 2001, 1_000_000])
def test_the_interval_shrinks_to_what_taking_turns_explains(total):
    low, high = interval(total // 10, total)
    assert low <= 0.1 <= high
    assert high - low < (0.45 if total < 1000 else 0.14 if total < 5000 else 0.041)


def test_both_intervals_meet_where_one_takes_over():
    for hits in (1, 20, 200, 1000, 1900, 1999):
        for one, two in zip(interval(hits, 2000), interval(hits, 2001), strict=True):
            assert one == pytest.approx(two, abs=0.006)


def test_when_a_route_was_written():
    assert written_at(["2026-05-04T10:11:12Z", "", "2026-05-04T10:11:13Z"]) == 1777889473.0
    assert written_at([]) == 0.0
