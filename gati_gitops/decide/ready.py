"""Whether a version can serve, and whether it can be seen that it never will."""

from __future__ import annotations

from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import some, span

CRASHES = frozenset(("CrashLoopBackOff", "RunContainerError", "StartError"))
"""What a container waits for when it does not stay up by itself."""


def unready(sight: Sight) -> str:
    """Why not all of its pods serve; empty: they do."""
    workload = sight.workload
    if workload is None:
        return "the cluster does not have it yet"
    if not workload.settled:
        return f"its pods are being replaced, {workload.ready} of {workload.desired} are ready"
    if workload.desired < 1:
        return "it has no pods"
    if workload.ready < workload.desired:
        waiting = next((pod.waiting for pod in workload.pods if pod.waiting), "")
        why = f" ({waiting})" if waiting else ""
        return f"{workload.ready} of {some(workload.desired, 'pod')} are ready{why}"
    if workload.ready_endpoints < 1:
        return "no address of it takes requests"
    return ""


def crashing(sight: Sight) -> str:
    """The pod that does not stay up, and how; empty: none."""
    for pod in sight.workload.pods if sight.workload is not None else ():
        if pod.waiting in CRASHES and not pod.terminating:
            return f"{pod.name} is in {pod.waiting}"
    return ""


def hopeless(unit: Unit, sight: Sight, clock: VersionClock) -> str:
    """Why a version will not become ready: a failure that needs no requests to be seen."""
    workload, rules = sight.workload, unit.rules
    if workload is None:
        return ""
    if clock.crashing and unit.now - clock.crashing >= rules.interval:
        return f"{crashing(sight)} for {span(unit.now - clock.crashing)}"
    lasts = bool(clock.unready) and unit.now - clock.unready >= rules.interval
    if workload.stalled and lasts and workload.ready < workload.desired:
        # the word may be an old one, of pods that a scaler has asked for since
        return f"its Deployment makes no progress: {workload.stalled}"
    if clock.unready and unit.now - clock.unready >= rules.progress_deadline:
        return f"{unready(sight)} after {span(unit.now - clock.unready)}"
    return ""
