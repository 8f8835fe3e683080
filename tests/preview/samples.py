"""Reviews made by hand: a small one with everything in it, a large one, a hostile one."""

from dataclasses import fields, is_dataclass, replace
from enum import StrEnum

from gati_gitops.errors import Place
from gati_gitops.preview.model import (
    Action,
    Amount,
    ChangeClass,
    ClusterReview,
    Compared,
    EnvironmentReview,
    FieldChange,
    Finding,
    Keyed,
    Level,
    ObjectChange,
    ObjectId,
    Op,
    Outlier,
    Radius,
    Review,
    State,
    Target,
    Totals,
    UnitReview,
    VersionReview,
)

APP = Keyed((("name", "app"),))
POD = ("spec", "template", "spec", "containers", APP)
IMAGE = (*POD, "image")
GI = 1024**3


def deployment(namespace, name, image, *, memory="256Mi", env=(), replicas=None):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "gati"},
        },
        "spec": {
            **({"replicas": replicas} if replicas is not None else {}),
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "template": {
                "metadata": {"labels": {"app.kubernetes.io/name": name}},
                "spec": {
                    "automountServiceAccountToken": False,
                    "containers": [
                        {
                            "name": "app",
                            "image": image,
                            "args": ["serve", "--port=3000"],
                            "env": [{"name": key, "value": value} for key, value in env],
                            "ports": [{"name": "http", "containerPort": 3000, "protocol": "TCP"}],
                            "readinessProbe": {
                                "httpGet": {"path": "/ready", "port": "http"},
                                "periodSeconds": 5,
                            },
                            "resources": {
                                "requests": {"cpu": "100m", "memory": memory},
                                "limits": {"memory": memory},
                            },
                            "securityContext": {
                                "allowPrivilegeEscalation": False,
                                "readOnlyRootFilesystem": True,
                            },
                        }
                    ],
                    "securityContext": {"runAsNonRoot": True},
                    "serviceAccountName": name,
                    "terminationGracePeriodSeconds": 45,
                },
            },
        },
    }


def service(namespace, name, cluster_ip=None):
    spec = {
        "type": "ClusterIP",
        "selector": {"app.kubernetes.io/name": name},
        "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}],
    }
    if cluster_ip:
        spec["clusterIP"] = cluster_ip
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def object_id(body):
    group = body["apiVersion"].rpartition("/")[0]
    metadata = body["metadata"]
    return ObjectId(group, body["kind"], metadata.get("namespace", ""), metadata["name"])


def created(body, **more):
    return ObjectChange(object_id(body), Action.CREATE, after=body, **more)


def deleted(body, **more):
    return ObjectChange(object_id(body), Action.DELETE, before=body, **more)


def changed(before, after, *fields, **more):
    more = {"action": Action.CHANGE} | more
    return ObjectChange(
        id=object_id(after), fields=tuple(fields), before=before, after=after, **more
    )


def replaced(path, before, after, change_class=""):
    return FieldChange(tuple(path), Op.REPLACE, before, after, change_class)


def classed_unit(namespace, name, base="registry.shop.dev/base:1.4", change_class="C1"):
    """A unit that changes only as its class says."""
    full = f"handler-{name}-1-0-0"
    image = f"registry.shop.dev/{name}:1.0.0"
    before = deployment(namespace, full, image, memory="256Mi")
    after = deployment(namespace, full, image, memory="320Mi")
    state = State(
        "Active", 100, image, "d" * 8, f"base/{namespace}/handler-{name}/1.0.0-abc", "hpa", 2, 6
    )
    memory = (*POD, "resources", "requests", "memory")
    limit = (*POD, "resources", "limits", "memory")
    return UnitReview(
        unit=f"{namespace}/{name}",
        kind="handler",
        namespace=namespace,
        name=name,
        action=Action.CHANGE,
        versions=(
            VersionReview(
                "1.0.0",
                state,
                state,
                (
                    changed(
                        before,
                        after,
                        replaced(limit, "256Mi", "320Mi", change_class),
                        replaced(memory, "256Mi", "320Mi", change_class),
                    ),
                ),
                restarts=True,
            ),
        ),
        files=(f"specs/{name}.yaml",),
    )


