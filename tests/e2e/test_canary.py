"""A new version: 10 → 50 → 100 by the job's commits alone; the old one drains, parks and goes; nobody notices."""

import time

import pytest

from tests.e2e import specs
from tests.e2e.edge import Edge
from tests.e2e.job import DECOMMISSION, NUDGE, ROLLOUT, Job, history, ledger
from tests.e2e.load import Load, follows
from tests.e2e.processes import until
from tests.e2e.prometheus import Prometheus
from tests.e2e.stories import ENGINES, arrive, begin, owned, pods_ready
from tests.e2e.timeline import Timeline

pytestmark = pytest.mark.lane
ROUTE = (specs.NAMESPACE, "handler-cart")
RATE = 60.0


def settings(world, engine, **more):
    clusters = {name: {"sync": {"engine": engine, **NUDGE}} for name in world.clusters}
    usual = {
        "rollout": ROLLOUT,
        "decommission": DECOMMISSION,
        "environments": {name: {"clusters": {name: clusters[name]}} for name in world.clusters},
    }
    return specs.project(world, engine, **specs.merged(usual, more))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_version_comes_and_the_one_before_it_goes(worlds, timelines, tmp_path, engine):
    world = worlds("prod")
    cluster = world["prod"]
    edge, prometheus = Edge(cluster), Prometheus(cluster)
    said = settings(world, engine)
    folder = specs.write(tmp_path / "specs", said, specs.handler("cart", "v1"))
    commit = world.publish(folder)
    running = begin(world, "prod", engine, commit)
    until("pods", lambda: pods_ready(cluster, "handler-cart-v1", 2), within=60)
    until("the route", lambda: edge.accepted(*ROUTE), within=30)
    job = Job(world)
    with (
        Load(world.place, edge.url, "/api/cart", specs.HOST, rate=RATE, clients=4) as load,
        Timeline(f"{engine}: a canary", world.git, cluster, ROUTE, load) as timeline,
    ):
        timelines.append(timeline)
        until("traffic", lambda: len(load.answers) > 50, within=30)
        world.publish(specs.write(folder, said, specs.handler("cart", "v2")))
        running.sync()
        assert ledger(world)["v2"] == ("Starting", 0)

        def live(v1: int, v2: int) -> None:
            """Git says it, then the route, then what clients see."""
            wanted = {"handler-cart-v1": v1, "handler-cart-v2": v2}

            def there() -> bool:
                assert cluster.weights(*ROUTE) == wanted, (ledger(world), job.program.said(2))
                return edge.accepted(*ROUTE)

            until(f"{v1} : {v2}", there, within=150, every=0.5)
            time.sleep(1.5)  # Traefik gathers changes for a moment.
            answers = load.wait(int(RATE * 5))
            assert follows(answers, {"v1": v1, "v2": v2}), (v1, v2, timeline.lines()[-3:])

        live(90, 10)
        counted = prometheus.query(
            'sum by (gati_version) (gati_http_requests_total{route!="/health"})'
        )
        assert {row["metric"].get("gati_version") for row in counted} == {"v1", "v2"}
        live(50, 50)
        live(0, 100)

        # the old version drains, parks, goes, and is pruned
        job.until(lambda: ledger(world)["v1"][0] == "Parked", "park")
        until("no pods", lambda: not _pods(cluster, "handler-cart-v1"), within=60, every=0.5)
        job.until(lambda: ledger(world)["v1"][0] == "Removed", "end")
        until("prune", lambda: not _of_version(cluster, "v1"), within=60, every=0.5)
        assert _of_version(cluster, "v2")
        arrive(running, world.git.tip())

        # what names it fails loudly, and never reaches another version
        with Load(
            world.place,
            edge.url,
            "/api/cart",
            specs.HOST,
            rate=10,
            headers={"X-Gati-Version": "v1"},
        ) as pinned:
            assert {(a.failed, a.version) for a in pinned.wait(10)} == {(True, "")}
    written = history(world, commit)
    assert not load.failures(), load.failures()[:5]
    decisions = [one for one in written if one.decided]
    assert [w for w in written[1:] if not w.decided] == []
    assert len(decisions) >= 5
    assert job.program.running
    phases = ledger(world)
    assert phases == {"v1": ("Removed", 0), "v2": ("Active", 100)}


def _pods(cluster, name):
    return [
        p
        for p in cluster.pods(specs.NAMESPACE, "handler-cart")
        if p["metadata"]["name"].startswith(name)
    ]


def _of_version(cluster, version):
    names = owned(cluster, "handler-cart")
    return [name for name in names if name.endswith(f"-{version}")]
