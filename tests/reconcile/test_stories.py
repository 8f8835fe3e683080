"""The stories that involve the job, from a merge to the last commit, each on a real repository.

Clusters are synced, called and scraped by a small world with one clock; what the job makes of that,
and writes, is the real thing. After each story the branch is verified, and publishing once more
changes nothing.
"""

from __future__ import annotations

import itertools
import json

import pytest

from gati_gitops.decide.verdict import Verdict
from gati_gitops.errors import Refused
from gati_gitops.publish import run as publishing
from gati_gitops.reconcile import run as reconciling
from gati_gitops.reconcile.announce import Announcer, Listener
from tests.compile.kit import handler, project, version, weights
from tests.publish.kit import git
from tests.publish.test_stories import at_rest
from tests.reconcile.town import QUICK, Town

UNIT = "overlays/prod/east/shop/handler-users"
STAGE = "overlays/staging/stage/shop/handler-users"
DEV = "overlays/dev/dev-1/shop/handler-users"
CARTS = "overlays/prod/east/shop/handler-carts"
SHORT = {"rollbackFor": "10m", "parkFor": "20m", "grace": "5m", "tombstoneFor": "1h"}


def settings(environments=None, **spec):
    return project(environments, **{"rollout": QUICK, "decommission": SHORT, **spec})


def first(said=None, **spec):
    return {"gati.yaml": said or settings(), "users.yaml": handler(**spec)}


def active(town, id, folder=UNIT):
    return lambda: town.phases(folder).get(id) == ("Active", 100)


def subjects(town, since):
    return town.log("%s", "--reverse", f"{since}..main")


# -- one release -----------------------------------------------------------------------------------


def test_a_release_goes_10_50_100_and_the_old_version_drains_parks_and_goes(town):
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    begin = town.tip()
    town.until(active(town, "v2"))
    assert subjects(town, begin) == [
        "prod: shift shop/users v2 to 10 %",
        "prod: shift shop/users v2 to 50 %",
        "prod: activate shop/users v2",
    ]
    at_rest(town)
    begin = town.tip()
    town.until(lambda: "v1" not in town.phases(), limit=6 * 3600)
    assert subjects(town, begin) == [
        "prod: park shop/users v1",
        "prod: remove shop/users v1",
        "prod: remove shop/users v1",
    ], "its tombstone goes as well, when it had its time"
    assert town.phases() == {"v2": ("Active", 100)}
    at_rest(town)


def test_a_bad_release_is_rolled_back_and_never_tried_again(town):
    town.release(first())
    town.wait(120)
    town.site().behaves("v2", errors=0.2)
    town.release({"users.yaml": handler(version="v2")})
    begin = town.tip()
    town.until(lambda: town.phases()["v2"][0] == "Rejected")
    assert subjects(town, begin) == [
        "prod: shift shop/users v2 to 10 %",
        "prod: roll back shop/users v2",
    ]
    assert weights(town.tree()) == {"handler-users-v1": 100, "handler-users-v2": 0}
    note = json.loads(git(town.output, "notes", "--ref=refs/notes/gati-evidence", "show", "main"))
    facts = {f["name"]: f for v in note["decisions"][0]["versions"] for f in v["facts"]}
    assert any(fact.get("ok") is False for fact in facts.values()), "what failed is in the note"
    at_rest(town)
    tip = town.tip()
    for _ in range(10):
        town.wait(60)
        town.look()
    assert town.phases()["v2"][0] in ("Rejected", "Parked")
    town.release({"carts.yaml": handler("carts")})
    assert town.phases()["v1"] == ("Active", 100)
    assert tip != town.tip()
    # the fix starts
    town.release({"users.yaml": handler(version="v3")})
    assert town.phases()["v3"] == ("Starting", 0)
    town.until(active(town, "v3"))
    at_rest(town)


