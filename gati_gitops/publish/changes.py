"""The change set: what one commit does to one environment, as data.

Made from what stood there, the files that change and what the compile decided. Only folders with
a changed file are looked into, so it costs what the change costs. Guards judge it, messages tell
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gati_gitops.errors import Place, Refused
from gati_gitops.ledger.fold import Outcome
from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.ledger.store import ledger_from
from gati_gitops.plan.model import UnitPlan
from gati_gitops.plan.naming import UnitId
from gati_gitops.publish.compared import Comparing, Objects
from gati_gitops.publish.objects import ObjectId, Overlaid
from gati_gitops.tree import Changes, Snapshot
from gati_gitops.yamlio.goyaml_read import GoYamlError, decode, read_config

_STATE = frozenset(("unit.yaml", "rollout.yaml"))


class Step(StrEnum):
    """What happens to a version."""

    WAITS = "waits"
    STARTS = "starts"
    WEIGHT = "weight"
    ACTIVE = "active"
    REVISED = "revised"
    DRAINS = "drains"
    PARKS = "parks"
    REJECTED = "rejected"
    REMOVED = "removed"
    FORGOTTEN = "forgotten"
    """It waited, and does no more; or its tombstone goes."""


@dataclass(frozen=True, slots=True)
class VersionChange:
    """One version of a unit on a cluster, before and after."""

    id: str
    before: Entry | None
    after: Entry | None
    image: str = ""

    @property
    def step(self) -> Step:
        """The one word for it."""
        old, new = self.before, self.after
        if new is None:
            return Step.FORGOTTEN
        if old is not None and old.phase is new.phase and old.digest != new.digest:
            return Step.REVISED
        if new.barred and not (old and old.barred):
            return Step.REJECTED
        return _STEPS[new.phase]


_STEPS = {
    Phase.PENDING: Step.WAITS,
    Phase.STARTING: Step.STARTS,
    Phase.CANARY: Step.WEIGHT,
    Phase.ACTIVE: Step.ACTIVE,
    Phase.DRAINING: Step.DRAINS,
    Phase.PARKED: Step.PARKS,
    Phase.REMOVED: Step.REMOVED,
    Phase.REJECTED: Step.REJECTED,
}


class Fate(StrEnum):
    """What happens to a unit as a whole."""

    NEW = "new"
    CHANGES = "changes"
    RETIRES = "retires"
    """Starts to retire: it counts against the budget now, and never again."""
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class UnitChange:
    """One unit on one cluster."""

    unit: UnitId
    cluster: str
    fate: Fate
    versions: tuple[VersionChange, ...] = ()
    objects: Objects = field(default_factory=Objects)
    traffic: tuple[tuple[str, int], ...] = ()
    """Who serves requests that name no version, after it."""
    hold: str = ""
    """Why it is held now."""
    released: bool = False
    """It was held until now."""
    newly_held: bool = False
    counted: bool = False
    """It goes, and was not retiring before: the budget pays for it in this commit."""


@dataclass(frozen=True, slots=True)
class FolderChange:
    """Objects that belong to a namespace (or, without one, to the cluster) and to no unit."""

    cluster: str
    namespace: str
    objects: Objects


@dataclass(frozen=True, slots=True)
class FileChanges:
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Held:
    """A unit that stands still, whatever the specs say."""

    unit: UnitId
    cluster: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What one commit does to one environment."""

    environment: str
    units: tuple[UnitChange, ...] = ()
    folders: tuple[FolderChange, ...] = ()
    files: FileChanges = FileChanges()
    held: tuple[Held, ...] = ()
    stood: int = 0
    """How many units the environment had; counted only when one of them goes."""

    def objects(self, which: Callable[[Objects], Iterable[ObjectId]]) -> dict[ObjectId, list[str]]:
        """Objects that come, change or go, and on which clusters."""
        found: dict[ObjectId, list[str]] = {}
        changes: tuple[UnitChange | FolderChange, ...] = (*self.units, *self.folders)
        for change in changes:
            for key in which(change.objects):
                found.setdefault(key, []).append(change.cluster)
        return dict(sorted(found.items()))

    def __bool__(self) -> bool:
        files = self.files
        return bool(files.added or files.changed or files.removed)


