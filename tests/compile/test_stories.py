"""The stories that a compile must get right: specs change, decisions fall in between, bytes follow.

Each drives the compiler on trees in memory. What the job or a person decides between two compiles is
an edit of the ledger, as their commits make it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gati_gitops import __version__
from gati_gitops.errors import Refused, SpecsInvalid
from gati_gitops.ledger.model import Entry, Phase
from gati_gitops.tree import is_ours
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
    tree_of,
    version,
    weights,
)

TWO = {"staging": ["stage"], "prod": ["east"]}
STAGING = "overlays/staging/stage/shop/handler-users"


def codes(error: pytest.ExceptionInfo[SpecsInvalid]) -> list[str]:
    return [problem.code for problem in error.value.problems if problem.is_error]


def unchanged(files, tree, **options):
    assert compiled(files, tree, **options).changes == {}


# -- a release -------------------------------------------------------------------------------------


def test_version_and_image_edited_under_canary():
    first = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = tree_of(first)
    assert phases(tree) == {"v1": ("Active", 100)}
    second = {**first, "users.yaml": handler(version="v2")}
    tree = tree_of(second, tree)
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert weights(tree) == {"handler-users-v1": 100, "handler-users-v2": 0}
    assert ledger(tree).target == "v2"
    assert not dangling(tree)
    unchanged(second, tree)
    # the job moves it on; merges in between move nothing
    tree = decide(tree, moved(v1=("Active", 50), v2=("Canary", 50)))
    tree = tree_of(second, tree)
    assert weights(tree) == {"handler-users-v1": 50, "handler-users-v2": 50}
    tree = decide(tree, moved(v1=("Draining", 0), v2=("Active", 100)))
    tree = tree_of(second, tree)
    assert weights(tree) == {"handler-users-v1": 0, "handler-users-v2": 100}
    tree = decide(tree, moved(v1=("Removed", 0)))
    tree = tree_of(second, tree)
    assert not [path for path in tree if "/v1-" in path]
    assert not dangling(tree)


def test_the_same_with_promotion_waits_pending():
    settings = canary(TWO, promotion={"prod": {"after": "staging"}})
    first = {"gati.yaml": settings, "users.yaml": handler(version="v1")}
    tree = tree_of(first)
    assert phases(tree, STAGING) == {"v1": ("Active", 100)}
    assert phases(tree) == {"v1": ("Pending", 0)}
    assert objects(tree, f"{UNIT}/kustomization.yaml")[0]["resources"] == []
    unchanged(first, tree)
    tree = tree_of(first, decide(tree, moved(v1=("Active", 100))))
    before = manifests(tree)
    second = {**first, "users2.yaml": handler(version="v2")}
    del second["users.yaml"]
    tree = tree_of(second, tree)
    assert phases(tree, STAGING) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    assert manifests(tree) == before, "entering Pending changes no manifest"
    assert b"v2-" in tree[f"{UNIT}/unit.yaml"], "but its plan is stored"
    assert not dangling(tree)
    unchanged(second, tree)


def test_the_same_under_manual_deploys_at_zero_until_released():
    first = {"gati.yaml": project(), "users.yaml": handler(version="v1")}
    second = {**first, "users.yaml": handler(version="v2")}
    tree = tree_of(second, tree_of(first))
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert weights(tree) == {"handler-users-v1": 100, "handler-users-v2": 0}
    unchanged(second, tree)
    # `release` makes it a version that may carry weight; the next compile gives it the spec's
    tree = decide(tree, moved(v2=("Canary", 0)))
    tree = tree_of(second, tree)
    assert phases(tree) == {"v1": ("Draining", 0), "v2": ("Active", 100)}
    unchanged(second, tree)


def test_merge_while_a_canary_is_at_fifty_moves_nothing_of_the_rollout():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1"), "db.yaml": module()}
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2")
    tree = decide(tree_of(files, tree), moved(v1=("Active", 50), v2=("Canary", 50)))
    tree = tree_of(files, tree)
    other = {**files, "db.yaml": module(replicas=3), "more.yaml": handler("orders")}
    merged = tree_of(other, tree)
    assert below(merged, UNIT) == below(tree, UNIT)
    # even a change of the unit itself leaves phases and weights alone
    other["users.yaml"] = handler(version="v2", replicas=7)
    merged = tree_of(other, tree)
    assert phases(merged) == phases(tree)
    assert weights(merged) == {"handler-users-v1": 50, "handler-users-v2": 50}


def test_the_second_release_waits_and_the_third_replaces_it():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = tree_of(files)
    for name in ("v2", "v3"):
        tree = tree_of({**files, "users.yaml": handler(version=name)}, tree)
    running = {"v1": ("Active", 100), "v2": ("Starting", 0)}
    assert phases(tree) == running | {"v3": ("Pending", 0)}
    assert ledger(tree).target == "v2"
    last = {**files, "users.yaml": handler(version="v4")}
    tree = tree_of(last, tree)
    assert phases(tree) == running | {"v4": ("Pending", 0)}
    assert not [path for path in tree if "/v3-" in path], "nothing of the third is left"
    tree = decide(tree, moved(v1=("Draining", 0), v2=("Active", 100)))
    tree = tree_of(last, tree)
    assert phases(tree)["v4"] == ("Starting", 0)
    assert ledger(tree).target == "v4"


def test_a_release_undone_in_the_specs_is_called_off():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = tree_of({**files, "users.yaml": handler(version="v2")}, tree_of(files))
    back = tree_of(files, tree)
    assert phases(back) == {"v1": ("Active", 100), "v2": ("Draining", 0)}
    assert ledger(back).target == "v1"
    # with weight it keeps it: moving traffic is the job's, which sees that the target is another
    tree = decide(tree, moved(v1=("Active", 90), v2=("Canary", 10)))
    back = tree_of(files, tree)
    assert phases(back) == phases(tree)
    assert ledger(back).target == "v1"
    unchanged(files, back)


def test_first_publish_with_90_10_under_canary():
    files = {
        "gati.yaml": canary(),
        "users.yaml": handler(version="v2", weight=10),
        "v1.yaml": version("users", "v1", 90, image="ghcr.io/acme/users:v1"),
    }
    tree = tree_of(files)
    assert phases(tree) == {"v1": ("Active", 90), "v2": ("Canary", 10)}
    assert weights(tree) == {"handler-users-v1": 90, "handler-users-v2": 10}
    assert ledger(tree).rolling.id == "v2", "going on from there"
    unchanged(files, tree)
    # afterwards nobody follows the spec's weights
    files["users.yaml"] = handler(version="v2", weight=30)
    files["v1.yaml"] = version("users", "v1", 70, image="ghcr.io/acme/users:v1")
    assert phases(tree_of(files, tree)) == phases(tree)


# -- weights by hand -------------------------------------------------------------------------------


def manual(**weight: int) -> dict[str, str]:
    files = {"gati.yaml": project(), "users.yaml": handler(version="v3", weight=weight["v3"])}
    for name in ("v1", "v2"):
        image = f"ghcr.io/acme/users:{name}"
        files[f"{name}.yaml"] = version("users", name, weight[name], image=image)
    return files


def test_under_manual_the_specs_weights_are_the_traffic():
    tree = tree_of(manual(v1=60, v2=30, v3=10))
    assert weights(tree) == {
        "handler-users-v1": 60,
        "handler-users-v2": 30,
        "handler-users-v3": 10,
    }
    moved_ = manual(v1=0, v2=50, v3=50)
    tree = tree_of(moved_, tree)
    assert phases(tree) == {"v1": ("Draining", 0), "v2": ("Canary", 50), "v3": ("Active", 50)}
    unchanged(moved_, tree)
    # what drains still serves, so it takes its weight back at once
    tree = tree_of(manual(v1=100, v2=0, v3=0), tree)
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Draining", 0), "v3": ("Draining", 0)}
    unchanged(manual(v1=100, v2=0, v3=0), tree)


def test_under_manual_a_parked_version_starts_again_when_it_gets_weight():
    tree = decide(tree_of(manual(v1=0, v2=0, v3=100)), moved(v1=("Parked", 0)))
    tree = tree_of(manual(v1=0, v2=0, v3=100), tree)
    assert phases(tree)["v1"] == ("Parked", 0)
    tree = tree_of(manual(v1=50, v2=0, v3=50), tree)
    assert phases(tree)["v1"] == ("Starting", 0)
    assert phases(tree)["v3"] == ("Active", 100), "nothing moves before it is ready"


def test_under_manual_an_unreleased_version_that_is_replaced_goes():
    files = {"gati.yaml": project(), "users.yaml": handler(version="v1")}
    tree = tree_of(files)
    for name in ("v2", "v3"):
        files["users.yaml"] = handler(version=name)
        tree = tree_of(files, tree)
    assert phases(tree) == {
        "v1": ("Active", 100),
        "v2": ("Draining", 0),
        "v3": ("Starting", 0),
    }
    assert ledger(tree).target == "v3"


# -- revisions -------------------------------------------------------------------------------------


def test_env_var_changed_on_the_active_version_rolls_and_can_return():
    files = {"gati.yaml": canary(), "users.yaml": handler(env={"LEVEL": "info"})}
    tree = tree_of(files)
    old = ledger(tree).entries[0]
    files["users.yaml"] = handler(env={"LEVEL": "debug"})
    tree = tree_of(files, tree)
    (new,) = ledger(tree).entries
    assert (new.id, new.phase, new.weight) == ("v1", Phase.ACTIVE, 100)
    assert new.digest != old.digest
    assert new.previous == old.digest
    assert len([p for p in tree if p.endswith("/deployment.yaml")]) == 2, "the way back stays"
    resources = objects(tree, f"{UNIT}/kustomization.yaml")[0]["resources"]
    assert len([name for name in resources if "/base/" in name]) == 1, "but only one is deployed"
    unchanged(files, tree)
    # a second one before the first was proved: the way back is what was proved
    files["users.yaml"] = handler(env={"LEVEL": "trace"})
    assert ledger(tree_of(files, tree)).entries[0].previous == old.digest
    # and undoing it in the specs leaves nothing to return to
    files["users.yaml"] = handler(env={"LEVEL": "info"})
    (back,) = ledger(tree_of(files, tree)).entries
    assert (back.digest, back.previous) == (old.digest, "")


def test_a_revision_passes_promotion():
    settings = canary(TWO, promotion={"prod": {"after": "staging"}})
    files = {"gati.yaml": settings, "users.yaml": handler()}
    tree = tree_of(files, decide(tree_of(files), moved(v1=("Active", 100))))
    files["users.yaml"] = handler(env={"LEVEL": "debug"})
    after = tree_of(files, tree)
    assert phases(after) == {"v1": ("Pending", 0), "v1'": ("Active", 100)} or phases(after) == {
        "v1": ("Active", 100),
        "v1'": ("Pending", 0),
    }
    assert manifests(after) == manifests(tree)
    assert phases(after, STAGING) == {"v1": ("Active", 100)}
    assert not dangling(after)
    unchanged(files, after)


@pytest.mark.parametrize("where", ["base", "overlay"])
def test_revisions_can_be_refused(where):
    settings = canary({"prod": {"clusters": {"east": {}}, "revisions": "refuse"}})
    files = {"gati.yaml": settings, "users.yaml": handler()}
    tree = tree_of(files)
    changed = _with_env(files, where)
    with pytest.raises(SpecsInvalid) as error:
        compiled(changed, tree)
    assert codes(error) == ["revision-refused"]
    assert error.value.problems[0].place.line
    # replicas are no revision
    tree_of({**files, "users.yaml": handler(replicas=9)}, tree)


def _with_env(files, where):
    if where == "base":
        return {**files, "users.yaml": handler(env={"A": "b"})}
    part = "kind: GatiHandler\nmetadata: {name: users, namespace: shop}\nspec: {env: {A: b}}\n"
    return {**files, "environments/prod/users.yaml": part}


@pytest.mark.parametrize("where", ["base", "overlay"])
def test_the_image_under_a_version_id_never_changes(where):
    files = {"gati.yaml": canary(), "users.yaml": handler()}
    tree = tree_of(files)
    image = "ghcr.io/acme/users:other"
    if where == "base":
        files["users.yaml"] = handler(image=image)
    else:
        files["environments/prod/users.yaml"] = (
            "kind: GatiHandler\nmetadata: {name: users, namespace: shop}\n"
            f"spec: {{image: '{image}'}}\n"
        )
    with pytest.raises(SpecsInvalid) as error:
        compiled(files, tree)
    (problem,) = error.value.problems
    assert problem.code == "image-changed"
    assert "ghcr.io/acme/users:v1" in problem.message
    assert image in problem.message
    assert "new version id" in problem.remedy
    assert problem.place.line
    assert problem.field == "spec.image"


def test_revisions_any_lets_dev_change_images():
    settings = canary({"prod": {"clusters": {"east": {}}, "revisions": "any"}})
    tree = tree_of({"gati.yaml": settings, "users.yaml": handler()})
    tree = tree_of({"gati.yaml": settings, "users.yaml": handler(image="users:x")}, tree)
    assert phases(tree) == {"v1": ("Active", 100)}


def test_a_held_unit_does_not_hide_a_changed_image():
    files = {"gati.yaml": canary(), "users.yaml": handler()}
    tree = decide(tree_of(files), lambda old: replace(old, hold="incident"))
    with pytest.raises(SpecsInvalid) as error:
        compiled({**files, "users.yaml": handler(image="users:x")}, tree)
    assert codes(error) == ["image-changed"]


# -- rejected --------------------------------------------------------------------------------------


def rejected() -> tuple[dict[str, str], dict[str, bytes]]:
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2")
    tree = decide(tree_of(files, tree), moved(v1=("Active", 100), v2=("Rejected", 0)))
    return files, tree


def test_the_rejected_version_stays_rejected_and_a_new_one_starts():
    files, tree = rejected()
    tree = tree_of(files, tree)
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}
    unchanged(files, tree)
    files["users.yaml"] = handler(version="v3")
    tree = tree_of(files, tree)
    assert phases(tree)["v2"] == ("Rejected", 0)
    assert phases(tree)["v3"] == ("Starting", 0)
    assert ledger(tree).target == "v3"


@pytest.mark.parametrize("phase", [Phase.PARKED, Phase.REMOVED])
def test_a_rejected_version_is_not_forgiven_for_being_parked_or_removed(phase):
    files, tree = rejected()

    def park(old):
        entries = [
            replace(e, phase=phase, rejected=True) if e.id == "v2" else e for e in old.entries
        ]
        return old.with_entries(entries)

    tree = tree_of(files, decide(tree, park))
    assert phases(tree)["v2"] == (phase.value, 0)
    assert next(e for e in ledger(tree).entries if e.id == "v2").barred


def test_a_rejected_id_with_a_changed_digest_starts_only_as_the_target():
    files, tree = rejected()
    files["users.yaml"] = handler(version="v3")
    files["v2.yaml"] = version("users", "v2", 0, image="ghcr.io/acme/users:v2", env={"FIX": "1"})
    files["users.yaml"] = handler(version="v3", weight=100)
    tree = tree_of(files, tree)
    assert phases(tree)["v2"] == ("Rejected", 0)
    assert phases(tree)["v3"] == ("Starting", 0)
    # as the target while another rollout runs: it waits its turn
    del files["v2.yaml"]
    files["users.yaml"] = handler(version="v2", env={"FIX": "1"})
    waiting = tree_of(files, tree)
    assert [(e.id, e.phase.value) for e in ledger(waiting).entries if e.id == "v2"] == [
        ("v2", "Pending"),
        ("v2", "Rejected"),
    ]
    unchanged(files, waiting)
    # and starts when there is none
    tree = decide(waiting, moved(v1=("Draining", 0), v3=("Active", 100)))
    tree = tree_of(files, tree)
    assert phases(tree)["v2"] == ("Starting", 0)
    assert "v2'" not in phases(tree)
    assert not dangling(tree)


# -- units that go and come ------------------------------------------------------------------------


def two_units() -> dict[str, str]:
    return {"gati.yaml": canary(), "users.yaml": handler(), "orders.yaml": handler("orders")}


def test_unit_deleted_from_the_specs_serves_and_retires():
    files = two_units()
    tree = tree_of(files)
    before = manifests(tree)
    del files["users.yaml"]
    tree = tree_of(files, tree)
    assert ledger(tree).retiring
    assert phases(tree) == {"v1": ("Active", 100)}
    assert manifests(tree) == before
    assert not dangling(tree)
    unchanged(files, tree)
    # parked it answers 503 for itself
    parked = tree_of(files, decide(tree, moved(v1=("Parked", 0))))
    assert weights(parked) == {"handler-users-v1": 1}
    assert ledger(parked).retiring
    unchanged(files, parked)
    # and goes when nothing of it is deployed
    gone = tree_of(files, decide(parked, moved(v1=("Removed", 0))))
    assert not below(gone, UNIT)
    assert not [path for path in gone if path.startswith("base/shop/handler-users/")]
    assert not dangling(gone)


def test_a_retiring_unit_that_comes_back_goes_on():
    files = two_units()
    tree = tree_of(files)
    without = {name: text for name, text in files.items() if name != "users.yaml"}
    retiring = tree_of(without, tree)
    back = tree_of(files, retiring)
    assert not ledger(back).retiring
    assert phases(back) == {"v1": ("Active", 100)}
    assert manifests(back) == manifests(tree)
    parked = tree_of(without, decide(retiring, moved(v1=("Parked", 0))))
    back = tree_of(files, parked)
    assert phases(back) == {"v1": ("Starting", 0)}


def test_on_delete_immediate():
    files = two_units()
    files["gati.yaml"] = canary({"prod": {"clusters": {"east": {}}, "onDelete": "immediate"}})
    tree = tree_of(files)
    del files["users.yaml"]
    tree = tree_of(files, tree)
    assert not below(tree, UNIT, "base/shop/handler-users")
    assert not dangling(tree)


def test_a_held_unit_is_not_retired():
    files = two_units()
    files["gati.yaml"] = canary({"prod": {"clusters": {"east": {}}, "onDelete": "immediate"}})
    tree = decide(tree_of(files), lambda old: replace(old, hold="audit"))
    del files["users.yaml"]
    kept = tree_of(files, tree)
    assert manifests(kept) == manifests(tree)
    assert phases(kept) == phases(tree)
    assert not ledger(kept).retiring
    assert not dangling(kept)
    unchanged(files, kept)
    # once it may go, it goes
    gone = tree_of(files, decide(kept, lambda old: replace(old, hold="")))
    assert not below(gone, UNIT)


def test_a_handler_renamed_on_its_path_stays_the_same_unit():
    files = two_units()
    tree = tree_of(files)
    files["users.yaml"] = handler("people", handlerPath="/users", image="ghcr.io/acme/users:v1")
    renamed = tree_of(files, tree)
    assert not below(renamed, UNIT.replace("users", "people"))
    assert phases(renamed) == {"v1": ("Active", 100)}


def test_handlers_that_swap_paths_stay_two_units():
    files = two_units()
    tree = tree_of(files)
    files["users.yaml"] = handler(handlerPath="/orders")
    files["orders.yaml"] = handler("orders", handlerPath="/users")
    swapped = tree_of(files, tree)
    (users,) = objects(swapped, f"{UNIT}/route.yaml")
    assert users["spec"]["rules"][-1]["matches"][0]["path"]["value"] == "/orders"
    (orders,) = objects(swapped, f"{UNIT.replace('users', 'orders')}/route.yaml")
    assert orders["spec"]["rules"][-1]["matches"][0]["path"]["value"] == "/users"


# -- several sources -------------------------------------------------------------------------------


def test_a_second_source_moves_only_its_own_units():
    ours = {"gati.yaml": canary(name="shop"), "users.yaml": handler()}
    theirs = {"gati.yaml": canary(name="billing"), "pay.yaml": handler("pay")}
    tree = tree_of(ours)
    both = tree_of(theirs, tree)
    assert below(both, UNIT, "base/shop/handler-users") == below(
        tree, UNIT, "base/shop/handler-users"
    )
    assert not dangling(both)
    resources = objects(both, "overlays/prod/east/shop/kustomization.yaml")[0]["resources"]
    assert resources == ["handler-pay", "handler-users"]
    assert both["overlays/prod/project.yaml"] == tree["overlays/prod/project.yaml"]
    # the reverse: ours publishes again, and nothing of theirs moves; neither undoes the other
    assert compiled(ours, both).changes == {}
    assert compiled(theirs, both).changes == {}
    # a source that loses a unit retires only that
    ours["orders.yaml"] = handler("orders")
    more = tree_of(ours, both)
    del ours["users.yaml"]
    fewer = tree_of(ours, more)
    assert ledger(fewer).retiring
    assert not ledger(fewer, "overlays/prod/east/shop/handler-pay").retiring
    assert not dangling(fewer)


def test_claiming_a_unit_of_another_source_is_refused_and_names_both():
    tree = tree_of({"gati.yaml": canary(name="shop"), "users.yaml": handler()})
    with pytest.raises(Refused) as error:
        compiled({"gati.yaml": canary(name="billing"), "mine.yaml": handler()}, tree)
    for word in ("shop/users", "billing", "the source shop", "mine.yaml"):
        assert word in error.value.message
    # by path alone, too: two units can't answer on one path
    with pytest.raises(Refused):
        compiled(
            {"gati.yaml": canary(name="billing"), "x.yaml": handler("x", handlerPath="/users")},
            tree,
        )


# -- clusters --------------------------------------------------------------------------------------


def test_a_cluster_added_to_prod_copies_its_siblings():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2")
    tree = decide(tree_of(files, tree), moved(v1=("Active", 100), v2=("Rejected", 0)))
    files["users.yaml"] = handler(version="v3")
    files["gati.yaml"] = canary({"prod": ["east", "west"]})
    tree = tree_of(files, tree)
    west = UNIT.replace("east", "west")
    assert phases(tree, west) == {
        "v1": ("Active", 100),
        "v2": ("Rejected", 0),
        "v3": ("Starting", 0),
    }
    assert ledger(tree, west).seq == 1
    assert not dangling(tree)
    unchanged(files, tree)


def test_a_cluster_added_while_a_canary_runs_starts_it_at_zero():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2")
    tree = decide(tree_of(files, tree), moved(v1=("Active", 50), v2=("Canary", 50)))
    files["gati.yaml"] = canary({"prod": ["east", "west"]})
    tree = tree_of(files, tree)
    west = UNIT.replace("east", "west")
    assert phases(tree, west) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    unchanged(files, tree)


@pytest.mark.parametrize("strategy", ["manual", "canary"])
def test_adding_a_cluster_is_done_in_one_compile(strategy):
    def settings(*clusters):
        return project({"prod": list(clusters)}, rollout={"strategy": strategy})

    files = {**manual(v1=60, v2=30, v3=10), "gati.yaml": settings("east")}
    tree = tree_of(files)
    files["gati.yaml"] = settings("east", "west")
    tree = tree_of(files, tree)
    assert sum(weights(tree, UNIT.replace("east", "west")).values()) == 100
    unchanged(files, tree)


def test_a_cluster_added_while_the_unit_is_held_is_held():
    files = {"gati.yaml": canary(), "users.yaml": handler()}
    tree = decide(tree_of(files), lambda old: replace(old, hold="incident"))
    files["gati.yaml"] = canary({"prod": ["east", "west"]})
    files["users.yaml"] = handler(version="v2")
    tree = tree_of(files, tree)
    west = UNIT.replace("east", "west")
    assert ledger(tree, west).hold == "incident"
    assert phases(tree, west) == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    assert not dangling(tree)
    unchanged(files, tree)


# -- hold ------------------------------------------------------------------------------------------


def test_hold_then_a_merge_stores_the_plan_and_nothing_else():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = decide(tree_of(files), lambda old: replace(old, hold="incident 42"))
    del files["users.yaml"]
    files["new-file.yaml"] = handler(version="v2", replicas=9, hosts=["shop.example.com"])
    held = tree_of(files, tree)
    assert phases(held) == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    assert ledger(held).hold == "incident 42"
    assert manifests(held) == manifests(tree)
    assert b"id: v2" in held[f"{UNIT}/unit.yaml"]
    assert not dangling(held)
    unchanged(files, held)
    # `release` lifts the hold: the version starts
    released = tree_of(files, decide(held, lambda old: replace(old, hold="")))
    assert phases(released) == {"v1": ("Active", 100), "v2": ("Starting", 0)}


@pytest.mark.parametrize("line", [b"hold: true\n", b"hold:\n", b"hold: because\n", b"hold: 42\n"])
def test_people_write_holds_in_many_ways(line):
    files = {"gati.yaml": canary(), "users.yaml": handler()}
    tree = tree_of(files)
    tree[f"{UNIT}/rollout.yaml"] += line
    tree = tree_of({**files, "users.yaml": handler(version="v2")}, tree)
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Pending", 0)}


def test_a_ledger_deleted_by_hand_means_held_with_what_the_manifests_say():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2")
    tree = decide(tree_of(files, tree), moved(v1=("Active", 70), v2=("Canary", 30)))
    tree = tree_of(files, tree)
    lost = {path: data for path, data in tree.items() if path != f"{UNIT}/rollout.yaml"}
    found = tree_of(files, lost)
    assert phases(found) == phases(tree)
    assert "deleted" in ledger(found).hold
    assert manifests(found) == manifests(tree)
    unchanged(files, found)


def test_a_deleted_ledger_deploys_nothing_that_waited_or_was_revised():
    settings = canary(TWO, promotion={"prod": {"after": "staging"}})
    files = {"gati.yaml": settings, "users.yaml": handler()}
    tree = tree_of(files, decide(tree_of(files), moved(v1=("Active", 100))))
    files["users.yaml"] = handler(version="v2")
    tree = tree_of(files, tree)
    staged = decide(tree, moved(v1=("Draining", 0), v2=("Active", 100)), STAGING)
    files["users.yaml"] = handler(version="v2", env={"A": "b"})
    tree = tree_of(files, staged)
    paths = (f"{UNIT}/rollout.yaml", f"{STAGING}/rollout.yaml")
    lost = {path: data for path, data in tree.items() if path not in paths}
    found = tree_of(files, lost)
    assert phases(found) == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    assert manifests(found) == manifests(tree)
    assert manifests(found, STAGING) == manifests(tree, STAGING)


def test_a_deleted_ledger_remembers_modules_parked_versions_and_tombstones():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1"), "db.yaml": module()}
    tree = tree_of(files)
    for name in ("v2", "v3"):
        files["users.yaml"] = handler(version=name)
        tree = tree_of(files, tree)
        before = "v1" if name == "v2" else "v2"
        tree = decide(tree, moved(**{before: ("Draining", 0), name: ("Active", 100)}))
    tree = tree_of(files, decide(tree, moved(v1=("Removed", 0), v2=("Parked", 0))))
    db = UNIT.replace("handler-users", "module-db")
    paths = (f"{UNIT}/rollout.yaml", f"{db}/rollout.yaml")
    found = tree_of(files, {p: data for p, data in tree.items() if p not in paths})
    assert phases(found) == phases(tree)
    assert phases(found, db) == {"1.0.0": ("Active", 100)}
    assert manifests(found) == manifests(tree)
    assert manifests(found, db) == manifests(tree, db)
    unchanged(files, found)


# -- phases and their objects ----------------------------------------------------------------------


def scaled() -> tuple[dict[str, str], dict[str, bytes]]:
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1", autoscaling={"max": 9})}
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2", autoscaling={"max": 9})
    return files, tree_of(files, tree)


def scalers(tree):
    return {
        item["metadata"]["name"]
        for item in objects(tree, f"{UNIT}/scaling.yaml")
        if item["kind"] == "HorizontalPodAutoscaler"
    }


def test_parked_has_no_pods_and_no_scaler():
    files, tree = scaled()
    assert scalers(tree) == {"handler-users-v1", "handler-users-v2"}
    assert b"replicas:" not in tree[f"{UNIT}/kustomization.yaml"]
    tree = tree_of(files, decide(tree, moved(v1=("Parked", 0), v2=("Active", 100))))
    assert scalers(tree) == {"handler-users-v2"}
    assert tree[f"{UNIT}/kustomization.yaml"].count(b"replicas: 0") == 1
    assert weights(tree) == {"handler-users-v2": 100}
    (route,) = objects(tree, f"{UNIT}/route.yaml")
    pins = {r["name"]: r["backendRefs"][0]["name"] for r in route["spec"]["rules"][:-1]}
    assert pins == {"pin-v1": "handler-users-v1", "pin-v2": "handler-users-v2"}


def test_removed_leaves_a_tombstone_that_fails_loudly():
    files, tree = scaled()
    tree = tree_of(files, decide(tree, moved(v1=("Removed", 0), v2=("Active", 100))))
    (route,) = objects(tree, f"{UNIT}/route.yaml")
    gone = next(rule for rule in route["spec"]["rules"] if rule["name"] == "gone-v1")
    assert "backendRefs" not in gone, "no backend: the edge answers 500, never another version"
    values = [
        m[k][0]["value"] for m in gone["matches"] for k in ("headers", "queryParams") if k in m
    ]
    assert values == ["v1"] * 4
    assert "base/shop/handler-users/v1" not in str(sorted(tree))


@pytest.mark.parametrize("phase", ["Starting", "Draining", "Rejected"])
def test_pinned_requests_are_served_at_weight_zero(phase):
    files, tree = scaled()
    tree = tree_of(files, decide(tree, moved(v2=(phase, 0))))
    (route,) = objects(tree, f"{UNIT}/route.yaml")
    assert [rule["name"] for rule in route["spec"]["rules"]] == ["pin-v1", "pin-v2", "split"]
    assert weights(tree) == {"handler-users-v1": 100, "handler-users-v2": 0}


# -- ledgers as files ------------------------------------------------------------------------------


def test_comments_in_a_ledger_survive_a_change():
    files = {"gati.yaml": canary(), "users.yaml": handler()}
    tree = tree_of(files)
    path = f"{UNIT}/rollout.yaml"
    tree[path] = tree[path].replace(b"  phase: Active", b"  phase: Active  # since the launch")
    tree[path] = tree[path].replace(b"versions:", b"# ask ann before touching\nversions:")
    unchanged(files, tree)
    after = tree_of({**files, "users.yaml": handler(version="v2")}, tree)
    assert b"# since the launch" in after[path]
    assert b"# ask ann before touching" in after[path]
    assert is_ours(after[path])
    assert phases(after) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    unchanged({**files, "users.yaml": handler(version="v2")}, after)


def test_a_ledger_that_says_the_same_keeps_its_bytes():
    files = {"gati.yaml": canary(), "users.yaml": handler()}
    tree = tree_of(files)
    path = f"{UNIT}/rollout.yaml"
    header, _, rest = tree[path].partition(b"\n")
    tree[path] = header + b"\n\n" + rest.replace(b"target: v1", b"target:   'v1'")
    unchanged(files, tree)
    # nor is a ledger foreign for having lost its first line
    tree[path] = rest
    unchanged(files, tree)
    tree_of({**files, "users.yaml": handler(version="v2")}, tree)


def test_seq_rises_exactly_when_something_changed():
    files = {"gati.yaml": canary(), "users.yaml": handler(), "orders.yaml": handler("orders")}
    tree = tree_of(files)
    orders = UNIT.replace("users", "orders")
    assert ledger(tree).seq == ledger(tree, orders).seq == 1
    tree = tree_of(files, tree)
    assert ledger(tree).seq == 1
    files["users.yaml"] = handler(replicas=5)  # the plan, not the ledger
    tree = tree_of(files, tree)
    assert (ledger(tree).seq, ledger(tree, orders).seq) == (2, 1)
    key = ledger(tree).key
    files["users.yaml"] = handler(version="v2")
    tree = tree_of(files, tree)
    assert (ledger(tree).seq, ledger(tree, orders).seq) == (3, 1)
    assert ledger(tree).key != key
    del files["orders.yaml"]
    tree = tree_of(files, tree)
    assert (ledger(tree).seq, ledger(tree, orders).seq) == (3, 2)
    line = next(li for li in tree[f"{UNIT}/rollout.yaml"].splitlines() if li.startswith(b"seq"))
    assert line == f'seq: "3 {ledger(tree).key}"'.encode(), "two changes conflict in a merge"


BROKEN = {
    "no yaml": b"versions: [",
    "no mapping": b"- a\n",
    "other format": b"format: 99\n",
    "no format": b"seq: 1\n",
    "bad phase": b"format: 1\nseq: '1 a'\nversions:\n- {id: v1, digest: a, phase: Happy}\n",
    "bad weight": b"format: 1\nseq: '1 a'\nversions:\n- {id: v1, digest: a, phase: Active, weight: 1.5}\n",
    "sum": b"format: 1\nseq: '1 a'\nversions:\n- {id: v1, digest: a, phase: Active, weight: 90}\n",
    "zero": b"format: 1\nseq: '1 a'\nversions:\n- {id: v1, digest: a, phase: Active}\n",
    "weight where none can be": b"format: 1\nseq: '1 a'\nversions:\n- {id: v1, digest: a, phase: Parked, weight: 100}\n",
    "two active": b"format: 1\nseq: '1 a'\nversions:\n- {id: v1, digest: a, phase: Active, weight: 50}\n- {id: v2, digest: a, phase: Active, weight: 50}\n",
    "twice": b"format: 1\nseq: '1 a'\nversions:\n- {id: v1, digest: a, phase: Active, weight: 100}\n- {id: v1, digest: b, phase: Starting}\n",
    "seq": b"format: 1\nseq: abc\nversions: []\n",
    "id": b"format: 1\nseq: '1 a'\nversions:\n- {id: 1.0, digest: a, phase: Active, weight: 100}\n",
    "versions": b"format: 1\nseq: '1 a'\nversions: 5\n",
    "not text": b"\xff\xfe",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_ledger_is_refused_by_name(content):
    files = {"gati.yaml": canary(), "users.yaml": handler()}
    tree = tree_of(files)
    path = f"{UNIT}/rollout.yaml"
    tree[path] = tree[path].split(b"\n")[0] + b"\n" + content
    with pytest.raises(Refused) as error:
        compiled(files, tree)
    assert path in error.value.message
    assert error.value.remedy
    assert error.value.exit_code == 5


@pytest.mark.parametrize(
    "old, new",
    [
        (b"format: 1", b"format: 2"),
        (b"versions:", b"versions: 3\nx:"),
        (b"target: v1", b"target: [v1"),
        (b"name: users", b"name: others"),
        (b"cluster: east", b"cluster: west"),
        (b"namespace: shop", b"namespace: 5"),
        (b"    type: none", b"    typ: none"),
    ],
)
def test_a_broken_plan_is_refused_by_name(old, new):
    files = {"gati.yaml": canary(), "users.yaml": handler()}
    tree = tree_of(files)
    path = f"{UNIT}/unit.yaml"
    assert old in tree[path]
    tree[path] = tree[path].replace(old, new, 1)
    with pytest.raises(Refused) as error:
        compiled(files, tree)
    assert path in error.value.message


# -- what is ours ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        f"{UNIT}/extra.txt",
        "base/shop/handler-users/notes.md",
        "crds/mine.yaml",
        "overlays/prod/README.md",
        "overlays/README.md",
        "overlays/prod/east/shop/mine/kustomization.yaml",
    ],
)
def test_a_foreign_file_in_our_folders_is_refused_and_discarded_on_demand(path):
    files = {"gati.yaml": canary(), "users.yaml": handler()}
    tree = tree_of(files)
    strange = {**tree, path: b"hello\n", "README.md": b"theirs\n"}
    with pytest.raises(Refused) as error:
        compiled(files, strange)
    assert path in error.value.message
    assert "--discard" in error.value.remedy
    result = compiled(files, strange, discard=True)
    assert result.changes == {path: None}
    assert result.foreign == (path,)


def test_a_foreign_file_in_a_kept_release_folder_is_refused():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2")
    tree = tree_of(files, tree)
    kept = next(path for path in tree if "/v1-" in path).rpartition("/")[0]
    with pytest.raises(Refused) as error:
        compiled(files, {**tree, f"{kept}/hello.txt": b"hello\n"})
    assert kept in error.value.message


def test_a_release_folder_changed_by_hand_is_refused():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2")
    tree = tree_of(files, tree)
    path = next(p for p in tree if "/v1-" in p and p.endswith("deployment.yaml"))
    with pytest.raises(Refused) as error:
        compiled(files, {**tree, path: tree[path].replace(b"users:v1", b"users:evil")})
    assert path.rpartition("/")[0] in error.value.message


def test_a_release_folder_that_is_missing_is_refused():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1")}
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2")
    tree = {path: data for path, data in tree.items() if not path.startswith("base/")}
    with pytest.raises(Refused) as error:
        compiled(files, tree)
    assert "base/shop/handler-users/v1-" in error.value.message


def compiled_by_an_older_one(tree):
    """The tree as if another version had written it."""
    return {
        path: data.replace(f'compiler: "{__version__}"'.encode(), b'compiler: "0.0.0"')
        if "/sources/" in path
        else data
        for path, data in tree.items()
    }


def test_another_compiler_version_is_refused_until_upgrade():
    files = {"gati.yaml": canary(TWO), "users.yaml": handler()}
    tree = tree_of(files)
    old = compiled_by_an_older_one(tree)
    assert old != tree
    with pytest.raises(Refused) as error:
        compiled(files, old)
    assert __version__ in error.value.message
    assert "0.0.0" in error.value.message
    assert "--upgrade" in error.value.remedy
    # one environment at a time; the other stays with the old one, and the upgraded one goes on
    half = tree_of(files, old, upgrade=True, env="staging")
    unchanged(files, half, env="staging")
    assert below(half, "overlays/prod") == below(old, "overlays/prod")
    with pytest.raises(Refused):
        compiled(files, half, env="prod")


def test_an_upgrade_un_rejects_nothing():
    files, tree = rejected()
    tree = tree_of(files, compiled_by_an_older_one(tree), upgrade=True)
    assert phases(tree) == {"v1": ("Active", 100), "v2": ("Rejected", 0)}


# -- names across units ----------------------------------------------------------------------------


def test_a_new_version_that_would_take_the_name_of_one_that_still_runs_is_refused():
    files = {"gati.yaml": canary(), "users.yaml": handler(version="v1.2")}
    tree = tree_of(files)
    with pytest.raises(SpecsInvalid) as error:
        compiled({**files, "users.yaml": handler(version="v1-2", image="users:x")}, tree)
    assert codes(error) == ["name-collision"]


def test_a_unit_that_would_take_names_of_another_source_is_refused():
    tree = tree_of({"gati.yaml": canary(name="a"), "x.yaml": handler("users", "a-1")})
    theirs = {"gati.yaml": canary(name="b"), "y.yaml": handler("users-a", "1")}
    with pytest.raises(SpecsInvalid) as error:
        compiled(theirs, tree)
    assert codes(error) == ["name-collision"]


def test_entries_know_what_they_are():
    assert Entry("v1", "a", Phase.PARKED, rejected=True).barred
    assert not Entry("v1", "a", Phase.PARKED).barred


def test_a_release_undone_and_taken_up_again_with_a_change_starts_at_once():
    """A second compile must find nothing left to do."""
    files = {"gati.yaml": canary(), "users.yaml": handler("users", "v1")}
    tree = tree_of(files)
    for spec in (
        handler("users", "v2"),
        handler("users", "v1"),
        handler("users", "v2", env={"DEBUG": "1"}),
    ):
        files["users.yaml"] = spec
        tree = tree_of(files, tree)
    assert phases(tree)["v2"][0] == "Starting"
    assert compiled(files, tree).changes == {}


def test_a_cluster_that_the_project_no_longer_names_stays_and_is_told():
    both = {"dev": {"clusters": {"d": {}}}, "prod": {"clusters": {"p": {}}}}
    tree = tree_of({"gati.yaml": project(both), "users.yaml": handler()})
    found = compiled({"gati.yaml": project({"prod": both["prod"]}), "users.yaml": handler()}, tree)
    assert [(p.code, p.is_error) for p in found.warnings] == [("cluster-left-behind", False)]
    assert "cluster d of dev" in found.warnings[0].message
    assert not [path for path in found.changes if path.startswith("overlays/dev/")]
