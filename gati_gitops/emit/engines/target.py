"""What an engine must know of one cluster, from gati.yaml or from the record beside its objects.

The record lets a source that does not own the environment write the same files: it has units on the
cluster, but not the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from gati_gitops.emit.engines.roots import Root
from gati_gitops.errors import Place, Refused
from gati_gitops.plan.naming import MANAGER, UNIT_LABEL, shorten
from gati_gitops.plan.units import routing
from gati_gitops.spec.common import Model
from gati_gitops.spec.project import GatiProject
from gati_gitops.spec.sync import ClusterSync, Sync

RECORD = "sync.yaml"
FORMAT = 1


class _Record(Model):
    format: int
    root: str
    sync: Sync
    cluster: ClusterSync
    route_namespaces: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster and its engine."""

    project: str
    env: str
    cluster: str
    root: str
    sync: Sync
    here: ClusterSync
    route_namespaces: tuple[str, ...] = ()
    """Where routes live, or once lived, that do not live beside their Services."""

    def at(self, folder: str) -> str:
        """A folder of ours, as seen from the repository's root."""
        return folder if self.root == "." else f"{self.root}/{folder}"

    def labels(self, root: Root | None = None) -> dict[str, str]:
        """Labels to find things by; names may be cut, these are not."""
        labels = {
            "app.kubernetes.io/managed-by": MANAGER,
            "app.kubernetes.io/part-of": self.project,
            "gati.dev/cluster": self.cluster,
            "gati.dev/environment": self.env,
        }
        if root is not None and root.namespace:
            labels["gati.dev/namespace"] = root.namespace
        if root is not None and root.unit:
            labels[UNIT_LABEL] = shorten(root.unit)
        return labels

    def record(self) -> dict[str, Any]:
        """What another source needs to write the same."""
        record = _Record(
            format=FORMAT,
            root=self.root,
            sync=self.sync,
            cluster=self.here,
            route_namespaces=list(self.route_namespaces) or None,
        )
        return record.model_dump(by_alias=True, exclude_none=True, mode="json")


def target_of(
    project: GatiProject, env: str, cluster: str, before: Mapping[str, Any]
) -> Target | None:
    """As gati.yaml says; None where it names no repository. ``before`` is the record so far."""
    spec = project.spec
    if spec.sync is None:
        return None
    environment = spec.environments[env]
    here = environment.clusters[cluster].sync or ClusterSync()
    target = Target(project.metadata.name, env, cluster, spec.output.root, spec.sync, here)
    # What an engine may not touch it cannot prune either, and an old route wins over a new one.
    known = before.get("routeNamespaces")
    names = {name for name in known if isinstance(name, str)} if isinstance(known, list) else set()
    if (now := routing(environment, cluster).route_namespace) is not None:
        names.add(now)
    return replace(target, route_namespaces=tuple(sorted(names)))


def recorded_target(data: Mapping[str, Any], project: str, env: str, cluster: str) -> Target | None:
    """As the environment's owner said when it last wrote; None where it wrote nothing."""
    if not data:
        return None
    place = Place(f"clusters/{cluster}/{RECORD}")
    try:
        record = _Record.model_validate(data, by_alias=True, by_name=False)
    except ValidationError as error:
        raise Refused(
            f"{place.file} can't be read: {error.errors(include_url=False)[0]['msg']}",
            remedy="restore it from Git, or let the source that owns the environment write it",
            place=place,
        ) from error
    if record.format != FORMAT:
        raise Refused(
            f"{place.file} has the format {record.format}; this compiler knows {FORMAT}",
            remedy="use the compiler that wrote it, or a newer one",
            place=place,
        )
    namespaces = tuple(record.route_namespaces or ())
    return Target(project, env, cluster, record.root, record.sync, record.cluster, namespaces)
