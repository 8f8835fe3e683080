"""Releases that are bad: rolled back in time, never waiting behind their own pods, and rejected for good."""

import time

import pytest

from tests.e2e import specs
from tests.e2e.edge import Edge
from tests.e2e.job import Job, history, ledger
from tests.e2e.load import Load
from tests.e2e.processes import until
from tests.e2e.prometheus import Prometheus
from tests.e2e.stories import ENGINES, begin, pods_ready
from tests.e2e.test_canary import RATE, ROUTE, settings
from tests.e2e.timeline import Timeline

pytestmark = pytest.mark.lane
STABLE = {"handler-cart-v1": 100}


def weighted(cluster):
    return {name: weight for name, weight in cluster.weights(*ROUTE).items() if weight}


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_releases_are_taken_back_and_stay_away(worlds, timelines, tmp_path, engine):
    world = worlds("prod")
    cluster = world["prod"]
    edge = Edge(cluster)
    Prometheus(cluster)
    said = settings(world, engine)
    folder = specs.write(tmp_path / "specs", said, specs.handler("cart", "v1"))
    commit = world.publish(folder)
    running = begin(world, "prod", engine, commit)
    until("pods", lambda: pods_ready(cluster, "handler-cart-v1", 2), within=60)
    until("the route", lambda: edge.accepted(*ROUTE), within=30)
    job = Job(world)
    with (
        Load(world.place, edge.url, "/api/cart", specs.HOST, rate=RATE, clients=4) as load,
        Timeline(f"{engine}: bad releases", world.git, cluster, ROUTE, load) as timeline,
    ):
        timelines.append(timeline)
        until("traffic", lambda: len(load.answers) > 50, within=30)

        # half of its answers are errors → at 10 % → rolled back, within two checks of having requests
        bad = specs.handler("cart", "v2", "errors=0.5")
        world.publish(specs.write(folder, said, bad))
        running.sync()
        job.until(lambda: weighted(cluster) != STABLE, "10 %")
        began = time.time()
        job.until(lambda: ledger(world)["v2"][0] == "Rejected", "rollback", within=60)
        took = time.time() - began
        job.until(lambda: weighted(cluster) == STABLE, "the way back", within=30)
        timeline.note(f"rolled back {took:.0f} s after the first request could fail")
        # the first scrape of the step, then two intervals, and a pass; a busy machine has some more
        assert took < 2 * 5 + 3 * 5 + 20, timeline.lines()
        rollback = next(one for one in history(world, commit) if "roll back" in one.subject)
        assert rollback.decided
        assert "failed" in rollback.body
        assert [one.subject for one in history(world, commit) if "50 %" in one.subject] == []

        # the same specs again → it stays rejected
        world.publish(folder)
        assert ledger(world)["v2"][0] == "Rejected"

        # ready at first, then its pods crash again and again → the route never waits behind them
        fell = time.time()
        world.publish(specs.write(folder, said, specs.handler("cart", "v3", "crash=14")))
        running.sync()
        job.until(lambda: "v3" in ledger(world), "v3", within=30)
        job.until(lambda: ledger(world)["v3"][0] in ("Rejected", "Parked"), "reject", within=180)
        decided = time.time()
        until("the way back", lambda: weighted(cluster) == STABLE, within=60)
        back = time.time()
        timeline.note(f"the route is back {back - decided:.0f} s after the commit")
        assert back - decided < 30, timeline.lines()  # one sync, and the load of this machine

        # a good one goes its way
        world.publish(specs.write(folder, said, specs.handler("cart", "v4")))
        running.sync()
        job.until(lambda: weighted(cluster) == {"handler-cart-v4": 100}, "v4", within=240)
    harmed = {answer.version for answer in load.failures() if answer.at < began + took + 20}
    assert harmed == {"v2"}
    late = [a for a in load.failures() if not (a.at < began + took + 20 or fell < a.at < back + 5)]
    assert late == [], late[:5]
