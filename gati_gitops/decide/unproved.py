"""Guards: it cannot be seen whether somebody calls a version, so this look counts for nothing.

Each says what is missing, or nothing. They are called by the name of this module, so that a test
can take one away and see what happens then.
"""

from __future__ import annotations

from gati_gitops.decide import called
from gati_gitops.decide.counters import Uncountable, alike, checked
from gati_gitops.decide.coverage import missed, uncovered, unscraped
from gati_gitops.decide.look import (
    begin,
    edge_unread,
    has_counted,
    is_count,
    is_out,
    look_back,
    told,
)
from gati_gitops.decide.observation import Gap, Missing, PodSeries
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import some, span

GAPS = (
    "metrics_are_missing", "look_is_too_short", "cluster_look_is_old", "state_is_too_young",
    "pods_changed", "outage_is_too_young", "pods_are_unread", "counters_are_unread",
    "gauges_are_unread", "gateway_is_unread", "names_are_unproved", "gateway_names_are_unproved",
)  # fmt: skip


# -- the look as a whole -------------------------------------------------------------------------


def metrics_are_missing(unit: Unit, sight: Sight) -> str:
    return str(sight.telemetry) if isinstance(sight.telemetry, Missing) else ""


def look_is_too_short(unit: Unit, sight: Sight) -> str:
    said = told(sight)
    if said is None or said.window.span >= look_back(unit, said):
        return ""
    return f"samples go back {span(said.window.span)} of {span(look_back(unit, said))}"


def cluster_look_is_old(unit: Unit, sight: Sight) -> str:
    """Pods and metrics must be of the same moment."""
    said, age = told(sight), unit.judged - unit.live.at
    limit = 30.0 + 2 * (said.window.scrape if said is not None else 0.0)
    return f"the cluster was seen {span(age)} ago" if age > limit else ""


def state_is_too_young(unit: Unit, sight: Sight) -> str:
    """The cluster shows it as the ledger has it for as long as a look goes back."""
    said, shown = told(sight), sight.clock.shown
    if not shown:
        return "the cluster does not show it as the ledger has it"
    wanted = look_back(unit, said) if said is not None else unit.rules.grace
    stood = unit.now - shown
    return f"it stands so for {span(stood)} of {span(wanted)}" if stood < wanted else ""


# -- its pods ------------------------------------------------------------------------------------


def pods_changed(unit: Unit, sight: Sight) -> str:
    """A pod that came or went may have answered somebody whom nobody counted."""
    said, workload = told(sight), sight.workload
    if workload is None:
        return "the cluster does not have it"
    if is_out(sight):
        return ""
    if not workload.settled or workload.ready != workload.desired:
        return f"{workload.ready} of {some(workload.desired, 'pod')} are ready"
    if workload.endpoints and not workload.pods:
        return f"{some(workload.endpoints, 'address')} of it still there"
    if len(workload.pods) != workload.desired:
        return f"it has {some(len(workload.pods), 'pod')}, and should have {workload.desired}"
    since = begin(unit, said) if said is not None else unit.now
    for pod in workload.pods:
        if pod.terminating:
            return f"{pod.name} is on its way out"
        if (began := max(pod.created, pod.restarted)) > since:
            return f"{pod.name} began {span(unit.now - began)} ago"
    here = {pod.name for pod in workload.pods}
    for name, series in said.pods.items() if said is not None else ():
        if name not in here and series.up is not None and series.up.times[-1:] > (since,):
            return f"{name} was there until a moment ago"
    return ""


def outage_is_too_young(unit: Unit, sight: Sight) -> str:
    """What sleeps, or is broken for good, has taken no request for the grace."""
    if not is_out(sight):
        return ""
    out = unit.now - sight.clock.out if sight.clock.out else 0.0
    if out >= unit.rules.grace:
        return ""
    return f"nothing of it takes requests for {span(out)} of {span(unit.rules.grace)}"


