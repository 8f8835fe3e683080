"""What the two witnesses of a version say of who called it: its pods, and the gateway.

Either is asked in two ways: by how much its counters grew in the samples of this look, one by one;
and by how much they stand higher, in sum, than when they were last written down.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.counters import Uncountable, alike, target
from gati_gitops.decide.coverage import SLACK
from gati_gitops.decide.look import edge_scrape, total
from gati_gitops.decide.observation import EdgeSeries, Gap, Missing, Series, Telemetry
from gati_gitops.decide.view import Sight

UNKNOWN = -1.0


class Witness(Enum):
    """Why a witness gives no number."""

    LOST = "it began anew, and what it had seen is gone"
    BLIND = "it cannot be asked now, and can tell later"


# -- what this look shows --------------------------------------------------------------------------


class Came(NamedTuple):
    """Requests that were counted in the time of a look."""

    number: float = 0.0
    last: float = 0.0
    """When the last of them was read, by the metric source's clock."""


def counted_by_pods(sight: Sight, said: Telemetry, since: float, excused: float) -> Came:
    """What pods counted after their first scrape from ``since`` on; those that are gone as well.

    ``excused``: up to when it is known, and means nothing.
    """
    workload = sight.workload
    here = workload.pods if workload is not None else ()
    began = {pod.name: max(pod.created, pod.restarted) for pod in here}
    again = {pod.name: pod.counts_since for pod in here}
    late = since + 2 * said.window.scrape + SLACK
    number = last = 0.0
    for name, pod in said.pods.items():
        new = began[name] > since if name in began else _appeared(pod.up, late)
        for series in pod.requests:
            came = _growth(series, pod.up, since, excused, new=new, again=again.get(name, 0.0))
            number, last = number + came.number, max(last, came.last)
    return Came(number, last)


def counted_by_edge(said: Telemetry, since: float, excused: float, *, anew: bool) -> Came:
    """What the gateway's pods counted after their first scrape from ``since`` on.

    ``anew``: they may be others than before, and whoever appears has counted from 0. Where what
    they stand at in sum is known from before, one that appears was only not read for a while.
    """
    edge = said.edge
    if isinstance(edge, Missing):
        return Came()
    late = since + 2 * edge_scrape(said) + SLACK
    ups = {target(up): up for up in edge.up}
    number = last = 0.0
    for series in edge.requests:
        up = ups.get(target(series))
        came = _growth(series, up, since, excused, new=anew and _appeared(up, late))
        number, last = number + came.number, max(last, came.last)
    return Came(number, last)


def _appeared(up: Series | None, late: float) -> bool:
    """Whether a target was not there before: whoever was has been read by then."""
    return up is not None and up.times[:1] > (late,)


NOBODY = Came()


def _growth(
    series: Series,
    up: Series | None,
    since: float,
    excused: float,
    *,
    new: bool,
    again: float = 0.0,
) -> Came:
    """By how much one counter grew; ``new``: its target began after ``since``, so it did at 0.

    ``again``: when its container began again. Where no counter fell after that, what is read then
    was counted since all the same: it stands where it stood before, or higher.
    """
    times, values = series.times, series.values
    first = max(bisect_left(times, since), bisect_right(times, excused) - 1)
    if first == len(times):
        return NOBODY
    part = values[first:] if first else values
    began_at_0 = not first and (new or _was_born(series, up, since))
    from_0 = _unseen_fall(times, values, first, again)
    if not (began_at_0 or from_0) and part[0] == part[-1] and max(part) == min(part):
        return NOBODY
    number = at = 0.0
    before = 0.0 if began_at_0 else math.nan
    for moment, value in zip(times[first:], part, strict=True):
        if not math.isfinite(value):
            continue
        if moment == from_0:
            before = 0.0
        if value > before:
            number, at = number + value - before, moment
        elif value < before and value:
            number, at = number + value, moment  # it began again, and has counted since
        before = value
    return Came(number, at)


def _unseen_fall(
    times: Sequence[float], values: Sequence[float], first: int, again: float
) -> float:
    """Which sample is the first of a container that began again, if no value shows that; 0: none.

    By the second in which it began: nodes tell no more, and a sample of that second may be older.
    """
    if not times[first] < again <= times[-1]:
        return 0.0
    place = bisect_left(times, again)
    part = values[place - 1 :]
    if any(later < before for before, later in pairwise(part)):
        return 0.0
    later = bisect_right(times, again + SLACK)
    return times[min(later, len(times) - 1)]


