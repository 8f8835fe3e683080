"""From linked documents to plans: what one cluster should have of each unit.

A release is compiled once, from the documents without any environment. What an environment changes
is the difference between that and the same version built with the environment's partial documents.
The builders are handed in, because turning a Release into objects is the next stage's work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from gati_gitops.plan import defaults
from gati_gitops.plan.calls import Around, Directory, calls, directory, egress, fence
from gati_gitops.plan.capabilities import open_to_all
from gati_gitops.plan.doors import Doors
from gati_gitops.plan.model import PlannedVersion, Release, Route, Scaling, Scraped, UnitPlan
from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.reach import Fence
from gati_gitops.plan.releases import port_name, release, user_labels
from gati_gitops.spec.link import LinkedUnit, LinkedVersion
from gati_gitops.spec.monitoring import Metrics
from gati_gitops.spec.project import Environment, GatiProject
from gati_gitops.spec.routing import IngressNginx, Routing
from gati_gitops.spec.workload import RunningWorkload

if TYPE_CHECKING:
    from gati_gitops.plan.templates.render import Templates


class Folder(Protocol):
    """A release that has been written out; its name is all that a plan needs."""

    @property
    def name(self) -> str: ...


class Builder(Protocol):
    """How releases become objects and files."""

    def build(self, release: Release) -> Any:
        """The objects of a release."""

    def folder(self, release: Release, objects: Any) -> Folder:
        """The release folder that holds them."""

    def difference(
        self, base: Any, wanted: Any
    ) -> tuple[tuple[dict[str, Any], ...], tuple[dict[str, Any], ...]]:
        """Patches and extra objects that turn ``base`` into ``wanted``."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A release and what it was compiled to."""

    release: Release
    linked: LinkedVersion
    objects: Any
    folder: Folder


@dataclass(slots=True)
class Planner:
    """Plans units, remembering each release so that it is compiled once for all clusters."""

    project: GatiProject
    source: str
    builder: Builder
    releases: dict[tuple[UnitId, str], Compiled] = field(default_factory=dict)
    fences: dict[tuple[str, str], Fence | None] = field(default_factory=dict)
    templates: Templates | None = None
    modules: Directory = field(default_factory=dict)
    """Modules that are known though their documents are not among the units."""

    def compile_releases(self, units: tuple[LinkedUnit, ...]) -> None:
        """Compile every version that knows how it runs."""
        around = self.around(units)
        for unit in units:
            for version in unit.versions:
                if version.workload is None:
                    continue
                made = release(unit, version, self.project.metadata.name, around)
                objects = self.builder.build(made)
                folder = self.builder.folder(made, objects)
                self.releases[made.unit, version.id] = Compiled(made, version, objects, folder)

    def around(self, units: Iterable[LinkedUnit]) -> Around:
        """What releases take from elsewhere than their own documents."""
        modules = {**self.modules, **directory(units)}
        return Around(modules, self.project.spec.defaults, self.templates)

    def plan(
        self,
        unit: LinkedUnit,
        env: str,
        cluster: str,
        doors: Doors | None = None,
        around: Around | None = None,
    ) -> UnitPlan:
        """One unit as the specs want it on one cluster, beside what else is served there."""
        settings = self.project.spec.environments[env]
        identity = UnitId(unit.namespace, unit.kind, unit.name)
        hosts = unit.doc.model.spec.hosts or routing(settings, cluster).hosts
        return UnitPlan(
            unit=identity,
            environment=env,
            cluster=cluster,
            project=self.project.metadata.name,
            source=self.source,
            target=unit.target,
            route=route(unit, settings, cluster, doors),
            versions=tuple(
                self._version(unit, identity, version, settings, around or Around())
                for version in unit.versions
            ),
            labels=user_labels(unit),
            scraped=self._scraped(unit),
            fence=self._fence(unit, env, cluster),
            added=self.templates.of_unit(unit, env, cluster, hosts) if self.templates else (),
        )

    def _scraped(self, unit: LinkedUnit) -> Scraped | None:
        """How the unit's metrics are read, where the project has monitoring."""
        monitoring = self.project.spec.monitoring
        own = unit.doc.model.spec.metrics
        if own is None and unit.module is not None and unit.module.module_type != "node":
            return None  # the runtime is not in it, so nobody knows what it serves
        own = own or Metrics()
        if monitoring is None or not own.scrape:
            return None
        port: int = unit.doc.model.spec.port
        named = own.port in (None, port)
        return Scraped(
            monitoring.kind,
            own.path,
            own.port or port,
            port_name(unit.module) if named else "",
            monitoring.interval_seconds,
            dict(sorted(monitoring.labels.items())),
        )

    def _scaling(self, workload: RunningWorkload, tier: str) -> Scaling:
        """The number of pods; metrics are asked of the Prometheus that the project has."""
        found, monitoring = defaults.scaling(workload, tier), self.project.spec.monitoring
        if monitoring is None or not found.metrics:
            return found
        address = f"http://prometheus-operated.{monitoring.namespace}.svc:9090"
        metrics = (
            {**metric, "serverAddress": metric.get("serverAddress", address)}
            if metric["type"] == "prometheus"
            else metric
            for metric in found.metrics
        )
        return replace(found, metrics=tuple(metrics))

    def _fence(self, unit: LinkedUnit, env: str, cluster: str) -> Fence | None:
        key = (env, cluster)
        if key not in self.fences:
            settings = self.project.spec.environments[env]
            self.fences[key] = fence(self.project, env, routing(settings, cluster))
        found, metrics = self.fences[key], unit.doc.model.spec.metrics
        if found is not None and metrics is not None and not metrics.scrape:
            return replace(found, monitoring="")
        return found

    def _version(
        self,
        unit: LinkedUnit,
        identity: UnitId,
        version: LinkedVersion,
        settings: Environment,
        around: Around,
    ) -> PlannedVersion:
        known = self.releases.get((identity, version.id))
        if known is None or version.workload is None:
            return PlannedVersion(
                version.id, identity.version_name(version.id), "", "", "", 0, version.weight,
                version.breaking, Scaling(), version.files, version.transformers,
            )  # fmt: skip
        patches: tuple[dict[str, Any], ...] = ()
        extras: tuple[dict[str, Any], ...] = ()
        variant = ""
        labels = user_labels(unit)
        called = calls(unit, version, around.modules)
        same = version is known.linked
        added = known.release.added if same else around.added(unit, version)
        if (labels, called, added) != (
            known.release.labels,
            known.release.calls,
            known.release.added,
        ) or (version.workload is not known.linked.workload and version.data != known.linked.data):
            wanted = release(unit, version, self.project.metadata.name, around)
            patches, extras = self.builder.difference(known.objects, self.builder.build(wanted))
            variant = wanted.digest if wanted.digest != known.release.digest else ""
        return PlannedVersion(
            id=version.id,
            name=known.release.name,
            digest=known.release.digest,
            release=known.folder.name,
            image=version.workload.image,
            port=version.workload.port,
            weight=version.weight,
            breaking=version.breaking,
            scaling=self._scaling(version.workload, version.tier),
            files=version.files,
            transformers=version.transformers,
            patches=patches,
            images=mirrored(version.workload.image, settings.registries),
            extras=extras,
            variant=variant,
            calls=called,
            egress=egress(unit, version),
            open=unit.module is not None and open_to_all(unit.module.capabilities),
        )


