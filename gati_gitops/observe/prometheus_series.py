"""Several records of one thing made one, where that is certain; otherwise nobody can tell.

A pod that moved to another address ends one series and begins another: joined, they show what was
counted, the reset included. Servers of a pair see the same at slightly different times; of each
stretch between two scrapes one sample is kept, the largest, so that a gap of both stays a gap.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from gati_gitops.decide.observation import Labels, Series
from gati_gitops.observe.prometheus_answer import Raw

# What the scrape adds, and not the program that is scraped.
TARGET = frozenset(
    ("__name__", "container", "endpoint", "gati_unit", "gati_version", "instance", "job",
     "namespace", "node", "pod", "prometheus", "service")
)  # fmt: skip


class Overlap(Exception):
    """Several series of one thing at one time."""


def own_labels(raw: Raw, drop: frozenset[str]) -> Labels:
    """What the program itself says of a series."""
    return tuple(sorted([item for item in raw.labels.items() if item[0] not in drop]))


def finite(raw: Raw) -> bool:
    return math.isfinite(sum(raw.values)) or all(map(math.isfinite, raw.values))


def one(parts: Sequence[Raw], labels: Labels, replica: str, scrape: float) -> Series:
    """One series of several parts of it. Raises Overlap."""
    if len(parts) == 1:
        return Series(labels, parts[0].times, parts[0].values)
    by_replica: dict[str, list[Raw]] = {}
    for part in parts:
        by_replica.setdefault(part.labels.get(replica, "") if replica else "", []).append(part)
    joined = [_joined(group) for group in by_replica.values()]
    times, values = joined[0] if len(joined) == 1 else _paired(joined, scrape)
    return Series(labels, times, values)


def before(series: Series, until: float) -> Series:
    """What was read up to a time."""
    last = bisect_right(series.times, until)
    return replace(series, times=series.times[:last], values=series.values[:last])


def interval(series: Iterable[Series | Raw]) -> float:
    """Seconds that usually lie between two samples; 0 if too few are there to tell."""
    gaps = sorted(later - sooner for s in series for sooner, later in pairwise(s.times))
    return gaps[len(gaps) // 2] if len(gaps) >= 4 else 0.0


Samples = tuple[tuple[float, ...], tuple[float, ...]]


def _joined(parts: list[Raw]) -> Samples:
    parts = sorted(parts, key=lambda part: part.times[0])
    if any(sooner.times[-1] >= later.times[0] for sooner, later in pairwise(parts)):
        raise Overlap
    times = tuple(time for part in parts for time in part.times)
    return times, tuple(value for part in parts for value in part.values)


def _paired(replicas: list[Samples], scrape: float) -> Samples:
    kept: dict[int, tuple[float, float]] = {}
    for times, values in replicas:
        for time, value in zip(times, values, strict=True):
            stretch = int(time // scrape)
            if stretch not in kept or (value, time) > kept[stretch][::-1]:
                kept[stretch] = (time, value)
    pairs = [kept[stretch] for stretch in sorted(kept)]
    return tuple(time for time, _ in pairs), tuple(value for _, value in pairs)
