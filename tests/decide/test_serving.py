"""A version that serves: its first minutes, its revisions, and what is put in order afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gati_gitops.decide.around import Around
from gati_gitops.decide.observation import Engine, EngineState, Gap, LiveRoute, Missing
from gati_gitops.decide.verdict import Verdict
from gati_gitops.ledger.model import Phase
from gati_gitops.plan.model import Scaling
from gati_gitops.plan.naming import UnitId
from tests.decide.worlds import (
    World,
    blind,
    canary,
    draining,
    entry,
    name_of,
    planned,
    rules,
    stored,
    with_live,
    with_workload,
)

HOUR, DAY = 3600, 86400


def activated(strategy="canary", **settings):
    """v2 has just got all of the traffic, v1 is the way back."""
    world = World(canary(50), rules(strategy, **settings)).traffic(v1=30, v2=30)
    for _ in range(3):
        world.look()
    return world.becomes(draining()).traffic(v1=0, v2=60)


def quiet(world, seconds, every=30.0):
    for _ in range(int(seconds / every)):
        made = world.look(every)
        assert made.move is None, made.reason
    return made


# -- the first minutes ---------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["canary", "blue-green"])
def test_who_fails_with_all_of_the_traffic_goes_back(strategy):
    world = activated(strategy).say("v2", failing=0.2)
    made = world.passes(300)
    assert made.verdict is Verdict.ROLLBACK
    assert (made.move.version, made.move.to) == ("v2", "v1")


@pytest.mark.parametrize("strategy", ["direct", "manual"])
def test_not_where_nobody_asked_for_judgement(strategy):
    world = activated(strategy).say("v2", failing=0.9)
    quiet(world, 900)


def test_who_fails_later_is_not_taken_back():
    world = activated()
    quiet(world, 360)
    world.say("v2", failing=0.9)
    quiet(world, 900)


def test_without_a_way_back_nothing_is_taken_back():
    world = World(stored(entry("v2", Phase.ACTIVE, 100))).traffic(v2=60).say("v2", failing=0.9)
    quiet(world, 900)
    rejected = World(stored(entry("v1", Phase.REJECTED), entry("v2", Phase.ACTIVE, 100)))
    quiet(rejected.traffic(v2=60).say("v2", failing=0.9), 900)


def test_a_crash_in_the_first_minutes_goes_back():
    world = activated().say("v2", ready=0, waiting="CrashLoopBackOff")
    made = world.passes(300)
    assert made.verdict is Verdict.ROLLBACK and made.move.to == "v1"


def test_the_way_back_must_have_pods():
    world = activated().say("v2", failing=0.5).say("v1", ready=0)
    made = quiet(world, 240)
    assert made.verdict is Verdict.FROZEN and "v1 has no pod" in made.reason
    world.say("v1", ready=2)
    assert world.look().verdict is Verdict.ROLLBACK


def test_a_way_back_that_is_short_of_pods_for_long_takes_what_it_can():
    world = activated(analysis={"stepFor": "1h", "progressDeadline": "5m"})
    world.say("v2", failing=0.5).say("v1", ready=1)
    made = quiet(world, 240)
    assert "v1 has 1 of its 2 pods" in made.reason
    assert world.passes(120).verdict is Verdict.ROLLBACK


def test_a_way_back_that_sleeps_is_woken_even_in_a_window():
    world = activated()
    scaling = Scaling("keda", min=0, max=3)
    versions = tuple(replace(v, scaling=scaling) for v in world.place.plan.versions)
    world.place = replace(world.place, plan=replace(world.place.plan, versions=versions))
    world.around = Around(frozen="holidays")
    made = world.say("v2", failing=0.5).say("v1", pods=0).passes(300)
    assert made.verdict is Verdict.PREPARE
    assert (made.move.version, made.move.room) == ("v1", 1)


def test_no_data_in_the_first_minutes_is_no_failure():
    world = activated()
    world.bend = blind(Gap.NO_DATA, "nothing came")
    quiet(world, HOUR / 2)


def test_what_waits_does_not_start_in_the_first_minutes():
    world = activated()
    place = stored(
        entry("v1", Phase.DRAINING),
        entry("v2", Phase.ACTIVE, 100),
        entry("v3", Phase.PENDING),
        target="v2",
        wants="v3",
    )
    world.becomes(place)
    assert "v3 waits its turn: v2 has just got there" in quiet(world, 240).findings[2].reason
    assert world.passes(120).verdict is Verdict.START


def test_nor_does_what_has_started_get_traffic():
    world = activated()
    place = stored(
        entry("v1", Phase.DRAINING),
        entry("v2", Phase.ACTIVE, 100),
        entry("v3", Phase.STARTING),
        target="v3",
    )
    world.becomes(place)
    assert "v3 waits its turn" in quiet(world, 240).findings[2].reason
    assert world.passes(120).verdict is Verdict.ADVANCE


def test_the_latest_of_several_is_the_way_back():
    place = stored(
        entry("v0", Phase.DRAINING), entry("v1", Phase.DRAINING), entry("v2", Phase.ACTIVE, 100)
    )
    before = stored(
        entry("v0", Phase.DRAINING), entry("v1", Phase.ACTIVE, 50), entry("v2", Phase.CANARY, 50)
    )
    world = World(before).traffic(v1=30, v2=30)
    quiet(world, 120)
    world.becomes(place).traffic(v1=0, v2=60).say("v2", failing=0.5)
    assert world.passes(300).move.to == "v1"


# -- revisions -----------------------------------------------------------------------------------


def revised(strategy="canary", **settings):
    place = stored(entry("v1", Phase.ACTIVE, 100, digest="new", previous="old"))
    return World(place, rules(strategy, **settings)).traffic(v1=60)


@pytest.mark.parametrize("strategy", ["canary", "blue-green", "direct", "manual"])
def test_a_revision_that_is_well_for_a_step_needs_no_way_back(strategy):
    world = revised(strategy)
    quiet(world, 270)
    made = world.passes(120)
    assert made.verdict is Verdict.SETTLE
    assert (made.move.version, made.move.digest) == ("v1", "new")


def test_time_that_nobody_measured_settles_no_revision():
    world = revised()
    for _ in range(3):
        assert world.look(60).verdict is not Verdict.SETTLE
    world.bend = blind()
    for _ in range(10):
        assert world.look(60).verdict is not Verdict.SETTLE
    world.bend = lambda seen: seen
    looks = 0
    while (made := world.look(60)).verdict is not Verdict.SETTLE:
        looks += 1
        assert looks < 12
    assert looks >= 3, made.reason


def test_a_revision_that_fails_goes_back_to_the_one_before():
    made = revised().say("v1", failing=0.3).passes(300)
    assert made.verdict is Verdict.ROLLBACK
    assert (made.move.version, made.move.digest, made.move.to) == ("v1", "new", "v1")
    assert "the revision before returns" in made.reason


def test_a_revision_that_crashes_goes_back_to_the_one_before():
    made = revised().say("v1", ready=1, waiting="CrashLoopBackOff").passes(300)
    assert made.verdict is Verdict.ROLLBACK and made.move.to == "v1"


def test_a_revision_nobody_asked_anything_of_settles_when_its_longest_step_is_over():
    world = revised(analysis={"maxStep": "20m"}).traffic(v1=0)
    quiet(world, 1140)
    assert world.passes(120).verdict is Verdict.SETTLE


def test_a_revision_that_cannot_be_seen_keeps_its_way_back():
    world = revised()
    world.bend = blind()
    assert quiet(world, HOUR).verdict is Verdict.ERROR


def test_pods_of_the_revision_before_prove_nothing_of_this_one():
    world = revised()
    world.bend = with_workload("v1", release="v1-old")
    made = quiet(world, HOUR)
    assert "does not show it yet" in made.reason
    world.bend = lambda seen: seen
    assert world.passes(600).verdict is Verdict.SETTLE


def test_the_word_of_an_engine_is_no_proof_of_a_revision():
    world = revised()
    world.engine = Engine(EngineState.SYNCED)
    world.bend = with_workload("v1", release="")
    quiet(world, HOUR)
    world.say("v1", created=world.now)
    assert world.passes(600).verdict is Verdict.SETTLE, "pods that are younger are"


# -- the version that a rollback waits for -------------------------------------------------------


def going_back():
    place = stored(
        entry("v1", Phase.STARTING), entry("v2", Phase.ACTIVE, 100, rejected=True), target="v1"
    )
    return World(place).traffic(v2=60)


def test_the_traffic_returns_when_pods_are_ready():
    world = going_back().say("v1", ready=0)
    made = quiet(world, HOUR)
    assert "v1 is to take the traffic back, and is not ready" in made.reason
    made = world.say("v1", ready=2).look()
    assert made.verdict is Verdict.RETURN and made.move.version == "v1"


def test_it_returns_in_a_window_and_without_metrics():
    world = going_back()
    world.around = Around(frozen="holidays")
    world.bend = blind()
    assert world.look().verdict is Verdict.RETURN


def test_it_does_not_return_to_addresses_that_take_nothing():
    world = going_back()
    world.bend = with_workload("v1", ready_endpoints=0)
    quiet(world, HOUR)


# -- promotion -----------------------------------------------------------------------------------

PROMOTED = {"promotion": {"after": "staging", "dwell": "24h"}}


def waiting(*ids, rolling="", **settings):
    entries = [entry("v1", Phase.ACTIVE, 100)]
    if rolling:
        entries = [entry("v1", Phase.ACTIVE, 90), entry(rolling, Phase.CANARY, 10)]
    entries += [
        entry(id, Phase.PENDING, overtaken=0 if id == ids[-1] else 10 + n)
        for n, id in enumerate(ids)
    ]
    place = stored(*entries, target=rolling or "v1", wants=ids[-1])
    return World(place, rules(**settings) if settings else rules())


def key(id):
    return (id, f"d-{id}")


def test_what_waits_starts_when_its_turn_comes():
    world = waiting("v3", rolling="v2")
    assert "v3 waits its turn: v2 is rolled out" in quiet(world, 300).findings[2].reason
    world.becomes(waiting("v3").place)
    made = world.look()
    assert made.verdict is Verdict.START and (made.move.version, made.move.digest) == key("v3")


def test_what_people_paused_waits_for_people():
    place = stored(
        entry("v1", Phase.ACTIVE, 100), entry("v2", Phase.PENDING, paused=True), wants="v2"
    )
    assert "release shop/users starts it" in quiet(World(place), HOUR).findings[1].reason


def test_what_is_not_proved_waits():
    world = waiting("v2", **PROMOTED)
    world.around = Around(unproved={key("v2"): "stage-1 has seen it serve for 3h of 1d"})
    assert "stage-1 has seen it serve for 3h" in quiet(world, HOUR).findings[1].reason
    world.around = Around()
    assert "staging has not proved it" in quiet(world, HOUR).findings[1].reason


def test_what_is_proved_starts_with_its_evidence():
    world = waiting("v2", **PROMOTED)
    world.around = Around(proved={key("v2"): "seen to serve in staging (stage-1) for 1d"})
    made = world.look()
    assert made.verdict is Verdict.START and "seen to serve in staging" in made.reason
    assert made.findings[1].facts[0].value.startswith("seen to serve")


def test_the_newest_that_is_proved_starts():
    world = waiting("v2", "v3", "v4", **PROMOTED)
    world.around = Around(proved={key("v2"): "yes", key("v3"): "yes"})
    made = world.look()
    assert made.move.version == "v3"
    assert "v3 is newer" in made.findings[1].reason
    assert "has not proved it" in made.findings[3].reason


def test_what_was_rejected_elsewhere_does_not_start():
    world = waiting("v2", **PROMOTED)
    world.around = Around(proved={key("v2"): "yes"}, judged={key("v2"): "staging/stage-1"})
    assert "it was rejected in staging/stage-1" in quiet(world, HOUR).findings[1].reason


def test_what_was_rejected_and_overtaken_is_struck_from_what_waits():
    world = waiting("v2", "v3", **PROMOTED)
    world.around = Around(judged={key("v2"): "staging/stage-1"})
    made = world.look()
    assert made.verdict is Verdict.SETTLE and made.move.version == "v2"


def test_a_newer_one_that_was_rejected_does_not_stand_in_the_way():
    world = waiting("v2", "v3", **PROMOTED)
    world.around = Around(
        proved={key("v2"): "yes", key("v3"): "yes"}, judged={key("v3"): "staging/stage-1"}
    )
    assert world.look().move.version == "v2"


def test_a_window_and_an_engine_that_stands_still_stop_a_start():
    world = waiting("v2")
    world.around = Around(frozen="holidays")
    assert world.look().verdict is Verdict.FROZEN
    world.around = Around()
    world.bend = with_live(engine=Engine(EngineState.SUSPENDED))
    assert world.look().verdict is Verdict.FROZEN


# -- proofs for others ---------------------------------------------------------------------------


def test_who_has_served_for_a_day_has_proved_it():
    world = World(stored(entry("v1", Phase.ACTIVE, 100))).traffic(v1=10)
    world.around = Around(dwells=(86400.0,))
    quiet(world, DAY - 600, 600.0)
    made = world.passes(1800, 600)
    assert made.verdict is Verdict.PROVE
    assert (made.move.version, made.move.seconds) == ("v1", 86400)


def test_the_longest_dwell_that_was_stood_is_proved_and_only_once():
    world = World(stored(entry("v1", Phase.ACTIVE, 100, proved=3600))).traffic(v1=10)
    world.around = Around(dwells=(3600.0, 7200.0, 86400.0))
    quiet(world, 6600, 600.0)
    assert world.passes(1800, 600).move.seconds == 7200


def test_a_route_that_cannot_be_read_may_be_in_a_persons_hands():
    world = World(stored(entry("v1", Phase.ACTIVE, 100))).traffic(v1=10)
    world.around = Around(dwells=(3600.0,))
    quiet(world, 3000, 300)
    world.bend = with_live(route=Missing(Gap.ERROR, "503"))
    for _ in range(5):
        assert world.look(300).move is None
    world.bend = lambda seen: seen
    assert world.look(60).verdict is Verdict.PROVE


def test_time_in_which_nobody_looked_proves_nothing():
    world = World(stored(entry("v1", Phase.ACTIVE, 100))).traffic(v1=10)
    world.around = Around(dwells=(3600.0,))
    world.look()
    quiet(world, 5 * HOUR, 5 * HOUR)
    quiet(world, 3000, 300)
    assert world.passes(1200, 300).verdict is Verdict.PROVE


def test_the_dwell_goes_on_when_a_successor_has_come():
    world = World(stored(entry("v1", Phase.ACTIVE, 100))).traffic(v1=10)
    world.around = Around(dwells=(7200.0,))
    quiet(world, HOUR, 300.0)
    world.becomes(draining()).traffic(v1=0, v2=10)
    for _ in range(20):
        made = world.look(300)
        if made.verdict is Verdict.PROVE:
            break
    assert made.verdict is Verdict.PROVE and made.move.version == "v1"


@pytest.mark.parametrize(
    "place",
    [
        stored(
            entry("v1", Phase.ACTIVE, 100, rejected=True), entry("v0", Phase.STARTING), target="v0"
        ),
        stored(entry("v1", Phase.ACTIVE, 100)),
    ],
)
def test_what_was_judged_or_does_not_serve_proves_nothing(place):
    world = World(place).say("v1", ready=1)
    if len(place.ledger.entries) > 1:
        world.say("v1", ready=2).say("v0", ready=0)
    world.around = Around(dwells=(3600.0,))
    quiet(world, 3 * HOUR, 300.0)


def test_who_fails_begins_anew_to_prove_itself():
    world = World(stored(entry("v1", Phase.ACTIVE, 100))).traffic(v1=10)
    world.around = Around(dwells=(3600.0,))
    quiet(world, 1800, 60)
    world.say("v1", failing=0.3)
    quiet(world, 300, 60)
    assert any("begins anew to prove itself" in made.reason for made in world.decisions[-5:])
    world.say("v1", failing=0.0)
    quiet(world, 3000, 60)
    assert world.passes(1200, 60).verdict is Verdict.PROVE


def test_no_requests_are_no_failure_of_who_is_to_prove_itself():
    world = World(stored(entry("v1", Phase.ACTIVE, 100)))
    world.around = Around(dwells=(3600.0,))
    world.bend = blind()
    quiet(world, 3300, 300)
    assert world.passes(900, 300).verdict is Verdict.PROVE


def test_a_standby_proves_nothing():
    world = World(stored(entry("v1", Phase.ACTIVE, 100)))
    world.around = Around(dwells=(3600.0,), standby=True)
    quiet(world, 3 * HOUR, 300.0)


# -- hand-over and spare pods --------------------------------------------------------------------


def handing_over(owner=""):
    place = stored(entry("v1", Phase.ACTIVE, 100))
    fixed = planned("v1", scaling=Scaling(replicas=3))
    scaled = planned("v1", scaling=Scaling("hpa", min=2, max=6))
    plan = replace(place.plan, versions=(fixed,))
    plan = replace(plan, next=replace(plan, versions=(scaled,)))
    world = World(replace(place, plan=plan)).traffic(v1=10)
    world.bend = with_workload("v1", replicas_owner=owner)
    return world


def test_a_scaler_comes_when_somebody_else_holds_the_number():
    quiet(handing_over(), 600)
    made = handing_over("gati-handover").look()
    assert made.verdict is Verdict.HAND_OVER and made.move.version == "v1"


def test_nobody_hands_over_what_has_no_scaler_to_come():
    world = World(stored(entry("v1", Phase.ACTIVE, 100)))
    world.bend = with_workload("v1", replicas_owner="kubectl")
    quiet(world, 600)


def test_pods_kept_for_a_rollout_go_when_it_is_over():
    world = World(stored(entry("v1", Phase.ACTIVE, 100, floor=5))).traffic(v1=10)
    quiet(world, 300)
    made = world.look()
    assert made.verdict is Verdict.SETTLE and "no rollout needs 5 pods" in made.reason
    before = World(stored(entry("v1", Phase.DRAINING, floor=4), entry("v2", Phase.ACTIVE, 100)))
    quiet(before.traffic(v2=10), 300)
    made = before.look()
    assert made.verdict is Verdict.SETTLE and "no rollout needs 4 pods of v1" in made.reason
    rolling = World(stored(entry("v1", Phase.ACTIVE, 90, floor=2), entry("v2", Phase.CANARY, 10)))
    quiet(rolling, 900)


# -- modules -------------------------------------------------------------------------------------


def module(*entries, live="v1", strategy="canary"):
    """A module is called by one Service, which selects the pods of one version."""
    place = stored(*entries)
    unit = UnitId("shop", "module", "mailer")
    versions = tuple(replace(v, name=name_of(v.id)) for v in place.plan.versions)
    world = World(
        replace(place, plan=replace(place.plan, unit=unit, route=None, versions=versions)),
        rules(strategy),
    )
    world.bend = with_live(route=LiveRoute({name_of(live): 100}, current=True))
    return world


def test_a_module_goes_over_at_once_when_it_has_stood_for_a_step():
    world = module(entry("v1", Phase.ACTIVE, 100), entry("v2", Phase.STARTING))
    assert "ready for 4m30s of 5m" in quiet(world, 300).findings[1].reason
    assert world.look().verdict is Verdict.ACTIVATE


def test_a_module_under_direct_goes_over_as_soon_as_it_is_ready():
    world = module(entry("v1", Phase.ACTIVE, 100), entry("v2", Phase.STARTING), strategy="direct")
    assert world.look().verdict is Verdict.ACTIVATE


def test_a_module_has_gone_over_when_its_service_has():
    world = module(entry("v1", Phase.DRAINING), entry("v2", Phase.ACTIVE, 100), live="v1")
    quiet(world, 600)
    assert not world.clock.of("v2", "d-v2").shown
    world.bend = with_live(route=LiveRoute({name_of("v2"): 100}, current=True))
    world.look()
    assert world.clock.of("v2", "d-v2").shown
