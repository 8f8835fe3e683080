"""The kinds that Argo CD may apply for us: all that the compiler can write, and no other.

Fixed, not read off today's manifests: Argo CD leaves alone what its project does not permit, so a
kind that a unit has just stopped using could never be pruned if its right went with it.
"""

from __future__ import annotations

UNIT_KINDS = (
    ("", "ConfigMap"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("apps", "Deployment"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("gateway.networking.k8s.io", "HTTPRoute"),
    ("gateway.networking.k8s.io", "ReferenceGrant"),
    ("keda.sh", "ScaledObject"),
    ("monitoring.coreos.com", "PodMonitor"),
    ("monitoring.coreos.com", "ServiceMonitor"),
    ("networking.istio.io", "VirtualService"),
    ("networking.k8s.io", "Ingress"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
    ("traefik.io", "IngressRoute"),
    ("traefik.io", "TraefikService"),
)
"""Group and kind of everything in the folders of units."""

NAMESPACE_KINDS: tuple[tuple[str, str], ...] = (
    ("", "ConfigMap"),
    ("monitoring.coreos.com", "PrometheusRule"),
)
"""The namespaced kinds in ``_namespace`` folders."""

JOB_KINDS = (
    ("", "Service"),
    ("", "ServiceAccount"),
    ("apps", "Deployment"),
    ("batch", "CronJob"),
    ("monitoring.coreos.com", "PrometheusRule"),
    ("monitoring.coreos.com", "ServiceMonitor"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
)
"""The namespaced kinds of the job."""

JOB_CLUSTER_KINDS = (
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
)
"""What it has of the cluster's own, by its name alone."""
