"""The cluster is wiped in the middle of a canary and rebuilt from Git alone: the same versions, the same weights."""

import pytest

from tests.e2e import specs
from tests.e2e.cluster import DEPLOYMENT, Cluster
from tests.e2e.edge import Edge
from tests.e2e.load import Load, follows
from tests.e2e.processes import until
from tests.e2e.stories import ENGINES, arrive, begin, pods_ready

pytestmark = pytest.mark.lane
WEIGHTS = {"v1": 90, "v2": 10}
VERSION = {
    "apiVersion": "gati.dev/v1alpha1",
    "kind": "GatiVersion",
    "metadata": {"name": "cart-v2", "namespace": specs.NAMESPACE},
    "spec": {
        "handler": "cart",
        "versionId": "v2",
        "breaking": False,
        "routingWeight": 10,
        "image": "registry.example/cart:v2",
    },
}


def running_now(cluster: Cluster) -> dict[str, tuple[str, int]]:
    """Image and pods of every version that is live."""
    return {
        body["metadata"]["name"]: (
            body["spec"]["template"]["spec"]["containers"][0]["image"],
            body["spec"]["replicas"],
        )
        for body in cluster.api.items(*DEPLOYMENT, specs.NAMESPACE)
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_git_alone_brings_it_back(worlds, tmp_path, engine):
    world = worlds("prod")
    cluster = world["prod"]
    settings = specs.project(world, engine, rollout={"strategy": "canary"})
    cart = specs.handler("cart", "v1", timescape={"routingWeight": 90})
    commit = world.publish(specs.write(tmp_path / "specs", settings, cart, VERSION))
    edge = Edge(cluster)
    engines = begin(world, "prod", engine, commit)

    def serves() -> None:
        for version in WEIGHTS:
            name = f"handler-cart-{version}"
            until(f"pods of {version}", lambda n=name: pods_ready(cluster, n, 2), within=90)
        until("the route", lambda: edge.accepted(specs.NAMESPACE, "handler-cart"), within=60)
        with Load(world.place, edge.url, "/api/cart", specs.HOST, rate=50) as load:
            # The edge follows pods a moment after they are ready.
            until("answers", lambda: not [a for a in load.wait(40) if a.failed], within=60)
            answers = load.wait(400)
        assert not [a for a in answers if a.failed]
        assert follows(answers, WEIGHTS)

    # in the middle of a canary
    serves()
    before, weights = running_now(cluster), cluster.weights(specs.NAMESPACE, "handler-cart")
    assert weights == {f"handler-cart-{version}": weight for version, weight in WEIGHTS.items()}

    # everything is gone
    edge.end()
    cluster.wipe()
    assert not cluster.api.items(*DEPLOYMENT)
    assert not cluster.pods("")

    # Git, and what a person applies once
    edge = Edge(cluster)
    engines.restart()
    world.bootstrap("prod")
    namespace = ("v1", "Namespace", "", specs.NAMESPACE)
    until("the namespace", lambda: cluster.api.find(*namespace), within=90)
    arrive(engines, commit)
    serves()
    assert running_now(cluster) == before
    assert cluster.weights(specs.NAMESPACE, "handler-cart") == weights
    assert world.git.tip() == commit
