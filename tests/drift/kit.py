"""What the tests of drift share: a small shop in a repository, its objects, and its clusters."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gati_gitops.output import Output
from gati_gitops.preview.objects import identity
from gati_gitops.publish.objects import Overlaid
from gati_gitops.render import render
from gati_gitops.tree import MemorySnapshot, Tree
from tests.compile import kit
from tests.publish.kit import World

Object = dict[str, Any]
ENGINES = {"argocd": "argocd-controller", "flux": "kustomize-controller"}
TIME = "2026-05-04T10:11:12Z"


def project(namespace: str, **environment: Any) -> str:
    """One environment on two clusters, one of each engine."""
    routing = environment.pop("routing", {"provider": "gateway-api", "hosts": ["shop.example"]})
    return json.dumps(
        {
            "apiVersion": "gati.dev/v1alpha1",
            "kind": "GatiProject",
            "metadata": {"name": namespace},
            "spec": {
                "sync": {"repository": "https://git.example.com/acme/deploy.git"},
                "environments": {
                    "prod": {
                        "clusters": {"eu": {"sync": {}}, "us": {"sync": {"engine": "flux"}}},
                        "routing": routing,
                        **environment,
                    }
                },
            },
        }
    )


def shop(namespace: str = "shop", **environment: Any) -> dict[str, str]:
    """Specs with what units are made of: fixed pods, both scalers, files, a module, two versions."""
    return {
        "gati.yaml": project(namespace, **environment),
        "cart.yaml": kit.handler(
            "cart",
            "v2",
            weight=10,
            namespace=namespace,
            env={"LOG": "info", "GREETING": "hello"},
            resources={
                "requests": {"cpu": "100m", "memory": "128Mi"},
                "limits": {"cpu": "1", "memory": "1Gi"},
            },
            volumes=[{"name": "conf", "mountPath": "/etc/cart", "files": {"a.ini": "x=1\n"}}],
        ),
        "cart-v1.yaml": kit.document(
            "GatiVersion",
            "cart-v1",
            {
                "versionId": "v1",
                "breaking": False,
                "routingWeight": 90,
                "handler": "cart",
                "image": "ghcr.io/acme/cart:v1",
                "port": 3000,
            },
            namespace,
        ),
        "users.yaml": kit.handler(
            "users",
            "v1",
            namespace=namespace,
            autoscaling={
                "type": "hpa",
                "min": 2,
                "max": 5,
                "metrics": [{"type": "cpu", "utilization": 70}],
            },
        ),
        "db.yaml": kit.document(
            "GatiModule",
            "db",
            {
                "moduleName": "db",
                "moduleType": "node",
                "runtime": "node:20",
                "image": "ghcr.io/acme/db:v1",
                "port": 50051,
                "replicas": 2,
            },
            namespace,
        ),
    }


@functools.cache
def compiled(provider: str = "gateway-api") -> Tree:
    routing: dict[str, Any] = {"provider": provider, "hosts": ["shop.example"]}
    if provider == "istio":
        routing["istio"] = {"gateways": ["istio-system/shared"]}
    return kit.tree_of(shop(routing=routing))


def objects(tree: Mapping[str, bytes], env: str = "prod", cluster: str = "eu") -> list[Object]:
    """All that the units of a cluster build."""
    snapshot = MemorySnapshot(tree)
    found: list[Object] = []
    for key in Output(snapshot).keys(env, cluster):
        folder = "/".join(("overlays", env, cluster, *key))
        found += render(Overlaid(snapshot), folder).objects()
    return found


# -- objects as a server would give them back ------------------------------------------------------


def applied(item: Object, engine: str = "argocd") -> Object:
    """An object as it is after the engine has applied it, and nobody else has been there."""
    live = copy.deepcopy(item)
    live["metadata"] |= {"uid": "1", "resourceVersion": "2", "generation": 1}
    owned = {k: v for k, v in item.items() if k not in ("apiVersion", "kind", "metadata")}
    owned["metadata"] = {
        k: v for k, v in item["metadata"].items() if k in ("labels", "annotations")
    }
    return written(live, owned, ENGINES[engine], "Apply")


def written(
    live: Object, owned: Object, manager: str, operation: str = "Update", subresource: str = ""
) -> Object:
    """The object, with a manager who has written what ``owned`` shows."""
    entry = {
        "manager": manager,
        "operation": operation,
        "time": TIME,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields_of(owned),
        **({"subresource": subresource} if subresource else {}),
    }
    live["metadata"].setdefault("managedFields", []).append(entry)
    return live


def taken_over(live: Object, path: tuple[Any, ...], manager: str = "kubectl-edit") -> Object:
    """What a server notes when somebody else changes a field: it is that manager's from then on."""
    for entry in live["metadata"]["managedFields"]:
        _disown(entry["fieldsV1"], live, path)
    owned: Any = get(live, path)
    for step in reversed(path):
        owned = {step: owned} if isinstance(step, str) else None
    return written(live, owned if isinstance(owned, dict) else {}, manager)


