"""Changes of every kind, as two folders of specs and, for most, the output that they meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gati_gitops.ledger.model import Ledger
from tests.compile.kit import canary, decide, handler, module, moved, project, tree_of, version

Files = dict[str, str]
Tree = Mapping[str, bytes]
TWO = {"dev": ["d1"], "prod": ["east", "west"]}


@dataclass(frozen=True)
class Case:
    base: Files
    head: Files
    published: bool = True
    """Whether the base has been published before."""
    decided: Callable[[Ledger], Ledger] | None = None
    """What was decided since, for users on prod/east."""
    options: dict[str, Any] = field(default_factory=dict)

    def ledger(self) -> Tree | None:
        if not self.published:
            return None
        tree = tree_of(self.base)
        return decide(tree, self.decided) if self.decided else tree


def one(settings: str, before: str, after: str, **options: Any) -> Case:
    """One unit that changes."""
    return Case({"gati.yaml": settings, "users.yaml": before},
                {"gati.yaml": settings, "users.yaml": after}, **options)  # fmt: skip


def settings(before: str, after: str, **options: Any) -> Case:
    """The same unit under other settings."""
    return Case({"gati.yaml": before, "users.yaml": handler()},
                {"gati.yaml": after, "users.yaml": handler()}, **options)  # fmt: skip


def template(scope: str, body: str) -> str:
    return f"{{# gati: {scope} #}}\n{body}"


ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: "{{{{ unit.object }}}}-x"}}
rules:
- apiGroups: [""]
  resources: [{resources}]
  verbs: [{verbs}]
"""
BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: "{{{{ unit.object }}}}-x"}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}
subjects: [{{kind: Group, name: {group}, apiGroup: rbac.authorization.k8s.io}}]
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: "{{{{ version.name }}}}-warm"}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: warm, image: "warm:{tag}"}}]
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {{name: "{{{{ unit.object }}}}-out"}}
spec:
  type: {type}
  ports: [{{port: 80}}]
