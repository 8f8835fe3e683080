"""Specs for the stories: a shop on real clusters, with everything that takes time made short."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.engines import GIT_SECRET
from tests.e2e.world import World

NAMESPACE = "shop"
HOST = "shop.example"
PROBES = {"periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 3}
DRAIN = {"delaySeconds": 3, "requestSeconds": 5}


def handler(name: str, version: str, behaviour: str = "", **spec: Any) -> dict[str, Any]:
    env = {**spec.pop("env", {}), **({"GATI_E2E": behaviour} if behaviour else {})}
    own: dict[str, Any] = {
        "handlerPath": f"/api/{name}",
        "version": version,
        "replicas": 2,
        "image": f"registry.example/{name}:{version}",
        "port": 3000,
        "probes": {**PROBES, "startup": {"failureThreshold": 60}, "liveness": {"periodSeconds": 5}},
        "drain": DRAIN,
    }
    if env:
        own["env"] = env
    return {
        "apiVersion": "gati.dev/v1alpha1",
        "kind": "GatiHandler",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": own | spec,
    }


def project(world: World, engine: str, **more: Any) -> dict[str, Any]:
    """One environment per cluster of the world, called as the cluster."""
    environments: dict[str, Any] = {}
    for name, cluster in world.clusters.items():
        metrics = {
            "url": f"http://127.0.0.1:{cluster.port('prometheus')}",
            "evidence": {
                "gateway": "traefik",
                "inFlight": "gati_active_connections",
                "ignoreRoutes": ["/health", "/metrics"],
            },
        }
        environments[name] = {
            "clusters": {name: {"sync": {"engine": engine}, "metrics": metrics}},
            "routing": {"hosts": [HOST]},
            "onDelete": "immediate",
        }
    spec = {
        "sync": {
            "repository": world.git.url,
            "flux": {"interval": "10s", "secret": GIT_SECRET},
        },
        "monitoring": {"intervalSeconds": 5, "dashboard": False},
        "environments": environments,
        "rollout": {"strategy": "direct"},
    }
    return {
        "apiVersion": "gati.dev/v1alpha1",
        "kind": "GatiProject",
        "metadata": {"name": NAMESPACE},
        "spec": merged(spec, more),
    }


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(base)
    for key, value in over.items():
        own = found.get(key)
        found[key] = (
            merged(own, value) if isinstance(own, dict) and isinstance(value, dict) else value
        )
    return found


def write(folder: Path, *documents: Mapping[str, Any]) -> Path:
    """The documents, a file each, instead of what was there."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.yaml"):
        old.unlink()
    for body in documents:
        name = "gati" if body["kind"] == "GatiProject" else body["metadata"]["name"]
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(dict(body), sort_keys=False))
    return folder
