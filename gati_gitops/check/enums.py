"""Values that Kubernetes' published schemas leave as plain text, though the API server does not.

Only fields that our objects use, and only where the list has been the same for many minors.
"""

from __future__ import annotations

from typing import Any

_CORE = "io.k8s.api.core.v1."
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_ENUMS: dict[tuple[str, str], tuple[str, ...]] = {
    ("io.k8s.api.apps.v1.DeploymentStrategy", "type"): ("RollingUpdate", "Recreate"),
    ("io.k8s.api.autoscaling.v2.HPAScalingPolicy", "type"): ("Pods", "Percent"),
    ("io.k8s.api.autoscaling.v2.HPAScalingRules", "selectPolicy"): ("Max", "Min", "Disabled"),
    ("io.k8s.api.autoscaling.v2.MetricSpec", "type"): (
        "Resource", "ContainerResource", "Pods", "Object", "External",
    ),
    ("io.k8s.api.autoscaling.v2.MetricTarget", "type"): ("Utilization", "Value", "AverageValue"),
    (_CORE + "Container", "imagePullPolicy"): ("Always", "IfNotPresent", "Never"),
    (_CORE + "ContainerPort", "protocol"): _PROTOCOLS,
    (_CORE + "HTTPGetAction", "scheme"): ("HTTP", "HTTPS"),
    (_CORE + "PodSpec", "dnsPolicy"): (
        "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None",
    ),
    (_CORE + "PodSpec", "restartPolicy"): ("Always", "OnFailure", "Never"),
    (_CORE + "SeccompProfile", "type"): ("RuntimeDefault", "Localhost", "Unconfined"),
    (_CORE + "ServicePort", "protocol"): _PROTOCOLS,
    (_CORE + "ServiceSpec", "sessionAffinity"): ("None", "ClientIP"),
    (_CORE + "ServiceSpec", "type"): ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    (_CORE + "Toleration", "effect"): ("", "NoSchedule", "PreferNoSchedule", "NoExecute"),
    (_CORE + "TopologySpreadConstraint", "whenUnsatisfiable"): ("DoNotSchedule", "ScheduleAnyway"),
    ("io.k8s.api.networking.v1.HTTPIngressPath", "pathType"): (
        "Exact", "Prefix", "ImplementationSpecific",
    ),
    ("io.k8s.api.networking.v1.NetworkPolicyPort", "protocol"): _PROTOCOLS,
    ("io.k8s.api.policy.v1.PodDisruptionBudgetSpec", "unhealthyPodEvictionPolicy"): (
        "IfHealthyBudget", "AlwaysAllow",
    ),
    ("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement", "operator"): (
        "In", "NotIn", "Exists", "DoesNotExist",
    ),
}  # fmt: skip


def add_enums(definitions: dict[str, Any]) -> None:
    """Write the lists into freshly read definitions."""
    for (name, field), values in _ENUMS.items():
        known = definitions.get(name, {}).get("properties", {})
        if field in known:  # An older minor may not have it yet.
            known[field]["enum"] = list(values)
