"""The number of pods goes from Git to a scaler: held first, seen to be held, then let go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gati_gitops.decide.observation import Live
from gati_gitops.decide.verdict import Verdict
from gati_gitops.errors import Outside
from gati_gitops.reconcile.handing import awaiting
from gati_gitops.reconcile.looking import Eyes
from tests.compile.kit import handler, objects
from tests.reconcile.test_stories import UNIT, first

SCALED = {"type": "hpa", "min": 2, "max": 9}
NAME = "handler-users-v1"


class Held:
    """Who holds which number of pods; a town's eyes see it."""

    def __init__(self, town) -> None:
        self.town = town
        self.names: dict[str, str] = {}
        self.asked: list[tuple] = []

    def hold(self, where, name: str) -> int:
        self.asked.append((where, name))
        self.names[name] = "gati-gitops-handover"
        return 3

    def eyes(self, scene, at) -> Eyes:
        eyes = self.town.eyes(scene, at)
        return Eyes(_Seeing(eyes.live, self.names), eyes.metrics)

    def look(self, **options):
        return self.town.look(open_eyes=self.eyes, **{"hold": self.hold, **options})


class _Seeing:
    def __init__(self, live, owners) -> None:
        self.live, self.owners = live, owners

    def look(self, wanted):
        found = dict(self.live.look(wanted))
        for key, unit in found.items():
            if isinstance(unit, Live):
                workloads = {
                    name: replace(one, replicas_owner=self.owners.get(name, ""))
                    for name, one in unit.workloads.items()
                }
                found[key] = replace(unit, workloads=workloads)
        return found


@pytest.fixture
def held(town):
    town.release(first(replicas=3))
    town.wait(600)
    town.release({"users.yaml": handler(replicas=3, autoscaling=SCALED)})
    town.wait(60)
    return Held(town)


def replicas(town) -> int | None:
    """What Git says of the number of pods."""
    from gati_gitops.render import MemoryFiles, render

    for item in render(MemoryFiles(town.tree()), UNIT).objects():
        if item["kind"] == "Deployment":
            return item["spec"].get("replicas")
    raise AssertionError("no Deployment")


def test_it_is_held_seen_and_let_go(town, held):
    assert replicas(town) == 3, "the scaler waits"
    passed = held.look()
    assert held.asked == [(("prod", "east", ("shop", "handler-users")), NAME)]
    assert passed.notes[-1] == f"shop/users: the 3 pods of {NAME} are held for its scaler"
    assert not passed.steps and replicas(town) == 3, "nothing is decided on what was not seen"
    town.wait(30)
    passed = held.look()
    assert town.said(passed).decision.verdict is Verdict.HAND_OVER
    assert replicas(town) is None
    kinds = {item["kind"] for item in objects(town.tree(), f"{UNIT}/scaling.yaml")}
    assert "HorizontalPodAutoscaler" in kinds
    town.wait(30)
    held.look()
    assert len(held.asked) == 1, "once is enough"


def test_a_dry_run_holds_nothing(held):
    held.look(dry_run=True)
    assert not held.asked


def test_who_does_not_lead_holds_nothing(held):
    held.look(leads=lambda: False)
    assert not held.asked


def test_what_somebody_holds_is_left_alone(held):
    held.names[NAME] = "kube-controller-manager"
    held.look()
    assert not held.asked, "somebody has it already"


def test_a_failure_is_a_note(town, held):
    def fails(where, name):
        raise Outside("403")

    passed = held.look(hold=fails)
    assert passed.notes[-1] == f"shop/users: nobody holds the pods of {NAME}: 403"
    assert replicas(town) == 3


def test_versions_without_a_scaler_are_left_alone(town):
    town.release(first(replicas=3))
    town.wait(600)
    held = Held(town)
    held.look()
    assert not held.asked


def test_what_a_person_has_stopped_is_left_alone(town, held):
    judged = town.said(held.look(hold=None))
    assert awaiting(judged) == (NAME,)
    ledger = replace(judged.stored.ledger, hold="incident")
    assert awaiting(replace(judged, stored=replace(judged.stored, ledger=ledger))) == ()
    live = replace(judged.seen.live, frozen="incident")
    assert awaiting(replace(judged, seen=replace(judged.seen, live=live))) == ()
    gone = replace(judged.seen.live, workloads={})
    assert awaiting(replace(judged, seen=replace(judged.seen, live=gone))) == ()
    assert awaiting(replace(judged, seen=None)) == ()
    assert awaiting(replace(judged, stored=None)) == ()
