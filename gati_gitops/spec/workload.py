"""How one version runs: the part that handlers, modules and versions have in common.

All of it is optional except where the published CRDs ask for it, so an old document stays valid.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from gati_gitops.spec.common import (
    DnsLabel,
    DnsSubdomain,
    EnvName,
    Hostname,
    Image,
    LabelKey,
    LabelValue,
    Model,
    MountPath,
    Port,
    Quantity,
    Replicas,
    Seconds,
    quantity,
)
from gati_gitops.spec.monitoring import Metrics
from gati_gitops.spec.network import Egress, ModuleRef

# Series that exist only while pods do: the runtime's own, and what describes containers.
OF_PODS = "(^|[^a-zA-Z0-9_:])(gati[_:]|nodejs_|process_|container_|kube_pod_)"

Percent = Annotated[int, Field(ge=1, le=1000)]


class ResourceList(Model):
    """Amounts of compute."""

    cpu: Quantity | None = None
    memory: Quantity | None = None
    ephemeral_storage: Quantity | None = Field(None, alias="ephemeral-storage")


class Resources(Model):
    """What a pod asks for and what it may use."""

    requests: ResourceList | None = None
    limits: ResourceList | None = None

    @model_validator(mode="after")
    def _requests_fit_limits(self) -> Self:
        for name in ("cpu", "memory", "ephemeral_storage"):
            low = getattr(self.requests, name, None)
            high = getattr(self.limits, name, None)
            if low and high and quantity(low) > quantity(high):
                raise ValueError(
                    f"the {name} request {low} is above its limit {high}; raise the limit"
                )
        return self


class EnvRef(Model):
    """One environment variable whose value lives in the cluster."""

    secret: DnsSubdomain | None = Field(None, description="name of a Secret")
    config_map: DnsSubdomain | None = Field(None, description="name of a ConfigMap")
    key: str | None = Field(None, pattern=r"^[-._a-zA-Z0-9]+$", max_length=253)
    field: str | None = Field(None, description="a pod field such as status.podIP", max_length=253)
    optional: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if [self.secret, self.config_map, self.field].count(None) != 2:
            raise ValueError("name exactly one of secret, configMap and field; keep one")
        if self.field is None and self.key is None:
            raise ValueError("a secret or configMap reference needs a key; add key")
        return self


class EnvSource(Model):
    """All keys of a Secret or ConfigMap as environment variables."""

    secret: DnsSubdomain | None = None
    config_map: DnsSubdomain | None = None
    prefix: str = Field("", pattern=r"^([-._a-zA-Z][-._a-zA-Z0-9]*)?$", max_length=253)
    optional: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.secret is None) == (self.config_map is None):
            raise ValueError("name exactly one of secret and configMap; keep one")
        return self


ProbeType = Literal["http", "tcp", "grpc", "none"]


class Probe(Model):
    """One probe; what is left out comes from the probes' common part, then from the defaults."""

    type: ProbeType | None = None
    path: str | None = Field(None, pattern=r"^/", max_length=1024)
    service: str | None = Field(None, max_length=253, description="grpc: which service is asked")
    port: Port | None = None
    initial_delay_seconds: Annotated[int, Field(ge=0, le=86400)] | None = None
    period_seconds: Seconds | None = None
    timeout_seconds: Seconds | None = None
    failure_threshold: Annotated[int, Field(ge=1, le=1000)] | None = None


class Probes(Probe):
    """How the cluster learns that a pod is alive: common settings, and each probe on its own."""

    startup: Probe | None = None
    readiness: Probe | None = None
    liveness: Probe | None = None


class Metric(Model):
    """One signal that a scaler follows."""

    type: Literal["cpu", "memory", "pods", "external", "prometheus", "cron"]
    utilization: Percent | None = Field(None, description="cpu, memory: percent of the request")
    name: str | None = Field(None, max_length=253, description="pods, external: metric name")
    selector: dict[LabelKey, LabelValue] = Field(default_factory=dict, max_length=16)
    target: Quantity | None = Field(None, description="pods, external, prometheus: value per pod")
    query: str | None = Field(None, max_length=4096, description="prometheus: one number")
    server_address: str | None = Field(None, pattern=r"^https?://", max_length=2048)
    activation: Quantity | None = None
    timezone: str | None = Field(None, max_length=64)
    start: str | None = Field(None, max_length=128)
    end: str | None = Field(None, max_length=128)
    replicas: Annotated[int, Field(ge=1, le=10000)] | None = None

    @property
    def wakes(self) -> bool:
        """Whether it says something while there are no pods."""
        if self.type == "prometheus":
            return not re.search(OF_PODS, self.query or "")
        return self.type in ("cron", "external")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needs = {
            "cpu": ("utilization",),
            "memory": ("utilization",),
            "pods": ("name", "target"),
            "external": ("name", "target"),
            "prometheus": ("query", "target"),
            "cron": ("timezone", "start", "end", "replicas"),
        }[self.type]
        missing = [name for name in needs if getattr(self, name) is None]
        if missing:
            needed = " and ".join(missing)
            raise ValueError(f"a {self.type} metric needs {needed}; add what is missing")
        return self


