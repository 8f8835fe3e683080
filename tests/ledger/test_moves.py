"""What the job decides, one unit on one cluster: what each move does, and what it refuses.

Every move is written without specs; ``settled`` asks a compile of the specs whether anything is left
to do.
"""

from __future__ import annotations

import pytest

from gati_gitops.decide.moves import moved as made
from gati_gitops.decide.verdict import Move, Verdict
from gati_gitops.errors import Refused
from gati_gitops.ledger import acts
from gati_gitops.ledger.model import Phase
from tests.compile.acts import acted
from tests.compile.kit import (
    UNIT,
    canary,
    handler,
    ledger,
    manifests,
    objects,
    phases,
    project,
    settled,
    tree_of,
    version,
    weights,
)
from tests.ledger.kit import TWO, after_two, files_of

PROMOTED = canary(TWO, promotion={"prod": {"after": "staging"}})
STAGE = UNIT.replace("prod/east", "staging/stage")


def do(tree, verdict, id="", **more):
    """The tree after a move; the digest is the one that stands in the ledger."""
    found = [e for e in ledger(tree).entries if e.id == id]
    digest = more.pop("digest", found[0].digest if found else "")
    return acted(tree, made, Move(Verdict(verdict), id, digest, **more))


def refused(tree, verdict, id="", **more):
    with pytest.raises(Refused) as error:
        do(tree, verdict, id, **more)
    assert error.value.remedy
    return error.value.message


# -- a version that comes --------------------------------------------------------------------------


def test_a_canary_goes_10_50_100_and_the_old_version_drains():
    files, tree = after_two()
    for weight in (10, 50):
        tree = do(tree, "advance", "v2", weight=weight)
        assert phases(tree) == {"v1": ("Active", 100 - weight), "v2": ("Canary", weight)}
        assert weights(tree) == {"handler-users-v1": 100 - weight, "handler-users-v2": weight}
        settled(files, tree)
    seq = ledger(tree).seq
    tree = do(tree, "activate", "v2")
    assert phases(tree) == {"v1": ("Draining", 0), "v2": ("Active", 100)}
    assert ledger(tree).seq == seq + 1
    settled(files, tree)


def test_the_same_move_twice_is_refused_or_changes_nothing():
    _, tree = after_two()
    ten = do(tree, "advance", "v2", weight=10)
    assert do(ten, "advance", "v2", weight=10) == ten
    active = do(ten, "activate", "v2")
    assert "not being rolled out" in refused(active, "activate", "v2")


def test_another_canary_gives_way_before_the_active_version():
    files = {
        **files_of(version="v1", weight=60),
        "a.yaml": version("users", "v0", 30, image="ghcr.io/acme/users:v0"),
        "b.yaml": version("users", "v2", 10, image="ghcr.io/acme/users:v2"),
    }
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2")
    del files["b.yaml"]
    tree = tree_of(files, tree)
    assert phases(tree) == {"v0": ("Canary", 30), "v1": ("Active", 60), "v2": ("Canary", 10)}
    tree = do(tree, "advance", "v2", weight=50)
    assert phases(tree) == {"v0": ("Canary", 30), "v1": ("Active", 20), "v2": ("Canary", 50)}
    tree = do(tree, "advance", "v2", weight=80)
    assert phases(tree) == {"v0": ("Canary", 20), "v1": ("Active", 0), "v2": ("Canary", 80)}
    settled(files, tree)
    tree = do(tree, "activate", "v2")
    assert phases(tree) == {"v0": ("Draining", 0), "v1": ("Draining", 0), "v2": ("Active", 100)}
    settled(files, tree)


def test_under_manual_what_is_ready_gets_the_weight_of_its_spec():
    files, tree = after_two(project())
    assert phases(tree)["v2"] == ("Starting", 0)
    tree = do(tree, "activate", "v2")
    assert phases(tree) == {"v1": ("Draining", 0), "v2": ("Active", 100)}
    settled(files, tree)


