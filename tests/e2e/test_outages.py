"""What the job needs goes away in the middle of a canary: nothing wrong is committed, and it goes on afterwards.

An outage is seen by a job that runs, and by one that is started in it. Traffic needs nothing of all that.
"""

import time

import pytest

from tests.e2e import specs
from tests.e2e.edge import Edge
from tests.e2e.job import Job, history, numbers, subjects
from tests.e2e.load import Load
from tests.e2e.processes import until
from tests.e2e.prometheus import Prometheus
from tests.e2e.stories import begin, wait_served
from tests.e2e.test_canary import RATE, ROUTE, settings
from tests.e2e.timeline import Timeline
from tests.repo.gitkit import git

pytestmark = pytest.mark.lane(minutes=4)
PORT = 20090
STEP = 10.0
# A step for every outage.
ROLLOUT = {
    "steps": [10, 25, 50, 75, 100],
    "analysis": {"stepFor": f"{STEP:g}s", "minRequests": 40},
}
DECIDED = [
    *(f"prod: shift shop/cart v2 to {weight} %" for weight in ROLLOUT["steps"][:-1]),
    "prod: activate shop/cart v2",
]


def test_outages_cost_time_and_nothing_else(worlds, timelines, tmp_path):
    world = worlds("prod")
    cluster = world["prod"]
    edge, prometheus = Edge(cluster), Prometheus(cluster)
    said = settings(world, "flux", rollout=ROLLOUT)
    folder = specs.write(tmp_path / "specs", said, specs.handler("cart", "v1"))
    commit = world.publish(folder)
    running = begin(world, "prod", "flux", commit)
    wait_served(cluster, edge)
    job = Job(world, port=PORT)
    with (
        Load(world.place, edge.url, "/api/cart", specs.HOST, rate=RATE, clients=4) as load,
        Timeline("flux: outages", world.git, cluster, ROUTE, load) as timeline,
    ):
        timelines.append(timeline)
        until("traffic", lambda: len(load.answers) > 50, within=30)
        until("a job that is ready", lambda: job.ask("/readyz")[0] == 200, within=30)
        published = world.publish(specs.write(folder, said, specs.handler("cart", "v2")))
        running.sync()

        def live(weight: int) -> None:
            """Git says it, and nothing beyond it; so does the route, and the gateway has taken it."""
            wanted = {"handler-cart-v1": 100 - weight, "handler-cart-v2": weight}

            def there() -> bool:
                return cluster.weights(*ROUTE) == wanted and edge.accepted(*ROUTE)

            job.until(there, f"{weight} %", within=90)
            done = DECIDED[: ROLLOUT["steps"].index(weight) + 1]
            assert subjects(history(world, published)) == done, timeline.lines()

        def again(why: str) -> int:
            """The job is killed, and another one begins; how much its log said before."""
            job.kill()
            timeline.note(f"the job is killed, and started again {why}")
            at = len(job.lines())
            job.start()
            return at

        def missed(source: str, after: int) -> None:
            """It says what it could not see, and lives."""
            until(f"{source} missed", lambda: job.told("failed", after, source=source), within=60)
            assert job.program.running, job.program.said()

        def away(what: str, source: str, stop) -> str:
            """Gone; the job that runs says so, and the step passes by. The branch as it stood then."""
            at, since = len(job.lines()), time.monotonic()
            stop()
            timeline.note(f"{what} is away")
            missed(source, at)
            tip = world.git.tip()
            time.sleep(max(0.0, since + STEP + 2 - time.monotonic()))
            assert job.program.running, job.program.said()
            assert job.ask("/healthz")[0] == 200, "a restart would not help"
            return tip

        def begun(source: str) -> float:
            """A job that begins in the outage waits for its end, and says so; when it began."""
            at = again("without it")
            began = time.time()
            missed(source, at)
            status, why = job.ask("/readyz")
            assert (status, source in why) == (503, True), why
            return began

        def back(what: str, start, tip: str) -> None:
            """Nothing was written in the outage; and it is over."""
            assert world.git.tip() == tip, timeline.lines()
            git(world.git.bare, "fsck", "--strict")
            start()
            timeline.note(f"{what} is back")
            until(f"ready with {what}", lambda: job.ask("/readyz")[0] == 200, within=60)

        live(10)
        tip = away("Prometheus", "metrics", prometheus.stop)
        kept = begun("metrics")
        back("Prometheus", prometheus.start, tip)

        live(25)
        tip = away("the API server", "cluster", cluster.plane.stop_api)
        back("the API server", cluster.plane.start_api, tip)

        live(50)
        tip = away("Git", "git", world.git.cut)
        begun("git")
        back("Git", world.git.mend, tip)

        live(75)
        job.kill()
        job.clocks.unlink()
        again("without its clocks")
        lost = time.time()
        live(100)
        job.stop()
    written = history(world, published)
    assert subjects(written) == DECIDED, "each step once, in order, and nothing else"
    assert all(one.decided for one in written)
    first = numbers(world, written)[0]
    assert numbers(world, written) == list(range(first, first + len(DECIDED)))
    # what the clocks knew, the next process knew; without them the step began anew
    shifted, activated = written[1], written[-1]
    assert shifted.lasted > shifted.at - kept + STEP / 2, shifted.body
    assert STEP <= activated.lasted <= activated.at - lost + 1, activated.body
    assert not load.failures(), load.failures()[:5]
