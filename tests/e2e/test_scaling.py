"""One owner of the number of pods: a scaler moves it, no engine moves it back, and no hand-over costs a pod."""

import threading
import time

import pytest

from tests.e2e import specs
from tests.e2e.cluster import DEPLOYMENT, Cluster
from tests.e2e.edge import Edge
from tests.e2e.processes import until
from tests.e2e.stories import ENGINES, arrive, begin, pods_ready

pytestmark = pytest.mark.lane
SCALED = ("keda.sh/v1alpha1", "ScaledObject")
CART, ORDERS = "handler-cart-v1", "handler-orders-v1"
# Follows at once, down too: by default an HPA waits for five minutes.
QUICK = {
    "scaleDown": {"stabilizationWindowSeconds": 0},
    "scaleUp": {"stabilizationWindowSeconds": 0},
}
HPA = {"type": "hpa", "min": 3, "max": 6, "metrics": [{"type": "cpu", "utilization": 50}]}
KEDA = {
    "type": "keda",
    "min": 2,
    "max": 8,
    "metrics": [{"type": "prometheus", "query": "sum(rate(edge_requests[1m]))", "target": "10"}],
}


class Numbers:
    """What the number of pods was, looked at ten times a second: each change, and the fewest that were ready."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name = cluster, name
        self.changes: list[int] = []
        self.fewest = 10**6
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self):
        with self.cluster.place.inside():
            self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(10)

    def _look(self) -> None:
        while not self._stop.wait(0.1):
            body = self.cluster.api.get(*DEPLOYMENT, specs.NAMESPACE, self.name)
            number = body["spec"]["replicas"]
            if not self.changes or self.changes[-1] != number:
                self.changes.append(number)
            self.fewest = min(self.fewest, body.get("status", {}).get("readyReplicas", 0))


def keep_syncing(running, commit: str, seconds: float = 12) -> None:
    """Sync after sync: whoever wants to fight has the time for it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        arrive(running, commit)
        time.sleep(1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scaler_owns_the_number_and_gets_it_without_losing_a_pod(worlds, tmp_path, engine):
    world = worlds("prod")
    cluster = world["prod"]
    Edge(cluster)
    settings = specs.project(world, engine)
    cluster.use_cpu(handler_cart="10m")

    def publish(cart, **orders) -> str:
        documents = [specs.handler("cart", "v1", **cart)]
        documents += [specs.handler("orders", "v1", **orders)] if orders else []
        return world.publish(specs.write(tmp_path / "specs", settings, *documents))

    # a fixed number
    commit = publish({"replicas": 4})
    running = begin(world, "prod", engine, commit)
    until("four pods", lambda: pods_ready(cluster, CART, 4), within=60)

    with Numbers(cluster, CART) as seen:
        # the specs want a scaler → it waits, and the number is still Git's
        scaled = {"autoscaling": {**HPA, "behavior": QUICK}}
        commit = publish({"replicas": 4, **scaled})
        arrive(running, commit)
        assert scaler(cluster) is None
        assert seen.changes == [4]

        # somebody takes hold of the number, says so → the scaler comes, the number stays
        hold = {"name": CART, "namespace": specs.NAMESPACE}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": hold,
            "spec": {"replicas": 4},
        }
        cluster.api.apply(body, manager="gati-handover", force=False)
        path = "overlays/prod/prod/shop/handler-cart/rollout.yaml"
        world.git.edit(
            path,
            lambda text: text.replace("  weight: 100\n", "  weight: 100\n  handedOver: true\n"),
            "Hand over",
        )
        commit = publish({"replicas": 4, **scaled})
        cluster.use_cpu(handler_cart="50m")  # just what it should be: nobody has a reason to move
        arrive(running, commit)
        until("the scaler", lambda: scaler(cluster), within=30)
        assert "replicas" not in Git(world, "prod").deployment(CART)["spec"]
        keep_syncing(running, commit, seconds=8)
        assert seen.changes == [4]

        # load → more pods, and both of them leave it there
        cluster.use_cpu(handler_cart="95m")
        until("six pods", lambda: pods_ready(cluster, CART, 6), within=60)
        keep_syncing(running, commit)
        assert seen.changes == [4, 6]

        # quiet → fewer, down to the scaler's least
        cluster.use_cpu(handler_cart="1m")
        until("three pods", lambda: pods_ready(cluster, CART, 3), within=90)
        keep_syncing(running, commit)
        assert seen.changes[:2] == [4, 6] and seen.changes[-1] == 3
        assert seen.changes[1:] == sorted(seen.changes[1:], reverse=True)

        # back to a fixed number → that number, and nobody else's
        commit = publish({"replicas": 5})
        arrive(running, commit)
        until("five pods", lambda: pods_ready(cluster, CART, 5), within=60)
        keep_syncing(running, commit, seconds=6)
        # Engines prune after they have applied, so the scaler may have a last word in between, and not after.
        since = seen.changes[seen.changes.index(3) :]
        assert since[-1] == 5 and set(since) <= {3, 4, 5}
        before = len(seen.changes)
        assert scaler(cluster) is None
        keep_syncing(running, commit, seconds=6)
        assert len(seen.changes) == before
    assert seen.fewest >= 3

    # KEDA: the API server takes its object; the number it sets stays
    commit = publish({"replicas": 5}, replicas=2, autoscaling=KEDA)
    running.sync()
    wanted = (*SCALED, specs.NAMESPACE, ORDERS)
    found = until("its object", lambda: cluster.api.find(*wanted), within=60)
    assert found["spec"]["scaleTargetRef"]["name"] == ORDERS
    assert (found["spec"]["minReplicaCount"], found["spec"]["maxReplicaCount"]) == (2, 8)
    as_keda(cluster, found)
    arrive(running, commit)
    until("its least", lambda: pods_ready(cluster, ORDERS, 2), within=60)
    with Numbers(cluster, ORDERS) as seen:
        scale(cluster, ORDERS, 7)
        until("seven pods", lambda: pods_ready(cluster, ORDERS, 7), within=60)
        keep_syncing(running, commit)
        assert seen.changes[-1] == 7
    assert cluster.api.find(
        "autoscaling/v2", "HorizontalPodAutoscaler", specs.NAMESPACE, f"keda-hpa-{ORDERS}"
    )


