"""What a world of random faults has found in these rules, each as small as it can be told."""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.decide.clocks import UnitClock, VersionClock
from gati_gitops.decide.decide import decide
from gati_gitops.decide.observation import (
    Gap,
    Missing,
    Observation,
    PodSeries,
    Series,
    Telemetry,
)
from gati_gitops.decide.verdict import Verdict
from gati_gitops.ledger.model import Phase
from tests.decide.worlds import (
    World,
    blind,
    both,
    canary,
    draining,
    entry,
    name_of,
    stored,
    with_telemetry,
    with_workload,
)


def revived() -> World:
    """v1 was parked, somebody called it, and it was brought back."""
    world = World(stored(entry("v1", Phase.PARKED), entry("v2", Phase.ACTIVE, 100)))
    world.traffic(v2=20)
    for _ in range(20):
        world.look()
    world.serving["v1"].counts["exact"] += 1
    assert world.look().verdict is Verdict.REVIVE
    return world.becomes(draining()).say("v1", pods=2, created=world.now)


def pinned(world: World) -> float:
    return world.clock.of("v1", "d-v1").pinned


def test_who_calls_again_right_after_a_revive_has_named_it():
    """Nothing but names can call a version that was parked, so no call of it is ordinary."""
    world = revived()
    world.look()
    world.serving["v1"].counts["exact"] += 2
    called = world.now
    for _ in range(20):
        world.look()
    assert pinned(world) > called


def test_a_revive_by_another_job_is_a_name_too():
    """Its clocks never saw the call while the version was parked."""
    world = World(stored(entry("v1", Phase.PARKED), entry("v2", Phase.ACTIVE, 100)))
    world.traffic(v2=20)
    for _ in range(20):
        world.look()
    world.serving["v1"].counts["exact"] += 1
    world.becomes(draining()).say("v1", pods=2, created=world.now)
    called = world.now
    for _ in range(20):
        world.look()
    assert pinned(world) > called


def test_a_call_past_the_gateway_is_a_name_though_another_pod_began_anew():
    world = World(draining()).traffic(v2=20)
    world.serving["v1"].counts["exact"] += 500
    for _ in range(40):
        world.look()
    called, name = world.now, name_of("v1")

    def past(seen: Observation) -> Observation:
        """One pod counts a call that the gateway knows nothing of, the other one restarted."""
        assert not isinstance(seen.live, Missing)
        pods = seen.live.workloads[name].pods
        second = replace(pods[1], restarts=1, restarted=called + 10)
        seen = with_workload("v1", pods=(pods[0], second))(seen)
        return with_telemetry("v1", counted)(seen)

    def counted(told: Telemetry) -> Telemetry:
        first = told.pods[f"{name}-0"]
        values = first.requests[0].values
        more = replace(first.requests[0], values=(*values[:-1], values[-1] + 1))
        return replace(told, pods={**told.pods, f"{name}-0": replace(first, requests=(more,))})

    world.bend = past
    world.look()
    assert pinned(world) > called


def test_a_request_that_was_cut_off_excuses_nobody_else():
    """It was open when the version lost its weight, and its pod went without counting it."""
    world = World(draining()).traffic(v2=20)
    world.serving["v1"].counts["exact"] += 500
    world.say("v1", open=1)
    for _ in range(10):
        world.look()
    world.say("v1", open=0)

    def with_the_pod_that_went(told: Telemetry) -> Telemetry:
        """What it told last is still in the look."""
        gauge = Series((), (world.now - 80, world.now - 65), (1.0, 1.0))
        return replace(told, pods={**told.pods, "gone": PodSeries(in_flight=gauge)})

    world.bend = with_telemetry("v1", with_the_pod_that_went)
    world.look()
    called = world.now
    world.serving["v1"].counts["exact"] += 1
    world.look()
    assert pinned(world) > called


def test_who_calls_while_metrics_are_away_has_named_it():
    """It had no weight all the time, so nothing in the first look that shows metrics is ordinary."""
    world = World(draining()).traffic(v2=20)
    world.clock = UnitClock("", {"v1@d-v1": VersionClock(phase="Active", known=world.now)})
    world.serving["v1"].counts["exact"] += 500
    world.bend = blind()
    for _ in range(20):
        world.look()
    world.serving["v1"].counts["exact"] += 1
    called = world.now
    world.look()
    world.bend = lambda seen: seen
    world.look()
    assert pinned(world) > called


def test_a_job_that_judges_late_still_hears_names():
    """What it sees is half a minute old, each time by as much."""
    world = World(draining()).traffic(v2=20)
    world.clock = UnitClock("", {"v1@d-v1": VersionClock(phase="Active", known=world.now)})
    world.serving["v1"].counts["exact"] += 500

    def late() -> None:
        seen = world.seen()
        world.clock = decide(
            world.rules, world.place, seen, world.clock, world.now + 50, world.around
        )[1]

    for _ in range(2):
        world.wait(30)
        late()
    world.serving["v1"].counts["exact"] += 1
    called = world.now
    for _ in range(3):
        world.wait(30)
        late()
    assert pinned(world) > called


def test_probes_are_no_proof():
    """Pods count probes like requests; the gateway knows that nobody came."""
    world = World(canary(10)).traffic(v1=60, v2=4)

    def nobody_came(told: Telemetry) -> Telemetry:
        assert not isinstance(told.edge, Missing)
        return replace(told, edge=replace(told.edge, requests=()))

    world.bend = with_telemetry("v2", nobody_came)
    made = world.passes(1800)
    assert made.verdict is Verdict.WAIT
    assert "0 requests of 300 by the gateway's count" in made.reason
    world.bend = lambda seen: seen
    assert world.passes(1800).verdict is Verdict.ADVANCE


def test_where_the_gateway_counts_nothing_the_pods_word_is_enough():
    world = World(canary(10)).traffic(v1=60, v2=4)
    silent = Missing(Gap.UNSUPPORTED, "it counts nothing by version")
    world.bend = both(
        with_telemetry("v1", lambda told: replace(told, edge=silent)),
        with_telemetry("v2", lambda told: replace(told, edge=silent)),
    )
    assert world.passes(1800).verdict is Verdict.ADVANCE


def test_time_in_which_nobody_looked_makes_no_version_hopeless():
    """Short of a pod, then unseen for long, then short of another pod that a scaler wants."""
    world = World(canary(10)).traffic(v1=60, v2=7)
    world.say("v2", ready=1)
    world.look()
    world.say("v2", ready=2)
    world.wait(3600)
    world.say("v2", pods=3, ready=2)
    assert world.look().verdict is not Verdict.ROLLBACK
    assert world.passes(900).verdict is Verdict.ROLLBACK, "for good reasons, it still is"
