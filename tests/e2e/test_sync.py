"""publish → an engine syncs it: what is new arrives, what changes changes, what is retired goes, nothing else moves."""

import os
import time

import pytest

from tests.e2e import specs
from tests.e2e.cluster import DEPLOYMENT, Cluster, condition
from tests.e2e.edge import Edge
from tests.e2e.engines import APPLICATION, KUSTOMIZATION, ArgoCd, Flux
from tests.e2e.load import Load
from tests.e2e.processes import until
from tests.e2e.stories import ENGINES, arrive, begin, generations, owned, pods_ready
from tests.e2e.timeline import Timeline
from tests.servers.github import GitHubServer

pytestmark = pytest.mark.lane
# Five minutes prove more; these many seconds, with a sync every few of them, prove enough for every day.
SETTLE = float(os.environ.get("GATI_E2E_SETTLE", "40"))
EVERY = 4.0


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_published_is_what_runs(worlds, timelines, tmp_path, engine):
    world = worlds("prod")
    cluster = world["prod"]
    edge = Edge(cluster)
    settings = specs.project(world, engine)
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
    running = begin(world, "prod", engine, commit)
    until("cart's pods", lambda: pods_ready(cluster, "handler-cart-v1", 2), within=60)
    until("orders' pods", lambda: pods_ready(cluster, "handler-orders-v1", 2), within=60)
    until("the route", lambda: edge.accepted(specs.NAMESPACE, "handler-cart"), within=30)

    with Load(world.place, edge.url, "/api/cart", specs.HOST) as load:
        until("traffic", lambda: len(load.answers) > 20, within=30)
        with Timeline(
            f"{engine}: publish, change, retire",
            world.git,
            cluster,
            (specs.NAMESPACE, "handler-cart"),
            load,
        ) as timeline:
            timelines.append(timeline)
            start = time.time()

            # a spec change → the engine brings it, pods roll, nobody notices
            folder = specs.write(folder, settings, changed, orders)
            commit = world.publish(folder)
            arrive(running, commit)
            until("new pods", lambda: pods_ready(cluster, "handler-cart-v1", 2), within=60)
            environment = cluster.api.get(*DEPLOYMENT, specs.NAMESPACE, "handler-cart-v1")
            env = environment["spec"]["template"]["spec"]["containers"][0]["env"]
            assert {"name": "GREETING", "value": "hello"} in env

            # syncing on and on → nothing moves, and the engine never doubts it
            settled(cluster, running, commit)
            assert world.git.tip() == commit

            # a unit whose specs are gone → its objects are pruned, and nobody else's
            before = generations(cluster)
            folder = specs.write(folder, settings, changed)
            commit = world.publish(folder)
            arrive(running, commit)
            until("the end of orders", lambda: not owned(cluster, "handler-orders"), within=60)
            left = {name: seen for name, seen in before.items() if "orders" not in name}
            assert generations(cluster) == left
            gone = (specs.NAMESPACE, "handler-orders")
            until("its pods' end", lambda: not cluster.pods(*gone), within=60)
        assert not [a for a in load.answers if a.at >= start and a.failed]


def settled(cluster: Cluster, running: Flux | ArgoCd, commit: str) -> None:
    before = generations(cluster)
    end = time.monotonic() + SETTLE
    syncs: set[str] = set()
    asked = 0.0
    while time.monotonic() < end:
        if time.monotonic() - asked > EVERY:
            running.sync()
            asked = time.monotonic()
        syncs.add(last_sync(cluster, running))
        assert at_rest(cluster, running, commit)
        moved = {
            n: (before.get(n), g) for n, g in generations(cluster).items() if before.get(n) != g
        }
        assert not moved, f"moved without a commit: {moved}"
        time.sleep(0.5)
    assert len(syncs) > SETTLE / EVERY / 2, f"only {len(syncs)} syncs"


def last_sync(cluster: Cluster, running: Flux | ArgoCd) -> str:
    """When the units were compared with Git last, as the engine says it."""
    if isinstance(running, Flux):
        status = cluster.api.get(*KUSTOMIZATION, "prod.prod.shop")["status"]
        return status.get("lastHandledReconcileAt", "")
    return cluster.api.get(*APPLICATION, "prod.prod.shop")["status"]["reconciledAt"]


def at_rest(cluster: Cluster, running: Flux | ArgoCd, commit: str) -> bool:
    """Synced and healthy, at this very moment; Flux says `Unknown` while it is at work."""
    if isinstance(running, ArgoCd):
        return running.synced(commit)
    for item in cluster.api.items(*KUSTOMIZATION):
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
