"""Publish on a real repository: commits per environment, records, walls, reverts, sweeping."""

from __future__ import annotations

import pytest

from gati_gitops import __version__
from gati_gitops.errors import Refused
from tests.compile.kit import UNIT, canary, handler, tree_of
from tests.publish.kit import git

THREE = {"dev": ["dev-1"], "staging": ["stage"], "prod": ["east"]}


def specs(**files: str) -> dict[str, str]:
    return {"gati.yaml": canary(), **{f"{name}.yaml": text for name, text in files.items()}}


def test_a_first_publish_is_what_a_compile_writes(world):
    files = specs(users=handler())
    done = world.release(files)
    assert len(done.steps) == 1
    tree = world.tree()
    made = tree_of(files)
    records = {path for path in tree if "/sources/" in path}
    assert {path: c for path, c in tree.items() if path not in records} == {
        path: c for path, c in made.items() if path not in records
    }
    git(world.output, "fsck", "--strict")


def test_nothing_to_change_is_no_commit(world):
    world.release(specs(users=handler()))
    tip = world.tip()
    done = world.publish()
    assert (done.steps, world.tip()) == ((), tip)
    world.merge({"README.md": "nothing of ours"})
    assert world.publish().steps == ()
    assert world.tip() == tip


def test_each_environment_has_a_commit_of_its_own(world):
    files = {"gati.yaml": canary(THREE), "users.yaml": handler()}
    done = world.release(files)
    assert [step.environment for step, _ in done.steps] == ["dev", "staging", "prod"]
    for step, commit in done.steps:
        shown = git(world.output, "show", "--name-only", "--format=", commit).split()
        foreign = [
            path
            for path in shown
            if path.startswith("overlays/") and not path.startswith(f"overlays/{step.environment}/")
        ]
        assert not foreign
    assert world.log("%P")[:2] == [commit for _, commit in reversed(done.steps[:2])]


def test_the_record_names_commit_compiler_and_trees(world):
    commit = world.merge(specs(users=handler()))
    world.publish()
    record = world.tree()["overlays/prod/sources/shop/all.yaml"].decode()
    assert f"commit: {commit}" in record.replace('"', "")
    assert __version__ in record
    for line in record.splitlines():
        if line.startswith("  "):
            path, _, id = line.strip().partition(": ")
            assert git(world.output, "rev-parse", f"main:{path}").strip() == id.strip('"')


def test_a_record_moves_only_with_another_change(world):
    world.release(specs(users=handler()))
    before = world.tree()
    world.merge({"notes.txt": "not a spec"})
    world.publish()
    assert world.tree() == before


def test_verify_finds_exactly_what_was_edited_by_hand(world):
    world.release(specs(users=handler(), carts=handler("carts")))
    assert world.verify().differences == ()
    path = f"{UNIT}/route.yaml"

    def edit(place):
        file = place / path
        file.write_text(file.read_text().replace("/users", "/elsewhere"))

    world.by_hand(edit)
    assert [d.path for d in world.verify().differences] == [path]
    done = world.publish()
    changed = [step.changed.files.changed for step, _ in done.steps]
    assert changed == [(path,)]
    assert world.verify().differences == ()


def test_verify_holds_the_branch_against_the_commit_that_was_published(world):
    world.release(specs(users=handler()))
    world.merge({"users.yaml": handler(version="v2")})
    assert world.verify().differences == ()


def test_verify_names_a_release_folder_that_was_edited(world):
    world.release(specs(users=handler()))
    world.release({"users.yaml": handler(version="v2")})
    old = next(p for p in world.tree() if p.startswith("base/") and "/v1-" in p)

    def edit(place):
        file = place / old
        file.write_text(file.read_text() + "# more\n")

    world.by_hand(edit)
    assert [(d.path, d.what) for d in world.verify().differences] == [
        (old.rpartition("/")[0], "changed")
    ]


def test_a_reverted_commit_is_held_above_all_numbers_before(world):
    world.release(specs(users=handler()))
    world.release({"users.yaml": handler(version="v2")})
    assert world.ledger().seq == 2
    world.revert()
    assert world.phases() == {"v1": ("Active", 100)}
    done = world.publish()
    ledger = world.ledger()
    assert ledger.seq >= 3
    assert ledger.hold.startswith("reverted by Ada in ")
    # what the specs want is stored and waits; nothing runs that was not there
    assert world.phases() == {"v1": ("Active", 100), "v2": ("Pending", 0)}
    assert done.prepared.notes
    again = world.tip()
    world.publish()
    assert world.tip() == again