def change_set(
    environment: str,
    before: Snapshot,
    changes: Changes,
    outcomes: Iterable[Outcome] = (),
) -> ChangeSet:
    """What ``changes`` do to an environment. ``outcomes`` are what the compile decided there."""
    decided = {
        (o.plan.cluster, o.plan.unit): o
        for o in outcomes
        if o.plan is not None and o.plan.environment == environment
    }
    now, then = Overlaid(before, changes), Overlaid(before)
    compare = Comparing(then, now)
    units: list[UnitChange] = []
    folders: list[FolderChange] = []
    for (cluster, namespace, name), files in sorted(_folders(environment, changes).items()):
        path = "/".join(
            part for part in ("overlays", environment, cluster, namespace, name) if part
        )
        objects = compare.objects(path, files - _STATE) if not files <= _STATE else Objects()
        if name.startswith("_"):
            folders.append(FolderChange(cluster, namespace, objects))
        else:
            unit = _unit(namespace, name)
            outcome = decided.get((cluster, unit))
            units.append(_unit_change(path, unit, cluster, then, now, objects, outcome))
    units, folders = _moved(units, folders)
    return ChangeSet(
        environment,
        tuple(units),
        tuple(f for f in folders if f.objects),
        _files(before, changes),
        tuple(_held(decided)),
        _count(environment, before) if any(unit.counted for unit in units) else 0,
    )


# -- files and folders ---------------------------------------------------------------------------


def _files(before: Snapshot, changes: Changes) -> FileChanges:
    removed = [path for path, content in changes.items() if content is None]
    written = [path for path, content in changes.items() if content is not None]
    new = {path for path in written if before.read(path) is None}
    return FileChanges(
        tuple(sorted(new)),
        tuple(sorted(path for path in written if path not in new)),
        tuple(sorted(removed)),
    )