class ScalePolicy(Model):
    """At most so much change in so much time."""

    type: Literal["Pods", "Percent"]
    value: Annotated[int, Field(ge=1, le=2147483647)]
    period_seconds: Annotated[int, Field(ge=1, le=1800)]


class ScaleRules(Model):
    """How fast a scaler may move in one direction."""

    stabilization_window_seconds: Annotated[int, Field(ge=0, le=3600)] | None = None
    select_policy: Literal["Max", "Min", "Disabled"] | None = None
    policies: list[ScalePolicy] = Field(default_factory=list, max_length=16)


class ScaleBehavior(Model):
    """Both directions."""

    scale_up: ScaleRules | None = None
    scale_down: ScaleRules | None = None


class Autoscaling(Model):
    """Who owns the number of pods: nobody, an HPA or a KEDA ScaledObject."""

    type: Literal["none", "hpa", "keda"] = "hpa"
    min: Replicas | None = Field(None, description="default: the spec's replicas")
    max: Annotated[int, Field(ge=1, le=10000)] | None = Field(
        None, description="default: three times the minimum"
    )
    metrics: list[Metric] = Field(default_factory=list, max_length=16)
    behavior: ScaleBehavior | None = None
    warm_floor: Replicas | None = Field(
        None, description="never fewer pods than this, however quiet: a warm pool"
    )
    polling_interval_seconds: Seconds | None = None
    cooldown_seconds: Annotated[int, Field(ge=0, le=86400)] | None = None

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        low = max(self.min or 0, self.warm_floor or 0)
        if self.max is not None and low > self.max:
            raise ValueError(f"the floor {low} is above max {self.max}; raise max")
        if self.type == "hpa":
            if self.min == 0 and not self.warm_floor:
                raise ValueError("an HPA cannot go to 0; use type keda, or min 1")
            other = [m.type for m in self.metrics if m.type in ("prometheus", "cron")]
            if other:
                raise ValueError(f"an HPA cannot follow a {other[0]} metric; use type keda")
        if self.type == "keda":
            if self.min == 0 and not self.warm_floor and not any(m.wakes for m in self.metrics):
                raise ValueError(
                    "at 0 pods nothing would ever wake it: its metrics come from the pods"
                    " themselves; add a metric of the gateway or a cron metric, or set min 1"
                )
            wrong = [m.type for m in self.metrics if m.type in ("pods", "external")]
            if wrong:
                raise ValueError(f"a ScaledObject cannot follow a {wrong[0]} metric; use hpa")
        return self