"""
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: "{{{{ unit.object }}}}-data"}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {{requests: {{storage: {size}}}}}
"""
QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {pods: "10"}}
"""


def templated(scope: str, before: str | None, after: str | None) -> Case:
    files = {"gati.yaml": project({"prod": ["east"]}), "users.yaml": handler()}
    sides = [
        files | ({"templates/extra.yaml.j2": template(scope, body)} if body else {})
        for body in (before, after)
    ]
    return Case(sides[0], sides[1])


def fleet(units: int, outliers: int) -> Case:
    """The same change in many units, and otherwise in some of them."""
    base = {"gati.yaml": canary(TWO)}
    head = dict(base)
    for number in range(units + outliers):
        name = f"unit-{number:02}"
        more = (
            {"requests": {"memory": "512Mi"}}
            if number >= units
            else {"requests": {"memory": "256Mi"}}
        )
        base[f"{name}.yaml"] = handler(name, resources={"requests": {"memory": "128Mi"}})
        head[f"{name}.yaml"] = handler(name, resources=more)
    head["unit-00.yaml"] = handler(
        "unit-00", resources={"requests": {"memory": "256Mi"}}, env={"OWN": "1"}
    )
    return Case(base, head)


PLAIN, CANARY = project(TWO), canary(TWO)
MANUAL = project({"prod": ["east"]})
HPA = {"type": "hpa", "min": 2, "max": 4, "metrics": [{"type": "cpu", "utilization": 70}]}
REQUESTS = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}
ISTIO = {"prod": {"clusters": {"east": {}}, "routing": {"provider": "istio"}}}
SYNC = {"repository": "https://git.example.com/deploy.git", "argocd": {}}


def waits(ledger: Ledger) -> Ledger:
    return replace(ledger, hold="an incident", seq=ledger.seq + 1)


CASES: dict[str, Case] = {
    # -- pods
    "variable-changed": one(CANARY, handler(env={"A": "1"}), handler(env={"A": "2", "B": "x"})),
    "variable-by-environment": Case(
        {"gati.yaml": CANARY, "users.yaml": handler(env={"A": "1"})},
        {
            "gati.yaml": CANARY,
            "users.yaml": handler(env={"A": "1"}),
            "environments/prod/users.yaml": handler(env={"A": "3"}),
        },
    ),
    "new-version-canary": one(CANARY, handler(), handler(version="v2", env={"A": "1"})),
    "new-version-first-publish": one(CANARY, handler(), handler(version="v2"), published=False),
    "new-version-manual": Case(
        {"gati.yaml": MANUAL, "users.yaml": handler(weight=100)},
        {
            "gati.yaml": MANUAL,
            "users.yaml": handler(weight=100),
            "v2.yaml": version("users", "v2", 0, image="ghcr.io/acme/users:v2"),
        },
    ),
    "new-version-blue-green": one(
        project(TWO, rollout={"strategy": "blue-green"}), handler(), handler(version="v2")
    ),
    "image-floats": one(
        project({"prod": {"clusters": {"east": {}}, "revisions": "any"}}),
        handler(image="ghcr.io/acme/users:v1"),
        handler(image="docker.io/evil/users:latest"),
    ),
    "files-changed": one(
        CANARY,
        handler(volumes=[{"name": "conf", "mountPath": "/etc/x", "files": {"a.txt": "1\n"}}]),
        handler(volumes=[{"name": "conf", "mountPath": "/etc/x", "files": {"a.txt": "2\n"}}]),
    ),
    "resources-and-prices": one(
        CANARY,
        handler(resources=REQUESTS),
        handler(resources={"requests": {"cpu": "200m", "memory": "128Mi"}}),
        options={"prices": (0.03, 0.004)},
    ),
    "probe-removed": one(CANARY, handler(), handler(probes={"liveness": {"type": "none"}})),
    "privileges": one(
        CANARY,
        handler(),
        handler(security={"readOnlyRoot": False}, serviceAccount={"token": True}, port=80),
    ),
    "secret-literal": one(
        CANARY,
        handler(env={"DB_PASSWORD": "correct horse"}),
        handler(env={"DB_PASSWORD": "battery staple"}),
    ),
    # -- how many
    "replicas": one(CANARY, handler(replicas=2), handler(replicas=5)),
    "scaling-bounds": one(
        CANARY,
        handler(autoscaling=HPA, resources=REQUESTS),
        handler(autoscaling={**HPA, "max": 9}, resources=REQUESTS),
    ),
    "scaler-comes": one(CANARY, handler(resources=REQUESTS), handler(resources=REQUESTS, autoscaling=HPA)),
    "scaler-changes": one(
        CANARY,
        handler(autoscaling=HPA, resources=REQUESTS),
        handler(autoscaling={**HPA, "type": "keda"}, resources=REQUESTS),
    ),
    "scaled-to-zero": one(
        CANARY,
        handler(autoscaling={"type": "keda", "min": 1, "max": 3, "metrics": [{"type": "prometheus", "query": "q", "target": "1"}]}),
        handler(autoscaling={"type": "keda", "min": 0, "max": 3, "metrics": [{"type": "prometheus", "query": "q", "target": "1"}]}),
    ),
    # -- traffic
    "weights-moved": Case(
        {"gati.yaml": MANUAL, "users.yaml": handler(weight=90),
         "v2.yaml": version("users", "v2", 10, image="ghcr.io/acme/users:v2")},
        {"gati.yaml": MANUAL, "users.yaml": handler(weight=50),
         "v2.yaml": version("users", "v2", 50, image="ghcr.io/acme/users:v2")},
    ),
    "canary-under-way": one(
        CANARY, handler(), handler(version="v2"), decided=moved(v1=("Active", 100))
    ),
    "held": one(canary({"prod": ["east"]}), handler(), handler(version="v2"), decided=waits),
    "promotion": one(
        canary(TWO, promotion={"prod": {"after": "dev", "dwell": "12h"}}),
        handler(),
        handler(version="v2"),
    ),
    "revision-waits": one(
        canary(TWO, promotion={"prod": {"after": "dev"}}),
        handler(env={"A": "1"}),
        handler(env={"A": "2"}),
        decided=moved(v1=("Active", 100)),
    ),
    "hosts": one(CANARY, handler(hosts=["a.example.com", "b.example.com"]), handler(hosts=["b.example.com", "c.example.com"])),
    "path": one(CANARY, handler(), handler(handlerPath="/people"), published=False),
    "parameter-beside": Case(
        {"gati.yaml": CANARY, "users.yaml": handler(), "one.yaml": handler("one", handlerPath="/orders/:id")},
        {"gati.yaml": CANARY, "users.yaml": handler(), "one.yaml": handler("one", handlerPath="/users/:id")},
    ),
    "provider": settings(project({"prod": ["east"]}), project(ISTIO)),
    "breaking-without-chain": one(
        CANARY, handler(), handler(version="v2", timescape={"breaking": True})
    ),
    "breaking-with-chain": one(
        CANARY,
        handler(),
        handler(version="v2", timescape={"breaking": True, "transformers": ["v1-to-v2"]}),
    ),
    # -- units
    "unit-added": Case(
        {"gati.yaml": CANARY, "users.yaml": handler()},
        {"gati.yaml": CANARY, "users.yaml": handler(), "orders.yaml": handler("orders")},
    ),
    "unit-and-namespace-added": Case(
        {"gati.yaml": CANARY, "users.yaml": handler()},
        {"gati.yaml": CANARY, "users.yaml": handler(), "orders.yaml": handler("orders", namespace="fulfilment")},
    ),
    "unit-retires": Case(
        {"gati.yaml": CANARY, "users.yaml": handler(), "orders.yaml": handler("orders")},
        {"gati.yaml": CANARY, "users.yaml": handler()},
    ),
    "unit-removed-at-once": Case(
        {"gati.yaml": canary({"prod": {"clusters": {"east": {}}, "onDelete": "immediate"}}),
         "users.yaml": handler(), "orders.yaml": handler("orders")},
        {"gati.yaml": canary({"prod": {"clusters": {"east": {}}, "onDelete": "immediate"}}),
         "users.yaml": handler()},
    ),
    "unit-removed-first-publish": Case(
        {"gati.yaml": CANARY, "users.yaml": handler(), "orders.yaml": handler("orders")},
        {"gati.yaml": CANARY, "users.yaml": handler()},
        published=False,
    ),
    "unit-renamed": Case(
        {"gati.yaml": CANARY, "users.yaml": handler()},
        {"gati.yaml": CANARY, "people.yaml": handler("people", handlerPath="/users", image="ghcr.io/acme/users:v1")},
        published=False,
    ),
    "unit-moved": one(CANARY, handler(), handler(namespace="accounts"), published=False),
    "version-gone": Case(
        {"gati.yaml": MANUAL, "users.yaml": handler(weight=100),
         "v0.yaml": version("users", "v0", 0, image="ghcr.io/acme/users:v0")},
        {"gati.yaml": MANUAL, "users.yaml": handler(weight=100)},
    ),
    "module-called": Case(
        {"gati.yaml": PLAIN, "users.yaml": handler(), "db.yaml": module()},
        {"gati.yaml": PLAIN, "users.yaml": handler(modules=["db"]), "db.yaml": module()},
    ),
    "module-port": Case(
        {"gati.yaml": PLAIN, "users.yaml": handler(modules=["db"]), "db.yaml": module()},
        {"gati.yaml": PLAIN, "users.yaml": handler(modules=["db"]), "db.yaml": module(port=6000)},
    ),
    "module-of-another-namespace": Case(
        {
            "gati.yaml": PLAIN,
            "users.yaml": handler(namespace="accounts", modules=["shop/db"]),
            "db.yaml": module(),
        },
        {
            "gati.yaml": PLAIN,
            "users.yaml": handler(namespace="accounts", modules=["shop/db"]),
            "db.yaml": module(port=6000),
        },
    ),
    # -- who may reach what
    "egress": one(CANARY, handler(), handler(egress=[{"to": "internet", "ports": [443]}])),
    "egress-anywhere": one(CANARY, handler(), handler(egress=[{"to": "anywhere"}])),
    "policies-off": settings(project(TWO), project(TWO, network={"policies": False})),
    "role-widened": templated(
        "unit",
        ROLE.format(resources="configmaps", verbs="get"),
        ROLE.format(resources="configmaps, secrets", verbs='"*"'),
    ),
    "binding-added": templated("unit", None, BINDING.format(role="cluster-admin", group="devs")),
    "binding-changed": templated(
        "unit", BINDING.format(role="view", group="devs"), BINDING.format(role="edit", group="devs")
    ),
    "service-exposed": templated(
        "unit", SERVICE.format(type="ClusterIP"), SERVICE.format(type="LoadBalancer")
    ),
    "job-recreated": templated("version", JOB.format(tag=1), JOB.format(tag=2)),
    "claim-shrinks": templated("unit", CLAIM.format(size="2Gi"), CLAIM.format(size="1Gi")),
    "claim-pruned": templated("unit", CLAIM.format(size="2Gi"), None),
    "quota-of-namespace": templated("environment", None, QUOTA),
    # -- settings
    "policy-broken": settings(
        project({"prod": ["east"]}),
        project({"prod": ["east"]}, policies={"digest": {"severity": "warning"}}),
    ),
    "rollout-settings": settings(
        canary(TWO), project(TWO, rollout={"strategy": "canary", "steps": [5, 25, 100]})
    ),
    "environment-added": settings(
        canary({"prod": ["east"]}), canary({"dev": ["d1"], "prod": ["east"]})
    ),
    "environment-gone": settings(
        canary({"dev": ["d1"], "prod": ["east"]}), canary({"prod": ["east"]})
    ),
    "cluster-added": settings(canary({"prod": ["east"]}), canary({"prod": ["east", "west"]})),
    "cluster-gone": settings(canary({"prod": ["east", "west"]}), canary({"prod": ["east"]})),
    "registry": settings(
        project({"prod": ["east"]}),
        project({"prod": {"clusters": {"east": {}}, "registries": {"ghcr.io/acme": "mirror.example/acme"}}}),
    ),
    "engine-comes": settings(project({"prod": ["east"]}), project({"prod": ["east"]}, sync=SYNC)),
    # -- nothing, or nearly
    "nothing": one(CANARY, handler(), handler()),
    "file-moved": Case(
        {"gati.yaml": CANARY, "users.yaml": handler()},
        {"gati.yaml": CANARY, "team/users.yaml": handler()},
    ),
    "comment-only": one(CANARY, handler(), "# a comment\n" + handler()),
    # -- many
    "many-units": fleet(6, 1),
}  # fmt: skip
