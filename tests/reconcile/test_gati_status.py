"""The status of Gati objects in a real cluster, written by the job's own account."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.observation import Gap, Missing, Observation
from gati_gitops.decide.verdict import Verdict
from gati_gitops.ledger.model import Phase
from gati_gitops.reconcile.announce import Announcer, Listener, Pass
from gati_gitops.reconcile.gati_status import Status
from tests.compile.kit import document, handler
from tests.job.watcher import Watcher
from tests.reconcile.telling import decision, seen, stored


class Heard(Listener):
    def __init__(self) -> None:
        self.errors: list[str] = []

    def failed(self, source: str, error: str, env: str, cluster: str) -> None:
        self.errors.append(f"{source}: {error}")


class Counting:
    """The job's own API client, which counts what is written."""

    def __init__(self, kube: Any) -> None:
        self._kube, self.applied = kube, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kube, name)

    def apply(self, *args: Any, **options: Any) -> Any:
        self.applied += 1
        return self._kube.apply(*args, **options)


class Telling:
    def __init__(self, watcher: Watcher) -> None:
        self.watcher, self.api = watcher, watcher.plane.api
        self.now = 1900000000.0
        self.heard = Heard()
        self.kube = Counting(watcher.kube)
        status = Status({"in-cluster": self.kube}, lambda: self.now)  # type: ignore[dict-item]
        self.announce = Announcer([status, self.heard])
        self.where: Where = ("default", "in-cluster", (watcher.units, "handler-users"))
        self.module: Where = ("default", "in-cluster", (watcher.units, "module-pool"))

    def applied(self, text: str) -> None:
        self.api.apply(json.loads(text))

    def passed(
        self,
        verdict: Verdict = Verdict.STEADY,
        *entries: tuple[str, Phase, int],
        look: Observation | None = None,
        where: Where | None = None,
        retiring: bool = False,
    ) -> int:
        """One pass; how many objects it wrote."""
        before, this = self.kube.applied, Pass(1, self.now)
        self.now += 60
        self.announce.started(this)
        at = where or self.where
        made = stored(at, *entries, retiring=retiring)
        self.announce.decided(at, decision(verdict, "the reason"), made, look or seen())
        self.announce.ended(this, self.now)
        return self.kube.applied - before

    def status(self, kind: str = "GatiHandler", name: str = "users") -> dict[str, Any]:
        item = self.api.get("gati.dev/v1alpha1", kind, self.watcher.units, name)
        return item.get("status", {})


@pytest.fixture
def telling(watcher: Watcher) -> Telling:
    telling = Telling(watcher)
    telling.applied(handler(namespace=watcher.units))
    return telling


def test_a_handler_says_how_it_fares(telling):
    assert telling.passed(Verdict.ADVANCE) == 1
    assert telling.heard.errors == []
    status = telling.status()
    (condition,) = status.pop("conditions")
    assert status == {
        "phase": "Running",
        "replicas": 2,
        "readyReplicas": 2,
        "lastUpdated": "2030-03-17T17:47:40Z",
        "observedGeneration": 1,
    }
    assert condition == {
        "type": "Rollout",
        "status": "True",
        "reason": "Advance",
        "message": "the reason",
        "lastTransitionTime": "2030-03-17T17:47:40Z",
    }
    shown = telling.watcher.plane.kubectl("get", "gh", "users", "-n", telling.watcher.units)
    assert "Running" in shown


def test_what_is_as_it_was_is_not_written_again(telling):
    assert telling.passed() == 1
    assert [telling.passed() for _ in range(3)] == [0, 0, 0]
    assert telling.passed(look=seen(ready=1)) == 1
    assert telling.passed(Verdict.HOLD, look=seen(ready=1)) == 1


def test_a_condition_keeps_the_time_at_which_it_became_so(telling):
    telling.passed(Verdict.WAIT)
    began = telling.status()["conditions"][0]["lastTransitionTime"]
    telling.passed(Verdict.ADVANCE)
    (condition,) = telling.status()["conditions"]
    assert (condition["reason"], condition["lastTransitionTime"]) == ("Advance", began)
    telling.passed(Verdict.HOLD)
    (condition,) = telling.status()["conditions"]
    assert condition["status"] == "False"
    assert condition["lastTransitionTime"] > began


