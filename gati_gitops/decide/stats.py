"""How much a count of failures proves.

Clopper and Pearson's bound: the smallest share of failures with which so many in so many requests
would still be no surprise. It is exact, so it holds for ten requests as for ten million.
"""

from __future__ import annotations

import math

SURPRISE = 0.05
"""One-sided: what happens less often than this is taken for proof."""


RARER = SURPRISE / 10
"""For one of many short times: somewhere among them there is always something unlikely."""


def proves_more(failures: int, requests: int, limit: float, surprise: float = SURPRISE) -> bool:
    """Whether so many failures prove that more than ``limit`` of all requests fail."""
    if requests <= 0 or failures <= 0 or failures <= limit * requests:
        return False
    return tail(failures, requests, limit) < surprise


def least(failures: int, requests: int) -> float:
    """The share of failures that is proved: the one-sided lower bound."""
    if requests <= 0 or failures <= 0:
        return 0.0
    low, high = 0.0, failures / requests
    for _ in range(30):  # to a billionth
        middle = (low + high) / 2
        if tail(failures, requests, middle) < SURPRISE:
            low = middle
        else:
            high = middle
    return low


def most(failures: int, requests: int) -> float:
    """The share of failures that is not excluded: the one-sided upper bound."""
    return 1.0 - least(requests - failures, requests)


def tail(least_many: int, requests: int, share: float) -> float:
    """How likely so many failures or more are, if ``share`` of all requests fail."""
    if least_many <= 0 or share >= 1:
        return 1.0
    if share <= 0 or least_many > requests:
        return 0.0
    if least_many <= share * requests:  # the shorter way is from the other end
        return 1.0 - _sum(requests - least_many + 1, requests, 1 - share)
    return _sum(least_many, requests, share)


def _sum(start: int, requests: int, share: float) -> float:
    """Binomial terms from ``start`` on, where they fall, until they add nothing."""
    if start > requests:
        return 0.0
    log = (
        math.lgamma(requests + 1)
        - math.lgamma(start + 1)
        - math.lgamma(requests - start + 1)
        + start * math.log(share)
        + (requests - start) * math.log1p(-share)
    )
    term = math.exp(log)
    total = term
    odds = share / (1 - share)
    for k in range(start, requests):
        term *= (requests - k) / (k + 1) * odds
        total += term
        if term < total * 1e-15:
            break
    return min(total, 1.0)
