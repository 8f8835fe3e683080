"""Deployments, pods and endpoints as the API server has them, cut down to what is judged.

Objects are read while their page is in hand and only the result is kept: a cluster has thousands
of pods, and each is several kilobytes. A pod counts until it is gone: one that cannot end, or whose
node is lost, may still be answering somebody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from gati_gitops.decide.drift.owners import ARGOCD, FLUX, Who, entries, is_engine
from gati_gitops.decide.observation import Pod, Workload
from gati_gitops.ledger.handover import HOLDER
from gati_gitops.observe.kube_shapes import Head
from gati_gitops.plan.naming import UNIT_LABEL, VERSION_LABEL

Object = dict[str, Any]
VersionKey = tuple[str, str, str]
"""Namespace, and the two labels that select the pods of a version."""

HOLD = "gati.dev/hold"
"""On a live object: why a person wants nothing of its unit to move."""
SERVICE_NAME = "kubernetes.io/service-name"
_BEGINNING = frozenset(("ContainerCreating", "PodInitializing"))
_OVER = frozenset(("Succeeded", "Failed"))
_OURS = frozenset(("handler", "module"))
"""Names of the container that we write; others were put beside it."""


# -- what is read of them ------------------------------------------------------------------------

_Number = TypedDict("_Number", {"f:replicas": Any}, total=False)
_Written = TypedDict("_Written", {"f:spec": _Number}, total=False)


class _Manager(TypedDict, total=False):
    manager: str
    operation: str
    time: str
    subresource: str
    fieldsV1: _Written


class _WrittenHead(Head, total=False):
    managedFields: list[_Manager] | None  # noqa: N815 - as Kubernetes has it


class _Container(TypedDict, total=False):
    image: str


class _Containers(TypedDict, total=False):
    containers: list[_Container]


class _Template(TypedDict, total=False):
    metadata: Head
    spec: _Containers


class _DeploymentSpec(TypedDict, total=False):
    replicas: Any
    paused: bool
    selector: Any
    template: _Template


class DeploymentShape(TypedDict, total=False):
    metadata: _WrittenHead
    spec: _DeploymentSpec
    status: Any


class PodShape(TypedDict, total=False):
    metadata: Head
    status: Any


class SliceShape(TypedDict, total=False):
    metadata: Head
    endpoints: Any


# -- what is kept of them ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LiveDeployment:
    """What is read of one Deployment."""

    namespace: str
    name: str
    key: VersionKey
    labels: Mapping[str, str]
    """Of its pods."""
    desired: int
    ready: int
    settled: bool
    stalled: str
    image: str
    owner: str
    """Who holds the number of pods, other than the sync engine."""
    held: str
    """Why a person wants nothing to move; empty if nobody does."""
    warning: str
    """What its controller complains of."""


@dataclass(frozen=True, slots=True)
class LivePod:
    key: VersionKey
    pod: Pod


@dataclass(frozen=True, slots=True)
class LiveSlice:
    """Addresses of one Service, or some of them."""

    service: tuple[str, str]
    endpoints: tuple[tuple[str, bool], ...]
    """Who is there, and whether it is ready."""


def moment(text: object) -> float:
    """Seconds of a time as Kubernetes writes it; 0 if there is none."""
    if not isinstance(text, str):
        return 0.0
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


def version_key(namespace: str, labels: Mapping[str, str]) -> VersionKey:
    return (namespace, labels.get(UNIT_LABEL, ""), labels.get(VERSION_LABEL, ""))


def held_by(item: Mapping[str, Any]) -> str:
    """Why a person holds an object, with the object's name; empty if nobody does."""
    head = item["metadata"]
    said = (head.get("annotations") or {}).get(HOLD)
    if said is None or said.strip().lower() == "false":
        return ""
    words = " ".join(said.split()) or "no reason given"
    return f"{item.get('kind', '')} {head.get('namespace', '')}/{head['name']}: {words}"


# -- Deployments ---------------------------------------------------------------------------------


def deployment(item: Object, engine: str) -> LiveDeployment:
    """What is judged of a Deployment. ``engine`` is who syncs it."""
    head, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    template = spec["template"]
    namespace = str(head.get("namespace", ""))
    desired = _number(spec.get("replicas"), 1)
    seen = _number(status.get("observedGeneration")) >= _number(head.get("generation"))
    updated = _number(status.get("updatedReplicas"))
    conditions = {c.get("type"): c for c in status.get("conditions") or ()}
    containers: list[Object] = template["spec"].get("containers") or [{}]
    paused = f"Deployment {namespace}/{head['name']} is paused" if spec.get("paused") else ""
    return LiveDeployment(
        namespace=namespace,
        name=str(head["name"]),
        key=version_key(namespace, spec["selector"].get("matchLabels") or {}),
        labels=template["metadata"].get("labels") or {},
        desired=desired,
        ready=_number(status.get("readyReplicas")),
        settled=seen and updated == desired == _number(status.get("replicas")),
        stalled=_stalled(conditions) if seen else "",
        image=str(containers[0].get("image", "")),
        owner=_replicas_owner(item, engine),
        held=held_by(item) or paused,
        warning=_complaint(conditions.get("ReplicaFailure"), "True"),
    )


def _stalled(conditions: Mapping[Any, Object]) -> str:
    progress = conditions.get("Progressing")
    if progress is None or progress.get("reason") != "ProgressDeadlineExceeded":
        return ""
    return _complaint(progress, "False")


