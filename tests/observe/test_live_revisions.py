"""A revision takes the place of the one before: which of the two runs is looked at, not believed."""

import copy
from types import SimpleNamespace

import pytest

from gati_gitops.errors import Refused
from gati_gitops.observe.live_revisions import OTHER
from gati_gitops.observe.wanted import Wanted
from gati_gitops.reconcile.sources import Sources
from gati_gitops.render import Broken, MemoryFiles, render
from gati_gitops.spec.project import Cluster
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import handler
from tests.observe.kube_api import KubeApi
from tests.observe.world import NOW, USERS, World, files, look, seen

V1 = "handler-users-v1"


@pytest.fixture
def api():
    server = KubeApi()
    yield server
    server.end()


@pytest.fixture
def before():
    return World({**files(), "v2.yaml": handler("orders"), "users.yaml": handler(weight=100)})


@pytest.fixture
def world(before):
    """The same with another variable, published and not yet synced."""
    revised = handler(weight=100, env={"COLOR": "blue"})
    specs = {**files(), "v2.yaml": handler("orders"), "users.yaml": revised}
    world = World(specs, before.tree)
    assert [bool(e.previous) for e in world.units[USERS].ledger.entries] == [True]
    return world


def built_by(world):
    def built(key):
        items = render(MemoryFiles(world.tree), f"overlays/prod/east/{key[0]}/{key[1]}").objects()
        return {i["metadata"]["name"]: i for i in items if i["kind"] == "Deployment"}

    return built


def release(world, api, tmp_path, **options) -> str:
    return seen(look(world, api, tmp_path, **options)).workloads[V1].release


def test_the_new_one_runs(world, api, tmp_path):
    (entry,) = world.units[USERS].ledger.entries
    new = world.units[USERS].plan.version(*entry.key).release
    assert release(world, api, tmp_path, built=built_by(world)) == new


def test_the_old_one_still_runs_though_all_is_synced(before, world, api, tmp_path):
    (entry,) = world.units[USERS].ledger.entries
    old = world.units[USERS].plan.version(entry.id, entry.previous).release
    built = built_by(world)
    world.objects = before.objects
    assert seen(look(world, api, tmp_path)).engine.state.value == "synced"
    assert release(world, api, tmp_path, built=built) == old


def test_what_servers_add_is_no_other_revision(world, api, tmp_path):
    built = built_by(world)
    live = copy.deepcopy(world.find("Deployment", V1))
    pods = live["spec"]["template"]["spec"]
    pods["containers"][0]["resources"] = {
        kind: {name: "0.25" if text == "250m" else text for name, text in amounts.items()}
        for kind, amounts in pods["containers"][0]["resources"].items()
    }
    live["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = "now"
    live["spec"]["replicas"] = 9
    world.objects[world.objects.index(world.find("Deployment", V1))] = live
    assert release(world, api, tmp_path, built=built) not in ("", OTHER)


def test_nobody_builds_it_without_need(before, api, tmp_path):
    asked = []
    assert release(before, api, tmp_path, built=asked.append) == ""
    assert not asked


@pytest.mark.parametrize("error", [Broken("no"), Refused("no")])
def test_what_git_cannot_build_is_not_the_new_one(world, api, tmp_path, error):
    def built(_):
        raise error

    (entry,) = world.units[USERS].ledger.entries
    old = world.units[USERS].plan.version(entry.id, entry.previous).release
    assert release(world, api, tmp_path, built=built) == old


def test_without_git_nothing_is_said(world, api, tmp_path):
    assert release(world, api, tmp_path) == ""


def test_the_job_says_what_git_wants(before, world, api, tmp_path):
    """Its eyes build units from the tip, and see that the old revision still runs."""
    scene = SimpleNamespace(
        output=world.output, before=MemorySnapshot(world.tree), cluster=lambda *_: Cluster()
    )
    (entry,) = world.units[USERS].ledger.entries
    plan = world.units[USERS].plan
    found = []
    for objects in (before.objects, world.objects):
        api.objects = objects
        with Sources({"east": api.access(tmp_path)}, {}, clock=lambda: NOW) as sources:
            live = sources.eyes(scene, ("prod", "east")).live.look(Wanted("east", world.units))
        found.append(seen(live).workloads[V1].release)
    assert found == [
        plan.version(entry.id, entry.previous).release,
        plan.version(*entry.key).release,
    ]
