"""Telemetry that fails, and what is decided on it.

Each fault meets three units: one whose canary is well and would advance, one whose old version
nobody calls and which would park, and one that is parked and would be removed. As long as the fault
lasts none of that happens, and nothing is rolled back; when it is over, all of it does.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gati_gitops.decide.observation import EdgeSeries, Gap, Missing, PodSeries, Sent, Series
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
    planned,
    rules,
    stored,
    with_telemetry,
    with_workload,
)

HOUR = 3600
RULES = rules(decommission={"rollbackFor": "1s", "parkFor": "10m", "idleFor": "2h"})
FORWARD = {Verdict.ADVANCE, Verdict.ACTIVATE, Verdict.PARK, Verdict.REMOVE, Verdict.RETIRE}


def advancing():
    return World(canary(10), RULES).traffic(v1=54, v2=6)


def leaving():
    world = World(canary(50), RULES).traffic(v1=30, v2=30)
    for _ in range(3):
        world.look()
    return world.becomes(draining()).traffic(v1=0, v2=60)


def gone():
    world = leaving()
    for _ in range(8):
        world.look(60)
    return world.becomes(stored(entry("v1", Phase.PARKED), entry("v2", Phase.ACTIVE, 100)))


def of(id, change):
    return with_telemetry(id, change)


def pods(change):
    """The same of every pod of both versions."""

    def changed(told):
        return replace(told, pods={name: change(pod) for name, pod in told.pods.items()})

    return lambda seen: of("v2", changed)(of("v1", changed)(seen))


def edges(change):
    """The same of what the gateway says of both versions."""

    def changed(told):
        return replace(told, edge=change(told.edge))

    return lambda seen: of("v2", changed)(of("v1", changed)(seen))


def everywhere(*bends):
    def bent(seen):
        for bend in bends:
            seen = bend(seen)
        return seen

    return bent


def released(world):
    """A person was asked, has looked, and let it go on."""
    place = world.place
    world.becomes(replace(place, ledger=replace(place.ledger, hold="a person was asked")))
    assert world.look(60).verdict is Verdict.HELD
    return world.becomes(place)


def survives(fault, *, parked=True):
    """Nothing is decided on a fault, in any direction; without it everything goes on."""
    goals = {advancing: Verdict.ADVANCE, leaving: Verdict.PARK, gone: Verdict.REMOVE}
    for make, goal in goals.items():
        if make is gone and not parked:
            continue
        world = make()
        world.look(60)
        world.bend = fault
        for _ in range(int(HOUR / 60)):
            made = world.look(60)
            assert made.move is None or made.verdict is Verdict.HOLD, (make.__name__, made.reason)
            if made.verdict is Verdict.HOLD:
                released(world)
        world.bend = lambda seen: seen
        made = world.passes(3 * HOUR, 60)
        if made.verdict is Verdict.HOLD:
            made = released(world).passes(HOUR, 60)
        assert made.verdict is goal, (make.__name__, made.reason)


def nan(series):
    return replace(series, values=(*series.values[:-1], float("nan")))


def inf(series):
    return replace(series, values=(*series.values[:-1], float("inf")))


def counters(change):
    return pods(
        lambda pod: replace(
            pod,
            requests=tuple(map(change, pod.requests)),
            faster=tuple(map(change, pod.faster)),
        )
    )


def at_edge(change):
    return edges(lambda edge: replace(edge, requests=tuple(map(change, edge.requests))))


def test_T01_prometheus_down_is_an_error_and_decides_nothing():
    survives(blind(Gap.ERROR, "connection refused"))


def test_T01_an_outage_is_told_as_an_error():
    world = advancing()
    world.bend = blind(Gap.ERROR, "connection refused")
    made = world.look()
    assert made.verdict is Verdict.ERROR and "connection refused" in made.reason


def test_T02_an_empty_answer_is_never_zero():
    survives(blind(Gap.NO_DATA, "nothing came"))


def test_T02_no_counters_at_all_are_no_good_requests():
    survives(
        everywhere(
            pods(lambda pod: replace(pod, requests=(), faster=())),
            edges(lambda edge: replace(edge, requests=())),
        )
    )


def test_T03_not_a_number_is_neither_more_nor_less():
    survives(everywhere(counters(nan), at_edge(nan)))


def test_T03_a_gauge_that_is_no_number_is_not_nothing_in_progress():
    world = leaving()
    world.bend = pods(lambda pod: replace(pod, in_flight=nan(pod.in_flight)))
    for _ in range(60):
        assert world.look(60).verdict not in FORWARD


def test_T04_infinity_is_no_success():
    survives(everywhere(counters(inf), at_edge(inf)))


def test_T05_one_series_twice_is_ambiguous():
    survives(
        everywhere(
            pods(lambda pod: replace(pod, requests=pod.requests * 2)),
            edges(lambda edge: replace(edge, requests=edge.requests * 2)),
        )
    )


def test_T06_a_partial_answer_is_no_answer():
    survives(blind(Gap.PARTIAL, "the answer has warnings"))


def test_T07_a_login_page_is_no_measurement():
    survives(blind(Gap.ERROR, "HTTP 200 with text/html: <html>Sign in"))


def test_T08_an_answer_of_another_kind_is_none():
    survives(blind(Gap.ERROR, "a scalar where a matrix was asked for"))


def failing_scrapes(series):
    return replace(series, values=(*series.values[:-2], 0.0, *series.values[-1:]))


def test_T09_one_pod_that_is_not_read_keeps_everything():
    def one(told):
        first = min(told.pods, default=None)
        if first is None:
            return told
        pod = told.pods[first]
        return replace(told, pods={**told.pods, first: replace(pod, up=failing_scrapes(pod.up))})

    survives(everywhere(of("v1", one), of("v2", one)), parked=False)


def test_T09_a_gateway_that_is_not_read_keeps_what_is_parked():
    survives(edges(lambda edge: replace(edge, up=tuple(map(failing_scrapes, edge.up)))))


def test_T10_a_pod_that_discovery_lost_is_known_from_the_cluster():
    def lost(told):
        return replace(told, pods=dict(sorted(told.pods.items())[1:]))

    survives(everywhere(of("v1", lost), of("v2", lost)), parked=False)


def hole(series):
    """Nothing between four and eight minutes."""
    keep = [n for n, at in enumerate(series.times) if not START + 240 < at < START + 480]
    return replace(
        series,
        times=tuple(series.times[n] for n in keep),
        values=tuple(series.values[n] for n in keep),
    )


RESTARTED = everywhere(
    pods(
        lambda pod: PodSeries(
            hole(pod.up),
            tuple(map(hole, pod.requests)),
            tuple(map(hole, pod.faster)),
            hole(pod.in_flight),
        )
    ),
    edges(
        lambda edge: EdgeSeries(
            tuple(map(hole, edge.requests)),
            tuple(map(hole, edge.active)),
            tuple(map(hole, edge.up)),
        )
    ),
)


def test_T11_a_gap_in_the_data_starts_the_count_anew():
    world = advancing()
    world.bend = RESTARTED
    made = world.passes(HOUR)
    assert made.verdict is Verdict.ADVANCE
    assert world.now - START >= 480 + 300, "a whole step after the gap"


def test_T11_a_gap_in_the_data_is_no_silence():
    world = leaving()
    world.bend = RESTARTED
    made = world.passes(HOUR)
    assert made.verdict is Verdict.PARK
    assert world.now - START >= 480 + 360, "a whole look after the gap"


def frozen(series):
    keep = sum(1 for at in series.times if at <= START + 90)
    return replace(series, times=series.times[:keep], values=series.values[:keep])


def test_T12_a_prometheus_that_stands_still_is_stale():
    survives(
        everywhere(
            pods(
                lambda pod: PodSeries(
                    frozen(pod.up),
                    tuple(map(frozen, pod.requests)),
                    tuple(map(frozen, pod.faster)),
                    frozen(pod.in_flight),
                )
            ),
            edges(
                lambda edge: EdgeSeries(
                    tuple(map(frozen, edge.requests)),
                    tuple(map(frozen, edge.active)),
                    tuple(map(frozen, edge.up)),
                )
            ),
        )
    )


def test_T13_clocks_that_differ_decide_nothing():
    survives(blind(Gap.ERROR, "its clock says 12:00:00, ours 12:04:00"))


@pytest.mark.parametrize("shift", [-25.0, 25.0])
def test_T13_a_clock_that_differs_a_little_only_shifts(shift):
    def moved(told):
        def at(series):
            return replace(series, times=tuple(t + shift for t in series.times))

        return replace(
            told,
            window=replace(told.window, at=told.window.at + shift),
            pods={
                name: PodSeries(
                    at(pod.up),
                    tuple(map(at, pod.requests)),
                    tuple(map(at, pod.faster)),
                    at(pod.in_flight),
                )
                for name, pod in told.pods.items()
            },
            edge=EdgeSeries(
                tuple(map(at, told.edge.requests)),
                tuple(map(at, told.edge.active)),
                tuple(map(at, told.edge.up)),
            ),
        )

    for make, goal in ((advancing, Verdict.ADVANCE), (leaving, Verdict.PARK)):
        world = make()
        world.bend = everywhere(of("v1", moved), of("v2", moved))
        assert world.passes(HOUR).verdict is goal


def test_T14_a_restart_in_a_stretch_makes_it_count_for_nothing():
    def restarted(series):
        lost = next(
            (v for t, v in zip(series.times, series.values, strict=True) if t >= START + 150), 0
        )
        values = (
            v - lost if t >= START + 150 else v
            for t, v in zip(series.times, series.values, strict=True)
        )
        return replace(series, values=tuple(values))

    world = advancing()
    world.bend = everywhere(counters(restarted), at_edge(restarted))
    told = [world.look() for _ in range(7)]
    assert any("began again" in made.reason for made in told)
    assert all(made.move is None for made in told)
    assert world.passes(600).verdict is Verdict.ADVANCE


def test_T14_a_pod_that_restarted_may_have_answered_somebody():
    world = leaving()
    world.look(240)
    pods = world.workload(world.ledger.entries[0]).pods
    restarted = tuple(replace(pod, restarted=world.now, restarts=1) for pod in pods)
    world.bend = with_workload("v1", pods=restarted)
    for _ in range(11):
        assert world.look(30).verdict not in FORWARD
    assert world.passes(240).verdict is Verdict.PARK


def test_T15_a_series_born_with_one_request_is_traffic():
    world = leaving()
    for _ in range(5):
        world.look(60)

    def born(told):
        name = min(told.pods)
        pod = told.pods[name]
        labels = (("method", "POST"), ("route", "/users"), ("status_code", "201"))
        one = Series(labels, pod.up.times[-2:], (1.0, 1.0))
        return replace(told, pods={**told.pods, name: replace(pod, requests=(*pod.requests, one))})

    world.bend = of("v1", born)
    for _ in range(60):
        made = world.look(60)
        assert made.verdict not in FORWARD
    assert "counted requests" in made.findings[0].reason


def test_T15_a_failure_that_was_born_is_a_failure():
    world = World(canary(10), RULES).traffic(v1=54, v2=6)
    for _ in range(4):
        world.look()
    world.say("v2", failing=0.5)
    assert world.passes(150).verdict is Verdict.ROLLBACK


def test_T16_a_label_that_was_dropped_proves_nothing():
    survives(
        everywhere(
            of("v1", lambda told: replace(told, pods={}, edge=replace(told.edge, requests=()))),
            of("v2", lambda told: replace(told, pods={}, edge=replace(told.edge, requests=()))),
        )
    )


def test_T16_a_renamed_metric_leaves_the_positive_control_without_a_voice():
    world = leaving()
    world.bend = everywhere(
        pods(lambda pod: replace(pod, requests=(), faster=())),
        edges(lambda edge: replace(edge, requests=())),
    )
    for _ in range(60):
        made = world.look(60)
        assert made.verdict not in FORWARD
    assert "was seen to move" in made.findings[0].reason


def test_T17_what_is_not_raw_does_not_arrive_here():
    """A rule that stopped recording gives old samples, whatever the raw ones do."""
    survives(counters(frozen), parked=False)


def test_T18_a_pair_that_was_not_told_apart_is_ambiguous():
    def twice(series):
        return (series, replace(series, times=tuple(t + 1 for t in series.times)))

    survives(
        everywhere(
            pods(
                lambda pod: replace(pod, requests=tuple(s for r in pod.requests for s in twice(r)))
            ),
            edges(
                lambda edge: replace(
                    edge, requests=tuple(s for r in edge.requests for s in twice(r))
                )
            ),
        )
    )


def test_T19_sleep_is_never_inferred_from_absence():
    world = leaving()
    world.bend = of("v1", lambda told: replace(told, pods={}))
    for _ in range(60):
        assert world.look(60).verdict not in FORWARD


def test_T19_what_sleeps_goes_by_cluster_and_gateway():
    place = draining()
    scaling = Scaling("keda", min=0, max=3)
    versions = tuple(planned(v.id, gone=v.gone, scaling=scaling) for v in place.plan.versions)
    world = leaving()
    world.becomes(replace(place, plan=replace(place.plan, versions=versions))).say("v1", pods=0)
    assert world.passes(900).verdict is Verdict.PARK


def test_T20_a_long_request_holds_its_version():
    world = leaving().say("v1", open=1)
    for _ in range(300):
        made = world.look(300)
        assert made.verdict not in FORWARD
    assert "a person should look" in made.findings[0].reason
    assert "retire shop/users v1" in made.findings[0].reason


def test_T21_a_gauge_that_leaks_asks_a_person_and_takes_nothing():
    world = leaving().say("v1", open=3)
    for _ in range(300):
        made = world.look(300)
        assert made.verdict not in FORWARD
    assert "requests in progress" in made.findings[0].reason


def test_T21_a_negative_gauge_is_an_error_in_it():
    world = leaving().say("v1", open=-1)
    for _ in range(60):
        made = world.look(60)
        assert made.verdict not in FORWARD
    assert "cannot be" in made.findings[0].reason


def test_T22_probes_that_are_counted_keep_a_version():
    """By default everything counts; what is left out is left out before it is judged."""
    world = leaving().traffic(v1=0.2)
    for _ in range(60):
        made = world.look(60)
        assert made.verdict not in FORWARD
    assert "counted requests" in made.findings[0].reason


def mirrored(told):
    def copy(series):
        return replace(series, labels=tuple(sorted((*series.labels, ("mirrored", "true")))))

    pods = {n: replace(p, requests=tuple(map(copy, p.requests))) for n, p in told.pods.items()}
    return replace(told, pods=pods, edge=replace(told.edge, requests=()))


def test_T23_mirrored_requests_are_no_evidence_for_a_canary():
    world = advancing()
    world.bend = of("v2", mirrored)
    for _ in range(30):
        made = world.look(60)
        assert made.verdict not in FORWARD
    assert "0 requests of 300" in made.reason


def test_T23_mirrored_requests_are_traffic_for_a_drain():
    world = leaving().traffic(v1=1)
    world.bend = of("v1", mirrored)
    for _ in range(60):
        assert world.look(60).verdict not in FORWARD


def test_T24_too_many_series_are_an_error_and_never_a_part():
    survives(blind(Gap.ERROR, "600000 series, more than 500000"))


def test_T25_an_address_that_is_never_asked_is_an_error():
    survives(blind(Gap.ERROR, "169.254.169.254 is not asked"))


def test_T26_a_value_that_cannot_be_asked_for_is_an_error():
    survives(blind(Gap.ERROR, "the version id cannot stand in a query"))


# -- faults do not add up to a decision ------------------------------------------------------------


def test_a_false_rollback_on_an_outage_never_happens():
    """Whatever the canary did before: without data nothing is taken back."""
    for failing in (0.0, 0.02, 0.5):
        world = advancing().say("v2", failing=failing)
        world.look()
        world.look()
        world.bend = blind()
        for _ in range(120):
            assert world.look(60).verdict is not Verdict.ROLLBACK


@pytest.mark.parametrize(
    ("rate", "told"), [(0, r"(\d\d\d) requests \(\1 of"), (2, r"\d{3,} requests \(\d\d\d? of")]
)
def test_requests_of_our_own_are_told_as_such(rate, told):
    """Pods and gateway count them like any other; whoever reads the verdict knows whose they were."""
    synthetic = {"synthetic": {"url": "https://g.example", "requests": 20}}
    world = World(canary(10), rules(analysis=synthetic)).traffic(v1=20, v2=rate)
    for _ in range(60):
        made = world.look(60)
        if made.move is not None:
            break
        world.sent.setdefault("v2", []).extend(Sent(world.now, 200, 0.1) for _ in range(20))
        world.serving["v2"].counts["exact"] += 20
    assert made.verdict is Verdict.ADVANCE
    facts = {fact.name: fact for fact in made.findings[1].facts}
    assert "failed of our own" in facts
    assert facts["requests"].value.endswith(" of them our own)")
    assert re.search(rf"{told} them our own\), 0 % failed", made.reason), made.reason


def test_missing_values_of_every_kind_decide_nothing():
    for gap in Gap:
        if gap is not Gap.UNSUPPORTED:
            survives(lambda seen, gap=gap: replace(seen, telemetry=Missing(gap, "why not")))
