"""Scalers and disruption budgets."""

from __future__ import annotations

from typing import Any

from gati_gitops.plan.defaults import CPU_UTILIZATION, MAX_OVER_MIN
from gati_gitops.preview.explain.rule import Rule, Sources, chosen, rule
from gati_gitops.preview.explain.rules.head import VERSION, selector
from gati_gitops.preview.explain.scope import Scope

_AUTO = ".autoscaling"
_METRIC = f"{_AUTO}.metrics[$0]"
_NOBODY = f"without metrics a scaler follows the CPU at {CPU_UTILIZATION} %"


def is_kept(scope: Scope, value: Any) -> bool:
    """Whether a rollout keeps more pods than anybody wrote."""
    entry, planned = scope.entry, scope.planned
    if entry is None or planned is None:
        return False
    return bool(entry.floor == value and planned.scaling.floor < entry.floor)


def least(scope: Scope, value: Any) -> Sources:
    """The fewest pods: the tier, the warm floor, the minimum, or the number of replicas."""
    if is_kept(scope, value):
        return ("ledger:floor",)
    version = scope.version
    wanted = version.workload.autoscaling if version and version.workload else None
    if version is None or version.workload is None or wanted is None:
        return (f"{_AUTO}.min", ".replicas")
    if wanted.warm_floor is not None and wanted.warm_floor == value and wanted.min != value:
        return (f"{_AUTO}.warmFloor",)
    start = max(1, min(version.workload.replicas, wanted.max or version.workload.replicas))
    if version.tier != "hot" and value != (wanted.min if wanted.min is not None else start):
        return ("tier",)
    if wanted.min is None and start < version.workload.replicas:
        return (f"{_AUTO}.max",)
    return (f"{_AUTO}.min", ".replicas")


def _multiplied(scope: Scope, value: Any) -> Sources:
    """Without a max the fewest pods decide the most, too."""
    wanted = (
        scope.version.workload.autoscaling if scope.version and scope.version.workload else None
    )
    return () if wanted is None or wanted.max is not None else (f"{_AUTO}.min", ".replicas")


_BY_TYPE = (
    rule(
        "apiVersion", "whether an HPA or KEDA scales", f"{_AUTO}.type",
        default="a spec with autoscaling and no type wants an HPA",
    ),
    rule(
        "kind", "whether an HPA or KEDA scales", f"{_AUTO}.type",
        default="a spec with autoscaling and no type wants an HPA",
    ),
    *VERSION,
    rule(
        "spec.scaleTargetRef.name", "the version's own Deployment", "unit:metadata.name",
        also=("id",),
    ),
    rule("spec.scaleTargetRef.**", "a Deployment is scaled"),
)  # fmt: skip

_MOST_DEFAULT = f"{MAX_OVER_MIN} times the fewest, where no max is written"


def _behavior(where: str) -> tuple[Rule, ...]:
    said = "what the API server fills in where a behavior says only a part"
    found: list[Rule] = []
    for way in ("scaleUp", "scaleDown"):
        own = f"{_AUTO}.behavior.{way}"
        why = f"how fast it may {'grow' if way == 'scaleUp' else 'shrink'}"
        found += [
            rule(f"{where}.{way}.policies[].$k", why, f"{own}.policies[$0].$k", default=said),
            rule(f"{where}.{way}.$k", why, f"{own}.$k", default=said),
        ]
    return tuple(found)


_HPA = (
    *_BY_TYPE,
    chosen("spec.minReplicas", "the fewest pods: autoscaling.min, else the replicas", least),
    rule(
        "spec.maxReplicas", "the most pods", f"{_AUTO}.max", default=_MOST_DEFAULT, also=_multiplied
    ),
    rule("spec.metrics[].type", "what the scaler follows", f"{_METRIC}.type", default=_NOBODY),
    rule(
        "spec.metrics[].resource.name", "what the scaler follows",
        f"{_METRIC}.type", default=_NOBODY,
    ),
    rule(
        "spec.metrics[].resource.target.averageUtilization", "percent of what a pod requests",
        f"{_METRIC}.utilization", default=_NOBODY,
    ),
    *(
        one
        for kind in ("pods", "external")
        for one in (
            rule(f"spec.metrics[].{kind}.metric.name", "the metric's name", f"{_METRIC}.name"),
            rule(
                f"spec.metrics[].{kind}.metric.selector.matchLabels.$k", "which series count",
                f"{_METRIC}.selector.$k",
            ),
            rule(
                f"spec.metrics[].{kind}.target.averageValue", "the value per pod",
                f"{_METRIC}.target",
            ),
        )
    ),
    rule("spec.metrics[].**", "how the metric is compared with its target"),
    *_behavior("spec.behavior"),
)  # fmt: skip

_META = "spec.triggers[].metadata"
_TRIGGERS = tuple(
    rule(f"{_META}.{name}", why, f"{_METRIC}.{field}")
    for name, field, why in (
        ("query", "query", "the number that is followed"),
        ("threshold", "target", "the value per pod"),
        ("activationThreshold", "activation", "above it the first pod starts"),
        ("timezone", "timezone", "whose clock counts"),
        ("start", "start", "when it begins"),
        ("end", "end", "when it ends"),
        ("desiredReplicas", "replicas", "the pods in that time"),
    )
)

_KEDA = (
    *_BY_TYPE,
    rule(
        "spec.pollingInterval", "how often KEDA looks", f"{_AUTO}.pollingIntervalSeconds",
        default="KEDA's own default, written out",
    ),
    rule(
        "spec.cooldownPeriod", "how long it waits before the last pod goes",
        f"{_AUTO}.cooldownSeconds", default="KEDA's own default, written out",
    ),
    chosen("spec.minReplicaCount", "the fewest pods: autoscaling.min, else the replicas", least),
    rule(
        "spec.maxReplicaCount", "the most pods", f"{_AUTO}.max", default=_MOST_DEFAULT,
        also=_multiplied,
    ),
    chosen(
        "spec.fallback.replicas", "lost metrics keep at least the fewest pods, or one",
        lambda scope, value: least(scope, value) if value != 1 else (),
    ),
    rule("spec.fallback.**", "lost metrics keep the pods that are there"),
    *_TRIGGERS,
    rule(
        f"{_META}.value", "percent of what a pod requests", f"{_METRIC}.utilization",
        default=_NOBODY,
    ),
    rule(
        f"{_META}.serverAddress", "the Prometheus that is asked",
        f"{_METRIC}.serverAddress", "project:spec.monitoring.namespace",
        default="the Prometheus operator's own Service in monitoring",
    ),
    rule(f"{_META}.ignoreNullValues", "no data is no reason to scale to nothing"),
    rule("spec.triggers[].type", "what the scaler follows", f"{_METRIC}.type", default=_NOBODY),
    rule("spec.triggers[].metricType", "how the metric is compared with its target"),
    *_behavior("spec.advanced.horizontalPodAutoscalerConfig.behavior"),
)  # fmt: skip

_BUDGET = (
    *VERSION,
    rule("spec.maxUnavailable", "a drained node takes one pod at a time"),
    *selector("spec.selector.matchLabels"),
    rule("spec.unhealthyPodEvictionPolicy", "a broken pod never blocks a node drain"),
)

RULES = {
    "HorizontalPodAutoscaler": _HPA,
    "ScaledObject": _KEDA,
    "PodDisruptionBudget": _BUDGET,
}
