"""A part of an output: some of its units, as if there were no others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from gati_gitops.output import UnitKey
from gati_gitops.tree import Snapshot
from gati_gitops.yamlio.goyaml_read import decode, read_config


class Part:
    """A snapshot of which only some namespaces, and of these only some units, can be seen."""

    def __init__(
        self,
        whole: Snapshot,
        clusters: Iterable[tuple[str, str]],
        namespaces: Collection[str],
        units: Collection[UnitKey] | None = None,
        *,
        engines: bool = False,
    ) -> None:
        self._whole = whole
        self._units = units
        self._engines = engines
        self._paths: list[str] = []
        environments = dict.fromkeys(env for env, _ in clusters)
        for env in environments:
            self._paths += whole.paths(f"overlays/{env}/sources")
            if whole.read(f"overlays/{env}/project.yaml") is not None:
                self._paths.append(f"overlays/{env}/project.yaml")
        for env, cluster in clusters:
            for namespace in sorted(namespaces):
                found = whole.paths(f"overlays/{env}/{cluster}/{namespace}")
                self._paths += [path for path in found if self._visible(path)]

    def _visible(self, path: str) -> bool:
        parts = path.split("/")
        return (
            self._units is None
            or len(parts) < 6
            or parts[4].startswith("_")
            or (parts[3], parts[4]) in self._units
        )

    def paths(self, folder: str) -> Iterable[str]:
        if folder == "overlays" or folder.startswith("overlays/"):
            return [path for path in self._paths if f"{path}/".startswith(f"{folder}/")]
        if folder.startswith("base/") or (self._engines and folder.startswith("clusters/")):
            return self._whole.paths(folder)
        return []

    def read(self, path: str) -> bytes | None:
        if path.startswith("clusters/") and not self._engines:
            return None
        return self._whole.read(path)

    def units(self) -> Iterator[tuple[str, str, UnitKey]]:
        """Environment, cluster and key of every unit that can be seen."""
        for path in self._paths:
            parts = path.split("/")
            if len(parts) == 6 and parts[5] == "unit.yaml":
                yield parts[1], parts[2], (parts[3], parts[4])

    def names(self) -> dict[tuple[str, str], str]:
        """What the unit of a path is called, as ``Output.names`` tells it, from routes alone."""
        found: dict[tuple[str, str], str] = {}
        known: dict[bytes, str] = {}
        for env, cluster, (namespace, folder) in sorted(self.units()):
            path = f"overlays/{env}/{cluster}/{namespace}/{folder}/unit.yaml"
            block = _ROUTE.search(self.read(path) or b"")
            if block is None or not folder.startswith(_HANDLER):
                continue
            if block[0] not in known:  # plans are long, and routes are much alike on all clusters
                known[block[0]] = str(read_config(decode(block[0]))["route"]["path"])
            found[namespace, known[block[0]]] = folder.removeprefix(_HANDLER)
        return found


_HANDLER = "handler-"
_ROUTE = re.compile(rb"^route:\n(?:[ -].*\n)+", re.MULTILINE)
