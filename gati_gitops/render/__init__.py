"""What `kustomize build` does, in process.

`render` reads a folder through a `FileSystem` and gives the objects that kustomize would print,
in its order and, by `to_yaml`, in its bytes. What it does not support it names and refuses
(`Unsupported`); what kustomize refuses it refuses too (`Broken`). It never guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gati_gitops.render.errors import Broken, RenderError, Unsupported
from gati_gitops.render.files import FileSystem, MemoryFiles
from gati_gitops.render.load import wrapped
from gati_gitops.render.resource import Resource
from gati_gitops.render.target import build
from gati_gitops.yamlio.goyaml_read import GoYamlError
from gati_gitops.yamlio.goyaml_scalars import plain

__all__ = [
    "Broken",
    "FileSystem",
    "MemoryFiles",
    "RenderError",
    "RenderResult",
    "Unsupported",
    "render",
]


@dataclass(frozen=True, slots=True)
class RenderResult:
    """The rendered resources of one folder."""

    path: str
    resources: tuple[Resource, ...]

    def objects(self) -> list[dict[str, Any]]:
        """The objects as plain values."""
        return [plain(resource.obj) for resource in self.resources]

    def to_yaml(self) -> bytes:
        """The bytes that `kustomize build` prints."""
        try:
            texts = [resource.text() for resource in self.resources]
        except GoYamlError as error:
            raise wrapped(error, self.path) from error
        return "\n---\n".join([*texts[:-1], *(f"{text}\n" for text in texts[-1:])]).encode()


def render(files: FileSystem, path: str) -> RenderResult:
    """Build the folder at `path`."""
    try:
        return RenderResult(path, tuple(build(files, path)))
    except RecursionError as error:
        raise Unsupported("nested too deeply", file=path) from error
