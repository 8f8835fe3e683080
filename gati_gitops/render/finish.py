"""The end of a build: what stays behind, and how the rest leaves."""

from __future__ import annotations

from functools import lru_cache

from gati_gitops.render.errors import Broken
from gati_gitops.render.fieldspec import check_key
from gati_gitops.render.resource import ResMap, Resource
from gati_gitops.yamlio.goyaml_patterns import Draft, Shape

_LOCAL = "config.kubernetes.io/local-config"
_OWN_ANNOTATIONS = frozenset(
    (
        "internal.config.kubernetes.io/path",
        "internal.config.kubernetes.io/index",
        "internal.config.kubernetes.io/seqindent",
        "internal.config.kubernetes.io/id",
        "internal.config.kubernetes.io/annotations-migration-resource-id",
        "config.kubernetes.io/path",
        "config.kubernetes.io/index",
        "config.k8s.io/id",
        "config.kubernetes.io/origin",
        "alpha.config.kubernetes.io/transformations",
    )
)


def drop_local(resources: ResMap) -> None:
    """Leave out what is meant for kustomize alone."""
    kept = []
    for resource in resources:
        local = "false"
        if resource.draft is not None:
            annotations = resource.draft.shape.tree["metadata"].get("annotations", ())
            may_be_local = _LOCAL in annotations
        else:
            may_be_local = "annotations" in resource.obj.get("metadata", ())
        if may_be_local:
            local = resource.texts("annotations").get(_LOCAL, "false")
        if not resource.name or not resource.kind:
            raise Broken("missing metadata.name in object", file=resource.file)
        if local == "false":
            kept.append(resource)
    if len(kept) != len(resources):
        resources.items = kept
        resources.changed()


def finish(resource: Resource) -> None:
    """Annotations leave as strings; kustomize's own stay behind."""
    if resource.draft is not None and _is_finished(resource.draft):
        return
    metadata = resource.obj["metadata"]
    annotations = metadata.get("annotations")
    if annotations is None and "annotations" not in metadata:
        return
    texts = resource.texts("annotations")
    for name in _OWN_ANNOTATIONS:
        texts.pop(name, None)
    if texts:
        for key in texts:
            check_key(key)
        metadata["annotations"] = texts
    else:
        del metadata["annotations"]


def _is_finished(draft: Draft) -> bool:
    lines = _annotation_lines(draft.shape)
    return lines is not None and all(isinstance(draft.value(line), str) for line in lines)


@lru_cache(maxsize=1024)
def _annotation_lines(shape: Shape) -> list[int] | None:
    """The lines of annotations that may leave as they are; None when some may not."""
    metadata = shape.tree["metadata"]
    if "annotations" not in metadata:
        return []
    lines = [*metadata["annotations"].values()]
    if not lines or not _OWN_ANNOTATIONS.isdisjoint(metadata["annotations"]):
        return None
    return lines if all(type(line) is int for line in lines) else None