def test_under_manual_a_version_waits_for_others_that_get_weight():
    tree = tree_of(files_of(project(), version="v1"))
    files = {
        "gati.yaml": project(),
        "users.yaml": handler(version="v2", weight=50),
        "v3.yaml": version("users", "v3", 50, image="ghcr.io/acme/users:v3"),
    }
    tree = tree_of(files, tree)
    assert "cannot get the weight" in refused(tree, "advance", "v2")


# -- the fewest pods of who takes the traffic back -------------------------------------------------


@pytest.mark.parametrize(
    "scaling, where",
    [
        ({"replicas": 2}, "replicas: 7"),
        ({"autoscaling": {"min": 2, "max": 9}}, "minReplicas: 7"),
        ({"autoscaling": {"min": 2, "max": 5}}, "maxReplicas: 7"),
        ({"autoscaling": {"type": "keda", "min": 2, "max": 9}}, "minReplicaCount: 7"),
    ],
)
def test_the_active_version_keeps_its_pods_while_another_is_tried(scaling, where):
    metric = {"type": "cpu", "utilization": 70}
    if "autoscaling" in scaling:
        scaling["autoscaling"]["metrics"] = [metric]
    tree = tree_of(files_of(version="v1", **scaling))
    files = files_of(version="v2", **scaling)
    tree = tree_of(files, tree)
    tree = do(tree, "advance", "v2", weight=10, floor=7)
    text = b"".join(manifests(tree).values()).decode()
    assert text.count(where) == 1, "of the Active version alone"
    settled(files, tree)
    tree = do(tree, "advance", "v2", weight=50, floor=3)
    assert ledger(tree).active.floor == 7, "it never falls while the rollout runs"
    back = do(tree, "rollback", "v2", to="v1")
    assert ledger(back).active.floor == 7, "its scaler has not seen all of the traffic yet"
    settled(files, back)
    for end in (do(back, "settle", "v1"), do(back, "park", "v2")):
        assert not any(entry.floor for entry in ledger(end).entries)
        assert where not in b"".join(manifests(end).values()).decode()
        settled(files, end)


def test_a_version_gets_its_pods_before_the_traffic_and_keeps_them_beyond_the_rollout():
    files, tree = after_two()
    tree = do(tree, "prepare", "v2", room=5)
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert tree[f"{UNIT}/kustomization.yaml"].count(b"replicas: 5") == 1
    settled(files, tree)
    tree = do(tree, "advance", "v2", weight=10, floor=4, room=6)
    assert (ledger(tree).live("v1").floor, ledger(tree).live("v2").floor) == (4, 6)
    tree = do(tree, "activate", "v2")
    # the way back must be able to carry all of it until the version is seen to be well
    assert (ledger(tree).live("v1").floor, ledger(tree).live("v2").floor) == (4, 6)
    assert tree[f"{UNIT}/kustomization.yaml"].count(b"replicas: 4") == 1
    settled(files, tree)
    tree = do(tree, "settle", "v2")
    assert (ledger(tree).live("v1").floor, ledger(tree).live("v2").floor) == (0, 0)
    assert b"replicas: 6" not in tree[f"{UNIT}/kustomization.yaml"]
    settled(files, tree)


def test_who_has_as_many_pods_by_its_plan_is_told_to_keep_none():
    files, tree = after_two()
    tree = do(tree, "advance", "v2", weight=10, floor=2, room=2)
    assert (ledger(tree).live("v1").floor, ledger(tree).live("v2").floor) == (2, 2)
    for end in (do(tree, "activate", "v2"), do(tree, "rollback", "v2")):
        assert not any(entry.floor for entry in ledger(end).entries)
        settled(files, end)


def test_who_sleeps_is_woken_before_traffic_may_come_back():
    _, tree = after_two()
    tree = do(tree, "prepare", "v2", floor=3)
    assert (ledger(tree).live("v1").floor, ledger(tree).live("v2").floor) == (3, 0)
    with pytest.raises(Refused):
        do(tree, "prepare", "v9", room=1)