def cart(cluster):
    """A new version on its way in, and a Service that must be made again."""
    old, new = "registry.shop.dev/cart:1.2.0", "registry.shop.dev/cart:1.3.0"
    route = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "handler-cart", "namespace": "shop"},
        "spec": {
            "hostnames": ["shop.example.com"],
            "rules": [
                {
                    "backendRefs": [
                        {"name": "handler-cart-1-2-0", "port": 80, "weight": 100},
                    ],
                    "matches": [{"path": {"type": "PathPrefix", "value": "/cart"}}],
                }
            ],
        },
    }
    split = {
        **route,
        "spec": {
            **route["spec"],
            "rules": [
                {
                    "backendRefs": [
                        {"name": "handler-cart-1-2-0", "port": 80, "weight": 90},
                        {"name": "handler-cart-1-3-0", "port": 80, "weight": 10},
                    ],
                    "matches": [{"path": {"type": "PathPrefix", "value": "/cart"}}],
                }
            ],
        },
    }
    refs = ("spec", "rules", 0, "backendRefs")
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "handler-cart-1-2-0", "namespace": "shop"},
        "data": {
            "settings.yaml": "currency: EUR\nretries: 3\ntimeout: 10s\nlocale: en\nfees: no\n"
        },
    }
    later = {
        **config,
        "data": {
            "settings.yaml": "currency: EUR\nretries: 5\ntimeout: 10s\nlocale: en\nfees: yes\n"
        },
    }
    return UnitReview(
        unit="shop/cart",
        kind="handler",
        namespace="shop",
        name="cart",
        action=Action.CHANGE,
        versions=(
            VersionReview(
                "1.2.0",
                State("Active", 100, old, "1" * 8, "base/shop/handler-cart/1.2.0-1", "hpa", 2, 10),
                State("Active", 90, old, "2" * 8, "base/shop/handler-cart/1.2.0-2", "hpa", 2, 12),
                (
                    changed(
                        config,
                        later,
                        replaced(
                            ("data", "settings.yaml"),
                            config["data"]["settings.yaml"],
                            later["data"]["settings.yaml"],
                        ),
                    ),
                    changed(
                        service("shop", "handler-cart-1-2-0"),
                        service("shop", "handler-cart-1-2-0", "None"),
                        FieldChange(("spec", "clusterIP"), Op.ADD, None, "None"),
                        action=Action.RECREATE,
                    ),
                ),
                restarts=True,
            ),
            VersionReview(
                "1.3.0",
                None,
                State("Canary", 10, new, "3" * 8, "base/shop/handler-cart/1.3.0-3", "hpa", 1, 4),
                (
                    created(
                        deployment("shop", "handler-cart-1-3-0", new, env=[("CURRENCY", "EUR")]),
                        folder=f"overlays/prod/{cluster}/shop/handler-cart",
                    ),
                    created(service("shop", "handler-cart-1-3-0")),
                ),
            ),
        ),
        objects=(
            changed(
                route,
                split,
                replaced((*refs, Keyed((("name", "handler-cart-1-2-0"),)), "weight"), 100, 90),
                FieldChange(
                    (*refs, Keyed((("name", "handler-cart-1-3-0"),))),
                    Op.ADD,
                    None,
                    {"name": "handler-cart-1-3-0", "port": 80, "weight": 10},
                    index=1,
                ),
            ),
        ),
        rollout=(
            "1.3.0 waits Pending until staging has had it Active for 24 h",
            "then a canary: 10 → 25 → 50 → 100, ten minutes a step",
        ),
        files=("specs/cart.yaml",),
    )


