"""Metrics of the job: as Prometheus wants them, few, and never zero for unknown."""

from __future__ import annotations

import subprocess

import pytest
from prometheus_client import generate_latest

from gati_gitops.decide.verdict import Verdict
from gati_gitops.reconcile.announce import Announcer, Commit, Pass
from gati_gitops.reconcile.meters import SOURCES, Meters
from tests.reconcile.telling import decision, stored
from tests.tools import tool

EU, US = ("prod", "eu-1"), ("prod", "us-1")


class Metered:
    def __init__(self):
        self.now = 1000.0
        self.meters = Meters(lambda: self.now)
        self.announce = Announcer([self.meters])

    def value(self, name: str, **labels: str) -> float | None:
        return self.meters.registry.get_sample_value(f"gati_gitops_{name}", labels)

    def passed(self, *decided, waiting: int = 0, took: float = 2.0):
        this = Pass(1, self.now)
        self.announce.started(this)
        for place, number, verdict, at in decided:
            where = (*place, ("shop", f"handler-{number}"))
            self.announce.decided(where, decision(verdict, seen_at=at), stored())
        self.now += took
        self.announce.ended(this, self.now, waiting)


@pytest.fixture
def metered():
    return Metered()


def place(at):
    return {"env": at[0], "cluster": at[1]}


def test_decisions_are_counted_by_verdict(metered):
    for _ in range(3):
        metered.passed((EU, 1, Verdict.WAIT, 0.0), (EU, 2, Verdict.WAIT, 0.0))
    metered.passed((EU, 1, Verdict.ADVANCE, 0.0))
    assert metered.value("decisions_total", **place(EU), verdict="wait") == 6
    assert metered.value("decisions_total", **place(EU), verdict="advance") == 1


def test_held_units_are_those_of_the_last_pass(metered):
    metered.passed(
        (EU, 1, Verdict.HELD, 0.0), (EU, 2, Verdict.HOLD, 0.0), (US, 1, Verdict.WAIT, 0.0)
    )
    assert metered.value("held_units", **place(EU)) == 2
    assert metered.value("held_units", **place(US)) == 0
    metered.passed((EU, 1, Verdict.STEADY, 0.0))
    assert metered.value("held_units", **place(EU)) == 0
    assert metered.value("held_units", **place(US)) is None, "a cluster that nobody looks at"


def test_evidence_grows_old_while_nobody_looks(metered):
    metered.passed((EU, 1, Verdict.WAIT, 990.0), (EU, 2, Verdict.WAIT, 980.0))
    assert metered.value("evidence_age_seconds", **place(EU)) == 22
    metered.now += 600
    assert metered.value("evidence_age_seconds", **place(EU)) == 622


def test_no_evidence_is_not_fresh_evidence(metered):
    metered.passed((EU, 1, Verdict.WAIT, 990.0))
    metered.passed((EU, 1, Verdict.STEADY, 0.0))
    assert metered.value("evidence_age_seconds", **place(EU)) is None


def test_a_pass_that_never_ended_has_no_time(metered):
    assert metered.value("last_pass_timestamp_seconds") is None
    metered.passed(waiting=3)
    assert metered.value("last_pass_timestamp_seconds") == 1002
    assert metered.value("queue_length") == 3
    assert metered.value("pass_duration_seconds_sum") == 2
    metered.passed()
    assert metered.value("pass_duration_seconds_count") == 2
    assert metered.value("queue_length") == 0


def test_commits_races_leaders_and_breakers(metered):
    metered.announce.written(Commit("prod", "a", "s", retries=2))
    metered.announce.written(Commit("prod", "b", "s"))
    metered.announce.leads("me", ours=True)
    metered.announce.breaker("prod", "9 fail at once")
    assert metered.value("commits_total", env="prod") == 2
    assert metered.value("push_retries_total") == 2
    assert metered.value("leader") == 1
    assert metered.value("breaker_open", env="prod") == 1
    metered.announce.leads("other", ours=False)
    metered.announce.breaker("prod", "")
    assert metered.value("leader") == 0
    assert metered.value("breaker_open", env="prod") == 0


def test_errors_have_a_handful_of_sources_whatever_is_said(metered):
    metered.announce.failed("git", "away")
    for number in range(500):
        metered.announce.failed(f"unit-{number}", "away")
    assert metered.value("errors_total", source="git") == 1
    assert metered.value("errors_total", source="other") == 500
    assert metered.value("errors_total", source="lease") == 0, "a rate needs a first sample"
    series = [s for m in metered.meters.registry.collect() for s in m.samples]
    assert len([s for s in series if s.name == "gati_gitops_errors_total"]) == len(SOURCES) + 1


def test_a_thousand_units_are_no_more_series_than_one(metered):
    def count() -> int:
        return sum(len(metric.samples) for metric in metered.meters.registry.collect())

    metered.passed(*((EU, 1, verdict, 990.0) for verdict in Verdict))
    before = count()
    metered.passed(*((EU, n, verdict, 990.0) for n in range(1000) for verdict in Verdict))
    assert count() == before < 150


def test_prometheus_finds_nothing_to_complain_about(metered):
    metered.passed((EU, 1, Verdict.WAIT, 990.0))
    metered.announce.breaker("prod", "")
    metered.announce.written(Commit("prod", "a", "s"))
    said = subprocess.run(
        [tool("promtool"), "check", "metrics"],
        input=generate_latest(metered.meters.registry),
        capture_output=True,
        check=False,
    )
    assert (said.returncode, said.stdout, said.stderr) == (0, b"", b"")