def test_fewer_replicas_in_the_specs_wait_for_the_end_of_the_rollout():
    _, tree = after_two()
    tree = do(tree, "advance", "v2", weight=10, floor=2)
    files = {
        **files_of(version="v2"),
        "v1.yaml": version("users", "v1", 0, image="ghcr.io/acme/users:v1", replicas=1, port=3000),
    }
    tree = tree_of(files, tree)
    text = tree[f"{UNIT}/kustomization.yaml"].decode()
    assert "replicas: 1" not in text
    tree = do(tree, "activate", "v2")
    assert "replicas: 1" not in tree[f"{UNIT}/kustomization.yaml"].decode()
    tree = do(tree, "settle", "v2")
    assert "replicas: 1" in tree[f"{UNIT}/kustomization.yaml"].decode()


# -- the way back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0, 10, 50])
def test_a_rollback_judges_the_version_and_gives_all_of_it_back(weight):
    files, tree = after_two()
    if weight:
        tree = do(tree, "advance", "v2", weight=weight)
    tree = do(tree, "rollback", "v2")
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    settled(files, tree)


def test_a_version_that_bakes_is_left_for_the_one_that_drains():
    files, tree = after_two()
    tree = do(tree, "activate", "v2")
    tree = do(tree, "rollback", "v2")
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    settled(files, tree)


def test_who_starts_behind_a_version_that_is_left_was_not_judged_and_goes_on():
    _, tree = after_two()
    tree = do(tree, "activate", "v2")
    files = files_of(version="v3")
    tree = tree_of(files, tree)
    assert phases(tree)["v3"] == ("Starting", 0)
    tree = do(tree, "rollback", "v2", to="v1")
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Rejected", 0), "v3": ("Starting", 0)}
    settled(files, tree)
    tree = do(tree, "advance", "v3", weight=10)
    assert phases(tree) == {"v1": ("Active", 90), "v2": ("Rejected", 0), "v3": ("Canary", 10)}
    settled(files, tree)


def test_a_revision_that_fails_returns_to_the_one_before_and_leaves_a_rollout_alone():
    files, tree = after_two()
    tree = do(tree, "advance", "v2", weight=10)
    old = ledger(tree).live("v1").digest
    more = {
        **files,
        "v1.yaml": version(
            "users", "v1", 0, image="ghcr.io/acme/users:v1", env={"A": "1"}, replicas=2, port=3000
        ),
    }
    tree = tree_of(more, tree)
    assert ledger(tree).live("v1").previous == old
    tree = do(tree, "rollback", "v1")
    assert phases(tree) == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    assert ledger(tree).live("v1").digest == old
    assert ledger(tree).live("v1").revoked
    settled(more, tree)


def test_a_revision_that_is_healthy_lets_go_of_the_one_before():
    tree = tree_of(files_of())
    files = files_of(env={"A": "1"})
    tree = tree_of(files, tree)
    entry = ledger(tree).live("v1")
    assert entry.previous
    plain = manifests(tree)
    tree = do(tree, "settle", "v1")
    assert not ledger(tree).live("v1").previous
    assert manifests(tree) == plain, "no cluster sees it"
    settled(files, tree)


def test_what_a_rollback_waits_for_takes_the_traffic():
    files, tree = after_two()
    tree = do(tree, "activate", "v2")
    tree = do(tree, "park", "v1")
    tree = acted(tree, acts.rollback, "v1")
    assert phases(tree) == {"v1": ("Starting", 0), "v2": ("Active", 100)}
    tree = do(tree, "return", "v1")
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    settled(files, tree)
    assert "no rollback" in refused(tree, "return", "v1")


def test_a_hold_of_the_job_reads_like_that_of_a_person():
    files, tree = after_two()
    tree = do(tree, "hold", "v2", reason="ten looks without an answer")
    assert ledger(tree).hold == "ten looks without an answer"
    settled(files, tree)
    assert "is held" in refused(tree, "advance", "v2", weight=10)
    assert "is held" in refused(tree, "rollback", "v2")


