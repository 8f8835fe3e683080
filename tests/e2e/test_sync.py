"""publish → an engine syncs it: what is new arrives, what changes changes, what is retired goes, nothing else moves."""

import contextlib
import os
import time

import pytest

from tests.e2e import specs
from tests.e2e.cluster import DEPLOYMENT, condition
from tests.e2e.edge import Edge
from tests.e2e.engines import APPLICATION, KUSTOMIZATION, ArgoCd, Flux
from tests.e2e.load import Load
from tests.e2e.processes import until
from tests.e2e.stories import ENGINES, arrive, begin, generations, owned, pods_ready, wait_served
from tests.e2e.timeline import Timeline
from tests.servers.github import GitHubServer

pytestmark = pytest.mark.lane
# Five minutes, with a sync every few seconds of them, of both engines at once.
SETTLE = float(os.environ.get("GATI_E2E_SETTLE", "300"))
EVERY = 4.0
ROUTE = (specs.NAMESPACE, "handler-cart")


@pytest.mark.lane(minutes=7)
def test_what_is_published_is_what_runs(worlds, timelines, tmp_path):
    """Both engines at once, each with an environment and a cluster of its own."""
    world = worlds(*ENGINES)
    edges = {engine: Edge(world[engine]) for engine in ENGINES}
    own = {engine: {"clusters": {engine: {"sync": {"engine": engine}}}} for engine in ENGINES}
    settings = specs.project(world, "flux", environments=own)
    # Quantities as people write them, and not as the API server would.
    odd = {
        "requests": {"cpu": "0.25", "memory": "0.25Gi"},
        "limits": {"cpu": "1000m", "memory": "1024Mi"},
    }
    cart = specs.handler("cart", "v1", resources=odd)
    orders = specs.handler("orders", "v1", autoscaling={"min": 2, "max": 4}, resources=odd)
    changed = specs.handler("cart", "v1", resources=odd, env={"GREETING": "hello"})
    folder = specs.write(tmp_path / "specs", settings, cart, orders)

    # publish → synced and healthy
    commit = world.publish(folder)
    running = {engine: begin(world, engine, engine, commit) for engine in ENGINES}
    for engine, cluster in world.clusters.items():
        for unit in ("cart", "orders"):
            wait_served(cluster, edges[engine], unit)

    with contextlib.ExitStack() as stack:
        loads = []
        for engine, cluster in world.clusters.items():
            where = (world.place, edges[engine].url, "/api/cart", specs.HOST)
            loads.append(load := stack.enter_context(Load(*where)))
            until("traffic", lambda one=load: len(one.answers) > 20, within=30)
            title = f"{engine}: publish, change, retire"
            line = Timeline(title, world.git, cluster, ROUTE, load)
            timelines.append(stack.enter_context(line))
        start = time.time()

        # a spec change → the engine brings it, pods roll, nobody notices
        folder = specs.write(folder, settings, changed, orders)
        commit = world.publish(folder)
        for engine, cluster in world.clusters.items():
            arrive(running[engine], commit)
            until("new pods", lambda c=cluster: pods_ready(c, "handler-cart-v1", 2), within=60)
            body = cluster.api.get(*DEPLOYMENT, specs.NAMESPACE, "handler-cart-v1")
            env = body["spec"]["template"]["spec"]["containers"][0]["env"]
            assert {"name": "GREETING", "value": "hello"} in env

        # syncing on and on → nothing moves, and no engine ever doubts it
        settled(list(running.values()), commit)
        assert world.git.tip() == commit

        # a unit whose specs are gone → its objects are pruned, and nobody else's
        before = {engine: generations(cluster) for engine, cluster in world.clusters.items()}
        folder = specs.write(folder, settings, changed)
        commit = world.publish(folder)
        gone = (specs.NAMESPACE, "handler-orders")
        for engine, cluster in world.clusters.items():
            arrive(running[engine], commit)
            until("the end", lambda c=cluster: not owned(c, "handler-orders"), within=60)
            left = {name: seen for name, seen in before[engine].items() if "orders" not in name}
            assert generations(cluster) == left
            until("its pods' end", lambda c=cluster: not c.pods(*gone), within=60)
    for load in loads:
        assert not [a for a in load.answers if a.at >= start and a.failed]