def test_a_version_that_cannot_start_is_rejected_without_a_request(town):
    town.release(first())
    town.wait(120)
    town.site().behaves("v2", ready=False, waiting="CrashLoopBackOff")
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v2"][0] == "Rejected")
    assert weights(town.tree()) == {"handler-users-v1": 100, "handler-users-v2": 0}
    at_rest(town)


# -- promotion -------------------------------------------------------------------------------------

STAGED = {
    "dev": {"clusters": {"dev-1": {}}, "rollout": {"strategy": "direct"}},
    "staging": ["stage"],
    "prod": {"clusters": {"east": {}}, "modes": {"rollout": "pull-request"}},
}


def test_version_and_image_edited_with_promotion_and_approval(town):
    promotion = {"prod": {"after": "staging", "dwell": "30m"}}
    town.release(first(settings(STAGED, promotion=promotion)))
    town.wait(60)
    assert town.phases() == {"v1": ("Pending", 0)}
    town.until(lambda: bool(town.server.open_ones()), limit=2 * 3600)
    town.accept("gati/shop.rollout/prod")
    assert town.phases() == {"v1": ("Active", 100)}, "its first version there"
    merged = town.clock
    town.release({"users.yaml": handler(version="v2")})
    assert town.phases(DEV) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert town.phases() == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    town.until(active(town, "v2", DEV), limit=1800)
    town.until(active(town, "v2", STAGE), limit=3600)
    assert town.phases() == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    assert not town.server.open_ones(), "nothing to approve before it is proved"
    town.until(lambda: bool(town.server.open_ones()), limit=2 * 3600)
    assert town.clock - merged >= 30 * 60
    (pull,) = town.server.open_ones()
    assert pull["title"] == "prod: start shop/users v2"
    assert "staging" in pull["body"] and "30m" in pull["body"], "with its evidence"
    assert town.ledger(STAGE).live("v2").proved >= 1800
    tip = town.tip()
    for _ in range(3):
        town.wait(60)
        town.look()
    assert len(town.server.open_ones()) == 1 and len(town.server.pulls) == 2, "one, and it stays"
    assert town.tip() == tip
    town.accept("gati/shop.rollout/prod")
    assert town.phases() == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    for step in (
        "shift shop/users v2 to 10 %",
        "shift shop/users v2 to 50 %",
        "activate shop/users v2",
    ):
        town.until(lambda: bool(town.server.open_ones()), limit=3600)
        (pull,) = town.server.open_ones()
        assert pull["title"] == f"prod: {step}"
        town.accept("gati/shop.rollout/prod")
    assert town.phases()["v2"] == ("Active", 100)
    at_rest(town)


def test_rejected_upstream_it_is_never_offered(town):
    promotion = {"prod": {"after": "staging", "dwell": "10m"}}
    town.release(first(settings({"staging": ["stage"], "prod": ["east"]}, promotion=promotion)))
    town.until(active(town, "v1"), limit=3600)
    town.site("staging", "stage").behaves("v2", errors=0.5)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases(STAGE)["v2"][0] == "Rejected")
    for _ in range(30):
        town.wait(60)
        passed = town.look()
    assert town.phases() == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    assert "staging" in town.said(passed).decision.reason


def test_a_stream_of_releases_starves_nobody(town):
    """Every release is overtaken by the next before its dwell is over; each still counts."""
    promotion = {"prod": {"after": "staging", "dwell": "40m"}}
    environments = {"staging": ["stage"], "prod": ["east"]}
    direct = {"strategy": "direct", "analysis": QUICK["analysis"]}
    town.release(first(settings(environments, promotion=promotion, rollout=direct)))
    town.until(active(town, "v1"), limit=3 * 3600)
    numbers = itertools.count(2)
    started = town.clock
    reached = []
    while town.clock < started + 4 * 3600:
        town.release({"users.yaml": handler(version=f"v{next(numbers)}")})
        for _ in range(15):
            town.wait(60)
            town.look()
        live = {id for id, (phase, _) in town.phases().items() if phase == "Active"}
        reached += sorted(live - set(reached))
    assert len(reached) > 3, f"prod went on: {reached}"
    at_rest(town)


