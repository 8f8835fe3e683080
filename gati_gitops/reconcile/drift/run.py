"""One look at everything: what Git says, what clusters have, and where they differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gati_gitops import __version__
from gati_gitops.decide.absorb import ANNOTATION
from gati_gitops.decide.drift import files as repository_files
from gati_gitops.decide.drift.model import (
    FileDrift,
    ObjectDrift,
    PlaceDrift,
    Split,
    UnitDrift,
    What,
)
from gati_gitops.decide.drift.objects import Comparing, extra, unit_of
from gati_gitops.decide.drift.owners import entries
from gati_gitops.decide.drift.traffic import split_of, written_at
from gati_gitops.decide.observation import Engine, Gap, Missing
from gati_gitops.errors import Refused
from gati_gitops.ledger.model import Ledger
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.observe.wanted import MetricsSource, Wanted
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.naming import UNIT_LABEL
from gati_gitops.preview.mask import Mask
from gati_gitops.preview.model import ObjectId
from gati_gitops.publish.places import unit_id
from gati_gitops.reconcile.drift.beside import Beside, beside
from gati_gitops.reconcile.drift.git import GitSide, read_git, settings_of
from gati_gitops.reconcile.drift.history import Edited, History
from gati_gitops.reconcile.drift.look import Looked, Objects, look
from gati_gitops.repo.trees import GitSnapshot
from gati_gitops.report.clean import safe
from gati_gitops.spec.drift import DriftPolicy
from gati_gitops.tree import Overlay

WINDOW = 900.0
"""Seconds of traffic that a split is judged by."""


class EngineSource(Protocol):
    """How an engine fares with units."""

    def look(
        self, keys: Iterable[UnitKey], now: float
    ) -> Mapping[UnitKey, Engine | Missing] | Missing: ...


@dataclass(frozen=True, slots=True)
class Sight:
    """Through what one cluster is seen; None is not asked."""

    objects: Objects | None = None
    engine: EngineSource | None = None
    metrics: MetricsSource | None = None
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class Seen:
    """One place: what is told of it, and what follow-ups need to know besides."""

    drift: PlaceDrift
    git: GitSide
    routes: Mapping[UnitKey, tuple[dict[str, Any], ...]] = field(default_factory=dict)
    """Live route objects of units."""
    plans: Mapping[UnitKey, Edited] = field(default_factory=dict)
    """Plans that people edited."""
    lost: frozenset[UnitKey] = frozenset()
    """Units whose plans are gone."""


def see(
    before: GitSnapshot,
    env: str,
    cluster: str,
    sight: Sight,
    mask: Mask,
    keys: Sequence[UnitKey] | None = None,
    history: History | None = None,
) -> Seen:
    """Everything, or some units, on one cluster.

    Settings that can't be read are this environment's trouble alone: it is told as far as one can.
    """
    found = beside(before, history, env, cluster, keys)
    # what is gone is judged as it was: an engine can't build the rest, and goes on with that
    snapshot = Overlay(before, found.restored)
    output = Output(snapshot)
    git = read_git(snapshot, output, env, cluster, keys)
    policy: DriftPolicy = settings_of(output, env).get("drift", "report")
    place = PlaceDrift(env, cluster, policy, refused=_refused(Output(before), env))
    seeing = _Seeing(Output(before), output, git, place, sight, found)
    edited = seeing.edited(history)
    place = seeing.of_repository(edited)
    if sight.objects is None:
        return Seen(place, git, plans=edited, lost=frozenset(found.lost))
    looked = look(sight.objects, git, Comparing(git.engine, mask, git.scaled()))
    seen = seeing.of_cluster(place, looked)
    return replace(seen, plans=edited, lost=frozenset(found.lost))


def _refused(output: Output, env: str) -> str:
    try:
        output.settings(env)
    except Refused as error:
        return error.message
    return ""


@dataclass(slots=True)
class _Seeing:
    output: Output
    """As it is."""
    restored: Output
    """With what is gone, as it was."""
    git: GitSide
    place: PlaceDrift
    sight: Sight
    beside: Beside

    # -- the repository ----------------------------------------------------------------------------

    def edited(self, history: History | None) -> dict[UnitKey, Edited]:
        """Plans that are not those that their ledgers were decided on."""
        if history is None:
            return {}
        suspects: dict[str, Ledger] = {}
        paths: dict[str, UnitKey] = {}
        for key in self.git.units:
            where = (self.place.environment, self.place.cluster, key)
            ledger = repository_files.suspect(self.output, where)
            if ledger is not None:
                path = f"{repository_files.folder_of(where)}/unit.yaml"
                suspects[path], paths[path] = ledger, key
        return {paths[path]: found for path, found in history.plans(suspects).items()}

    def of_repository(self, edited: Mapping[UnitKey, Edited]) -> PlaceDrift:
        """The place with what was edited by hand in Git."""
        place, git = self.place, self.git
        spoilt = repository_files.release_files(
            self.output, [stored.plan for stored in git.units.values()]
        )
        unjudged = self._other_compilers()
        lost = self.beside.lost
        every = {*git.units, *lost, *(key for key in git.broken if key is not None)}
        units = tuple(
            UnitDrift(
                unit_id(key),
                files=self._unit_files(key, spoilt, unjudged, edited.get(key)),
                held=_ledger(git.units[key]).hold if key in git.units else "",
            )
            for key in sorted(every)
        )
        around = {file.path: file for file in git.broken.get(None, ())}
        if git.whole and not unjudged:
            around |= {file.path: file for file in self._around()}
        around |= self.beside.files
        files = tuple(around[path] for path in sorted(around))
        return replace(place, units=units, files=files, unseen=tuple(self._unseen(unjudged)))

    def _unit_files(
        self,
        key: UnitKey,
        spoilt: Mapping[str, FileDrift],
        unjudged: Mapping[str, str],
        edited: Edited | None,
    ) -> tuple[FileDrift, ...]:
        where = (self.place.environment, self.place.cluster, key)
        stored = self.git.units.get(key)
        found: dict[str, FileDrift] = {f.path: f for f in self.git.broken.get(key, ())}
        if stored is not None:
            folders = repository_files.releases_of(stored)
            found |= {folder: spoilt[folder] for folder in folders if folder in spoilt}
        if stored is None or stored.plan.source not in unjudged:
            found |= {f.path: f for f in repository_files.unit_files(self.restored, where)}
        found |= self.beside.lost.get(key, {})
        if edited is not None:
            path = f"{repository_files.folder_of(where)}/unit.yaml"
            found[path] = FileDrift(path, What.CHANGED, edited.words)
        return tuple(found[path] for path in sorted(found))

    def _around(self) -> Iterator[FileDrift]:
        """What stands around units, the job's release folder among it."""
        env, cluster = self.place.environment, self.place.cluster
        try:
            yield from repository_files.around_files(self.restored, env, cluster)
            yield from repository_files.job_files(self.restored, env, cluster)
        except Refused as error:
            path = error.place.file if error.place is not None else f"overlays/{env}/{cluster}"
            known = any(path in files for files in self.beside.lost.values())
            if not known and path not in self.beside.files:
                yield FileDrift(path, What.CHANGED, error.message)

    def _unseen(self, unjudged: Mapping[str, str]) -> Iterator[Missing]:
        for source, version in sorted(unjudged.items()):
            why = (
                f"the files of {source} were made by version {version}, and this is {__version__}:"
                " they can't be judged"
            )
            yield Missing(Gap.UNSUPPORTED, why, "the repository")
        if self.beside.unknown:
            why = f"{self.beside.unknown}: what was edited beside units can't be told"
            yield Missing(Gap.ERROR, why, "the repository")
        for path in self.beside.beyond:
            why = f"{path} is gone, and the history does not have it; restore it by hand"
            yield Missing(Gap.NO_DATA, why, "the repository")
        settings = f"overlays/{self.place.environment}/project.yaml"
        if self.place.refused and settings not in self.beside.restored:
            yield Missing(Gap.ERROR, self.place.refused, "the repository")

    def _other_compilers(self) -> dict[str, str]:
        """Sources whose part was written by another version, and by which."""
        sources = {stored.plan.source for stored in self.git.units.values()}
        found = {}
        for source in sources:
            others = self.restored.compilers(self.place.environment, source) - {__version__}
            if others:
                found[source] = ", ".join(sorted(others))
        return found

    # -- the cluster -------------------------------------------------------------------------------

    def of_cluster(self, place: PlaceDrift, looked: Looked) -> Seen:
        """The place with what its cluster has otherwise."""
        git = self.git
        objects: dict[UnitKey | None, list[ObjectDrift]] = {}
        for drift in looked.drifts:
            objects.setdefault(git.objects[drift.id].unit, []).append(drift)
        for item in looked.extras:
            key = self._unit_of(item)
            if key is not None or git.whole:
                stored = git.units.get(key) if key is not None else None
                objects.setdefault(key, []).append(extra(item, stored))
        routes = self._routes(looked)
        engines = self._engines()
        splits = self._splits(looked, routes)
        units = tuple(
            replace(
                unit,
                objects=tuple(objects.get(unit.unit.key, ())),
                engine=engines.get(unit.unit.key),
                split=splits.get(unit.unit.key),
                broken_glass=_broken_glass(routes.get(unit.unit.key, ())),
            )
            for unit in place.units
        )
        unseen = [*place.unseen, *looked.unseen, *_unknown(units)]
        around = tuple(objects.get(None, ()))
        place = replace(place, units=units, objects=around, unseen=tuple(dict.fromkeys(unseen)))
        return Seen(place, git, routes)

    def _unit_of(self, item: dict[str, Any]) -> UnitKey | None:
        unit = unit_of(item, self.git.ids)
        return self.git.ids[unit] if unit is not None else None

    def _routes(self, looked: Looked) -> dict[UnitKey, tuple[dict[str, Any], ...]]:
        found: dict[UnitKey, list[dict[str, Any]]] = {}
        for id, item in looked.routes.items():
            key = self.git.objects[id].unit
            if key is not None and _carries_traffic(id, item, key):
                found.setdefault(key, []).append(item)
        return {key: tuple(items) for key, items in found.items()}

    def _engines(self) -> Mapping[UnitKey, Engine | Missing]:
        if self.sight.engine is None:
            return {}
        found = self.sight.engine.look(self.git.units, self.sight.now)
        return dict.fromkeys(self.git.units, found) if isinstance(found, Missing) else found

    def _splits(
        self, looked: Looked, routes: Mapping[UnitKey, Sequence[dict[str, Any]]]
    ) -> dict[UnitKey, Split | Missing | None]:
        """The traffic of units that split it."""
        if self.sight.metrics is None:
            return {}
        split = {k: s for k, s in self.git.units.items() if _weighted(_ledger(s)) > 1}
        if not split:
            return {}
        seen = self.sight.metrics.look(Wanted(self.place.cluster, split, WINDOW))
        found: dict[UnitKey, Split | Missing | None] = {}
        for key, stored in split.items():
            told = seen if isinstance(seen, Missing) else seen.get(key, {})
            changed = written_at(e.who.time for r in routes.get(key, ()) for e in _writers(r))
            found[key] = split_of(stored, told, changed)
        return found


