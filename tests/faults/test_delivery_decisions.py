"""Clusters, engines and people that do other things than Git says, and what is decided then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gati_gitops.decide.around import Around
from gati_gitops.decide.breaker import broken
from gati_gitops.decide.decide import decide
from gati_gitops.decide.observation import Engine, EngineState, Gap, LiveRoute, Missing, Pod
from gati_gitops.decide.verdict import Verdict
from gati_gitops.ledger.model import Phase
from gati_gitops.plan.model import Scaling
from tests.decide.worlds import (
    START,
    World,
    canary,
    draining,
    entry,
    name_of,
    rules,
    stored,
    unseen,
    with_live,
    with_workload,
)

HOUR = 3600
RULES = rules(decommission={"rollbackFor": "1s"})


def advancing(weight=10):
    return World(canary(weight), RULES).traffic(v1=54, v2=6)


def leaving(judged_by=RULES):
    world = World(canary(50), judged_by).traffic(v1=30, v2=30)
    for _ in range(3):
        world.look()
    return world.becomes(draining()).traffic(v1=0, v2=60)


def stands(world, seconds=HOUR, every=60.0):
    for _ in range(int(seconds / every)):
        made = world.look(every)
        assert made.move is None, made.reason
    return made


@pytest.mark.parametrize("why", ["401", "403", "429", "503", "timed out"])
@pytest.mark.parametrize("make", [advancing, leaving])
def test_K01_an_api_that_refuses_decides_nothing(why, make):
    world = make()
    world.bend = unseen(Gap.ERROR, why)
    made = stands(world)
    assert made.verdict is Verdict.ERROR and why in made.reason


@pytest.mark.parametrize("make", [advancing, leaving])
def test_K02_half_a_list_is_no_list(make):
    world = make()
    world.bend = unseen(Gap.PARTIAL, "the list was cut off")
    assert stands(world).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("make", [advancing, leaving])
def test_K03_an_old_look_decides_nothing(make):
    world = make()
    world.bend = with_live(at=START - 600)
    stands(world)


def test_K04_a_route_kind_that_is_not_installed_is_not_no_route():
    for make in (advancing, leaving):
        world = make()
        world.bend = with_live(route=Missing(Gap.ERROR, "HTTPRoute is not installed"))
        assert "HTTPRoute is not installed" in str(stands(world))


@pytest.mark.parametrize("state", [EngineState.SUSPENDED, EngineState.BEHIND])
def test_K05_a_step_that_was_not_synced_has_not_begun(state):
    world = advancing(10)
    world.engine = Engine(state, "a window")
    world.bend = with_live(route=LiveRoute({name_of("v1"): 100}, current=True))
    made = stands(world)
    assert "waits for the cluster" in made.reason
    assert not world.clock.of("v2", "d-v2").shown


def test_K06_synced_with_an_old_object_is_not_synced():
    world = advancing(50)
    world.bend = with_live(
        engine=Engine(EngineState.SYNCED),
        route=LiveRoute({name_of("v1"): 90, name_of("v2"): 10}, current=True),
    )
    assert "the cluster's route says" in stands(world).reason


def test_K06_synced_with_pods_of_an_older_commit_is_not_synced():
    world = advancing(10)
    world.bend = with_workload("v2", release="v2-older")
    made = stands(world)
    assert "it runs v2-older, the ledger has v2-d-v2" in str(made)


def test_K07_a_number_that_somebody_else_holds_is_not_fought_over():
    """Two owners of one number: nothing is decided on it, and no step is undone by it."""
    world = advancing()
    world.bend = with_workload("v1", replicas_owner="horizontal-pod-autoscaler")
    assert world.passes(600).verdict is Verdict.ADVANCE


def test_K08_a_hand_on_a_live_object_wins():
    for make in (advancing, leaving):
        world = make()
        world.bend = with_live(frozen="ada is debugging")
        assert stands(world).verdict is Verdict.HELD


def test_K09_whoever_else_refers_to_a_version_keeps_it():
    world = leaving()
    world.bend = with_live(references={name_of("v1"): ("Ingress legacy/api",)})
    assert "Ingress legacy/api still refers to it" in stands(world).findings[0].reason
    world = leaving()
    world.bend = with_live(references=Missing(Gap.ERROR, "403 in legacy"))
    assert "403 in legacy" in stands(world).findings[0].reason


def test_K10_the_way_back_is_not_taken_away():
    world = leaving(rules())
    made = stands(world, HOUR - 300)
    assert "it is the way back" in made.findings[0].reason


def test_K11_traffic_never_goes_back_to_nobody():
    world = advancing().say("v2", failing=0.5)
    world.bend = with_workload("v1", ready=0, ready_endpoints=0)
    made = stands(world)
    assert made.verdict is Verdict.FROZEN and "v1 has no pod that takes requests" in made.reason
    world.bend = lambda seen: seen
    assert world.passes(120).verdict is Verdict.ROLLBACK


def test_K11_a_stable_version_that_lost_a_pod_gets_it_back_first():
    world = advancing().say("v2", failing=0.5).say("v1", ready=1)
    assert "v1 has 1 of its 2 pods" in stands(world, 300).reason
    assert world.say("v1", ready=2).look().verdict is Verdict.ROLLBACK


def test_K11_a_stable_version_that_sleeps_gets_its_pods_before_the_traffic():
    world = advancing()
    scaling = Scaling("keda", min=0, max=3)
    versions = tuple(replace(v, scaling=scaling) for v in world.place.plan.versions)
    world.place = replace(world.place, plan=replace(world.place.plan, versions=versions))
    made = world.say("v2", failing=0.5).say("v1", pods=0).passes(300)
    assert (made.verdict, made.move.version) == (Verdict.PREPARE, "v1")
    assert made.move.room >= 1, "pods, and no weight yet"


def test_K12_a_pod_that_does_not_end_is_live():
    world = leaving()
    pods = world.workload(world.ledger.entries[0]).pods
    stuck = Pod("stuck", terminating=True, created=START - HOUR)
    world.bend = with_workload("v1", pods=(*pods[:1], stuck))
    assert "stuck is on its way out" in stands(world).findings[0].reason


def test_K13_a_version_that_comes_in_the_middle_waits():
    place = stored(
        entry("v1", Phase.ACTIVE, 50),
        entry("v2", Phase.CANARY, 50),
        entry("v3", Phase.PENDING),
        target="v2",
        wants="v3",
    )
    world = World(place, RULES).traffic(v1=30, v2=30)
    made = stands(world, 240)
    assert "v3 waits its turn" in made.findings[2].reason


def test_K14_weights_that_are_not_the_ledgers_stop_everything():
    for weights in ({"v1": 80, "v2": 20}, {"v1": 90, "v2": 90}, {}):
        world = advancing()
        named = {name_of(id): weight for id, weight in weights.items()}
        world.bend = with_live(route=LiveRoute(named, current=True))
        assert "the cluster's route says" in stands(world).reason


def test_K15_a_cluster_without_anything_decides_nothing():
    for make in (advancing, leaving):
        world = make()
        world.bend = with_live(workloads={}, route=None)
        stands(world)


def test_K17_many_that_fail_at_once_are_one_fault_of_measurement():
    decisions = {}
    for number in range(6):
        world = advancing().say("v2", failing=0.5)
        decisions["prod", "east", ("shop", f"handler-{number}")] = world.passes(300)
    assert all(made.verdict is Verdict.ROLLBACK for made in decisions.values())
    left = broken(RULES, decisions, 100)
    assert all(made.verdict is Verdict.FROZEN and made.move is None for made in left.values())


def test_K18_a_cluster_out_of_reach_freezes_itself_only():
    here, there = leaving(), leaving()
    there.bend = unseen()
    assert here.passes(900).verdict is Verdict.PARK
    stands(there)


def test_K19_a_pass_that_runs_twice_decides_the_same():
    world = advancing()
    world.passes(300)
    world.wait(60)
    seen = world.seen()
    once = decide(world.rules, world.place, seen, world.clock, world.now, world.around)
    again = decide(world.rules, world.place, seen, world.clock, world.now, world.around)
    assert once == again


def test_K19_two_passes_in_one_moment_do_not_count_twice():
    world = advancing().say("v2", failing=0.5)
    for _ in range(3):
        world.look()
    failed = world.clock.of("v2", "d-v2").failed
    for _ in range(10):
        assert world.look(0.0).move is None
    assert world.clock.of("v2", "d-v2").failed == failed


def test_K19_looks_in_one_moment_do_not_agree_with_themselves():
    world = leaving()
    while not world.clock.of("v1", "d-v1").passes:
        world.look()
    for _ in range(10):
        assert world.look(0.0).move is None


def test_K20_a_decision_that_was_paused_too_long_is_stale():
    world = advancing()
    made = world.passes(600)
    assert made.verdict is Verdict.ADVANCE
    assert made.best_before - made.seen_at == 60
    seen = world.seen()
    world.now += 90  # the machine slept; what was seen is from before
    late, _ = decide(world.rules, world.place, seen, world.clock, world.now, world.around)
    assert late.move is None and "old" in late.reason


def test_what_is_rejected_on_a_sibling_by_another_job_holds_here():
    world = advancing()
    world.around = Around(judged={("v2", "d-v2"): "prod/west"})
    assert world.look().verdict is Verdict.HOLD


def test_every_gate_opens_again():
    """Whatever stood in the way, the unit goes on when it is gone."""
    bends = (
        with_live(engine=Engine(EngineState.STUCK)),
        with_live(frozen="no"),
        with_live(at=START - HOUR),
        with_workload("v1", ready=0, ready_endpoints=0),
        unseen(),
    )
    for bend in bends:
        world = advancing()
        world.bend = bend
        stands(world, 600)
        world.bend = lambda seen: seen
        assert world.passes(900).verdict is Verdict.ADVANCE
        assert replace(world.place) == world.place