# -- merges meet rollouts --------------------------------------------------------------------------


def test_merge_while_a_canary_is_at_50(town):
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v2"] == ("Canary", 50))
    town.release({"carts.yaml": handler("carts"), "users.yaml": handler(version="v2", replicas=3)})
    assert town.phases() == {"v1": ("Active", 50), "v2": ("Canary", 50)}
    assert weights(town.tree()) == {"handler-users-v1": 50, "handler-users-v2": 50}
    at_rest(town)
    town.until(active(town, "v2"))
    at_rest(town)


def test_two_releases_before_the_first_finished(town):
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v2"] == ("Canary", 10))
    town.release({"users.yaml": handler(version="v3")})
    town.release({"users.yaml": handler(version="v4")})
    assert town.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10), "v4": ("Pending", 0)}
    town.until(lambda: town.phases()["v4"][0] == "Starting")
    assert town.phases()["v2"] == ("Active", 100)
    town.until(active(town, "v4"))
    at_rest(town)


def test_a_revision_rolls_in_place_and_one_commit_brings_the_old_one_back(town):
    town.release(first())
    town.wait(120)
    old = town.ledger().live("v1").digest
    town.release({"users.yaml": handler(env={"A": "1"})})
    entry = town.ledger().live("v1")
    assert (entry.phase, entry.previous) == ("Active", old)
    begin = town.tip()
    town.act("rollback", environments=("prod",), reason="it does not start")
    assert len(subjects(town, begin)) == 1
    assert town.ledger().live("v1").digest == old
    assert town.verify().differences == ()
    # another one that stays healthy lets go of the way back
    town.release({"users.yaml": handler(env={"A": "2"})})
    assert town.ledger().live("v1").previous == old
    town.until(lambda: not town.ledger().live("v1").previous, limit=3600)
    at_rest(town)


def test_rollback_by_hand_then_the_next_merge(town):
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v2"] == ("Canary", 10))
    town.act("rollback", environments=("prod",), reason="errors at 10 %")
    assert town.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    town.release({"carts.yaml": handler("carts")})
    for _ in range(5):
        town.wait(60)
        town.look()
    assert town.phases()["v2"][0] == "Rejected"
    town.release({"users.yaml": handler(version="v3")})
    town.until(active(town, "v3"))
    assert town.phases()["v2"][0] in ("Rejected", "Parked")
    at_rest(town)


def test_a_person_reverts_a_canary_step(town):
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v2"] == ("Canary", 50))
    highest = town.ledger().seq
    town.revert()
    town.wait(60)
    passed = town.look()
    assert town.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    assert town.ledger().seq > highest
    assert "reverted by Ada" in town.ledger().hold
    assert any("reverted" in note for note in passed.notes)
    for _ in range(20):
        town.wait(60)
        passed = town.look()
    assert town.said(passed).decision.verdict is Verdict.HELD
    assert town.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10)}, "a person decided"
    town.act("release", reason="looked at it")
    town.until(active(town, "v2"))
    at_rest(town)


def test_hold_then_a_merge_with_a_new_version(town):
    town.release(first())
    town.wait(120)
    town.act("hold", reason="release freeze")
    town.release({"users.yaml": handler(version="v2")})
    assert town.phases() == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    for _ in range(5):
        town.wait(60)
        passed = town.look()
    assert town.said(passed).decision.verdict is Verdict.HELD
    assert town.phases() == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    town.act("release", reason="freeze is over")
    town.until(active(town, "v2"))
    at_rest(town)