def _writers(route: dict[str, Any]) -> Iterator[Any]:
    """Who wrote a route, and not only its status."""
    return (entry for entry in entries(route) if entry.who.subresource != "status")


def _unknown(units: Iterable[UnitDrift]) -> Iterator[Missing]:
    """What could not be seen of an engine; that a split can't be told is no failure to look."""
    for unit in units:
        if isinstance(unit.engine, Missing) and unit.engine.gap is not Gap.UNSUPPORTED:
            yield unit.engine
        if isinstance(unit.split, Missing) and unit.split.gap is Gap.ERROR:
            yield unit.split


def _carries_traffic(id: ObjectId, item: dict[str, Any], key: UnitKey) -> bool:
    """Of the Services only the one that stands for a module as a whole is a route."""
    if id.kind != "Service":
        return True
    labels = (item.get("metadata") or {}).get("labels") or {}
    return key[1].startswith("module-") and id.name == labels.get(UNIT_LABEL)


def _broken_glass(routes: Iterable[dict[str, Any]]) -> str:
    for item in routes:
        said = ((item.get("metadata") or {}).get("annotations") or {}).get(ANNOTATION)
        if said is not None:
            return safe(" ".join(str(said).split())) or "no reason given"
    return ""


def _ledger(stored: Stored) -> Ledger:
    return stored.ledger or recovered(stored)


def _weighted(ledger: Ledger) -> int:
    return sum(1 for entry in ledger.entries if entry.weight)
