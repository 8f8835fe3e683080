"""Whether a version's scaler can do what its tier and its metrics ask of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gati_gitops.errors import Problem
from gati_gitops.plan import defaults
from gati_gitops.spec.link import LinkedUnit, LinkedVersion
from gati_gitops.spec.project import GatiProject
from gati_gitops.spec.workload import Autoscaling, RunningWorkload


def check_scalers(units: Sequence[LinkedUnit], project: GatiProject, env: str) -> Iterator[Problem]:
    """Scalers that a cluster would refuse, and such as would sleep for ever."""
    for unit in units:
        for version in unit.versions:
            workload = version.workload
            if workload is None or workload.autoscaling is None:
                continue
            if workload.autoscaling.type != "none":
                yield from _asleep(unit, version, workload, workload.autoscaling, env)
                yield from _unmeasured(unit, version, workload, project, env)


def _asleep(
    unit: LinkedUnit,
    version: LinkedVersion,
    workload: RunningWorkload,
    wanted: Autoscaling,
    env: str,
) -> Iterator[Problem]:
    """A tier takes a floor to 0 that the spec of the scaler itself would not have been allowed."""
    if version.tier != "cold" or defaults.scaling(workload, version.tier).min:
        return
    if wanted.type == "keda" and any(metric.wakes for metric in wanted.metrics):
        return
    why = (
        "its HPA cannot go to 0"
        if wanted.type == "hpa"
        else "at 0 pods nothing would ever wake it: its metrics come from the pods themselves"
    )
    doc = version.docs[-1]
    path = ("spec", "tier") if doc.model.kind == "GatiVersion" else ("spec", "timescape", "tier")
    yield Problem(
        "cold-scaler",
        f"version {version.id} of {unit.name} is cold in {env}, and {why}",
        doc.place(*path),
        ".".join(path),
        "use tier warm, set autoscaling.warmFloor, scale by keda and a metric of the gateway or a"
        " cron metric, or set autoscaling.type none: then it has no pods until its tier changes",
    )


def _unmeasured(
    unit: LinkedUnit,
    version: LinkedVersion,
    workload: RunningWorkload,
    project: GatiProject,
    env: str,
) -> Iterator[Problem]:
    """A share of what a pod asks for, where it asks for nothing."""
    resources = defaults.resources(workload, project.spec.defaults.resources)
    asked = {name for part in resources.values() for name in part}  # a limit is a request, too
    for metric in defaults.scaling(workload, version.tier).metrics:
        name = metric["type"]
        if name in ("cpu", "memory") and name not in asked:
            yield Problem(
                "metric-without-request",
                f"the scaler of version {version.id} of {unit.name} follows a share of the"
                f" requested {name} in {env}, and its pods request none: it would never move",
                version.docs[-1].place("spec", "resources"),
                "spec.resources",
                f"set resources.requests.{name}, or follow another metric",
            )
