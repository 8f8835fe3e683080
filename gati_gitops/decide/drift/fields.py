"""One object of Git against the same object of a cluster, field by field.

Only what somebody says can drift. What Git states and the cluster has otherwise is drift, whoever
did it. What Git does not state is judged by who wrote it: a field that the engine once applied and
that Git has no more is left over; one that a person added by hand is drift, too; what servers,
scalers, meshes and admission add is theirs. Where an object does not say who wrote it, only what
Git states is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gati_gitops.decide.drift.owners import ARGOCD, Entry, Who, Written, entries, is_engine
from gati_gitops.decide.drift.unstated import ABSENT, METADATA, beyond, by_key, follow
from gati_gitops.decide.drift.values import as_stored, same_value, says_nothing
from gati_gitops.preview.model import Keyed, Op, Path, show_path
from gati_gitops.render.openapi import builtin

Object = dict[str, Any]
_HEAD = ("apiVersion", "kind", "status")
_IN_ORDER = frozenset(("env", "initContainers"))
"""Lists with keys whose order means something all the same."""
_THEIRS = (
    "argocd.argoproj.io/",
    "autoscaling.alpha.kubernetes.io/",
    "deployment.kubernetes.io/",
    "gati.dev/",  # said by people to us: holds and broken glass are told elsewhere
    "kubectl.kubernetes.io/",
    "kubernetes.io/change-cause",
    "kustomize.toolkit.fluxcd.io/",
    "reconcile.fluxcd.io/",
)
"""Labels and annotations beyond Git's that are somebody's notes."""
_TRACKING = "app.kubernetes.io/instance"
"""Argo CD may write its own name into it, if it is told to track by labels."""


@dataclass(frozen=True, slots=True)
class FieldDrift:
    """One field that is not as Git says; None stands for what is not there."""

    path: Path
    op: Op
    git: Any = None
    live: Any = None
    who: tuple[Who, ...] = ()
    """Who wrote what is live, the last one first; empty if nobody says."""
    left_over: bool = False
    """The engine applied it, and Git has it no more."""

    @property
    def shown(self) -> str:
        return show_path(self.path)


def field_drift(
    git: Object, live: Object, engine: str = "", *, scaled: bool = False
) -> tuple[FieldDrift, ...]:
    """What is not as Git says. ``scaled``: something else owns the number of pods."""
    compared = _Compared(engine, scaled)
    return tuple(compared.run(as_stored(git), live))


@dataclass(slots=True)
class _Compared:
    engine: str
    scaled: bool

    def run(self, git: Object, live: Object) -> Iterator[FieldDrift]:
        known = builtin().type_of(str(git.get("apiVersion")), str(git.get("kind")))
        written = Written.of(live)
        wanted, found = _body(git), _body(live)
        told: list[Path] = []
        for drift in self._mapping((), wanted, found, known or {}, written):
            told.append(drift.path)
            if not self._is_theirs(drift):
                yield drift
        for entry in entries(live):
            for drift in self._unstated(entry, wanted, found, written):
                if not any(_covers(path, drift.path) for path in told):
                    told.append(drift.path)
                    yield drift

    def _is_theirs(self, drift: FieldDrift) -> bool:
        if drift.path == ("spec", "replicas"):
            return self.scaled or (bool(drift.who) and _by_scaler(drift.who))
        if drift.path == ("metadata", "labels", _TRACKING):
            return any(w.manager == ARGOCD and w.operation == "Apply" for w in drift.who)
        return False

    # -- what Git states ---------------------------------------------------------------------------

    def _value(
        self, path: Path, git: Any, live: Any, known: Any, written: Written
    ) -> Iterator[FieldDrift]:
        if git is None:
            return
        if live is ABSENT or live is None:
            if not says_nothing(path, git):
                yield FieldDrift(path, Op.REMOVE, git, who=written.who)
        elif isinstance(git, dict) and isinstance(live, dict):
            below = known if isinstance(known, dict) else {}
            yield from self._mapping(path, git, live, below, written)
        elif isinstance(git, list) and isinstance(live, list):
            yield from self._list(path, git, live, known, written)
        elif isinstance(git, (dict, list)) or not same_value(path, git, live):
            yield FieldDrift(path, Op.REPLACE, git, live, written.who)

    def _mapping(
        self,
        path: Path,
        git: Mapping[str, Any],
        live: Mapping[str, Any],
        known: Mapping[str, Any],
        written: Written,
    ) -> Iterator[FieldDrift]:
        for name, value in git.items():
            below = known.get(name) or known.get("*")
            here = live.get(name, ABSENT)
            if type(value) is type(here) and value == here:
                continue  # most of all fields, and most of what holds them
            deeper = written.down(name)
            yield from self._value((*path, name), value, here, below, deeper)

    def _list(
        self,
        path: Path,
        git: list[Any],
        live: list[Any],
        known: Any,
        written: Written,
    ) -> Iterator[FieldDrift]:
        of, merged = known if isinstance(known, tuple) else ({}, ())
        for keys in dict.fromkeys((tuple(merged), ("name",))):
            one, two = by_key(git, keys), by_key(live, keys)
            if one is not None and two is not None:
                shared = bool(merged) or written.has_keys
                yield from self._keyed(path, one, two, keys, of, written, shared=shared)
                return
        yield from self._by_position(path, git, live, of, written)

    def _keyed(
        self,
        path: Path,
        git: Mapping[tuple[Any, ...], Any],
        live: Mapping[tuple[Any, ...], Any],
        names: Sequence[str],
        known: Any,
        written: Written,
        *,
        shared: bool,
    ) -> Iterator[FieldDrift]:
        """``shared``: others may have elements of their own in it."""
        for key, element in git.items():
            here = (*path, Keyed(tuple(zip(names, key, strict=True))))
            found = live.get(key, ABSENT)
            deeper = written.down("", found) if found is not ABSENT else written
            yield from self._value(here, element, found, known, deeper)
        if not shared:
            for key, element in live.items():
                if key not in git:
                    here = (*path, Keyed(tuple(zip(names, key, strict=True))))
                    yield FieldDrift(here, Op.ADD, live=element, who=written.down("", element).who)
        ours = [key for key in live if key in git]
        if ours != [key for key in git if key in live] and (not shared or path[-1] in _IN_ORDER):
            said, stands = ([_words(key) for key in keys] for keys in (git, ours))
            yield FieldDrift(path, Op.ORDER, said, stands, written.who)

    def _by_position(
        self,
        path: Path,
        git: list[Any],
        live: list[Any],
        known: Any,
        written: Written,
    ) -> Iterator[FieldDrift]:
        """A list without keys is one value: whoever wrote any of it wrote all."""
        for index in range(max(len(git), len(live))):
            here = (*path, index)
            if index >= len(live):
                yield FieldDrift(here, Op.REMOVE, git[index], who=written.who)
            elif index >= len(git):
                yield FieldDrift(here, Op.ADD, live=live[index], who=written.who)
            else:
                deeper = written.down("", live[index])
                found = self._value(here, git[index], live[index], known, deeper)
                yield from found

    # -- what Git does not state -------------------------------------------------------------------

    def _unstated(
        self, entry: Entry, git: Object, live: Object, written: Written
    ) -> Iterator[FieldDrift]:
        mine = is_engine(entry.who, self.engine)
        if not mine and not entry.who.is_person:
            return
        for path, op, git_value, live_value in beyond(entry.fields, git, live, (), deep=not mine):
            if self._is_note(path):
                continue
            who = follow(written, live, path).who
            yield FieldDrift(path, op, git_value, live_value, who, left_over=mine)

    def _is_note(self, path: Path) -> bool:
        if path == ("spec", "replicas"):
            return self.scaled
        if len(path) >= 3 and path[-2] in METADATA and path[-3] == "metadata":
            return str(path[-1]).startswith(_THEIRS)
        return False


# -- helpers -------------------------------------------------------------------------------------


def _body(item: Object) -> Object:
    """An object without its head, its status and what the server keeps about it."""
    metadata = item.get("metadata") or {}
    rest = {name: value for name, value in item.items() if name not in (*_HEAD, "metadata")}
    return {"metadata": {k: metadata[k] for k in METADATA if k in metadata}, **rest}


def _by_scaler(who: Sequence[Who]) -> bool:
    """Whether who wrote the number of pods last is a scaler, and no person."""
    return who[0].subresource == "scale" and not who[0].is_person


def _covers(above: Path, path: Path) -> bool:
    return path[: len(above)] == above


def _words(key: tuple[Any, ...]) -> str:
    return ", ".join(str(value) for value in key if value is not None)
