"""What holds where the spec is silent. Each default is stated here and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from gati_gitops.plan.capabilities import STORAGE, STORAGE_SIZE, stores
from gati_gitops.plan.model import ResolvedProbe, Scaling
from gati_gitops.plan.reach import Call
from gati_gitops.plan.timescape import module_name
from gati_gitops.spec.kinds import ModuleSpec
from gati_gitops.spec.link import LinkedVersion
from gati_gitops.spec.workload import Autoscaling, Probe, Probes, Resources, RunningWorkload
from gati_gitops.yamlio.emit import Shared

# Taken whole when a spec gives no resources, as the operator does.
RESOURCES = Shared(
    {
        "requests": {"cpu": "100m", "memory": "128Mi"},
        "limits": {"cpu": "500m", "memory": "512Mi"},
    }
)
CPU_UTILIZATION = 70
MAX_OVER_MIN = 3

# initial delay, period, timeout, failures
_TIMING = {"startup": (0, 5, 3, 30), "readiness": (0, 10, 3, 3), "liveness": (0, 20, 5, 3)}
_WRITABLE = {"handler": ("/tmp", "/app/.gati"), "node": ("/tmp", "/app/.gati")}  # noqa: S108


def resources(
    workload: RunningWorkload, project: Resources | None = None
) -> dict[str, dict[str, str]]:
    """The spec's, else the project's, else ours; each as a whole."""
    given = workload.resources
    if given is None or (given.requests is None and given.limits is None):
        return listed(project) if project is not None else RESOURCES
    return listed(given)


def listed(given: Resources) -> dict[str, dict[str, str]]:
    return {
        name: values
        for name in ("requests", "limits")
        if (part := getattr(given, name)) is not None
        and (values := part.model_dump(by_alias=True, exclude_none=True))
    }


def probes(workload: RunningWorkload, module: ModuleSpec | None) -> tuple[ResolvedProbe, ...]:
    """Startup, readiness and liveness. Handlers serve /health; a module's protocol is its own."""
    common = workload.probes or Probes()
    fallback = "http" if module is None else "tcp"
    found = []
    for kind, timing in _TIMING.items():
        own: Probe = getattr(common, kind) or Probe()

        def pick(name: str, default: Any, own: Probe = own) -> Any:
            for source in (own, common):
                if (value := getattr(source, name)) is not None:
                    return value
            return default

        type_ = pick("type", fallback)
        if type_ == "none":
            continue
        delay, period, timeout, failures = timing
        found.append(
            ResolvedProbe(
                kind,
                type_,
                pick("path", "/health") if type_ == "http" else "",
                pick("port", workload.port),
                pick("initial_delay_seconds", delay),
                pick("period_seconds", period),
                pick("timeout_seconds", timeout),
                pick("failure_threshold", failures),
                pick("service", "") if type_ == "grpc" else "",
            )
        )
    return tuple(found)


def env(
    workload: RunningWorkload,
    version: LinkedVersion,
    module: ModuleSpec | None,
    calls: tuple[Call, ...] = (),
) -> tuple[tuple[str, str], ...]:
    """The runtime's own variables and where modules are, then the spec's, which win."""
    values = {"GATI_VERSION": version.id, "HOST": "0.0.0.0", "PORT": str(workload.port)}  # noqa: S104
    if version.transformers:
        values["GATI_TRANSFORMERS"] = ",".join(map(module_name, version.transformers))
    if module is None or module.module_type == "node":
        values["NODE_ENV"] = "production"
    elif module.module_type == "wasm":
        values["WASM_RUNTIME"] = module.runtime
    for call in calls:
        values |= call.variables
    values = {k: v for k, v in values.items() if k not in workload.env_refs}
    values.update(workload.env)
    return tuple(sorted(values.items()))


def writable(
    workload: RunningWorkload, module: ModuleSpec | None
) -> tuple[tuple[str, str, str], ...]:
    """Scratch folders as (volume name, path, size): the root file system is read-only."""
    sizes: dict[str, str] = {}
    if workload.security is None or workload.security.read_only_root:
        kind = "handler" if module is None else module.module_type
        paths = [*_WRITABLE.get(kind, ("/tmp",))]  # noqa: S108
        paths += workload.security.writable_paths if workload.security else []
        sizes = dict.fromkeys((path.rstrip("/") or "/" for path in paths), "")
    if module is not None and stores(module.capabilities):
        sizes[STORAGE] = STORAGE_SIZE
    taken = {volume.mount_path.rstrip("/") for volume in workload.volumes}
    names = {volume.name for volume in workload.volumes}
    free = (name for n in count(1) if (name := f"writable-{n}") not in names)
    return tuple((next(free), path, size) for path, size in sizes.items() if path not in taken)


def pull_policy(workload: RunningWorkload) -> str:
    return workload.image_pull_policy or pulled(workload.image)


def pulled(image: str) -> str:
    """What the API server would choose, written out so that no engine sees a difference."""
    last = image.rpartition("/")[2]
    pinned = "@" in last or (":" in last and not last.endswith(":latest"))
    return "IfNotPresent" if pinned else "Always"


def scaling(workload: RunningWorkload, tier: str = "hot") -> Scaling:
    """Fixed replicas unless the spec names a scaler; a cooler tier lowers the floor."""
    wanted = workload.autoscaling
    floor = {"hot": workload.replicas, "warm": 1, "cold": 0}[tier]
    replicas = min(workload.replicas, floor)
    if wanted is None or wanted.type == "none":
        return Scaling(replicas=replicas)
    found = _scaler(wanted, workload.replicas)
    if tier == "hot":
        return found
    return replace(found, replicas=replicas, min=max(wanted.warm_floor or 0, min(found.min, floor)))


def _complete(behavior: dict[str, Any]) -> dict[str, Any]:
    """What the API server fills in where a behavior says only a part."""
    percent = {"type": "Percent", "value": 100, "periodSeconds": 15}
    pods = {"type": "Pods", "value": 4, "periodSeconds": 15}
    up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, percent]}
    down = {"selectPolicy": "Max", "policies": [percent]}
    return {
        "scaleUp": {**up, **behavior.get("scaleUp", {})},
        "scaleDown": {**down, **behavior.get("scaleDown", {})},
    }


def _scaler(wanted: Autoscaling, replicas: int) -> Scaling:
    start = max(1, min(replicas, wanted.max or replicas))
    low = max(wanted.min if wanted.min is not None else start, wanted.warm_floor or 0)
    metrics = tuple(
        metric.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True)
        for metric in wanted.metrics
    ) or ({"type": "cpu", "utilization": CPU_UTILIZATION},)
    behavior = wanted.behavior and wanted.behavior.model_dump(
        by_alias=True, exclude_none=True, exclude_defaults=True
    )
    found = Scaling(
        type=wanted.type,
        replicas=replicas,
        min=low,
        max=wanted.max or max(low, 1) * MAX_OVER_MIN,
        metrics=metrics,
        behavior=behavior or None,
    )
    if wanted.type == "hpa":  # its controller has one interval for all
        return replace(found, behavior=_complete(found.behavior) if found.behavior else None)
    polling, cooldown = wanted.polling_interval_seconds, wanted.cooldown_seconds
    return replace(
        found,
        polling=found.polling if polling is None else polling,
        cooldown=found.cooldown if cooldown is None else cooldown,
    )
