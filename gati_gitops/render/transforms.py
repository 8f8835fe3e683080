"""Labels, annotations, names, namespaces, replicas, images: a value set where field specs say."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from gati_gitops.render import config as configs
from gati_gitops.render.errors import Broken
from gati_gitops.render.fieldspec import FieldSpec, put_text, split_path, visit, walk
from gati_gitops.render.resource import ResMap, Resource, split_api_version
from gati_gitops.render.selectors import go_regex
from gati_gitops.yamlio.goyaml_patterns import Shape
from gati_gitops.yamlio.goyaml_scalars import (
    Cell,
    is_null,
    new_string,
    text_of,
    untagged_over,
    written_over,
)

_NEVER_RENAMED: Final = ("CustomResourceDefinition", "Namespace")
_TAG: Final = r"(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?"


def add_texts(resources: ResMap, texts: dict[str, str], specs: Iterable[FieldSpec]) -> None:
    """Add labels or annotations."""
    if not texts:
        return
    specs = [*specs]
    for resource in resources:
        fitting = [spec for spec in specs if spec.fits(resource)]
        for key in sorted(texts):
            _add_text(resource, key, texts[key], fitting)


def _add_text(resource: Resource, key: str, text: str, specs: list[FieldSpec]) -> None:
    fresh: list[dict[str, Any]] = []

    def put(parent: dict[str, Any], field: str) -> None:
        mapping = parent[field]
        if isinstance(mapping, dict) and key not in mapping:
            fresh.append(mapping)
        put_text(mapping, key, text)

    for spec in specs:
        visit(resource, spec, put, dict)
    if len(fresh) > 1:
        cell = Cell(new_string(text))
        for mapping in fresh:
            mapping[key] = cell


def set_namespace(
    resources: ResMap,
    namespace: str,
    specs: Iterable[FieldSpec],
    *,
    unset_only: bool = False,
    subjects: str = "defaultOnly",
) -> None:
    schema = resources.schema
    specs = [spec for spec in specs if spec.path != "metadata/namespace"]

    def put(parent: dict[str, Any], field: str) -> None:
        old = parent.get(field)
        if isinstance(old, (dict, list)) and old:
            raise Broken("namespace field specs must target scalar nodes", field=field)
        if unset_only and not is_null(old) and text_of(old):
            return
        parent[field] = new_string(namespace) if is_null(old) else written_over(old, namespace)

    for resource in resources:
        if not resource.obj:
            continue
        resource.remember(schema)
        if not schema.is_cluster_scoped(resource.api_version, resource.kind):
            put(resource.obj.setdefault("metadata", {}), "namespace")
        is_binding = resource.kind in ("RoleBinding", "ClusterRoleBinding")
        if is_binding:
            _set_subjects(resource, put, subjects)
        for spec in specs:
            if spec.path == "metadata/name" and resource.api_version != "v1":
                continue
            if is_binding and spec.path == "subjects/namespace":
                continue
            visit(resource, spec, put, str)
    resources.changed()
    if len(resources.index()) != len(resources):
        raise Broken("namespace transformation produces ID conflict", field="namespace")


def _set_subjects(resource: Resource, put: Any, mode: str) -> None:
    subjects = resource.obj.get("subjects")
    if is_null(subjects) or mode == "none":
        return
    if not isinstance(subjects, list):
        raise Broken("expected a list", field="subjects", file=resource.file)
    field, value = ("name", "default") if mode == "defaultOnly" else ("kind", "ServiceAccount")
    for subject in subjects:
        if is_null(subject):
            continue
        if not isinstance(subject, dict):
            raise Broken("expected a mapping", field="subjects", file=resource.file)
        if field in subject and text_of(subject[field]) == value:
            put(subject, "namespace")


def add_prefix(resources: ResMap, prefix: str, specs: list[FieldSpec]) -> None:
    _rename(resources, prefix, "", specs)


def add_suffix(resources: ResMap, suffix: str, specs: list[FieldSpec]) -> None:
    _rename(resources, "", suffix, specs)


def _rename(resources: ResMap, prefix: str, suffix: str, specs: list[FieldSpec]) -> None:
    def put(parent: dict[str, Any], field: str) -> None:
        old = parent[field]
        if isinstance(old, (dict, list)):
            raise Broken("expected a scalar", field=field)
        parent[field] = untagged_over(old, f"{prefix}{text_of(old)}{suffix}")

    for resource in resources:
        original = resource.original_id(resources.schema)
        group, version = split_api_version(original.api_version)
        if original.kind in _NEVER_RENAMED:
            continue
        if original.kind == "APIService" and group == "apiregistration.k8s.io":
            continue
        for spec in specs:
            if not spec.gvk.selects(group, version, original.kind):
                continue
            if spec.path == "metadata/name" and (prefix or suffix):
                (resource.prefixes if prefix else resource.suffixes).append(prefix or suffix)
                resource.remember(resources.schema)
            visit(resource, spec, put, str)
            resource.touch()
    resources.changed()


def set_replicas(resources: ResMap, name: str, count: int, specs: list[FieldSpec]) -> None:
    def put(parent: dict[str, Any], field: str) -> None:
        old = parent[field]
        if isinstance(old, (dict, list)):
            raise Broken("expected a number", field=field)
        parent[field] = written_over(old, count)

    found = False
    for spec in specs:
        for resource in resources:
            if not resource.obj:
                continue
            group, version = split_api_version(resource.api_version)
            ids = [(kind, old) for kind, old, _ in resource.previous]
            ids.append((resource.kind, resource.name))
            if any(old == name and spec.gvk.selects(group, version, kind) for kind, old in ids):
                found = True
                visit(resource, spec, put, str)
    if not found:
        raise Broken(
            f"resource with name {name} does not match a kind that has replicas",
            field="replicas",
            remedy="name a Deployment, StatefulSet, ReplicaSet or ReplicationController",
        )


# ----------------------------------------------------------------------------------------- images


def set_image(resources: ResMap, image: dict[str, str], specs: list[FieldSpec]) -> None:
    matches = _image_test(image.get("name", ""))
    if matches is None:
        return

    def changed(old: Any) -> Any:
        if is_null(old):
            return old
        if isinstance(old, (dict, list)):
            raise Broken("an image must be a string", field="images")
        text = text_of(old)
        return untagged_over(old, _new_image(text, image)) if matches(text) else old

    def put(parent: Any, field: Any) -> None:
        parent[field] = changed(parent[field])

    is_usual = specs is configs.default().images
    for resource in resources:
        if resource.kind == "CustomResourceDefinition":
            continue
        draft = resource.draft
        lines = None if draft is None or not is_usual else _image_lines(draft.shape)
        if draft is None or lines is None:
            _walk_containers(resource.obj, put)
            for spec in specs:
                visit(resource, spec, put, None)
        else:
            for line in lines:
                old = draft.value(line)
                new = changed(old)
                if new is not old:
                    draft.edits[line] = new


@lru_cache(maxsize=1024)
def _image_lines(shape: Shape) -> list[int] | None:
    """The lines of images in documents of a shape, as often as they would be visited."""
    found: list[Any] = []

    def note(parent: Any, field: Any) -> None:
        found.append(parent[field])

    try:
        _walk_containers(shape.tree, note)
        for spec in configs.default().images:
            walk(shape.tree, split_path(spec.path), 0, note, None, spec)
    except Broken:
        return None
    return found if all(type(line) is int for line in found) else None


@lru_cache(maxsize=4096)
def _image_test(name: str) -> Any:
    try:
        return go_regex(f"^{name}{_TAG}$", whole=False)
    except Broken:
        return None


def _walk_containers(top: Any, put: Any) -> None:
    nodes = [top]
    for node in nodes:  # which grows on the way
        if type(node) is list:
            nodes += [item for item in node if type(item) is dict or type(item) is list]
            continue
        for key in ("containers", "initContainers"):
            if type(node.get(key)) is list:
                _set_in_containers(node[key], put)
        nodes += [item for item in node.values() if type(item) is dict or type(item) is list]


def _set_in_containers(containers: list[Any], put: Any) -> None:
    for container in containers:
        if is_null(container):
            continue
        if not isinstance(container, dict):
            raise Broken("a container must be a mapping", field="images")
        if "image" in container:
            put(container, "image")


def _new_image(text: str, image: dict[str, str]) -> str:
    name, tag, digest = split_image(text)
    name = image.get("newName") or name
    new_tag, new_digest = image.get("newTag", ""), image.get("digest", "")
    if new_tag or new_digest:
        tag, digest = new_tag, new_digest
    elif image.get("tagSuffix"):
        tag, digest = tag + image["tagSuffix"], ""
    return name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def split_image(text: str) -> tuple[str, str, str]:
    """Name, tag and digest; a colon before the first slash belongs to the registry's port."""
    slash = max(text.find("/"), 0)
    at = text.find("@", slash)
    colon = text.find(":", slash)
    if at < 0 and colon < 0:
        return text, "", ""
    if at >= 0 and (at < colon or colon < 0):
        return text[:at], "", text[at + 1 :]
    if at >= 0:
        return text[:colon], text[colon + 1 : at], text[at + 1 :]
    return text[:colon], text[colon + 1 :], ""
