"""Events in a real cluster, written by the job's own account."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.verdict import Verdict
from gati_gitops.reconcile.announce import Announcer, Commit, Listener, Pass
from gati_gitops.reconcile.events import CONTROLLER, FORGET, MOST, REFRESH, Events
from tests.compile.kit import handler
from tests.job.watcher import Watcher
from tests.reconcile.telling import decision, move, stored

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Clock:
    now = 1900000000.0

    def __call__(self) -> float:
        return self.now


class Deaf(Listener):
    def __init__(self) -> None:
        self.errors: list[str] = []

    def failed(self, source: str, error: str, env: str, cluster: str) -> None:
        self.errors.append(f"{source}: {error}")


class Telling:
    """Events of one cluster, pass by pass."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.clock = Clock()
        self.heard = Deaf()
        events = Events({"in-cluster": watcher.kube}, "pod-1", self.clock)
        self.announce = Announcer([events, self.heard])
        self.where: Where = ("default", "in-cluster", (watcher.units, "handler-users"))

    def passed(self, verdict: Verdict, reason: str = "because", *, written: bool = True) -> None:
        this = Pass(1, self.clock())
        self.announce.started(this)
        if written:
            self.announce.written(Commit("default", COMMIT, "subject", (self.where,)))
        made = decision(verdict, reason, move=move())
        self.announce.decided(self.where, made, stored(self.where))
        self.announce.ended(this, self.clock())

    def events(self) -> list[dict[str, Any]]:
        """Ours; controllers have some of their own."""
        found = self.watcher.plane.api.items("events.k8s.io/v1", "Event", self.watcher.units)
        return [one for one in found if one.get("reportingController") == CONTROLLER]


@pytest.fixture
def telling(watcher: Watcher) -> Telling:
    return Telling(watcher)


def with_handler(telling: Telling) -> dict[str, Any]:
    return telling.watcher.plane.api.apply(json.loads(handler(namespace=telling.watcher.units)))


def with_deployment(telling: Telling) -> dict[str, Any]:
    labels = {"app": "users"}
    spec = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "x", "image": "x"}]},
        },
    }
    head = {"name": "handler-users-v1", "namespace": telling.watcher.units}
    return telling.watcher.plane.api.apply(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": head, "spec": spec}
    )


def test_what_was_committed_is_told_on_the_gati_object(telling):
    made = with_handler(telling)
    telling.passed(Verdict.ADVANCE, "99.9 % of 900 requests are well")
    (event,) = telling.events()
    assert event["note"] == "99.9 % of 900 requests are well (commit 0123456789ab)"
    assert (event["reason"], event["type"], event["action"]) == ("Advance", "Normal", "Decided")
    assert event["reportingController"] == "gati.dev/gati-gitops"
    assert event["reportingInstance"] == "pod-1"
    assert event["regarding"]["uid"] == made["metadata"]["uid"]
    assert telling.heard.errors == []
    shown = telling.watcher.plane.kubectl(
        "describe", "gatihandler", "users", "-n", telling.watcher.units
    )
    assert "99.9 % of 900 requests are well" in shown


def test_without_a_gati_object_it_is_told_on_the_deployment(telling):
    made = with_deployment(telling)
    telling.passed(Verdict.ROLLBACK, "3 of 50 requests fail")
    (event,) = telling.events()
    assert event["regarding"]["kind"] == "Deployment"
    assert event["regarding"]["uid"] == made["metadata"]["uid"]
    assert event["type"] == "Warning"


def test_with_neither_nothing_is_told_and_nothing_fails(telling):
    telling.passed(Verdict.ADVANCE)
    assert telling.events() == [] == telling.heard.errors


@pytest.mark.parametrize(
    ("verdict", "written"),
    [
        (Verdict.ADVANCE, False),
        (Verdict.WAIT, False),
        (Verdict.STEADY, False),
        (Verdict.HELD, False),
    ],
)
def test_what_was_not_done_is_not_told(telling, verdict, written):
    with_handler(telling)
    telling.passed(verdict, written=written)
    assert telling.events() == []


def test_trouble_that_lasts_is_one_event_that_counts(telling):
    with_handler(telling)
    for number in range(20):
        telling.passed(Verdict.ERROR, f"no answer for {number} s", written=False)
        telling.clock.now += 60
    (event,) = telling.events()
    assert event["series"]["count"] >= 20 - REFRESH / 60
    assert event["type"] == "Warning"
    telling.clock.now += FORGET + 1
    telling.passed(Verdict.STEADY, written=False)
    telling.passed(Verdict.ERROR, "no answer again", written=False)
    assert len(telling.events()) == 2, "what was forgotten begins anew"


def test_the_same_step_told_twice_is_one_event_and_another_step_is_another(telling):
    with_handler(telling)
    for reason in ("to 10 %", "to 10 %", "to 50 %"):
        telling.passed(Verdict.ADVANCE, reason)
    assert sorted(event["note"][:7] for event in telling.events()) == ["to 10 %", "to 50 %"]


def test_a_note_is_cut_to_what_the_api_server_takes_and_holds_no_secret(telling):
    with_handler(telling)
    token = "ghp_" + "a1B2" * 9
    telling.passed(Verdict.HOLD, f"{token} " + "ä" * 2000)
    (event,) = telling.events()
    assert len(event["note"].encode()) <= 1024
    assert token not in event["note"]
    assert telling.heard.errors == []


def test_a_cluster_that_refuses_is_told_to_the_others_and_no_more(telling, watcher):
    with_handler(telling)
    roles = "rbac.authorization.k8s.io/v1"
    watcher.plane.api.delete(roles, "ClusterRoleBinding", "", "gati-reconciler-shop")
    time.sleep(1)
    telling.passed(Verdict.ADVANCE)
    assert len(telling.heard.errors) == 1
    assert telling.heard.errors[0].startswith("events: the API server would not list gatihandlers")


class Endless:
    """An API server that has the unit, takes everything, and takes its time; counts."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.clock, self.seconds, self.made = clock, seconds, 0

    def picked(self, api_version: str, kind: str, pick: Any, namespace: str = "") -> list[Any]:
        head = {"namespace": "shop", "name": "users", "uid": "u"}
        item = {"kind": kind, "apiVersion": api_version, "metadata": head}
        return [pick(item)] if kind == "GatiHandler" else []

    def create(self, item: Any) -> Any:
        self.made += 1
        self.clock.now += self.seconds
        return item


@pytest.mark.parametrize(("seconds", "told"), [(0.0, MOST), (3.0, 4)])
def test_a_pass_with_much_to_tell_tells_some_of_it_and_goes_on(seconds, told):
    clock = Clock()
    kube = Endless(clock, seconds)
    events = Events({"in-cluster": kube}, "pod", clock)  # type: ignore[dict-item]
    where = ("default", "in-cluster", ("shop", "handler-users"))
    events.started(Pass(1, 0.0))
    events.written(Commit("default", COMMIT, "s", (where,)))
    for number in range(400):
        events.decided(where, decision(Verdict.ADVANCE, str(number)), stored(where), None)
    events.ended(Pass(1, 0.0), 1.0, 0)
    assert kube.made == told
