"""Nobody takes a step forward who could not take it back: whether the job may push is asked first.

The repository is reached over http, as in production: there a server may let us read and not write,
which shows when a push begins and not before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from gati_gitops.decide.verdict import Verdict
from gati_gitops.reconcile.run import Passed, run_pass
from tests.compile.kit import handler, project
from tests.publish.kit import git
from tests.publish.test_stories import at_rest
from tests.reconcile.town import QUICK, Town
from tests.servers.places import Place, place


@dataclass
class FarTown(Town):
    """A town whose job reaches the repository over http; people are on the server itself."""

    far: Place | None = None

    def look(self, *, dry_run: bool = False, **options: Any) -> Passed:
        assert self.far is not None
        with self.far.open() as repository:
            return run_pass(self.job_of(repository, **options), dry_run=dry_run)

    def begin(self, weight: int = 10) -> None:
        """A version is on its way, and has got so far."""
        self.release({"gati.yaml": project(rollout=QUICK), "users.yaml": handler()})
        self.wait(120)
        self.release({"users.yaml": handler(version="v2")})
        self.until(lambda: self.phases()["v2"][1] == weight)

    def ready_for_the_next_step(self) -> None:
        """Looks until the next one would advance, and not one more."""
        for _ in range(40):
            self.wait(30)
            if self.said(self.look(dry_run=True)).decision.verdict is Verdict.ADVANCE:
                return
            self.look()
        raise AssertionError("it never got that far")


@pytest.fixture
def town(repositories, names, web):
    root = repositories / f"town{next(names)}"
    town = FarTown(root)
    git(town.output, "config", "gc.auto", "0")
    town.far = place("http", town.output, web=web)
    yield town
    town.close()


@pytest.mark.parametrize(("weight", "after"), [(0, ("Canary", 10)), (10, ("Canary", 50))])
def test_a_job_that_may_not_push_takes_no_step_until_it_may(town, weight, after):
    town.begin(weight)
    town.ready_for_the_next_step()
    tip = town.tip()
    git(town.output, "config", "http.receivepack", "false")
    for _ in range(3):
        passed = town.look()
        told = town.said(passed).decision
        assert told.move is None and told.verdict is not Verdict.ADVANCE, told.reason
        assert "a rollback could not be written" in told.reason, told.reason
        assert town.far.bare.name in told.reason and "403" in told.reason, told.reason
        (fact,) = [fact for fact in told.facts if fact.name == "job"]
        assert fact.ok is False and "403" in fact.value
        assert passed.error is None, "nothing was tried that could not be done"
        town.wait(30)
    assert town.tip() == tip
    git(town.output, "config", "http.receivepack", "true")
    town.until(lambda: town.phases()["v2"] == after, limit=600)
    town.until(lambda: town.phases()["v2"] == ("Active", 100))
    at_rest(town)


def test_a_way_back_is_tried_whatever_the_server_said(town):
    """What a gate keeps from going forward it must not keep from going back."""
    town.begin()
    town.site().behaves("v2", errors=0.5)
    git(town.output, "config", "http.receivepack", "false")
    tip = town.tip()
    passes = []
    for _ in range(8):
        town.wait(30)
        passes.append(town.look())
    tried = [one for one in passes if one.error is not None]
    assert tried and "403" in tried[-1].error.message
    assert {town.said(one).decision.verdict for one in tried} == {Verdict.ROLLBACK}
    assert town.tip() == tip
    git(town.output, "config", "http.receivepack", "true")
    town.until(lambda: town.phases()["v2"][0] == "Rejected", limit=120)


def test_a_push_that_a_hook_refuses_is_told_and_changes_nothing(town):
    """Nobody can ask a hook beforehand: the push fails whole, is told, and is made again."""
    town.begin()
    town.ready_for_the_next_step()
    tip = town.tip()
    town.far.hook("pre-receive", 'echo "this branch is frozen" >&2; exit 1')
    passed = town.look()
    assert passed.error is not None and "frozen" in str(passed.error.message)
    assert (town.tip(), passed.steps) == (tip, ())
    town.far.hook("pre-receive", "exit 0")
    town.until(lambda: town.phases()["v2"] == ("Canary", 50), limit=600)
    shifts = [line for line in town.log("%s") if line.endswith("v2 to 50 %")]
    assert len(shifts) == 1
