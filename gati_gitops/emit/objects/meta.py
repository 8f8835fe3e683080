"""Metadata that every object of ours carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gati_gitops.plan.model import Release
from gati_gitops.plan.naming import version_labels
from gati_gitops.yamlio.emit import Shared

Object = dict[str, Any]


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
        {**release.annotations, **(annotations or {})},
    )