def test_what_a_person_did_to_the_traffic_is_kept_and_held():
    files, tree = after_two()
    tree = do(tree, "advance", "v2", weight=50)
    tree = do(tree, "absorb", weights=(("v1", 100), ("v2", 0)), reason="moved by hand")
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    assert ledger(tree).hold == "moved by hand"
    settled(files, tree)
    free = acted(tree, acts.release)
    assert phases(free) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}, "it does not start again"
    settled(files, free)


def test_a_held_unit_can_be_absorbed():
    _, tree = after_two(v1=("Active", 50), v2=("Canary", 50))
    tree = acted(tree, acts.hold, "incident")
    tree = do(tree, "absorb", weights=(("v1", 30), ("v2", 70)), reason="moved by hand")
    assert phases(tree) == {"v1": ("Canary", 30), "v2": ("Active", 70)}
    assert "cannot be held" in refused(tree, "absorb", weights=(("v9", 100),), reason="x")
    assert "cannot be held" in refused(tree, "absorb", weights=(("v1", 30),), reason="x")


# -- a version that goes ---------------------------------------------------------------------------


def test_drain_park_remove_forget():
    files, tree = after_two()
    tree = do(tree, "activate", "v2")
    assert "only what is parked" in refused(tree, "remove", "v1")
    tree = do(tree, "park", "v1")
    assert phases(tree)["v1"] == ("Parked", 0)
    settled(files, tree)
    back = do(tree, "revive", "v1")
    assert phases(back)["v1"] == ("Draining", 0)
    settled(files, back)
    tree = do(tree, "remove", "v1")
    assert phases(tree)["v1"] == ("Removed", 0)
    settled(files, tree)
    tree = do(tree, "remove", "v1")
    assert phases(tree) == {"v2": ("Active", 100)}, "its tombstone had its time"
    settled(files, tree)


def test_what_serves_is_never_parked():
    _, tree = after_two(v1=("Active", 90), v2=("Canary", 10))
    for id in ("v1", "v2"):
        assert "on no way out" in refused(tree, "park", id)
    assert "not parked" in refused(tree, "revive", "v1")


def test_what_was_rejected_stays_so_until_its_tombstone_and_beyond():
    files, tree = after_two()
    tree = do(tree, "rollback", "v2")
    tree = do(tree, "park", "v2")
    assert ledger(tree).live("v2").barred
    assert phases(do(tree, "revive", "v2"))["v2"] == ("Rejected", 0)
    settled(files, tree)
    tree = do(tree, "remove", "v2")
    assert ledger(tree).live("v2").barred
    settled(files, tree)
    assert "no tombstone that may go" in refused(tree, "remove", "v2")


def test_a_tombstone_that_keeps_a_spec_from_starting_stays():
    tree = tree_of(files_of(version="v1"))
    files = {
        **files_of(version="v2"),
        "v1.yaml": version("users", "v1", 0, image="ghcr.io/acme/users:v1"),
    }
    tree = tree_of(files, tree)
    for verdict, id in (("activate", "v2"), ("park", "v1"), ("remove", "v1")):
        tree = do(tree, verdict, id)
    assert phases(tree)["v1"] == ("Removed", 0)
    assert "would start again" in refused(tree, "remove", "v1")


def test_a_unit_without_specs_parks_its_last_version_and_goes():
    files = {**files_of(), "orders.yaml": handler("orders")}
    tree = tree_of(files)
    del files["users.yaml"]
    tree = tree_of(files, tree)
    assert ledger(tree).retiring
    assert "does not go" in refused(tree, "retire")
    parked = do(tree, "park", "v1")
    assert phases(parked) == {"v1": ("Parked", 0)}
    settled(files, parked)
    back = do(parked, "revive", "v1")
    assert phases(back) == {"v1": ("Active", 100)}, "whoever calls it is served"
    settled(files, back)
    gone = do(parked, "retire")
    assert not [path for path in gone if path.startswith(f"{UNIT}/")]
    settled(files, gone)


