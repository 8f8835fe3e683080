"""One look at a cluster: every unit as it is there, or why that is not known.

A look asks for whole lists and takes the units out of them, so that it costs the same for one unit
as for a thousand. What is in a list is there, what is not in it is not; what could not be listed is
neither, and says so for exactly the units that it is about.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from gati_gitops.decide.observation import Engine, Gap, Live, LiveRoute, Missing, Workload
from gati_gitops.ledger.stored import Stored
from gati_gitops.observe import live_workloads as live
from gati_gitops.observe import references as refs
from gati_gitops.observe.cluster_events import latest, warnings_of
from gati_gitops.observe.cluster_lists import Listed, Part, list_part, list_parts
from gati_gitops.observe.engines import Engines
from gati_gitops.observe.kube import Kube, KubeError
from gati_gitops.observe.live_revisions import Built, releases, revised
from gati_gitops.observe.live_routes import KINDS, Identity, live_route, own_routes
from gati_gitops.observe.wanted import Wanted
from gati_gitops.output import UnitKey
from gati_gitops.plan.model import UnitPlan
from gati_gitops.plan.naming import UNIT_LABEL, slug

Object = dict[str, Any]
_ESSENTIAL = ("deployments", "pods", "slices")
SOURCE = "the cluster"


@dataclass(frozen=True, slots=True)
class _Named:
    """A route or Service: whom it names, and the whole of it if it may be one of ours."""

    naming: refs.Naming | None
    ours: Object | None


class Cluster:
    """One cluster, seen through its API."""

    def __init__(
        self,
        kube: Kube,
        engines: Engines | None = None,
        *,
        built: Built | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``built`` says what Git wants of a unit; without it revisions are not told apart."""
        self._kube = kube
        self._engines = engines
        self._built = built
        self._clock = clock

    def look(self, wanted: Wanted) -> Mapping[UnitKey, Live | Missing] | Missing:
        """Every unit that is wanted. Never raises for what the cluster does."""
        at = self._clock()
        if not wanted.units:
            return {}
        namespaces = _namespaces(wanted)
        parts = self._parts(wanted)
        with ThreadPoolExecutor(1, thread_name_prefix="engine") as pool:
            engine = pool.submit(self._engine, wanted, at)
            listed = list_parts(self._kube, parts, namespaces)
            engines = engine.result()
        for name in _ESSENTIAL:
            if (failed := listed[name].failed) is not None:
                return failed
        syncs = self._engines.engine if self._engines is not None else ""
        revisions = partial(releases, built=self._built, engine=syncs) if self._built else None
        return _Look(self._kube, wanted, listed, engines, at, revisions).units()

    def _engine(self, wanted: Wanted, at: float) -> Mapping[UnitKey, Engine | Missing] | Missing:
        if self._engines is None:
            return Missing(Gap.UNSUPPORTED, "no sync engine is configured")
        return self._engines.look(wanted.units, at)

    def _parts(self, wanted: Wanted) -> dict[str, Part[Any]]:
        syncs = self._engines.engine if self._engines is not None else ""
        deployment = partial(live.deployment, engine=syncs)
        slices = "discovery.k8s.io/v1", "EndpointSlice", live.endpoint_slice
        parts: dict[str, Part[Any]] = {
            "deployments": Part(
                "apps/v1", "Deployment", deployment, UNIT_LABEL, shape=live.DeploymentShape
            ),
            "pods": Part("v1", "Pod", live.pod, UNIT_LABEL, shape=live.PodShape),
            "slices": Part(*slices, UNIT_LABEL, shape=live.SliceShape),
            "Service": _route("v1", "Service"),
        }
        for group, kind in refs.KINDS:
            parts[kind] = _route(group, kind, optional=True)
        # what our own routes are made of must be there, in the version that we write
        for provider in {s.plan.route.provider for s in wanted.units.values() if s.plan.route}:
            for api_version, kind in KINDS[provider]:
                parts[kind] = _route(api_version, kind)
        return parts


def _route(api_version: str, kind: str, *, optional: bool = False) -> Part[_Named]:
    return Part(api_version, kind, _named, shape=refs.Shape, optional=optional)


def _named(item: Object) -> _Named | None:
    ours = item if UNIT_LABEL in (item["metadata"].get("labels") or {}) else None
    naming = refs.naming(item)
    return _Named(naming, ours) if naming is not None or ours is not None else None


def _namespaces(wanted: Wanted) -> set[str]:
    found = {namespace for namespace, _ in wanted.units}
    routes = (stored.plan.route for stored in wanted.units.values())
    return found | {route.namespace for route in routes if route is not None and route.namespace}


