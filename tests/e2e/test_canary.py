"""A new version: 10 → 50 → 100 by the job's commits alone; the old one drains, parks and goes; nobody notices.

Beside it a unit whose specs are gone: it serves as long as somebody calls, then it drains, parks and goes as a whole.
"""

import time

import pytest

from tests.e2e import specs
from tests.e2e.edge import Edge
from tests.e2e.job import DECOMMISSION, NUDGE, ROLLOUT, Job, history, ledger
from tests.e2e.load import Load, follows
from tests.e2e.processes import until
from tests.e2e.prometheus import Prometheus
from tests.e2e.stories import ENGINES, arrive, begin, owned, wait_served
from tests.e2e.timeline import Timeline
from tests.repo.gitkit import git

pytestmark = pytest.mark.lane
ROUTE = (specs.NAMESPACE, "handler-cart")
ORDERS = "overlays/prod/prod/shop/handler-orders"
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
    said = settings(world, engine, environments={"prod": {"onDelete": "drain"}})
    both = specs.handler("cart", "v1"), specs.handler("orders", "v1")
    folder = specs.write(tmp_path / "specs", said, *both)
    commit = world.publish(folder)
    running = begin(world, "prod", engine, commit)
    for unit in ("cart", "orders"):
        wait_served(cluster, edge, unit)
    job = Job(world)
    with (
        Load(world.place, edge.url, "/api/cart", specs.HOST, rate=RATE, clients=4) as load,
        Load(world.place, edge.url, "/api/orders", specs.HOST, rate=5) as last,
        Timeline(f"{engine}: a canary", world.git, cluster, ROUTE, load) as timeline,
    ):
        timelines.append(timeline)
        until("traffic", lambda: len(load.answers) > 50 and len(last.answers) > 5, within=30)

        # a new version of one unit; the other one's specs are gone
        world.publish(specs.write(folder, said, specs.handler("cart", "v2")))
        running.sync()
        assert ledger(world)["v2"] == ("Starting", 0)
        assert "retiring: true" in world.git.show(f"{ORDERS}/rollout.yaml")

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

        # long after its specs have gone the other one serves: somebody calls it
        assert ledger(world, unit="handler-orders") == {"v1": ("Active", 100)}
        last.stop()
        assert not last.failures(), last.failures()[:5]
        timeline.note("nobody calls shop/orders any more")
        live(0, 100)

        # the old version drains, parks, goes, and is pruned
        job.until(lambda: ledger(world)["v1"][0] == "Parked", "park")
        until("no pods", lambda: not _pods(cluster, "handler-cart-v1"), within=60, every=0.5)
        job.until(lambda: ledger(world)["v1"][0] == "Removed", "end")
        until("prune", lambda: not _of_version(cluster, "v1"), within=60, every=0.5)
        assert _of_version(cluster, "v2")

        # so has, as a whole, the unit that nobody wanted any more
        job.until(lambda: not git(world.git.bare, "ls-tree", "main", ORDERS), "the end of orders")
        until("prune", lambda: not owned(cluster, "handler-orders"), within=60, every=0.5)
        gone = (specs.NAMESPACE, "handler-orders")
        until("its pods' end", lambda: not cluster.pods(*gone), within=60, every=0.5)
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
    told = "\n".join(one.body for one in decisions)
    assert (
        0
        < told.find("Gati-Evidence: park shop/orders")
        < told.find("Gati-Evidence: remove shop/orders")
    )
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
