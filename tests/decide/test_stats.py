"""How much a count proves, held against the sum of all binomial terms in whole fractions."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.decide.stats import SURPRISE, least, most, proves_more, tail


def brute(failures: int, requests: int, share: Fraction) -> float:
    terms = (
        comb(requests, k) * share**k * (1 - share) ** (requests - k)
        for k in range(failures, requests + 1)
    )
    return float(sum(terms, Fraction(0)))


counts = st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.integers(1, 999))
def test_the_tail_is_the_sum_of_its_terms(count, thousandths):
    failures, requests = count
    share = Fraction(thousandths, 1000)
    assert tail(failures, requests, float(share)) == pytest.approx(
        brute(failures, requests, share), rel=1e-9, abs=1e-12
    )


@given(counts)
def test_the_bound_is_where_surprise_begins(count):
    failures, requests = count
    bound = least(failures, requests)
    assert 0 <= bound <= failures / requests <= most(failures, requests) <= 1
    if failures:
        at_the_bound = brute(failures, requests, Fraction(bound).limit_denominator(10**12))
        assert at_the_bound == pytest.approx(SURPRISE, rel=1e-6)


@given(counts, st.integers(1, 999))
def test_proof_and_bound_say_the_same(count, thousandths):
    limit = thousandths / 1000
    bound = least(*count)
    if abs(bound - limit) > 1e-9:
        assert proves_more(*count, limit) is (bound > limit)


@given(counts, st.integers(1, 999))
def test_more_failures_never_prove_less(count, thousandths):
    failures, requests = count
    if failures < requests and proves_more(failures, requests, thousandths / 1000):
        assert proves_more(failures + 1, requests, thousandths / 1000)


@pytest.mark.parametrize(
    ("failures", "requests", "fails", "reason"),
    [
        (3, 50, True, "three of fifty are at least 1.7 %"),
        (2, 50, False, "two of fifty may be 0.7 %"),
        (0, 1_000_000, False, "nothing failed"),
        (0, 0, False, "nothing was asked"),
        (10_000, 1_000_000, False, "exactly what is allowed"),
        (10_200, 1_000_000, True, "little more, and no chance"),
        (1, 1, True, "one of one is no chance at 1 %"),
    ],
)
def test_failures_against_one_percent(failures, requests, fails, reason):
    assert proves_more(failures, requests, 0.01) is fails, reason


def test_what_is_proved_can_be_told():
    assert least(3, 50) == pytest.approx(0.01655, abs=1e-4)
    assert least(2, 50) == pytest.approx(0.00715, abs=1e-4)


def test_three_hundred_good_requests_prove_one_percent():
    assert most(0, 299) < 0.01 < most(0, 298)


@pytest.mark.parametrize(
    ("failures", "requests", "share", "wanted"),
    [(0, 10, 0.5, 1.0), (1, 10, 0.0, 0.0), (11, 10, 0.5, 0.0), (3, 10, 1.0, 1.0)],
)
def test_ends_of_the_tail(failures, requests, share, wanted):
    assert tail(failures, requests, share) == wanted
