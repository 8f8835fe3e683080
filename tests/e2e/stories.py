"""What several stories do: an engine beside a cluster, pods that are ready, and who was changed how often."""

import json
from typing import Any

from tests.e2e import specs
from tests.e2e.cluster import DEPLOYMENT, ROUTE, Cluster
from tests.e2e.edge import Edge
from tests.e2e.engines import ArgoCd, Flux, wait_synced
from tests.e2e.job import Job
from tests.e2e.processes import until
from tests.e2e.world import World

ENGINES = {"flux": Flux, "argocd": ArgoCd}
OURS = (
    DEPLOYMENT,
    ROUTE,
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("v1", "Namespace"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("keda.sh/v1alpha1", "ScaledObject"),
    ("monitoring.coreos.com/v1", "ServiceMonitor"),
    ("monitoring.coreos.com/v1", "PrometheusRule"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
)


def begin(world: World, name: str, engine: str, commit: str) -> Flux | ArgoCd:
    """An engine beside a cluster, with all roots synced."""
    running = ENGINES[engine](world[name], world.git)
    world.bootstrap(name)
    namespace = ("v1", "Namespace", "", specs.NAMESPACE)
    until("the namespace", lambda: world[name].api.find(*namespace), within=90)
    running.sync()
    wait_synced(running, commit)
    return running


def arrive(running: Flux | ArgoCd, commit: str) -> None:
    """A commit reaches its cluster, without waiting for the engine to look by itself."""
    running.sync()
    wait_synced(running, commit)


def generations(cluster: Cluster) -> dict[str, tuple[str, object]]:
    """Who every object of ours is, and how often it was changed."""
    return {
        name: (body["metadata"]["uid"], changes(body))
        for name, body in cluster.objects(*OURS).items()
    }


def changes(body: dict[str, Any]) -> object:
    """Its generation; of kinds that have none, all that is not a controller's word about it."""
    meta = body["metadata"]
    if "generation" in meta:
        return meta["generation"]
    said = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    return json.dumps([said, meta.get("labels"), meta.get("annotations")], sort_keys=True)


def pods_ready(cluster: Cluster, name: str, count: int) -> bool:
    """So many pods, all of the newest kind and ready, and no others."""
    body = cluster.api.get(*DEPLOYMENT, specs.NAMESPACE, name)
    status = body.get("status", {})
    seen = [status.get(f"{kind}eplicas", 0) for kind in ("readyR", "updatedR", "r")]
    return (
        status.get("observedGeneration") == body["metadata"]["generation"] and seen == [count] * 3
    )


def wait_served(cluster: Cluster, edge: Edge, unit: str = "cart", version: str = "v1") -> None:
    """Pods of it are ready, and requests get through: a route may be accepted before its pods are known."""
    name = f"handler-{unit}-{version}"
    until(f"pods of {name}", lambda: pods_ready(cluster, name, 2), within=90)
    until(f"an answer of {unit}", lambda: edge.serves(f"/api/{unit}", specs.HOST), within=30)


def owned(cluster: Cluster, unit: str) -> list[str]:
    """Names of the objects of one unit."""
    label = "gati.dev/unit"
    found = cluster.objects(*OURS).items()
    return [name for name, body in found if body["metadata"]["labels"].get(label) == unit]


def passes(job: Job, count: int) -> None:
    """So many whole passes of the job, beginning with the next."""

    def ended() -> int:
        return sum(line["message"] == "pass ended" for line in job.lines())

    start = ended()
    until(f"{count} passes", lambda: ended() > start + count, within=20 * count, every=0.5)
