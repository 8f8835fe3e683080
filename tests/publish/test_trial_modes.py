"""Approvals when the ground moves: another mode, a narrowed publish, a hold that ends."""

from __future__ import annotations

import pytest

from tests.compile.kit import canary, handler
from tests.publish.test_approval import BRANCH, EAST, TWO, WithForge

DIRECT = {"dev": ["dev-1"], "prod": {"clusters": {"east": {}}}}


@pytest.fixture
def world(tmp_path):
    world = WithForge(tmp_path)
    yield world
    world.server.close()


def offered(world):
    world.release({"gati.yaml": canary(TWO), "users.yaml": handler()})
    (pull,) = world.server.open_ones()
    return pull


def test_an_environment_that_is_direct_now_leaves_no_pull_request_open(world):
    offered(world)
    done = world.release({"gati.yaml": canary(DIRECT)})
    assert [step.environment for step, _ in done.steps] == ["prod"]
    assert [(pull.branch, pull.outcome) for pull in done.pulls] == [(BRANCH, "closed")]
    assert world.server.open_ones() == []
    assert BRANCH not in world.branches()


def test_it_is_closed_by_a_later_run_if_the_forge_failed(world, monkeypatch):
    offered(world)
    with monkeypatch.context() as patch:
        patch.setattr("gati_gitops.publish.run.offer", lambda *_, **__: ())
        world.release({"gati.yaml": canary(DIRECT)})
    assert world.server.open_ones()
    assert [pull.outcome for pull in world.publish().pulls] == ["closed"]


def test_a_publish_to_one_environment_leaves_the_pull_requests_of_others(world):
    pull = offered(world)
    done = world.release({"users.yaml": handler(version="v2")}, env="dev")
    assert done.pulls == ()
    assert [other["number"] for other in world.server.open_ones()] == [pull["number"]]


def test_the_end_of_a_hold_is_no_way_around_an_approval(world):
    offered(world)
    world.accept()
    world.act("hold", environments=("prod",))
    world.release({"users.yaml": handler(version="v2")})
    assert world.phases(f"{EAST}/handler-users") == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    done = world.act("release", environments=("prod",))
    assert (done.steps, [pull.outcome for pull in done.pulls]) == ((), ["opened"])
    assert world.ledger(f"{EAST}/handler-users").hold


def test_the_end_of_a_hold_that_changes_nothing_else_needs_none(world):
    offered(world)
    world.accept()
    world.act("hold", environments=("prod",))
    done = world.act("release", environments=("prod",))
    assert (len(done.steps), done.pulls) == (1, ())
