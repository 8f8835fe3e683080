"""Where a resource came from and what changed it: `buildMetadata` of a kustomization.

kustomize writes both into annotations, as small YAML texts. The top of a build decides whether.
"""

from __future__ import annotations

from typing import Any, Final

from gati_gitops.render.errors import Broken
from gati_gitops.render.files import join
from gati_gitops.render.resource import ResMap, Resource
from gati_gitops.yamlio.goyaml_scalars import Quoted
from gati_gitops.yamlio.goyaml_write import write_lines

ORIGIN: Final = "config.kubernetes.io/origin"
TRANSFORMATIONS: Final = "alpha.config.kubernetes.io/transformations"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
# The kustomize whose answers these are.
VERSION: Final = "kustomize-v5.8.2"
OPTIONS: Final = ("originAnnotations", "transformerAnnotations", "managedByLabel")

Origin = dict[str, Any]


class Tracker:
    """Notes origins for one folder; without a path it notes nothing."""

    def __init__(self, path: str | None, file_name: str) -> None:
        self.path = path
        self._file_name = file_name

    def below(self, name: str) -> str | None:
        return None if self.path is None else join(self.path, name)

    def from_file(self, resources: list[Resource], name: str) -> None:
        if self.path is not None:
            for resource in resources:
                resource.origin = {"path": join(self.path, name)}

    def configured(self, kind: str) -> Origin:
        by = {"apiVersion": "builtin", "kind": kind}
        return {"configuredIn": join(self.path or "", self._file_name), "configuredBy": by}

    def generated(self, resources: list[Resource], kind: str) -> None:
        self._generated(resources, self.configured(kind))

    def generated_by(self, resources: list[Resource], plugin: Resource) -> None:
        self._generated(resources, _configured_by(plugin))

    def _generated(self, resources: list[Resource], origin: Origin | None) -> None:
        if self.path is not None:
            for resource in resources:
                resource.origin = resource.origin or origin

    def transformed(self, resources: ResMap, kind: str) -> None:
        if self.path is not None:
            self._transformed(resources, self.configured(kind))

    def transformed_by(self, resources: ResMap, plugin: Resource) -> None:
        if self.path is not None:
            self._transformed(resources, _configured_by(plugin))

    def _transformed(self, resources: ResMap, origin: Origin | None) -> None:
        if origin is None:
            return
        for resource in resources:
            if resource.origin is None:
                resource.origin = origin
            else:
                resource.transformations = [*resource.transformations, origin]


def _configured_by(plugin: Resource) -> Origin | None:
    if plugin.origin is None:
        return None
    by = {"apiVersion": plugin.api_version, "kind": plugin.kind}
    by |= {"name": plugin.name} if plugin.name else {}
    by |= {"namespace": plugin.namespace} if plugin.namespace else {}
    return {"configuredIn": plugin.origin.get("path", ""), "configuredBy": by}


def annotate(resource: Resource, options: list[str]) -> None:
    """Write down what was noted, as far as the kustomization asks for it."""
    metadata = resource.obj["metadata"]
    if "managedByLabel" in options:
        labels = metadata.get("labels") or {}
        if not isinstance(labels, dict):
            raise Broken("labels must be a mapping", file=resource.file)
        metadata["labels"] = {**labels, MANAGED_BY: VERSION}
    texts: dict[str, Any] = {}
    if "originAnnotations" in options and resource.origin is not None:
        texts[ORIGIN] = Quoted("\n".join([*write_lines(resource.origin), ""]))
    if "transformerAnnotations" in options and resource.transformations:
        texts[TRANSFORMATIONS] = Quoted("\n".join([*write_lines(resource.transformations), ""]))
    if texts:
        metadata["annotations"] = {**metadata.get("annotations", {}), **texts}
