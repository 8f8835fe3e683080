"""Who owns the number of pods: HorizontalPodAutoscaler or KEDA ScaledObject, and the budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.plan.model import PlannedVersion, Scaling, UnitPlan
from gati_gitops.plan.naming import VERSION_ANNOTATION, selector, version_labels

PROMETHEUS = "http://prometheus-operated.monitoring.svc:9090"


def _head(plan: UnitPlan, version: PlannedVersion, api_version: str, kind: str) -> Object:
    labels = version_labels(plan.unit, version.id, plan.project, plan.labels)
    annotations = {VERSION_ANNOTATION: version.id}
    return named(api_version, kind, version.name, plan.unit.namespace, labels, annotations)


def scaler(plan: UnitPlan, version: PlannedVersion) -> Object | None:
    """None when the number of pods is fixed."""
    scaling = version.scaling
    if scaling.type == "hpa":
        return _hpa(plan, version, scaling)
    if scaling.type == "keda":
        return _scaled_object(plan, version, scaling)
    return None


def _hpa(plan: UnitPlan, version: PlannedVersion, scaling: Scaling) -> Object:
    found = _head(plan, version, "autoscaling/v2", "HorizontalPodAutoscaler")
    spec: Object = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": version.name},
        "minReplicas": scaling.min,
        "maxReplicas": scaling.max,
        "metrics": [_hpa_metric(metric) for metric in scaling.metrics],
    }
    if scaling.behavior:
        spec["behavior"] = scaling.behavior
    found["spec"] = spec
    return found


def _hpa_metric(metric: Mapping[str, Any]) -> Object:
    kind = metric["type"]
    if kind in ("cpu", "memory"):
        target = {"type": "Utilization", "averageUtilization": metric["utilization"]}
        return {"type": "Resource", "resource": {"name": kind, "target": target}}
    name: Object = {"name": metric["name"]}
    if metric.get("selector"):
        name["selector"] = {"matchLabels": dict(metric["selector"])}
    target = {"type": "AverageValue", "averageValue": metric["target"]}
    key = "pods" if kind == "pods" else "external"
    return {"type": key.capitalize(), key: {"metric": name, "target": target}}


def _scaled_object(plan: UnitPlan, version: PlannedVersion, scaling: Scaling) -> Object:
    found = _head(plan, version, "keda.sh/v1alpha1", "ScaledObject")
    spec: Object = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": version.name},
        "pollingInterval": scaling.polling,
        "cooldownPeriod": scaling.cooldown,
        "minReplicaCount": scaling.min,
        "maxReplicaCount": scaling.max,
    }
    if scaling.behavior:
        spec["advanced"] = {"horizontalPodAutoscalerConfig": {"behavior": scaling.behavior}}
    if any(metric["type"] == "prometheus" for metric in scaling.metrics):
        # lost metrics keep the pods that are there instead of counting as no traffic
        spec["fallback"] = {
            "failureThreshold": 3,
            "replicas": max(scaling.min, 1),
            "behavior": "currentReplicasIfHigher",
        }
    spec["triggers"] = [_trigger(metric) for metric in scaling.metrics]
    found["spec"] = spec
    return found


def _trigger(metric: Mapping[str, Any]) -> Object:
    kind = metric["type"]
    if kind in ("cpu", "memory"):
        value = str(metric["utilization"])
        return {"type": kind, "metricType": "Utilization", "metadata": {"value": value}}
    if kind == "cron":
        names = ("timezone", "start", "end")
        metadata = {name: metric[name] for name in names}
        metadata["desiredReplicas"] = str(metric["replicas"])
        return {"type": "cron", "metadata": metadata}
    metadata = {
        "serverAddress": metric.get("serverAddress", PROMETHEUS),
        "query": metric["query"],
        "threshold": metric["target"],
        "ignoreNullValues": "false",
    }
    if "activation" in metric:
        metadata["activationThreshold"] = metric["activation"]
    return {"type": "prometheus", "metricType": "AverageValue", "metadata": metadata}


def disruption_budget(plan: UnitPlan, version: PlannedVersion) -> Object | None:
    """None below two pods: a budget there would only block node drains."""
    if version.scaling.floor < 2:
        return None
    found = _head(plan, version, "policy/v1", "PodDisruptionBudget")
    found["spec"] = {
        "maxUnavailable": 1,
        "selector": {"matchLabels": selector(plan.unit, version.id)},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return found
