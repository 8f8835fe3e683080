"""From raw samples to requests that were counted, one stretch of time after the other.

Every pass counts what was scraped since the last one, so that no request counts twice and none is
made up. A stretch that was not covered, or in which a counter began again, counts for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gati_gitops.decide.clocks import Tally
from gati_gitops.decide.counters import (
    MIRRORED,
    Uncountable,
    alike,
    grown,
    label,
    target,
    was_read_before,
)
from gati_gitops.decide.coverage import uncovered, unscraped
from gati_gitops.decide.look import edge_scrape
from gati_gitops.decide.observation import (
    EdgeSeries,
    Gap,
    Missing,
    Pod,
    PodSeries,
    Series,
    Telemetry,
    Window,
    Workload,
)

FIRST_SCRAPE = 3
"""Scrape intervals until a new pod must have been read."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What was counted since the last look."""

    counted: Tally | Missing
    """Or why this time counts for nothing."""
    until: float
    """Up to when it is dealt with, counted or not."""
    torn: bool = False
    """There is a hole in it: what was added up before belongs to another time."""
    edge: tuple[int, int] = (0, 0)
    """Requests and failures that the gateway counted in it, where the pods cannot tell."""


def stretch(telemetry: Telemetry, workload: Workload | None, tally: Tally, bound: float) -> Stretch:
    """The requests of a version since ``tally``; ``bound`` is how fast one should be answered."""
    window, since = telemetry.window, tally.until
    if since < window.start:
        gone = Missing(Gap.PARTIAL, "the last look is longer ago than samples go back")
        return Stretch(gone, window.at, torn=True)
    pods = {pod.name: pod for pod in workload.pods} if workload is not None else {}
    try:
        until = _horizon(telemetry, pods, since)
    except Uncountable as problem:
        if problem.missing.gap is not Gap.PARTIAL:  # what is late may still come
            return Stretch(problem.missing, since, torn=problem.torn)
        alone = _edge_alone(telemetry, since, window.at)
        return Stretch(problem.missing, window.at, torn=problem.torn, edge=alone)
    if until <= since:
        return Stretch(Tally(since, since, sent_until=tally.sent_until), since)
    try:
        counted = _counted(telemetry, pods, since, until, bound)
    except Uncountable as problem:
        return Stretch(problem.missing, until, edge=_edge_alone(telemetry, since, until))
    return Stretch(_with_sent(counted, telemetry, tally), until)


def added(one: Tally, other: Tally) -> Tally:
    """Two stretches that follow one another."""
    return Tally(
        since=one.since,
        until=other.until,
        requests=one.requests + other.requests,
        born=one.born + other.born,
        failures=one.failures + other.failures,
        slow=one.slow + other.slow,
        timed=one.timed + other.timed,
        edge=one.edge + other.edge,
        edge_failures=one.edge_failures + other.edge_failures,
        sent=one.sent + other.sent,
        sent_failures=one.sent_failures + other.sent_failures,
        sent_until=other.sent_until,
    )


# -- who was looking -----------------------------------------------------------------------------


def _horizon(telemetry: Telemetry, pods: Mapping[str, Pod], since: float) -> float:
    """Up to when every pod and the gateway were read. Raises Uncountable."""
    window = telemetry.window
    horizon = window.at
    expected = [pod for pod in pods.values() if _is_expected(pod, window)]
    if not expected or not telemetry.pods:
        raise Uncountable(Gap.NO_DATA, "no pod of it is scraped")
    ups = {pod.name: telemetry.pods.get(pod.name, PodSeries()).up for pod in expected}
    newest = max((up.times[-1] for up in ups.values() if up is not None and up.times), default=0.0)
    alone = window.at - newest > 2 * window.scrape
    for pod in expected:
        begun = max(since, pod.created + FIRST_SCRAPE * window.scrape)
        horizon = min(horizon, _read(ups[pod.name], begun, window, pod.name, alone=alone))
    if isinstance(telemetry.edge, EdgeSeries):
        horizon = min(horizon, _edge_horizon(telemetry.edge, window, since))
    elif telemetry.edge.gap is not Gap.UNSUPPORTED:
        raise Uncountable(telemetry.edge.gap, f"the gateway: {telemetry.edge.why}")
    return horizon


def _edge_horizon(edge: EdgeSeries, window: Window, since: float) -> float:
    """The same for the pods of the gateway; who they are, only its series tell."""
    own = replace(window, scrape=edge.scrape) if edge.scrape else window
    newest = max((up.times[-1] for up in edge.up if up.times), default=0.0)
    if not newest:
        raise Uncountable(Gap.NO_DATA, "the gateway is not scraped")
    alone = window.at - newest > 2 * own.scrape
    horizon = window.at
    for up in edge.up:
        if up.times and (alone or up.times[-1] > since):  # else it was gone before
            begun = max(since, up.times[0])
            horizon = min(horizon, _read(up, begun, own, "the gateway", alone=alone))
    return horizon


def _is_expected(pod: Pod, window: Window) -> bool:
    old_enough = window.at - pod.created > FIRST_SCRAPE * window.scrape
    return pod.ready and not pod.terminating and old_enough


