"""What Git says of one cluster: every object that its folders build, in process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gati_gitops.decide.drift.model import FileDrift, What
from gati_gitops.decide.drift.objects import Workload, scaled_workloads
from gati_gitops.emit.engines.target import RECORD, Target, recorded_target
from gati_gitops.errors import Refused
from gati_gitops.ledger.stored import Stored
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.job import FOLDER as JOB
from gati_gitops.plan.naming import UnitId
from gati_gitops.preview.model import ObjectId
from gati_gitops.preview.objects import identity
from gati_gitops.publish.objects import Overlaid
from gati_gitops.render import RenderError, render
from gati_gitops.tree import Snapshot

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """An object of Git, and whose it is; None: of a namespace, or of the cluster."""

    unit: UnitKey | None
    item: Object = field(repr=False)


@dataclass(frozen=True, slots=True)
class GitSide:
    """All that Git has of a cluster, or of some units on it."""

    units: Mapping[UnitKey, Stored]
    objects: Mapping[ObjectId, Known]
    broken: Mapping[UnitKey | None, tuple[FileDrift, ...]]
    """Units that can't be read or built: nothing is known of their objects."""
    projects: frozenset[str]
    target: Target | None
    """What the cluster's engine is told; None where none is known."""
    whole: bool = True
    """Whether it is all of the cluster."""

    @property
    def engine(self) -> str:
        return self.target.here.engine if self.target is not None else ""

    @property
    def ids(self) -> dict[UnitId, UnitKey]:
        return {stored.plan.unit: key for key, stored in self.units.items()}

    @property
    def namespaces(self) -> set[str]:
        return {id.namespace for id in self.objects if id.namespace}

    @property
    def kinds(self) -> set[tuple[str, str]]:
        """API version and kind of every object."""
        found = (known.item for known in self.objects.values())
        return {(str(item["apiVersion"]), str(item["kind"])) for item in found}

    def scaled(self) -> frozenset[Workload]:
        return scaled_workloads(known.item for known in self.objects.values())


def read_git(
    before: Snapshot,
    output: Output,
    env: str,
    cluster: str,
    keys: Iterable[UnitKey] | None = None,
) -> GitSide:
    """Read and build what Git has of a cluster; of some units only, if they are named."""
    reading = _Reading(before, output, env, cluster)
    wanted = sorted(keys) if keys is not None else output.keys(env, cluster)
    for key in wanted:
        reading.unit(key)
    if keys is None:
        for folder in _around(before, env, cluster):
            reading.build(None, folder)
    project = str(settings_of(output, env).get("project", ""))
    record = _record(output, f"clusters/{cluster}/{RECORD}")
    projects = {stored.plan.project for stored in reading.units.values()} | {project}
    return GitSide(
        reading.units,
        reading.objects,
        {key: tuple(found) for key, found in reading.broken.items()},
        frozenset(projects - {""}),
        recorded_target(record, project, env, cluster),
        whole=keys is None,
    )


def _record(output: Output, path: str) -> Mapping[str, Any]:
    try:
        return output.record(path)
    except Refused:
        return {}


def settings_of(output: Output, env: str) -> Mapping[str, Any]:
    """What an environment has set; nothing where that can't be read, which is told elsewhere."""
    try:
        return output.settings(env)
    except Refused:
        return {}


@dataclass(slots=True)
class _Reading:
    before: Snapshot
    output: Output
    env: str
    cluster: str
    units: dict[UnitKey, Stored] = field(default_factory=dict)
    objects: dict[ObjectId, Known] = field(default_factory=dict)
    broken: dict[UnitKey | None, list[FileDrift]] = field(default_factory=dict)

    def unit(self, key: UnitKey) -> None:
        try:
            stored = self.output.unit(self.env, self.cluster, key)
        except Refused as error:
            place = error.place.file if error.place is not None else "/".join(key)
            self._is_broken(key, place, error.message)
            return
        if stored is not None:
            self.units[key] = stored
            self.build(key, "/".join(("overlays", self.env, self.cluster, *key)))

    def build(self, key: UnitKey | None, folder: str) -> None:
        try:
            items = render(Overlaid(self.before), folder).objects()
        except (RenderError, Refused) as error:
            self._is_broken(key, folder, f"it can't be built: {error}")
            return
        for item in items:
            self.objects[identity(item)] = Known(key, item)

    def _is_broken(self, key: UnitKey | None, path: str, why: str) -> None:
        self.broken.setdefault(key, []).append(FileDrift(path, What.CHANGED, why))


def _around(before: Snapshot, env: str, cluster: str) -> list[str]:
    """Folders of a cluster that hold objects of no unit."""
    root = f"overlays/{env}/{cluster}"
    found = set()
    for path in before.paths(root):
        folder, _, name = path.rpartition("/")
        top = folder.removeprefix(f"{root}/")
        around = top == "_crds" or top.endswith(("/_namespace", f"/{JOB}"))
        if name == "kustomization.yaml" and around:
            found.add(folder)
    return sorted(found)
