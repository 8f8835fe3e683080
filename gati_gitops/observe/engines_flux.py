"""Flux's Kustomizations and their GitRepository: suspended, failing, or at the last commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gati_gitops.decide.observation import Engine, EngineState
from gati_gitops.emit.engines.roots import Root
from gati_gitops.emit.engines.target import Target
from gati_gitops.observe.kube import Kube

Object = dict[str, Any]
API = "kustomize.toolkit.fluxcd.io/v1"
SOURCE_API = "source.toolkit.fluxcd.io/v1"


def flux_states(
    kube: Kube, target: Target, roots: Iterable[Root], now: float
) -> Mapping[str, Engine]:
    """By name of Kustomization. Raises KubeError."""
    namespace = target.sync.flux.namespace
    labels = f"gati.dev/cluster={target.cluster},gati.dev/environment={target.env}"
    found = {
        str(item["metadata"]["name"]): item
        for item in kube.list(API, "Kustomization", namespace, labels=labels)
    }
    sources = {
        str(item["metadata"]["name"]): item
        for item in kube.list(SOURCE_API, "GitRepository", namespace, labels=labels)
    }
    return {
        root.name: kustomization_state(found[root.name], sources, target, root)
        for root in roots
        if root.name in found
    }


def kustomization_state(
    item: Object, sources: Mapping[str, Object], target: Target, root: Root
) -> Engine:
    """How one Kustomization fares."""
    head, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    revision = commit(str(status.get("lastAppliedRevision") or ""))
    name = str((spec.get("sourceRef") or {}).get("name", ""))
    source = sources.get(name)
    stopped = _stopped(item, source, target, root)
    if stopped:
        return Engine(EngineState.SUSPENDED, stopped, revision)
    if source is None:
        return Engine(EngineState.STUCK, f"there is no GitRepository {name}", revision)
    for what, part in (("", item), (f"GitRepository {name}: ", source)):
        failing = _failing(part)
        if failing:
            return Engine(EngineState.STUCK, what + failing, revision)
    if status.get("observedGeneration") != head.get("generation") or not _ready(item):
        return Engine(EngineState.BEHIND, "it is reconciling", revision)
    newest = commit(str(((source.get("status") or {}).get("artifact") or {}).get("revision") or ""))
    if not revision or revision != newest:
        return Engine(
            EngineState.BEHIND, f"it has not got to {newest[:12] or 'a commit'}", revision
        )
    return Engine(EngineState.SYNCED, "", revision)


def commit(revision: str) -> str:
    """The commit in ``main@sha1:abc``, or in ``main/abc`` as it once was."""
    return revision.rpartition(":")[2] if ":" in revision else revision.rpartition("/")[2]


def _stopped(item: Object, source: Object | None, target: Target, root: Root) -> str:
    """What a person has done to it; empty if nobody has."""
    head, spec = item["metadata"], item["spec"]
    if "deletionTimestamp" in head:
        return "the Kustomization is being deleted"
    if spec.get("suspend"):
        return "the Kustomization is suspended"
    path = str(spec.get("path", "")).removeprefix("./")
    if path != target.at(root.folder):
        return f"its path is {path!r} and not {target.at(root.folder)!r}"
    if source is None:
        return ""
    if source["spec"].get("suspend"):
        return "the GitRepository is suspended"
    reads = source["spec"]
    if reads.get("url") != target.sync.repository:
        return f"its repository is {reads.get('url')!r} and not {target.sync.repository!r}"
    ref = reads.get("ref") or {}
    if ref != {"branch": target.sync.branch}:
        return f"it follows {ref!r} and not the branch {target.sync.branch}"
    return ""


def _condition(item: Object, name: str) -> Object:
    conditions = (item.get("status") or {}).get("conditions") or ()
    return next((c for c in conditions if c.get("type") == name), {})


def _ready(item: Object) -> bool:
    return _condition(item, "Ready").get("status") == "True"


def _failing(item: Object) -> str:
    for name, bad in (("Stalled", "True"), ("Ready", "False")):
        condition = _condition(item, name)
        if condition.get("status") == bad:
            words = " ".join(f"{condition.get('reason')}: {condition.get('message', '')}".split())
            return words if len(words) <= 300 else words[:299] + "…"
    return ""
