"""Who listens may fail; who decides goes on."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import pytest

from gati_gitops.decide.verdict import Verdict
from gati_gitops.errors import Outside
from gati_gitops.reconcile.announce import Announcer, Commit, Listener, Pass
from tests.reconcile.telling import WHERE, decision, stored


class Ear(Listener):
    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def started(self, this):
        self.heard.append(("started", this))

    def decided(self, where, decision, stored, seen):
        self.heard.append(("decided", where, decision.verdict))

    def breaker(self, env, why):
        self.heard.append(("breaker", env, why))

    def written(self, commit):
        self.heard.append(("written", commit.id))

    def failed(self, source, error, env, cluster):
        self.heard.append(("failed", source, error, env, cluster))

    def ended(self, this, now, waiting):
        self.heard.append(("ended", now, waiting))

    def leads(self, leader, ours):
        self.heard.append(("leads", leader, ours))

    @contextmanager
    def span(self, name, **attributes):
        self.heard.append(("open", name, attributes))
        try:
            yield
        finally:
            self.heard.append(("close", name))


class Broken(Listener):
    """Fails at everything."""

    def started(self, this):
        raise RuntimeError("no ink")

    def failed(self, source, error, env, cluster):
        raise RuntimeError("no ink")

    def ended(self, this, now, waiting):
        raise Outside("the API server is away", remedy="wait")

    @contextmanager
    def span(self, name, **attributes):
        yield
        raise RuntimeError("no ink")


def test_everybody_hears_everything_in_order():
    one, two = Ear(), Ear()
    announce = Announcer([one, two])
    this = Pass(1, 5.0)
    announce.started(this)
    with announce.span("decide", env="prod"):
        announce.decided(WHERE, decision(Verdict.STEADY), stored())
    announce.breaker("prod", "")
    announce.written(Commit("prod", "abc", "subject"))
    announce.failed("git", "away", "prod")
    announce.ended(this, 9.0)
    announce.leads("me", ours=True)
    assert one.heard == two.heard
    assert [said[0] for said in one.heard] == [
        "started", "open", "decided", "close", "breaker", "written", "failed", "ended", "leads",
    ]  # fmt: skip


def test_who_fails_stops_nobody_and_the_others_are_told_once():
    ear = Ear()
    announce = Announcer([Broken(), ear])
    announce.started(Pass(1, 5.0))
    with announce.span("observe"):
        pass
    announce.ended(Pass(1, 5.0), 9.0)
    assert ("failed", "broken", "RuntimeError: no ink", "", "") in ear.heard
    assert ("failed", "broken", "the API server is away", "", "") in ear.heard
    assert sum(said[0] == "failed" for said in ear.heard) == 2


def test_what_goes_wrong_in_a_span_goes_on():
    ear = Ear()
    with pytest.raises(ValueError, match="the pass itself"), Announcer([Broken(), ear]).span("x"):
        raise ValueError("the pass itself")
    assert ear.heard[-1] == ("close", "x")


def test_a_span_that_was_opened_is_closed_when_the_process_is_told_to_stop():
    ear = Ear()
    with pytest.raises(KeyboardInterrupt), Announcer([ear]).span("x"):
        raise KeyboardInterrupt
    assert ear.heard[-1] == ("close", "x")


def test_nobody_waits_for_one_that_does_not_listen():
    """Else a slow API server would keep the leader from saying that it leads."""

    class Slow(Listener):
        def ended(self, this, now, waiting):
            begun.set()
            time.sleep(2)

    begun = threading.Event()
    announce = Announcer([Slow(), Ear()])
    thread = threading.Thread(target=lambda: announce.ended(Pass(1, 1.0), 2.0))
    thread.start()
    begun.wait()
    before = time.monotonic()
    announce.leads("me", ours=True)
    announce.failed("lease", "away")
    assert time.monotonic() - before < 1
    thread.join()
