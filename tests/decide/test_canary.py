"""A version that comes: steps, their evidence, and what stands in their way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gati_gitops.decide.around import Around
from gati_gitops.decide.observation import (
    Engine,
    EngineState,
    Gap,
    LiveRoute,
    Missing,
    Pod,
    Sent,
)
from gati_gitops.decide.verdict import Verdict
from gati_gitops.ledger.model import Phase
from gati_gitops.plan.model import Scaling
from tests.decide.worlds import (
    START,
    World,
    blind,
    both,
    canary,
    entry,
    late,
    name_of,
    planned,
    rules,
    stored,
    unseen,
    with_live,
    with_telemetry,
    with_workload,
)

HOUR = 3600


def at(weight=10, **settings):
    """v2 at a step, with enough good traffic for everybody."""
    world = World(canary(weight), rules(**settings) if settings else rules())
    return world.traffic(v1=60 - 0.6 * weight, v2=0.6 * weight)


def no_move(world, seconds, *allowed):
    """Nothing is decided in all that time, or nothing else than these."""
    for _ in range(int(seconds / 30)):
        made = world.look()
        assert made.move is None or made.verdict in allowed, made.reason
        if made.move is not None:
            return made
    return made


# -- steps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "verdict", "next_weight"),
    [(0, Verdict.ADVANCE, 10), (10, Verdict.ADVANCE, 50), (50, Verdict.ACTIVATE, 100)],
)
def test_the_road_goes_by_10_50_100(weight, verdict, next_weight):
    made = at(weight).passes(600)
    assert (made.verdict, made.move.weight) == (verdict, next_weight)
    assert made.move.version == "v2" and made.move.digest == "d-v2"


@pytest.mark.parametrize(
    ("steps", "weight", "next_weight"),
    [([5, 25, 100], 5, 25), ([5, 25, 100], 10, 25), ([100], 0, 100), ([33, 66, 100], 66, 100)],
)
def test_any_steps(steps, weight, next_weight):
    made = at(weight, steps=steps).passes(600)
    assert made.move.weight == next_weight


def test_a_step_lasts_as_long_as_it_was_seen_to():
    world = at(10)
    made = no_move(world, 330)
    assert made.verdict is Verdict.WAIT and "a step lasts 5m" in made.reason
    assert world.passes(60).verdict is Verdict.ADVANCE


def test_the_reason_is_a_sentence_for_the_person_on_call():
    made = at(10).passes(600)
    assert made.reason == (
        "v2 at 10 % for 5m30s: 1890 requests, 0 % failed (wanted <= 1 %), next step 50 %"
    )
    assert made.move.reason == made.reason


def test_the_first_step_remembers_how_many_pods_the_active_version_has():
    world = at(0).say("v1", pods=5)
    assert world.passes(60).move.floor == 5
    again = World(stored(entry("v1", Phase.ACTIVE, 90, floor=5), entry("v2", Phase.CANARY, 10)))
    again.traffic(v1=50, v2=6).say("v1", pods=7)
    assert again.passes(600).move.floor == 0


def test_other_versions_keep_their_share():
    place = stored(
        entry("v1", Phase.ACTIVE, 40),
        entry("v2", Phase.CANARY, 10),
        entry("v0", Phase.CANARY, 50),
        target="v2",
    )
    world = World(place).traffic(v1=30, v2=6, v0=30)
    made = world.passes(600)
    assert made.verdict is Verdict.ACTIVATE, "50 beside 50 leaves nothing for anybody else"


def test_a_version_beside_the_target_that_fails_loses_its_share():
    place = stored(entry("v1", Phase.ACTIVE, 90), entry("v0", Phase.CANARY, 10), target="v1")
    world = World(place).traffic(v1=30, v0=6).say("v0", failing=0.3)
    made = world.passes(600)
    assert made.verdict is Verdict.ROLLBACK and made.move.version == "v0"
    healthy = World(place).traffic(v1=30, v0=6)
    assert no_move(healthy, 900).verdict is Verdict.STEADY


# -- evidence ------------------------------------------------------------------------------------


def test_too_few_requests_extend_the_step_and_then_a_person_is_asked():
    world = at(10).traffic(v2=0.02)
    made = no_move(world, 7200 - 60)
    assert made.verdict is Verdict.WAIT and "of 300 so far" in made.reason
    made = world.passes(240)
    assert made.verdict is Verdict.HOLD
    assert "a step lasts 2h at most" in made.reason


def test_a_job_that_was_away_finds_no_step_that_took_too_long():
    world = World(canary(10)).traffic(v1=20, v2=0.01)
    world.look(60)
    world.look(60)
    made = world.look(10 * 3600)
    assert made.verdict is not Verdict.HOLD, made.reason
    # and then it waits for as long as anybody
    held = next(n for n in range(200) if world.look(60).verdict is Verdict.HOLD)
    assert 110 <= held <= 125


def test_few_requests_that_fail_are_enough_to_fail():
    world = at(10).traffic(v2=0.5).say("v2", failing=0.5)
    made = world.passes(300)
    assert made.verdict is Verdict.ROLLBACK and made.move.to == "v1"


def test_one_bad_minute_is_not_two():
    world = at(10).say("v2", failing=0.06)
    for _ in range(3):
        made = world.look()
    assert made.verdict is Verdict.WAIT and "check 1 failed" in made.reason
    world.say("v2", failing=0.0)
    made = no_move(world, 3600, Verdict.ADVANCE)
    assert made.verdict is Verdict.ADVANCE, "in time the bad minute is one of many"


def test_three_bad_minutes_of_one_step_are_enough():
    world = at(10)
    made = None
    for minute in range(12):
        world.say("v2", failing=0.2 if minute % 4 == 0 else 0.0)
        made = world.passes(60)
        if made.move is not None:
            break
    assert made.verdict is Verdict.ROLLBACK
    assert "3 checks failed" in made.reason


def test_failures_within_the_limit_pass():
    world = at(10).say("v2", failing=0.004).say("v1", failing=0.004)
    assert world.passes(600).verdict is Verdict.ADVANCE


def test_worse_than_the_active_version_is_not_good_enough_and_no_reason_to_go_back():
    world = at(10).say("v2", failing=0.009).say("v1", failing=0.0)
    made = no_move(world, 600)
    assert made.verdict is Verdict.INCONCLUSIVE and "failed more than v1" in made.reason
    assert world.passes(400).verdict is Verdict.HOLD


def test_slow_requests_fail_a_version():
    made = at(10).say("v2", slow=0.1).passes(600)
    assert made.verdict is Verdict.ROLLBACK and "were slow" in made.reason


def test_much_slower_than_the_active_version_does_not_pass():
    world = at(50).say("v2", slow=0.009).say("v1", slow=0.001)
    made = no_move(world, 500)
    assert made.verdict is Verdict.INCONCLUSIVE and "slower than v1" in made.reason


def test_a_single_slow_request_is_no_proof_of_being_slower():
    world = at(10).say("v2", slow=0.0008)
    assert world.passes(900).verdict is Verdict.ADVANCE


def test_failures_that_only_the_gateway_sees_count():
    def refused(told):
        good = [s for s in told.edge.requests if ("code", "200") in s.labels]
        bad = [replace(s, labels=(("code", "503"), s.labels[1])) for s in good]
        return replace(told, edge=replace(told.edge, requests=(*good, *bad)))

    world = at(10)
    world.bend = with_telemetry("v2", refused)
    made = world.passes(600)
    assert made.verdict is Verdict.ROLLBACK and "at the gateway" in made.reason


def test_unknown_durations_do_not_pass():
    def untimed(told):
        pods = {name: replace(pod, faster=()) for name, pod in told.pods.items()}
        return replace(told, pods=pods)

    world = at(10)
    world.bend = with_telemetry("v2", untimed)
    made = no_move(world, 500)
    assert made.verdict is Verdict.INCONCLUSIVE and "not measured" in made.reason


def test_an_active_version_that_nobody_counts_is_nothing_to_compare_with():
    world = at(10)
    world.bend = with_telemetry(
        "v1",
        lambda told: replace(
            told,
            pods={name: replace(pod, requests=(), faster=()) for name, pod in told.pods.items()},
        ),
    )
    made = no_move(world, 500)
    assert made.verdict is Verdict.INCONCLUSIVE and "it had no requests" in made.reason


def test_a_counter_that_was_born_is_traffic_and_no_sample():
    """Requests that a series had when it was first seen may be as old as the pod."""
    world = at(10).traffic(v2=0.0)
    world.look()
    world.serving["v2"].counts["exact"] = 5000.0
    made = no_move(world, 600)
    assert "0 requests of 300" in made.reason


def test_what_was_seen_before_the_step_does_not_count_for_it():
    world = at(10)
    world.passes(330)
    world.becomes(canary(50)).traffic(v1=30, v2=30)
    made = world.look()
    assert made.verdict is Verdict.WAIT and "0 requests" in made.reason
    assert no_move(world, 270).verdict is Verdict.WAIT


def test_a_publish_that_only_queues_a_version_does_not_restart_the_step():
    world = at(10)
    no_move(world, 300)
    queued = stored(
        entry("v1", Phase.ACTIVE, 90),
        entry("v2", Phase.CANARY, 10),
        entry("v3", Phase.PENDING),
        target="v2",
        wants="v3",
    )
    world.becomes(queued)
    assert world.passes(90).verdict is Verdict.ADVANCE


def test_a_hold_ends_what_was_seen_so_far():
    world = at(10)
    no_move(world, 300)
    held = canary(10)
    world.becomes(replace(held, ledger=replace(held.ledger, hold="lunch")))
    assert world.look().verdict is Verdict.HELD
    world.becomes(canary(10))
    assert no_move(world, 270).verdict is Verdict.WAIT


def test_pods_that_were_ready_while_it_was_held_have_not_been_missing_all_the_time():
    world = at(0).say("v2", ready=1)
    world.look()
    held = canary(0)
    world.becomes(replace(held, ledger=replace(held.ledger, hold="lunch")))
    world.say("v2", ready=2)
    for _ in range(30):
        assert world.look().verdict is Verdict.HELD
    world.becomes(canary(0)).say("v2", ready=1)
    assert no_move(world, 300).verdict is Verdict.WAIT


def test_pods_that_nobody_looked_at_have_not_been_missing_all_the_time():
    world = at(0).say("v2", ready=1)
    world.look()
    assert world.look(HOUR).move is None


# -- what cannot be seen -------------------------------------------------------------------------


def test_an_outage_of_metrics_holds_and_never_rolls_back():
    world = at(10)
    no_move(world, 240)
    world.bend = blind()
    made = world.passes(HOUR)
    assert made.verdict is Verdict.HOLD and "5 checks in a row could not be made" in made.reason


def test_no_data_holds_later_than_errors():
    world = at(10)
    no_move(world, 120)
    world.bend = blind(Gap.NO_DATA, "nothing came")
    before = world.now
    made = world.passes(HOUR)
    assert made.verdict is Verdict.HOLD and "10 checks in a row proved nothing" in made.reason
    assert 540 <= world.now - before <= 660


def test_no_data_rolls_back_only_where_people_said_so():
    world = at(10, analysis={"onNoData": "rollback"})
    world.bend = blind(Gap.NO_DATA, "nothing came")
    assert world.passes(HOUR).verdict is Verdict.ROLLBACK


def test_a_short_outage_only_makes_the_step_longer():
    world = at(10)
    no_move(world, 120)
    world.bend = blind()
    no_move(world, 120)
    world.bend = lambda seen: seen
    assert world.passes(600).verdict is Verdict.ADVANCE


def test_a_cluster_that_cannot_be_seen_decides_nothing():
    world = at(10)
    world.bend = unseen()
    assert no_move(world, HOUR).verdict is Verdict.ERROR


def test_the_active_version_unmeasured_is_a_gap_too():
    world = at(10)
    world.bend = with_telemetry("v1", lambda _: Missing(Gap.STALE, "an hour old"))
    made = no_move(world, 300)
    assert made.verdict is Verdict.INCONCLUSIVE and "v1, to compare with" in made.reason


# -- hard failures -------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0, 10])
def test_a_crash_loop_goes_back_within_two_minutes(weight):
    world = at(weight).say("v2", ready=0 if weight == 0 else 1, waiting="CrashLoopBackOff")
    world.bend = both(
        with_workload("v2", settled=False),
    )
    made = world.passes(150)
    assert made.verdict is Verdict.ROLLBACK and "CrashLoopBackOff" in made.reason


def test_one_look_at_a_crash_is_not_a_loop():
    world = at(10).say("v2", ready=1, waiting="CrashLoopBackOff")
    assert world.look().move is None
    world.say("v2", ready=2, waiting="")
    assert world.look().move is None


def test_an_image_that_cannot_be_pulled_waits_for_the_deadline():
    world = at(0).say("v2", ready=0, waiting="ImagePullBackOff")
    assert no_move(world, 540).verdict is Verdict.WAIT
    made = world.passes(120)
    assert made.verdict is Verdict.ROLLBACK and "ImagePullBackOff" in made.reason


def test_a_stalled_deployment_goes_back_within_two_minutes():
    world = at(0).say("v2", ready=0)
    world.bend = with_workload("v2", stalled="ProgressDeadlineExceeded")
    made = world.passes(120)
    assert made.verdict is Verdict.ROLLBACK and "ProgressDeadlineExceeded" in made.reason


def test_an_old_word_of_a_deployment_does_not_condemn_new_pods():
    world = at(10)
    world.bend = with_workload("v2", stalled="ProgressDeadlineExceeded", desired=3)
    assert world.look().move is None
    world.bend = with_workload("v2", stalled="ProgressDeadlineExceeded")
    no_move(world, 240)


def test_pods_that_never_get_ready_fail_after_the_deadline():
    world = at(10).say("v2", ready=1)
    made = world.passes(700)
    assert made.verdict is Verdict.ROLLBACK and "1 of 2 pods are ready after 10m" in made.reason


def test_what_was_not_synced_yet_has_no_deadline():
    world = at(0)
    world.bend = with_workload("v2", gone=True)
    made = no_move(world, HOUR)
    assert made.verdict is Verdict.WAIT and "does not have it yet" in made.reason


# -- the way back gates the way forward ----------------------------------------------------------


@pytest.mark.parametrize("weight", [0, 10, 50])
@pytest.mark.parametrize(
    ("bend", "around", "says"),
    [
        (None, Around(cannot_write="the token has expired"), "the token has expired"),
        (with_live(engine=Engine(EngineState.SUSPENDED, "by ada")), None, "suspended: by ada"),
        (with_live(engine=Engine(EngineState.STUCK, "no such path")), None, "stuck"),
        (with_live(engine=Missing(Gap.ERROR, "403")), None, "state is not known"),
        (with_workload("v1", ready=1), None, "v1 has 1 of the 2 pods that it needs"),
        (with_workload("v1", ready_endpoints=0), None, "no address of v1"),
        (with_workload("v2", ready=1), None, "1 of 2"),
        (late(HOUR), None, "old"),
    ],
)
def test_no_step_without_a_way_back(weight, bend, around, says):
    place = stored(
        entry("v1", Phase.ACTIVE, 100 - weight, floor=2 if weight else 0),
        entry("v2", Phase.CANARY if weight else Phase.STARTING, weight),
    )
    world = World(place).traffic(v1=30, v2=30 if weight else 0)
    world.bend = bend or world.bend
    world.around = around or world.around
    made = no_move(world, 480)
    assert made.verdict in (Verdict.FROZEN, Verdict.WAIT)
    assert says in made.reason


def test_no_engine_is_no_obstacle():
    world = at(10)
    world.engine = Missing(Gap.UNSUPPORTED, "none is configured")
    assert world.passes(600).verdict is Verdict.ADVANCE


def test_an_engine_that_is_behind_is_one_that_works():
    world = at(10)
    world.engine = Engine(EngineState.BEHIND)
    assert world.passes(600).verdict is Verdict.ADVANCE


# -- what the cluster shows ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("route", "says"),
    [
        (None, "does not have its route"),
        (Missing(Gap.ERROR, "403"), "could not be read"),
        (LiveRoute({name_of("v1"): 100}, current=True), "the ledger"),
        (
            LiveRoute({name_of("v1"): 90, name_of("v2"): 10}, current=False, why="no"),
            "has not taken",
        ),
        (LiveRoute({name_of("v1"): 90, name_of("v2"): 20}, current=True), "v2 20"),
    ],
)
def test_clocks_stand_until_the_cluster_shows_the_step(route, says):
    world = at(10)
    world.bend = with_live(route=route)
    made = no_move(world, 600)
    assert made.verdict is Verdict.WAIT and says in made.reason
    world.bend = lambda seen: seen
    assert no_move(world, 300).verdict is Verdict.WAIT
    assert world.passes(120).verdict is Verdict.ADVANCE


def test_a_route_that_changes_for_a_moment_starts_the_step_anew():
    world = at(10)
    no_move(world, 300)
    world.bend = with_live(route=LiveRoute({name_of("v1"): 100}, current=True))
    world.look()
    world.bend = lambda seen: seen
    assert no_move(world, 300).verdict is Verdict.WAIT


# -- pods before traffic -------------------------------------------------------------------------


def scaled(weight=0, *, fewest=2, most=10, **fields):
    place = canary(weight)
    scaling = Scaling("hpa", min=fewest, max=most)
    versions = tuple(planned(v.id, gone=v.gone, scaling=scaling) for v in place.plan.versions)
    place = replace(place, plan=replace(place.plan, versions=versions))
    entries = [replace(e, **fields) if e.id == "v2" else e for e in place.ledger.entries]
    return World(replace(place, ledger=place.ledger.with_entries(entries)))


def test_a_step_asks_for_the_pods_of_the_next_one():
    world = scaled(10).traffic(v1=50, v2=6).say("v1", pods=8)
    made = world.passes(600)
    assert made.verdict is Verdict.PREPARE and made.move.room == 4, made.reason
    begun = scaled(0).say("v1", pods=8)
    assert begun.look().move.room == 4, "while at 10 % it gets the pods of 50 %"


def test_pods_that_were_asked_for_come_before_the_traffic():
    world = scaled(10, floor=4).traffic(v1=50, v2=6).say("v1", pods=8)
    made = no_move(world, 480)
    assert made.verdict is Verdict.WAIT and "50 % need 4 pods, and v2 has 2" in made.reason
    world.say("v2", pods=4)
    assert world.passes(600).verdict is Verdict.ADVANCE


def test_no_more_pods_are_asked_for_than_there_may_be():
    world = scaled(50, most=3).traffic(v1=30, v2=30).say("v1", pods=8)
    assert world.passes(600).move.room == 3


def test_a_version_that_sleeps_is_woken_before_it_is_tried():
    world = scaled(0, fewest=0).say("v2", pods=0)
    made = world.look()
    assert made.verdict is Verdict.PREPARE and made.move.version == "v2" and made.move.room == 1


def test_an_active_version_that_sleeps_is_woken_before_another_is_tried():
    world = scaled(0, fewest=0).say("v1", pods=0)
    made = world.look()
    assert made.verdict is Verdict.PREPARE and made.move.version == "v1" and made.move.room == 1


def test_a_version_that_sleeps_is_not_one_that_fails():
    world = scaled(0, fewest=0, floor=1).say("v2", pods=0)
    assert no_move(world, HOUR).verdict is Verdict.WAIT


# -- other strategies ----------------------------------------------------------------------------


def test_direct_gives_all_as_soon_as_pods_are_ready():
    world = World(canary(0), rules("direct")).traffic(v1=60).say("v2", ready=1)
    assert no_move(world, 120).verdict is Verdict.WAIT
    world.say("v2", ready=2)
    assert world.look().verdict is Verdict.ACTIVATE


def test_direct_asks_for_no_requests():
    world = World(canary(10), rules("direct"))
    world.bend = blind()
    assert world.look().verdict is Verdict.ACTIVATE


def test_direct_rejects_what_does_not_start():
    world = World(canary(0), rules("direct")).say("v2", ready=0, waiting="CrashLoopBackOff")
    assert world.passes(150).verdict is Verdict.ROLLBACK


def test_blue_green_waits_for_pods_to_stand_and_then_gives_all():
    world = World(canary(0), rules("blue-green")).traffic(v1=60)
    made = no_move(world, 300)
    assert "ready for 4m30s of 5m" in made.reason
    assert world.look().verdict is Verdict.ACTIVATE


SYNTHETIC = {"synthetic": {"url": "https://gateway.example", "requests": 5}}


def test_requests_of_our_own_come_before_those_of_others():
    world = World(canary(0), rules("blue-green", analysis=SYNTHETIC)).traffic(v1=60)
    made = no_move(world, 600)
    assert "0 of 5 requests of our own were sent" in made.reason
    world.sent["v2"] = [Sent(world.now + n, 200, 0.1) for n in range(5)]
    assert world.passes(90).verdict is Verdict.ACTIVATE


def test_requests_of_our_own_that_fail_stop_a_version():
    world = World(canary(0), rules(analysis=SYNTHETIC)).traffic(v1=60)
    for _ in range(8):
        world.sent.setdefault("v2", []).extend(Sent(world.now + n, 500, 0.1) for n in range(5))
        made = world.look()
        if made.move is not None:
            break
    assert made.verdict is Verdict.ROLLBACK and "of our own failed" in made.reason


def manual(*starting, weights):
    place = stored(entry("v1", Phase.ACTIVE, 100), *(entry(id, Phase.STARTING) for id in starting))
    versions = tuple(planned(v.id, weight=weights.get(v.id, 0)) for v in place.plan.versions)
    return World(replace(place, plan=replace(place.plan, versions=versions)), rules("manual"))


def test_manual_gives_the_weight_of_the_spec_to_what_is_ready():
    world = manual("v2", weights={"v1": 80, "v2": 20}).say("v2", ready=0)
    assert no_move(world, HOUR).verdict is Verdict.WAIT
    world.say("v2", ready=2)
    made = world.look()
    assert (made.verdict, made.move.weight) == (Verdict.ADVANCE, 20)


def test_manual_waits_for_all_that_get_some():
    world = manual("v2", "v3", weights={"v1": 50, "v2": 25, "v3": 25}).say("v3", ready=1)
    made = no_move(world, 120)
    assert "v3: 1 of 2 pods are ready" in made.reason
    assert world.say("v3", ready=2).look().verdict is Verdict.ADVANCE


def test_manual_waits_for_the_route_that_people_left():
    world = manual("v2", weights={"v1": 80, "v2": 20})
    world.bend = with_live(route=LiveRoute({name_of("v1"): 50, name_of("v2"): 50}, current=True))
    assert "the cluster's route says" in no_move(world, 300).reason


def test_manual_never_takes_back_what_a_person_gave():
    world = World(canary(10), rules("manual")).traffic(v1=50, v2=6).say("v2", failing=0.9)
    assert no_move(world, HOUR).verdict is Verdict.STEADY
    broken = manual("v2", weights={"v1": 80, "v2": 20})
    broken.say("v2", ready=0, waiting="CrashLoopBackOff")
    made = no_move(broken, HOUR)
    assert "a person must look" in made.reason


def test_a_version_of_which_the_spec_gives_nothing_only_serves_by_name():
    world = manual("v2", weights={"v1": 100})
    assert no_move(world, 300).verdict is Verdict.STEADY
    beside = World(stored(entry("v1", Phase.ACTIVE, 100), entry("v0", Phase.STARTING), target="v1"))
    assert no_move(beside, 300).verdict is Verdict.STEADY


# -- versions that break with one another ----------------------------------------------------------


def breaking(*transformers, strategy="canary"):
    world = World(canary(0), rules(strategy)).traffic(v1=60)
    versions = tuple(
        replace(v, breaking=v.id == "v2", transformers=transformers if v.id == "v2" else ())
        for v in world.place.plan.versions
    )
    world.place = replace(world.place, plan=replace(world.place.plan, versions=versions))
    return world


def test_a_version_that_breaks_shares_no_traffic_without_a_translation():
    made = no_move(breaking(), 600)
    assert made.verdict is Verdict.FROZEN and "no chain of transformers" in made.reason
    assert breaking("v1-to-v2").look().verdict is Verdict.ADVANCE


def test_all_of_the_traffic_at_once_is_no_share():
    assert breaking(strategy="direct").look().verdict is Verdict.ACTIVATE
    assert breaking(strategy="blue-green").passes(600).verdict is Verdict.ACTIVATE


# -- elsewhere -----------------------------------------------------------------------------------


def test_what_was_rejected_on_a_sibling_is_held_here():
    world = at(10)
    world.around = Around(judged={("v2", "d-v2"): "prod/west"})
    made = world.look()
    assert made.verdict is Verdict.HOLD and "rejected in prod/west" in made.reason


def test_what_fails_here_goes_back_whatever_siblings_say():
    world = at(10).say("v2", ready=1, waiting="CrashLoopBackOff")
    world.around = Around(judged={("v2", "d-v2"): "prod/west"})
    world.look()
    world.clock = replace(
        world.clock,
        versions={k: v._replace(crashing=START - 600) for k, v in world.clock.versions.items()},
    )
    assert world.look().verdict is Verdict.ROLLBACK


def test_another_digest_of_the_same_id_is_innocent():
    world = at(10)
    world.around = Around(judged={("v2", "older"): "prod/west"})
    assert world.passes(600).verdict is Verdict.ADVANCE


def test_a_standby_follows_without_traffic():
    world = World(canary(0))
    world.bend = blind()
    world.around = Around(standby=True)
    made = no_move(world, HOUR)
    assert "not every serving cluster has it Active" in made.reason
    world.around = Around(standby=True, led=frozenset([("v2", "d-v2")]))
    world.say("v2", ready=1)
    assert no_move(world, 120).verdict is Verdict.WAIT
    world.say("v2", ready=2)
    assert world.look().verdict is Verdict.ACTIVATE


# -- windows and people --------------------------------------------------------------------------


def test_a_window_stops_a_step_and_lets_a_rollback_through():
    world = at(10)
    world.around = Around(frozen="no changes on Fridays")
    made = no_move(world, 600)
    assert made.verdict is Verdict.FROZEN and "advance waits" in made.reason
    world.say("v2", failing=0.5)
    assert world.passes(300).verdict is Verdict.ROLLBACK


def test_a_person_who_froze_the_live_route_wins():
    world = at(10).say("v2", failing=0.5)
    world.bend = with_live(frozen="ada looks at something")
    assert no_move(world, 900).verdict is Verdict.HELD


def test_traffic_in_a_persons_hands_is_absorbed_and_then_left_alone():
    world = at(10)
    by_hand = LiveRoute({name_of("v1"): 100}, current=True, break_glass="Git is down")
    world.bend = with_live(route=by_hand)
    made = world.look()
    assert made.verdict is Verdict.ABSORB and made.move.weights == (("v1", 100),)
    assert world.now < made.best_before <= world.now + 60, "what a person did since is not known"
    world.bend = with_live(route=replace(by_hand, weights={name_of("v1"): 90, name_of("v2"): 10}))
    assert world.look().verdict is Verdict.HELD


def test_a_lost_ledger_is_held():
    world = at(10)
    place = replace(world.place, ledger=None)
    world.ledger.deployed  # noqa: B018 - it was there
    from gati_gitops.decide.decide import decide

    made, _ = decide(world.rules, place, world.seen(), world.clock, world.now, world.around)
    assert made.verdict is Verdict.HELD and "deleted by hand" in made.reason


# -- what a decision says ------------------------------------------------------------------------


def test_every_version_has_a_finding_every_time():
    world = at(10)
    for bend in (world.bend, blind(), unseen(), with_live(frozen="stop")):
        world.bend = bend
        made = world.look()
        assert made.reason
        if made.verdict is not Verdict.ERROR:
            assert [f.version for f in made.findings] == ["v1", "v2"]
            assert all(f.reason for f in made.findings)


def test_a_decision_has_a_date_of_expiry():
    world = at(10)
    made = world.passes(600)
    assert made.seen_at == world.now
    assert made.best_before == world.now + 2 * 15 + 30


def test_old_metrics_make_a_decision_old():
    world = at(10)
    world.bend = with_telemetry(
        "v1", lambda told: replace(told, window=replace(told.window, at=told.window.at - 12))
    )
    made = world.passes(900)
    assert made.verdict is Verdict.ADVANCE and made.seen_at == world.now - 12


def test_facts_say_what_was_wanted():
    made = at(10).passes(600)
    facts = {fact.name: fact for fact in made.findings[1].facts}
    assert facts["requests"].wanted == ">= 300" and facts["requests"].ok
    assert facts["failed"].value == "0 % of 1890"
    assert {fact.name for fact in made.facts} == {"route", "sync engine", "job", "window"}


def test_pods_that_are_not_there_yet_are_told_by_name():
    world = at(10)
    strange = Pod("handler-users-v2-9", ready=True, created=START - 900)
    pods = (*world.workload(world.ledger.entries[1]).pods, strange)
    world.bend = with_workload("v2", pods=pods, desired=3, ready=3)
    made = no_move(world, 300)
    assert "handler-users-v2-9: it is not scraped" in made.reason
