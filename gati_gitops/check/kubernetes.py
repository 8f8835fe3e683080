"""Kubernetes' own schemas, as the optional package ``kubernetes-validate`` carries them.

Only its data is used: one file of strict definitions per minor, found by the group, version and
kind that each definition names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from gati_gitops.check.compiled import Check, Compiler
from gati_gitops.check.enums import add_enums
from gati_gitops.errors import GatiError

_FOLDER = re.compile(r"v(\d+)\.(\d+)\.\d+-local-strict\Z")
REMEDY = "pip install gati-gitops[schemas]"


@dataclass(frozen=True)
class Minor:
    """One minor version of Kubernetes and what its API server knows."""

    name: str
    compiler: Compiler
    kinds: dict[tuple[str, str], str]

    def check(self, api_version: str, kind: str) -> Check | None:
        """The check of a built-in kind, compiled when it is first asked for."""
        name = self.kinds.get((api_version, kind))
        return None if name is None else self.compiler.definition(name)


def minors(wanted: Sequence[str] = ()) -> list[Minor]:
    """The minors asked for, oldest first; the newest three when none is."""
    folders = _folders()
    names = sorted(folders, key=_number)
    if unknown := [name for name in wanted if name not in folders]:
        raise GatiError(
            f"there are no schemas for Kubernetes {unknown[0]}; known are {', '.join(names)}",
            remedy=f"name another minor, or {REMEDY} for newer ones",
        )
    chosen = sorted(set(wanted), key=_number) if wanted else names[-3:]
    return [_read(name, folders[name]) for name in chosen]


def _folders() -> dict[str, Traversable]:
    try:
        root = resources.files("kubernetes_validate") / "kubernetes-json-schema"
    except ModuleNotFoundError:
        raise GatiError("Kubernetes' schemas are not installed", remedy=REMEDY) from None
    found = ((_FOLDER.match(folder.name), folder) for folder in root.iterdir())
    return {f"{match[1]}.{match[2]}": folder for match, folder in found if match}


def _read(name: str, folder: Traversable) -> Minor:
    definitions: dict[str, Any] = json.loads((folder / "_definitions.json").read_bytes())["$defs"]
    add_enums(definitions)
    kinds = {
        (f"{gvk['group']}/{gvk['version']}".lstrip("/"), gvk["kind"]): definition
        for definition, schema in definitions.items()
        for gvk in schema.get("x-kubernetes-group-version-kind", ())
    }
    return Minor(name, Compiler(definitions), kinds)


def _number(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split("."))
