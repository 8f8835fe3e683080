"""Records: what a source has published to an environment, and from which commit of its specs.

A record moves only together with another change, so an unchanged environment stays unchanged. It
names the trees that the compile left behind: while they are the same, everything that was
compiled then is still there, and only what changed in the specs since needs to be compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gati_gitops.emit.layout import RECORD_FORMAT, WHOLE, ahead_path, record_group, record_path
from gati_gitops.emit.overlay import overlay_path
from gati_gitops.output import Output
from gati_gitops.plan.model import UnitPlan
from gati_gitops.spec.project import GatiProject
from gati_gitops.tree import Snapshot, Tree, header
from gati_gitops.yamlio.emit import dump


class Identified(Protocol):
    """A snapshot whose folders have ids."""

    def id(self, path: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Record:
    """What is published of one group of units."""

    source: str
    group: str
    compiler: str
    commit: str = ""
    """Of the specs; empty where they are in no repository."""
    trees: Mapping[str, str] = field(default_factory=dict)
    """Folder to the id of its tree after the publish."""
    leaving: tuple[str, ...] = ()
    """Release folders that this publish let go of; a later commit may remove them."""

    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "format": RECORD_FORMAT,
            "source": self.source,
            "group": self.group,
            "compiler": self.compiler,
        }
        if self.commit:
            found["commit"] = self.commit
        if self.trees:
            found["trees"] = dict(sorted(self.trees.items()))
        if self.leaving:
            found["leaving"] = sorted(self.leaving)
        return found


def read_records(output: Output, before: Snapshot, env: str, source: str) -> dict[str, Record]:
    """The records of a source, by group."""
    found: dict[str, Record] = {}
    folder = f"overlays/{env}/sources/{source}"
    for path in before.paths(folder):
        data = output.record(path)
        group = str(data.get("group", ""))
        if group and path == record_path(env, source, group):
            found[group] = Record(
                source,
                group,
                str(data.get("compiler", "")),
                str(data.get("commit", "")),
                {str(k): str(v) for k, v in (data.get("trees") or {}).items()},
                tuple(str(folder) for folder in data.get("leaving") or ()),
            )
    return found


def watched(
    project: GatiProject, env: str, group: str, plans: Callable[[], Iterable[UnitPlan]]
) -> tuple[str, ...]:
    """The files and folders whose ids tell that nothing of a group was touched."""
    clusters = sorted(project.spec.environments[env].clusters)
    settings = f"overlays/{env}/project.yaml"
    around = [f"clusters/{cluster}" for cluster in clusters]
    if group == WHOLE:
        units = [f"overlays/{env}/{cluster}" for cluster in clusters]
        return (*units, *around, "base", "crds", settings)
    if project.spec.pull_requests.group_by == "namespace":
        units = [f"overlays/{env}/{cluster}/{group}" for cluster in clusters]
        return (*units, *around, f"base/{group}", "crds", settings)
    mine = [plan for plan in plans() if record_group(project, plan) == group]
    bases = {f"base/{plan.unit.namespace}/{plan.unit.folder}" for plan in mine}
    return (*sorted({overlay_path(plan) for plan in mine}), *sorted(bases), settings)


def record_file(record: Record, env: str, file: str) -> Tree:
    return {record_path(env, record.source, record.group): dump(record.data(), header([file]))}


def trees_of(after: Identified, folders: Iterable[str]) -> dict[str, str]:
    """The ids of the folders that are there."""
    return {folder: id for folder in folders if (id := after.id(folder))}


# -- units that are ahead of their record ----------------------------------------------------------


def read_ahead(output: Output, env: str, source: str) -> dict[str, str]:
    """Units, as ``namespace/folder``, to the commit of the specs that their plan is of."""
    units = output.record(ahead_path(env, source)).get("units") or {}
    return {str(unit): str(commit) for unit, commit in units.items()}


def ahead_file(env: str, source: str, units: Mapping[str, str], file: str) -> Tree:
    data = {"format": RECORD_FORMAT, "source": source, "units": dict(sorted(units.items()))}
    return {ahead_path(env, source): dump(data, header([file]))}