def test_first_publish_with_90_and_10(town):
    files = {
        "gati.yaml": settings(),
        "users.yaml": handler(version="v2", weight=10),
        "v1.yaml": version("users", "v1", 90, image="ghcr.io/acme/users:v1", port=3000),
    }
    town.release(files)
    assert town.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    begin = town.tip()
    town.until(active(town, "v2"))
    assert subjects(town, begin) == [
        "prod: shift shop/users v2 to 50 %", "prod: activate shop/users v2",
    ]  # fmt: skip
    at_rest(town)


# -- a unit that goes ------------------------------------------------------------------------------


def test_a_unit_deleted_from_the_specs_serves_until_quiet_parks_and_goes(town):
    town.release({**first(), "carts.yaml": handler("carts")})
    town.wait(120)
    town.look()
    town.release({"users.yaml": None})
    assert town.ledger().retiring
    for _ in range(15):
        town.wait(60)
        town.look()
    assert town.phases() == {"v1": ("Active", 100)}, "somebody calls it"
    town.site().rate = 0.0
    town.site().behaves("v1", unit="handler-carts", pinned=10.0)
    begin = town.tip()
    town.until(lambda: town.phases()["v1"] == ("Parked", 0), limit=4 * 3600)
    assert subjects(town, begin)[-1] == "prod: park shop/users v1"
    town.until(lambda: f"{UNIT}/unit.yaml" not in town.tree(), limit=8 * 3600)
    assert subjects(town, begin)[-1] == "prod: remove shop/users"
    town.publish(whole=True)
    assert not [path for path in town.tree() if "handler-users" in path]
    at_rest(town)


def test_who_is_called_while_parked_comes_back(town):
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v1"] == ("Parked", 0), limit=4 * 3600)
    town.wait(300)
    town.look()
    town.site().behaves("v1", pinned=1.0)
    town.until(lambda: town.phases()["v1"] == ("Draining", 0), limit=1800)
    assert town.log("%s")[0] == "prod: revive shop/users v1"
    at_rest(town)


def test_mass_deletion_is_refused(town):
    town.release({"gati.yaml": settings(), **{f"u{n}.yaml": handler(f"u{n}") for n in range(12)}})
    tip = town.tip()
    town.merge({f"u{n}.yaml": None for n in range(8)})
    with pytest.raises(Refused):
        town.publish()
    town.wait(60)
    town.look()
    assert town.tip() == tip


# -- several writers -------------------------------------------------------------------------------


class HttpTown(Town):
    """A town whose repository is on a real server."""

    def at(self, place):
        self.place, self.output = place, place.bare
        return self

    def open(self, branch=None):
        return self.place.open(branch=branch)


@pytest.fixture
def http_town(tmp_path, places):
    town = HttpTown(tmp_path).at(places("http"))
    yield town
    town.close()


def test_reconcile_and_publish_race(http_town, monkeypatch):
    """Each lands between what the other read and its push; both are there once."""
    town = http_town
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.wait(60)
    town.merge({"carts.yaml": handler("carts")})
    raced = []

    def overtaken(original, act):
        def run(*arguments, **options):
            found = original(*arguments, **options)
            if act.__name__ not in raced:
                raced.append(act.__name__)
                act()
            return found

        return run

    # a publish lands while the job is about to write, then a pass while a publish is
    monkeypatch.setattr(reconciling, "propose", overtaken(reconciling.propose, town.publish))
    passed = town.look()
    assert passed.attempts == 2
    assert town.phases()["v2"] == ("Canary", 10)

    def passes():
        town.until(lambda: town.phases()["v2"] == ("Canary", 50))

    monkeypatch.setattr(publishing, "prepared_on", overtaken(publishing.prepared_on, passes))
    town.merge({"orders.yaml": handler("orders")})
    done = town.publish()
    assert done.attempts == 2
    assert raced == ["publish", "passes"]
    log = town.log("%s")
    for subject in (
        "prod: add shop/carts v1", "prod: add shop/orders v1",
        "prod: shift shop/users v2 to 10 %", "prod: shift shop/users v2 to 50 %",
    ):  # fmt: skip
        assert log.count(subject) == 1, subject
    assert town.phases()["v2"] == ("Canary", 50)
    monkeypatch.undo()
    at_rest(town)


