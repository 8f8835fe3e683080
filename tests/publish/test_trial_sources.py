"""Several sources in one environment: its owner says how changes come about, for all of them."""

from __future__ import annotations

import pytest

from tests.compile.kit import canary, handler, project
from tests.publish.kit import World
from tests.publish.test_approval import WithForge

PAY = "overlays/prod/east/bank/handler-pay"
PROD = {"clusters": {"east": {}}}


def pay(version="v1", **spec):
    return handler("pay", version, namespace="bank", **spec)


def second(world, tmp_path, settings):
    """Another source that publishes a unit of its own into the first one's environment."""
    world.merge({"gati.yaml": settings, "users.yaml": handler()})
    world.publish()
    return World(tmp_path, name="other")


@pytest.mark.parametrize("whole", [False, True])
def test_the_owners_strategy_holds_for_a_second_source(world, tmp_path, whole):
    other = second(world, tmp_path, canary(source="shop"))
    theirs = project({"prod": PROD}, name="bank", rollout={"strategy": "manual"})
    done = other.release({"gati.yaml": theirs, "pay.yaml": pay()})
    assert done.prepared.notes[0] == "prod is set by the source shop; not followed here: rollout"
    other.release({"pay.yaml": pay("v2")}, whole=whole)
    world.job(PAY, v1=("Active", 90), v2=("Canary", 10))
    other.release({"pay.yaml": pay("v2", replicas=4)}, whole=whole)
    # under manual, the spec's weights would have been followed by now
    assert other.phases(PAY) == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    assert other.verify().differences == ()


def test_the_owners_promotion_holds_for_a_second_source(world, tmp_path):
    stages = {"staging": {"clusters": {"stage": {}}}, "prod": PROD}
    other = second(world, tmp_path, canary(stages, promotion={"prod": {"after": "staging"}}))
    other.release({"gati.yaml": canary(stages, name="bank"), "pay.yaml": pay()})
    assert other.phases(PAY) == {"v1": ("Pending", 0)}


def test_a_source_that_says_the_same_hears_nothing(world, tmp_path):
    other = second(world, tmp_path, canary(source="shop"))
    done = other.release({"gati.yaml": canary({"prod": PROD}, name="bank"), "pay.yaml": pay()})
    assert done.prepared.notes == ()


def test_the_owners_approval_is_asked_for_what_a_second_source_publishes(tmp_path):
    world = WithForge(tmp_path)
    other = WithForge(tmp_path, name="other")
    asked = {"prod": PROD | {"modes": {"publish": "pull-request"}}}
    try:
        world.release({"gati.yaml": canary(asked), "users.yaml": handler()})
        other.server.close()
        other.server = world.server
        done = other.release({"gati.yaml": canary({"prod": PROD}, name="bank"), "pay.yaml": pay()})
        assert (done.steps, [pull.outcome for pull in done.pulls]) == ((), ["opened"])
        assert done.pulls[0].branch == "gati/bank/prod"
    finally:
        world.server.close()