def _disown(fields: Any, value: Any, path: tuple[Any, ...]) -> None:
    step, *rest = path
    inner = value[step]
    for key in list(fields):
        if key == f"f:{step}" or (key.startswith("k:") and _is(inner, json.loads(key[2:]))):
            if rest and fields[key]:
                _disown(fields[key], inner, tuple(rest))
            else:
                del fields[key]


def _is(element: Any, keys: Mapping[str, Any]) -> bool:
    return isinstance(element, dict) and all(element.get(k) == v for k, v in keys.items())


_KEYED = ("name", "containerPort", "mountPath", "topologyKey")
ATOMIC = frozenset(("rules", "http", "services", "routes", "matchLabels", "selector", "args"))


def fields_of(value: Any) -> Any:
    """A value as a set of fields, in the way of FieldsV1; some lists are one field."""
    if isinstance(value, dict):
        return {f"f:{name}": _below(name, item) for name, item in value.items()}
    return {}


def _below(name: str, value: Any) -> Any:
    if name in ATOMIC:
        return {}
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for key in _KEYED:
            names = [item.get(key) for item in value]
            if all(names) and len(set(map(str, names))) == len(names):
                return {
                    f"k:{json.dumps({key: item[key]}, separators=(',', ':'))}": {
                        ".": {},
                        **fields_of(item),
                    }
                    for item in value
                }
        return {}
    return fields_of(value) if isinstance(value, dict) and value else {}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    """Paths of all that is neither a mapping nor a list, by names and positions."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path


def get(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    get(value, path[:-1])[path[-1]] = new


# -- repositories and clusters ---------------------------------------------------------------------


def published(root: Path, namespace: str = "shop", **environment: Any) -> World:
    """The shop in a repository."""
    root.mkdir(parents=True, exist_ok=True)
    world = World(root)
    world.release(shop(namespace, **environment))
    return world


def sync(control_plane: Any, tree: Mapping[str, bytes], cluster: str = "eu") -> list[Object]:
    """Apply all of a cluster's folders as its engine would."""
    manager = ENGINES["argocd" if cluster == "eu" else "flux"]
    snapshot = MemorySnapshot(tree)
    folders = sorted(
        path.rpartition("/")[0]
        for path in tree
        if path.startswith(f"overlays/prod/{cluster}/") and path.endswith("/kustomization.yaml")
    )
    found: list[Object] = []
    for folder in folders:
        if folder.endswith(("/_namespace", "/_crds")) or folder.count("/") == 4:
            found += render(Overlaid(snapshot), folder).objects()
    order = {"CustomResourceDefinition": 0, "Namespace": 1}
    for item in sorted(found, key=lambda item: order.get(item["kind"], 2)):
        control_plane.api.apply(item, manager=manager)
    return found


def content(control_plane: Any, tree: Mapping[str, bytes], cluster: str = "eu") -> None:
    """The objects of a cluster's engine, which says that all of them are as in Git."""
    control_plane.namespace("argocd" if cluster == "eu" else "flux-system")
    folder = f"clusters/{cluster}"
    for item in render(Overlaid(MemorySnapshot(tree)), folder).objects():
        control_plane.api.apply(item, manager="bootstrap")
        id = identity(item)
        at = (item["apiVersion"], id.kind, id.namespace, id.name)
        if id.kind == "Application":
            status = {
                "sync": {"status": "Synced", "revision": "abc"},
                "health": {"status": "Healthy"},
            }
            control_plane.api.patch(*at, {"status": status})
        elif id.kind in ("Kustomization", "GitRepository"):
            generation = control_plane.api.get(*at)["metadata"]["generation"]
            told = {"observedGeneration": generation, "conditions": [READY]}
            if id.kind == "Kustomization":
                told["lastAppliedRevision"] = "main@sha1:abc"
            else:
                told["artifact"] = ARTIFACT
            control_plane.api.patch(*at, {"status": told}, sub="status")


READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Succeeded",
    "message": "applied",
    "lastTransitionTime": TIME,
}
ARTIFACT = {
    "path": "x",
    "url": "http://x.example/x",
    "revision": "main@sha1:abc",
    "digest": f"sha256:{'0' * 64}",
    "lastUpdateTime": TIME,
    "size": 1,
}


def named(items: Iterable[Object], kind: str, name: str) -> Object:
    return next(i for i in items if i["kind"] == kind and identity(i).name == name)
