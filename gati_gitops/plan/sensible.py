"""Whether the settings can do what they are for.

Each is within its bounds by itself. Here they are held against one another, after an environment's
were laid over the project's, and against what is known of the runtime's metrics. What can't work is
an error. What works and is unsafe is a warning: a laboratory may want it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gati_gitops.errors import Place, Problem, Severity
from gati_gitops.spec.common import seconds
from gati_gitops.spec.load import Specs

SLOWEST = 5000
"""Milliseconds: where the buckets of the runtime's histogram end."""
SAFE_PARK = "10m"
"""The least time in which somebody may notice that a parked version was needed."""
SLOW_SCRAPE = 60
"""Seconds: beyond that one scrape that fails is a gap in what Prometheus answers."""


@dataclass(frozen=True, slots=True)
class _Said:
    """Where the value that counts for an environment was written; nowhere: it is the default."""

    place: Place | None
    field: str
    here: str
    """`` in prod``, if that environment says it itself."""


def check_settings(specs: Specs) -> Iterator[Problem]:
    """Settings that can't work, or that nobody would want in production."""
    yield from _objectives(specs)
    yield from _scrapes(specs)
    for env in specs.project.spec.environments:
        yield from _latency(specs, env)
        yield from _steps(specs, env)
        yield from _parked(specs, env)
        yield from _drift(specs, env)


def _latency(specs: Specs, env: str) -> Iterator[Problem]:
    wanted = specs.project.spec.rollout_of(env).analysis.latency_milliseconds
    if wanted > SLOWEST:
        said = _said(specs, env, "rollout", "analysis", "latencyMilliseconds")
        yield Problem(
            "latency-unmeasurable",
            f"nobody can tell which requests took longer than {wanted} ms{said.here}: the"
            f" histogram of Gati's runtime ends at {SLOWEST}, so every rollout would be held",
            said.place or _whole(specs),
            said.field,
            f"write {SLOWEST} or less",
        )


def _steps(specs: Specs, env: str) -> Iterator[Problem]:
    analysis = specs.project.spec.rollout_of(env).analysis
    if seconds(analysis.max_step) >= seconds(analysis.step_for):
        return
    most = _said(specs, env, "rollout", "analysis", "maxStep")
    least = _said(specs, env, "rollout", "analysis", "stepFor")
    at, other = (most, least) if most.place else (least, most)
    name = "stepFor" if at is most else "maxStep"
    yield Problem(
        "step-impossible",
        f"a step lasts at least {analysis.step_for} (stepFor) and at most {analysis.max_step}"
        f" (maxStep){most.here or least.here}: no step can wait until it is over",
        at.place or _whole(specs),
        at.field,
        "raise maxStep, or lower stepFor",
        related=((other.place, f"{name} is here"),) if other.place else (),
    )


def _parked(specs: Specs, env: str) -> Iterator[Problem]:
    leaving = specs.project.spec.decommission_of(env)
    if not leaving.automatic or seconds(leaving.park_for) >= seconds(SAFE_PARK):
        return
    said = _said(specs, env, "decommission", "parkFor")
    yield Problem(
        "park-short",
        f"what was parked is removed after {leaving.park_for}{said.here}, which may be before"
        " anybody notices that it was still needed",
        said.place or _whole(specs),
        said.field,
        f"write {SAFE_PARK} or more; 24h is the default",
        Severity.WARNING,
    )


def _drift(specs: Specs, env: str) -> Iterator[Problem]:
    spec = specs.project.spec
    settings = spec.environments[env]
    without = [cluster for cluster in settings.clusters if spec.job_of(env, cluster) is None]
    if settings.drift == "report" or not without:
        return
    said = _said(specs, env, "drift")
    yield Problem(
        "drift-unanswered",
        f"drift in {env} is to be answered by {settings.drift}, and no job runs on"
        f" {', '.join(without)}: there nothing answers it by itself",
        said.place or _whole(specs),
        said.field,
        "add a section job, or run drift --fix by a schedule of your own",
        Severity.WARNING,
    )


def _scrapes(specs: Specs) -> Iterator[Problem]:
    monitoring = specs.project.spec.monitoring
    if monitoring is None or monitoring.interval_seconds <= SLOW_SCRAPE:
        return
    said = _said(specs, "", "monitoring", "intervalSeconds")
    yield Problem(
        "scrapes-rare",
        f"pods are scraped every {monitoring.interval_seconds} seconds: with one scrape that fails"
        " nothing is known of them for minutes, and whatever is decided waits for that",
        said.place or _whole(specs),
        said.field,
        f"write {SLOW_SCRAPE} or less; 15 is the default",
        Severity.WARNING,
    )


def _objectives(specs: Specs) -> Iterator[Problem]:
    """A percentile is never told above the last bound of its histogram."""
    monitoring = specs.project.spec.monitoring
    if monitoring is None or not monitoring.rules:
        return
    wanted = monitoring.objectives.latency_milliseconds
    if wanted >= SLOWEST:
        said = _said(specs, "", "monitoring", "objectives", "latencyMilliseconds")
        yield Problem(
            "latency-unmeasurable",
            f"the alert GatiLatencyHigh never fires for {wanted} ms: the histogram of Gati's"
            f" runtime ends at {SLOWEST}",
            said.place or _whole(specs),
            said.field,
            f"write less than {SLOWEST}",
            Severity.WARNING,
        )


def _said(specs: Specs, env: str, *path: str) -> _Said:
    """Whose word counts: the environment's, or else the project's."""
    doc = specs.project_doc
    of_env, of_all = ("spec", "environments", env, *path), ("spec", *path)
    for where in (of_env, of_all):
        if doc is not None and _is_there(doc.data, where):
            here = f" in {env}" if where is of_env else ""
            return _Said(doc.place(*where), ".".join(where), here)
    return _Said(None, ".".join(of_all), "")


def _is_there(data: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(data, dict) or name not in data:
            return False
        data = data[name]
    return True


def _whole(specs: Specs) -> Place:
    return specs.project_doc.place() if specs.project_doc else Place("")