def test_of_two_versions_of_a_unit_that_retires_the_last_has_the_traffic():
    _, tree = after_two(v1=("Active", 90), v2=("Canary", 10))
    files = {"gati.yaml": canary(), "orders.yaml": handler("orders")}
    tree = tree_of(files, tree)
    tree = do(tree, "park", "v1")
    assert phases(tree) == {"v1": ("Parked", 0), "v2": ("Active", 100)}
    settled(files, tree)
    tree = do(tree, "park", "v2")
    assert phases(tree) == {"v1": ("Parked", 0), "v2": ("Parked", 0)}
    settled(files, tree)


def test_a_scaler_comes_when_the_count_is_handed_over():
    hpa = {"min": 2, "max": 9, "metrics": [{"type": "cpu", "utilization": 70}]}
    tree = tree_of(files_of(replicas=3))
    files = files_of(replicas=3, autoscaling=hpa)
    tree = tree_of(files, tree)
    assert (
        f"{UNIT}/scaling.yaml" not in tree or b"HorizontalPod" not in tree[f"{UNIT}/scaling.yaml"]
    )
    tree = do(tree, "hand over", "v1")
    assert b"HorizontalPodAutoscaler" in tree[f"{UNIT}/scaling.yaml"]
    assert b"replicas" not in tree[f"{UNIT}/kustomization.yaml"]


# -- proof, and who waits for it -------------------------------------------------------------------


def test_a_proof_is_state_only_and_ends_with_the_revision():
    tree = tree_of(files_of())
    seen = manifests(tree)
    tree = do(tree, "prove", "v1", seconds=86_400)
    assert ledger(tree).live("v1").proved == 86_400
    assert manifests(tree) == seen
    settled(files_of(), tree)
    assert do(tree, "prove", "v1", seconds=60) == tree, "it never shrinks"
    revised = tree_of(files_of(env={"A": "1"}), tree)
    assert ledger(revised).live("v1").proved == 0


def test_what_is_judged_bad_has_proved_nothing():
    _, tree = after_two()
    tree = do(tree, "advance", "v2", weight=10)
    tree = do(tree, "prove", "v2", seconds=60)
    tree = do(tree, "rollback", "v2")
    assert ledger(tree).live("v2").proved == 0
    with pytest.raises(Refused):
        do(tree, "prove", "v2", seconds=60)


def queued(*ids):
    """A unit whose first version serves, and releases that wait for their proof one by one."""
    tree = acted(tree_of(files_of(PROMOTED, version="v0")), acts.release)
    for id in ids:
        files = files_of(PROMOTED, version=id)
        tree = tree_of(files, tree)
    return files, tree


def test_older_releases_wait_on_beside_the_newest():
    files, tree = queued("v1", "v2", "v3")
    assert {id for id, (phase, _) in phases(tree).items() if phase == "Pending"} == {
        "v1", "v2", "v3",
    }  # fmt: skip
    order = sorted((e.overtaken or 10**6, e.id) for e in ledger(tree).entries if e.id != "v0")
    assert [id for _, id in order] == ["v1", "v2", "v3"], "the newest is the one the specs want"
    settled(files, tree)


def test_the_proven_one_starts_and_takes_what_is_older_with_it():
    files, tree = queued("v1", "v2", "v3")
    tree = do(tree, "start", "v2")
    assert phases(tree) == {"v0": ("Active", 100), "v2": ("Starting", 0), "v3": ("Pending", 0)}
    assert ledger(tree).target == "v2"
    settled(files, tree)
    assert "waits its turn" in refused(tree, "start", "v3")
    tree = do(tree, "advance", "v2", weight=10)
    tree = tree_of(files := files_of(PROMOTED, version="v4"), tree)
    assert phases(tree)["v2"] == ("Canary", 10), "a merge moves nothing of it"
    tree = do(tree, "activate", "v2")
    assert phases(tree) == {
        "v0": ("Draining", 0), "v2": ("Active", 100), "v3": ("Pending", 0), "v4": ("Pending", 0),
    }  # fmt: skip
    settled(files, tree)
    tree = do(tree, "start", "v4")
    assert phases(tree)["v4"] == ("Starting", 0)
    assert "v3" not in phases(tree)
    settled(files, tree)


