"""The traffic that a gateway counts against the weights that were declared.

Shares are proportions of a sample, so they are given with the interval in which the true share lies
for all that was seen; declared weights outside of it are drift. Only versions with weight are
compared: one without any is called by its name, and that is no drift. A version that is pinned and
has weight gets both, which no gateway tells apart; what is found here is a reason to look.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from gati_gitops.decide.counters import Uncountable, grown
from gati_gitops.decide.drift.model import Share, Split
from gati_gitops.decide.observation import EdgeSeries, Gap, Missing, Telemetry, Window
from gati_gitops.decide.stats import tail
from gati_gitops.ledger.stored import Stored, recovered

SURPRISE = 1e-6
"""What happens less often than this by chance is taken for drift: thousands of units are asked."""
FEWEST = 100
"""Requests below which nothing is said of a split."""
SLACK = 0.02
"""Gateways split in turns, each of their pods for itself: so much is no drift whatever its odds."""
_EXACT = 2000
"""Requests up to which the interval is exact; beyond it the normal one differs by nothing."""
_DEVIATIONS = 4.8916  # two-sided, for SURPRISE


def split_of(
    stored: Stored, seen: Mapping[str, Telemetry | Missing] | Missing, changed: float
) -> Split | Missing | None:
    """How the requests of a unit were split; None where one version has all of the weight.

    ``changed`` is when the route was last written, 0 if nobody knows: requests from before would be
    counted against the wrong weights.
    """
    ledger = stored.ledger or recovered(stored)
    names = {}
    for entry in ledger.entries:
        version = stored.plan.version(*entry.key)
        if entry.weight and version is not None:
            names[version.name] = entry
    if len(names) < 2 or stored.plan.route is None:
        return None
    if isinstance(seen, Missing):
        return seen
    if not changed:
        return Missing(Gap.NO_DATA, "nobody says since when the route has these weights")
    counted: dict[str, int] = {}
    window: Window | None = None
    for name in names:
        found = seen.get(name) or Missing(Gap.NO_DATA, f"nothing was asked of {name}")
        number = _requests(found, changed)
        if isinstance(number, Missing):
            return number
        counted[name], window = number
    total = sum(counted.values())
    assert window is not None
    if total < FEWEST:
        why = f"{total} requests say nothing of a split"
        return Missing(Gap.NO_DATA, why, window.source)
    shares = [
        Share(entry.id, entry.weight, counted[name], *interval(counted[name], total))
        for name, entry in names.items()
    ]
    return Split(tuple(shares), window.at - max(window.start, changed), window.source)


def interval(hits: int, total: int) -> tuple[float, float]:
    """Where the share lies of which so many hits are a sample, with room for taking turns."""
    low, high = _exact(hits, total) if total <= _EXACT else _wilson(hits, total)
    return max(0.0, min(low, hits / total - SLACK)), min(1.0, max(high, hits / total + SLACK))


def _exact(hits: int, total: int) -> tuple[float, float]:
    """Clopper and Pearson's interval."""
    return (
        _least(hits, total, SURPRISE / 2),
        1 - _least(total - hits, total, SURPRISE / 2),
    )


def _least(hits: int, total: int, surprise: float) -> float:
    low, high = 0.0, hits / total
    for _ in range(40 if hits else 0):
        middle = (low + high) / 2
        if tail(hits, total, middle) < surprise:
            low = middle
        else:
            high = middle
    return low


def _wilson(hits: int, total: int) -> tuple[float, float]:
    z2, share = _DEVIATIONS**2, hits / total
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    spread = math.sqrt(share * (1 - share) / total + z2 / (4 * total * total))
    half = _DEVIATIONS * spread / (1 + z2 / total)
    return middle - half, middle + half


# -- counting ------------------------------------------------------------------------------------


def _requests(seen: Telemetry | Missing, changed: float) -> tuple[int, Window] | Missing:
    if isinstance(seen, Missing):
        return seen
    if isinstance(seen.edge, Missing):
        return seen.edge
    window = seen.window
    since = max(window.start, changed)
    if window.at - since < 2 * window.scrape:
        return Missing(Gap.NO_DATA, "the weights have only just changed", window.source)
    number = _increase(seen.edge, since, window)
    return number if isinstance(number, Missing) else (number, window)


def _increase(edge: EdgeSeries, since: float, window: Window) -> int | Missing:
    """Requests since a moment. Whatever could hide some makes all of it unknown."""
    if not edge.up:
        return Missing(Gap.NO_DATA, "no gateway is scraped", window.source)
    for up in edge.up:
        values = [v for t, v in zip(up.times, up.values, strict=True) if t >= since]
        if not values or any(value != 1 for value in values):
            return Missing(Gap.PARTIAL, "a gateway was not scraped all of the time", window.source)
    total = 0.0
    for series in edge.requests:
        try:
            more, born = grown(series, since, window.at, stale=3 * window.scrape)
        except Uncountable as error:
            return replace(error.missing, source=window.source)
        # one that was born meanwhile began at nothing; at the edge of the window nobody knows
        total += more + (born if series.times[0] - since > window.scrape else 0.0)
    return round(total)


def written_at(times: Iterable[str]) -> float:
    """The last of the times that managed fields give, as seconds; 0 if there is none."""
    return max((datetime.fromisoformat(time).timestamp() for time in times if time), default=0.0)
