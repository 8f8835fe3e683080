"""What seldom happens, and must come out right all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gati_gitops.decide.around import Around
from gati_gitops.decide.decide import decide
from gati_gitops.decide.observation import Gap, Missing, Sent, Series
from gati_gitops.decide.rules import rules_from
from gati_gitops.decide.verdict import Verdict
from gati_gitops.decide.words import joined, percent, some, span
from gati_gitops.errors import Refused
from gati_gitops.ledger.model import Ledger, Phase
from gati_gitops.plan.model import Scaling
from tests.decide.test_leaving import HOUR, RULES, left, never, v1
from tests.decide.worlds import (
    World,
    canary,
    draining,
    entry,
    name_of,
    planned,
    rules,
    stored,
    with_live,
    with_telemetry,
    with_workload,
)


def asleep(world):
    scaling = Scaling("keda", min=0, max=4)
    versions = tuple(replace(v, scaling=scaling) for v in world.place.plan.versions)
    world.place = replace(world.place, plan=replace(world.place.plan, versions=versions))
    return world


# -- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "0s"), (0, "0s"), (59.9, "59s"), (60, "1m"), (372, "6m12s"), (3600, "1h"),
        (3900, "1h05m"), (86400, "1d"), (7 * 86400 + 7200, "7d02h"),
    ],
)  # fmt: skip
def test_spans_are_told_with_two_numbers(seconds, said):
    assert span(seconds) == said


@pytest.mark.parametrize(
    ("share", "said"),
    [(0, "0 %"), (0.01, "1 %"), (0.001, "0.1 %"), (0.00012, "0.01 %"), (0.5, "50 %"), (1, "100 %")],
)
def test_shares_are_told_with_as_many_digits_as_they_need(share, said):
    assert percent(share) == said


def test_names_and_numbers():
    assert some(1, "pod") == "1 pod" and some(2, "pod") == "2 pods"
    assert some(2, "address") == "2 addresses"
    assert joined(("a", "b", "c", "d", "e")) == "a, b, c and 2 more"


# -- rules ---------------------------------------------------------------------------------------


def test_rules_have_the_defaults_of_the_settings():
    found = rules_from({}, "prod")
    assert found.strategy == "manual" and found.steps == (100,)
    assert rules().steps == (10, 50, 100)
    assert (found.min_requests, found.max_errors, found.latency) == (300, 0.01, 0.5)
    assert (found.grace, found.passes, found.idle_for) == (300, 3, 7 * 86400)
    assert found.synthetic == 0


def test_enough_requests_follow_from_the_strictest_share():
    assert rules(analysis={"successPercent": 99.9}).min_requests == 3000
    assert rules(analysis={"latencyPercent": 95, "successPercent": 98}).min_requests == 150
    assert rules(analysis={"minRequests": 20}).min_requests == 20


def test_settings_of_a_newer_version_are_refused():
    with pytest.raises(Refused, match=r"overlays/prod/project.yaml .* rollout|strategy"):
        rules_from({"rollout": {"strategy": "by-mood"}}, "prod")


# -- versions that come --------------------------------------------------------------------------


def test_a_version_that_is_alone_gets_everything():
    world = World(stored(entry("v1", Phase.STARTING)))
    assert world.look().verdict is Verdict.ACTIVATE


def test_a_version_that_is_alone_and_fails_is_for_a_person():
    world = World(stored(entry("v1", Phase.STARTING))).say("v1", ready=0)
    world.bend = with_workload("v1", stalled="ProgressDeadlineExceeded")
    made = world.passes(180)
    assert made.move is None and "a person must look" in made.reason


def test_a_share_beside_the_target_is_judged_only_where_versions_are():
    place = stored(entry("v1", Phase.ACTIVE, 90), entry("v0", Phase.CANARY, 10), target="v1")
    direct = World(place, rules("direct")).traffic(v1=50, v0=5).say("v0", failing=0.9)
    assert all(direct.look().verdict is Verdict.STEADY for _ in range(10))
    crashing = World(place).say("v0", ready=1, waiting="CrashLoopBackOff")
    assert crashing.passes(300).verdict is Verdict.ROLLBACK
    hidden = World(place)
    hidden.bend = with_live(route=None)
    assert hidden.look().findings[0].verdict is Verdict.WAIT


def test_a_few_of_our_own_requests_that_fail_are_no_proof():
    asked = {"synthetic": {"url": "https://g.example", "requests": 100}}
    world = World(canary(0), rules(analysis=asked)).traffic(v1=60)
    world.look()
    world.sent["v2"] = [
        Sent(world.now + 1 + n / 10, 500 if n < 2 else 200, 0.1) for n in range(100)
    ]
    made = [world.look() for _ in range(4)][-1]
    assert made.move is None and "2 of 100 requests of our own failed" in made.reason


def test_a_sleeping_version_is_woken_under_manual_too():
    place = stored(entry("v1", Phase.ACTIVE, 100), entry("v2", Phase.STARTING))
    versions = tuple(planned(v.id, weight=50) for v in place.plan.versions)
    world = World(replace(place, plan=replace(place.plan, versions=versions)), rules("manual"))
    made = asleep(world).say("v2", pods=0).look()
    assert made.verdict is Verdict.PREPARE and made.move.version == "v2"


def test_what_was_rejected_elsewhere_gets_no_weight_under_manual():
    place = stored(entry("v1", Phase.ACTIVE, 100), entry("v2", Phase.STARTING))
    versions = tuple(planned(v.id, weight=50) for v in place.plan.versions)
    world = World(replace(place, plan=replace(place.plan, versions=versions)), rules("manual"))
    world.around = Around(judged={("v2", "d-v2"): "prod/west"})
    assert "v2 was rejected in prod/west" in world.look().reason
    world.around = Around(cannot_write="no token")
    assert world.look().verdict is Verdict.FROZEN


def test_a_version_that_a_rollback_waits_for_is_woken():
    place = stored(
        entry("v1", Phase.STARTING), entry("v2", Phase.ACTIVE, 100, rejected=True), target="v1"
    )
    world = asleep(World(place).traffic(v2=60)).say("v1", pods=0)
    world.around = Around(frozen="holidays")
    made = world.look()
    assert made.verdict is Verdict.PREPARE and made.move.version == "v1"


def test_a_version_that_waits_and_is_not_stored_stays():
    place = stored(entry("v1", Phase.ACTIVE, 100), entry("v2", Phase.PENDING), wants="v2")
    versions = tuple(v for v in place.plan.versions if v.id == "v1")
    world = World(replace(place, plan=replace(place.plan, versions=versions)))
    assert "how it runs is not stored" in world.look().findings[1].reason


def test_a_unit_without_versions_is_steady():
    world = World(canary(10))
    place = replace(world.place, ledger=Ledger(seq=1))
    made, _ = decide(world.rules, place, world.seen(), world.clock, world.now, world.around)
    assert made.verdict is Verdict.STEADY


# -- versions that go ----------------------------------------------------------------------------


def test_a_successor_that_may_sleep_serves():
    world = asleep(left())
    world.traffic(v2=0).say("v2", pods=0)
    assert world.passes(HOUR).verdict is Verdict.PARK


def test_without_a_successor_nothing_goes():
    place = stored(entry("v1", Phase.DRAINING), target="v1")
    world = World(canary(50), RULES).traffic(v1=30, v2=30)
    for _ in range(3):
        world.look()
    world.becomes(place).traffic(v1=0)
    assert "no other version serves" in str(never(world, HOUR).findings[0])


def edge(change):
    return with_telemetry("v1", lambda told: replace(told, edge=change(told.edge)))


def second(series):
    """The same of another pod of the gateway."""
    labels = tuple((k, "gateway-1") if k == "instance" else (k, v) for k, v in series.labels)
    return replace(series, labels=labels)


def test_a_second_pod_of_the_gateway_that_tells_all_is_believed():
    world = left()
    world.bend = edge(
        lambda e: replace(
            e,
            requests=(*e.requests, *map(second, e.requests)),
            active=(*e.active, *map(second, e.active)),
            up=(*e.up, *map(second, e.up)),
        )
    )
    assert world.passes(HOUR).verdict is Verdict.PARK


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            edge(lambda e: replace(e, requests=tuple(replace(s, times=s.times[:-4], values=s.values[:-4]) for s in e.requests))),
            "a counter of the gateway",
        ),
        (
            edge(lambda e: replace(e, active=tuple(replace(s, times=s.times[:-4], values=s.values[:-4]) for s in e.active))),
            "open requests at the gateway",
        ),
        (
            edge(lambda e: replace(e, active=tuple(replace(s, values=tuple(-1.0 for _ in s.values)) for s in e.active))),
            "cannot be",
        ),
        (
            with_telemetry("v1", lambda t: replace(t, pods={n: replace(p, in_flight=replace(p.in_flight, times=p.in_flight.times[:-4], values=p.in_flight.values[:-4])) for n, p in t.pods.items()})),
            "requests in progress: its newest sample",
        ),
        (
            with_telemetry("v1", lambda t: replace(t, pods={n: replace(p, in_flight=None) for n, p in t.pods.items()}, edge=replace(t.edge, active=Missing(Gap.NO_DATA, "not shown")))),
            "requests in progress at the gateway: no data",
        ),
        (
            edge(lambda e: replace(e, requests=tuple(replace(s, times=s.times[:-1], values=s.values[:-1]) for s in e.requests))),
            "a counter of the gateway: it was not there at the last scrape",
        ),
        (
            with_telemetry("v1", lambda t: replace(t, pods={n: replace(p, requests=tuple(replace(s, times=s.times[:-1], values=s.values[:-1]) for s in p.requests)) for n, p in t.pods.items()})),
            "a counter of it: it was not there at the last scrape",
        ),
        (
            with_telemetry("v1", lambda t: replace(t, pods={n: replace(p, in_flight=None) for n, p in t.pods.items()}, edge=replace(t.edge, requests=(*t.edge.requests, *map(second, t.edge.requests)), up=(*t.edge.up, *map(second, t.edge.up))))),
            "gateway-1 of the gateway does not tell its open requests",
        ),
    ],
)  # fmt: skip
def test_gauges_and_counters_of_the_gateway_must_be_whole(fault, says):
    world = left()
    never(world, 240)
    world.bend = fault
    assert says in v1(never(world, HOUR)).reason


def test_one_witness_may_be_away_while_the_other_began_anew():
    """What both lost somebody may have used; what one can still tell decides later."""
    world = left()
    never(world, 180)
    world.say("v1", created=world.now)
    world.bend = edge(lambda _: Missing(Gap.STALE, "old"))
    never(world, 120)
    assert not world.clock.of("v1", "d-v1").pinned
    world.bend = lambda seen: seen
    never(world, 120)
    assert not world.clock.of("v1", "d-v1").pinned, "the gateway saw nobody"


def test_when_both_witnesses_began_anew_somebody_may_have_come():
    world = left()
    never(world, 180)
    world.say("v1", created=world.now)

    def fell(e):
        return replace(
            e, requests=tuple(replace(s, values=tuple(0.0 for _ in s.values)) for s in e.requests)
        )

    world.bend = edge(fell)
    never(world, 120)
    assert world.clock.of("v1", "d-v1").pinned


def test_a_parked_version_that_could_go_waits_for_people_who_want_that():
    judged_by = rules(decommission={"rollbackFor": "1s", "parkFor": "10m", "automatic": False})
    world = left(judged_by=judged_by)
    never(world, 600)
    world.becomes(stored(entry("v1", Phase.PARKED), entry("v2", Phase.ACTIVE, 100)))
    assert "a person may remove it" in v1(never(world, 2 * HOUR)).reason


def test_a_name_that_the_specs_use_is_not_free():
    place = stored(entry("v1", Phase.REMOVED), entry("v2", Phase.ACTIVE, 100))
    versions = tuple(replace(v, gone=False) for v in place.plan.versions)
    world = World(replace(place, plan=replace(place.plan, versions=versions)))
    assert "the specs have it" in v1(never(world, 40 * 86400, 86400)).reason


def test_a_canary_in_a_unit_that_retires_drains_like_the_rest():
    place = stored(entry("v1", Phase.ACTIVE, 50), entry("v2", Phase.CANARY, 50), retiring=True)
    versions = tuple(replace(v, gone=True) for v in place.plan.versions)
    world = World(canary(50), RULES).traffic(v1=30, v2=30)
    for _ in range(3):
        world.look()
    world.becomes(replace(place, plan=replace(place.plan, versions=versions))).traffic(v1=0, v2=0)
    made = world.passes(HOUR)
    assert made.verdict is Verdict.PARK
    world.acts(made)
    assert sum(e.weight for e in world.ledger.entries) == 100


def test_a_series_that_begins_after_the_time_counts_nothing_yet():
    world = World(canary(10)).traffic(v1=54, v2=6)

    def later(told):
        name = min(told.pods)
        pod = told.pods[name]
        late = Series((("status_code", "418"),), (told.window.at,), (5.0,))
        up = replace(pod.up, times=pod.up.times[:-1], values=pod.up.values[:-1])
        return replace(
            told, pods={**told.pods, name: replace(pod, up=up, requests=(*pod.requests, late))}
        )

    world.bend = with_telemetry("v2", later)
    assert world.passes(900).verdict is Verdict.ADVANCE


def test_names_of_versions_are_those_of_their_objects():
    assert name_of("v1") == "handler-users-v1"
    assert draining().plan.version("v1", "d-v1").name == name_of("v1")
