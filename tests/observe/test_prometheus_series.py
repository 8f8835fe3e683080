"""Several records of one thing: joined where they follow one another, paired where a label says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.observe.prometheus_answer import Raw
from gati_gitops.observe.prometheus_series import Overlap, finite, interval, one, own_labels


def raw(times, values, **labels):
    return Raw(labels, tuple(map(float, times)), tuple(map(float, values)))


def test_parts_that_follow_one_another_are_joined_in_order():
    late, early = raw([40, 50], [1, 2], instance="b"), raw([10, 20, 30], [7, 8, 9], instance="a")
    joined = one([late, early], (("x", "y"),), "", 10)
    assert joined.labels == (("x", "y"),)
    assert joined.times == (10, 20, 30, 40, 50)
    assert joined.values == (7, 8, 9, 1, 2)


@pytest.mark.parametrize("begin", [25, 30])
def test_parts_that_overlap_are_two_things(begin):
    with pytest.raises(Overlap):
        one([raw([10, 20, 30], [1, 1, 1]), raw([begin, 60], [1, 1])], (), "", 10)


def test_of_a_pair_the_larger_sample_of_each_stretch_is_kept_whoever_comes_first():
    a = raw([1, 11, 21], [5, 9, 9], replica="a")
    b = raw([6, 16, 26], [7, 8, 12], replica="b")
    for parts in ([a, b], [b, a]):
        paired = one(parts, (), "replica", 10)
        assert paired.values == (7, 9, 12)
        assert paired.times == (6, 11, 26)


def test_a_pair_without_the_label_is_not_told_apart():
    with pytest.raises(Overlap):
        one([raw([1, 11], [1, 1], replica="a"), raw([6, 16], [1, 1], replica="b")], (), "", 10)


def test_each_of_a_pair_may_have_seen_the_pod_move():
    parts = [
        raw([1, 11], [5, 6], replica="a", instance="x"),
        raw([21, 31], [1, 2], replica="a", instance="y"),
        raw([2, 12, 22, 32], [5, 6, 1, 2], replica="b"),
    ]
    assert one(parts, (), "replica", 10).values == (5, 6, 1, 2)


@given(
    counts=st.lists(st.integers(0, 5), min_size=3, max_size=40),
    gone=st.sets(st.integers(0, 39)),
    offset=st.floats(0.1, 9.9),
)
def test_a_pair_never_makes_a_counter_fall_nor_more_samples_than_scrapes(counts, gone, offset):
    """Two servers read the same counter every ten seconds; one of them misses some scrapes."""
    times = [10.0 * number for number in range(len(counts))]
    total = [sum(counts[: number + 1]) for number in range(len(counts))]
    kept = [number for number in range(len(counts)) if number not in gone]
    first = raw([times[n] for n in kept] or [0.0], [total[n] for n in kept] or [total[0]], r="a")
    second = raw([time + offset for time in times], total, r="b")
    paired = one([first, second], (), "r", 10)
    assert list(paired.values) == sorted(paired.values)
    assert list(paired.times) == sorted(set(paired.times))
    assert len(paired.times) == len(counts)
    assert paired.values[-1] == total[-1]


def test_how_often_is_told_by_what_is_usual():
    steady = raw(range(0, 100, 10), range(10))
    torn = raw([0, 10, 20, 60, 70, 80], range(6))
    assert interval([steady]) == interval([torn]) == interval([steady, torn]) == 10
    assert interval([raw([0, 10, 20], [1, 1, 1])]) == 0
    assert interval([]) == 0


def test_numbers_so_large_that_their_sum_is_none_are_numbers():
    assert finite(raw([1, 2], [1.7e308, 1.7e308]))
    assert not finite(raw([1, 2], [1, float("inf")]))
    assert not finite(raw([1, 2, 3], [float("inf"), float("-inf"), 1]))


def test_labels_of_the_scrape_are_left_out():
    found = raw([1], [1], pod="p", job="j", status_code="200", replica="a", le="0.5")
    assert own_labels(found, frozenset(("pod", "job", "replica"))) == (
        ("le", "0.5"),
        ("status_code", "200"),
    )