def test_a_cluster_that_cannot_be_reached_freezes_itself_alone(town):
    town.release(first(settings({"prod": ["east", "west"]})))
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.site("prod", "west").unreachable = "connection refused"
    west = UNIT.replace("east", "west")
    passes = town.until(active(town, "v2"))
    assert town.phases(west) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert {failure.cluster for failure in passes[-1].failures} == {"west"}
    told = town.said(passes[-1], cluster="west")
    assert told.decision.verdict is Verdict.ERROR and "connection refused" in told.decision.reason
    town.site("prod", "west").unreachable = ""
    town.until(active(town, "v2", west))
    at_rest(town)


def test_a_metric_source_that_fails_moves_nothing_and_rolls_nothing_back(town):
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v2"] == ("Canary", 10))
    town.site().unmeasured = "no route to host"
    for _ in range(3):
        town.wait(60)
        passed = town.look()
        assert town.phases() == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    assert [failure.source for failure in passed.failures] == ["metrics"]
    town.site().unmeasured = ""
    town.until(active(town, "v2"))
    at_rest(town)


def test_a_sibling_that_rejected_a_version_holds_the_others(town):
    town.release(first(settings({"prod": ["east", "west"]})))
    town.wait(120)
    town.site("prod", "west").behaves("v2", errors=0.5)
    town.release({"users.yaml": handler(version="v2")})
    west = UNIT.replace("east", "west")
    town.until(lambda: town.phases(west)["v2"][0] == "Rejected")
    for _ in range(10):
        town.wait(60)
        town.look()
    assert town.ledger().hold, "a person must look"
    assert "west" in town.ledger().hold
    assert town.phases()["v2"][0] != "Active"


FIVE = [f"c{number}" for number in range(1, 6)]


def five(town):
    """A unit on five clusters, and a second version of it on its way."""
    town.release(first(settings({"prod": FIVE})))
    town.wait(120)
    return {cluster: UNIT.replace("east", cluster) for cluster in FIVE}


def test_a_release_that_is_bad_on_all_clusters_is_rolled_back_on_all(town):
    folders = five(town)
    for cluster in FIVE:
        town.site("prod", cluster).behaves("v2", errors=0.5)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: all(town.phases(f)["v2"][0] == "Rejected" for f in folders.values()))
    assert all(town.phases(f)["v1"] == ("Active", 100) for f in folders.values())


def test_a_release_that_is_bad_on_one_cluster_is_held_on_all_others(town):
    folders = five(town)
    town.site("prod", "c1").behaves("v2", errors=0.5)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases(folders["c1"])["v2"][0] == "Rejected")
    town.until(lambda: all("c1" in town.ledger(folders[c]).hold for c in FIVE[1:]))


def test_a_broken_ledger_stops_steps_on_siblings_and_no_rollback(town):
    town.release(first(settings({"prod": ["east", "west"]})))
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v2"] == ("Canary", 10))
    west = f"{UNIT.replace('east', 'west')}/rollout.yaml"
    town.by_hand(lambda place: (place / west).write_text("format: 1\nseq: what\n"))
    for _ in range(10):
        town.wait(60)
        passed = town.look()
    told = town.said(passed).decision
    assert told.verdict is Verdict.FROZEN and west in told.reason, told.reason
    assert town.phases()["v2"] == ("Canary", 10)
    town.site().behaves("v2", errors=0.5)
    town.until(lambda: town.phases()["v2"][0] == "Rejected")


