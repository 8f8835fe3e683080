"""What a counter says: by how much it grew, and whether it stood still.

Values are read as they were scraped: nothing is extrapolated and no gap is filled. A counter that
falls has begun again, and what it counted before that is not known. One that is born while its
target was already being read has counted from 0: its first value is traffic.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from gati_gitops.decide.observation import Gap, Labels, Missing, Series

MIRRORED = ("mirrored", "true")
"""Label of requests that are copies: nobody waits for their answer."""


class Uncountable(Exception):
    """Samples from which nothing follows."""

    def __init__(self, gap: Gap, why: str, *, torn: bool = False) -> None:
        super().__init__(why)
        self.missing = Missing(gap, why)
        self.torn = torn
        """Nobody looked for a while, rather than once in vain."""


def grown(series: Series, since: float, until: float, *, stale: float) -> tuple[float, float]:
    """By how much a counter grew after ``since``, and what it had when it was born, if it was.

    Raises Uncountable. ``stale``: how old its newest sample may be.
    """
    times, values = series.times, series.values
    if not times or times[0] > times[-1]:
        raise Uncountable(Gap.NO_DATA, f"{named(series)} has no samples in order")
    first, last = bisect_right(times, since), bisect_right(times, until)
    part = values[max(first - 1, 0) : last]
    if not part:
        return 0.0, 0.0
    if until - times[last - 1] > stale:
        raise Uncountable(Gap.STALE, f"{named(series)} has gone")
    checked(series, part)
    return part[-1] - part[0], 0.0 if first else part[0]


def checked(series: Series, part: Sequence[float]) -> None:
    """Raises Uncountable where values are none that a counter can have."""
    if not part:
        raise Uncountable(Gap.NO_DATA, f"{named(series)} has no samples")
    total = sum(part)
    if not math.isfinite(total) or part[0] < 0:
        raise Uncountable(Gap.NOT_A_NUMBER, f"{named(series)} is no number that a counter can have")
    if part[-1] - part[0] and list(part) != sorted(part):
        raise Uncountable(Gap.PARTIAL, f"{named(series)} began again")
    if part[-1] == part[0] and max(part) != min(part):
        raise Uncountable(Gap.PARTIAL, f"{named(series)} began again")


def was_read_before(series: Series, up: Series | None) -> bool:
    """Whether its target was read well just before a counter appeared: then it was born."""
    if up is None or not series.times:
        return False
    before = bisect_left(up.times, series.times[0]) - 1
    return before >= 0 and up.values[before] == 1.0


def alike(series: Iterable[Series]) -> None:
    """Raises Uncountable where two series are one: which of them is right?"""
    seen: set[Labels] = set()
    for one in series:
        if one.labels in seen:
            raise Uncountable(Gap.AMBIGUOUS, f"{named(one)} is there twice")
        seen.add(one.labels)


def label(series: Series, name: str) -> str:
    for key, value in series.labels:
        if key == name:
            return value
    return ""


def target(series: Series) -> str:
    """Which target a series was read from."""
    return label(series, "instance") or label(series, "pod")


def named(series: Series) -> str:
    said = ", ".join(f"{key}={value}" for key, value in series.labels)
    return f"the series {{{said}}}"
