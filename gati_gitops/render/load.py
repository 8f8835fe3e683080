"""Reading files of a build: where a kustomization may look, and what a file holds."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from gati_gitops.render.errors import Broken, RenderError, Unsupported
from gati_gitops.render.files import FileSystem, is_within, join
from gati_gitops.render.openapi import Schema
from gati_gitops.render.resource import Resource
from gati_gitops.yamlio.goyaml_fast import read_drafts
from gati_gitops.yamlio.goyaml_patterns import Draft, Shape
from gati_gitops.yamlio.goyaml_read import (
    GoYamlError,
    decode,
    from_json,
    read_config,
    read_resources,
)
from gati_gitops.yamlio.goyaml_scalars import is_null, plain, text_of

_REMOTE: Final = re.compile(
    r"(?:git::)?(?:(?:https?|ssh|git|file)://|[\w.-]+@[\w.-]+[:/]|github\.com[:/])", re.IGNORECASE
)
_SIMPLE: Final = re.compile(r"[\w-][\w.-]*(?:/[\w-][\w.-]*)*\Z")
_INTERNAL: Final = "internal.config.kubernetes.io/"
# Annotations of that name in a file would be taken for kustomize's own memory.
_MEMORY: Final = frozenset(
    _INTERNAL + name
    for name in (
        "previousKinds", "previousNames", "previousNamespaces", "prefixes", "suffixes", "refBy",
        "generatorBehavior", "needsHashSuffix", "allowNameChange", "allowKindChange",
        "helm-generated",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loader:
    """Reads for one kustomization: files at or below its root, folders anywhere but above."""

    files: FileSystem
    root: str
    schema: Schema
    parent: Loader | None = None

    def path(self, name: str) -> str:
        if _SIMPLE.match(name):
            return f"{self.root}/{name}" if self.root else name
        return join(self.root, name)

    def read(self, name: str) -> bytes:
        """A file, by the name that the kustomization gives it."""
        data = self.find(name)
        if data is None:
            raise Broken("no such file", file=self.path(name), field=name)
        return data

    def find(self, name: str) -> bytes | None:
        """The same, or None when there is no such file."""
        if is_remote(name):
            raise Unsupported("remote files are not supported", field=name)
        if name.startswith("/"):
            raise Unsupported("absolute paths are not supported", field=name)
        path = self.path(name)
        data = self.files.read(path) if name else None
        if data is None:
            return None
        if not is_within(self.files.real(path), self.root):
            raise Broken(
                f"security; file '{name}' is not in or below '{self.root}'",
                file=path,
                remedy="move the file, or make its folder a base of its own",
            )
        return data

    def text(self, name: str) -> str:
        return self._decoded(self.read(name), self.path(name))

    def _decoded(self, data: bytes, path: str) -> str:
        try:
            return decode(data)
        except GoYamlError as error:
            raise wrapped(error, path) from error

    def config(self, name: str) -> Any:
        """A YAML or JSON file that is not a resource."""
        try:
            return read_config(self.text(name))
        except GoYamlError as error:
            raise wrapped(error, self.path(name)) from error

    def resources(self, name: str) -> list[Resource]:
        return resources_from(self.text(name), self.path(name))

    def find_resources(self, name: str) -> list[Resource] | None:
        data = self.find(name)
        if data is None:
            return None
        path = self.path(name)
        return resources_from(self._decoded(data, path), path)

    def enter(self, name: str) -> Loader:
        """The loader of a folder that the kustomization names."""
        if not name:
            raise Broken("new root cannot be empty")
        if is_remote(name):
            raise Unsupported("remote bases are not supported", field=name)
        if name.startswith("/"):
            raise Broken(f"new root '{name}' cannot be absolute", remedy="use a relative path")
        for part in name.split("/"):
            if part not in ("", ".", "..") and ".." in part:
                raise Broken(f"path '{name}' is ambiguous", field=name)
        root = self.files.real(join(self.root, name))
        visited: Loader | None = self
        while visited is not None:
            if is_within(visited.root, root):
                raise Broken(
                    f"cycle detected: '{root}' contains the visited '{visited.root}'",
                    field=name,
                )
            visited = visited.parent
        return Loader(self.files, root, self.schema, self)

    @property
    def base_name(self) -> str:
        return posixpath.basename(self.root)


def is_remote(name: str) -> bool:
    return _REMOTE.match(name) is not None


def wrapped(error: GoYamlError, file: str) -> RenderError:
    kind = Unsupported if error.unsupported else Broken
    return kind(error.message, file=file, line=error.line)


def resources_from(text: str, file: str) -> list[Resource]:
    """The resources of a manifest; lists of objects count as the objects."""
    drafts = read_drafts(text)
    if drafts and all(map(_is_plain, drafts)):
        return [Resource(draft, file, blank=False) for draft in drafts]
    try:
        documents = read_resources(text)
    except GoYamlError as error:
        raise wrapped(error, file) from error
    queue = [document for document in documents if not _is_empty(document)]
    for document in queue:
        check_metadata(document, file)
    result = []
    while queue:
        document = queue.pop(0)
        kind = text_of(document["kind"]) if "items" in document else ""
        if not kind.endswith("List"):
            result.append(Resource(document, file, blank=documents.blank))
            continue
        items = document["items"]
        if is_null(items):
            continue
        if not isinstance(items, list):
            raise Broken(f"expected a list in {kind}/items", file=file)
        inner = [from_json(plain(item)) for item in items]
        inner = [item for item in inner if not _is_empty(item)]
        for item in inner:
            check_metadata(item, file)
        queue.extend(inner)
    return result


def _is_plain(draft: Draft) -> bool:
    """Whether `check_metadata` has nothing to say, and there is no list to unpack."""
    return not draft.kind.endswith("List") and _has_plain_annotations(draft.shape)


@lru_cache(maxsize=1024)
def _has_plain_annotations(shape: Shape) -> bool:
    annotations = shape.tree["metadata"].get("annotations", {})
    return type(annotations) is dict and _MEMORY.isdisjoint(annotations)


def _is_empty(document: Any) -> bool:
    return is_null(document) or document in ({}, [])


def check_metadata(document: Any, file: str) -> None:
    """Every object has a kind and, unless it is a list, a name."""
    metadata = document.get("metadata") if isinstance(document, dict) else None
    kind = document.get("kind") if isinstance(document, dict) else None
    if type(kind) is str and kind and type(metadata) is dict and "annotations" not in metadata:
        name = metadata.get("name")
        if type(name) is str and name:
            return
    if is_null(kind) or kind == "" or isinstance(kind, (dict, list)):
        raise Broken("missing kind in object", file=file, remedy="every resource needs a kind")
    if isinstance(metadata, dict):
        name = metadata.get("name")
        annotations = metadata.get("annotations")
        if isinstance(annotations, dict) and not _MEMORY.isdisjoint(annotations):
            raise Unsupported("annotations of kustomize's own are not supported", file=file)
    else:
        name = None
    if (is_null(name) or text_of(name) == "") and not text_of(kind).endswith("List"):
        raise Broken(
            "missing metadata.name in object", file=file, remedy="every resource needs a name"
        )
