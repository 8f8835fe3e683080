"""Who called a version by its name.

Once a version has no weight, whatever it counts was asked for by name, or by somebody who goes past
the gateway: either may come again next week. Two witnesses count, its pods and the gateway. Their
counters only grow, so what they stood at an hour ago tells what came since, even if nobody looked
in between. A witness that began anew cannot tell, and the other one must; if neither can, somebody
may have come. What was still open when the version lost its weight may end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum

from gati_gitops.decide import called
from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.counters import Uncountable, alike
from gati_gitops.decide.look import begin, told, total
from gati_gitops.decide.observation import EdgeSeries, Gap, Missing, Series, Telemetry
from gati_gitops.decide.view import Sight, Unit

UNKNOWN = -1.0


class Witness(Enum):
    """Why a witness gives no number."""

    LOST = "it began anew, and what it had seen is gone"
    BLIND = "it cannot be asked now, and can tell later"


def heard(unit: Unit, sight: Sight, clock: VersionClock) -> VersionClock:
    """The clock, with when somebody last named the version."""
    said = told(sight)
    if said is None or not clock.shown:
        return clock
    pods, edge = _in_pods(sight, said, clock), _at_the_edge(said, clock)
    if (not clock.marked or pods is Witness.LOST) and _is_called(unit, sight, said, clock):
        # what cannot be held against the last look can still be seen in this one
        return _marked(said, clock._replace(pinned=unit.now, owed=0.0), pods=True, edge=True)
    if not clock.marked:
        # from the first scrape on that shows nothing of the traffic it had before
        if said.window.at - said.window.scrape < _shown(unit, said, clock):
            return clock
        begun = clock._replace(owed=_open(said), left=clock.left or said.window.at)
        return _marked(said, begun, pods=True, edge=True)
    numbers = [one for one in (pods, edge) if isinstance(one, float)]
    if not numbers:
        if Witness.BLIND in (pods, edge):
            # what one has lost, the other one must tell when it can
            lost = clock._replace(pods_total=UNKNOWN) if pods is Witness.LOST else clock
            return lost._replace(edge_total=UNKNOWN) if edge is Witness.LOST else lost
        return _marked(said, clock._replace(pinned=unit.now, owed=0.0), pods=True, edge=True)
    came = max(numbers)
    if came > clock.owed:
        clock = clock._replace(pinned=unit.now, owed=0.0)
    else:
        # what is open no more without having been counted was cut off, and nobody owes it
        clock = clock._replace(owed=min(clock.owed - came, _open(said)))
    return _marked(said, clock, pods=pods is not Witness.BLIND, edge=edge is not Witness.BLIND)


def _is_called(unit: Unit, sight: Sight, said: Telemetry, clock: VersionClock) -> bool:
    """Whether this look alone shows a call, and all of it lies where every call is by name."""
    since = clock.left or _shown(unit, said, clock) + said.window.scrape
    if begin(unit, said) < since:
        return False
    seen = called.requests_were_counted(unit, sight), called.gateway_counted_requests(unit, sight)
    return any(seen)


def _shown(unit: Unit, said: Telemetry, clock: VersionClock) -> float:
    """Since when the cluster shows it without weight, by the metric source's clock."""
    return said.window.at - (unit.now - clock.shown)


def _marked(said: Telemetry, clock: VersionClock, *, pods: bool, edge: bool) -> VersionClock:
    """What the witnesses stand at now, of those that can be asked."""
    if pods:
        counted = sum(total(pod.requests) for pod in said.pods.values())
        known = math.isfinite(counted)
        clock = clock._replace(marked=said.window.at, pods_total=counted if known else UNKNOWN)
    if edge:
        counted = total(said.edge.requests) if isinstance(said.edge, EdgeSeries) else UNKNOWN
        known = math.isfinite(counted)
        clock = clock._replace(edge_total=counted if known else UNKNOWN)
    return clock


def _in_pods(sight: Sight, said: Telemetry, clock: VersionClock) -> float | Witness:
    workload = sight.workload
    if workload is None:
        return Witness.BLIND
    since = clock.marked - said.window.scrape
    began = any(p.terminating or max(p.created, p.restarted) > since for p in workload.pods)
    if began or clock.pods_total < 0:
        return Witness.LOST
    if said.pods.keys() < {pod.name for pod in workload.pods}:
        return Witness.BLIND
    series = [pod.requests for pod in said.pods.values()]
    return _since(series, clock.pods_total)


def _at_the_edge(said: Telemetry, clock: VersionClock) -> float | Witness:
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


def _open(said: Telemetry) -> float:
    """Requests in progress at the last scrape; what a pod said that is gone is not asked."""
    window, edge = said.window, said.edge
    gauges = [pod.in_flight for pod in said.pods.values() if pod.in_flight is not None]
    told = [_last(gauges, window.at - 2 * window.scrape)]
    if isinstance(edge, EdgeSeries) and not isinstance(edge.active, Missing):
        told.append(_last(edge.active, window.at - 2 * (edge.scrape or window.scrape)))
    return max((one for one in told if 0 < one < math.inf), default=0.0)


def _last(gauges: Iterable[Series], since: float) -> float:
    return sum(one.values[-1] for one in gauges if one.times and one.times[-1] >= since)