def test_a_first_publish_that_was_reverted_waits_for_a_release(world):
    world.release(specs(carts=handler("carts")))
    world.release({"users.yaml": handler()})
    world.revert()
    assert f"{UNIT}/unit.yaml" not in world.tree()
    world.publish()
    ledger = world.ledger()
    assert ledger.hold.startswith("reverted by Ada in ")
    assert ledger.seq == 2
    assert world.phases() == {"v1": ("Pending", 0)}
    tip = world.tip()
    world.publish()
    assert world.tip() == tip


def test_a_ledger_deleted_by_hand_is_held_and_its_number_goes_on(world):
    world.release(specs(users=handler()))
    world.release({"users.yaml": handler(version="v2")})
    world.by_hand(lambda place: (place / UNIT / "rollout.yaml").unlink())
    world.publish()
    ledger = world.ledger()
    assert ledger.hold
    assert ledger.seq >= 3


def test_another_compiler_refuses_until_upgrade(world, monkeypatch):
    world.release(specs(users=handler()))
    tip = world.tip()
    parts = ("compiler.compile", "compiler.write")
    parts += ("publish.incremental", "publish.prepare", "publish.message")
    for module in parts:
        monkeypatch.setattr(f"gati_gitops.{module}.__version__", "99.0.0")
    with pytest.raises(Refused, match=r"99\.0\.0") as refused:
        world.publish()
    assert "--upgrade" in refused.value.remedy
    assert world.tip() == tip
    done = world.publish(upgrade=True)
    assert [step.environment for step, _ in done.steps] == ["prod"]
    assert b"99.0.0" in world.tree()["overlays/prod/sources/shop/all.yaml"]


def test_a_release_folder_goes_in_a_later_commit_when_nobody_names_it(world):
    world.release(specs(users=handler()))
    first = {p for p in world.tree() if p.startswith("base/")}
    world.release({"users.yaml": handler(env={"A": "1"})})
    second = {p for p in world.tree() if p.startswith("base/")} - first
    world.release({"users.yaml": handler(env={"A": "2"})})
    assert first <= world.tree().keys()  # the way back, and named
    assert second <= world.tree().keys()  # let go by this very commit
    world.publish()
    assert not second & world.tree().keys()
    assert world.log()[0] == "output: remove release folders that nobody names"
    assert world.verify().differences == ()
    tip = world.tip()
    world.publish()
    assert world.tip() == tip


def test_a_release_folder_stays_while_an_open_branch_names_it(world):
    world.release(specs(users=handler()))
    world.release({"users.yaml": handler(env={"A": "1"})})
    git(world.output, "branch", "gati/bank/prod", "main")
    second = {p for p in world.tree() if p.startswith("base/")}
    world.release({"users.yaml": handler(env={"A": "2"})})
    world.publish()
    assert second <= world.tree().keys()
    git(world.output, "branch", "-D", "gati/bank/prod")
    world.publish()
    assert not second <= world.tree().keys()


def test_mass_deletion_is_refused(world):
    many = {f"u{n}": handler(f"u{n}") for n in range(10)}
    world.release(specs(**many))
    tip = world.tip()
    world.merge({f"u{n}.yaml": None for n in range(9)})
    with pytest.raises(Refused) as refused:
        world.publish()
    assert "--allow-removals 9" in refused.value.remedy
    assert world.tip() == tip
    world.publish(removals=9)
    assert world.ledger("overlays/prod/east/shop/handler-u1").retiring


def test_empty_input_is_refused(world):
    world.release(specs(users=handler()))
    world.merge({"users.yaml": None})
    with pytest.raises(Refused, match="no unit"):
        world.publish()


def test_dry_run_writes_nothing(world):
    world.merge(specs(users=handler()))
    done = world.publish(dry_run=True)
    assert [commit for _, commit in done.steps] == [""]
    assert git(world.output, "for-each-ref") == ""
