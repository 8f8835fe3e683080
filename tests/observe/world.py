"""A compiled project as a cluster would have it: its objects, with the status of healthy ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gati_gitops.decide.observation import Gap, Live, Missing
from gati_gitops.observe.cluster import Cluster
from gati_gitops.observe.engines import Elsewhere, Engines, engine_home
from gati_gitops.observe.kube import Kube
from gati_gitops.observe.live_revisions import Built
from gati_gitops.observe.wanted import Wanted
from gati_gitops.output import Output, UnitKey
from gati_gitops.reconcile.drift.sights import target_at
from gati_gitops.render import MemoryFiles, render
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import handler, module, objects, project, tree_of, version
from tests.observe.kube_api import KubeApi

Object = dict[str, Any]
USERS: UnitKey = ("shop", "handler-users")
DB: UnitKey = ("shop", "module-db")
REPOSITORY = "https://git.example.com/acme/deploy.git"
NOW = 1_800_000_000.0
LONG_AGO = "2026-11-01T00:00:00Z"


def files(
    provider: str = "gateway-api",
    *more: str,
    cluster: Mapping[str, Any] | None = None,
    sync: bool = True,
    **routing: Any,
) -> dict[str, str]:
    """A handler with 90 on v1 and 10 on v2, and a module."""
    routed = {"provider": provider, **routing}
    env = {"prod": {"clusters": {"east": dict(cluster or {})}, "routing": routed}}
    settings = {"sync": {"repository": REPOSITORY}} if sync else {}
    return {
        "gati.yaml": project(env, rollout={"strategy": "canary"}, **settings),
        "users.yaml": handler(weight=90),
        "v2.yaml": version("users", "v2", 10, image="ghcr.io/acme/users:v2"),
        "db.yaml": module(),
        **{f"more{n}.yaml": text for n, text in enumerate(more)},
    }


class World:
    """``objects`` are what the cluster has; tests change them."""

    def __init__(
        self, specs: Mapping[str, str] | None = None, before: Mapping[str, bytes] | None = None
    ) -> None:
        self.tree = tree_of(specs or files(), before)
        self.output = Output(MemorySnapshot(self.tree))
        self.units = self.output.units("prod", "east")
        self.objects: list[Object] = []
        for item in self._synced():
            self.add(item)

    def _synced(self) -> Iterator[Object]:
        root = MemoryFiles(self.tree)
        for namespace, folder in self.units:
            yield from render(root, f"overlays/prod/east/{namespace}/{folder}").objects()
        for path in sorted(self.tree):
            if path.startswith("clusters/east/"):
                yield from (item for item in objects(self.tree, path) if "metadata" in item)

    def add(self, item: Object) -> Object:
        """An object as the API server keeps it, and what its controllers make of it."""
        head = item["metadata"]
        head |= {"uid": f"uid-{len(self.objects)}", "generation": 1}
        head.setdefault("creationTimestamp", LONG_AGO)
        self.objects.append(item)
        after = {
            "Deployment": self._deployment,
            "HTTPRoute": self._http_route,
            "Application": self._application,
            "Kustomization": self._kustomization,
            "GitRepository": self._repository,
        }.get(item["kind"])
        if after is not None:
            after(item)
        return item

    def find(self, kind: str, name: str, namespace: str = "") -> Object:
        found = [
            item
            for item in self.objects
            if item["kind"] == kind
            and item["metadata"]["name"] == name
            and namespace in ("", item["metadata"].get("namespace"))
        ]
        assert len(found) == 1, (kind, name, len(found))
        return found[0]

    def pods(self, deployment: str) -> list[Object]:
        return [
            item
            for item in self.objects
            if item["kind"] == "Pod" and item["metadata"]["name"].startswith(f"{deployment}-")
        ]

    def slices(self, service: str) -> list[Object]:
        name = "kubernetes.io/service-name"
        return [
            item
            for item in self.objects
            if item["kind"] == "EndpointSlice" and item["metadata"]["labels"][name] == service
        ]

    # ------------------------------------------------------------------------------ controllers

    def _deployment(self, item: Object) -> None:
        spec = item["spec"]
        count = spec.setdefault("replicas", 2)
        item["status"] = {
            "observedGeneration": 1,
            "replicas": count,
            "updatedReplicas": count,
            "readyReplicas": count,
            "conditions": [
                {"type": "Available", "status": "True"},
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
            ],
        }
        name, namespace = item["metadata"]["name"], item["metadata"]["namespace"]
        for number in range(count):
            self.add(
                pod(f"{name}-5d4f-{number}", namespace, spec["template"]["metadata"]["labels"])
            )
        labels = item["metadata"]["labels"]
        self.add(endpoint_slice(name, namespace, labels, self.pods(name)))

    def _http_route(self, item: Object) -> None:
        parents = [
            {
                "parentRef": ref,
                "controllerName": "example.com/gateway",
                "conditions": [
                    {"type": name, "status": "True", "observedGeneration": 1, "reason": name}
                    for name in ("Accepted", "ResolvedRefs")
                ],
            }
            for ref in item["spec"]["parentRefs"]
        ]
        item["status"] = {"parents": parents}

    def _application(self, item: Object) -> None:
        item["status"] = {
            "sync": {"status": "Synced", "revision": "c0ffee"},
            "health": {"status": "Healthy"},
            "operationState": {"phase": "Succeeded", "syncResult": {"revision": "c0ffee"}},
        }

    def _kustomization(self, item: Object) -> None:
        item["status"] = {
            "observedGeneration": 1,
            "lastAppliedRevision": "main@sha1:c0ffee",
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded"}
            ],
        }

    def _repository(self, item: Object) -> None:
        item["status"] = {
            "observedGeneration": 1,
            "artifact": {"revision": "main@sha1:c0ffee"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded"}],
        }


def pod(name: str, namespace: str, labels: Mapping[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {"containers": [{"name": "handler"}]},
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": "True"},
            ],
            "containerStatuses": [
                {
                    "name": "handler",
                    "ready": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": LONG_AGO}},
                }
            ],
        },
    }


def endpoint_slice(
    service: str, namespace: str, labels: Mapping[str, str], pods: list[Object]
) -> Object:
    conditions = {"ready": True, "serving": True, "terminating": False}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{service}-x7k2p",
            "namespace": namespace,
            "labels": {**labels, "kubernetes.io/service-name": service},
        },
        "addressType": "IPv4",
        "endpoints": [
            {
                "addresses": [f"10.244.0.{number}"],
                "conditions": dict(conditions),
                "targetRef": {"kind": "Pod", "name": one["metadata"]["name"]},
            }
            for number, one in enumerate(pods, 1)
        ],
    }


def look(
    world: World,
    api: KubeApi,
    folder: Path,
    *,
    page: int = 500,
    hub: Kube | None = None,
    built: Built | None = None,
) -> Mapping[UnitKey, Live | Missing] | Missing:
    """One look at what the world has now."""
    api.objects = world.objects
    kube = api.kube(folder, page=page)
    cluster = Cluster(kube, engines(world, kube, hub), built=built, clock=lambda: NOW)
    try:
        return cluster.look(Wanted("east", world.units))
    finally:
        kube.close()


def engines(world: World, kube: Kube, hub: Kube | None = None) -> Engines | None:
    """The engine as the output has it."""
    target = target_at(world.output, "prod", "east")
    if target is None:
        return None
    home = engine_home(target.here)
    if isinstance(home, Elsewhere):
        home = hub or Missing(Gap.ERROR, "nobody says how it is reached", "the engine")
    return Engines(target, world.output.keys("prod", "east"), home or kube)


def seen(found: Mapping[UnitKey, Live | Missing] | Missing, key: UnitKey = USERS) -> Live:
    """One unit of a look that came out right."""
    assert not isinstance(found, Missing), found
    unit = found[key]
    assert isinstance(unit, Live), unit
    return unit
