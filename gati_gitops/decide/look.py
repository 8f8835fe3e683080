"""How far back a look at a version that leaves must see, and what its samples say of that time."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right

from gati_gitops.decide.counters import Uncountable, alike, checked, target, was_read_before
from gati_gitops.decide.coverage import SLACK, missed, uncovered, unscraped
from gati_gitops.decide.observation import EdgeSeries, Missing, PodSeries, Series, Telemetry
from gati_gitops.decide.view import Sight, Unit


def look_back(unit: Unit, said: Telemetry) -> float:
    """The grace, and what scrapes may be late."""
    return unit.rules.grace + 4 * max(said.window.scrape, edge_scrape(said))


def edge_scrape(said: Telemetry) -> float:
    """Seconds between two scrapes of the gateway."""
    edge = said.edge
    own = edge.scrape if isinstance(edge, EdgeSeries) else 0.0
    return own or said.window.scrape


def told(sight: Sight) -> Telemetry | None:
    return None if isinstance(sight.telemetry, Missing) else sight.telemetry


def begin(unit: Unit, said: Telemetry) -> float:
    return said.window.at - look_back(unit, said)


def is_asleep(sight: Sight) -> bool:
    """Nothing of it runs, and nobody has parked it: its scaler let it sleep."""
    workload = sight.workload
    return workload is not None and not (workload.desired or workload.pods or workload.endpoints)


def is_out(sight: Sight) -> bool:
    """Nothing of it takes requests: it sleeps, or was judged bad and none of its pods is ready."""
    workload = sight.workload
    if workload is None or workload.ready or workload.ready_endpoints or workload.endpoints:
        return False
    return sight.entry.barred or is_asleep(sight)


# -- counters and gauges -------------------------------------------------------------------------


def moved(series: Series, up: Series | None, since: float) -> bool:
    """Whether a counter grew after ``since``, or was born then."""
    times, values = series.times, series.values
    first = bisect_right(times, since)
    if first == len(times) or not math.isfinite(values[-1]):
        return False
    before = values[max(first - 1, 0)]
    if values[-1] < before:
        return values[-1] > 0  # it began again, and has counted since
    return values[-1] > before or (not first and was_read_before(series, up))


def highest(series: Series, since: float) -> float:
    """The most that a gauge showed."""
    return max(series.values[bisect_left(series.times, since) :], default=0.0)


def has_counted(said: PodSeries) -> bool:
    """Whether a pod is known to count: it has, and its counter is there."""
    return any(series.values and series.values[-1] > 0 for series in said.requests)


def total(series: tuple[Series, ...]) -> float:
    """What counters stand at, in sum."""
    return sum((one.values[-1] for one in series if one.values), 0.0)


# -- the gateway ---------------------------------------------------------------------------------


def edge_moved(said: Telemetry, edge: EdgeSeries, since: float) -> bool:
    """Whether the gateway counted a request after ``since``, by whichever of its pods."""
    late = since + 2 * edge_scrape(said) + SLACK
    ups = {target(up): up for up in edge.up}
    for series in edge.requests:
        up = ups.get(target(series))
        if moved(series, up, since) or _came_with_its_pod(series, up, late):
            return True
    return False


def _came_with_its_pod(series: Series, up: Series | None, late: float) -> bool:
    """A gateway's pod that began in this time has counted from 0.

    ``late``: who was there before has been read by then.
    """
    if up is None or not up.times or not series.times or not series.values[-1]:
        return False
    return up.times[0] > late and series.times[0] >= up.times[0]


def edge_unread(said: Telemetry, edge: EdgeSeries, since: float) -> str:
    """Why the gateway's counters do not cover a time; empty: they do."""
    at, scrape = said.window.at, edge_scrape(said)
    if not edge.up:
        return "the gateway is not scraped"
    for up in edge.up:
        if why := unscraped(up, since, at, scrape):
            return f"the gateway: {why}"
    active = () if isinstance(edge.active, Missing) else edge.active
    ups = {target(up): up for up in edge.up}
    gauged = {target(series) for series in active}
    by_pods = any(pod.in_flight is not None for pod in said.pods.values())
    try:
        alike(edge.requests)
        for series in edge.requests:
            checked(series, series.values)
            begun = max(since, series.times[0])
            if why := uncovered(series, begun, at, scrape) or missed(
                series, ups.get(target(series)), scrape
            ):
                return f"a counter of the gateway: {why}"
            if gauged and not by_pods and target(series) not in gauged:
                return f"{target(series)} of the gateway does not tell its open requests"
    except Uncountable as problem:
        return f"the gateway: {problem.missing}"
    for series in active:
        if why := uncovered(series, since, at, scrape):
            return f"open requests at the gateway: {why}"
        if not is_count(series):
            return "the gateway tells a number of open requests that cannot be"
    return ""


def is_count(series: Series) -> bool:
    """Whether all values could be a number of something."""
    return bool(series.values) and min(series.values) >= 0 and sum(series.values) < float("inf")
