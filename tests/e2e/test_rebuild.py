"""The cluster is wiped in the middle of a canary and rebuilt from Git alone: the same versions, the same weights.

The job runs all the while. It sees a cluster that does not answer, then an empty one, then pods that begin:
none of that is a fault of the version, so it writes nothing, and goes on where it was.
"""

import pytest

from tests.e2e import specs
from tests.e2e.cluster import DEPLOYMENT, Cluster
from tests.e2e.edge import Edge
from tests.e2e.job import Job, history, ledger, subjects
from tests.e2e.load import Load, follows
from tests.e2e.processes import until
from tests.e2e.prometheus import Prometheus
from tests.e2e.stories import ENGINES, begin, passes, pods_ready, wait_served
from tests.e2e.test_canary import RATE, ROUTE, settings
from tests.e2e.timeline import Timeline

pytestmark = pytest.mark.lane
WEIGHTS = {"v1": 90, "v2": 10}
LIVE = {f"handler-cart-{version}": weight for version, weight in WEIGHTS.items()}
NEW = {"handler-cart-v1": 0, "handler-cart-v2": 100}


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
def test_git_alone_brings_it_back(worlds, timelines, tmp_path, engine):
    world = worlds("prod")
    cluster = world["prod"]
    # A step that is long enough to be wiped in.
    said = settings(world, engine, rollout={"steps": [10, 100], "analysis": {"stepFor": "20s"}})
    folder = specs.write(tmp_path / "specs", said, specs.handler("cart", "v1"))
    first = world.publish(folder)
    edge = Edge(cluster)
    Prometheus(cluster)
    engines = begin(world, "prod", engine, first)
    wait_served(cluster, edge)
    job = Job(world)
    with (
        Load(world.place, edge.url, "/api/cart", specs.HOST, rate=RATE, clients=4) as load,
        Timeline(f"{engine}: wiped in a canary", world.git, cluster, ROUTE, load) as timeline,
    ):
        timelines.append(timeline)

        def serves() -> None:
            for version in WEIGHTS:
                name = f"handler-cart-{version}"
                until(f"pods of {version}", lambda n=name: pods_ready(cluster, n, 2), within=90)
            until("the route", lambda: edge.accepted(*ROUTE), within=60)
            # The edge follows pods a moment after they are ready.
            until("answers", lambda: not [a for a in load.wait(40) if a.failed], within=60)
            answers = load.wait(240)
            assert not [a for a in answers if a.failed]
            assert follows(answers, WEIGHTS)

        # in the middle of a canary, by the job's own commits
        world.publish(specs.write(folder, said, specs.handler("cart", "v2")))
        engines.sync()
        job.until(lambda: cluster.weights(*ROUTE) == LIVE, "10 %")
        serves()
        before = running_now(cluster)

        # everything is gone → the job sees that, and decides nothing
        edge.end()
        cluster.wipe()
        timeline.note("the cluster is wiped")
        commit = world.git.tip()
        assert ledger(world) == {"v1": ("Active", 90), "v2": ("Canary", 10)}
        assert not cluster.api.items(*DEPLOYMENT)
        assert not cluster.pods("")
        passes(job, 4)
        assert world.git.tip() == commit, subjects(history(world, commit))
        assert "the cluster does not have it" in job.explain()

        # Git, and what a person applies once → the same versions, the same weights
        edge = Edge(cluster)
        engines.restart()
        world.bootstrap("prod")
        namespace = ("v1", "Namespace", "", specs.NAMESPACE)
        until("the namespace", lambda: cluster.api.find(*namespace), within=90)
        engines.sync()
        until("the weights", lambda: cluster.weights(*ROUTE) == LIVE, within=90)
        timeline.note("its route is back")
        serves()
        assert running_now(cluster) == before
        assert cluster.weights(*ROUTE) == LIVE
        assert world.git.tip() == commit, subjects(history(world, commit))

        # and the rollout goes on
        job.until(lambda: cluster.weights(*ROUTE) == NEW, "100 %")
        until("the route", lambda: edge.accepted(*ROUTE), within=30)
        until("its share", lambda: follows(load.wait(60), {"v2": 100}), within=30)
    (activate,) = history(world, commit)[:1]
    assert activate.subject == "prod: activate shop/cart v2" and activate.decided
    assert not [one for one in history(world, first) if "roll back" in one.subject]
    assert job.program.running
