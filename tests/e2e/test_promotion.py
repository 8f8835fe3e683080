"""Staging proves a version before prod gets it, by commits alone; what staging rejects never comes near prod."""

import contextlib
import time

import pytest

from tests.e2e import specs
from tests.e2e.edge import Edge
from tests.e2e.job import Job, history, ledger
from tests.e2e.load import Load, follows
from tests.e2e.processes import until
from tests.e2e.prometheus import Prometheus
from tests.e2e.stories import begin, generations, passes, wait_served
from tests.e2e.test_canary import ROUTE, settings
from tests.e2e.timeline import Timeline

pytestmark = pytest.mark.lane
RATE = 40.0
DWELL = 10
LEDGER = "overlays/prod/prod/shop/handler-cart/rollout.yaml"
# Two steps are enough where promotion is what is looked at.
STEPS = {"steps": [25, 100], "analysis": {"interval": "4s", "stepFor": "8s", "minRequests": 40}}


def test_prod_gets_what_staging_has_proved_and_nothing_else(worlds, timelines, tmp_path):
    world = worlds("staging", "prod")
    staging, prod = world["staging"], world["prod"]
    edges = {name: Edge(cluster) for name, cluster in world.clusters.items()}
    for cluster in world.clusters.values():
        Prometheus(cluster)
    said = settings(
        world,
        "flux",
        rollout=STEPS,
        promotion={"prod": {"after": "staging", "dwell": f"{DWELL}s"}},
    )

    def publish(version: str, behaviour: str = "") -> str:
        document = specs.handler("cart", version, behaviour)
        return world.publish(specs.write(tmp_path / "specs", said, document))

    # the first version → serves in staging; prod has its ledger, and not one object of it
    commit = publish("v1")
    assert ledger(world, "staging") == {"v1": ("Active", 100)}
    assert ledger(world, "prod") == {"v1?": ("Pending", 0)}
    running = {name: begin(world, name, "flux", commit) for name in world.clusters}
    wait_served(staging, edges["staging"])
    assert not unit_of(prod)

    with contextlib.ExitStack() as stack:
        loads, lines = {}, {}

        def follow(name: str) -> Load:
            """Requests to a cluster, and what they show."""
            where = (world.place, edges[name].url, "/api/cart", specs.HOST)
            loads[name] = stack.enter_context(Load(*where, rate=RATE, clients=4))
            title = f"promotion: {name}"
            line = Timeline(title, world.git, world[name], ROUTE, loads[name])
            lines[name] = stack.enter_context(line)
            timelines.append(line)
            return loads[name]

        jobs = {name: Job(world, name) for name in world.clusters}
        follow("staging")

        # staging has seen it serve → prod's job starts it there, and it goes live
        jobs["prod"].until(lambda: weights(prod) == {"handler-cart-v1": 100}, "v1 in prod")
        proof, start = order(world, commit, "v1")
        assert f"seen to serve in staging (staging) for {DWELL}s" in start.body, start.body
        assert proof.decided
        wait_served(prod, edges["prod"])
        assert follows(follow("prod").wait(100), {"v1": 100})

        # a bad one → staging rejects it; prod never hears of it but as something that waits
        bad = publish("v2", "errors=0.5")
        waits, before = world.git.show(LEDGER), generations(prod)
        assert ledger(world, "prod") == {"v1": ("Active", 100), "v2?": ("Pending", 0)}
        running["staging"].sync()
        jobs["staging"].until(lambda: ledger(world, "staging")["v2"][0] == "Rejected", "rejection")
        lines["prod"].note("v2 is rejected in staging")
        passes(jobs["prod"], 4)
        for running_here in running.values():
            running_here.sync()
        passes(jobs["prod"], 4)
        assert world.git.show(LEDGER) == waits
        assert generations(prod) == before
        assert [one.subject for one in history(world, bad) if "prod: " in one.subject] == []
        assert "v2 does not start: it was rejected" in jobs["prod"].explain()

        # a good one → the same way as the first; what was rejected is never offered
        good = publish("v3")
        running["staging"].sync()
        jobs["staging"].until(
            lambda: ledger(world, "staging")["v3"] == ("Active", 100), "v3 in staging"
        )
        assert weights(prod) == {"handler-cart-v1": 100}
        assert "v3?" in ledger(world, "prod")
        jobs["prod"].until(lambda: weights(prod).get("handler-cart-v3") == 25, "its step in prod")
        jobs["prod"].until(lambda: weights(prod) == {"handler-cart-v3": 100}, "v3 in prod")
        order(world, good, "v3")
        until("the route", lambda: edges["prod"].accepted(*ROUTE), within=30)
        time.sleep(1.5)  # Traefik gathers changes for a moment.
        assert follows(loads["prod"].wait(100), {"v3": 100})
    # only staging's clients have ever met the bad one
    assert not loads["prod"].failures(), loads["prod"].failures()[:5]
    assert {answer.version for answer in loads["prod"].answers} == {"v1", "v3"}
    assert {answer.version for answer in loads["staging"].failures()} == {"v2"}
    assert not [name for name in unit_of(prod) if name.endswith("-v2")]
    assert all(job.program.running for job in jobs.values())


def weights(cluster) -> dict[str, int]:
    return {name: weight for name, weight in cluster.weights(*ROUTE).items() if weight}


def unit_of(cluster) -> list[str]:
    return [name for name in generations(cluster) if "handler-cart" in name]


def order(world, since: str, version: str):
    """The commit of staging's proof, and the one after it by which prod starts: one each."""
    written = [one for one in history(world, since) if f"shop/cart {version}" in one.body]
    (proof,) = [one for one in written if one.subject.startswith("staging: prove ")]
    (start,) = [one for one in written if one.subject.startswith("prod: start ")]
    assert written.index(proof) < written.index(start)
    first = next(one for one in written if one.subject.startswith("prod: "))
    assert first == start, first.subject
    return proof, start
