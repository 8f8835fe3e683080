"""Metadata that every object of ours carries."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from gati_gitops.plan.model import Release
from gati_gitops.plan.naming import version_labels
from gati_gitops.yamlio.emit import Shared

Object = dict[str, Any]

SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"


def named(
    api_version: str,
    kind: str,
    name: str,
    namespace: str,
    labels: dict[str, str],
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """The head of an object; the caller adds what the kind is about."""
    metadata: Object = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def release_labels(release: Release) -> Shared:
    """Labels of everything that belongs to one version, the team's own included."""
    return version_labels(release.unit, release.version, release.project, release.labels)


def of_release(
    release: Release,
    api_version: str,
    kind: str,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """The head of an object of one version."""
    return named(
        api_version,
        kind,
        release.name,
        release.unit.namespace,
        release_labels(release),
        {**release.annotations, **(annotations or {}), **_literal(release)},
    )


def _literal(release: Release) -> dict[str, str]:
    """Keeps ``${…}`` in values as it is, where a team lets Flux put variables into manifests."""
    workload = release.workload
    files = (volume.files.values() for volume in workload.volumes if volume.files)
    values = (value for _, value in release.env)
    for text in chain(values, workload.command, workload.args, *files):
        if "${" in text:
            return {SUBSTITUTE: "disabled"}
    return {}
