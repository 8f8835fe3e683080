"""Who called a version by its name.

Once a version has no weight, whatever it counts was asked for by name, or by somebody who goes past
the gateway: either may come again next week. Two witnesses count, its pods and the gateway. Their
counters only grow, so what they stood at an hour ago tells what came since, even if nobody looked
in between. What was still open when it lost its weight may end.
"""

from __future__ import annotations

from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.look import told, total
from gati_gitops.decide.observation import EdgeSeries, Missing, Telemetry
from gati_gitops.decide.view import Sight, Unit

UNKNOWN = -1.0


def heard(unit: Unit, sight: Sight, clock: VersionClock) -> VersionClock:
    """The clock, with when somebody last named the version."""
    said = told(sight)
    if said is None or not clock.shown:
        return clock
    if not clock.marked:
        # from the first scrape on that shows nothing of the traffic it had before
        if said.window.at - said.window.scrape < clock.shown:
            return clock
        return _marked(said, clock._replace(owed=_open(said)))
    pods, edge = _grown_in_pods(sight, said, clock), _grown_at_the_edge(said, clock)
    if pods is None and edge is None:
        # neither witness can tell: somebody may have come
        return _marked(said, clock._replace(pinned=unit.now, owed=0.0))
    came = max(pods or 0.0, edge or 0.0)
    if came > clock.owed:
        return _marked(said, clock._replace(pinned=unit.now, owed=0.0))
    return _marked(said, clock._replace(owed=clock.owed - came))


def _marked(said: Telemetry, clock: VersionClock) -> VersionClock:
    edge = said.edge
    return clock._replace(
        marked=said.window.at,
        pods_total=sum(total(pod.requests) for pod in said.pods.values()),
        edge_total=total(edge.requests) if isinstance(edge, EdgeSeries) else UNKNOWN,
    )


def _grown_in_pods(sight: Sight, said: Telemetry, clock: VersionClock) -> float | None:
    """None: a pod came or went since, so its counters cannot be held against the last ones."""
    workload = sight.workload
    if workload is None or clock.pods_total < 0:
        return None
    since = clock.marked - said.window.scrape
    if any(pod.terminating or max(pod.created, pod.restarted) > since for pod in workload.pods):
        return None
    if said.pods.keys() < {pod.name for pod in workload.pods}:
        return None
    more = sum(total(pod.requests) for pod in said.pods.values()) - clock.pods_total
    return more if more >= 0 else None


def _grown_at_the_edge(said: Telemetry, clock: VersionClock) -> float | None:
    if isinstance(said.edge, Missing) or clock.edge_total < 0:
        return None
    more = total(said.edge.requests) - clock.edge_total
    return more if more >= 0 else None


def _open(said: Telemetry) -> float:
    """Requests in progress at the last scrape."""
    gauges = [pod.in_flight for pod in said.pods.values() if pod.in_flight is not None]
    by_pods = sum(gauge.values[-1] for gauge in gauges if gauge.values)
    edge = said.edge
    active = edge.active if isinstance(edge, EdgeSeries) else ()
    by_edge = 0.0 if isinstance(active, Missing) else total(active)
    return max(by_pods, by_edge, 0.0)
