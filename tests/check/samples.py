"""One good object of each kind that we emit, small but with the parts that matter."""

import json
from typing import Any

LABELS = {"gati.dev/unit": "handler-users", "gati.dev/version": "v1"}


def _object(api_version: str, kind: str, **rest: Any) -> dict[str, Any]:
    metadata = {"name": "handler-users-v1", "namespace": "shop", "labels": LABELS}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


_PROBE = {"httpGet": {"path": "/health", "port": 3000, "scheme": "HTTP"}, "periodSeconds": 10}
_CONTAINER = {
    "name": "handler",
    "image": "users:1",
    "imagePullPolicy": "IfNotPresent",
    "ports": [{"name": "http", "containerPort": 3000, "protocol": "TCP"}],
    "env": [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ],
    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": 1}},
    "readinessProbe": _PROBE,
    "lifecycle": {"preStop": {"sleep": {"seconds": 15}}},
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
_GOOD = [
    _object(
        "apps/v1",
        "Deployment",
        spec={
            "selector": {"matchLabels": LABELS},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0},
            },
            "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [_CONTAINER]}},
        },
    ),
    _object(
        "v1",
        "Service",
        spec={
            "type": "ClusterIP",
            "selector": LABELS,
            "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}],
        },
    ),
    _object("v1", "ServiceAccount", automountServiceAccountToken=False),
    _object("v1", "ConfigMap", data={"a.txt": "text"}),
    _object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
            "minReplicas": 2,
            "maxReplicas": 6,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {
                        "name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 70},
                    },
                }
            ],
        },
    ),
    _object(
        "policy/v1",
        "PodDisruptionBudget",
        spec={
            "maxUnavailable": 1,
            "selector": {"matchLabels": LABELS},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    ),
    _object(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        spec={"podSelector": {"matchLabels": LABELS}, "policyTypes": ["Egress"], "egress": []},
    ),
    _object(
        "gati.dev/v1alpha1",
        "GatiHandler",
        spec={"handlerPath": "/", "version": "v1", "replicas": 1, "image": "a:1", "port": 3000},
    ),
]
_ROUTE = _object(
    "gateway.networking.k8s.io/v1",
    "HTTPRoute",
    spec={
        "parentRefs": [{"name": "gati", "namespace": "gati-system"}],
        "hostnames": ["shop.example.com"],
        "rules": [
            {
                "name": "pin-v1",
                "matches": [
                    {
                        "path": {"type": "PathPrefix", "value": "/users"},
                        "headers": [{"name": "X-Gati-Version", "value": "tsv:1-users-001"}],
                    }
                ],
                "backendRefs": [{"name": "handler-users-v1", "port": 80, "weight": 1}],
            },
            {
                "name": "split",
                "matches": [{"path": {"type": "PathPrefix", "value": "/users"}}],
                "backendRefs": [
                    {"name": "handler-users-v1", "port": 80, "weight": 90},
                    {"name": "handler-users-v2", "port": 80, "weight": 10},
                ],
                "timeouts": {"request": "30s", "backendRequest": "10s"},
            },
        ],
    },
)
_CUSTOM = [
    _object(
        "keda.sh/v1alpha1",
        "ScaledObject",
        spec={
            "scaleTargetRef": {"name": "handler-users-v1"},
            "minReplicaCount": 1,
            "maxReplicaCount": 5,
            "triggers": [{"type": "prometheus", "metadata": {"threshold": "100"}}],
        },
    ),
    _object(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        spec={
            "selector": {"matchLabels": LABELS},
            "endpoints": [
                {"port": "http", "relabelings": [{"targetLabel": "version", "replacement": "v1"}]}
            ],
        },
    ),
    _object(
        "networking.istio.io/v1",
        "VirtualService",
        spec={
            "hosts": ["shop.example.com"],
            "http": [
                {
                    "match": [{"uri": {"prefix": "/users"}}],
                    "route": [{"destination": {"host": "a", "port": {"number": 80}}, "weight": 1}],
                }
            ],
        },
    ),
    _object(
        "argoproj.io/v1alpha1",
        "Application",
        spec={
            "project": "shop",
            "destination": {"name": "in-cluster", "namespace": "shop"},
            "source": {"repoURL": "https://example.com/r.git", "path": "overlays/prod"},
        },
    ),
]


def _fresh(value: Any) -> Any:
    """A copy in which no two places share an object, as a deep copy would keep them."""
    return json.loads(json.dumps(value))


def good() -> list[dict[str, Any]]:
    """Objects that need no CRD from outside."""
    return _fresh(_GOOD)


def custom() -> list[dict[str, Any]]:
    """Objects that do."""
    return _fresh([_ROUTE, *_CUSTOM])


def route() -> dict[str, Any]:
    return _fresh(_ROUTE)


def sample(kind: str) -> dict[str, Any]:
    return next(item for item in [*good(), *custom()] if item["kind"] == kind)


def put(value: dict[str, Any], path: str, new: Any) -> dict[str, Any]:
    """The object with one field set, or removed where ``new`` is ``...``; path as ``spec.ports.0``."""
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    holder: Any = value
    for part in way:
        holder = holder[part]
    if new is ...:
        del holder[last]
    else:
        holder[last] = new
    return value
