"""How faults of telemetry are told: whether it could not be seen or does not tell, and what was missing.

That nothing is decided on them is in test_telemetry_decisions.py. A person who reads the reason must
know which of many causes it was, since each wants another remedy.
"""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.decide.observation import Gap, PodSeries
from gati_gitops.decide.verdict import Verdict
from tests.decide.worlds import blind
from tests.faults.test_telemetry_decisions import (
    advancing,
    at_edge,
    counters,
    edges,
    everywhere,
    failing_scrapes,
    frozen,
    inf,
    leaving,
    nan,
    of,
    pods,
)

DRAINED = 24
"""Hours after which a person is asked: maxDrain."""


def canary_under(fault):
    """What is said of a canary that was well, once a fault is there."""
    world = advancing()
    world.look(60)
    world.bend = fault
    for _ in range(3):
        made = world.look(60)
        assert made.move is None
    return made


def told(fault, verdict, *words):
    made = canary_under(fault)
    assert made.verdict is verdict, made.reason
    for word in words:
        assert word in made.reason, made.reason


def drained_under(fault):
    """What is said of a version that nobody calls, once a fault is there for long."""
    world = leaving()
    world.bend = fault
    for _ in range(30):
        made = world.look(60)
        assert made.move is None
    return made.findings[0].reason


def test_T01_an_outage_could_not_be_seen():
    told(blind(Gap.ERROR, "connection refused"), Verdict.ERROR, "could not be made", "refused")


def test_T02_an_empty_answer_does_not_tell():
    told(blind(Gap.NO_DATA, "nothing came"), Verdict.INCONCLUSIVE, "no data: nothing came")


def test_T03_not_a_number_does_not_tell_and_is_named():
    fault = everywhere(counters(nan), at_edge(nan))
    told(fault, Verdict.INCONCLUSIVE, "not a number: the series {", "status_code=200")


def test_T04_infinity_does_not_tell_and_is_named():
    fault = everywhere(counters(inf), at_edge(inf))
    told(fault, Verdict.INCONCLUSIVE, "not a number: the series {", "status_code=200")


def test_T05_a_series_that_is_there_twice_is_named():
    fault = everywhere(
        pods(lambda pod: replace(pod, requests=pod.requests * 2)),
        edges(lambda edge: replace(edge, requests=edge.requests * 2)),
    )
    told(fault, Verdict.INCONCLUSIVE, "ambiguous: the series {", "status_code=200", "twice")


def test_T06_a_partial_answer_does_not_tell():
    told(blind(Gap.PARTIAL, "store 7 is away"), Verdict.INCONCLUSIVE, "partial: store 7 is away")


def test_T09_the_pod_that_is_not_read_is_named():
    def one(series):
        name = min(series.pods)
        pod = series.pods[name]
        return replace(series, pods={**series.pods, name: replace(pod, up=failing_scrapes(pod.up))})

    told(of("v2", one), Verdict.INCONCLUSIVE, "handler-users-v2-0", "scrape")


def test_T10_the_pod_that_discovery_lost_is_named():
    lost = of("v2", lambda seen: replace(seen, pods=dict(sorted(seen.pods.items())[1:])))
    told(lost, Verdict.INCONCLUSIVE, "partial: handler-users-v2-0: it is not scraped")


def test_T12_samples_that_are_old_are_told_with_their_age():
    still = pods(
        lambda pod: PodSeries(
            frozen(pod.up),
            tuple(map(frozen, pod.requests)),
            tuple(map(frozen, pod.faster)),
            frozen(pod.in_flight),
        )
    )
    told(still, Verdict.INCONCLUSIVE, "stale", "newest sample is 150 s old")


def test_T16_a_pipeline_that_proves_nothing_is_told_as_such():
    fault = everywhere(
        pods(lambda pod: replace(pod, requests=(), faster=())),
        edges(lambda edge: replace(edge, requests=())),
    )
    assert "was seen to move" in drained_under(fault)


def test_T20_a_long_request_asks_a_person_after_its_time_and_not_before():
    world = leaving().say("v1", open=1)
    begin = world.now
    asked = [(world.look(600).findings[0].reason, world.now) for _ in range(DRAINED * 6 + 12)]
    first = next(at for reason, at in asked if "a person should look" in reason)
    assert DRAINED * 3600 <= first - begin <= (DRAINED + 1) * 3600


def test_T21_a_gauge_that_leaks_asks_a_person():
    world = leaving().say("v1", open=3)
    for _ in range(DRAINED * 6 + 12):
        made = world.look(600)
        assert made.move is None
    assert "requests in progress" in made.findings[0].reason
    assert "a person should look" in made.findings[0].reason