@pytest.mark.parametrize(
    ("look", "entries", "retiring", "phase"),
    [
        (seen(), (), False, "Running"),
        (seen(ready=1), (), False, "Running"),
        (seen(ready=0), (), False, "Pending"),
        (seen(ready=0, waiting="CrashLoopBackOff"), (), False, "Failed"),
        (seen(ready=0, stalled="it makes no progress"), (), False, "Failed"),
        (seen(desired=0, ready=0), (("v1", Phase.PENDING, 0),), False, "Pending"),
        (seen(desired=0, ready=0), (("v1", Phase.REMOVED, 0),), False, "Decommissioned"),
        (seen(desired=0, ready=0), (("v1", Phase.PARKED, 0),), True, "Decommissioned"),
    ],
)
def test_phases_of_a_handler(telling, look, entries, retiring, phase):
    telling.passed(Verdict.STEADY, *entries, look=look, retiring=retiring)
    assert telling.status()["phase"] == phase
    assert telling.heard.errors == []


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        (Verdict.STEADY, "True"),
        (Verdict.ERROR, "Unknown"),
        (Verdict.INCONCLUSIVE, "Unknown"),
        (Verdict.HELD, "False"),
        (Verdict.HOLD, "False"),
    ],
)
def test_the_condition_says_whether_the_rollout_goes_on(telling, verdict, status):
    telling.passed(verdict)
    assert telling.status()["conditions"][0]["status"] == status


def test_what_could_not_be_seen_is_left_as_it_was(telling):
    telling.passed()
    before = telling.status()
    unknown = Observation(Missing(Gap.ERROR, "no answer"), {})
    assert telling.passed(Verdict.ERROR, look=unknown) == 0
    assert telling.status() == before


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (Phase.CANARY, "Active"),
        (Phase.ACTIVE, "Active"),
        (Phase.DRAINING, "Draining"),
        (Phase.PARKED, "Draining"),
        (Phase.REMOVED, "Decommissioned"),
    ],
)
def test_versions_have_a_phase_of_their_own(telling, phase, said):
    spec = {"versionId": "v0", "breaking": False, "routingWeight": 0, "handler": "users"}
    telling.applied(document("GatiVersion", "users-v0", spec, telling.watcher.units))
    telling.passed(Verdict.STEADY, ("v0", phase, 0), ("v1", Phase.ACTIVE, 100))
    status = telling.status("GatiVersion", "users-v0")
    assert status["phase"] == said
    assert ("decommissionedAt" in status) == (said == "Decommissioned")
    assert telling.passed(Verdict.STEADY, ("v0", phase, 0), ("v1", Phase.ACTIVE, 100)) == 0
    assert telling.heard.errors == []


def test_modules_have_one_without_conditions(telling):
    spec = {"moduleName": "pool", "moduleType": "node", "runtime": "node:20", "replicas": 1,
            "image": "x/y:1", "port": 50051}  # fmt: skip
    telling.applied(document("GatiModule", "pool", spec, telling.watcher.units))
    telling.passed(where=telling.module)
    status = telling.status("GatiModule", "pool")
    assert status["phase"] == "Running" and "conditions" not in status
    assert telling.heard.errors == []


def test_somebody_else_s_condition_stays(telling):
    mine = {"type": "Seen", "status": "True"}
    body = {"status": {"phase": "Pending", "conditions": [mine]}}
    where = ("gati.dev/v1alpha1", "GatiHandler", telling.watcher.units, "users")
    telling.api.patch(*where, body, sub="status")
    telling.passed()
    assert {one["type"] for one in telling.status()["conditions"]} == {"Seen", "Rollout"}


def test_where_the_kinds_are_not_installed_nothing_is_written_and_nothing_fails():
    from gati_gitops.observe.kube import KubeUnserved

    class Bare:
        def picked(self, *_: Any) -> list[Any]:
            raise KubeUnserved("the cluster has no kind", status=404)

    heard = Heard()
    announce = Announcer([Status({"in-cluster": Bare()}), heard])  # type: ignore[dict-item]
    announce.started(Pass(1, 0.0))
    where = ("default", "in-cluster", ("shop", "handler-users"))
    announce.decided(where, decision(Verdict.STEADY), stored(where), seen())
    announce.ended(Pass(1, 0.0), 1.0)
    assert heard.errors == []
