"""What Kubernetes complains of, for people: why pods do not become ready.

Events are no evidence. They are lost when there are many, forgotten after an hour and written by
anybody; so nothing is decided by them, and a look without them is a whole one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypedDict

from gati_gitops.observe.cluster_lists import Part
from gati_gitops.observe.kube_shapes import Head
from gati_gitops.observe.live_workloads import moment
from gati_gitops.report.clean import safe

Workload = tuple[str, str]
"""Namespace and name of a Deployment."""


class _Shape(TypedDict, total=False):
    metadata: Head
    involvedObject: Any
    reason: Any
    message: Any
    lastTimestamp: Any
    eventTime: Any
    firstTimestamp: Any


_MOST = 3
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Warned:
    about: Workload
    words: str
    at: float


def warnings_of(lacking: Collection[Workload]) -> Part[Warned]:
    """Warnings about these Deployments, their ReplicaSets and their pods."""

    def pick(item: dict[str, Any]) -> Warned | None:
        about = item.get("involvedObject") or {}
        name = _deployment(str(about.get("kind", "")), str(about.get("name", "")))
        workload = (str(about.get("namespace", "")), name)
        if workload not in lacking:
            return None
        words = safe(" ".join(f"{item.get('reason', '')}: {item.get('message', '')}".split()))
        times = (item.get("lastTimestamp"), item.get("eventTime"), item.get("firstTimestamp"))
        at = next((moment(time) for time in times if time), 0.0)
        return Warned(workload, words[:_LONGEST], at)

    return Part("v1", "Event", pick, fields="type=Warning", shape=_Shape)


def latest(warnings: Iterable[Warned]) -> dict[Workload, tuple[str, ...]]:
    """The last few of each Deployment, the newest first; pods often complain of the same."""
    found: dict[Workload, dict[str, None]] = {}
    for one in sorted(warnings, key=lambda warned: (-warned.at, warned.words)):
        found.setdefault(one.about, {}).setdefault(one.words)
    return {about: tuple(words)[:_MOST] for about, words in found.items()}


def _deployment(kind: str, name: str) -> str:
    """The Deployment that an object belongs to, by how Kubernetes names those."""
    cut = {"Deployment": 0, "ReplicaSet": 1, "Pod": 2}.get(kind)
    if cut is None:
        return ""
    return name.rsplit("-", cut)[0] if cut else name
