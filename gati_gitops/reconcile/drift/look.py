"""What a cluster has, held against Git while it is listed.

Each kind is listed once, whole, over all namespaces, several kinds side by side. An object is
compared as it comes in and then let go, so that a large cluster does not have to fit into memory
twice. What bears none of our labels any more is not in those lists; whatever Git has and they lack
is asked for by its name before it counts as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from gati_gitops.decide.drift.model import ObjectDrift
from gati_gitops.decide.drift.objects import OURS, Comparing, absent, is_ours
from gati_gitops.decide.observation import Missing
from gati_gitops.emit.engines.rights import NAMESPACE_KINDS, UNIT_KINDS
from gati_gitops.observe.cluster_lists import WORKERS, Listed, Part, list_parts, missing
from gati_gitops.observe.kube import Kube
from gati_gitops.observe.kube_errors import KubeError
from gati_gitops.observe.live_routes import KINDS as ROUTES
from gati_gitops.preview.model import ObjectId
from gati_gitops.preview.objects import identity
from gati_gitops.reconcile.drift.git import GitSide

Object = dict[str, Any]
FEW = 20
"""So many objects of a kind are asked for by name; for more, the kind is listed again."""
_ROUTES = frozenset(kind for kinds in ROUTES.values() for _, kind in kinds) | {"Service"}
"""Kinds of which a unit's own are kept: what traffic it gets stands in them."""


class Objects(Protocol):
    """A cluster's objects, or a recording of them."""

    def lists(
        self, parts: Mapping[str, Part[Any]], namespaces: Iterable[str]
    ) -> Mapping[str, Listed[Any]]:
        """Several kinds, each whole or with what it lacks."""

    def get(self, api_version: str, kind: str, name: str, namespace: str) -> Object | None:
        """One object; None if it is not there. Raises KubeError."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What is kept of one live object."""

    id: ObjectId
    drift: ObjectDrift | None = None
    route: Object | None = None
    extra: Object | None = None


