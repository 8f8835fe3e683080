"""What a unit's fate hangs on that is not its own: who names it, who waits for it, who went first."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from gati_gitops.ledger.store import dump_ledger
from gati_gitops.output import Output
from gati_gitops.publish.run import undone_on
from gati_gitops.reconcile.around import Surroundings
from gati_gitops.reconcile.callers import callers
from gati_gitops.reconcile.places import Narrowing, scene_on
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import canary, decide, handler, module, moved, tree_of

USERS, CARTS = ("shop", "handler-users"), ("shop", "handler-carts")
DB = ("shop", "module-db")


def called(tree):
    output = Output(MemorySnapshot(tree))
    return callers(output, "prod", "east", output.units("prod", "east"))


def draining(*, naming: str = ""):
    """Users whose first version drains, and carts whose template may name a Service."""
    template = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "carts-routes"},
        "data": {"upstream": naming},
    }  # fmt: skip
    first = {"gati.yaml": canary(), "users.yaml": handler(), "carts.yaml": handler("carts")}
    tree = tree_of({**first, "users.yaml": handler(version="v2")}, tree_of(first))
    tree = decide(tree, moved(v1=("Draining", 0), v2=("Active", 100)))
    if naming:
        path = "overlays/prod/east/shop/handler-carts/unit.yaml"
        plan = yaml.safe_load(tree[path])
        plan["added"] = [{"template": "t.j2", "object": template}]
        tree[path] = yaml.safe_dump(plan, sort_keys=False).encode()
    return tree


def test_a_version_that_another_unit_names_is_missed():
    tree = draining(naming="handler-users-v1.shop.svc")
    assert called(tree) == {USERS: {"v1": ("shop/handler-carts",)}}


@pytest.mark.parametrize("naming", ["", "handler-users-v2.shop.svc", "handler-users-v10", "x-handler-users-v1"])  # fmt: skip
def test_other_names_are_other_names(naming):
    assert called(draining(naming=naming)) == {}


def test_a_module_that_retires_is_missed_by_those_that_call_it():
    files = {
        "gati.yaml": canary(),
        "db.yaml": module("db"),
        "users.yaml": handler(modules=["db"]),
        "carts.yaml": handler("carts"),
    }
    tree = tree_of(files)
    assert called(tree) == {}, "nobody wants to take it away"
    path = "overlays/prod/east/shop/module-db/rollout.yaml"
    tree[path] = tree[path].replace(b"target:", b"retiring: true\ntarget:")
    ((_, names),) = called(tree)[DB].items()
    assert names == ("shop/handler-users",)


@pytest.fixture
def around(town):
    """What surrounds a unit on the branch, now."""

    def find(where, now=None, cannot_write=""):
        with town.open() as repository:
            tip = repository.tip()
            scene = scene_on(tip, Narrowing(), lambda root: undone_on(repository, tip, root))
            return Surroundings(scene, now or town.clock, cannot_write).of(where)

    return find


def test_environments_downstream_say_how_long_a_version_must_stand(town, around):
    promotion = {"prod": {"after": "staging", "dwell": "2h"}, "live": {"after": "staging"}}
    settings = canary(
        {"staging": ["stage"], "prod": ["east"], "live": ["far"]}, promotion=promotion
    )
    town.release({"gati.yaml": settings, "users.yaml": handler()})
    assert around(("staging", "stage", USERS)).dwells == (7200.0, 86400.0)
    assert around(("prod", "east", USERS)).dwells == ()


def test_only_serving_clusters_prove_and_every_one_of_them_must(town, around):
    clusters = {"s-1": {}, "s-2": {}, "s-3": {"role": "standby"}}
    settings = canary(
        {"staging": {"clusters": clusters}, "prod": ["east"]},
        promotion={"prod": {"after": "staging", "dwell": "10m"}},
    )
    town.release({"gati.yaml": settings, "users.yaml": handler()})
    where = ("prod", "east", USERS)
    (key,) = around(where).unproved
    assert key[0] == "v1"

    def prove(cluster):
        folder = f"overlays/staging/{cluster}/shop/handler-users"
        ledger = town.ledger(folder)
        entries = [replace(e, proved=600) for e in ledger.entries]
        text = dump_ledger(replace(ledger.with_entries(entries), seq=ledger.seq + 1), ["x"])
        town.by_hand(lambda place: (place / folder / "rollout.yaml").write_bytes(text))

    prove("s-1")
    assert around(where).proved == {}
    assert "s-2" in around(where).unproved[key]
    prove("s-2")
    assert key in around(where).proved, "a standby blocks nobody"


def test_a_standby_follows_what_all_serving_siblings_have(town, around):
    clusters = {"east": {}, "west": {"role": "standby"}}
    town.release({"gati.yaml": canary({"prod": {"clusters": clusters}}), "users.yaml": handler()})
    west = around(("prod", "west", USERS))
    assert west.standby and {id for id, _ in west.led} == {"v1"}
    east = around(("prod", "east", USERS))
    assert not east.standby and east.led == frozenset()


def test_what_was_rejected_on_a_sibling_is_known(town, around):
    town.release({"gati.yaml": canary({"prod": ["east", "west"]}), "users.yaml": handler()})
    town.release({"users.yaml": handler(version="v2")})
    town.act("reject", version="v2", clusters=("west",))
    judged = around(("prod", "east", USERS)).judged
    assert {(id, where) for (id, _), where in judged.items()} == {("v2", "prod on west")}


def test_windows_of_a_cluster_count_besides_those_of_its_environment(town, around):
    window = {"reason": "inventory", "from": "2030-01-01 00:00", "until": "2031-01-01 00:00"}
    clusters = {"east": {"freeze": [window]}, "west": {}}
    town.release({"gati.yaml": canary({"prod": {"clusters": clusters}}), "users.yaml": handler()})
    assert "inventory" in around(("prod", "east", USERS)).frozen
    assert around(("prod", "west", USERS)).frozen == ""
    assert around(("prod", "west", USERS), cannot_write="403").cannot_write == "403"
