"""Recompiling without specs gives what a compile of the unchanged specs would give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.compiler.stored import recompile
from gati_gitops.errors import Refused
from gati_gitops.ledger import acts
from gati_gitops.ledger.outcome import Outcome
from gati_gitops.output import Output
from gati_gitops.render import MemoryFiles, render
from gati_gitops.tree import MemorySnapshot, Tree
from tests.compile.acts import acted
from tests.compile.kit import (
    UNIT,
    after,
    below,
    compiled,
    dangling,
    decide,
    handler,
    ledger,
    moved,
    project,
    settled,
    tree_of,
)
from tests.engines.kit import many
from tests.engines.kit import specs as specs_of_engine

# -- what stands around units ----------------------------------------------------------------------


def without(files, tree: Tree, *names: str) -> tuple[dict[str, str], Tree]:
    """The tree after some specs were deleted: their units retire."""
    left = {name: text for name, text in files.items() if name not in names}
    return left, tree_of(left, tree)


@pytest.mark.parametrize("engine", ["argocd", "flux"])
@pytest.mark.parametrize("names", [("users.yaml",), ("users.yaml", "db.yaml")])
def test_a_unit_that_goes_takes_its_engine_objects_and_folders_along(engine, names):
    files = {**specs_of_engine(engine), "other.yaml": handler("pay", namespace="billing")}
    left, tree = without(files, tree_of(files), *names)
    for name in names:
        unit = "handler-users" if name == "users.yaml" else "module-db"
        tree = acted(tree, acts.retire, unit=unit)
    assert not below(tree, UNIT)
    settled(left, tree)
    # the sync root of a namespace that is empty by now stays, so that its objects are pruned
    assert "clusters/east/shop.units.yaml" in tree


@pytest.mark.parametrize("engine", ["argocd", "flux"])
def test_a_unit_goes_from_a_namespace_that_is_synced_per_unit(engine):
    files = many(52, engine)
    tree = tree_of(files)
    files = many(52, engine, without=7)
    gone = acted(tree_of(files, tree), acts.retire, unit="handler-u07")
    settled(files, gone)


def test_dashboards_rules_and_templates_of_namespaces_follow():
    files = {
        "gati.yaml": project(monitoring={"namespace": "watch"}),
        "users.yaml": handler(),
        "pay.yaml": handler("pay", namespace="billing"),
        "templates/quota.yaml.j2": (
            "{# gati: environment #}\napiVersion: v1\nkind: ResourceQuota\n"
            "metadata: {name: q}\nspec: {hard: {pods: '9'}}\n"
        ),
    }
    left, tree = without(files, tree_of(files), "pay.yaml")
    gone = acted(tree, acts.retire, unit="handler-pay", namespace="billing")
    assert not below(gone, "overlays/prod/east/billing")
    settled(left, gone)


def test_records_go_with_the_last_unit_of_their_group():
    settings = project(pullRequests={"groupBy": "namespace"})
    files = {
        "gati.yaml": settings,
        "users.yaml": handler(),
        "pay.yaml": handler("pay", namespace="billing"),
    }
    left, tree = without(files, tree_of(files), "pay.yaml")
    gone = acted(tree, acts.retire, unit="handler-pay", namespace="billing")
    assert [p for p in gone if "/sources/" in p] == ["overlays/prod/sources/shop/shop.yaml"]
    settled(left, gone)


def test_a_unit_of_another_source_goes_and_all_that_is_shared_stays_as_the_owner_wants_it():
    ours = {"gati.yaml": project(name="shop"), "users.yaml": handler()}
    theirs = {
        "gati.yaml": project(name="billing"),
        "pay.yaml": handler("pay"),
        "bill.yaml": handler("bill"),
    }
    tree = tree_of(theirs, tree_of(ours))
    del theirs["pay.yaml"]
    gone = acted(tree_of(theirs, tree), acts.retire, unit="handler-pay")
    settled(theirs, gone)
    settled(ours, gone)
    assert "overlays/prod/sources/billing/all.yaml" in gone
    del theirs["bill.yaml"]
    theirs["more.yaml"] = handler("more", namespace="else")
    last = tree_of(theirs, gone)
    last = acted(last, acts.retire, unit="handler-bill")
    last = acted(last, acts.retire, unit="handler-more", namespace="else", now=True)
    assert not [path for path in last if "/sources/billing/" in path]
    settled(ours, last)


# -- neighbours ------------------------------------------------------------------------------------


def neighbours() -> dict[str, str]:
    """Two units whose paths contend: which of them answers depends on who serves."""
    routing = {"provider": "istio"}
    settings = project({"prod": {"clusters": {"east": {}}, "routing": routing}})
    return {
        "gati.yaml": settings,
        "users.yaml": handler("users", handlerPath="/users"),
        "one.yaml": handler("one", handlerPath="/users/:id"),
    }


def test_a_route_makes_room_for_who_serves_and_takes_it_back():
    files = neighbours()
    tree = tree_of(files)
    assert b"beside" in tree[f"{UNIT}/unit.yaml"], "the case is about something"
    left, tree = without(files, tree, "one.yaml")
    before = ledger(tree).seq
    gone = acted(tree, acts.retire, unit="handler-one")
    assert b"beside" not in gone[f"{UNIT}/unit.yaml"]
    assert gone[f"{UNIT}/route.yaml"] != tree[f"{UNIT}/route.yaml"]
    assert ledger(gone).seq == before + 1
    settled(left, gone)


def test_a_held_neighbour_remembers_what_its_route_should_be():
    files = neighbours()
    tree = acted(tree_of(files), acts.hold, "audit")
    left, tree = without(files, tree, "one.yaml")
    gone = acted(tree, acts.retire, unit="handler-one")
    assert gone[f"{UNIT}/route.yaml"] == tree[f"{UNIT}/route.yaml"]
    settled(left, gone)
    settled(left, acted(gone, acts.release))


def test_a_unit_that_begins_to_serve_is_made_room_for():
    files = neighbours()
    files["gati.yaml"] = project(
        {
            "dev": ["dev-1"],
            "prod": {"clusters": {"east": {}}, "routing": {"provider": "istio"}},
        },
        promotion={"prod": {"after": "dev"}},
    )
    tree = acted(tree_of(files), acts.release)
    assert b"beside" not in tree[f"{UNIT}/unit.yaml"]
    tree = acted(tree, acts.release, unit="handler-one")
    assert b"beside" in tree[f"{UNIT}/unit.yaml"]
    settled(files, tree)


# -- only what was decided -------------------------------------------------------------------------


def test_nothing_else_is_read_or_written():
    files = {"gati.yaml": project(), "users.yaml": handler(), "orders.yaml": handler("orders")}
    tree = tree_of(files)
    orders = UNIT.replace("users", "orders")
    broken = {**tree, f"{orders}/unit.yaml": b"not: [yaml", f"{orders}/rollout.yaml": b"nor this"}
    held = acted(broken, acts.hold, "audit")
    assert below(held, orders) == below(broken, orders)
    assert {p for p in held if held[p] != broken.get(p)} == {f"{UNIT}/rollout.yaml"}


def test_no_decision_is_no_change():
    tree = tree_of({"gati.yaml": project(), "users.yaml": handler()})
    output = Output(MemorySnapshot(tree))
    stored = output.unit("prod", "east", ("shop", "handler-users"))
    same = {("prod", "east", ("shop", "handler-users")): Outcome(stored.plan, stored.ledger)}
    assert recompile(output, same).changes == {}
    assert recompile(output, {}).changes == {}


# -- any history -----------------------------------------------------------------------------------

ACTS = ("hold", "lift", "release", "forgive", "reject", "rollback", "back", "retire", "remove")
IDS = ("v1", "v2", "v3", "v4")
step = st.one_of(
    st.tuples(
        st.just("compile"),
        st.sampled_from(IDS),
        st.sampled_from(["", "debug", "info"]),
        st.sampled_from(["users", "orders", "both"]),
        st.integers(1, 3),
    ),
    st.tuples(
        st.sampled_from(ACTS), st.sampled_from(IDS), st.sampled_from(["staging", "prod"]),
        st.sampled_from(["", "east"]), st.booleans(),
    ),
    st.tuples(st.just("advance"), st.sampled_from(["staging", "prod"])),
)  # fmt: skip


def specs(strategy, promoted, split, version, level, which, replicas):
    more = {"promotion": {"prod": {"after": "staging"}}} if promoted else {}
    environments = {"staging": ["stage"], "prod": ["east", "west"]}
    files = {"gati.yaml": project(environments, rollout={"strategy": strategy}, **more)}
    for name in ("users", "orders"):
        if which in (name, "both"):
            env = {"env": {"LEVEL": level}} if level else {}
            path = {"handlerPath": "/users/:id/orders"} if name == "orders" else {}
            files[f"{name}.yaml"] = handler(name, version, replicas=replicas, **env, **path)
    if split and which in ("users", "both") and version != "v1":
        from tests.compile.kit import version as gati_version

        files["users.yaml"] = handler("users", version, replicas=replicas, weight=60)
        files["v1.yaml"] = gati_version("users", "v1", 40, image="ghcr.io/acme/users:v1")
    return files


def made(tree: Tree, verb: str, version: str, env: str, cluster: str, now: bool) -> Tree:
    cluster = cluster if env == "prod" else ""
    arguments: tuple[str, ...] = (version,)
    options = {}
    act = {"back": acts.rollback}.get(verb) or getattr(acts, verb)
    if verb in ("lift", "release", "rollback", "retire"):
        arguments = ()
        options = {"now": now} if verb == "retire" else {}
    return acted(tree, act, *arguments, env=env, cluster=cluster, **options)


def advanced(tree: Tree, env: str) -> Tree:
    """What the job does: the rollout in progress becomes Active, and what drained is parked."""
    output = Output(MemorySnapshot(tree))
    for name, cluster in output.clusters():
        for key, stored in output.units(name, cluster).items() if name == env else ():
            rolling = stored.ledger.rolling if stored.ledger else None
            if rolling is None or stored.ledger.hold or rolling.barred:
                continue
            change = {
                e.id: ("Active", 100) if e is rolling
                else ("Rejected" if e.barred else "Draining", 0) if e.weight
                else ("Parked", 0)
                for e in stored.ledger.entries
                if e.phase.value in ("Active", "Canary", "Draining") or e is rolling
            }  # fmt: skip
            tree = decide(tree, moved(**change), f"overlays/{env}/{cluster}/{'/'.join(key)}")
    return tree


@given(
    st.sampled_from(["manual", "canary", "direct"]),
    st.booleans(),
    st.booleans(),
    st.lists(step, min_size=3, max_size=9),
)
def test_a_decision_leaves_what_a_compile_would(strategy, promoted, split, steps):
    files = specs(strategy, promoted, split, "v1", "", "both", 2)
    tree = tree_of(files)
    for what, *rest in steps:
        before = tree
        if what == "compile":
            wanted = specs(strategy, promoted, split, *rest)
            tree = after(before, compiled(wanted, before, sweep=False))
            files = wanted
            continue
        if what == "advance":
            tree = after(tree := advanced(tree, *rest), compiled(files, tree, sweep=False))
            continue
        version, env, cluster, now = rest
        if not below(
            tree,
            f"overlays/{env}/{cluster or ('stage' if env == 'staging' else 'west')}/shop/handler-users",
        ):
            continue
        try:
            tree = made(before, what, version, env, cluster, now)
        except Refused:
            continue
        check(files, before, tree, env, brought_back=what == "retire")
        # the same again is no second decision; releasing a hold and what waits are two
        if what not in ("release", "retire"):
            assert made(tree, what, version, env, cluster, now) == tree


def check(files, before: Tree, tree: Tree, env: str, *, brought_back: bool) -> None:
    other = {"staging": "prod", "prod": "staging"}[env]
    assert below(tree, f"overlays/{other}") == below(before, f"overlays/{other}")
    assert below(tree, "base") == below(before, "base")
    if brought_back and "users.yaml" in files:
        assert dangling(tree) == []  # the specs still have it, so a compile starts it anew
    else:
        settled(files, tree)
    for path in tree:
        if not path.endswith("/rollout.yaml"):
            continue
        folder = path.rpartition("/")[0]
        render(MemoryFiles(tree), folder)
        new = ledger(tree, folder)
        assert sum(e.weight for e in new.entries) in (0, 100)
        if path in before:
            old = ledger(before, folder)
            changed = below(tree, folder) != below(before, folder)
            assert new.seq == old.seq + changed
            served = any(e.weight for e in old.entries)
            assert not served or any(e.weight for e in new.entries), "nobody answers any more"
            deployed = {e.id for e in old.entries if e.phase.value not in ("Pending", "Removed")}
            fresh = {e.id for e in new.entries if e.weight} - deployed
            assert not fresh or not served, "weight in the commit that first deploys a version"