def test_a_release_undone_takes_the_queue_with_it():
    _, tree = queued("v1", "v2")
    files = files_of(PROMOTED, version="v0")
    tree = tree_of(files, tree)
    assert phases(tree) == {"v0": ("Active", 100)}
    settled(files, tree)


def test_an_older_release_that_was_judged_elsewhere_is_struck():
    files, tree = queued("v1", "v2")
    tree = do(tree, "settle", "v1")
    assert "v1" not in phases(tree)
    settled(files, tree)
    assert do(tree, "settle", "v2") == tree, "what the specs want waits on"


def test_older_releases_wait_under_a_hold_too_and_a_release_takes_the_newest():
    _, tree = queued("v1")
    tree = acted(tree, acts.hold, "audit")
    files = files_of(PROMOTED, version="v2")
    tree = tree_of(files, tree)
    assert {"v1", "v2"} <= phases(tree).keys()
    settled(files, tree)
    tree = acted(acted(tree, acts.release), acts.release)
    assert phases(tree) == {"v0": ("Active", 100), "v2": ("Starting", 0)}
    settled(files, tree)


def test_the_queue_does_not_grow_for_ever():
    files, tree = queued(*(f"v{number}" for number in range(1, 26)))
    waiting = {id for id, (phase, _) in phases(tree).items() if phase == "Pending"}
    assert waiting == {*(f"v{number}" for number in range(1, 21)), "v25"}
    settled(files, tree)


def test_revisions_queue_like_versions():
    files, tree = queued("v0")
    for number in (1, 2):
        files = files_of(PROMOTED, version="v0", env={"A": str(number)})
        tree = tree_of(files, tree)
    waiting = [e for e in ledger(tree).entries if e.phase is Phase.PENDING]
    assert len(waiting) == 2
    older = next(e for e in waiting if e.overtaken)
    tree = do(tree, "start", "v0", digest=older.digest)
    live = ledger(tree).live("v0")
    assert (live.phase, live.weight, live.digest) == (Phase.ACTIVE, 100, older.digest)
    assert live.previous
    settled(files, tree)


def test_the_first_version_of_a_unit_serves_as_soon_as_it_is_proved():
    files = files_of(PROMOTED, version="v1")
    tree = tree_of(files)
    assert phases(tree) == {"v1": ("Pending", 0)}
    tree = do(tree, "start", "v1")
    assert phases(tree) == {"v1": ("Active", 100)}
    settled(files, tree)


def test_a_cluster_that_joins_has_proved_nothing():
    settings = {"prod": ["east"]}
    tree = tree_of(files_of(canary(settings)))
    tree = do(tree, "prove", "v1", seconds=60)
    tree = tree_of(files_of(canary({"prod": ["east", "west"]})), tree)
    joined = ledger(tree, UNIT.replace("east", "west"))
    assert (joined.active.proved, joined.active.floor) == (0, 0)


def test_a_move_that_moves_nothing_is_refused():
    _, tree = after_two()
    assert "changes no ledger" in refused(tree, "wait", "v2")


def test_the_new_fields_are_read_back_and_slips_are_refused():
    tree = do(tree_of(files_of()), "prove", "v1", seconds=60)
    path = f"{UNIT}/rollout.yaml"
    assert objects(tree, path)[0]["versions"][0]["proved"] == 60
    for slip in (b"-1", b'"60"', b"1.5", b"true"):
        broken = {**tree, path: tree[path].replace(b"proved: 60", b"proved: " + slip)}
        with pytest.raises(Refused, match="proved"):
            acted(broken, acts.hold, "x")