class Volume(Model):
    """A mounted folder; exactly one source."""

    name: DnsLabel
    mount_path: MountPath
    read_only: bool | None = None
    sub_path: str | None = Field(None, max_length=1024)
    empty_dir: EmptyDir | None = None
    config_map: DnsSubdomain | None = None
    secret: DnsSubdomain | None = None
    claim: DnsSubdomain | None = Field(None, description="name of a PersistentVolumeClaim")
    files: dict[Annotated[str, Field(pattern=r"^[-._a-zA-Z0-9]+$", max_length=253)], str] | None = (
        Field(
            None, max_length=64, description="file name to text; becomes a ConfigMap of the version"
        )
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = [self.empty_dir, self.config_map, self.secret, self.claim, self.files]
        if sources.count(None) != len(sources) - 1:
            raise ValueError(
                "name exactly one of emptyDir, configMap, secret, claim and files; keep one"
            )
        return self


class EmptyDir(Model):
    """Scratch space that lives as long as the pod."""

    size_limit: Quantity | None = None
    medium: Literal["", "Memory"] = ""


Volume.model_rebuild()


class Toleration(Model):
    """A taint that the pods put up with."""

    key: LabelKey | None = None
    operator: Literal["Exists", "Equal"] = "Equal"
    value: LabelValue | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    toleration_seconds: Annotated[int, Field(ge=0, le=2147483647)] | None = None


class Placement(Model):
    """Where pods may run."""

    node_selector: dict[LabelKey, LabelValue] = Field(default_factory=dict, max_length=64)
    tolerations: list[Toleration] = Field(default_factory=list, max_length=32)
    priority_class: DnsSubdomain | None = None
    runtime_class: DnsSubdomain | None = None


class ServiceAccount(Model):
    """Whose rights the pods have; by default an account of their own without any."""

    name: DnsSubdomain | None = Field(None, description="an account that exists already")
    annotations: dict[LabelKey, str] = Field(default_factory=dict, max_length=64)
    token: bool = Field(False, description="mount an API token")


class Drain(Model):
    """How a pod leaves: wait until routers have noticed, then finish what is running."""

    delay_seconds: Annotated[int, Field(ge=0, le=3600)] = 15
    request_seconds: Annotated[int, Field(ge=1, le=86400)] = 30


class Security(Model):
    """The identity inside the container and what it may write."""

    run_as_user: Annotated[int, Field(ge=1, le=2147483647)] = 1001
    run_as_group: Annotated[int, Field(ge=1, le=2147483647)] = 1001
    read_only_root: bool = True
    writable_paths: list[MountPath] = Field(default_factory=list, max_length=32)


class Workload(Model):
    """Every optional setting of a running version."""

    resources: Resources | None = None
    env: dict[EnvName, str] = Field(default_factory=dict, description="variables and their values")
    env_refs: dict[EnvName, EnvRef] = Field(
        default_factory=dict,
        max_length=256,
        description="variables that come from a Secret, ConfigMap or pod field",
    )
    env_from: list[EnvSource] = Field(
        default_factory=list, max_length=32, description="whole Secrets and ConfigMaps as variables"
    )
    probes: Probes | None = None
    autoscaling: Autoscaling | None = None
    volumes: list[Volume] = Field(
        default_factory=list, max_length=32, description="folders mounted into the container"
    )
    placement: Placement | None = None
    service_account: ServiceAccount | None = None
    drain: Drain | None = None
    security: Security | None = None
    hosts: list[Hostname] = Field(
        default_factory=list, max_length=16, description="host names of the route"
    )
    command: list[str] = Field(
        default_factory=list, max_length=64, description="in place of the image's entrypoint"
    )
    args: list[str] = Field(
        default_factory=list, max_length=256, description="in place of the image's arguments"
    )
    image_pull_secrets: list[DnsSubdomain] = Field(
        default_factory=list, max_length=16, description="Secrets that open the registry"
    )
    metrics: Metrics | None = Field(None, description="where Prometheus reads its metrics")
    modules: list[ModuleRef] = Field(
        default_factory=list, max_length=64, description="modules that it calls: [namespace/]name"
    )
    egress: list[Egress] = Field(
        default_factory=list, max_length=32, description="what else it calls; the rest is closed"
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(
        None, description="when a node pulls the image"
    )

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        twice = sorted(self.env.keys() & self.env_refs.keys())
        if twice:
            raise ValueError(f"{twice[0]} is set in env and in envRefs; keep one")
        for what, names in (
            ("volume name", [volume.name for volume in self.volumes]),
            ("mount path", [volume.mount_path for volume in self.volumes]),
        ):
            again = sorted({name for name in names if names.count(name) > 1})
            if again:
                raise ValueError(f"the {what} {again[0]} is used twice; change one")
        return self


class RunningWorkload(Workload):
    """A workload that says what runs, as handlers and modules must."""

    replicas: Replicas = Field(description="number of pods; with an autoscaler, the least")
    image: Image = Field(description="the image that runs; it never changes under one version")
    port: Port = Field(description="port that the container listens on")


class Defaults(Model):
    """What holds for units that do not say it themselves."""

    resources: Resources | None = None
    priority_class: DnsSubdomain | None = None
    wasm_runtime_class: DnsSubdomain | None = Field(
        None, description="RuntimeClass of modules of type wasm"
    )


def override(base: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """``patch`` laid over ``base``: maps merge, null deletes, everything else replaces."""
    merged = dict(base)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = override(merged[key], value)
        elif isinstance(value, dict):
            merged[key] = override({}, value)
        else:
            merged[key] = value
    return merged