class _Look:
    """Lists, turned into units."""

    def __init__(
        self,
        kube: Kube,
        wanted: Wanted,
        listed: Mapping[str, Listed[Any]],
        engines: Mapping[UnitKey, Engine | Missing] | Missing,
        at: float,
        revisions: Callable[..., Mapping[str, str]] | None,
    ) -> None:
        self._kube = kube
        self._wanted = wanted
        self._listed = listed
        self._engines = engines
        self._at = at
        self._revisions = revisions
        parts = (listed[name].items for name in _ESSENTIAL)
        self._workloads = live.workloads(*parts)
        self._objects = self._ours()
        self._own = {key: own_routes(s.plan, self._objects) for key, s in wanted.units.items()}
        self._references = self._named_elsewhere()
        self._warnings = self._told()

    def units(self) -> dict[UnitKey, Live | Missing]:
        return {key: self._unit(key, stored) for key, stored in self._wanted.units.items()}

    def _unit(self, key: UnitKey, stored: Stored) -> Live | Missing:
        namespace = key[0]
        for name in _ESSENTIAL:
            if (unread := self._listed[name].missing(namespace)) is not None:
                return unread
        plan = stored.plan
        workloads: dict[str, Workload] = {}
        held: list[str] = []
        releases = self._releases(key, stored)
        for version in plan.versions:
            at = (namespace, plan.unit.object_name, slug(version.id))
            warnings = self._warnings.get((namespace, version.name), ())
            release = releases.get(version.name, "")
            workload = self._workloads.of(at, version.name, warnings, release)
            if workload is not None:
                workloads[version.name] = workload
            deployment = self._workloads.deployments.get((namespace, version.name))
            held += [deployment.held] if deployment is not None else []
        held += [live.held_by(item) for item in self._own[key]]
        references = self._references
        return Live(
            at=self._at,
            workloads=workloads,
            route=self._route(key, plan),
            references=references
            if isinstance(references, Missing)
            else {v.name: references.get((namespace, v.name), ()) for v in plan.versions},
            engine=self._engine(key),
            frozen=next(filter(None, held), ""),
        )

    def _engine(self, key: UnitKey) -> Engine | Missing:
        if isinstance(self._engines, Missing):
            return self._engines
        return self._engines.get(key, Missing(Gap.NO_DATA, "no engine syncs it", "the engine"))

    def _route(self, key: UnitKey, plan: UnitPlan) -> LiveRoute | Missing | None:
        route = plan.route
        if route is None:
            kinds, namespace = (["Service"] if plan.unit.kind == "module" else []), key[0]
        else:
            kinds = [kind for _, kind in KINDS[route.provider]]
            namespace = route.namespace or key[0]
        for kind in kinds:
            if (unread := self._listed[kind].missing(namespace)) is not None:
                return unread
        return live_route(plan, self._own[key])

    def _releases(self, key: UnitKey, stored: Stored) -> Mapping[str, str]:
        """Which revisions run, where there are two of a version. Few do, so each is asked for."""
        if self._revisions is None:
            return {}
        items: dict[str, Object] = {}
        for name in revised(stored):
            try:
                item = self._kube.get("apps/v1", "Deployment", name, key[0])
            except KubeError:
                continue  # not told is not the new one
            if item is not None:
                items[name] = item
        return self._revisions(key, stored, items)

    # ------------------------------------------------------------------------------ indexes

    def _ours(self) -> dict[Identity, Object]:
        """Objects that may be ours, by kind, namespace and name."""
        found: dict[Identity, Object] = {}
        for name, part in self._listed.items():
            if name in _ESSENTIAL:
                continue
            for one in part.items:
                if one.ours is not None:
                    head = one.ours["metadata"]
                    found[name, str(head.get("namespace", "")), str(head["name"])] = one.ours
        return found

    def _named_elsewhere(self) -> dict[refs.Service, tuple[str, ...]] | Missing:
        """Who names a version; unknown unless every kind was read in every namespace."""
        namings: list[refs.Naming] = []
        for name, part in self._listed.items():
            if name in _ESSENTIAL:
                continue
            if (unread := part.missing("")) is not None:
                return unread
            namings += [one.naming for one in part.items if one.naming is not None]
        return refs.references(self._targets(), namings)

    def _targets(self) -> list[refs.Target]:
        found = []
        for key, stored in self._wanted.units.items():
            routes = [_identity(item) for item in self._own[key]]
            for version in stored.plan.versions:
                deployment = self._workloads.deployments.get((key[0], version.name))
                own = frozenset((*routes, ("Service", key[0], version.name)))
                labels = deployment.labels if deployment is not None else {}
                found.append(refs.Target((key[0], version.name), labels, own))
        return found

    def _told(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """Warnings about Deployments that lack pods, and about their pods."""
        lacking = {
            (d.namespace, d.name)
            for d in self._workloads.deployments.values()
            if d.ready < d.desired
        }
        if not lacking:
            return {}
        events = list_part(self._kube, warnings_of(lacking), {name for name, _ in lacking})
        return latest(events.items)


def _identity(item: Object) -> Identity:
    head = item["metadata"]
    return (str(item["kind"]), str(head.get("namespace", "")), str(head["name"]))