def scaler(cluster: Cluster):
    return cluster.api.find("autoscaling/v2", "HorizontalPodAutoscaler", specs.NAMESPACE, CART)


def scale(cluster: Cluster, name: str, number: int) -> None:
    cluster.api.patch(
        *DEPLOYMENT, specs.NAMESPACE, name, {"spec": {"replicas": number}}, sub="scale"
    )


def as_keda(cluster: Cluster, found) -> None:
    """What KEDA's operator does with a ScaledObject: an HPA of its own on an external metric, and a status."""
    ready = {"type": "Ready", "status": "True", "reason": "ScaledObjectReady", "message": "ready"}
    status = {
        "conditions": [ready],
        "hpaName": f"keda-hpa-{ORDERS}",
        "scaleTargetKind": "apps/v1.Deployment",
    }
    cluster.api.patch(*SCALED, specs.NAMESPACE, ORDERS, {"status": status}, sub="status")
    owner = {key: found[key] for key in ("apiVersion", "kind")}
    owner |= {key: found["metadata"][key] for key in ("name", "uid")}
    metric = {
        "metric": {"name": "s0-prometheus"},
        "target": {"type": "AverageValue", "averageValue": "10"},
    }
    cluster.api.create(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {
                "name": f"keda-hpa-{ORDERS}",
                "namespace": specs.NAMESPACE,
                "labels": {"app.kubernetes.io/managed-by": "keda-operator"},
                "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
            },
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": ORDERS},
                "minReplicas": found["spec"]["minReplicaCount"],
                "maxReplicas": found["spec"]["maxReplicaCount"],
                "metrics": [{"type": "External", "external": metric}],
            },
        }
    )


class Git:
    """What the branch renders to."""

    def __init__(self, world, cluster: str) -> None:
        self.world, self.cluster = world, cluster

    def deployment(self, name: str):
        from gati_gitops.render import MemoryFiles, render

        path = f"overlays/{self.cluster}/{self.cluster}/{specs.NAMESPACE}"
        objects = render(MemoryFiles(self.world.git.tree()), path).objects()
        (found,) = [
            o for o in objects if o["kind"] == "Deployment" and o["metadata"]["name"] == name
        ]
        return found
