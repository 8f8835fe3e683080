"""The change set: what happens to units, versions and objects, checked against real compiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings

from gati_gitops.compiler import Compilation
from gati_gitops.errors import SpecsInvalid
from gati_gitops.ledger.model import Ledger
from gati_gitops.publish.changes import ChangeSet, Fate, Step, UnitChange, change_set
from gati_gitops.publish.objects import ObjectId, Overlaid, _read_off, built, objects_in
from gati_gitops.render import MemoryFiles
from gati_gitops.tree import MemorySnapshot, Tree
from tests.compile.kit import (
    UNIT,
    after,
    canary,
    compiled,
    decide,
    handler,
    module,
    moved,
    project,
    tree_of,
    version,
)
from tests.compile.projects import projects

HERE = Path(__file__).parents[2]


def changed(
    files: Mapping[str, str], before: Mapping[str, bytes] | None = None, **options: Any
) -> tuple[ChangeSet, Compilation]:
    """What compiling ``files`` on top of ``before`` does to prod."""
    made = compiled(files, before, **options)
    outcomes = [placed.outcome for placed in made.units]
    return change_set("prod", MemorySnapshot(before), made.changes, outcomes), made


def recorded(before: Tree, later: Tree) -> ChangeSet:
    """The same without a compile: nobody says what was decided."""
    changes = {path: later.get(path) for path in before.keys() | later.keys()}
    changes = {path: c for path, c in changes.items() if before.get(path) != c}
    return change_set("prod", MemorySnapshot(before), changes)


def only(found: ChangeSet) -> UnitChange:
    assert len(found.units) == 1
    return found.units[0]


def steps(change: UnitChange) -> dict[str, Step]:
    return {version.id: version.step for version in change.versions}


def kinds(keys: tuple[ObjectId, ...]) -> list[str]:
    return sorted(key.kind for key in keys)


# -- versions --------------------------------------------------------------------------------------


def test_a_first_publish_is_told_by_unit_version_and_object() -> None:
    found, _ = changed({"gati.yaml": canary(), "a": handler()})
    unit = only(found)
    assert (str(unit.unit), unit.cluster, unit.fate) == ("shop/users", "east", Fate.NEW)
    assert steps(unit) == {"v1": Step.ACTIVE}
    assert unit.versions[0].image == "ghcr.io/acme/users:v1"
    assert unit.traffic == (("v1", 100),)
    assert kinds(unit.objects.added) == [
        "Deployment", "HTTPRoute", "NetworkPolicy", "PodDisruptionBudget", "Service",
        "ServiceAccount",
    ]  # fmt: skip
    wide = {folder.namespace: kinds(folder.objects.added) for folder in found.folders}
    assert wide == {"": ["CustomResourceDefinition"] * 3, "shop": ["Namespace"]}
    assert not found.files.changed and not found.files.removed


def test_a_new_version_starts_and_the_old_one_goes_on_serving() -> None:
    before = tree_of({"gati.yaml": canary(), "a": handler()})
    found, _ = changed({"gati.yaml": canary(), "a": handler(version="v2")}, before)
    unit = only(found)
    assert (unit.fate, steps(unit)) == (Fate.CHANGES, {"v2": Step.STARTS})
    assert unit.traffic == (("v1", 100),)
    assert not unit.objects.removed and not unit.counted
    assert not found.folders
    assert f"{UNIT}/rollout.yaml" in found.files.changed


def test_a_version_that_waits_changes_no_object() -> None:
    settings = canary({"prod": ["east"], "dev": ["d"]}, promotion={"prod": {"after": "dev"}})
    before = tree_of({"gati.yaml": settings, "a": handler()})
    before = decide(before, moved(v1=("Active", 100)))
    before = tree_of({"gati.yaml": settings, "a": handler()}, before)
    found, _ = changed({"gati.yaml": settings, "a": handler(version="v2")}, before)
    unit = only(found)
    assert steps(unit) == {"v2": Step.WAITS}
    assert not unit.objects


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        (("Starting", 0), ("Canary", 10), Step.WEIGHT),
        (("Canary", 10), ("Canary", 50), Step.WEIGHT),
        (("Starting", 0), ("Draining", 0), Step.DRAINS),
        (("Draining", 0), ("Parked", 0), Step.PARKS),
        (("Parked", 0), ("Removed", 0), Step.REMOVED),
        (("Starting", 0), ("Rejected", 0), Step.REJECTED),
    ],
)
def test_phases_and_weights_are_told_before_and_after(
    old: tuple[str, int], new: tuple[str, int], step: Step
) -> None:
    files = {"gati.yaml": canary(), "a": handler()}
    before = tree_of({**files, "a": handler(version="v2")}, tree_of(files))
    before = decide(before, moved(v2=old, v1=("Active", 100 - old[1])))
    later = decide(before, moved(v2=new, v1=("Active", 100 - new[1])))
    unit = only(recorded(before, later))
    change = next(version for version in unit.versions if version.id == "v2")
    assert change.step is step
    assert change.before and change.after
    assert (change.before.phase.value, change.before.weight) == old
    assert (change.after.phase.value, change.after.weight) == new


def test_what_waited_and_got_its_turn_is_one_change() -> None:
    settings = canary({"prod": ["east"], "dev": ["d"]}, promotion={"prod": {"after": "dev"}})
    before = tree_of({"gati.yaml": settings, "a": handler()})
    unit = only(recorded(before, decide(before, moved(v1=("Starting", 0)))))
    (change,) = unit.versions
    assert change.step is Step.STARTS
    assert change.before is not None and change.before.phase == "Pending"


def test_a_revision_is_told_as_one() -> None:
    before = tree_of({"gati.yaml": canary(), "a": handler()})
    changed_env = handler(env={"A": "1"})
    found, _ = changed({"gati.yaml": canary(), "a": changed_env}, before)
    unit = only(found)
    assert steps(unit) == {"v1": Step.REVISED}
    assert kinds(unit.objects.changed) == ["Deployment"]
    assert not unit.objects.added and not unit.objects.removed


def test_a_setting_of_the_environment_changes_objects_and_no_version() -> None:
    before = tree_of({"gati.yaml": canary(), "a": handler()})
    more = '{"apiVersion": "gati.dev/v1alpha1", "kind": "GatiHandler", "metadata": {"name":'
    more += ' "users", "namespace": "shop"}, "spec": {"replicas": 4}}'
    found, _ = changed(
        {"gati.yaml": canary(), "a": handler(), "environments/prod/b.yaml": more}, before
    )
    unit = only(found)
    assert not unit.versions
    assert "Deployment" in kinds(unit.objects.changed)


# -- units -----------------------------------------------------------------------------------------


def test_a_unit_that_starts_to_retire_counts_once() -> None:
    files = {"gati.yaml": canary(), "a": handler(), "b": handler("orders")}
    before = tree_of(files)
    del files["b"]
    found, made = changed(files, before)
    unit = only(found)
    assert (unit.fate, unit.counted, found.stood) == (Fate.RETIRES, True, 2)
    assert not unit.objects.removed
    retiring = after(before, made)
    folder = UNIT.replace("users", "orders")
    parked = decide(retiring, moved(v1=("Parked", 0)), folder)
    again = only(recorded(retiring, parked))
    assert (again.fate, again.counted) == (Fate.CHANGES, False)
    gone = {path: c for path, c in parked.items() if not path.startswith(folder)}
    last = only(recorded(parked, gone))
    assert (last.fate, last.counted) == (Fate.GONE, False)
    assert "Deployment" in kinds(last.objects.removed)


def test_a_unit_that_goes_at_once_counts_and_takes_its_namespace_with_it() -> None:
    settings = canary({"prod": {"clusters": {"east": {}}, "onDelete": "immediate"}})
    before = tree_of({"gati.yaml": settings, "a": handler(), "b": handler("x", namespace="two")})
    found, _ = changed({"gati.yaml": settings, "a": handler()}, before)
    unit = only(found)
    assert (unit.fate, unit.counted) == (Fate.GONE, True)
    (folder,) = found.folders
    assert (folder.namespace, kinds(folder.objects.removed)) == ("two", ["Namespace"])


def test_units_are_counted_once_for_all_clusters() -> None:
    settings = canary({"prod": ["east", "west"]})
    before = tree_of({"gati.yaml": settings, "a": handler(), "b": handler("orders")})
    found, _ = changed({"gati.yaml": settings, "a": handler()}, before)
    assert [unit.cluster for unit in found.units] == ["east", "west"]
    assert found.stood == 2


def test_modules_are_units() -> None:
    before = tree_of({"gati.yaml": canary(), "a": handler()})
    found, _ = changed({"gati.yaml": canary(), "a": handler(), "m": module()}, before)
    assert str(only(found).unit) == "shop/module-db"


def held(ledger: Ledger) -> Ledger:
    return replace(ledger, hold="payments look wrong", seq=ledger.seq + 1)


def test_holds_are_told_when_they_begin_last_and_end() -> None:
    files = {"gati.yaml": canary(), "a": handler()}
    before = tree_of(files)
    later = decide(before, held)
    begun = only(recorded(before, later))
    assert (begun.newly_held, begun.hold) == (True, "payments look wrong")
    ended = only(recorded(later, before))
    assert (ended.released, ended.newly_held, ended.hold) == (True, False, "")
    found, _ = changed({**files, "a": handler(version="v2")}, later)
    unit = only(found)
    assert (unit.newly_held, unit.released) == (False, False)
    assert steps(unit) == {"v2": Step.WAITS}
    assert [(str(h.unit), h.reason) for h in found.held] == [("shop/users", "payments look wrong")]


def test_a_ledger_that_a_person_deleted_is_no_flood_of_versions() -> None:
    files = {"gati.yaml": canary(), "a": handler()}
    before = tree_of(files)
    del before[f"{UNIT}/rollout.yaml"]
    found, _ = changed(files, before)
    unit = only(found)
    assert not unit.versions
    assert unit.newly_held


def test_what_belongs_to_other_environments_is_not_looked_at() -> None:
    settings = canary({"prod": ["east"], "dev": ["d"]})
    made = compiled({"gati.yaml": settings, "a": handler()})
    found = change_set("prod", MemorySnapshot(), made.changes, [p.outcome for p in made.units])
    assert {unit.cluster for unit in found.units} == {"east"}
    assert {folder.cluster for folder in found.folders} == {"east"}


# -- objects ---------------------------------------------------------------------------------------


def test_an_object_that_moves_to_another_folder_is_not_lost() -> None:
    before = tree_of({"gati.yaml": canary(), "a": handler(), "m": module()})
    here, there = f"{UNIT}/network.yaml", "overlays/prod/east/shop/module-db"
    later = dict(before)
    content = later.pop(here)
    kustomization = later[f"{UNIT}/kustomization.yaml"].replace(b"- network.yaml\n", b"")
    later[f"{UNIT}/kustomization.yaml"] = kustomization
    later[f"{there}/moved.yaml"] = content
    other = later[f"{there}/kustomization.yaml"]
    later[f"{there}/kustomization.yaml"] = other.replace(
        b"resources:\n", b"resources:\n- moved.yaml\n"
    )
    found = recorded(before, later)
    assert not found.objects(lambda o: o.removed)
    assert not found.objects(lambda o: o.added)
    assert [key.kind for key in found.objects(lambda o: o.changed)] == ["NetworkPolicy"]


def test_a_first_line_that_changes_changes_no_object() -> None:
    before = tree_of({"gati.yaml": canary(), "a": handler()})
    later = {
        path: c.replace(b"from a.", b"from elsewhere.") if path.startswith(UNIT) else c
        for path, c in before.items()
    }
    found = recorded(before, later)
    assert found.files.changed
    assert not only(found).objects


def test_a_patch_that_deletes_an_object_takes_it_away() -> None:
    before = tree_of({"gati.yaml": canary(), "a": handler()})
    path = f"{UNIT}/kustomization.yaml"
    patch = """patches:
- patch: |
    apiVersion: v1
    kind: ServiceAccount
    metadata:
      name: handler-users-v1
      namespace: shop
    $patch: delete
"""
    later = {**before, path: before[path].partition(b"patches:")[0] + patch.encode()}
    found = recorded(before, later)
    assert [str(k) for k in found.objects(lambda o: o.removed)] == [
        "ServiceAccount shop/handler-users-v1"
    ]
    files = MemoryFiles(later)
    assert _read_off(files, UNIT).keys() == built(files, UNIT).keys()


def test_a_folder_edited_by_hand_is_built() -> None:
    before = tree_of({"gati.yaml": canary(), "a": handler()})
    edited = dict(before)
    edited[f"{UNIT}/kustomization.yaml"] += b"namePrefix: my-\n"
    found = recorded(edited, before)
    assert len(found.objects(lambda o: o.removed)) == 6
    assert all(key.name.startswith("my-") for key in found.objects(lambda o: o.removed))


def test_a_folder_that_cannot_be_built_holds_nothing_to_lose() -> None:
    before = tree_of({"gati.yaml": canary(), "a": handler()})
    broken = {**before, f"{UNIT}/kustomization.yaml": b"resources: [nowhere.yaml]\n"}
    found = recorded(broken, before)
    assert not found.objects(lambda o: o.removed)
    assert len(found.objects(lambda o: o.added)) == 6


def buildable(tree: Mapping[str, bytes]) -> list[str]:
    ends = ("/_namespace/kustomization.yaml", "/_crds/kustomization.yaml", "/unit.yaml")
    return sorted(path.rpartition("/")[0] for path in tree if path.endswith(ends))


def same_as_built(tree: Mapping[str, bytes]) -> int:
    files = MemoryFiles(tree)
    folders = buildable(tree)
    for folder in folders:
        assert _read_off(files, folder).keys() == built(files, folder).keys(), folder
    return len(folders)


def test_what_is_read_off_the_shop_is_what_is_built() -> None:
    tree = {
        str(path.relative_to(HERE)): path.read_bytes()
        for top in ("base", "overlays")
        for path in (HERE / top).rglob("*.yaml")
    }
    assert same_as_built(tree) > 50


@given(files=projects())
@settings(max_examples=8)
def test_what_is_read_off_any_project_is_what_is_built(files: Mapping[str, str]) -> None:
    try:
        tree = tree_of(files)
    except SpecsInvalid:  # names that collide, and the like
        assume(False)
    same_as_built(tree)


def test_changes_read_off_are_changes_that_are_built() -> None:
    """Every pair of neighbours in a story: an object has changed if and only if its text has."""
    story: list[dict[str, str]] = [
        {"a": handler(), "m": module()},
        {"a": handler(version="v2"), "m": module()},
        {"a": handler(version="v2", env={"A": "1"}), "m": module()},
        {"a": handler(version="v2", replicas=3), "m": module(replicas=2)},
        {"a": handler(version="v2"), "b": version("users", "v1", 0)},
    ]
    before: Tree = {}
    for files in story:
        later = tree_of({"gati.yaml": project(), **files}, before)
        found = recorded(before, later)
        folders = [folder for folder in buildable({**before, **later}) if "/handler-" in folder]
        texts = [
            {
                k: v
                for f in folders
                if f in buildable(t)
                for k, v in built(MemoryFiles(t), f).items()
            }
            for t in (before, later)
        ]
        wanted = {k for k in texts[0].keys() & texts[1].keys() if texts[0][k] != texts[1][k]}
        here = [u for u in found.units if u.unit.kind == "handler"]
        assert {k for u in here for k in u.objects.changed} == wanted
        assert {k for u in here for k in u.objects.added} == texts[1].keys() - texts[0].keys()
        before = later


def test_overlaid_files_are_what_will_stand_there() -> None:
    files = Overlaid(
        MemorySnapshot({"a/x": b"1", "b/y": b"2", "c/z": b"3"}), {"a/x": None, "d/w": b"4"}
    )
    assert [files.is_dir(name) for name in ("a", "b", "c", "d", "e")] == [
        False, True, True, True, False,
    ]  # fmt: skip
    assert objects_in(files, "b") == {}