Pick = Callable[[Object], _Found | None]


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of it."""

    drifts: tuple[ObjectDrift, ...] = ()
    """Of objects that Git has."""
    routes: Mapping[ObjectId, Object] = field(default_factory=dict)
    extras: tuple[Object, ...] = ()
    """Heads of objects that are ours and not in Git."""
    unseen: tuple[Missing, ...] = ()
    blind: frozenset[ObjectId] = frozenset()
    """Objects of Git that could not be looked at."""


def look(objects: Objects, git: GitSide, comparing: Comparing) -> Looked:
    """Hold all that Git has of a cluster against what is there."""
    pick = _picking(git, comparing)
    parts = _parts(git, pick)
    listed = objects.lists(parts, git.namespaces)
    found = {one.id: one for part in listed.values() for one in part.items}
    unseen = list(_unseen(listed, git))
    waiting: list[ObjectId] = []
    blind: list[ObjectId] = []
    for id, known in git.objects.items():
        if id not in found:
            part = listed[f"{known.item['apiVersion']} {id.kind}"]
            (blind if part.missing(id.namespace) is not None else waiting).append(id)
    for id, answer in _Asking(objects, git, pick).all(waiting):
        if isinstance(answer, Missing):
            unseen.append(answer)
            blind.append(id)
        else:
            found[id] = answer
    return Looked(
        tuple(one.drift for _, one in sorted(found.items()) if one.drift is not None),
        {id: one.route for id, one in found.items() if one.route is not None},
        tuple(one.extra for _, one in sorted(found.items()) if one.extra is not None),
        tuple(dict.fromkeys(unseen)),
        frozenset(blind),
    )


def _picking(git: GitSide, comparing: Comparing) -> Pick:
    def pick(item: Object) -> _Found | None:
        id = identity(item)
        known = git.objects.get(id)
        if known is None:
            return _Found(id, extra=_head(item)) if is_ours(item, git.projects) else None
        drift = comparing.one(known.item, item)
        return _Found(id, drift, item if id.kind in _ROUTES else None)

    return pick


def _head(item: Object) -> Object:
    metadata = {k: v for k, v in item["metadata"].items() if k != "managedFields"}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": metadata}


def _parts(git: GitSide, pick: Pick) -> dict[str, Part[Any]]:
    """The kinds that Git has, and those that it may once have had."""
    parts: dict[str, Part[Any]] = {}
    had = set()
    for api_version, kind in git.kinds:
        parts[f"{api_version} {kind}"] = Part(api_version, kind, pick, labels=OURS)
        had.add((api_version.rpartition("/")[0], kind))
    for group, kind in {*UNIT_KINDS, *NAMESPACE_KINDS}:
        if (group, kind) not in had:
            # a kind of the core group is always there; of others the cluster knows the version
            version = "" if group else "v1"
            parts[f"{group or version} {kind}"] = Part(
                group or version, kind, pick, labels=OURS, optional=bool(group)
            )
    return parts


def _unseen(listed: Mapping[str, Listed[Any]], git: GitSide) -> Iterator[Missing]:
    for part in listed.values():
        if part.failed is not None:
            yield part.failed
            continue
        # where one may not look everywhere, what Git has can still be seen; extras elsewhere not
        unread = [why for name, why in part.unread.items() if name or git.whole]
        yield from unread


@dataclass(slots=True)
class _Asking:
    """What no list had, asked for again: it may have lost our labels."""

    objects: Objects
    git: GitSide
    pick: Pick

    def all(self, ids: list[ObjectId]) -> Iterator[tuple[ObjectId, _Found | Missing]]:
        by_kind: dict[tuple[str, str], list[ObjectId]] = {}
        for id in ids:
            by_kind.setdefault((str(self.git.objects[id].item["apiVersion"]), id.kind), []).append(
                id
            )
        few = [id for found in by_kind.values() if len(found) <= FEW for id in found]
        with ThreadPoolExecutor(WORKERS, thread_name_prefix="get") as pool:
            yield from zip(few, pool.map(self._one, few), strict=True)
        many = {kind: found for kind, found in by_kind.items() if len(found) > FEW}
        yield from self._listed(many)

    def _one(self, id: ObjectId) -> _Found | Missing:
        item = self.git.objects[id].item
        try:
            found = self.objects.get(str(item["apiVersion"]), id.kind, id.name, id.namespace)
        except KubeError as error:
            return missing(error)
        return self._held_against(id, found)

    def _listed(
        self, kinds: Mapping[tuple[str, str], list[ObjectId]]
    ) -> Iterator[tuple[ObjectId, _Found | Missing]]:
        """Many of a kind: all of that kind, whatever its labels."""
        parts = {
            " ".join(kind): Part(*kind, self._only(frozenset(ids))) for kind, ids in kinds.items()
        }
        listed = self.objects.lists(parts, self.git.namespaces) if parts else {}
        for kind, ids in kinds.items():
            part = listed[" ".join(kind)]
            there = {one.id: one for one in part.items}
            for id in ids:
                unread = part.missing(id.namespace)
                yield id, unread or there.get(id) or self._held_against(id, None)

    def _only(self, ids: frozenset[ObjectId]) -> Pick:
        return lambda item: self.pick(item) if identity(item) in ids else None

    def _held_against(self, id: ObjectId, found: Object | None) -> _Found:
        if found is None:
            return _Found(id, absent(self.git.objects[id].item))
        return self.pick(found) or _Found(id)


class Cluster:
    """A cluster, asked through its API."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def lists(
        self, parts: Mapping[str, Part[Any]], namespaces: Iterable[str]
    ) -> Mapping[str, Listed[Any]]:
        try:
            self._kube.resource("v1", "Service")
        except KubeError as error:
            if not error.status:  # nobody answers: who asks for every kind waits for each of them
                return dict.fromkeys(parts, Listed(failed=missing(error)))
        return list_parts(self._kube, parts, namespaces)

    def get(self, api_version: str, kind: str, name: str, namespace: str) -> Object | None:
        return self._kube.get(api_version, kind, name, namespace)