def legacy():
    name = "handler-legacy-0-9-0"
    image = "registry.shop.dev/legacy:0.9.0"
    return UnitReview(
        unit="shop/legacy",
        kind="handler",
        namespace="shop",
        name="legacy",
        action=Action.DELETE,
        versions=(
            VersionReview(
                "0.9.0",
                State(
                    "Active", 100, image, "9" * 8, "base/shop/handler-legacy/0.9.0-9", "none", 1, 1
                ),
                None,
                (
                    deleted(deployment("shop", name, image, replicas=1)),
                    deleted(service("shop", name)),
                ),
            ),
        ),
    )


def target(environment, cluster, unit, version="1.0.0"):
    return Target(environment, cluster, unit, version)


def amounts(pods, memory, cost=None):
    return Amount(pods, pods * 100, memory, 0, memory, cost)


def shop(classed=12, environments=("staging", "prod"), clusters=("eu", "us")):
    """A review with every part of the model in it."""
    names = [f"{word}-{number:03}" for number in range(classed) for word in ("basket",)]
    where = [
        target(environment, cluster, f"shop/{name}")
        for environment in environments
        for cluster in clusters
        for name in names
    ]
    memory = (*POD, "resources", "requests", "memory")
    outlier = classed_unit("shop", "search")
    odd = replaced(memory, "256Mi", "2Gi")
    body = deployment("shop", "handler-search-1-0-0", "registry.shop.dev/search:1.0.0")
    wide = deployment(
        "shop", "handler-search-1-0-0", "registry.shop.dev/search:1.0.0", memory="2Gi"
    )
    search = replace(
        outlier, versions=(replace(outlier.versions[0], objects=(changed(body, wide, odd),)),)
    )
    totals = Totals(
        amounts(40, 10 * GI, 210.0),
        amounts(42, 12 * GI, 254.5),
        amounts(160, 40 * GI, 840.0),
        amounts(168, 52 * GI, 1020.0),
    )
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "gati-reader", "namespace": "shop"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    }
    cart_targets = tuple(
        target("prod", cluster, "shop/cart", "1.2.0")
        for cluster in clusters
        if "prod" in environments
    )
    return Review(
        base=Compared("origin/main", "4f1c2d3a99e0b7c8d6e5f4a3b2c1d0e9f8a7b6c5", "shop"),
        head=Compared("HEAD", "9b8e7a6155443322110099887766554433221100", "shop"),
        ledger="gitops@main",
        notes=("Prices are those of prices.yaml; what nodes cost beside them is not counted.",),
        findings=(
            Finding(
                "object-recreated",
                Level.DANGER,
                "Service handler-cart-1-2-0 is deleted and made again, for spec.clusterIP is immutable",
                cart_targets,
                Place("specs/cart.yaml", 14, 3),
                "spec.clusterIP",
                "",
                "None",
                "Give the version a new id, or leave the field as it is",
            ),
            Finding(
                "unit-removed",
                Level.DANGER,
                "shop/legacy goes: 2 objects are pruned, and its route answers nobody",
                (target("staging", clusters[0], "shop/legacy", "0.9.0"),),
                Place("specs/legacy.yaml"),
            ),
            Finding(
                "rbac-widened",
                Level.DANGER,
                "Role gati-reader may get secrets in shop",
                tuple(Target("prod", cluster, "", "", object_id(role)) for cluster in clusters),
                Place("templates/reader.yaml.j2", 9, 1),
                "rules[0].resources",
            ),
            *(
                Finding(
                    "pods-restart",
                    Level.WARNING,
                    f"pods of shop/{name} 1.0.0 restart: memory changed",
                    tuple(t for t in where if t.unit == f"shop/{name}"),
                    Place("gati.yaml", 31, 9),
                )
                for name in names
            ),
            Finding(
                "traffic-moves",
                Level.WARNING,
                "1.2.0 goes from 100 % to 90 %, 1.3.0 gets 10 %",
                cart_targets,
                Place("specs/cart.yaml", 8, 12),
                "",
                "1.2.0 100 %",
                "1.2.0 90 %, 1.3.0 10 %",
            ),
            Finding(
                "promotion",
                Level.NOTE,
                "1.3.0 waits until staging has had it Active for 24 h",
                cart_targets,
            ),
            Finding(
                "blast-radius", Level.NOTE, f"{classed + 3} units in 2 environments are touched"
            ),
        ),
        classes=(
            ChangeClass(
                "C1",
                "Deployment: memory of app 256Mi → 320Mi",
                "Deployment",
                Action.CHANGE,
                (
                    replaced((*POD, "resources", "limits", "memory"), "256Mi", "320Mi", "C1"),
                    replaced(memory, "256Mi", "320Mi", "C1"),
                ),
                tuple(where),
                classed,
                (Outlier(target("prod", clusters[0], "shop/search"), (odd,)),),
            ),
        ),
        environments=tuple(
            EnvironmentReview(
                environment,
                tuple(
                    ClusterReview(
                        cluster,
                        (
                            *(classed_unit("shop", name) for name in names),
                            *((cart(cluster),) if environment == "prod" else ()),
                            *(
                                (legacy(),)
                                if (environment, cluster) == ("staging", clusters[0])
                                else ()
                            ),
                            *((search,) if (environment, cluster) == ("prod", clusters[0]) else ()),
                        ),
                        (created(role),) if environment == "prod" else (),
                    )
                    for cluster in clusters
                ),
                totals,
            )
            for environment in environments
        ),
        radius=Radius(
            len(environments), len(environments) * len(clusters), classed + 3, 3, 30, 1, 0, 2
        ),
    )


