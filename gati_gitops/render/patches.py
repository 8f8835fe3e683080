"""Patches: which resources a patch means, and what is put right after merging."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

from gati_gitops.render import jsonpatch
from gati_gitops.render.errors import Broken, RenderError, Unsupported
from gati_gitops.render.fieldspec import put_text
from gati_gitops.render.load import Loader, resources_from, wrapped
from gati_gitops.render.merge import contains_blank, strategic_merge
from gati_gitops.render.resource import Id, ResMap, Resource
from gati_gitops.render.selectors import Selector, find_one
from gati_gitops.yamlio.goyaml_read import GoYamlError, read_config
from gati_gitops.yamlio.goyaml_scalars import is_null


@dataclass(frozen=True, slots=True)
class Patch:
    """One entry of `patches`: merges or operations, for a target or for the objects they name."""

    merges: list[Resource]
    operations: list[jsonpatch.Operation]
    target: Selector | None
    source: str


def load_patch(loader: Loader, entry: dict[str, Any], file: str) -> Patch:
    text = entry.get("patch", "").strip()
    path = entry.get("path", "")
    if bool(text) == bool(path):
        raise Broken("must specify one of patch and path", file=file, field="patches")
    source = loader.path(path) if path else file
    text = loader.text(path) if path else text
    target = Selector(entry["target"]) if "target" in entry else None
    try:
        merges = resources_from(text, source)
    except Unsupported:
        raise
    except Broken as error:
        return Patch([], _operations(text, source, error), target, source)
    options = entry.get("options", {})
    for merge in merges:
        merge.name_change = options.get("allowNameChange", False)
        merge.kind_change = options.get("allowKindChange", False)
    return Patch(merges, [], target, source)


def _operations(text: str, source: str, why: RenderError) -> list[jsonpatch.Operation]:
    try:
        operations = load_operations(text, source)
    except Broken as error:
        raise Broken(
            f"unable to parse a strategic merge or JSON patch: {why.message}",
            file=source,
            field="patches",
        ) from error
    return operations


def load_operations(text: str, source: str) -> list[jsonpatch.Operation]:
    try:
        document = json.loads(text) if text.startswith("[") else read_config(text)
    except GoYamlError as error:
        raise wrapped(error, source) from error
    except ValueError as error:
        raise Broken(f"invalid JSON patch: {error}", file=source) from error
    if document is None:
        return []
    if not isinstance(document, list) or not all(isinstance(step, dict) for step in document):
        raise Broken("a JSON patch is a list of operations", file=source)
    return document


def apply_patches(resources: ResMap, patches: list[Patch]) -> None:
    by_id: dict[Id, list[Resource]] | None = None
    for patch in patches:
        try:
            if patch.merges and patch.target is None:
                by_id = by_id or resources.by_any_id()
                for merge in patch.merges:
                    name = merge.id(resources.schema)
                    target = find_one((r for r in by_id.get(name, ()) if r.obj), str(name))
                    merge_into(target, merge, resources)
                    if merge.name_change or merge.kind_change:
                        resources.changed()
                        by_id = resources.by_any_id()
            elif patch.merges:
                by_id = None
                _merge_selected(resources, patch)
            elif patch.operations:
                by_id = None
                _operate(resources, patch)
        except RenderError as error:
            error.at(patch.source)
            raise
        resources.drop_empty()


def _merge_selected(resources: ResMap, patch: Patch) -> None:
    assert patch.target is not None
    if len(patch.merges) > 1:
        raise Broken("several strategic merge patches in one entry may not have a target")
    merge_many(resources, patch.target.choose(resources), patch.merges[0])


def merge_many(resources: ResMap, targets: list[Resource], patch: Resource) -> None:
    for target in targets:
        single = Resource(copy.deepcopy(patch.obj), patch.file, blank=patch.blank)
        single.name_change, single.kind_change = patch.name_change, patch.kind_change
        _stringify(single, patch)
        single.obj["apiVersion"] = target.obj.get("apiVersion")
        merge_into(target, single, resources)
    resources.changed()
    resources.drop_empty()
    if len(resources.index()) != len(resources):
        raise Broken("the patch gives two resources the same id")


def _stringify(copied: Resource, patch: Resource) -> None:
    """Copying a patch goes by way of string maps: a null label becomes the text "null"."""
    metadata = copied.obj["metadata"]
    for field in ("labels", "annotations"):
        texts = patch.texts(field)
        metadata.pop(field, None)
        if texts:
            marks: dict[str, Any] = {}
            metadata[field] = marks
            for key in sorted(texts):
                put_text(marks, key, texts[key])
    if not patch.namespace:
        metadata.pop("namespace", None)


def merge_into(target: Resource, patch: Resource, resources: ResMap) -> None:
    """Merge one patch into one resource; name, kind and namespace stay unless the patch may."""
    metadata = target.obj.get("metadata") or {}
    name, namespace = metadata.get("name"), metadata.get("namespace")
    kind = target.obj.get("kind")
    if patch.name_change or patch.kind_change:
        target.remember(resources.schema)
    wiped = _wipes_annotations(patch)
    careful = target.blank and contains_blank(target.obj)
    merged = strategic_merge(target.obj, patch.obj, resources.schema, careful=careful)
    target.obj = merged or {}
    target.blank = target.blank or patch.blank
    if not target.obj:
        return
    if wiped:
        target.forget()
    if not patch.kind_change:
        target.obj["kind"] = kind
    metadata = target.obj.setdefault("metadata", {})
    if not patch.name_change:
        metadata["name"] = name
    if is_null(namespace) or namespace == "":
        metadata.pop("namespace", None)
    else:
        metadata["namespace"] = namespace


def _wipes_annotations(patch: Resource) -> bool:
    metadata = patch.obj.get("metadata")
    if not isinstance(metadata, dict) or "$patch" in metadata:
        return True
    annotations = metadata.get("annotations", ())
    return annotations is None or (isinstance(annotations, dict) and "$patch" in annotations)


def _operate(resources: ResMap, patch: Patch) -> None:
    if patch.target is None:
        raise Broken("must specify a target for a JSON patch", field="target")
    for resource in patch.target.choose(resources):
        resource.remember(resources.schema)
        operate(resource, patch.operations)
    resources.changed()


def operate(resource: Resource, operations: list[jsonpatch.Operation]) -> None:
    resource.obj = jsonpatch.apply(operations, resource.obj)
    resource.touch()


# ------------------------------------------------------------------------------ the old spellings


def load_strategic_merges(loader: Loader, entries: list[str], file: str) -> list[Resource]:
    """`patchesStrategicMerge`: each entry is a patch, or the name of a file of patches."""
    patches: list[Resource] = []
    for entry in entries:
        try:
            found = resources_from(entry, file)
        except Broken:
            found = loader.resources(entry)
        patches += found
    if not patches:
        raise Broken("patch appears to be empty", file=file, field="patchesStrategicMerge")
    return patches


def apply_strategic_merges(resources: ResMap, patches: list[Resource]) -> None:
    for patch in patches:
        name = patch.id(resources.schema)
        try:
            target = find_one(resources.by_any_id().get(name, ()), str(name))
            merge_many(resources, [target], patch)
        except RenderError as error:
            error.at(patch.file)
            raise


def load_json6902(loader: Loader, entry: dict[str, Any], file: str) -> Patch:
    """`patchesJson6902`: operations, in a file or in place, for a named target."""
    target = entry.get("target")
    if target is None or not target.get("name"):
        raise Broken("must specify the target name", file=file, field="patchesJson6902")
    path, text = entry.get("path", ""), entry.get("patch", "")
    if bool(path) == bool(text):
        raise Broken("must specify a file path or a patch", file=file, field="patchesJson6902")
    source = loader.path(path) if path else file
    operations = load_operations(loader.text(path) if path else text, source)
    if not operations:
        raise Broken("patch appears to be empty", file=source, field="patchesJson6902")
    return Patch([], operations, Selector(target), source)


def apply_json6902(resources: ResMap, patch: Patch) -> None:
    assert patch.target is not None
    for resource in patch.target.choose(resources):
        try:
            operate(resource, patch.operations)
        except RenderError as error:
            error.at(patch.source)
            raise
    resources.changed()
