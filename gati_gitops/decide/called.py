"""Guards: somebody calls a version that is to go; or nothing here could ever tell.

Each says what it found, or nothing. They are called by the name of this module, so that a test can
take one away and see what happens then.
"""

from __future__ import annotations

from gati_gitops.decide.look import begin, edge_moved, highest, is_out, moved, told
from gati_gitops.decide.observation import EdgeSeries, Gap, Missing
from gati_gitops.decide.view import Sight, Unit

CALLS = (
    "requests_were_counted", "requests_are_open", "gateway_counted_requests",
    "gateway_has_open_requests",
)  # fmt: skip
"""Somebody calls: the time in which nobody does begins anew."""
NEVER = ("gateway_counts_nothing", "open_requests_are_unknown")
"""A person must decide."""


def requests_were_counted(unit: Unit, sight: Sight) -> str:
    """A counter of one of its pods moved, or was born."""
    if (said := told(sight)) is None:
        return ""
    since = begin(unit, said)
    for name, pod in said.pods.items():
        if any(moved(series, pod.up, since) for series in pod.requests):
            return f"{name} counted requests"
    return ""


def requests_are_open(unit: Unit, sight: Sight) -> str:
    """A pod has a request in progress, or had one."""
    if (said := told(sight)) is None:
        return ""
    since = begin(unit, said)
    for name, pod in said.pods.items():
        if pod.in_flight is not None and highest(pod.in_flight, since) > 0:
            return f"{name} has requests in progress"
    return ""


def gateway_counted_requests(unit: Unit, sight: Sight) -> str:
    """The gateway sent it a request, or tried to."""
    said = told(sight)
    if said is None or isinstance(said.edge, Missing):
        return ""
    called = edge_moved(said, said.edge, begin(unit, said))
    return "the gateway counted requests" if called else ""


def gateway_has_open_requests(unit: Unit, sight: Sight) -> str:
    said = told(sight)
    if said is None or isinstance(said.edge, Missing) or isinstance(said.edge.active, Missing):
        return ""
    since = begin(unit, said)
    if any(highest(series, since) > 0 for series in said.edge.active):
        return "the gateway has requests to it in progress"
    return ""


def gateway_counts_nothing(unit: Unit, sight: Sight) -> str:
    """Who names a version without pods is seen at the gateway or nowhere."""
    said = sight.telemetry
    edge = said if isinstance(said, Missing) else said.edge
    if isinstance(edge, EdgeSeries) or edge.gap is not Gap.UNSUPPORTED:
        return ""
    return edge.why


def open_requests_are_unknown(unit: Unit, sight: Sight) -> str:
    """Neither its pods nor the gateway tell how many requests are in progress."""
    said = told(sight)
    if said is None or isinstance(said.edge, Missing):
        return ""
    if any(pod.in_flight is not None for pod in said.pods.values()) and not is_out(sight):
        return ""
    active = said.edge.active
    if isinstance(active, Missing) and active.gap is not Gap.UNSUPPORTED:
        return ""  # told where gaps are
    return (
        f"requests in progress are not measured: {active.why}"
        if isinstance(active, Missing)
        else ""
    )