def _was_born(series: Series, up: Series | None, since: float) -> bool:
    """Whether its target was read well between ``since`` and the first sample of a counter."""
    if up is None:
        return False
    before = bisect_left(up.times, series.times[0]) - 1
    return before >= 0 and up.times[before] >= since and up.values[before] == 1.0


def unread_since(sight: Sight, said: Telemetry, since: float) -> bool:
    """Whether a pod or the gateway was not read soon after a time: what it had counted by then?"""
    scrape, edge = said.window.scrape, said.edge
    workload = sight.workload
    for pod in workload.pods if workload is not None else ():
        up = said.pods[pod.name].up if pod.name in said.pods else None
        if max(pod.created, pod.restarted) <= since and not _was_read(up, since, scrape):
            return True
    if isinstance(edge, Missing):
        return False
    scrape = edge_scrape(said)
    late = since + 2 * scrape + SLACK
    return not all(
        # one that is new counts from 0, and one that was gone before counts no more
        _appeared(up, late) or up.times[-1:] < (since,) or _was_read(up, since, scrape)
        for up in edge.up
    )


def _was_read(up: Series | None, since: float, scrape: float) -> bool:
    if up is None:
        return False
    first = bisect_left(up.times, since)
    return 1.0 in up.values[first : bisect_right(up.times, since + 2 * scrape + SLACK)]


def newest(said: Telemetry) -> float:
    """Up to when there are samples at all; 0: there are none."""
    edge = said.edge
    ups = [pod.up for pod in said.pods.values() if pod.up is not None]
    ups += edge.up if isinstance(edge, EdgeSeries) else ()
    return max((up.times[-1] for up in ups if up.times), default=0.0)


# -- since it was last written down ----------------------------------------------------------------


def pods_since(sight: Sight, said: Telemetry, clock: VersionClock) -> float | Witness:
    """By how much more its pods have counted than when that was last written down."""
    workload = sight.workload
    if workload is None:
        return Witness.BLIND
    since = clock.marked - said.window.scrape
    began = any(p.terminating or max(p.created, p.restarted) > since for p in workload.pods)
    if began or clock.pods_total < 0:
        return Witness.LOST
    if any(pod.name not in said.pods for pod in workload.pods):
        return Witness.BLIND
    return _since([pod.requests for pod in said.pods.values()], clock.pods_total)


def edge_since(said: Telemetry, clock: VersionClock) -> float | Witness:
    """The same of the gateway."""
    if isinstance(said.edge, Missing):
        return Witness.LOST if said.edge.gap is Gap.UNSUPPORTED else Witness.BLIND
    if clock.edge_total < 0:
        return Witness.LOST
    return _since([said.edge.requests], clock.edge_total)


def _since(groups: list[tuple[Series, ...]], before: float) -> float | Witness:
    """By how much counters have grown since they stood at ``before``, in sum."""
    try:
        for group in groups:
            alike(group)
    except Uncountable:
        return Witness.BLIND
    more = sum((total(group) for group in groups), -before)
    if not math.isfinite(more):
        return Witness.BLIND
    return more if more >= 0 else Witness.LOST


def pods_total(said: Telemetry) -> float:
    """What the counters of its pods stand at, in sum."""
    counted = sum(total(pod.requests) for pod in said.pods.values())
    return counted if math.isfinite(counted) else UNKNOWN


def edge_total(said: Telemetry) -> float:
    """What the gateway's stand at."""
    counted = total(said.edge.requests) if isinstance(said.edge, EdgeSeries) else UNKNOWN
    return counted if math.isfinite(counted) else UNKNOWN


# -- requests in progress --------------------------------------------------------------------------


def open_in_pods(said: Telemetry, since: float | None = None) -> float:
    """Requests in progress in its pods, at the last scrape or at the first one from a time on.

    What a pod said last that is gone is not asked.
    """
    window = said.window
    gauges = [pod.in_flight for pod in said.pods.values() if pod.in_flight is not None]
    return _at(gauges, since, window.at - 2 * window.scrape)


def open_in_edge(said: Telemetry, since: float | None = None) -> float:
    """The same of the gateway."""
    edge = said.edge
    if isinstance(edge, Missing) or isinstance(edge.active, Missing):
        return 0.0
    return _at(edge.active, since, said.window.at - 2 * edge_scrape(said))


def _at(gauges: Iterable[Series], since: float | None, fresh: float) -> float:
    found = 0.0
    for one in gauges:
        if since is None:
            found += one.values[-1] if one.times and one.times[-1] >= fresh else 0.0
        elif (first := bisect_left(one.times, since)) < len(one.times):
            found += one.values[first]
    return found if 0 < found < math.inf else 0.0
