"""What the job may do: see what it judges, and tell what it decided.

Whole lists are read, so reading is by ClusterRole: a route in any namespace may still name a
version that is about to go. It writes its Lease and its clocks, each by name, the status of Gati
objects and Events, and it may hold a Deployment's number of pods; to move traffic it commits, like
everybody else.
"""

from __future__ import annotations

from collections.abc import Iterator

from gati_gitops.emit.job.workload import head
from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.plan.job import JobPlan

_API = "rbac.authorization.k8s.io/v1"
_GATI = ("gatihandlers", "gatimodules", "gativersions")
READ: dict[str, tuple[str, ...]] = {
    "": ("events", "pods", "services"),
    "apps": ("deployments",),
    "discovery.k8s.io": ("endpointslices",),
    "gateway.networking.k8s.io": (
        "grpcroutes", "httproutes", "tcproutes", "tlsroutes", "udproutes",
    ),
    "networking.istio.io": ("virtualservices",),
    "networking.k8s.io": ("ingresses",),
    "traefik.io": ("ingressroutes", "ingressroutetcps", "ingressrouteudps", "traefikservices"),
}  # fmt: skip
"""What is listed over all namespaces, by group: whatever may send requests to a version."""
ENGINES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "argocd": (("argoproj.io", "applications", "list"), ("argoproj.io", "appprojects", "get")),
    "flux": (
        ("kustomize.toolkit.fluxcd.io", "kustomizations", "list"),
        ("source.toolkit.fluxcd.io", "gitrepositories", "list"),
    ),
}
"""What says how far a cluster is synced, and how it is read."""
_NUDGED = frozenset(("applications", "gitrepositories"))
"""What is told of a commit."""


def rights(plan: JobPlan) -> list[Object]:
    """Roles and their bindings."""
    found = [*_bound(plan, "ClusterRole", "", list(_everywhere(plan)))]
    found += _bound(plan, "Role", plan.namespace, list(_own(plan)))
    engine = plan.engine
    if engine is not None:
        rules = [
            _rule([group], [name], [verb, *["patch"] * (engine.nudged and name in _NUDGED)])
            for group, name, verb in ENGINES[engine.kind]
        ]
        if engine.namespace == plan.namespace:
            found[2]["rules"] += rules
        else:
            found += _bound(plan, "Role", engine.namespace, rules)
    return found


def _everywhere(plan: JobPlan) -> Iterator[Object]:
    for group, resources in READ.items():
        yield _rule([group], list(resources), ["list"])
    # when a scaler takes the number of pods from Git, the job holds it for a moment
    yield _rule(["apps"], ["deployments"], ["get", "patch"])
    if plan.settings.status or plan.settings.events:
        yield _rule(["gati.dev"], list(_GATI), ["list"])
    if plan.settings.status:
        yield _rule(["gati.dev"], [f"{name}/status" for name in _GATI], ["patch"])
    if plan.settings.events:
        yield _rule(["events.k8s.io"], ["events"], ["create", "patch"])


def _own(plan: JobPlan) -> Iterator[Object]:
    """By name, but for making them: what does not exist yet has no name to ask for."""
    kept = [("", "configmaps")]
    if plan.watches:
        kept.append(("coordination.k8s.io", "leases"))
    for group, resource in kept:
        yield _rule([group], [resource], ["create"])
        yield {
            **_rule([group], [resource], ["get", "patch", "update"]),
            "resourceNames": [plan.name],
        }


def _bound(plan: JobPlan, kind: str, namespace: str, rules: list[Object]) -> tuple[Object, Object]:
    role = {**head(plan, _API, kind, namespace), "rules": rules}
    binding = {
        **named(_API, f"{kind}Binding", plan.name, namespace, plan.labels),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": plan.name},
        "subjects": [{"kind": "ServiceAccount", "name": plan.name, "namespace": plan.namespace}],
    }
    return role, binding


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> Object:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}
