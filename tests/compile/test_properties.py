"""What holds for every project, as far as hypothesis can think of projects."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gati_gitops.compiler import compile_specs
from gati_gitops.emit.release import release_objects
from gati_gitops.errors import SpecsInvalid
from gati_gitops.ledger.model import Phase
from gati_gitops.ledger.store import dump_plan, plan_from
from gati_gitops.plan import defaults
from gati_gitops.plan.releases import release
from gati_gitops.render import MemoryFiles, render
from gati_gitops.spec.link import link
from gati_gitops.spec.load import load
from gati_gitops.tree import MemorySnapshot, Tree
from gati_gitops.yamlio.goyaml_read import decode, read_config
from tests.compile.kit import (
    after,
    below,
    by_identity,
    compiled,
    dangling,
    decide,
    handler,
    kustomize,
    ledger,
    objects,
    project,
    tree_of,
    weights,
    write,
)
from tests.compile.projects import projects

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?\Z")
LEFT_OUT = ("name-collision", "metric-without-request")
CLUSTERS = (("staging", "stage"), ("prod", "east"), ("prod", "west"))


def ok(files: dict[str, str]) -> dict[str, str]:
    """Leave out the few projects in which names collide or a scaler has nothing to go by."""
    try:
        compiled(files)
    except SpecsInvalid as error:
        found = [problem for problem in error.problems if problem.is_error]
        assume(not any(problem.code in LEFT_OUT for problem in found))
        raise AssertionError([(p.code, p.message, p.field, str(p.place)) for p in found]) from None
    return files


valid = projects().map(ok)


def unit_folders(tree: Tree) -> list[str]:
    return [path.rpartition("/")[0] for path in tree if path.endswith("/unit.yaml")]


@given(valid)
def test_compiling_twice_changes_nothing(files):
    tree = tree_of(files)
    again = compiled(files, tree)
    assert again.changes == {}
    assert again.tree == tree


@given(valid, st.randoms(use_true_random=False))
def test_the_order_of_files_does_not_matter(files, random: random.Random):
    items = [(name, text.encode()) for name, text in files.items()]
    random.shuffle(items)
    tree = tree_of(files)
    assert compile_specs(load(items), MemorySnapshot({})).tree == tree
    old = list(tree.items())
    random.shuffle(old)
    assert compile_specs(load(items), MemorySnapshot(dict(old))).changes == {}


@given(valid)
def test_nothing_dangles(files):
    assert dangling(tree_of(files)) == []


# -- an overlay is what a direct build would give -----------------------------------------------------


def direct(files: dict[str, str], env: str, cluster: str) -> dict[str, list[dict[str, Any]]]:
    """The objects of every version, built from the environment's merged specs without any patch."""
    specs = load((name, text.encode()) for name, text in files.items())
    registries = specs.project.spec.environments[env].registries
    units, _ = link(specs.on(env, cluster))
    base, _ = link(specs)
    names = {(u.namespace, u.kind, u.name): u for u in base}
    found: dict[str, list[dict[str, Any]]] = {}
    for unit in units:
        folder = f"overlays/{env}/{cluster}/{unit.namespace}/{unit.kind}-{unit.name}"
        assert (unit.namespace, unit.kind, unit.name) in names
        for version in unit.versions:
            built = release_objects(release(unit, version, specs.project.metadata.name))
            scaling = defaults.scaling(version.workload)
            deployment = built["deployment.yaml"]
            if not scaling.owned:
                deployment["spec"]["replicas"] = scaling.replicas
            container = deployment["spec"]["template"]["spec"]["containers"][0]
            for prefix, mirror in registries.items():
                if container["image"].startswith(f"{prefix}/"):
                    container["image"] = mirror + container["image"].removeprefix(prefix)
            found.setdefault(folder, []).extend(built.values())
    return found