def pods_are_unread(unit: Unit, sight: Sight) -> str:
    """Every pod that exists was read at every scrape."""
    said = told(sight)
    if said is None or sight.workload is None or is_out(sight):
        return ""
    since, window = begin(unit, said), said.window
    for pod in sight.workload.pods:
        up = said.pods.get(pod.name, PodSeries()).up
        if up is None:
            return f"{pod.name} is not scraped"
        if why := unscraped(up, since, window.at, window.scrape):
            return f"{pod.name}: {why}"
    return ""


def counters_are_unread(unit: Unit, sight: Sight) -> str:
    """Its counters are there at every scrape, and are numbers that counters can have."""
    if (said := told(sight)) is None or is_out(sight):
        return ""
    since, window = begin(unit, said), said.window
    try:
        for name, pod in said.pods.items():
            alike(pod.requests)
            for series in pod.requests:
                checked(series, series.values)
                begun = max(since, series.times[0])  # one that was born is a call
                if why := uncovered(series, begun, window.at, window.scrape) or missed(
                    series, pod.up, window.scrape
                ):
                    return f"{name}: a counter of it: {why}"
    except Uncountable as problem:
        return str(problem.missing)
    return ""


def gauges_are_unread(unit: Unit, sight: Sight) -> str:
    """Requests in progress are known of every pod, at every scrape, and make sense."""
    said = told(sight)
    if said is None or sight.workload is None or is_out(sight):
        return ""
    gauges = {name: pod.in_flight for name, pod in said.pods.items()}
    if not said.gauged and all(gauge is None for gauge in gauges.values()):
        return ""  # the gateway may know
    since, window = begin(unit, said), said.window
    for pod in sight.workload.pods:
        gauge = gauges.get(pod.name)
        if gauge is None:
            return f"{pod.name} does not tell its requests in progress"
        if why := uncovered(gauge, since, window.at, window.scrape):
            return f"{pod.name}: requests in progress: {why}"
        if not is_count(gauge):
            return f"{pod.name} tells a number of requests in progress that cannot be"
    return ""


# -- the gateway, and whether anybody counts at all ------------------------------------------------


def gateway_is_unread(unit: Unit, sight: Sight) -> str:
    """Every pod of the gateway was read at every scrape, and its counters make sense."""
    if (said := told(sight)) is None:
        return ""
    if isinstance(said.edge, Missing):
        return str(said.edge) if said.edge.gap is not Gap.UNSUPPORTED else ""
    active = said.edge.active
    by_pods = any(pod.in_flight is not None for pod in said.pods.values())
    if isinstance(active, Missing) and active.gap is not Gap.UNSUPPORTED and not by_pods:
        return f"requests in progress at the gateway: {active}"
    return edge_unread(said, said.edge, begin(unit, said))


def names_are_unproved(unit: Unit, sight: Sight) -> str:
    """What stands still must be known to move: a counter of its own, or of the Active version."""
    said = told(sight)
    if said is None or is_out(sight):
        return ""
    if any(has_counted(pod) for pod in said.pods.values()):
        return ""
    if _is_left_elsewhere(unit, sight):
        return ""
    active = unit.beside(sight)
    if active is None:
        return "its counters were never seen to count"
    if called.requests_were_counted(unit, active):
        return ""
    return f"no counter of it or of {active.id} was seen to move"


def gateway_names_are_unproved(unit: Unit, sight: Sight) -> str:
    """The same of the gateway's counters."""
    said = told(sight)
    if said is None or isinstance(said.edge, Missing) or _is_left_elsewhere(unit, sight):
        return ""
    if any(series.values and series.values[-1] > 0 for series in said.edge.requests):
        return ""
    active = unit.beside(sight)
    if active is None:
        return "the gateway was never seen to count its requests"
    if called.gateway_counted_requests(unit, active):
        return ""
    return f"the gateway counted nothing of it or of {active.id}"


def _is_left_elsewhere(unit: Unit, sight: Sight) -> bool:
    """A cluster without traffic proves no names; it follows those that have some."""
    return unit.around.standby and sight.entry.key in unit.around.left