def _complaint(condition: Object | None, bad: str) -> str:
    if condition is None or condition.get("status") != bad:
        return ""
    words = f"{condition.get('reason', '')}: {condition.get('message', '')}"
    return " ".join(words.split()).strip(": ")


def _replicas_owner(item: Object, engine: str) -> str:
    """Whoever wrote the number last, and is not the engine."""
    owners = [
        entry.who
        for entry in entries(item)
        if "f:replicas" in (entry.fields.get("f:spec") or {}) and not _is_git(entry.who, engine)
    ]
    return max(owners, key=lambda who: who.time).manager if owners else ""


def _is_git(who: Who, engine: str) -> bool:
    """Whether it wrote what Git says; without an engine that is all that was applied, but ours."""
    if who.manager == HOLDER:
        return False
    return who.manager in (ARGOCD, FLUX) or is_engine(who, engine)


def _number(value: object, default: int = 0) -> int:
    return value if isinstance(value, int) else default


# -- pods ----------------------------------------------------------------------------------------


def pod(item: Object) -> LivePod | None:
    """What is judged of a pod; None if all of its containers have ended for good."""
    head, status = item["metadata"], item.get("status") or {}
    if status.get("phase") in _OVER:
        return None
    conditions = {c.get("type"): c for c in status.get("conditions") or ()}
    containers = status.get("containerStatuses") or ()
    more = status.get("initContainerStatuses") or ()
    again = [c for c in containers if c.get("name") in _OURS and _number(c.get("restartCount"))]
    return LivePod(
        version_key(str(head.get("namespace", "")), head.get("labels") or {}),
        Pod(
            name=str(head["name"]),
            ready=conditions.get("Ready", {}).get("status") == "True",
            terminating="deletionTimestamp" in head,
            restarts=sum(_number(c.get("restartCount")) for c in containers),
            created=moment(head.get("creationTimestamp")),
            restarted=max((_began(c) for c in containers), default=0.0),
            waiting=_waiting((*more, *containers), conditions.get("PodScheduled")),
            counts_since=max(map(_began, again), default=0.0),
        ),
    )


def _began(container: Object) -> float:
    """When a container last began; one that has ended says when it ended."""
    state, last = container.get("state") or {}, container.get("lastState") or {}
    running = moment((state.get("running") or {}).get("startedAt"))
    ended = (moment((s.get("terminated") or {}).get("finishedAt")) for s in (state, last))
    return running or max(ended)


def _waiting(containers: Iterable[Object], scheduled: Object | None) -> str:
    for container in containers:
        reason = ((container.get("state") or {}).get("waiting") or {}).get("reason", "")
        if reason and reason not in _BEGINNING:
            return str(reason)
    if scheduled is not None and scheduled.get("status") == "False":
        return str(scheduled.get("reason", ""))
    return ""


# -- endpoints -----------------------------------------------------------------------------------


def endpoint_slice(item: Object) -> LiveSlice:
    """Who is reached by a Service. In clusters with two families of addresses, each pod once."""
    head = item["metadata"]
    labels = head.get("labels") or {}
    service = (str(head.get("namespace", "")), str(labels.get(SERVICE_NAME, "")))
    found: dict[str, bool] = {}
    for endpoint in item.get("endpoints") or ():
        conditions = endpoint.get("conditions") or {}
        ready = conditions.get("ready") is not False  # not said means ready
        serving = conditions.get("serving")
        if not (ready or serving or conditions.get("terminating")):
            continue
        target = endpoint.get("targetRef") or {}
        who = target.get("uid") or target.get("name") or next(iter(endpoint["addresses"]), "")
        found[str(who)] = ready or found.get(str(who), False)
    return LiveSlice(service, tuple(found.items()))


# -- all of it -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Workloads:
    """Everything that runs."""

    deployments: Mapping[tuple[str, str], LiveDeployment]
    pods: Mapping[VersionKey, tuple[Pod, ...]]
    endpoints: Mapping[tuple[str, str], Mapping[str, bool]]

    def of(
        self, key: VersionKey, name: str, warnings: tuple[str, ...] = (), release: str = ""
    ) -> Workload | None:
        """One version; None if nothing of it is there, not even a pod that is on its way out."""
        found, pods = self.deployments.get((key[0], name)), self.pods.get(key, ())
        endpoints = self.endpoints.get((key[0], name), {})
        if found is None and not pods and not endpoints:
            return None
        more = (found.warning,) if found is not None and found.warning else ()
        return Workload(
            desired=found.desired if found else 0,
            ready=found.ready if found else 0,
            settled=found is not None and found.settled,
            stalled=found.stalled if found else "",
            pods=pods,
            endpoints=len(endpoints),
            ready_endpoints=sum(endpoints.values()),
            release=release,
            image=found.image if found else "",
            replicas_owner=found.owner if found else "",
            warnings=(*more, *warnings),
        )


def workloads(
    deployments: Iterable[LiveDeployment], pods: Iterable[LivePod], slices: Iterable[LiveSlice]
) -> Workloads:
    by_pods: dict[VersionKey, list[Pod]] = {}
    for one in pods:
        by_pods.setdefault(one.key, []).append(one.pod)
    endpoints: dict[tuple[str, str], dict[str, bool]] = {}
    for part in slices:
        known = endpoints.setdefault(part.service, {})
        for who, ready in part.endpoints:
            known[who] = ready or known.get(who, False)
    return Workloads(
        {(one.namespace, one.name): one for one in deployments},
        {key: tuple(sorted(some, key=lambda p: p.name)) for key, some in by_pods.items()},
        endpoints,
    )