def _read(up: Series | None, since: float, window: Window, who: str, *, alone: bool) -> float:
    """When a target was last read. Raises Uncountable where it was not read all the time.

    ``alone``: no other one is read either, so that it may all come later.
    """
    if up is None or not up.times:
        raise Uncountable(Gap.PARTIAL, f"{who}: it is not scraped")
    if window.at - up.times[-1] > 2 * window.scrape:
        age = window.at - up.times[-1]
        kind = Gap.STALE if alone else Gap.PARTIAL
        raise Uncountable(kind, f"{who}: its newest sample is {age:.0f} s old")
    if why := unscraped(up, since, window.at, window.scrape):
        torn = bool(uncovered(up, since, window.at, window.scrape))
        raise Uncountable(Gap.PARTIAL, f"{who}: {why}", torn=torn)
    return up.times[-1]


# -- what they saw -------------------------------------------------------------------------------


def _counted(
    telemetry: Telemetry, pods: Mapping[str, Pod], since: float, until: float, bound: float
) -> Tally:
    stale = 2 * telemetry.window.scrape
    edge_stale = 2 * edge_scrape(telemetry)
    requests = born = failures = slow = timed = 0.0
    for name, said in telemetry.pods.items():
        gone = name not in pods or pods[name].terminating
        patience = telemetry.window.span if gone else stale
        alike(said.requests)
        is_new = not gone and pods[name].created > since
        for series in said.requests:
            if MIRRORED in series.labels:
                continue
            more, first = grown(series, since, until, stale=patience)
            if not (is_new or was_read_before(series, said.up)):
                first = 0.0
            requests += more + first
            born += first
            if label(series, "status_code").startswith("5"):
                failures += more + first
        fast, all_of_them = _timed(said, since, until, bound, patience, is_new)
        timed += all_of_them
        slow += all_of_them - fast
    edge, edge_failures = _at_the_edge(telemetry.edge, since, until, edge_stale)
    return Tally(
        since,
        until,
        requests=round(requests),
        born=round(born),
        failures=round(failures),
        slow=max(round(slow), 0),
        timed=round(timed),
        edge=round(edge),
        edge_failures=round(edge_failures),
    )


def _timed(
    said: PodSeries, since: float, until: float, bound: float, patience: float, is_new: bool
) -> tuple[float, float]:
    """Requests within the bound, and all whose duration is known."""
    series = [one for one in said.faster if MIRRORED not in one.labels]
    alike(series)
    chosen = chosen_bound(series, bound)
    if chosen is None:
        return 0.0, 0.0
    fast = everything = 0.0
    for one in series:
        le = _bound(one)
        if le not in (chosen, math.inf):
            continue
        more, first = grown(one, since, until, stale=patience)
        if is_new or was_read_before(one, said.up):
            more += first
        if le == chosen:
            fast += more
        else:
            everything += more
    return fast, everything


def chosen_bound(series: Iterable[Series], bound: float) -> float | None:
    """The smallest bound that is counted at or above what is asked for."""
    bounds = {_bound(one) for one in series}
    return min((b for b in bounds if bound <= b < math.inf), default=None)


def _bound(series: Series) -> float:
    try:
        return float(label(series, "le"))
    except ValueError:
        return math.nan


def _at_the_edge(
    edge: EdgeSeries | Missing, since: float, until: float, stale: float
) -> tuple[float, float]:
    """Requests that the gateway counted, and those that failed."""
    if isinstance(edge, Missing):
        return 0.0, 0.0
    alike(edge.requests)
    ups = {target(up): up for up in edge.up}
    requests = failures = 0.0
    for series in edge.requests:
        up = ups.get(target(series))
        gone = up is None or not up.times or up.times[-1] <= since
        more, first = grown(series, since, until, stale=1e9 if gone else stale)
        more += first if was_read_before(series, up) else 0.0
        requests += more
        if label(series, "code").startswith("5"):
            failures += more
    return requests, failures


def _edge_alone(telemetry: Telemetry, since: float, until: float) -> tuple[int, int]:
    """What the gateway counted while pods crashed or were not read; nothing if it was not read.

    Without it a version would be judged by those moments alone in which it ran.
    """
    edge, window = telemetry.edge, telemetry.window
    if isinstance(edge, Missing):
        return 0, 0
    try:
        _edge_horizon(edge, window, since)
        stale = 2 * (edge.scrape or window.scrape)
        requests, failures = _at_the_edge(edge, since, until, stale)
    except Uncountable:
        return 0, 0
    return round(requests), round(failures)


def _with_sent(counted: Tally, telemetry: Telemetry, tally: Tally) -> Tally:
    """With the requests of our own that nobody has counted yet."""
    new = [sent for sent in telemetry.sent if sent.at > tally.sent_until]
    failed = sum(1 for sent in new if not 0 < sent.status < 500)
    latest = max((sent.at for sent in new), default=tally.sent_until)
    return counted._replace(sent=len(new), sent_failures=failed, sent_until=latest)
