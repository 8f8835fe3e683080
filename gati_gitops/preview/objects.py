"""From files to objects: what a cluster gets from each folder, masked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gati_gitops.emit.engines.target import RECORD
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


class Reader:
    """Reads objects of a side. Folders with the same bytes are built once."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._built: dict[tuple[tuple[str, bytes], ...], tuple[Object, ...]] = {}
        self._read: dict[bytes, tuple[Object, ...]] = {}

    def unit(self, side: Side, folder: str, names: Iterable[str]) -> tuple[Object, ...]:
        """What the build of a unit's overlay gives."""
        manifests = sorted(name for name in names if name not in STORED)
        key = tuple((name, side.files[f"{folder}/{name}"]) for name in manifests)
        if not any(name == "kustomization.yaml" for name in manifests):
            return ()
        if key not in self._built:
            found = render(_Built(side.files), folder).objects()
            self._built[key] = tuple(self._mask.object(item) for item in found)
        return self._built[key]

    def file(self, content: bytes) -> tuple[Object, ...]:
        """The objects of a file that no patch changes."""
        if content not in self._read:
            found = [plain(item) for item in read_resources(decode(content))]
            self._read[content] = tuple(self._mask.object(item) for item in found if item)
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