def routing(settings: Environment, cluster: str) -> Routing:
    """The environment's routing, with what the cluster says itself laid over it."""
    own = settings.clusters[cluster].routing
    if own is None:
        return settings.routing
    said = {name: getattr(own, name) for name in own.model_fields_set}
    return settings.routing.model_copy(update=said)


def route(
    unit: LinkedUnit, settings: Environment, cluster: str, doors: Doors | None = None
) -> Route | None:
    """What requests a unit answers on a cluster."""
    if unit.kind != "handler":
        return None
    way = routing(settings, cluster)
    hosts = unit.doc.model.spec.hosts or way.hosts
    gateway, traefik, nginx = way.gateway, way.traefik, way.ingress_nginx
    found = Route(
        unit.path,
        tuple(hosts),
        way.provider,
        gateway.name,
        gateway.namespace,
        gateway.section or "",
    )
    namespace = way.route_namespace or ""
    if namespace and namespace != unit.namespace:
        found = replace(found, namespace=namespace)
    if way.provider == "istio":
        named = way.istio.gateways if way.istio else []
        found = replace(found, gateways=tuple(named or [f"{gateway.namespace}/{gateway.name}"]))
    elif way.provider == "traefik" and traefik:
        found = replace(
            found,
            entry_points=tuple(traefik.entry_points),
            tls_secret=traefik.tls_secret or "",
        )
    elif way.provider == "ingress-nginx":
        nginx = nginx or IngressNginx()
        found = replace(found, ingress_class=nginx.ingress_class, tls_secret=nginx.tls_secret or "")
    return replace(found, beside=doors.beside(found)) if doors else found


def mirrored(image: str, registries: Mapping[str, str]) -> tuple[dict[str, str], ...]:
    """The registry that serves an image here: the longest prefix wins, whole segments only."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    name = f"{head}{slash}{last.partition(':')[0]}"
    for prefix in sorted(registries, key=len, reverse=True):
        bare = prefix.rstrip("/")
        if name == bare or name.startswith(f"{bare}/"):
            return ({"name": name, "newName": registries[prefix].rstrip("/") + name[len(bare) :]},)
    return ()