def without_empty(value: Any) -> Any:
    """What a merge may add or drop without changing the meaning: nothing but empty maps."""
    if isinstance(value, dict):
        return {k: without_empty(v) for k, v in value.items() if v != {} or k == "emptyDir"}
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    return value


KINDS = ("Deployment", "Service", "ServiceAccount", "ConfigMap")


def same_objects(rendered, wanted):
    ours = {
        key: item
        for key, item in by_identity(rendered).items()
        if key[0] in KINDS and "gati.dev/version" in item["metadata"]["labels"]
    }
    theirs = by_identity(wanted)
    assert sorted(ours) == sorted(theirs)
    for key, item in theirs.items():
        assert without_empty(ours[key]) == without_empty(item), key


def unpromoted(files: dict[str, str]) -> dict[str, str]:
    """Without promotion everything is deployed at once."""
    settings_ = json.loads(files["gati.yaml"])
    settings_["spec"].pop("promotion", None)
    return {**files, "gati.yaml": json.dumps(settings_)}


@pytest.mark.kustomize
@pytest.mark.parametrize("text", ["two\n", "two\n\n\n", "two \n", "\n", "two", " two\n"])
def test_a_file_of_an_environment_keeps_its_end(tmp_path, text):
    """Kustomize strips the text of a patch; the last file of a ConfigMap is the last thing in it."""

    def files(**contents: str) -> dict[str, Any]:
        return {"volumes": [{"name": "vol", "mountPath": "/mnt", "files": contents}]}

    partial = {**json.loads(handler()), "spec": files(a="one\n", z=text)}
    given = {
        "gati.yaml": project({"staging": ["stage"]}),
        "users.yaml": handler(**files(a="one\n")),
        "environments/staging/users.yaml": json.dumps(partial),
    }
    tree = tree_of(given)
    write(tree, tmp_path)
    folder = "overlays/staging/stage/shop/handler-users"
    for built in (kustomize(tmp_path, folder), render(MemoryFiles(tree), folder).objects()):
        (found,) = [item for item in built if item["kind"] == "ConfigMap"]
        assert found["data"]["vol.z"] == text


@given(valid)
@settings(max_examples=40)
def test_a_rendered_overlay_equals_a_direct_build(files):
    files = unpromoted(files)
    tree = tree_of(files)
    for env, cluster in CLUSTERS:
        for folder, wanted in direct(files, env, cluster).items():
            same_objects(render(MemoryFiles(tree), folder).objects(), wanted)


@pytest.mark.kustomize
@given(valid)
@settings(max_examples=6)
def test_kustomize_gives_the_same_as_a_direct_build(tmp_path_factory, files):
    files = unpromoted(files)
    root = tmp_path_factory.mktemp("tree")
    tree = tree_of(files)
    write(tree, root)
    for env, cluster in CLUSTERS[:2]:
        for folder, wanted in direct(files, env, cluster).items():
            same_objects(kustomize(root, folder), wanted)


# -- names, labels, selectors ------------------------------------------------------------------------


@given(valid)
def test_names_are_short_legal_and_unique_and_labels_are_legal(files):
    tree = tree_of(unpromoted(files))
    for env, cluster in CLUSTERS:
        items = render(MemoryFiles(tree), f"overlays/{env}/{cluster}").objects()
        by_identity(items)  # unique
        for item in items:
            meta = item["metadata"]
            if item["kind"] in ("CustomResourceDefinition", "Namespace"):
                continue
            assert len(meta["name"]) <= 46
            assert LABEL.match(meta["name"])
            pod = item.get("spec", {}).get("template", {}).get("metadata", {})
            for value in [*meta["labels"].values(), *pod.get("labels", {}).values()]:
                assert VALUE.match(value), value


