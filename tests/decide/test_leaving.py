"""A version that goes: every piece of evidence, one taken away at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gati_gitops.decide.around import Around
from gati_gitops.decide.clocks import UnitClock
from gati_gitops.decide.observation import (
    Gap,
    LiveRoute,
    Missing,
    Pod,
    Series,
)
from gati_gitops.decide.verdict import Verdict
from gati_gitops.ledger.model import Phase
from gati_gitops.plan.model import Scaling
from tests.decide.worlds import (
    START,
    World,
    blind,
    canary,
    draining,
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

HOUR, DAY = 3600, 86400
IDLE, PARKED = 6 * HOUR, 2 * HOUR
SHORT = {"rollbackFor": "1s", "idleFor": "6h", "parkFor": "2h"}
RULES = rules(decommission=SHORT)
"""What drains may go at once, so that nothing but evidence decides."""
PATIENT = rules()


def left(place=None, judged_by=RULES, **around):
    """v1 has just lost its traffic to v2; the clocks have known both for a while."""
    world = World(canary(50), judged_by).traffic(v1=30, v2=30)
    for _ in range(3):
        world.look()
    world.around = Around(**around)
    return world.becomes(place or draining()).traffic(v1=0, v2=60)


def v1(made):
    return next(finding for finding in made.findings if finding.version == "v1")


def never(world, seconds, every=60.0):
    for _ in range(int(seconds / every)):
        made = world.look(every)
        assert made.verdict not in (Verdict.PARK, Verdict.REMOVE, Verdict.RETIRE), made.reason
    return made


# -- the road out --------------------------------------------------------------------------------


def test_what_nobody_calls_is_parked_within_nine_minutes():
    world = left()
    begun = world.now
    made = world.passes(HOUR)
    assert made.verdict is Verdict.PARK and made.move.version == "v1"
    assert 420 <= world.now - begun <= 540


def test_all_of_the_evidence_stands_in_the_finding():
    made = left().passes(HOUR)
    facts = v1(made).facts
    assert len(facts) >= 24
    assert all(fact.ok for fact in facts), [str(f) for f in facts if not f.ok]


def test_three_looks_must_agree_and_not_all_in_one_moment():
    world = left()
    never(world, 330, 30)
    looks = 0
    while world.look(5).move is None:
        looks += 1
    assert looks * 5 >= 60


def test_the_way_back_stays_for_its_time():
    world = left(judged_by=PATIENT)
    made = never(world, HOUR - 120)
    assert "it is the way back" in v1(made).reason
    assert world.passes(300).verdict is Verdict.PARK


def test_what_was_rejected_is_no_way_back():
    place = stored(entry("v1", Phase.REJECTED), entry("v2", Phase.ACTIVE, 100))
    assert left(place, PATIENT).passes(900).verdict is Verdict.PARK


def test_nothing_goes_where_people_said_so():
    world = left(judged_by=rules(decommission={**SHORT, "automatic": False}))
    made = never(world, HOUR)
    assert "it could go: retire shop/users v1 --env prod" in v1(made).reason


# -- somebody calls ------------------------------------------------------------------------------


def test_a_request_starts_the_time_anew():
    world = left()
    never(world, 360)
    world.serving["v1"].counts["exact"] += 1
    made = world.look()
    assert "counted requests" in v1(made).reason
    clock = world.clock.of("v1", "d-v1")
    assert not clock.quiet and not clock.passes and clock.pinned == world.now


def test_who_was_called_by_name_is_kept_for_long():
    world = left()
    never(world, 120)
    world.serving["v1"].counts["exact"] += 1
    made = never(world, IDLE - HOUR, 120)
    assert "it was called by name" in v1(made).reason
    assert world.passes(2 * HOUR, 120).verdict is Verdict.PARK


def test_a_call_by_name_while_nobody_looked_is_found_in_the_counters():
    world = left()
    never(world, 120)
    world.wait(300)
    world.serving["v1"].counts["exact"] += 1
    world.wait(HOUR)
    never(world, 900)
    assert world.clock.of("v1", "d-v1").pinned > START


@pytest.mark.parametrize("frozen", [True, False])
def test_a_call_by_name_while_it_was_held_is_remembered(frozen):
    world = left()
    place = world.place
    never(world, 60, 30)
    if frozen:
        world.bend = with_live(frozen="ada looks at something")
    else:
        world.becomes(replace(place, ledger=replace(place.ledger, hold="lunch")))
    never(world, 120)
    world.serving["v1"].counts["exact"] += 1
    never(world, 600)
    world.bend = lambda seen: seen
    world.becomes(place)
    assert "it was called by name" in v1(never(world, HOUR)).reason


def test_requests_that_were_open_when_it_lost_its_weight_may_end():
    world = left()
    world.say("v1", open=2)
    never(world, 60, 30)
    assert world.clock.of("v1", "d-v1").owed == 4
    world.say("v1", open=0)
    world.serving["v1"].counts["exact"] += 4
    never(world, 90, 30)
    assert not world.clock.of("v1", "d-v1").pinned
    assert world.passes(900).verdict is Verdict.PARK


def test_a_long_request_keeps_its_pod():
    world = left().say("v1", open=1)
    made = never(world, 25 * HOUR, 300)
    assert "requests in progress" in v1(made).reason
    assert "a person should look: retire shop/users v1" in v1(made).reason


def test_the_gateway_alone_may_have_seen_a_call():
    def called(told):
        last = told.edge.up[0].times
        more = Series((("code", "200"), ("instance", "gateway-0")), last[-2:], (1.0, 2.0))
        series = tuple(s for s in told.edge.requests if s.labels != more.labels)
        return replace(told, edge=replace(told.edge, requests=(*series, more)))

    world = left()
    never(world, 300)
    world.bend = with_telemetry("v1", called)
    assert "the gateway counted requests" in v1(never(world, HOUR)).reason


def test_a_gateway_whose_first_sample_is_that_of_the_window_is_not_new(monkeypatch):
    """A look that goes back no further than it must begins with the first sample."""
    monkeypatch.setattr("tests.decide.worlds.SPAN", 360.0)
    assert left().passes(HOUR).verdict is Verdict.PARK


def test_a_gateway_pod_that_is_new_and_has_counted_has_been_called():
    def new(told):
        up = told.edge.up[0]
        gateway = (("instance", "gateway-1"),)
        young = Series(gateway, up.times[-6:], (1.0,) * 6)
        count = Series((("code", "200"), *gateway), up.times[-6:], (1.0,) * 6)
        return replace(
            told,
            edge=replace(told.edge, up=(up, young), requests=(*told.edge.requests, count)),
        )

    world = left()
    world.bend = with_telemetry("v1", new)
    assert "the gateway counted requests" in v1(never(world, HOUR)).reason


def test_open_requests_at_the_gateway_count():
    world = left()
    world.bend = with_telemetry(
        "v1",
        lambda told: replace(
            told, edge=replace(told.edge, active=(replace(told.edge.up[0], labels=()),))
        ),
    )
    assert "the gateway has requests" in v1(never(world, HOUR)).reason


def test_mirrored_requests_are_calls():
    def mirrored(told):
        def changed(pod):
            series = pod.requests[0]
            labels = tuple(sorted((*series.labels, ("mirrored", "true"))))
            values = tuple(float(n) for n in range(1, len(series.times) + 1))
            return replace(pod, requests=(*pod.requests, Series(labels, series.times, values)))

        return replace(told, pods={name: changed(pod) for name, pod in told.pods.items()})

    world = left()
    world.bend = with_telemetry("v1", mirrored)
    assert "counted requests" in v1(never(world, HOUR)).reason


# -- it cannot be seen ---------------------------------------------------------------------------


def first_pod(change):
    """Something else of one pod of v1."""

    def bent(told):
        name = min(told.pods)
        return replace(told, pods={**told.pods, name: change(told.pods[name])})

    return with_telemetry("v1", bent)


def cut(series, **changes):
    return replace(series, **changes)


GAPS = {
    "no metrics": blind(),
    "no metrics of it": with_telemetry("v1", lambda _: Missing(Gap.NO_DATA, "nothing came")),
    "a short look": with_telemetry(
        "v1", lambda told: replace(told, window=replace(told.window, span=300.0))
    ),
    "a pod that is not scraped": first_pod(lambda pod: replace(pod, up=None)),
    "a pod that is not measured at all": with_telemetry(
        "v1", lambda told: replace(told, pods=dict(list(told.pods.items())[1:]))
    ),
    "a scrape that failed": first_pod(
        lambda pod: replace(pod, up=cut(pod.up, values=(*pod.up.values[:-5], 0.0, *pod.up.values[-4:])))
    ),
    "a hole": first_pod(
        lambda pod: replace(
            pod,
            up=cut(
                pod.up,
                times=(*pod.up.times[:-8], *pod.up.times[-4:]),
                values=(*pod.up.values[:-8], *pod.up.values[-4:]),
            ),
        )
    ),
    "a counter that is no number": first_pod(
        lambda pod: replace(
            pod,
            requests=tuple(cut(s, values=(*s.values[:-1], float("nan"))) for s in pod.requests),
        )
    ),
    "a counter that vanished": first_pod(
        lambda pod: replace(
            pod,
            requests=tuple(cut(s, times=s.times[:-4], values=s.values[:-4]) for s in pod.requests),
        )
    ),
    "a counter that is there twice": first_pod(
        lambda pod: replace(pod, requests=pod.requests * 2)
    ),
    "gauges that all vanished": with_telemetry(
        "v1",
        lambda told: replace(
            told,
            pods={name: replace(pod, in_flight=None) for name, pod in told.pods.items()},
            gauged=True,
        ),
    ),
    "a gauge that vanished": first_pod(lambda pod: replace(pod, in_flight=None)),
    "a gauge below nothing": first_pod(
        lambda pod: replace(
            pod, in_flight=cut(pod.in_flight, values=tuple(-1.0 for _ in pod.in_flight.values))
        )
    ),
    "a gauge that is no number": first_pod(
        lambda pod: replace(
            pod,
            in_flight=cut(pod.in_flight, values=tuple(float("nan") for _ in pod.in_flight.values)),
        )
    ),
    "a gateway that cannot be read": with_telemetry(
        "v1", lambda told: replace(told, edge=Missing(Gap.ERROR, "timed out"))
    ),
    "a gateway that is not scraped": with_telemetry(
        "v1", lambda told: replace(told, edge=replace(told.edge, up=()))
    ),
    "a gateway whose scrape failed": with_telemetry(
        "v1",
        lambda told: replace(
            told,
            edge=replace(
                told.edge,
                up=tuple(cut(u, values=(*u.values[:-3], 0.0, 1.0, 1.0)) for u in told.edge.up),
            ),
        ),
    ),
    "a pod of the gateway that went": with_telemetry(
        "v1",
        lambda told: replace(
            told,
            edge=replace(
                told.edge,
                up=(
                    *told.edge.up,
                    Series((("instance", "gateway-1"),), told.edge.up[0].times[:-5], told.edge.up[0].values[:-5]),
                ),
            ),
        ),
    ),
    "another route": with_live(route=LiveRoute({name_of("v1"): 1, name_of("v2"): 99}, current=True)),
    "a route that is not programmed": with_live(
        route=LiveRoute({name_of("v2"): 100}, current=False)
    ),
    "no Deployment": with_workload("v1", gone=True),
    "a pod that is not ready": with_workload("v1", ready=1),
    "a Deployment that is being changed": with_workload("v1", settled=False),
    "an old look at the cluster": late(120),
    "a cluster that cannot be seen": unseen(),
    "references that are not known": with_live(references=Missing(Gap.ERROR, "403")),
    "a route elsewhere": with_live(references={name_of("v1"): ("Ingress other/legacy",)}),
    "a successor that is not ready": with_workload("v2", ready=1),
}  # fmt: skip


@pytest.mark.parametrize("gap", GAPS)
def test_nothing_goes_on_evidence_with_a_gap(gap):
    world = left()
    never(world, 240)
    world.bend = GAPS[gap]
    never(world, HOUR)
    world.bend = lambda seen: seen
    assert world.passes(900).verdict is Verdict.PARK, "without it, it goes"


@pytest.mark.parametrize("gap", GAPS)
def test_a_gap_in_one_look_makes_it_count_for_nothing(gap):
    world = left()
    while world.clock.of("v1", "d-v1").passes < 2:
        world.look()
    fair = world.bend
    world.bend = GAPS[gap]
    assert world.look().move is None
    world.bend = fair
    for _ in range(2):
        assert world.look().move is None


def test_a_pod_that_came_lately_may_have_answered_somebody():
    world = left()
    never(world, 240)
    world.say("v1", created=world.now - 10)
    made = never(world, 330, 30)
    assert "began" in v1(made).reason


def test_a_pod_that_is_stuck_on_its_way_out_is_there():
    world = left()
    extra = Pod("old", terminating=True, created=START - DAY)

    def stuck(seen):
        pods = (*seen.live.workloads[name_of("v1")].pods, extra)
        return with_workload("v1", pods=pods)(seen)

    world.bend = stuck
    assert "it has 3 pods" in v1(never(world, HOUR)).reason


def test_a_pod_that_was_there_until_a_moment_ago_is_known_by_its_samples():
    world = left()

    def gone(told):
        pod = next(iter(told.pods.values()))
        return replace(told, pods={**told.pods, "gone": pod})

    world.bend = with_telemetry("v1", gone)
    assert "gone was there until a moment ago" in v1(never(world, HOUR)).reason


def test_a_counter_that_began_again_and_counts_is_a_call():
    world = left()
    never(world, 300)
    world.serving["v1"].counts["exact"] = 3.0
    made = world.look()
    assert "counted requests" in v1(made).reason


# -- positive control ----------------------------------------------------------------------------


def unnamed(*ids):
    """Counters under another name: nothing of theirs arrives."""

    def bent(seen):
        for id in ids:
            seen = with_telemetry(
                id,
                lambda told: replace(
                    told,
                    pods={n: replace(p, requests=(), faster=()) for n, p in told.pods.items()},
                    edge=replace(told.edge, requests=()),
                ),
            )(seen)
        return seen

    return bent


def test_silence_of_everybody_is_a_broken_pipe():
    world = left()
    world.bend = unnamed("v1", "v2")
    made = never(world, HOUR)
    assert "no counter of it or of v2 was seen to move" in v1(made).reason


def test_silence_beside_a_voice_is_silence():
    world = left()
    world.bend = unnamed("v1")
    assert world.passes(HOUR).verdict is Verdict.PARK


def test_counters_that_have_counted_prove_their_names_without_traffic():
    world = left().traffic(v2=0)
    assert world.passes(HOUR).verdict is Verdict.PARK


def test_a_gateway_that_never_counted_proves_nothing():
    world = left().traffic(v2=0)

    def bent(told):
        return replace(told, edge=replace(told.edge, requests=()))

    world.bend = with_telemetry("v1", bent)
    made = never(world, HOUR)
    assert "the gateway counted nothing of it or of v2" in v1(made).reason


def test_a_standby_lets_go_what_those_with_traffic_have_let_go():
    place = draining()
    world = World(canary(50), RULES)
    world.around = Around(standby=True)
    for _ in range(3):
        world.look()
    world.becomes(place)
    assert "seen to move" in v1(never(world, HOUR)).reason
    world.around = Around(standby=True, left=frozenset([("v1", "d-v1")]))
    assert world.passes(900).verdict is Verdict.PARK


# -- what only a person can know -----------------------------------------------------------------


def test_without_a_counter_at_the_gateway_a_person_must():
    world = left()
    world.bend = with_telemetry(
        "v1", lambda told: replace(told, edge=Missing(Gap.UNSUPPORTED, "ingress-nginx has none"))
    )
    made = never(world, HOUR)
    assert v1(made).verdict is Verdict.WAIT
    assert "only a person can say" in v1(made).reason
    assert "retire shop/users v1 --env prod" in v1(made).reason


def test_without_any_metrics_a_person_must():
    world = left()
    world.bend = blind(Gap.UNSUPPORTED, "no metric source is configured")
    made = never(world, HOUR)
    assert v1(made).verdict is Verdict.WAIT
    assert "only a person can say" in v1(made).reason


def test_without_requests_in_progress_a_person_must():
    def untold(told):
        pods = {n: replace(p, in_flight=None) for n, p in told.pods.items()}
        missing = Missing(Gap.UNSUPPORTED, "nothing counts them")
        return replace(told, pods=pods, edge=replace(told.edge, active=missing))

    world = left()
    world.bend = with_telemetry("v1", untold)
    assert "only a person can say" in v1(never(world, HOUR)).reason


def test_the_gateways_word_on_requests_in_progress_is_enough():
    world = left()
    world.bend = with_telemetry(
        "v1",
        lambda told: replace(
            told, pods={n: replace(p, in_flight=None) for n, p in told.pods.items()}
        ),
    )
    assert world.passes(HOUR).verdict is Verdict.PARK


def test_so_is_the_pods_own():
    world = left()
    world.bend = with_telemetry(
        "v1",
        lambda told: replace(
            told, edge=replace(told.edge, active=Missing(Gap.UNSUPPORTED, "not by version"))
        ),
    )
    assert world.passes(HOUR).verdict is Verdict.PARK


# -- something needs it --------------------------------------------------------------------------


def test_who_is_named_by_another_unit_stays():
    world = left(callers={"v1": ("shop/cart",)})
    assert "shop/cart names it" in v1(never(world, HOUR)).reason


def test_who_is_in_the_specs_stays_for_as_long_as_if_it_had_been_named():
    place = draining()
    versions = tuple(replace(v, gone=False) for v in place.plan.versions)
    world = left(replace(place, plan=replace(place.plan, versions=versions)))
    assert "the specs have it" in v1(never(world, IDLE - HOUR, 120)).reason
    assert world.passes(2 * HOUR, 120).verdict is Verdict.PARK


def test_a_successor_that_was_rejected_elsewhere_keeps_the_way_back():
    world = left(judged={("v2", "d-v2"): "prod/west"})
    assert "v2 was rejected in prod/west" in v1(never(world, HOUR)).reason


def test_what_is_being_returned_to_is_not_taken_away():
    place = stored(
        entry("v1", Phase.DRAINING),
        entry("v2", Phase.ACTIVE, 100, rejected=True),
        entry("v0", Phase.STARTING),
        target="v0",
    )
    world = left(place)
    world.say("v0", ready=0)
    assert "v2 is being left" in v1(never(world, HOUR)).reason


# -- no pods -------------------------------------------------------------------------------------


def asleep(**settings):
    place = draining()
    scaling = Scaling("keda", min=0, max=4)
    versions = tuple(planned(v.id, gone=v.gone, scaling=scaling) for v in place.plan.versions)
    return left(replace(place, plan=replace(place.plan, versions=versions)))


def test_what_sleeps_goes_by_the_gateways_word():
    world = asleep()
    never(world, 240)
    world.say("v1", pods=0)
    made = never(world, 240)
    assert "nothing of it takes requests for" in v1(made).reason
    assert world.passes(400).verdict is Verdict.PARK


def test_sleep_is_never_inferred_from_absent_series():
    world = asleep()

    def vanished(told):
        return replace(told, pods={})

    world.bend = with_telemetry("v1", vanished)
    assert "is not scraped" in v1(never(world, HOUR)).reason


def test_waking_up_starts_the_time_anew():
    world = asleep()
    world.say("v1", pods=0)
    never(world, 270, 30)
    world.say("v1", pods=1, created=world.now)
    world.look()
    world.say("v1", pods=0)
    never(world, 270, 30)


def test_what_sleeps_behind_a_gateway_that_does_not_count_open_requests_waits_for_a_person():
    world = asleep().say("v1", pods=0)
    world.bend = with_telemetry(
        "v1",
        lambda told: replace(
            told, edge=replace(told.edge, active=Missing(Gap.UNSUPPORTED, "not by version"))
        ),
    )
    assert "only a person can say" in v1(never(world, HOUR)).reason


def test_addresses_without_pods_are_still_there():
    world = asleep().say("v1", pods=0)
    world.bend = with_workload("v1", endpoints=1)
    never(world, HOUR)


def test_a_broken_version_that_was_rejected_goes_though_its_pods_never_stand_still():
    place = stored(entry("v1", Phase.REJECTED), entry("v2", Phase.ACTIVE, 100))
    world = left(place)
    pods = (Pod("p", waiting="CrashLoopBackOff", restarts=9, restarted=2e9),)
    world.bend = with_workload("v1", pods=pods, ready=0, endpoints=0, ready_endpoints=0)
    assert world.passes(900).verdict is Verdict.PARK


def test_a_broken_version_that_nobody_rejected_stays():
    world = left()
    pods = (Pod("p", waiting="CrashLoopBackOff", restarts=9, restarted=2e9),)
    world.bend = with_workload("v1", pods=pods, ready=0, endpoints=0, ready_endpoints=0)
    assert "0 of 2 pods are ready" in v1(never(world, HOUR)).reason


# -- parked --------------------------------------------------------------------------------------


def parked(judged_by=RULES, **fields):
    place = stored(entry("v1", Phase.PARKED, **fields), entry("v2", Phase.ACTIVE, 100))
    world = left(judged_by=judged_by)
    never(world, 120)
    world.becomes(place)
    return world


def test_what_nobody_called_while_it_was_parked_is_removed():
    world = parked()
    never(world, PARKED - 300)
    made = world.passes(900)
    assert made.verdict is Verdict.REMOVE and made.move.version == "v1"


def test_a_call_brings_it_back_at_any_time():
    world = parked()
    never(world, HOUR)
    world.serving["v1"].counts["exact"] += 1
    world.serving["v1"].counts["wrong"] += 1
    made = world.look()
    assert made.verdict is Verdict.REVIVE and made.move.version == "v1"
    assert world.clock.of("v1", "d-v1").pinned == world.now


def test_a_call_brings_it_back_in_a_window_too():
    world = parked()
    never(world, HOUR)
    world.around = Around(frozen="holidays")
    world.serving["v1"].counts["exact"] += 1
    assert world.look().verdict is Verdict.REVIVE


def test_what_is_revived_is_kept_for_long():
    world = parked()
    never(world, HOUR)
    world.serving["v1"].counts["exact"] += 1
    world.look()
    world.becomes(draining()).say("v1", pods=2, created=world.now)
    assert "called by name" in v1(never(world, 2 * HOUR, 120)).reason


@pytest.mark.parametrize(
    "gap",
    [
        "a gateway that cannot be read",
        "a gateway that is not scraped",
        "a gateway whose scrape failed",
        "a pod of the gateway that went",
    ],
)
def test_a_moment_unseen_starts_the_time_anew_again(gap):
    world = parked()
    never(world, PARKED - HOUR)
    world.bend = GAPS[gap]
    world.look()
    world.bend = lambda seen: seen
    never(world, PARKED - HOUR)
    assert world.passes(2 * HOUR).verdict is Verdict.REMOVE


def test_metrics_that_were_away_for_long_start_the_time_anew():
    world = parked()
    never(world, PARKED - HOUR)
    world.bend = blind()
    never(world, 600)
    world.bend = lambda seen: seen
    never(world, PARKED - HOUR)


def test_metrics_that_were_away_for_a_moment_do_not():
    world = parked()
    never(world, PARKED - HOUR)
    world.bend = blind()
    never(world, 120)
    world.bend = lambda seen: seen
    assert world.passes(2 * HOUR).verdict is Verdict.REMOVE


def test_a_rollout_beside_it_does_not_start_the_time_anew():
    world = parked()
    never(world, PARKED - HOUR)
    world.becomes(
        stored(
            entry("v1", Phase.PARKED), entry("v2", Phase.ACTIVE, 90), entry("v3", Phase.CANARY, 10)
        )
    ).traffic(v2=54, v3=0)
    for _ in range(100):
        made = world.look(60)
        if made.verdict is Verdict.REMOVE:
            break
    assert made.verdict is Verdict.REMOVE


def test_what_has_pods_is_not_parked_yet():
    world = parked()
    world.say("v1", pods=1)
    made = never(world, 25 * HOUR, 300)
    assert "does not show it" in v1(made).reason or "still there" in v1(made).reason


def test_what_the_specs_have_stays_parked():
    place = stored(entry("v1", Phase.PARKED), entry("v2", Phase.ACTIVE, 100))
    versions = tuple(replace(v, gone=False) for v in place.plan.versions)
    world = left()
    world.becomes(replace(place, plan=replace(place.plan, versions=versions)))
    assert "the specs still have it" in v1(never(world, 2 * PARKED, 120)).reason


def test_what_is_referred_to_stays_parked():
    world = parked()
    world.bend = with_live(references={name_of("v1"): ("HTTPRoute other/old",)})
    assert "HTTPRoute other/old" in v1(never(world, 2 * PARKED, 120)).reason


def test_without_a_counter_at_the_gateway_parked_is_for_ever():
    world = parked()
    world.bend = GAPS_NEVER
    assert "only a person can say" in v1(never(world, 2 * PARKED, 120)).reason


GAPS_NEVER = with_telemetry(
    "v1", lambda told: replace(told, edge=Missing(Gap.UNSUPPORTED, "it has none"))
)


# -- tombstones ----------------------------------------------------------------------------------


def buried(**fields):
    return World(stored(entry("v1", Phase.REMOVED, **fields), entry("v2", Phase.ACTIVE, 100)))


def test_a_name_is_free_after_thirty_days():
    world = buried()
    never(world, 30 * DAY - HOUR, 6 * HOUR)
    made = world.passes(2 * DAY, HOUR)
    assert made.verdict is Verdict.REMOVE and made.move.version == "v1"


@pytest.mark.parametrize("fields", [{"rejected": True}, {"revoked": ("older",)}])
def test_what_was_judged_bad_is_never_forgotten(fields):
    never(buried(**fields), 60 * DAY, 6 * HOUR)


# -- the whole unit ------------------------------------------------------------------------------


def retiring(phase=Phase.ACTIVE, weight=100):
    place = stored(entry("v1", phase, weight), retiring=True)
    versions = tuple(replace(v, gone=True) for v in place.plan.versions)
    return replace(place, plan=replace(place.plan, versions=versions))


def retired():
    world = World(stored(entry("v1", Phase.ACTIVE, 100)), RULES).traffic(v1=30)
    for _ in range(3):
        world.look()
    return world.becomes(retiring())


def test_a_unit_serves_until_nobody_calls():
    world = retired()
    assert "counted requests" in v1(never(world, HOUR)).reason
    world.traffic(v1=0)
    made = world.passes(IDLE + HOUR, 120)
    assert made.verdict is Verdict.PARK
    world.becomes(retiring(Phase.PARKED, 0))
    never(world, PARKED - HOUR)
    made = world.passes(2 * HOUR)
    assert made.verdict is Verdict.RETIRE and made.move.version == ""


def test_a_unit_that_nobody_called_since_goes_after_the_grace():
    world = retired().traffic(v1=0)
    assert world.passes(900).verdict is Verdict.PARK


def test_a_unit_that_never_counted_is_for_a_person():
    world = World(stored(entry("v1", Phase.ACTIVE, 100)), RULES)
    world.look()
    world.becomes(retiring())
    made = never(world, 25 * HOUR, 300)
    assert "never seen to count" in v1(made).reason and "retire shop/users" in v1(made).reason


def test_a_unit_that_is_called_while_parked_comes_back():
    world = retired().traffic(v1=0)
    world.passes(900)
    world.becomes(retiring(Phase.PARKED, 0))
    never(world, HOUR)
    world.serving["v1"].counts["exact"] += 1
    assert world.look().verdict is Verdict.REVIVE


def test_a_unit_goes_only_when_all_of_it_may():
    place = stored(entry("v1", Phase.PARKED), entry("v2", Phase.ACTIVE, 100), retiring=True)
    versions = tuple(replace(v, gone=True) for v in place.plan.versions)
    world = left()
    never(world, 60)
    world.becomes(replace(place, plan=replace(place.plan, versions=versions)))
    never(world, 2 * PARKED, 120)


# -- clocks --------------------------------------------------------------------------------------


def test_whoever_loses_the_clocks_takes_what_leaves_for_named():
    world = left()
    never(world, 240)
    world.clock = UnitClock()
    made = never(world, IDLE - HOUR, 120)
    assert "called by name" in v1(made).reason


def test_a_call_right_after_the_clocks_were_lost_is_one_by_name():
    world = left()
    never(world, 480 - 60)
    world.clock = UnitClock()
    never(world, 30, 30)
    world.serving["v1"].counts["exact"] += 1
    called = world.now
    never(world, 30, 30)
    assert world.clock.of("v1", "d-v1").pinned > called


def test_a_look_long_ago_is_no_look_in_a_row():
    world = left()
    while world.clock.of("v1", "d-v1").passes < 2:
        world.look()
    world.wait(HOUR)
    assert world.look().move is None
    assert world.clock.of("v1", "d-v1").passes == 1