def test_what_a_person_did_while_git_was_down_becomes_the_ledger(town):
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v2"] == ("Canary", 50))
    key = ("shop", "handler-users")
    town.site().glass[key] = ("v2 eats memory", {"v1": 100, "v2": 0})
    town.wait(60)
    town.look()
    assert town.phases() == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    assert "v2 eats memory" in town.ledger().hold
    assert town.log("%s")[0] == "prod: hold shop/users as a person left it"
    at_rest(town)


def test_an_old_job_can_still_roll_back_after_the_compiler_was_upgraded(town, monkeypatch):
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v2"] == ("Canary", 10))
    with monkeypatch.context() as newer:
        for module in (
            "compiler.compile", "compiler.write", "publish.incremental", "publish.prepare",
            "publish.message",
        ):  # fmt: skip
            newer.setattr(f"gati_gitops.{module}.__version__", "99.0.0")
        town.publish(upgrade=True)
    with pytest.raises(Refused, match=r"99\.0\.0"):
        town.publish()
    town.site().behaves("v2", errors=0.5)
    town.until(lambda: town.phases()["v2"][0] == "Rejected")
    assert town.phases()["v1"] == ("Active", 100)


def test_many_that_fail_at_once_are_doubted_and_a_listener_hears_of_it(town):
    names = [f"u{number}" for number in range(5)]
    town.release({"gati.yaml": settings(), **{f"{n}.yaml": handler(n) for n in names}})
    town.wait(120)
    for name in names:
        town.site().behaves("v2", unit=f"handler-{name}", ready=False, waiting="CrashLoopBackOff")
    town.release({f"{n}.yaml": handler(n, version="v2") for n in names})
    heard = []

    class Hearing(Listener):
        def breaker(self, env, why):
            heard.append((env, why))

    for _ in range(6):
        town.wait(30)
        town.look(announce=Announcer([Hearing()]))
    assert heard[0] == ("prod", "")
    assert "5 of 5 rollouts fail at once" in heard[-1][1]
    for name in names:
        assert town.phases(f"overlays/prod/east/shop/handler-{name}")["v2"] == ("Starting", 0)


def test_a_window_stops_progress_and_no_rollback(town):
    window = {"reason": "peak season", "from": "2030-03-17 17:00", "until": "2030-03-18 17:50"}
    rollout = {**QUICK, "freeze": [window]}
    town.release(first(settings(rollout=rollout)))
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.clock = 1_900_000_000.0 + 3600  # 2030-03-17 18:46 UTC
    for site in town.sites.values():
        site.now = town.clock
    town.wait(600)
    passed = town.look()
    told = town.said(passed).decision
    assert told.verdict is Verdict.FROZEN and "peak season" in told.reason
    assert town.phases()["v2"] == ("Starting", 0)
    town.job(UNIT, v1=("Active", 90), v2=("Canary", 10))
    town.site().behaves("v2", errors=0.5)
    town.until(lambda: town.phases()["v2"][0] == "Rejected", limit=1800)


def test_a_pass_that_decides_nothing_writes_nothing(town):
    town.release(first())
    town.wait(600)
    tip = town.tip()
    refs = git(town.output, "for-each-ref")
    for _ in range(5):
        town.wait(60)
        passed = town.look()
        assert passed.steps == ()
        assert town.said(passed).decision.verdict is Verdict.STEADY
    assert town.tip() == tip
    assert git(town.output, "for-each-ref") == refs


def test_lost_clocks_make_a_step_longer_and_nothing_else(town, tmp_path):
    from gati_gitops.reconcile.clocks_store import FileClocks

    path = tmp_path / "clocks.json"
    town.clocks = FileClocks(path)
    town.release(first())
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.until(lambda: town.phases()["v2"] == ("Canary", 10))
    for _ in range(3):
        town.wait(30)
        town.look()
    path.write_text("not json")
    town.wait(30)
    passed = town.look()
    assert any("begin anew" in note for note in passed.notes)
    assert town.phases()["v2"] == ("Canary", 10)
    town.until(active(town, "v2"))
    at_rest(town)