@given(valid)
def test_no_selector_matches_the_pods_of_another_version(files):
    tree = tree_of(unpromoted(files))
    items = render(MemoryFiles(tree), "overlays/prod/east").objects()
    deployments = [item for item in items if item["kind"] == "Deployment"]
    pods = {d["metadata"]["name"]: d["spec"]["template"]["metadata"]["labels"] for d in deployments}

    def matched(selector):
        return {name for name, labels in pods.items() if selector.items() <= labels.items()}

    for item in items:
        spec, name = item.get("spec", {}), item["metadata"]["name"]
        if item["kind"] in ("Deployment", "PodDisruptionBudget"):
            assert matched(spec["selector"]["matchLabels"]) == {name}
        elif item["kind"] == "Service":
            found = matched(spec["selector"])
            of_version = "gati.dev/version" in item["metadata"]["labels"]
            assert found == {name} if of_version else len(found) == 1
        if item["kind"] == "Deployment":
            for spread in spec["template"]["spec"]["topologySpreadConstraints"]:
                assert matched(spread["labelSelector"]["matchLabels"]) == {name}


@given(valid)
def test_replicas_are_in_git_exactly_when_nobody_scales(files):
    tree = tree_of(unpromoted(files))
    items = render(MemoryFiles(tree), "overlays/staging/stage").objects()
    scaled = {
        item["spec"]["scaleTargetRef"]["name"]
        for item in items
        if item["kind"] in ("HorizontalPodAutoscaler", "ScaledObject")
    }
    for item in items:
        if item["kind"] == "Deployment":
            assert ("replicas" in item["spec"]) == (item["metadata"]["name"] not in scaled)
        if item["kind"] == "HorizontalPodAutoscaler":
            assert 1 <= item["spec"]["minReplicas"] <= item["spec"]["maxReplicas"]


# -- weights -----------------------------------------------------------------------------------------


@given(valid)
def test_weights_are_explicit_never_all_zero_and_those_of_the_ledger(files):
    tree = tree_of(unpromoted(files))
    for folder in unit_folders(tree):
        if f"{folder}/route.yaml" not in tree:
            continue
        for route in objects(tree, f"{folder}/route.yaml"):
            assert 1 <= len(route["spec"]["rules"]) <= 16
            for rule in route["spec"]["rules"]:
                assert all(type(b["weight"]) is int for b in rule["backendRefs"])
                assert sum(b["weight"] for b in rule["backendRefs"]) > 0
        plan = objects(tree, f"{folder}/unit.yaml")[0]
        names = {v["id"]: v["name"] for v in plan["versions"]}
        found = {names[e.id]: e.weight for e in ledger(tree, folder).entries}
        assert weights(tree, folder) == found
        assert sum(found.values()) == 100


# -- stored plans ------------------------------------------------------------------------------------


@given(valid)
def test_a_stored_plan_is_read_as_it_was_written(files):
    for place in compiled(files).units:
        plan = place.outcome.plan
        assert plan is not None
        assert plan_from(read_config(decode(dump_plan(plan))), "unit.yaml") == plan


# -- walls -------------------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(
        st.sampled_from(["staging", "prod", ""]),
        st.sampled_from(["v1", "v2", "v3", "v4"]),
        st.sampled_from(["", "debug", "info"]),
        st.sampled_from(["users", "orders", "both"]),
        st.sampled_from([None, "advance", "reject", "hold", "lose"]),
    ),
    min_size=2,
    max_size=7,
)


def history_files(strategy, promoted, version, level, which):
    from tests.compile.kit import handler, project

    more = {"promotion": {"prod": {"after": "staging"}}} if promoted else {}
    settings_ = {"staging": ["stage"], "prod": ["east", "west"]}
    files = {"gati.yaml": project(settings_, rollout={"strategy": strategy}, **more)}
    for name in ("users", "orders"):
        if which in (name, "both"):
            env = {"env": {"LEVEL": level}} if level else {}
            files[f"{name}.yaml"] = handler(name, version=version, **env)
    files["environments/prod/x.yaml"] = (
        "kind: GatiHandler\nmetadata: {name: %s, namespace: shop}\nspec: {env: {P: '1'}}\n"
        % ("orders" if which == "orders" else "users")
    )
    return files


