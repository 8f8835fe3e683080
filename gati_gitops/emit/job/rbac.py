"""What the job may do: see what it judges, and tell what it decided.

Whole lists are read, so reading is by ClusterRole: a route in any namespace may still name a
version that is about to go. It writes its Lease and its clocks, each by name, the status of Gati
objects and Events, and it may hold a Deployment's number of pods; to move traffic it commits, like
everybody else.

Where drift is answered, all that Git says of the cluster is read as well, and what Git once said.
Nothing of that is written: the engine is asked to apply Git again.
"""

from __future__ import annotations

from collections.abc import Iterator

from gati_gitops.emit.engines.rights import (
    JOB_CLUSTER_KINDS,
    JOB_KINDS,
    NAMESPACE_KINDS,
    UNIT_KINDS,
)
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
_APPLIES_AGAIN = frozenset(("applications", "kustomizations"))
"""What is asked to apply Git again."""
COMPARED = frozenset(
    (
        ("", "Namespace"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        *UNIT_KINDS, *NAMESPACE_KINDS, *JOB_KINDS, *JOB_CLUSTER_KINDS,
    )
)  # fmt: skip
"""Group and kind of everything that a look for drift holds against Git."""
_NEVER = ("", "Secret")
"""Whoever may list Secrets has all of them; a template's may hold nothing that could drift."""


def rights(plan: JobPlan) -> list[Object]:
    """Roles and their bindings."""
    found = [*_bound(plan, "ClusterRole", "", list(_everywhere(plan)))]
    found += _bound(plan, "Role", plan.namespace, list(_own(plan)))
    engine = plan.engine
    if engine is not None:
        told = _NUDGED if engine.nudged else frozenset[str]()
        told |= _APPLIES_AGAIN if plan.drift == "revert" else frozenset()
        rules = [
            _rule([group], [name], [verb, *["patch"] * (name in told)])
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
    if plan.answering is not None:
        yield from _compared(plan)


def _compared(plan: JobPlan) -> Iterator[Object]:
    """Whole lists, and by its name what they lack: it may have lost its labels."""
    found: dict[str, list[str]] = {}
    for group, kind in COMPARED.union(plan.kinds) - {_NEVER}:
        found.setdefault(group, []).append(plural(kind))
    for group, resources in sorted(found.items()):
        yield _rule([group], sorted(resources), ["get", "list"])


def plural(kind: str) -> str:
    """A kind as rights name it, as Kubernetes guesses it; custom kinds keep to that, too."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


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
