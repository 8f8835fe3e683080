"""The gate for CRDs: where an environment is protected, a breaking change waits for an approval.

A revert brings the old CRD back, but not the objects that the new one refused or pruned; so people
see it before a cluster does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from gati_gitops.preview.crds import CrdChange, Level, compare_crds
from gati_gitops.tree import Snapshot
from gati_gitops.yamlio.goyaml_read import decode, read_config

FOLDER = "_crds"


def breaking_crds(
    before: Snapshot, changes: Mapping[str, bytes | None], env: str
) -> Iterator[tuple[str, CrdChange]]:
    """What breaks in the CRDs of an environment, with the cluster that it breaks on."""
    paths = sorted(path for path in changes if _is_definition(path, env))
    for cluster, mine in groupby(paths, lambda path: path.split("/")[2]):
        found = [(before.read(path), changes[path]) for path in mine]
        sides = ([side for pair in found if (side := pair[n]) is not None] for n in (0, 1))
        old, new = ([read_config(decode(content)) for content in side] for side in sides)
        for change in compare_crds(old, new) if old else ():
            if change.level is Level.BREAKING:
                yield cluster, change


def _is_definition(path: str, env: str) -> bool:
    parts = path.split("/")
    return (
        len(parts) == 5
        and parts[:2] == ["overlays", env]
        and parts[3] == FOLDER
        and parts[4] != "kustomization.yaml"
    )