def decided(tree: Tree, what: str, env: str) -> Tree:
    """What the job or a person does between two compiles, to every unit of an environment."""
    from dataclasses import replace

    def advance(old):
        rolling = old.rolling or next((e for e in old.entries if e.phase is Phase.PENDING), None)
        if rolling is None:
            return old
        entries = []
        for e in old.entries:
            if e == rolling:
                entries.append(replace(e, phase=Phase.ACTIVE, weight=100))
            elif e.id != rolling.id:
                phase = Phase.DRAINING if e.weight else e.phase
                entries.append(replace(e, phase=phase, weight=0))
        return replace(old.with_entries(entries), seq=old.seq + 1)

    def reject(old):
        rolling = old.rolling
        if rolling is None or not any(e.phase is Phase.ACTIVE for e in old.entries):
            return old
        entries = [
            replace(e, phase=Phase.REJECTED, weight=0)
            if e == rolling
            else replace(e, weight=100)
            if e.phase is Phase.ACTIVE
            else replace(e, weight=0, phase=Phase.DRAINING)
            if e.weight
            else e
            for e in old.entries
        ]
        return replace(old.with_entries(entries), seq=old.seq + 1)

    change = {
        "advance": advance,
        "reject": reject,
        "hold": lambda old: replace(old, hold="" if old.hold else "why", seq=old.seq + 1),
    }.get(what)
    for folder in unit_folders(tree):
        if folder.startswith(f"overlays/{env or 'staging'}/"):
            if what == "lose":
                tree = {p: data for p, data in tree.items() if p != f"{folder}/rollout.yaml"}
            elif change is not None and f"{folder}/rollout.yaml" in tree:
                tree = decide(tree, change, folder)
    return tree


@given(st.sampled_from(["manual", "canary"]), st.booleans(), steps)
def test_environments_are_walls_through_any_history(strategy, promoted, steps):
    tree: Tree = {}
    for env, version, level, which, what in steps:
        files = history_files(strategy, promoted, version, level, which)
        before = tree
        result = compiled(files, before, env=env)
        tree = after(before, result)
        # nothing of another environment moved, and everything it names is there
        other = {"staging": "prod", "prod": "staging"}.get(env, "nobody")
        assert below(tree, f"overlays/{other}") == below(before, f"overlays/{other}")
        assert dangling(tree) == []
        for folder in unit_folders(tree):
            render(MemoryFiles(tree), folder)
        # compiling again is nothing, and numbers never fall
        assert compiled(files, tree, env=env).changes == {}
        for folder in unit_folders(tree):
            path = f"{folder}/rollout.yaml"
            if path not in tree:
                continue  # lost in an environment that nobody has compiled since
            total = sum(e.weight for e in ledger(tree, folder).entries)
            assert total in (0, 100)
            if path in before and path in tree:
                old, new = ledger(before, folder), ledger(tree, folder)
                # manifests also catch up with what was decided since; plan and ledger are what counts
                changed = any(
                    before[f"{folder}/{name}"] != tree[f"{folder}/{name}"]
                    for name in ("unit.yaml", "rollout.yaml")
                )
                assert new.seq == old.seq + (1 if changed else 0)
                if not changed:
                    continue
                old_weights = {e.id: e.weight for e in old.entries if e.weight}
                new_weights = {e.id: e.weight for e in new.entries if e.weight}
                if strategy != "manual":
                    assert old_weights == new_weights, "a compile moves no traffic"
                if old.hold:
                    assert new.hold == old.hold
                    assert {e for e in old.entries if e.phase is not Phase.PENDING} == {
                        e for e in new.entries if e.phase is not Phase.PENDING
                    }
                barred = {e.key for e in old.entries if e.barred}
                live = {e.key for e in new.entries if not e.barred}
                assert not barred & live, "a rejected digest is never forgiven"
        if what is not None:
            tree = decided(tree, what, env)
