"""Faults of counters and of who counts, on a real Prometheus: they show as what they are."""

from gati_gitops.decide.observation import Gap, Telemetry
from gati_gitops.ledger.model import Phase
from gati_gitops.spec.metrics import Evidence
from tests.faults.telemetry import missing
from tests.observe.fake_prometheus import (
    FIRST,
    look,
    series,
)
from tests.observe.kit import USERS, phased, units

# -- T14 to T19: what counters do ----------------------------------------------------------------


def test_T14_a_restart_shows_as_it_happened(real):
    pod = real.pod("v1")
    pod.request(times=9)
    real.scraped()
    pod.restart()
    pod.request(times=2)
    real.scraped()
    values = real.look()[real.first].pods[f"{real.name}-v1-0"].requests[0].values
    assert values[0] == 9 and values[-1] == 2


def test_T15_a_series_that_is_born_has_only_samples_since(real):
    pod = real.pod("v1")
    pod.request()
    real.scraped(4)
    pod.request(500)
    real.scraped(2)
    seen = real.look()[real.first].pods[f"{real.name}-v1-0"]
    old, born = seen.requests
    assert dict(born.labels)["status_code"] == "500"
    assert born.values[0] == 1
    assert len(born.times) < len(old.times)


def test_T16_a_rule_that_drops_the_version_label(real):
    pod = real.pod("v1")
    pod.labels.pop("gati_version")
    pod.request()
    real.scraped()
    missing(real.look()[real.first], Gap.NO_DATA, "without gati_version")


def test_T16_a_metric_that_was_renamed_leaves_no_counters(real):
    pod = real.pod("v1")
    pod.count('requests_total{status_code="200"}')
    real.scraped()
    found = real.look()[real.first]
    assert isinstance(found, Telemetry)
    assert found.pods[f"{real.name}-v1-0"].requests == ()


def test_T17_only_raw_series_are_asked_for(fake):
    found = {USERS: phased(units()[USERS], v2=(Phase.PARKED, 0))}
    look(fake, found, evidence=Evidence(gateway="traefik", in_flight="open_requests"))
    assert len(fake.queries) >= 8
    for query in fake.queries:
        assert ":" not in query.partition("{")[0]
        assert not any(word in query for word in ("rate(", "increase(", "or vector", "offset"))


def test_T18_a_pod_that_is_scraped_twice_is_ambiguous(real):
    for replica in ("a", "b"):
        real.pod("v1", replica=replica).request()
    real.pod("v2").request()
    real.scraped()
    found = real.look()
    missing(found[real.first], Gap.AMBIGUOUS, f"{real.name}-v1-0", "replicaLabel")
    assert isinstance(found[real.second], Telemetry)


def test_T18_a_pair_of_servers_is_told_apart_by_its_label(real):
    one, two = (real.pod("v1", replica=replica) for replica in ("a", "b"))
    for pod in (one, two):
        pod.request(times=5)
    real.scraped(8)
    found = real.look(replica_label="replica")[real.first]
    assert isinstance(found, Telemetry)
    (pod,) = found.pods.values()
    assert len(pod.requests) == 1
    assert pod.requests[0].values[-1] == 5
    span = pod.up.times[-1] - pod.up.times[0]
    assert len(pod.up.times) <= span + 2  # one for each scrape, not two


def test_T18_a_gap_of_both_servers_stays_one_and_a_gap_of_one_does_not(fake):
    fake.series = {"up": [series("up", pod="p", replica=replica) for replica in ("a", "b")]}
    first, second = (found["values"] for found in fake.series["up"])
    fake.series["up"][0]["values"] = first[:5] + first[15:]
    found = look(fake, replica_label="replica")[USERS][FIRST]
    assert len(found.pods["p"].up.times) >= 19
    fake.series["up"][1]["values"] = second[:5] + second[15:]
    found = look(fake, replica_label="replica")[USERS][FIRST]
    assert len(found.pods["p"].up.times) <= 11


def test_T19_a_version_that_sleeps_is_not_a_version_with_zero_requests(real):
    real.pod("v1").request()
    real.scraped()
    found = real.look()[real.second]
    missing(found, Gap.NO_DATA)


def test_T22_probes_and_scrapes_can_be_left_out_and_are_not_by_default(real):
    pod = real.pod("v1")
    pod.request(times=3)
    pod.request(times=50, route="/health")
    pod.request(times=50, route="/metrics")
    real.scraped()
    every = real.look()[real.first].pods[f"{real.name}-v1-0"]
    assert sum(series.values[-1] for series in every.requests) == 103
    ignoring = Evidence(ignore_routes=["/health", "/metrics"])
    some = real.look(evidence=ignoring)[real.first].pods[f"{real.name}-v1-0"]
    assert sum(series.values[-1] for series in some.requests) == 3
    assert {dict(series.labels)["route"] for series in some.faster} == {f"/{'users'}"}
