"""The plan: frozen values that can be printed, stored and compiled again without the specs.

A Release says how one version runs, free of any environment; it becomes a release folder.
A UnitPlan says what one unit is on one cluster; it is stored as ``unit.yaml`` and is, with the
ledger, all that is needed to write the unit's overlay again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.reach import Call, Fence, Outbound
from gati_gitops.spec.workload import RunningWorkload

FORMAT = 1
"""Version of the stored form; a reader refuses a number it does not know."""


@dataclass(frozen=True, slots=True)
class Added:
    """An object that a user's template made."""

    template: str
    object: dict[str, Any]

    @property
    def identity(self) -> tuple[str, str, str]:
        """Group, kind and name: what no two objects of a namespace share."""
        group, slash, _ = self.object["apiVersion"].rpartition("/")
        return (group if slash else "", self.object["kind"], self.object["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class ResolvedProbe:
    """A probe with nothing left to default."""

    kind: str
    type: str
    path: str
    port: int
    initial_delay: int
    period: int
    timeout: int
    failures: int
    service: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """One version as its spec describes it, with all defaults filled in."""

    unit: UnitId
    version: str
    digest: str
    files: tuple[str, ...]
    project: str
    port_name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    workload: RunningWorkload
    resources: dict[str, dict[str, str]]
    env: tuple[tuple[str, str], ...]
    probes: tuple[ResolvedProbe, ...]
    writable: tuple[tuple[str, str, str], ...]
    """Volume name, path and size of folders that can be written."""
    pull_policy: str
    priority_class: str = ""
    runtime_class: str = ""
    calls: tuple[Call, ...] = ()
    added: tuple[Added, ...] = ()
    """Objects that templates made."""
    metrics_port: int = 0
    """Where metrics are read, if not on the port itself; Prometheus finds only declared ports."""

    @property
    def name(self) -> str:
        return self.unit.version_name(self.version)


@dataclass(frozen=True, slots=True)
class Scaling:
    """How many pods, and who decides it."""

    type: str = "none"
    replicas: int = 1
    min: int = 1
    max: int = 1
    metrics: tuple[dict[str, Any], ...] = ()
    behavior: dict[str, Any] | None = None
    polling: int = 30
    cooldown: int = 300

    @property
    def owned(self) -> bool:
        """Whether a scaler owns the number of pods, so that Git must not name it."""
        return self.type != "none"

    @property
    def floor(self) -> int:
        """The fewest pods that may be there."""
        return self.min if self.owned else self.replicas

    def at_least(self, pods: int) -> Scaling:
        """The same, with no fewer pods than that."""
        if pods <= self.floor:
            return self
        if not self.owned:
            return replace(self, replicas=pods)
        return replace(self, min=pods, max=max(self.max, pods))


@dataclass(frozen=True, slots=True)
class PlannedVersion:
    """One version of a unit on one cluster."""

    id: str
    name: str
    digest: str
    release: str
    image: str
    port: int
    weight: int | None
    breaking: bool
    scaling: Scaling
    files: tuple[str, ...]
    transformers: tuple[str, ...] = ()
    patches: tuple[dict[str, Any], ...] = ()
    images: tuple[dict[str, str], ...] = ()
    extras: tuple[dict[str, Any], ...] = ()
    """Objects that only this environment has."""
    variant: str = ""
    """Digest of the spec as this environment changes it; empty where it does not."""
    calls: tuple[Call, ...] = ()
    egress: tuple[Outbound, ...] = ()
    open: bool = False
    """Whether every pod of the cluster may call it."""
    gone: bool = False
    """The specs no longer have it; it is kept for the sake of the ledger."""

    @property
    def key(self) -> tuple[str, str]:
        return (self.id, self.digest)


@dataclass(frozen=True, slots=True)
class Route:
    """What requests a unit answers, and through which door."""

    path: str
    hosts: tuple[str, ...]
    provider: str
    gateway: str
    gateway_namespace: str
    section: str = ""
    namespace: str = ""
    """Where the route lives; empty: beside its Services."""
    gateways: tuple[str, ...] = ()
    """Istio: the Gateways, as namespace/name."""
    entry_points: tuple[str, ...] = ()
    """Traefik: the ports it listens on, by name."""
    ingress_class: str = ""
    tls_secret: str = ""
    beside: tuple[str, ...] = ()
    """Stronger paths of other units, where the provider itself would not let them win."""


@dataclass(frozen=True, slots=True)
class Scraped:
    """How Prometheus reads a unit's metrics."""

    kind: str
    path: str
    port: int
    port_name: str
    """The name of the port, when the Service has it; else the number counts."""
    interval: int
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """One unit on one cluster: what the specs want there."""

    unit: UnitId
    environment: str
    cluster: str
    project: str
    source: str
    target: str
    route: Route | None
    versions: tuple[PlannedVersion, ...]
    labels: dict[str, str] = field(default_factory=dict)
    scraped: Scraped | None = None
    fence: Fence | None = None
    """None: no NetworkPolicy."""
    added: tuple[Added, ...] = ()
    """Objects of the unit as a whole that templates made."""
    next: UnitPlan | None = None
    """What the specs say, where it may not be followed yet: while held, for instance."""

    @property
    def wanted(self) -> UnitPlan | None:
        """What the specs said last; None when they no longer have the unit."""
        if self.next is not None:
            return self.next
        versions = tuple(version for version in self.versions if not version.gone)
        return replace(self, versions=versions) if versions else None

    @property
    def releases(self) -> frozenset[str]:
        """Every release folder that it may need, by name."""
        more = self.next.versions if self.next is not None else ()
        names = (version.release for version in (*self.versions, *more))
        return frozenset(name for name in names if name)

    def version(self, id: str, digest: str) -> PlannedVersion | None:
        return next((v for v in self.versions if v.key == (id, digest)), None)

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(file for version in self.versions for file in version.files))