def nothing():
    return Review(base=Compared("origin/main"), head=Compared("HEAD"))


def own_unit(number):
    """A unit that no class says anything of."""
    name = f"unit-{number:04}"
    full = f"handler-{name}-1-0-0"
    before = deployment("shop", full, f"registry.shop.dev/{name}:1.0.{number}", memory="256Mi")
    after = deployment("shop", full, f"registry.shop.dev/{name}:1.1.{number}", memory="256Mi")
    image = (f"registry.shop.dev/{name}:1.{minor}.{number}" for minor in (0, 1))
    states = [State("Active", 100, "", "d" * 8, "base", "hpa", 2, 6)] * 2
    change = changed(before, after, replaced(IMAGE, *image))
    version = VersionReview("1.0.0", *states, (change,), restarts=True)
    return UnitReview(
        f"shop/{name}", "handler", "shop", name, Action.CHANGE, (version,), files=(f"{name}.yaml",)
    )


def many(number, environments=("dev", "staging", "prod"), clusters=("eu", "us")):
    """As many units, each with a change of its own on every cluster."""
    units = tuple(own_unit(each) for each in range(number))
    return Review(
        base=Compared("origin/main", "4" * 40, "shop"),
        head=Compared("HEAD", "9" * 40, "shop"),
        ledger="gitops@main",
        findings=tuple(
            Finding(
                "image",
                Level.DANGER if each % 50 == 0 else Level.WARNING,
                f"image of shop/unit-{each:04} changes to 1.1.{each}",
                tuple(
                    target(environment, cluster, f"shop/unit-{each:04}")
                    for environment in environments
                    for cluster in clusters
                ),
                Place(f"unit-{each:04}.yaml", 9, 3),
            )
            for each in range(number)
        ),
        environments=tuple(
            EnvironmentReview(name, tuple(ClusterReview(cluster, units) for cluster in clusters))
            for name in environments
        ),
        radius=Radius(
            len(environments), len(environments) * len(clusters), number, 0, number * 6, 0, 0, 0
        ),
    )


def spoiled(value, spoil):
    """The same review with every text in it changed, but not what the program itself says."""
    if isinstance(value, StrEnum) or value in (None, ""):
        return value
    if isinstance(value, str):
        return spoil(value)
    if is_dataclass(value):
        fixed = {"code"}
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        return replace(
            value,
            **{name: one if name in fixed else spoiled(one, spoil) for name, one in found.items()},
        )
    if isinstance(value, dict):
        return {spoil(key): spoiled(one, spoil) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(spoiled(one, spoil) for one in value)
    return value
