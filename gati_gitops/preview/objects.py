"""From files to objects: what a cluster gets from each folder.

Most objects of a unit that differs are the same on both sides. So an object is made plain, and
masked, only when somebody looks into it; until then it can be told apart from others, no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gati_gitops.emit.engines.target import RECORD
from gati_gitops.preview.compare import same
from gati_gitops.preview.mask import Mask
from gati_gitops.preview.model import ObjectId
from gati_gitops.preview.side import Side
from gati_gitops.render import render
from gati_gitops.yamlio.goyaml_read import decode, read_resources
from gati_gitops.yamlio.goyaml_scalars import plain

Object = dict[str, Any]
STORED = frozenset(("unit.yaml", "rollout.yaml"))
"""Files of a unit that are no manifests."""
_NOT_APPLIED = frozenset(("kustomization.yaml", RECORD, *STORED))


def identity(item: Object) -> ObjectId:
    group, slash, _ = str(item.get("apiVersion", "")).rpartition("/")
    meta = item.get("metadata") or {}
    name, namespace = meta.get("name", ""), meta.get("namespace") or ""
    return ObjectId(group if slash else "", str(item.get("kind", "")), str(namespace), str(name))


class Item:
    """One object as it was read."""

    __slots__ = ("_mask", "_raw", "_shown", "id")

    def __init__(self, raw: Object, mask: Mask) -> None:
        self._raw = raw
        self._mask = mask
        self._shown: Object | None = None
        self.id = identity(raw)

    @property
    def shown(self) -> Object:
        """The object without what must not be seen."""
        if self._shown is None:
            self._shown = self._mask.object(plain(self._raw))
        return self._shown

    def is_same(self, other: Item) -> bool:
        return self._raw is other._raw or same(self._raw, other._raw)

    def asks_for(self) -> list[Object]:
        """Requests and limits of each container of a Deployment's pods."""
        template = (self._raw.get("spec") or {}).get("template") or {}
        containers = (template.get("spec") or {}).get("containers") or ()
        return [plain(container.get("resources") or {}) for container in containers]

    def label(self, name: str) -> str:
        meta = self._raw.get("metadata") or {}
        return str((meta.get("labels") or {}).get(name, ""))


class Reader:
    """Reads objects of a side. Folders with the same bytes are built once."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._built: dict[tuple[tuple[str, bytes], ...], tuple[Item, ...]] = {}
        self._read: dict[bytes, tuple[Item, ...]] = {}

    def unit(self, side: Side, folder: str, names: Iterable[str]) -> tuple[Item, ...]:
        """What the build of a unit's overlay gives."""
        manifests = sorted(name for name in names if name not in STORED)
        key = tuple((name, side.files[f"{folder}/{name}"]) for name in manifests)
        if not any(name == "kustomization.yaml" for name in manifests):
            return ()
        if key not in self._built:
            found = render(_Built(side.files), folder).resources
            self._built[key] = tuple(Item(resource.obj, self._mask) for resource in found)
        return self._built[key]

    def file(self, content: bytes) -> tuple[Item, ...]:
        """The objects of a file that no patch changes."""
        if content not in self._read:
            found = [item for item in read_resources(decode(content)) if item]
            self._read[content] = tuple(Item(item, self._mask) for item in found)
        return self._read[content]


def applied(name: str) -> bool:
    """Whether a file, by its name, holds objects that an engine applies."""
    return name.endswith(".yaml") and name not in _NOT_APPLIED


class _Built:
    """The files of a side as the renderer asks for them."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def read(self, path: str) -> bytes | None:
        return self._files.get(path)

    def is_file(self, path: str) -> bool:
        return path in self._files

    def is_dir(self, path: str) -> bool:
        return f"{path}/kustomization.yaml" in self._files

    def real(self, path: str) -> str:
        return path
