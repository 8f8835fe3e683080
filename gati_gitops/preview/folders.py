"""Which folders of two trees differ: units to build, and files around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gati_gitops.preview.side import SnapshotFiles, UnitPlace, unit_place


@dataclass(slots=True)
class Differing:
    """What has to be looked at."""

    units: dict[UnitPlace, None] = field(default_factory=dict)
    around: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """By environment and cluster: files of no unit. An environment may be unknown."""
    settings: list[str] = field(default_factory=list)
    """Environments whose settings differ."""


def differing(
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    touched: Iterable[str] | None = None,
    homes: Mapping[str, str] | None = None,
) -> Differing:
    """Release folders are left out: their names say what is in them.

    ``homes`` are the environments of clusters, as far as they are known.
    """
    paths = sorted(touched) if touched is not None else sorted(before.keys() | after.keys())
    homes = _homes(paths) | dict(homes or {})
    found = Differing()
    for path in paths:
        parts = path.split("/")
        if parts[0] not in ("clusters", "overlays") or before.get(path) == after.get(path):
            continue
        if parts[0] == "clusters":
            found.around.setdefault((homes.get(parts[1], ""), parts[1]), []).append(path)
        elif (place := unit_place(path)) is not None:
            found.units[place] = None
        elif len(parts) == 3 and parts[2] == "project.yaml":
            found.settings.append(parts[1])
        elif len(parts) > 3 and parts[2] != "sources":
            found.around.setdefault((parts[1], parts[2]), []).append(path)
    return found


def _homes(paths: Iterable[str]) -> dict[str, str]:
    """The environment of each cluster, as paths tell it."""
    homes = {}
    for path in paths:
        parts = path.split("/", 3)
        if len(parts) == 4 and parts[0] == "overlays" and parts[2] != "sources":
            homes[parts[2]] = parts[1]
    return homes


class FolderNames:
    """The names of the files in folders of a side."""

    def __init__(self, files: Mapping[str, bytes], folders: Iterable[str]) -> None:
        self._found: dict[str, list[str]] = {folder: [] for folder in folders}
        if isinstance(files, SnapshotFiles):
            for folder in self._found:
                start = len(folder) + 1
                self._found[folder] = [path[start:] for path in files.below(folder)]
            return
        for path in files:
            folder, _, name = path.rpartition("/")
            if folder in self._found:
                self._found[folder].append(name)

    def of(self, folder: str) -> list[str]:
        return self._found[folder]


def folder_of(place: UnitPlace) -> str:
    return "overlays/" + "/".join(place)


def spelled(place: UnitPlace) -> str:
    """A unit as people name it."""
    return f"{place[2]}/{place[3].removeprefix('handler-')}"
