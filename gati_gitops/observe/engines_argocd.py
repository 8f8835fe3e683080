"""Argo CD's Applications: do they follow our branch, may they sync, and have they?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gati_gitops.decide.observation import Engine, EngineState
from gati_gitops.emit.engines.roots import Root
from gati_gitops.emit.engines.target import Target
from gati_gitops.observe.engines_windows import closed_by
from gati_gitops.observe.kube import Kube

Object = dict[str, Any]
API = "argoproj.io/v1alpha1"
_SKIP = "argocd.argoproj.io/skip-reconcile"
_ERRORS = ("ComparisonError", "InvalidSpecError", "SyncError", "UnknownError", "DeletionError")


def argocd_states(
    kube: Kube, target: Target, roots: Iterable[Root], now: float
) -> Mapping[str, Engine]:
    """By name of Application. Raises KubeError."""
    namespace = target.sync.argocd.namespace
    labels = f"gati.dev/cluster={target.cluster},gati.dev/environment={target.env}"
    found = {
        str(item["metadata"]["name"]): item
        for item in kube.list(API, "Application", namespace, labels=labels)
    }
    windows: dict[str, list[Object]] = {}
    states = {}
    for root in roots:
        application = found.get(root.name)
        if application is None:
            continue
        project = str(application["spec"].get("project", "default"))
        if project not in windows:
            item = kube.get(API, "AppProject", project, namespace) or {}
            windows[project] = (item.get("spec") or {}).get("syncWindows") or []
        closed = closed_by(windows[project], application, now)
        states[root.name] = application_state(application, target, root, closed)
    return states


def application_state(item: Object, target: Target, root: Root, closed: str = "") -> Engine:
    """How one Application fares; ``closed`` is the window that keeps it from syncing."""
    status = item.get("status") or {}
    sync, operation = status.get("sync") or {}, status.get("operationState") or {}
    synced = sync.get("status") == "Synced"
    applied = str((operation.get("syncResult") or {}).get("revision") or "")
    # a commit that changes nothing of it is taken without an operation
    revision = str(sync.get("revision") or applied) if synced else applied
    stopped = _stopped(item, target, root) or closed
    if stopped:
        return Engine(EngineState.SUSPENDED, stopped, revision)
    phase, words = operation.get("phase"), _line(operation.get("message"))
    retries = operation.get("retryCount") or 0
    if phase == "Running" and not retries:
        return Engine(EngineState.BEHIND, "it is syncing", revision)
    failing = [_line(c.get("message")) for c in status.get("conditions") or () if _is_error(c)]
    if failing:
        return Engine(EngineState.STUCK, failing[0], revision)
    if phase == "Running":
        return Engine(EngineState.STUCK, f"it tries for the {retries + 1}. time: {words}", revision)
    if phase in ("Failed", "Error") and not synced:
        return Engine(EngineState.STUCK, f"its last sync ended as {phase}: {words}", revision)
    if synced:
        health = (status.get("health") or {}).get("status", "Healthy")
        return Engine(
            EngineState.SYNCED, "" if health == "Healthy" else f"health {health}", revision
        )
    if sync.get("status") == "OutOfSync":
        return Engine(EngineState.BEHIND, "OutOfSync", revision)
    return Engine(EngineState.STUCK, "it does not know whether it is in sync", revision)


def _stopped(item: Object, target: Target, root: Root) -> str:
    """What a person has done to it; empty if nobody has."""
    head, spec = item["metadata"], item["spec"]
    if "deletionTimestamp" in head:
        return "the Application is being deleted"
    if (head.get("annotations") or {}).get(_SKIP) == "true":
        return f"the Application has the annotation {_SKIP}"
    automated = (spec.get("syncPolicy") or {}).get("automated")
    if automated is None or automated.get("enabled") is False:
        return "automatic sync is switched off"
    source = spec.get("source") or {}
    wanted = {
        "repoURL": target.sync.repository,
        "targetRevision": target.sync.branch,
        "path": target.at(root.folder),
    }
    for field, value in wanted.items():
        if source.get(field) != value:
            return f"its {field} is {source.get(field)!r} and not {value!r}"
    return ""


def _is_error(condition: Object) -> bool:
    return condition.get("type") in _ERRORS


def _line(text: object) -> str:
    words = " ".join(str(text or "").split())
    return words if len(words) <= 300 else words[:299] + "…"
