"""Two processes of one job, of which one leads. It is frozen past its lease at the worst moments, and thawed again."""

import random
import time
from itertools import pairwise

import pytest
import yaml

from tests.e2e import specs
from tests.e2e.edge import Edge
from tests.e2e.job import Job, history, numbers, subjects
from tests.e2e.load import Load
from tests.e2e.processes import until
from tests.e2e.prometheus import Prometheus
from tests.e2e.stories import begin, wait_served
from tests.e2e.test_canary import RATE, ROUTE, settings
from tests.e2e.test_outages import DECIDED, ROLLOUT, STEP
from tests.e2e.timeline import Timeline
from tests.repo.gitkit import git

pytestmark = pytest.mark.lane
LEASE = ("coordination.k8s.io/v1", "Lease", "gati-system", "reconciler")
PLACE = "gati-system/reconciler"


class Contender(Job):
    """One of the two; it can be made to stop by itself at a point of a pass."""

    def __init__(self, world, name: str, port: int) -> None:
        self._point = world.folder / f"{name}.point"
        super().__init__(
            world, "prod", name, "--lease", PLACE,
            clocks=f"configmap:{PLACE}", port=port, module=("tests.e2e.frozen", self._point),
        )  # fmt: skip

    @property
    def leads(self) -> bool:
        return "\ngati_gitops_leader 1.0\n" in self.ask("/metrics")[1]

    def stop_at(self, point: str) -> None:
        self._point.write_text(point)
        until(f"frozen at {point}", lambda: self.program.frozen, within=90)


def test_a_frozen_leader_loses_and_doubles_no_decision(worlds, timelines, tmp_path):
    world = worlds("prod")
    cluster = world["prod"]
    edge = Edge(cluster)
    Prometheus(cluster)
    said = settings(world, "flux", rollout=ROLLOUT)
    folder = specs.write(tmp_path / "specs", said, specs.handler("cart", "v1"))
    commit = world.publish(folder)
    running = begin(world, "prod", "flux", commit)
    wait_served(cluster, edge)
    jobs = [Contender(world, name, 20091 + n) for n, name in enumerate(("one", "two"))]
    with (
        Load(world.place, edge.url, "/api/cart", specs.HOST, rate=RATE, clients=4) as load,
        Timeline("flux: two jobs", world.git, cluster, ROUTE, load) as timeline,
    ):
        timelines.append(timeline)
        until("a leader", lambda: any(job.leads for job in jobs), within=60)
        leader, other = sorted(jobs, key=lambda job: not job.leads)
        until("passes", lambda: leader.ask("/readyz")[0] == 200, within=60)
        until("the other is ready", lambda: other.ask("/readyz")[0] == 200, within=60)
        assert not other.leads and not other.told("pass ended"), "two work at once"
        published = world.publish(specs.write(folder, said, specs.handler("cart", "v2")))
        running.sync()

        def decided() -> list[str]:
            return subjects(history(world, published))

        def taken_over() -> None:
            """Past the lease of who is frozen, the other one leads; that it was another is counted."""
            before = cluster.api.get(*LEASE)["spec"]["leaseTransitions"]
            until("the other leads", lambda: other.leads, within=40)
            assert cluster.api.get(*LEASE)["spec"]["leaseTransitions"] == before + 1
            timeline.note(f"{other.program.name} leads")

        def live(count: int) -> None:
            """So many decisions, each once and in their order; the route shows the last."""
            weight = ROLLOUT["steps"][count - 1]
            wanted = {"handler-cart-v1": 100 - weight, "handler-cart-v2": weight}
            other.until(lambda: cluster.weights(*ROUTE) == wanted, f"{weight} %", within=90)
            assert decided() == DECIDED[:count], timeline.lines()

        def thawed(after: int) -> list[dict]:
            """It goes on where it was, and finds that it leads no more; what it says of that."""
            leader.program.thaw()
            timeline.note(f"{leader.program.name} goes on")
            until("it follows", lambda: leader.told("follows", after), within=30)
            time.sleep(5)  # a pass of the other, and what this one may still have in hand
            assert leader.program.running and not leader.leads and other.leads
            return leader.lines()[after:]

        # all is ready to be sent, and it sleeps → the other decides the same → it asks once more, and is told
        leader.stop_at("before-swap")
        timeline.note(f"{leader.program.name} is frozen before its push")
        at = len(leader.lines())
        assert decided() == []
        taken_over()
        live(1)
        said_then = thawed(at)
        assert _reasons(said_then) == ["another process of this job leads by now"]
        assert not _committed(said_then)
        leader, other = other, leader

        # it sleeps in the push itself, when nobody asks any more → the branch has moved, and so have the clocks
        leader.stop_at("before-pack")
        timeline.note(f"{leader.program.name} is frozen in its push")
        at = len(leader.lines())
        assert decided() == DECIDED[:1]
        taken_over()
        live(2)
        said_then = thawed(at)
        (reason,) = _reasons(said_then)
        assert "did not move refs/heads/main" in reason
        (reason,) = _reasons(said_then, "clocks")
        assert "the object has been modified" in reason
        assert not _committed(said_then)
        leader, other = other, leader

        # it has pushed, and does not know it yet → the other one goes on from there
        leader.stop_at("after-answer")
        timeline.note(f"{leader.program.name} is frozen after its push")
        at = len(leader.lines())
        until("the push", lambda: decided() == DECIDED[:3], within=5)
        taken_over()
        live(4)
        said_then = thawed(at)
        assert _committed(said_then) == [DECIDED[2]]
        leader, other = other, leader

        # at any moment, and awake again while the other one decides
        delay = random.Random(8).uniform(0, STEP)
        time.sleep(delay)
        leader.program.freeze()
        timeline.note(f"{leader.program.name} is frozen {delay:.1f} s later")
        at = len(leader.lines())
        taken_over()
        thawed(at)
        live(5)
        for job in jobs:
            job.stop()
    written = history(world, published)
    assert subjects(written) == DECIDED
    assert all(one.decided for one in written)
    first = numbers(world, written)[0]
    assert numbers(world, written) == list(range(first, first + len(DECIDED)))
    # whoever writes has a term above all before
    terms = [_term(world, one.id) for one in written]
    assert len({holder for _, holder in terms}) == 2
    for (before, one), (after, two) in pairwise(terms):
        assert (after > before) if one != two else (after >= before), terms
    git(world.git.bare, "fsck", "--strict")
    assert not load.failures(), load.failures()[:5]


def _reasons(lines, source: str = "git") -> list[str]:
    """Why it wrote nothing."""
    found = [line for line in lines if line["message"] == "failed"]
    return [line["reason"] for line in found if line["source"] == source]


def _committed(lines) -> list[str]:
    return [line["subject"] for line in lines if line["message"] == "committed"]


def _term(world, commit: str) -> tuple[int, str]:
    stored = yaml.safe_load(world.git.show("overlays/prod/job.yaml", commit))["clusters"]["prod"]
    return stored["term"], stored["holder"]