def settled(engines: list[Flux | ArgoCd], commit: str) -> None:
    """For so long each of them syncs every few seconds, is in step at every look, and moves nothing."""
    before = [generations(running.cluster) for running in engines]
    syncs: list[set[str]] = [set() for _ in engines]
    end = time.monotonic() + SETTLE
    asked = 0.0
    while time.monotonic() < end:
        if ask := time.monotonic() - asked > EVERY:
            asked = time.monotonic()
        for running, was, seen in zip(engines, before, syncs, strict=True):
            if ask:
                running.sync()
            seen.add(last_sync(running))
            assert at_rest(running, commit)
            now = generations(running.cluster)
            moved = {n: (was.get(n), now.get(n)) for n in was | now if was.get(n) != now.get(n)}
            assert not moved, f"moved without a commit: {moved}"
        time.sleep(0.5)
    for seen in syncs:
        assert len(seen) > SETTLE / EVERY / 2, f"only {len(seen)} syncs"


def last_sync(running: Flux | ArgoCd) -> str:
    """When the units were compared with Git last, as the engine says it."""
    cluster = running.cluster
    name = f"{cluster.name}.{cluster.name}.shop"
    if isinstance(running, Flux):
        status = cluster.api.get(*KUSTOMIZATION, name)["status"]
        return status.get("lastHandledReconcileAt", "")
    return cluster.api.get(*APPLICATION, name)["status"]["reconciledAt"]


def at_rest(running: Flux | ArgoCd, commit: str) -> bool:
    """Synced and healthy, at this very moment; Flux says `Unknown` while it is at work."""
    if isinstance(running, ArgoCd):
        return running.synced(commit)
    for item in running.cluster.api.items(*KUSTOMIZATION):
        state, why = condition(item, "Ready")
        assert state != "False", why
        assert item["status"]["lastAppliedRevision"].endswith(commit)
    return True


def test_dev_moves_on_while_prod_waits_for_its_approval(worlds, tmp_path):
    """dev's direct commits reach dev, and not one object of prod, however long prod's pull request is open."""
    world = worlds("dev", "prod")
    dev, prod = world["dev"], world["prod"]
    forge = GitHubServer(lambda: branches(world.git))
    settings = specs.project(
        world, "flux", environments={"prod": {"modes": {"publish": "pull-request"}}}
    )
    env = {
        "GATI_FORGE": "github",
        "GATI_FORGE_URL": forge.url,
        "GATI_FORGE_REPOSITORY": "acme/output",
        "GATI_FORGE_TOKEN": forge.token,
    }

    def publish(*documents) -> str:
        folder = specs.write(tmp_path / "specs", settings, *documents)
        world.run("publish", folder, "--repo", world.git.url, env=env)
        return world.git.tip()

    with forge:
        publish(specs.handler("cart", "v1"))
        (pull,) = forge.open_ones()
        # A person merges it: prod begins.
        merge(world.git, pull["head"]["ref"])
        forge.merge_by_hand(pull["number"])
        commit = world.git.tip()
        in_dev, in_prod = begin(world, "dev", "flux", commit), begin(world, "prod", "flux", commit)
        for cluster in (dev, prod):
            until("pods", lambda c=cluster: pods_ready(c, "handler-cart-v1", 2), within=60)

        # dev takes two changes, prod's wait on a branch
        before = generations(prod)
        for greeting in ("hello", "good day"):
            commit = publish(specs.handler("cart", "v1", env={"GREETING": greeting}))
            for running in (in_dev, in_prod):
                arrive(running, commit)
            until("dev's pods", lambda: pods_ready(dev, "handler-cart-v1", 2), within=60)
            body = dev.api.get(*DEPLOYMENT, specs.NAMESPACE, "handler-cart-v1")
            assert greeting in str(body["spec"]["template"])
            assert generations(prod) == before
        (pull,) = forge.open_ones()
        assert pull["head"]["ref"] in branches(world.git)

        # and once approved, prod follows
        merge(world.git, pull["head"]["ref"])
        forge.merge_by_hand(pull["number"])
        arrive(in_prod, world.git.tip())
        until("prod's pods", lambda: pods_ready(prod, "handler-cart-v1", 2), within=60)
        body = prod.api.get(*DEPLOYMENT, specs.NAMESPACE, "handler-cart-v1")
        assert "good day" in str(body["spec"]["template"])


def branches(git) -> dict[str, str]:
    from tests.repo.gitkit import git as run

    lines = run(
        git.bare, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads"
    ).splitlines()
    return dict(line.split() for line in lines)


def merge(git, branch: str) -> None:
    """Fast forward, or a merge commit, as a forge does it."""
    from tests.repo.gitkit import git as run

    tree = run(git.bare, "merge-tree", "--write-tree", "main", branch).splitlines()[0]
    made = run(git.bare, "commit-tree", tree, "-p", "main", "-p", branch, "-m", f"Merge {branch}")
    run(git.bare, "update-ref", "refs/heads/main", made)
