"""What people decide, one unit on one cluster: what each decision does, and what it refuses.

Every decision is written without specs; ``settled`` asks a compile of the specs whether anything is
left to do.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gati_gitops.errors import Refused
from gati_gitops.ledger import acts
from gati_gitops.ledger.model import Phase
from tests.compile.acts import acted, outcome
from tests.compile.kit import (
    UNIT,
    below,
    canary,
    compiled,
    dangling,
    decide,
    handler,
    ledger,
    manifests,
    module,
    moved,
    objects,
    phases,
    project,
    settled,
    tree_of,
    version,
    weights,
)
from tests.ledger.kit import TWO, after_two, files_of

WEST = UNIT.replace("east", "west")


def refused(tree, act, *arguments, **options):
    with pytest.raises(Refused) as error:
        acted(tree, act, *arguments, **options)
    assert error.value.remedy
    return error.value


# -- hold ------------------------------------------------------------------------------------------


def test_hold_freezes_and_says_why():
    files = files_of()
    tree = tree_of(files)
    held = acted(tree, acts.hold, "incident 42")
    assert ledger(held).hold == "incident 42"
    assert ledger(held).seq == ledger(tree).seq + 1
    assert manifests(held) == manifests(tree)
    assert acted(held, acts.hold, "incident 42") == held, "the same again changes nothing"
    assert ledger(acted(held, acts.hold, "incident 43")).hold == "incident 43"
    settled(files, held)


def test_what_is_merged_under_a_hold_is_stored_and_comes_with_the_release():
    files = files_of(version="v1")
    tree = acted(tree_of(files), acts.hold, "moving the database")
    merged = files_of(version="v2", replicas=9, hosts=["shop.example.com"])
    held = tree_of(merged, tree, sweep=False)
    assert manifests(held) == manifests(tree)
    assert phases(held) == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    free = acted(held, acts.lift)
    assert phases(free) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert b"shop.example.com" in free[f"{UNIT}/route.yaml"], "without the specs at hand"
    settled(merged, free)


def test_a_change_of_a_running_version_under_a_hold_comes_with_the_release():
    tree = acted(tree_of(files_of(replicas=2)), acts.hold, "load test")
    merged = files_of(replicas=7)
    held = tree_of(merged, tree)
    assert manifests(held) == manifests(tree)
    assert objects(held, f"{UNIT}/unit.yaml")[0]["next"]["versions"][0]["scaling"]["replicas"] == 7
    free = acted(held, acts.release)
    assert b"replicas: 7" in free[f"{UNIT}/kustomization.yaml"]
    assert b"next:" not in free[f"{UNIT}/unit.yaml"]
    settled(merged, free)


def test_a_unit_whose_specs_went_under_a_hold_retires_with_the_release():
    files = {**files_of(), "orders.yaml": handler("orders")}
    tree = acted(tree_of(files), acts.hold, "audit")
    del files["users.yaml"]
    held = tree_of(files, tree)
    assert not ledger(held).retiring
    free = acted(held, acts.release)
    assert ledger(free).retiring
    settled(files, free)


def test_a_lost_ledger_is_held_until_it_is_released():
    files = files_of()
    tree = tree_of(files)
    lost = {path: data for path, data in tree.items() if path != f"{UNIT}/rollout.yaml"}
    free = acted(lost, acts.release)
    assert not ledger(free).hold
    assert phases(free) == {"v1": ("Active", 100)}
    settled(files, free)


# -- release ---------------------------------------------------------------------------------------


def test_release_under_manual_gives_the_weight_of_the_spec_and_the_old_version_drains():
    files, tree = after_two(project())
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    settled(files, tree)
    free = acted(tree, acts.release)
    assert phases(free) == {"v1": ("Draining", 0), "v2": ("Active", 100)}
    assert weights(free) == {"handler-users-v1": 0, "handler-users-v2": 100}
    settled(files, free)
    assert acted(free, acts.release) == free, "nothing is left to release"


def test_release_under_manual_with_shares():
    tree = tree_of(files_of(project(), version="v1"))
    files = {
        "gati.yaml": project(),
        "users.yaml": handler(version="v2", weight=20),
        "v1.yaml": version("users", "v1", 80, image="ghcr.io/acme/users:v1"),
    }
    tree = tree_of(files, tree)
    free = acted(tree, acts.release)
    assert phases(free) == {"v1": ("Active", 80), "v2": ("Canary", 20)}
    settled(files, free)


def test_release_moves_no_weight_under_canary():
    _, tree = after_two()
    assert acted(tree, acts.release) == tree
    assert "nothing waits" in outcome(tree, acts.release).notes[0]


def test_release_starts_what_waits_for_promotion():
    settings = canary(TWO, promotion={"prod": {"after": "staging"}})
    first = files_of(settings, version="v1")
    tree = tree_of(first)
    assert phases(tree) == {"v1": ("Pending", 0)}
    tree = acted(tree, acts.release)
    assert phases(tree) == {"v1": ("Active", 100)}, "as on a first publish"
    settled(first, tree)
    second = files_of(settings, version="v2")
    tree = tree_of(second, tree)
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    tree = acted(tree, acts.release)
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert ledger(tree).target == "v2"
    settled(second, tree)
    # a revision rolls in place, and can return
    third = files_of(settings, version="v2", env={"LEVEL": "debug"})
    tree = tree_of(third, decide(tree, moved(v1=("Draining", 0), v2=("Active", 100))))
    assert phases(tree)["v2'"] == ("Active", 100) or phases(tree)["v2"] == ("Active", 100)
    tree = acted(tree, acts.release)
    assert phases(tree)["v2"] == ("Active", 100)
    assert ledger(tree).live("v2").previous
    settled(third, tree)


def test_what_waits_its_turn_is_not_started_over_a_rollout():
    settings = canary(TWO, promotion={"prod": {"after": "staging"}})
    tree = acted(tree_of(files_of(settings, version="v1")), acts.release)
    tree = acted(tree_of(files_of(settings, version="v2"), tree), acts.release)
    tree = tree_of(files_of(settings, version="v3"), tree)
    error = refused(tree, acts.release)
    assert "waits its turn" in error.message and "v2 is being rolled out" in error.message


@pytest.mark.parametrize("strategy", ["manual", "canary"])
def test_what_was_rejected_elsewhere_is_not_released(strategy):
    settings = project(
        TWO, rollout={"strategy": strategy}, promotion={"prod": {"after": "staging"}}
    )
    tree = acted(tree_of(files_of(settings, version="v1")), acts.release)
    tree = tree_of(files_of(settings, version="v2"), tree)
    (waiting,) = [e for e in ledger(tree).entries if e.phase is Phase.PENDING]
    error = refused(tree, acts.release, {waiting.key: "staging on stage"})
    assert "rejected in staging on stage" in error.message
    assert acted(tree, acts.release, {("v2", "another digest"): "staging"}) != tree


def test_weights_that_cannot_be_followed_are_refused_by_name():
    image = {"image": "ghcr.io/acme/users:v2"}
    tree = tree_of(files_of(project(), version="v1"))
    files = files_of(project(), version="v2")
    tree = acted(tree_of(files, tree), acts.rollback)
    files = {
        "gati.yaml": project(),
        "users.yaml": handler(version="v3", weight=50),
        "v2.yaml": version("users", "v2", 50, **image),
    }
    tree = tree_of(files, tree)
    assert phases(tree)["v3"] == ("Starting", 0)
    error = refused(tree, acts.release)
    assert "v2 that does not serve" in error.message


# -- reject ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 10, 50])
def test_reject_gives_the_weight_back(share):
    phase = "Canary" if share else "Starting"
    files, tree = after_two(v1=("Active", 100 - share), v2=(phase, share))
    bad = acted(tree, acts.reject, "v2")
    assert phases(bad) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    assert weights(bad) == {"handler-users-v1": 100, "handler-users-v2": 0}
    assert acted(bad, acts.reject, "v2") == bad
    settled(files, bad)


def test_the_active_version_is_not_rejected():
    _, tree = after_two(v1=("Active", 90), v2=("Canary", 10))
    error = refused(tree, acts.reject, "v1")
    assert "90 %" in error.message and "rollback shop/users VERSION" in error.remedy
    revised = files_of(version="v1", env={"A": "b"})
    tree = tree_of(revised, tree_of(files_of(version="v1")))
    assert "returns to the revision before" in refused(tree, acts.reject, "v1").remedy


def test_what_waits_is_struck_and_remembered():
    settings = canary(TWO, promotion={"prod": {"after": "staging"}})
    tree = acted(tree_of(files_of(settings, version="v1")), acts.release)
    files = files_of(settings, version="v2")
    tree = tree_of(files, tree)
    bad = acted(tree, acts.reject, "v2")
    (entry,) = [e for e in ledger(bad).entries if e.id == "v2"]
    assert (entry.phase, entry.barred, entry.image) == (
        Phase.REMOVED, True, "ghcr.io/acme/users:v2",
    )  # fmt: skip
    settled(files, bad)
    assert acted(bad, acts.reject, "v2") == bad
    # with another digest it may be offered again
    fixed = files_of(settings, version="v2", env={"FIX": "1"})
    assert ("v2", Phase.PENDING) in [(e.id, e.phase) for e in ledger(tree_of(fixed, bad)).entries]


def test_a_revision_that_waits_is_struck_and_the_running_one_stays():
    settings = canary(TWO, promotion={"prod": {"after": "staging"}})
    tree = acted(tree_of(files_of(settings)), acts.release)
    files = files_of(settings, env={"A": "b"})
    tree = tree_of(files, tree)
    assert len(ledger(tree).entries) == 2
    bad = acted(tree, acts.reject, "v1")
    assert phases(bad) == {"v1": ("Active", 100)}
    assert len(ledger(bad).live("v1").revoked) == 1
    assert manifests(bad) == manifests(tree)
    settled(files, bad)
    # lifted, it waits again
    again = acted(bad, acts.forgive, "v1")
    assert ledger(again).entries == ledger(tree).entries
    settled(files, again)


def test_what_waited_behind_a_rejected_version_starts():
    files, tree = after_two()
    files = files_of(version="v3")
    tree = tree_of(files, tree)
    assert phases(tree)["v3"] == ("Pending", 0)
    bad = acted(tree, acts.reject, "v2")
    assert phases(bad) == {"v1": ("Active", 100), "v2": ("Rejected", 0), "v3": ("Starting", 0)}
    settled(files, bad)


def test_a_version_that_is_not_there_is_told_with_those_that_are():
    _, tree = after_two()
    error = refused(tree, acts.reject, "v9")
    assert "no version v9" in error.message and "v1, v2" in error.message


@pytest.mark.parametrize("phase", ["Parked", "Removed", "Draining"])
def test_versions_on_their_way_out_can_be_rejected_and_forgiven(phase):
    files, tree = after_two(v1=(phase, 0), v2=("Active", 100))
    bad = acted(tree, acts.reject, "v1")
    assert ledger(bad).live("v1").barred
    settled(files, bad)
    free = acted(bad, acts.forgive, "v1")
    assert not ledger(free).live("v1").barred
    assert phases(free)["v2"] == ("Active", 100)
    settled(files, free)


# -- lifting a rejection ---------------------------------------------------------------------------


def test_a_forgiven_target_starts_again():
    files, tree = after_two(v1=("Active", 90), v2=("Canary", 10))
    bad = acted(tree, acts.reject, "v2")
    free = acted(bad, acts.forgive, "v2")
    assert phases(free) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert ledger(free).rolling.id == "v2"
    settled(files, free)
    assert acted(free, acts.forgive, "v2") == free


def test_a_forgiven_version_under_manual_waits_for_its_release():
    files, tree = after_two(project())
    bad = acted(acted(tree, acts.release), acts.rollback)
    assert phases(bad) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    settled(files, bad)
    free = acted(bad, acts.forgive, "v2")
    assert phases(free) == {"v1": ("Active", 100), "v2": ("Starting", 0)}, "no traffic by that"
    settled(files, free)
    assert phases(acted(free, acts.release))["v2"] == ("Active", 100)


# -- rollback --------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 10, 99])
def test_rollback_leaves_the_rollout_in_progress(share):
    phase = "Canary" if share else "Starting"
    files, tree = after_two(v1=("Active", 100 - share), v2=(phase, share))
    back = acted(tree, acts.rollback)
    assert phases(back) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    assert ledger(back).target == "v1"
    settled(files, back)
    assert acted(back, acts.rollback) == back, "once more is not further back"
    assert "name the version" in outcome(back, acts.rollback).notes[0]


def test_rollback_from_active_to_what_still_serves_is_at_once():
    files, tree = after_two(v1=("Draining", 0), v2=("Active", 100))
    for back in (acted(tree, acts.rollback), acted(tree, acts.rollback, "v1")):
        assert phases(back) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
        settled(files, back)
    # the next merge: what was rejected stays so, a new version starts
    files = files_of(version="v3")
    tree = tree_of(files, back)
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Rejected", 0), "v3": ("Starting", 0)}


@pytest.mark.parametrize("strategy", ["canary", "manual"])
def test_rollback_to_a_parked_version_starts_it_first(strategy):
    settings = project(rollout={"strategy": strategy})
    files, tree = after_two(settings, v1=("Parked", 0), v2=("Active", 100))
    back = acted(tree, acts.rollback)
    assert phases(back) == {"v1": ("Starting", 0), "v2": ("Active", 100)}
    assert ledger(back).live("v2").barred, "judged, though it serves until the other is ready"
    assert ledger(back).returning.id == "v1"
    assert weights(back) == {"handler-users-v1": 0, "handler-users-v2": 100}
    settled(files, back)
    assert acted(back, acts.rollback) == back
    assert acted(back, acts.rollback, "v1") == back
    assert "release shop/users" in outcome(back, acts.rollback).notes[0]
    # ready: a person says so
    done = acted(back, acts.release)
    assert phases(done) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    settled(files, done)
    # or calls it off
    off = acted(back, acts.forgive, "v2")
    assert phases(off)["v2"] == ("Active", 100)
    assert not ledger(off).live("v2").barred
    settled(files, off)


def test_merges_while_a_rollback_waits_do_not_disturb_it():
    _, tree = after_two(v1=("Parked", 0), v2=("Active", 100))
    back = acted(tree, acts.rollback)
    files = files_of(version="v3")
    tree = tree_of(files, back)
    assert phases(tree) == {"v1": ("Starting", 0), "v2": ("Active", 100), "v3": ("Pending", 0)}
    assert ledger(tree).returning.id == "v1"
    done = acted(tree, acts.release)
    assert phases(done) == {"v1": ("Active", 100), "v2": ("Rejected", 0), "v3": ("Starting", 0)}
    settled(files, done)


def test_rollback_to_a_removed_version_needs_its_plan():
    files, tree = after_two(v1=("Removed", 0), v2=("Active", 100))
    error = refused(tree, acts.rollback, "v1")
    assert "no longer stored" in error.message and "publish its spec" in error.remedy
    assert "no other version" in refused(tree, acts.rollback).message
    # with its spec still there the plan is, too
    files["v1.yaml"] = version("users", "v1", 0, image="ghcr.io/acme/users:v1")
    files["users.yaml"] = handler(version="v2", weight=100)
    tree = tree_of(files, tree)
    assert phases(tree)["v1"] == ("Removed", 0)
    back = acted(tree, acts.rollback, "v1")
    assert phases(back) == {"v1": ("Starting", 0), "v2": ("Active", 100)}
    settled(files, back)


def test_rollback_returns_to_the_revision_before():
    tree = tree_of(files_of(env={"LEVEL": "info"}))
    before = ledger(tree).live("v1").digest
    files = files_of(env={"LEVEL": "debug"})
    tree = tree_of(files, tree)
    after = ledger(tree).live("v1").digest
    back = acted(tree, acts.rollback)
    entry = ledger(back).live("v1")
    assert (entry.digest, entry.phase, entry.weight) == (before, Phase.ACTIVE, 100)
    assert entry.revoked == (after,)
    settled(files, back)
    assert acted(back, acts.rollback) == back
    assert any("rejected" in note for p in compiled(files, back).units for note in p.outcome.notes)
    # a third revision goes on, and the rejected one never comes back by itself
    files = files_of(env={"LEVEL": "trace"})
    third = tree_of(files, back)
    assert ledger(third).live("v1").previous == before
    again = files_of(env={"LEVEL": "debug"})
    assert ledger(tree_of(again, third)).live("v1").digest != after
    # until a person lifts it
    free = acted(back, acts.forgive, "v1")
    assert ledger(free).live("v1").digest == after


def test_a_revision_that_was_left_does_not_wait_under_a_hold_either():
    tree = tree_of(files_of(env={"LEVEL": "info"}))
    files = files_of(env={"LEVEL": "debug"})
    back = acted(tree_of(files, tree), acts.rollback)
    held = acted(back, acts.hold, "audit")
    assert phases(held) == {"v1": ("Active", 100)}
    settled(files, held)


def test_a_rejected_digest_stays_rejected_after_the_fix_of_its_version():
    _, tree = after_two(v1=("Active", 90), v2=("Canary", 10))
    bad = acted(tree, acts.reject, "v2")
    digest = ledger(bad).live("v2").digest
    tree = tree_of(files_of(version="v2", env={"FIX": "1"}), bad)
    assert phases(tree)["v2"] == ("Starting", 0)
    fixed = ledger(tree).live("v2").digest
    assert fixed != digest
    undone = files_of(version="v2")
    tree = tree_of(undone, tree)
    assert ledger(tree).live("v2").digest == fixed, "the specs name the bad one in vain"
    settled(undone, tree)


def test_nobody_gives_weight_to_what_a_rollback_leaves():
    def split(one, two):
        return {
            "gati.yaml": project(),
            "users.yaml": handler(version="v2", weight=two),
            "v1.yaml": version("users", "v1", one, image="ghcr.io/acme/users:v1"),
        }

    tree = tree_of(files_of(project(), version="v0"))
    tree = acted(tree_of(split(40, 60), tree), acts.release)
    tree = decide(tree, moved(v0=("Parked", 0)))
    back = acted(tree_of(split(40, 60), tree), acts.rollback, "v0")
    shares = {"v0": ("Starting", 0), "v1": ("Canary", 40), "v2": ("Active", 60)}
    assert phases(back) == shares
    merged = tree_of(split(10, 90), back)
    assert phases(merged) == shares
    done = acted(merged, acts.release)
    assert phases(done) == {"v0": ("Active", 60), "v1": ("Canary", 40), "v2": ("Rejected", 0)}
    settled(split(10, 90), done)


def test_rollback_to_a_rejected_version_or_forward_is_refused():
    _, tree = after_two(v1=("Active", 90), v2=("Canary", 10))
    assert "nothing to go back to" in refused(tree, acts.rollback, "v2").message
    bad = acted(tree, acts.reject, "v2")
    assert "rejected itself" in refused(bad, acts.rollback, "v2").message
    assert "v9" in refused(bad, acts.rollback, "v9").message


def test_rollback_with_nothing_to_go_back_to_is_refused():
    tree = tree_of(files_of())
    error = refused(tree, acts.rollback)
    assert "no other version" in error.message
    settings = canary(TWO, promotion={"prod": {"after": "staging"}})
    pending = tree_of(files_of(settings))
    assert refused(pending, acts.rollback).message


def test_rollback_asks_which_of_several():
    tree = tree_of(files_of(version="v1"))
    for name, old in (("v2", "v1"), ("v3", "v2")):
        tree = tree_of(files_of(version=name), tree)
        tree = decide(tree, moved(**{old: ("Draining", 0), name: ("Active", 100)}))
    files = files_of(version="v3")
    tree = tree_of(files, tree)
    error = refused(tree, acts.rollback)
    assert "v1, v2" in error.message and "rollback shop/users" in error.remedy
    assert phases(acted(tree, acts.rollback, "v2"))["v2"] == ("Active", 100)


def test_rollback_of_a_split_moves_only_the_share_that_is_left():
    files = {
        "gati.yaml": project(),
        "users.yaml": handler(version="v3", weight=10),
        "v1.yaml": version("users", "v1", 60, image="ghcr.io/acme/users:v1"),
        "v2.yaml": version("users", "v2", 30, image="ghcr.io/acme/users:v2"),
    }
    tree = tree_of(files)
    back = acted(tree, acts.rollback)
    assert phases(back) == {"v1": ("Active", 70), "v2": ("Canary", 30), "v3": ("Rejected", 0)}
    settled(files, back)


def test_what_was_queued_behind_what_is_left_waits_for_a_person():
    _, tree = after_two()
    files = files_of(version="v3")
    tree = tree_of(files, tree)
    assert phases(tree)["v3"] == ("Pending", 0)
    back = acted(tree, acts.rollback)
    assert phases(back) == {"v1": ("Active", 100), "v2": ("Rejected", 0), "v3": ("Pending", 0)}
    settled(files, back)
    assert acted(back, acts.rollback) == back, "and is not rejected for being next"
    assert any("releases" in note for p in compiled(files, back).units for note in p.outcome.notes)
    held = acted(back, acts.hold, "audit")
    settled(files, held)
    assert phases(acted(held, acts.lift))["v3"] == ("Pending", 0)
    free = acted(back, acts.release)
    assert phases(free)["v3"] == ("Starting", 0)
    settled(files, free)
    # a newer version starts as usual, in its place
    newer = tree_of(files_of(version="v4"), back)
    assert phases(newer) == {"v1": ("Active", 100), "v2": ("Rejected", 0), "v4": ("Starting", 0)}


def test_rollback_works_on_a_held_unit_and_keeps_the_hold():
    files, tree = after_two(v1=("Active", 50), v2=("Canary", 50))
    held = acted(tree, acts.hold, "incident")
    back = acted(held, acts.rollback)
    assert phases(back) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    assert ledger(back).hold == "incident"
    settled(files, back)


def test_rollback_of_a_module():
    files = {"gati.yaml": canary(), "db.yaml": module(image="ghcr.io/acme/db:1.0.0")}
    tree = tree_of(files)
    files["db.yaml"] = module(image="ghcr.io/acme/db:1.1.0")
    tree = tree_of(files, tree)
    db = UNIT.replace("handler-users", "module-db")
    assert phases(tree, db)["1.1.0"] == ("Starting", 0)
    back = acted(tree, acts.rollback, unit="module-db")
    assert phases(back, db) == {"1.0.0": ("Active", 100), "1.1.0": ("Rejected", 0)}
    settled(files, back)


# -- retire ----------------------------------------------------------------------------------------


def retiring():
    files = {**files_of(), "orders.yaml": handler("orders")}
    tree = tree_of(files)
    del files["users.yaml"]
    return files, tree_of(files, tree)


def test_a_retiring_unit_goes_at_once():
    files, tree = retiring()
    assert ledger(tree).retiring
    gone = acted(tree, acts.retire)
    assert not below(gone, UNIT)
    assert b"handler-users" not in gone["overlays/prod/east/shop/kustomization.yaml"]
    settled(files, gone)


def test_a_unit_that_the_specs_have_is_retired_only_now():
    files = {**files_of(), "orders.yaml": handler("orders")}
    tree = tree_of(files)
    error = refused(tree, acts.retire)
    assert "bring it back" in error.message and "--now" in error.remedy
    gone = acted(tree, acts.retire, now=True)
    assert not below(gone, UNIT)
    assert not dangling(gone)
    assert phases(tree_of(files, gone)) == {"v1": ("Active", 100)}, "as was said"


def test_a_held_unit_is_not_retired():
    _, tree = retiring()
    held = acted(tree, acts.hold, "audit")
    assert "audit" in refused(held, acts.retire).message
    _, two = after_two(v1=("Draining", 0), v2=("Active", 100))
    held = acted(two, acts.hold, "audit")
    assert "audit" in refused(held, acts.remove, "v1").message


@pytest.mark.parametrize("phase", ["Draining", "Parked", "Rejected"])
def test_a_version_without_weight_is_removed_and_leaves_a_tombstone(phase):
    files, tree = after_two(v1=(phase, 0), v2=("Active", 100))
    gone = acted(tree, acts.remove, "v1")
    entry = ledger(gone).live("v1")
    assert (entry.phase, entry.image) == (Phase.REMOVED, "ghcr.io/acme/users:v1")
    assert entry.barred == (phase == "Rejected"), "a rejection is not forgotten"
    (route,) = objects(gone, f"{UNIT}/route.yaml")
    assert "gone-v1" in [rule["name"] for rule in route["spec"]["rules"]]
    assert below(gone, "base") == below(tree, "base"), "its folder goes by a commit of its own"
    settled(files, gone)
    assert acted(gone, acts.remove, "v1") == gone


def test_a_version_with_weight_or_wanted_by_the_specs_is_not_removed():
    _, tree = after_two(v1=("Active", 90), v2=("Canary", 10))
    for name in ("v1", "v2"):
        assert "rollback" in refused(tree, acts.remove, name).remedy
    _, starting = after_two()
    error = refused(starting, acts.remove, "v2")
    assert "start it again" in error.message and "reject" in error.remedy
    settings = canary(TWO, promotion={"prod": {"after": "staging"}})
    waiting = tree_of(files_of(settings))
    assert "reject" in refused(waiting, acts.remove, "v1").remedy


# -- clusters --------------------------------------------------------------------------------------


def test_a_decision_for_one_cluster_leaves_its_sibling_alone():
    settings = canary({"prod": ["east", "west"]})
    files = files_of(settings, version="v1")
    tree = tree_of(files)
    files = files_of(settings, version="v2")
    tree = tree_of(files, tree)
    bad = acted(tree, acts.reject, "v2", cluster="east")
    assert phases(bad)["v2"] == ("Rejected", 0)
    assert below(bad, WEST) == below(tree, WEST)
    settled(files, bad)


def test_numbers_rise_by_one_and_only_with_a_change():
    _, tree = after_two(v1=("Active", 90), v2=("Canary", 10))
    seq = ledger(tree).seq
    back = acted(tree, acts.rollback)
    assert ledger(back).seq == seq + 1
    assert ledger(back).key != ledger(tree).key
    assert ledger(acted(back, acts.rollback)).seq == seq + 1


def test_comments_of_people_stay():
    _, tree = after_two(v1=("Active", 90), v2=("Canary", 10))
    path = f"{UNIT}/rollout.yaml"
    tree[path] = tree[path].replace(b"versions:", b"# ask ann first\nversions:")
    back = acted(tree, acts.rollback)
    assert b"# ask ann first" in back[path]
    assert replace(ledger(back), entries=()) is not None