def _folders(environment: str, changes: Changes) -> dict[tuple[str, str, str], set[str]]:
    """Changed files by cluster, namespace and folder, where objects may be."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for path in changes:
        parts = path.split("/")
        if parts[:2] != ["overlays", environment] or len(parts) < 5:
            continue
        if parts[3] == "_crds" and len(parts) == 5:
            found.setdefault((parts[2], "", "_crds"), set()).add(parts[4])
        elif len(parts) > 5:
            found.setdefault((parts[2], parts[3], parts[4]), set()).add("/".join(parts[5:]))
    return found


def _count(environment: str, before: Snapshot) -> int:
    """Units of an environment, each once however many clusters have it."""
    paths = (path.split("/") for path in before.paths(f"overlays/{environment}"))
    return len({(p[3], p[4]) for p in paths if len(p) == 6 and p[5] == "unit.yaml"})


def _unit(namespace: str, folder: str) -> UnitId:
    kind, _, name = folder.partition("-")
    return UnitId(namespace, kind, name)


# -- objects -------------------------------------------------------------------------------------


def _moved(
    units: list[UnitChange], folders: list[FolderChange]
) -> tuple[list[UnitChange], list[FolderChange]]:
    """An object that only goes to another folder of its cluster has changed, and is not lost."""
    added: set[tuple[str, ObjectId]] = set()
    removed: set[tuple[str, ObjectId]] = set()
    changes: list[UnitChange | FolderChange] = [*units, *folders]
    for change in changes:
        added |= {(change.cluster, key) for key in change.objects.added}
        removed |= {(change.cluster, key) for key in change.objects.removed}
    moved = added & removed
    if not moved:
        return units, folders

    def settled(cluster: str, objects: Objects) -> Objects:
        come = [key for key in objects.added if (cluster, key) in moved]
        return Objects(
            tuple(key for key in objects.added if key not in come),
            tuple(sorted([*objects.changed, *come])),
            tuple(key for key in objects.removed if (cluster, key) not in moved),
        )

    return (
        [replace(unit, objects=settled(unit.cluster, unit.objects)) for unit in units],
        [replace(folder, objects=settled(folder.cluster, folder.objects)) for folder in folders],
    )


# -- units and their versions --------------------------------------------------------------------


def _unit_change(
    path: str,
    unit: UnitId,
    cluster: str,
    then: Overlaid,
    now: Overlaid,
    objects: Objects,
    outcome: Outcome | None,
) -> UnitChange:
    stood, stands = then.is_file(f"{path}/unit.yaml"), now.is_file(f"{path}/unit.yaml")
    old = _ledger(then, path)
    new = outcome.ledger if outcome is not None and stands else _ledger(now, path)
    was_retiring = old is not None and old.retiring
    retires = new is not None and new.retiring and not was_retiring
    is_new = not stood and old is None  # one whose plan a person deleted has its ledger, and serves
    fate = Fate.NEW if is_new else Fate.GONE if not stands else Fate.CHANGES
    versions: tuple[VersionChange, ...] = ()
    if old is not None or not stood:  # a ledger that a person deleted was read back, as it was
        plan = outcome.plan if outcome is not None else None
        versions = tuple(_versions(old, new, plan))
    return UnitChange(
        unit,
        cluster,
        Fate.RETIRES if stood and stands and retires else fate,
        versions,
        objects,
        tuple((e.id, e.weight) for e in new.entries if e.weight) if new and stands else (),
        hold=new.hold if new else "",
        released=bool(old and old.hold and stands and new and not new.hold),
        newly_held=bool(stood and new and new.hold and not (old and old.hold)),
        counted=stood and (retires or (not stands and not was_retiring)),
    )


def _ledger(files: Overlaid, folder: str) -> Ledger | None:
    path = f"{folder}/rollout.yaml"
    content = files.read(path)
    if content is None:
        return None
    try:
        return ledger_from(read_config(decode(content)), path)
    except GoYamlError as error:
        raise Refused(
            f"{path} can't be read: {error}",
            remedy="restore it from Git; it holds decisions that must not be forgotten",
            place=Place(path),
        ) from error


def _versions(
    old: Ledger | None, new: Ledger | None, plan: UnitPlan | None
) -> Iterator[VersionChange]:
    """Versions that are not as before; what waited and got its turn is one change, not two."""
    before, after = _by_id(old), _by_id(new)
    for id in sorted(before.keys() | after.keys()):
        was, waited = before.get(id, (None, None))
        live, waits = after.get(id, (None, None))
        if was is None and live is not None:
            was, waited = waited, None
        pairs = [(was, live)] if was or live else []
        if waited is not None and live is not None and live.digest == waited.digest:
            waited = None
        pairs += [(waited, waits)] if waited or waits else []
        for one, two in pairs:
            if not _same(one, two):
                planned = plan.version(*two.key) if plan and two else None
                yield VersionChange(id, one, two, planned.image if planned else "")


def _by_id(ledger: Ledger | None) -> dict[str, tuple[Entry | None, Entry | None]]:
    """Of each version what lives and what waits."""
    found: dict[str, tuple[Entry | None, Entry | None]] = {}
    for entry in ledger.entries if ledger else ():
        live, waits = found.get(entry.id, (None, None))
        found[entry.id] = (live, entry) if entry.phase is Phase.PENDING else (entry, waits)
    return found


def _same(one: Entry | None, two: Entry | None) -> bool:
    """Whether nothing moved that anybody could see."""
    if one is None or two is None:
        return one is two
    return (one.phase, one.weight, one.digest, one.barred) == (
        two.phase,
        two.weight,
        two.digest,
        two.barred,
    )


def _held(decided: Mapping[tuple[str, UnitId], Outcome]) -> Iterator[Held]:
    for cluster, unit in sorted(key for key, outcome in decided.items() if outcome.ledger.hold):
        yield Held(unit, cluster, decided[cluster, unit].ledger.hold)
