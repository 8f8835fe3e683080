"""Faults of delivery from end to end: a job, a repository and a cluster, and what stands in Git after.

What one judgement makes of them is in test_delivery_decisions.py. Here is what no judgement alone
can promise: that nothing is written twice, too late, by two, or over what a person did.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime

import pytest
import yaml

from gati_gitops.decide.verdict import Verdict
from gati_gitops.errors import Refused
from gati_gitops.reconcile import run as reconciling
from gati_gitops.reconcile.announce import Announcer
from gati_gitops.reconcile.clocks_store import FileClocks, MemoryClocks
from gati_gitops.reconcile.fence import Fence, LostFence
from gati_gitops.reconcile.meters import Meters
from gati_gitops.repo.steps import EVENT
from tests.compile.kit import canary, handler, project, weights
from tests.disk.world import in_child
from tests.job.test_alerts import rules as alerts
from tests.publish.test_stories import at_rest
from tests.reconcile.test_stories import SHORT, UNIT, active, first, settings, subjects
from tests.reconcile.town import QUICK, Town

WEST = UNIT.replace("east", "west")
FENCE = "overlays/prod/job.yaml"


@pytest.fixture
def town(tmp_path):
    town = Town(tmp_path)
    yield town
    town.close()


def underway(town, id="v2", weight=10):
    """A version has got so far."""
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version=id)})
    town.until(lambda: town.phases()[id] == ("Canary", weight))
    return town


def about_to_step(town):
    """The next look decides that v2 gets its first share, and nothing has decided it yet."""
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.wait(60)
    told = town.said(town.look(dry_run=True)).decision
    assert told.verdict is Verdict.ADVANCE, told.reason
    return town.tip()


def between_look_and_push(monkeypatch, happens):
    """Something happens once, when a pass has decided and before it has written."""
    original, done = reconciling.propose, []

    def propose(*arguments, **options):
        found = original(*arguments, **options)
        if not done:
            done.append(True)
            happens()
        return found

    monkeypatch.setattr(reconciling, "propose", propose)


def shifts(town):
    return [line for line in town.log("%s") if line.startswith("prod: shift shop/users v2")]


# -- T1, K17: what is counted, and what wakes somebody ---------------------------------------------


def alert_on(metric):
    (found,) = [rule for rule in alerts() if metric in rule["expr"]]
    return found["alert"]


def test_T01_an_outage_of_metrics_is_counted_and_alerted(town):
    underway(town)
    tip = town.tip()
    meters = Meters(lambda: town.clock)
    town.site().unmeasured = "connection refused"
    for _ in range(3):
        town.wait(60)
        told = town.said(town.look(announce=Announcer([meters]))).decision
        assert told.verdict is Verdict.ERROR and "connection refused" in told.reason
    value = meters.registry.get_sample_value
    assert value("gati_gitops_errors_total", {"source": "metrics"}) == 3
    place = {"env": "prod", "cluster": "east"}
    assert value("gati_gitops_decisions_total", {**place, "verdict": "error"}) == 3
    assert alert_on("gati_gitops_errors_total") == "GatiReconcilerErrors"
    assert town.tip() == tip


def test_K17_many_that_fail_at_once_freeze_everything_and_wake_somebody(town):
    names = [f"u{number}" for number in range(5)]
    town.release({"gati.yaml": settings(), **{f"{n}.yaml": handler(n) for n in names}})
    town.wait(120)
    town.release({f"{n}.yaml": handler(n, version="v2") for n in names})
    folders = [f"overlays/prod/east/shop/handler-{name}" for name in names]
    town.until(lambda: all(town.phases(one)["v2"] == ("Canary", 10) for one in folders))
    tip = town.tip()
    for name in names:
        town.site().behaves("v2", unit=f"handler-{name}", errors=0.5)
    meters = Meters(lambda: town.clock)
    for _ in range(6):
        town.wait(30)
        passed = town.look(announce=Announcer([meters]))
    assert {one.decision.verdict for one in passed.judged} == {Verdict.FROZEN}
    assert "5 of 5 rollouts fail at once" in passed.judged[0].decision.reason
    assert meters.registry.get_sample_value("gati_gitops_breaker_open", {"env": "prod"}) == 1
    assert alert_on("gati_gitops_breaker_open") == "GatiReconcilerBreakerOpen"
    assert town.tip() == tip


# -- K5, K6: what was committed is not what is there -----------------------------------------------


def test_K05_a_step_begins_when_the_cluster_shows_it(town):
    underway(town)
    town.site().synced = False
    tip = town.tip()
    begun = town.clock
    for _ in range(20):
        town.wait(60)
        told = town.said(town.look()).decision
        assert "v2 waits for the cluster" in told.reason, told.reason
    assert town.tip() == tip
    town.site().synced = True
    synced = town.clock
    town.until(lambda: town.phases()["v2"] == ("Canary", 50))
    assert synced - begun >= 1200 and town.clock - synced >= 120, "all of stepFor, from the sync on"


def test_K06_an_engine_that_says_synced_is_not_believed(town):
    """Synced at the head, while the cluster runs an older commit."""
    underway(town)
    assert town.site().engine.state == "synced"
    town.site().synced = False
    tip = town.tip()
    for _ in range(20):
        town.wait(60)
        told = town.said(town.look()).decision
        assert told.move is None
    (route,) = [fact for fact in told.facts if fact.name == "route"]
    assert route.ok is False and "the ledger" in route.value
    assert town.tip() == tip


# -- K13: a version that comes in the middle -------------------------------------------------------


def test_K13_a_third_version_gets_nothing_before_the_second_is_done_with(town):
    underway(town, weight=50)
    town.release({"users.yaml": handler(version="v3")})
    begin = town.tip()
    half = {"v1": ("Active", 50), "v2": ("Canary", 50), "v3": ("Pending", 0)}
    assert town.phases() == half
    assert weights(town.tree()) == {"handler-users-v1": 50, "handler-users-v2": 50}
    town.site().behaves("v2", errors=0.5)
    while town.phases() == half:
        town.wait(30)
        town.look()
    # its traffic goes to the stable version first, and it keeps its pods until nobody calls it
    assert subjects(town, begin) == ["prod: roll back shop/users v2"]
    assert town.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0), "v3": ("Pending", 0)}
    town.sync()
    assert town.site().running[("shop", "handler-users"), "handler-users-v2"].pods == 2
    left = town.clock
    town.until(lambda: len(subjects(town, begin)) > 1)
    assert subjects(town, begin)[1] == "prod: park shop/users v2"
    assert town.clock - left >= 300, "not before its grace is over"
    # what was queued behind a version that failed starts when a person says so
    town.act("release", environments=("prod",), reason="v3 has the fix")
    town.until(active(town, "v3"))
    at_rest(town)


# -- K15, K16: what would vanish -------------------------------------------------------------------


def test_K15_specs_that_are_empty_or_halved_commit_nothing(town):
    units = {f"u{n}.yaml": handler(f"u{n}") for n in range(12)}
    town.release({"gati.yaml": settings(), **units})
    tip = town.tip()
    town.merge(dict.fromkeys(list(units)[:8]))
    with pytest.raises(Refused, match="8 units of prod would go") as caught:
        town.publish()
    assert caught.value.remedy == "if that is meant: --allow-removals 8"
    town.merge(dict.fromkeys(list(units)[8:]))
    for allowed in (0, 1000):  # no number of removals means all of it
        with pytest.raises(Refused, match="no unit at all"):
            town.publish(removals=allowed)
    town.wait(60)
    town.look()
    assert town.tip() == tip


def test_K16_a_namespace_goes_only_when_a_person_names_it(town):
    said = canary({"prod": {"clusters": {"east": {}}, "onDelete": "immediate"}})
    town.release({"gati.yaml": said, "a.yaml": handler(), "b.yaml": handler("x", namespace="two")})
    tip = town.tip()
    town.merge({"b.yaml": None})
    with pytest.raises(Refused, match="Namespace two would go from east, with all that is in it"):
        town.publish(removals=1000)
    town.look()
    assert town.tip() == tip
    town.publish(deletes=["Namespace/two"])
    assert not any(path.startswith("overlays/prod/east/two/") for path in town.tree())


# -- K18: one of several clusters ------------------------------------------------------------------


def test_K18_what_a_cluster_out_of_reach_runs_from_is_not_taken_away(town):
    town.release(first(settings({"prod": ["east", "west"]})))
    base = {path for path in town.tree() if path.startswith("base/") and "/v1" in path}
    assert base
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.site("prod", "west").unreachable = "connection refused"
    passes = town.until(lambda: "v1" not in town.phases(), limit=12 * 3600, every=60)
    told = town.said(passes[-1], cluster="west").decision
    assert told.verdict is Verdict.ERROR and "connection refused" in told.reason
    assert town.phases(WEST) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    town.publish()  # which sweeps what nobody names
    assert base <= town.tree().keys()
    town.site("prod", "west").unreachable = ""
    town.until(lambda: "v1" not in town.phases(WEST), limit=12 * 3600, every=60)
    town.publish()
    assert not base & town.tree().keys()
    at_rest(town)


# -- K19: runs that overlap, come again, or do not come --------------------------------------------


def test_K19_of_two_runs_that_overlap_the_second_stops(town, monkeypatch):
    """One CronJob starts its next run while the last one has not written yet."""
    about_to_step(town)
    others = []
    run = lambda: others.append(town.look(fence=Fence("town", holder="in time")))  # noqa: E731
    between_look_and_push(monkeypatch, run)
    with pytest.raises(LostFence, match="another process of the job town"):
        town.look(fence=Fence("town", holder="late"))
    assert len(others[0].steps) == 1
    assert shifts(town) == ["prod: shift shop/users v2 to 10 %"]
    at_rest(town)


@pytest.mark.parametrize("remembers", [True, False])
def test_K19_a_run_that_comes_again_finds_its_decision(town, remembers):
    about_to_step(town)
    town.look(fence=Fence("town"))
    tip = town.tip()
    for _ in range(3):
        clocks = town.clocks if remembers else MemoryClocks()
        passed = town.look(fence=Fence("town"), clocks=clocks)
        assert passed.steps == ()
    assert town.tip() == tip


def test_K19_runs_that_were_missed_are_not_made_up_for(town):
    """However long nobody ran: the next run takes one step at most, and on evidence."""
    underway(town)
    for _ in range(2):
        before = town.phases()["v2"][1]
        town.wait(3600)
        town.look(fence=Fence("town"))
        assert town.phases()["v2"][1] in (before, {10: 50, 50: 100}[before])
        town.look(fence=Fence("town"))
        assert town.phases()["v2"][1] in (before, {10: 50, 50: 100}[before])
    town.until(active(town, "v2"))
    at_rest(town)


def test_K19_an_hour_that_lives_twice_is_no_second_chance(town):
    """Berlin sets its clocks back on 2030-10-27, 03:00 to 02:00, and a window ends at 02:30."""
    window = {"reason": "night", "from": "Sat 22:00", "until": "Sun 02:30", "zone": "Europe/Berlin"}
    town.clock = datetime(2030, 10, 26, 23, 0, tzinfo=UTC).timestamp()  # 01:00
    town.release(first(settings(rollout={**QUICK, "freeze": [window]})))
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.wait(15)
    tip = town.tip()
    second = datetime(2030, 10, 27, 1, 30, tzinfo=UTC).timestamp()
    while town.clock < second - 120:
        town.wait(120)
        passed = town.look(fence=Fence("town"))
        assert "night" in town.said(passed).decision.reason
    assert town.tip() == tip
    town.until(lambda: town.phases()["v2"] == ("Canary", 10), limit=600)
    assert len(shifts(town)) == 1


# -- K20: runs that are cut off --------------------------------------------------------------------


def test_K20_a_lease_that_is_lost_between_look_and_push_stops_the_push(town, monkeypatch):
    tip = about_to_step(town)
    leads = [True]
    between_look_and_push(monkeypatch, leads.clear)
    with pytest.raises(LostFence, match="leads by now"):
        town.look(leads=lambda: bool(leads))
    assert town.tip() == tip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Forks beside threads.
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("at", ["after-look", "after-objects", "before-swap", "after-swap"])
def test_K20_a_run_that_is_ended_leaves_all_of_its_step_or_nothing(town, number, at):
    town.clocks = FileClocks(town.root / "clocks.json")
    about_to_step(town)

    def work():
        def end(event, args):
            if event == EVENT and args[0] == at:
                os.kill(os.getpid(), number)

        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.addaudithook(end)
        town.look(fence=Fence("town"))

    assert in_child(work) == -number
    assert len(shifts(town)) == (at == "after-swap")
    for _ in range(2):
        town.look(fence=Fence("town"))
        assert shifts(town) == ["prod: shift shop/users v2 to 10 %"]
    at_rest(town)


def test_K20_what_was_seen_before_a_pause_is_not_written_after_it(town, monkeypatch):
    """The machine sleeps for two minutes; meanwhile the version breaks."""
    tip = about_to_step(town)

    def sleeps():
        town.site().behaves("v2", ready=False, waiting="CrashLoopBackOff")
        town.wait(120)

    between_look_and_push(monkeypatch, sleeps)
    told = town.said(town.look()).decision
    assert "CrashLoopBackOff" in told.reason, "it was looked at again"
    assert (told.move, town.tip()) == (None, tip)


def test_K20_a_late_push_is_refused_and_what_came_between_stays(town, monkeypatch):
    about_to_step(town)
    hold = lambda: town.act("hold", reason="a person was faster")  # noqa: E731
    between_look_and_push(monkeypatch, hold)
    passed = town.look()
    assert town.said(passed).decision.move is None
    assert town.ledger().hold == "a person was faster"
    assert shifts(town) == [] and passed.steps == ()
    assert passed.attempts > 1, "it was refused, and read anew"


def test_K20_a_run_that_slept_while_another_led_is_refused(town, monkeypatch):
    about_to_step(town)

    def replaced():
        town.look(fence=Fence("town", holder="awake"))
        town.wait(60)

    between_look_and_push(monkeypatch, replaced)
    with pytest.raises(LostFence, match="another process of the job town"):
        town.look(fence=Fence("town", holder="asleep"))
    assert len(shifts(town)) == 1
    assert yaml.safe_load(town.tree()[FENCE])["clusters"]["east"]["holder"] == "awake"


# -- K21: two jobs ---------------------------------------------------------------------------------


def test_K21_a_job_of_another_owner_is_refused_with_both_names(town):
    underway(town)
    assert yaml.safe_load(town.tree()[FENCE])["clusters"]["east"]["owner"] == "town"
    town.wait(300)
    tip = town.tip()
    for _ in range(3):
        with pytest.raises(LostFence) as caught:
            town.look(fence=Fence("intruder"))
        assert caught.value.exit_code == 5 and caught.value.foreign
        assert "the job town" in caught.value.message and "is intruder" in caught.value.message
        assert "stop one of the two" in caught.value.remedy
        town.wait(60)
    assert town.tip() == tip, "it has written nothing"
    town.until(active(town, "v2"))  # and kept nobody from anything
    at_rest(town)


def test_K21_a_job_that_was_replaced_on_purpose_is_refused_in_turn(town):
    underway(town)
    old, town.fence = town.fence, Fence("heir", take_over=True)
    town.until(lambda: town.phases()["v2"] == ("Canary", 50), limit=600)
    assert yaml.safe_load(town.tree()[FENCE])["clusters"]["east"]["owner"] == "heir"
    tip = town.tip()
    with pytest.raises(LostFence, match="the job heir, and this one is town"):
        town.look(fence=old)
    assert town.tip() == tip


def test_K21_jobs_of_different_clusters_do_not_meet(town):
    """An owner is of one cluster; siblings may have others."""
    from gati_gitops.reconcile.places import Narrowing

    town.release(first(project({"prod": ["east", "west"]}, rollout=QUICK, decommission=SHORT)))
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.wait(60)
    town.look(fence=Fence("one"), narrowing=Narrowing(clusters=("east",)))
    town.look(fence=Fence("two"), narrowing=Narrowing(clusters=("west",)))
    owners = yaml.safe_load(town.tree()[FENCE])["clusters"]
    assert {at: term["owner"] for at, term in owners.items()} == {"east": "one", "west": "two"}
