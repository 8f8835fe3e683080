"""Recompiling without specs gives what a compile of the unchanged specs would give."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.errors import Refused
from gati_gitops.ledger import acts
from gati_gitops.output import Output
from gati_gitops.render import MemoryFiles, render
from gati_gitops.tree import MemorySnapshot, Tree
from tests.compile.acts import acted
from tests.compile.kit import (
    after,
    below,
    compiled,
    dangling,
    decide,
    handler,
    ledger,
    moved,
    project,
    tree_of,
)


def settled(files, tree: Tree) -> None:
    """Nothing is left for a compile of these specs to do."""
    again = compiled(files, tree, sweep=False)
    assert again.changes == {}, sorted(again.changes)
    assert dangling(tree) == []


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
        except Refused as refused:
            assert refused.remedy
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
