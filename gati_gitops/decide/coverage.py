"""Whether samples cover a time: none missing, none old, every scrape a success.

A series that is not there has at least four causes, and only one of them is that nothing happened.
So whoever counts asks first whether somebody was looking all the time.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import sub

from gati_gitops.decide.observation import Series

SLACK = 1.0
"""Seconds by which scrapes may be late."""


def uncovered(series: Series, since: float, at: float, scrape: float) -> str:
    """Why samples do not cover the time from ``since`` to ``at``; empty: they do."""
    times = series.times
    if not times or at - times[-1] > 2 * scrape:
        return f"its newest sample is {at - times[-1]:.0f} s old" if times else "it has no samples"
    first = bisect_left(times, since)
    if not first and times[0] - since > 2 * scrape + SLACK:
        return f"its samples begin {times[0] - since:.0f} s late"
    part = times[max(first - 1, 0) :]
    steps = list(map(sub, part[1:], part))
    if steps and min(steps) <= 0:
        return "its samples are out of order"
    if steps and max(steps) > 2 * scrape + SLACK:
        return f"{max(steps):.0f} s without a sample"
    found, wanted = len(times) - first, int((at - since) / scrape)
    return f"{found} samples where there should be {wanted}" if found < wanted - 1 else ""


def missed(series: Series, up: Series | None, scrape: float) -> str:
    """Why a counter may have moved though nobody showed it; empty: its target told it last time.

    All of one scrape has one time. Where a pair of servers scrapes, the two may come from either.
    """
    if up is None or not up.times or not series.times or up.values[-1] != 1.0:
        return ""
    late = up.times[-1] - series.times[-1]
    return "it was not there at the last scrape" if late > scrape - SLACK else ""


def unscraped(up: Series, since: float, at: float, scrape: float) -> str:
    """Why a target was not read all the time from ``since`` to ``at``; empty: it was."""
    values = up.values[bisect_left(up.times, since) :]
    failed = len(values) - values.count(1.0)
    if failed:
        return f"{failed} of {len(values)} scrapes failed"
    return uncovered(up, since, at, scrape)
