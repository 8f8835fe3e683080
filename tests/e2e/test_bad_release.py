"""Releases that are bad: rolled back in time, never waiting behind their own pods, and rejected for good."""

import time
from datetime import datetime
from typing import Any

import pytest

from tests.e2e import specs
from tests.e2e.edge import Edge
from tests.e2e.job import Job, history, ledger
from tests.e2e.load import Load
from tests.e2e.processes import until
from tests.e2e.prometheus import Prometheus
from tests.e2e.stories import ENGINES, begin, pods_ready, wait_served
from tests.e2e.test_canary import RATE, ROUTE, settings
from tests.e2e.timeline import Timeline

pytestmark = pytest.mark.lane
STABLE = {"handler-cart-v1": 100}
INTERVAL, SCRAPE, PASS = 5, 5, 3  # seconds: of checks, of scrapes, between two looks of the job
# What one sync may take: an engine looks every ten seconds at least, and this machine is busy. Whoever waited
# behind pods that crash would wait for minutes.
SYNC = 15
BUSY = 9


def weighted(cluster):
    return {name: weight for name, weight in cluster.weights(*ROUTE).items() if weight}


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_releases_are_taken_back_and_stay_away(worlds, timelines, tmp_path, engine):
    world = worlds("prod")
    cluster = world["prod"]
    edge = Edge(cluster)
    Prometheus(cluster)
    said = settings(world, engine, rollout={"steps": [10, 100]})
    folder = specs.write(tmp_path / "specs", said, specs.handler("cart", "v1"))
    commit = world.publish(folder)
    running = begin(world, "prod", engine, commit)
    wait_served(cluster, edge)
    job = Job(world, "prod", "", "--log-level", "debug")
    with (
        Load(world.place, edge.url, "/api/cart", specs.HOST, rate=RATE, clients=4) as load,
        Timeline(f"{engine}: bad releases", world.git, cluster, ROUTE, load) as timeline,
    ):
        timelines.append(timeline)
        until("traffic", lambda: len(load.answers) > 50, within=30)

        def publish(version: str, behaviour: str = "", *more: dict[str, Any]) -> None:
            cart = specs.handler("cart", version, behaviour)
            world.publish(specs.write(folder, said, cart, *more))
            running.sync()

        def tried(version: str) -> float:
            """It has its first share of the requests."""
            wanted = {"handler-cart-v1": 90, f"handler-cart-{version}": 10}
            job.until(lambda: weighted(cluster) == wanted, f"10 % for {version}")
            return time.time()

        def rolled_back(version: str, within: float) -> float:
            job.until(lambda: ledger(world)[version][0] == "Rejected", "rollback", within=within)
            return time.time()

        def returned(since: float) -> float:
            """The route follows that commit within one sync."""
            until("the way back", lambda: weighted(cluster) == STABLE, within=SYNC, every=0.2)
            timeline.note(f"the route is back {time.time() - since:.1f} s after the commit")
            assert time.time() - since < SYNC, timeline.lines()
            return time.time()

        # half of its answers are errors → at 10 % → rolled back, within two intervals
        publish("v2", "errors=0.5")
        began = tried("v2")
        decided = rolled_back("v2", within=60)
        # it commits, and tells afterwards
        first, last = until("its word", lambda: failing(job, "v2"), within=15)
        timeline.note(
            f"rolled back {decided - began:.0f} s after its first request,"
            f" {last - first:.0f} s after the first check that failed"
        )
        assert last - first < 2 * INTERVAL + PASS, timeline.lines()
        # of which the first scrape and the first look of the step are no part
        assert decided - began < SCRAPE + PASS + 2 * INTERVAL + PASS + BUSY, timeline.lines()
        harmed = returned(decided)
        rollback = next(one for one in history(world, commit) if "roll back" in one.subject)
        assert rollback.decided
        assert "2 checks failed" in " ".join(rollback.body.split())
        assert not [one.subject for one in history(world, commit) if "activate" in one.subject]

        # the same specs again → it stays rejected
        world.publish(folder)
        assert ledger(world)["v2"][0] == "Rejected"

        # ready, and with its first requests its pods crash again and again → the route never waits behind them
        publish("v3", "fatal=3")
        fell = tried("v3")
        until("a crash", lambda: min(restarts(cluster, "handler-cart-v3")) >= 1, within=30)
        # Somebody else's commit comes meanwhile: an engine that wants to see health would stand there now.
        orders = specs.handler("orders", "v1")
        publish("v3", "fatal=3", orders)
        decided = rolled_back("v3", within=120)
        assert not pods_ready(cluster, "handler-cart-v3", 2)
        back = returned(decided)
        assert not pods_ready(cluster, "handler-cart-v3", 2)
        assert min(restarts(cluster, "handler-cart-v3")) >= 2

        # a good one goes its way
        publish("v4", "", orders)
        job.until(lambda: weighted(cluster) == {"handler-cart-v4": 100}, "v4", within=240)
        assert ledger(world)["v2"][0] in ("Rejected", "Parked", "Removed")
    # nobody but those whom a bad release was given to has noticed
    late = [a for a in load.failures() if not (began < a.at < harmed + 2 or fell < a.at < back + 2)]
    assert late == [], late[:5]
    assert {a.version for a in load.failures() if a.at < fell} == {"v2"}


def failing(job, version: str) -> tuple[float, float] | None:
    """When the job first saw a check of a version fail, and when it decided to roll it back; None: not yet."""
    looks = [
        (datetime.fromisoformat(line["time"]).timestamp(), line["verdict"], line["reason"])
        for line in job.lines()
        if line["message"] == "decided" and line["reason"].startswith(f"{version} at 10 %")
    ]
    first = min((at for at, _, why in looks if " failed: " in why), default=0.0)
    last = next((at for at, verdict, _ in looks if verdict == "rollback"), 0.0)
    return (first, last) if last else None


def restarts(cluster, name: str) -> list[int]:
    return [
        pod["status"]["containerStatuses"][0]["restartCount"]
        for pod in cluster.pods(specs.NAMESPACE, "handler-cart")
        if pod["metadata"]["name"].startswith(name)
    ]
