"""What a world of random faults has found in these rules, each as small as it can be told."""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.decide.clocks import UnitClock, VersionClock
from gati_gitops.decide.decide import decide
from gati_gitops.decide.observation import (
    Gap,
    LiveRoute,
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
    rules,
    stored,
    with_live,
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


# -- names ---------------------------------------------------------------------------------------


def just_left() -> World:
    """v1 has served, and the job that looks has known it all the time."""
    world = World(canary(50)).traffic(v1=30, v2=30)
    for _ in range(3):
        world.look()
    return world.becomes(draining()).traffic(v1=0, v2=60)


def test_the_first_look_with_metrics_tells_names_from_what_it_served_before():
    """Metrics were away for two minutes; the first look has the ordinary end and a call in it."""
    quiet, called = just_left(), just_left()
    for world in (quiet, called):
        world.bend = blind()
        world.passes(90)
    called.serving["v1"].counts["exact"] += 1
    for world in (quiet, called):
        world.look()
        world.bend = lambda seen: seen
        world.look()
    assert not pinned(quiet)
    assert pinned(called) > called.now - 75


def test_a_name_has_the_time_at_which_it_was_read():
    """However often a look shows it, it is one call, and the time since then runs."""
    world = just_left()
    world.passes(120)
    world.serving["v1"].counts["exact"] += 1
    world.look()
    called = world.now
    for _ in range(3):
        world.look()
    assert called - 30 <= pinned(world) <= called


def test_time_that_no_look_reaches_back_to_may_have_had_a_name():
    world = just_left()
    world.bend = blind()
    world.passes(900)
    world.bend = lambda seen: seen
    world.look()
    assert pinned(world) == world.now


def test_whoever_is_not_read_right_after_it_was_left_may_have_been_named():
    """What it stands at when it is read again has all of the time before in it."""

    def unread(told: Telemetry) -> Telemetry:
        pods = {}
        for name, pod in told.pods.items():
            assert pod.up is not None
            times = pod.up.times
            gone = [left - 16 <= at <= left + 60 for at in times]
            values = tuple(0.0 if none else 1.0 for none in gone)
            pods[name] = replace(pod, up=replace(pod.up, values=values))
        return replace(told, pods=pods)

    world = just_left()
    left = world.now + 30
    world.bend = with_telemetry("v1", unread)
    world.passes(120)
    assert pinned(world)
    fair = just_left()
    fair.passes(120)
    assert not pinned(fair)


def test_a_witness_that_was_lost_while_nobody_looked_leaves_a_doubt():
    """The other one saw nobody, and would not have seen who goes past it."""
    for away, doubt in ((60, False), (1200, True)):
        world = just_left()
        world.passes(120)
        world.wait(away)
        world.say("v1", created=world.now - 20)
        world.look()
        assert bool(pinned(world)) is doubt, away


def test_a_call_beside_a_request_that_is_still_open_is_a_name():
    """One may end uncounted as a name, and it has not."""
    world = just_left().say("v1", open=1)
    world.serving["v1"].pods = 1
    world.passes(120)
    assert not pinned(world)
    world.serving["v1"].counts["exact"] += 1
    called = world.now
    world.look()
    assert pinned(world) > called


def test_a_version_is_left_though_its_route_goes_on_changing():
    """Weights of others are on their way; this one has none, whatever becomes of them."""
    world = just_left()
    world.bend = with_live(
        route=LiveRoute({name_of("v2"): 90, name_of("v3"): 10}, current=True),
    )
    world.passes(120)
    world.serving["v1"].counts["exact"] += 1
    called = world.now
    world.look()
    assert pinned(world) > called


def test_a_pod_that_is_gone_does_not_stand_for_one_that_is_not_read():
    """It is not asked what it has counted, so nothing is taken from it."""
    world = just_left()
    world.passes(120)
    name = name_of("v1")
    before = world.clock.of("v1", "d-v1").pods_total

    def swapped(told: Telemetry) -> Telemetry:
        pods = dict(told.pods)
        pods["gone"] = pods.pop(f"{name}-0")
        return replace(told, pods=pods)

    world.bend = with_telemetry("v1", swapped)
    world.look()
    assert world.clock.of("v1", "d-v1").pods_total == before
    assert not pinned(world)


def test_a_server_that_stands_still_is_not_heard_beyond_its_last_sample():
    world = just_left()
    world.passes(120)
    last = world.clock.of("v1", "d-v1").marked

    def frozen(told: Telemetry) -> Telemetry:
        def until(series: Series) -> Series:
            some = sum(at <= last for at in series.times)
            return replace(series, times=series.times[:some], values=series.values[:some])

        assert not isinstance(told.edge, Missing)
        pods = {
            name: replace(pod, up=until(pod.up), requests=tuple(map(until, pod.requests)))
            for name, pod in told.pods.items()
            if pod.up is not None
        }
        edge = replace(
            told.edge,
            up=tuple(map(until, told.edge.up)),
            requests=tuple(map(until, told.edge.requests)),
        )
        return replace(told, pods=pods, edge=edge)

    world.bend = with_telemetry("v1", frozen)
    world.look()
    assert world.clock.of("v1", "d-v1").marked == last


def test_time_runs_by_looks_and_not_by_when_they_are_judged():
    """A job that takes long to judge has seen nothing of the time in between."""
    world = just_left()
    world.rules = rules(decommission={"rollbackFor": "20m"})
    world.passes(1200)
    since = world.clock.of("v1", "d-v1").since
    seen = world.wait(10).seen()
    assert world.now - since < world.rules.rollback_for < world.now + 40 - since
    judged = decide(world.rules, world.place, seen, world.clock, world.now + 40, world.around)[0]
    assert judged.move is None
    assert world.look().verdict is Verdict.PARK


def test_a_gateway_that_is_read_again_after_a_gap_is_not_a_new_one():
    """What it stands at is what it stood at, and nobody has come."""
    world = just_left()
    world.passes(120)
    gone = (world.now + 60, world.now + 300)

    def torn(told: Telemetry) -> Telemetry:
        def holed(series: Series) -> Series:
            kept = [n for n, at in enumerate(series.times) if not gone[0] < at < gone[1]]
            times = tuple(series.times[n] for n in kept)
            return replace(series, times=times, values=tuple(series.values[n] for n in kept))

        assert not isinstance(told.edge, Missing)
        up, requests = told.edge.up, told.edge.requests
        edge = replace(told.edge, up=tuple(map(holed, up)), requests=tuple(map(holed, requests)))
        return replace(told, edge=edge)

    world.bend = with_telemetry("v1", torn)
    world.passes(720)
    assert not pinned(world)


def test_a_request_that_may_end_excuses_nobody_who_comes_right_after():
    """Both went past the gateway; and a new pod takes the sums away that would have told."""

    def past(told: Telemetry) -> Telemetry:
        assert not isinstance(told.edge, Missing)
        requests = tuple(replace(s, values=(9.0,) * len(s.values)) for s in told.edge.requests)
        return replace(told, edge=replace(told.edge, requests=requests, active=()))

    def scaled(seen: Observation) -> Observation:
        assert not isinstance(seen.live, Missing)
        (pod,) = seen.live.workloads[name_of("v1")].pods
        new = replace(pod, name="new", created=called - 5, restarted=called - 5)
        return with_workload("v1", pods=(pod, new))(seen)

    world = just_left().say("v1", open=1)
    world.serving["v1"].pods = 1
    world.bend = with_telemetry("v1", past)
    world.passes(120)
    world.serving["v1"].counts["exact"] += 1
    world.say("v1", open=0)
    world.look(20)
    assert not pinned(world)
    assert not world.clock.of("v1", "d-v1").owed
    called = world.now  # after the last scrape, and before the next one
    world.serving["v1"].counts["exact"] += 1
    world.bend = both(with_telemetry("v1", past), scaled)
    world.look(20)
    assert pinned(world) > called


def test_who_calls_right_after_clocks_were_lost_is_not_forgotten():
    """Nobody can tell the first seconds after that from what came before; a call in them is a name."""
    world = World(draining()).traffic(v2=20)
    world.serving["v1"].counts["exact"] += 500
    for _ in range(20):
        world.look()
    world.clock = UnitClock()
    world.look(37)  # between two scrapes
    world.wait(1)
    world.serving["v1"].counts["exact"] += 1
    called = world.now
    for _ in range(20):
        world.look()
    assert pinned(world) >= called


def test_who_calls_right_after_a_restart_is_heard_though_the_counter_stands_where_it_stood():
    """It stood at 1, fell to nothing and was at 1 again before anybody read it."""
    world = World(draining()).traffic(v2=20)
    world.serving["v1"].pods = 1
    world.serving["v1"].counts["exact"] += 1
    for _ in range(20):
        world.look()
    before, began = pinned(world), world.now + 1

    def restarted(seen: Observation) -> Observation:
        assert not isinstance(seen.live, Missing)
        (pod,) = seen.live.workloads[name_of("v1")].pods
        again = replace(pod, restarts=1, restarted=began, counts_since=began)
        return with_workload("v1", pods=(again,))(seen)

    world.look()
    assert pinned(world) == before
    world.bend = restarted
    world.look()
    assert pinned(world) > began


def test_what_the_gateway_still_has_open_is_not_what_its_pods_have_counted():
    """Their gauge leaks, one goes past the gateway, and then they go: nothing else would tell."""

    def past(told: Telemetry) -> Telemetry:
        assert not isinstance(told.edge, Missing)
        requests = tuple(replace(s, values=(9.0,) * len(s.values)) for s in told.edge.requests)
        pods = {}
        for name, pod in told.pods.items():
            assert pod.in_flight is not None
            values = tuple(0.0 for _ in pod.in_flight.values)
            pods[name] = replace(pod, in_flight=replace(pod.in_flight, values=values))
        return replace(told, pods=pods, edge=replace(told.edge, requests=requests))

    def ahead(told: Telemetry) -> Telemetry:
        """The gateway was not read since."""
        told = past(told)
        assert not isinstance(told.edge, Missing) and isinstance(told.edge.active, tuple)
        (gauge,) = told.edge.active
        older = replace(gauge, times=gauge.times[:-1], values=gauge.values[:-1])
        return replace(told, edge=replace(told.edge, active=(older,)))

    for first in (past, ahead):
        ends, stays = just_left().say("v1", open=1), just_left().say("v1", open=1)
        for world in (ends, stays):
            world.serving["v1"].pods = 1
            world.bend = with_telemetry("v1", past)
            world.passes(120)
            world.serving["v1"].counts["exact"] += 1
        ends.say("v1", open=0)
        for world in (ends, stays):
            world.bend = with_telemetry("v1", first)
            world.look(20)
            assert bool(pinned(world)) is (world is stays and first is past)
            world.say("v1", open=0)  # it was cut off
            world.bend = with_telemetry("v1", past)
            world.look(20)
        assert not pinned(ends), first.__name__
        assert pinned(stays), first.__name__


def test_who_is_seen_with_a_share_again_is_the_way_back_for_as_long_again():
    """An engine brought an older commit once more, which a job saw."""
    world = just_left()
    world.passes(120)
    back = LiveRoute({name_of("v1"): 50, name_of("v2"): 50}, current=True)
    world.bend = with_live(route=back)
    since = world.clock.of("v1", "d-v1").since
    world.look()
    last = world.now
    world.bend = lambda seen: seen
    world.look()
    clock = world.clock.of("v1", "d-v1")
    assert clock.back > last
    assert clock.since == since, "who served last is another question"
    world.passes(world.rules.rollback_for - (world.now - clock.back) - 31, 60)
    sight = next(f for f in world.decisions[-1].findings if f.version == "v1")
    assert "it is the way back" in sight.reason
