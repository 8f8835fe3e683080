"""A unit whose plan was deleted by hand still serves: it never falls out of what is synced."""

import json
import shutil

import pytest

from gati_gitops.cli.main import run
from gati_gitops.errors import Refused
from tests.drift.kit import published
from tests.publish.kit import git

SHOP = "overlays/prod/eu/shop"
CART = f"{SHOP}/handler-cart"
LINES = f"{SHOP}/kustomization.yaml"


@pytest.fixture
def world(tmp_path):
    return published(tmp_path)


@pytest.fixture
def drift(world, capsys):
    def drifted(*options, repo=None):
        at = ["--repo", str(repo or world.output), "--git-only", "--format", "json"]
        code = run(["drift", *at, *options])
        said = capsys.readouterr()
        return code, json.loads(said.out), said.err

    return drifted


def plan(root):
    (root / CART / "unit.yaml").unlink()


def state(root):
    plan(root)
    (root / CART / "rollout.yaml").unlink()


def folder(root):
    shutil.rmtree(root / CART)


def units(root):
    for path in (root / SHOP).glob("[hm]*-*"):
        shutil.rmtree(path)


def namespace(root):
    shutil.rmtree(root / SHOP)


def cluster_but_one_file(root):
    namespace(root)
    (root / "overlays/prod/eu/kustomization.yaml").unlink()


def folder_and_kustomization(root):
    folder(root)
    (root / LINES).unlink()


GONE = [plan, state, folder, units, namespace, cluster_but_one_file, folder_and_kustomization]


def names(data):
    return {unit["unit"] for place in data["places"] for unit in place["units"]}


@pytest.mark.parametrize("gone", GONE)
@pytest.mark.parametrize("unattended", [False, True])
def test_it_is_told_by_name_and_comes_back_byte_for_byte(world, drift, gone, unattended):
    before = world.tree()
    commit = world.by_hand(gone)
    code, data, _ = drift()
    assert code == 1
    assert "shop/cart" in names(data)
    (cart,) = [u for p in data["places"] for u in p["units"] if u["unit"] == "shop/cart"]
    (lost,) = [file for file in cart["files"] if file["path"] == f"{CART}/unit.yaml"]
    assert lost["what"] == "missing"
    assert lost["why"] == f"deleted by Ada in {commit[:12]}; the unit still serves"
    options = ["--fix", "revert", *["--unattended"] * unattended]
    assert drift(*options)[0] == (0 if unattended else 1)
    assert world.tree() == before
    assert drift()[0] == 0


def test_all_units_are_told(world, drift):
    world.by_hand(units)
    assert names(drift()[1]) == {"shop/cart", "shop/users", "shop/module-db"}


def test_a_deleted_ledger_stays_a_hold_and_the_line_stays(world, drift):
    before = world.tree()
    world.by_hand(lambda root: (root / CART / "rollout.yaml").unlink())
    code, data, _ = drift()
    assert code == 1
    assert names(data) == {"shop/cart"}
    drift("--fix", "revert")
    assert world.ledger(CART).hold.startswith("its ledger was deleted by Ada in ")
    after = world.tree()
    assert {p for p in before if after.get(p) != before[p]} == {f"{CART}/rollout.yaml"}


def test_what_was_written_since_does_not_hide_it(world, drift):
    before = world.tree()
    world.by_hand(folder)
    world.act("hold", "shop/users")
    held = world.tree()
    assert "shop/cart" in names(drift()[1])
    drift("--fix", "revert")
    assert world.tree() == {**held, **{p: c for p, c in before.items() if p.startswith(CART)}}


def test_a_hold_that_a_person_wrote_comes_back_with_it(world, drift):
    def hold(root):
        file = root / CART / "rollout.yaml"
        file.write_text(f"{file.read_text()}hold: slow\n")

    world.by_hand(hold)
    held = world.tree()
    world.by_hand(folder)
    drift("--fix", "revert")
    assert world.tree() == held


def test_one_that_is_named_is_told(world, drift):
    world.by_hand(plan)
    assert names(drift("--unit", "shop/cart")[1]) == {"shop/cart"}
    assert names(drift("--unit", "shop/users")[1]) == set()


@pytest.mark.parametrize("gone", [plan, folder, namespace])
def test_without_a_history_the_line_stays_and_it_is_said(world, drift, gone):
    """A repository that begins with the deletion."""
    world.by_hand(gone)
    world.forget()
    before = world.tree()
    code, data, err = drift("--fix", "revert")
    assert code == 1
    assert "restore it by hand" in err
    assert "drift --fix revert, or restore it from Git" in err
    assert not data["complete"]
    assert world.tree() == before
    assert drift("--fix", "revert", "--unattended")[0] == 4
    assert world.tree() == before


class TestOthers:
    """Who else writes what stands around units."""

    @pytest.mark.parametrize("gone", [plan, folder, units])
    def test_a_publish_refuses(self, world, gone):
        world.by_hand(gone)
        before = world.tree()
        for whole in (False, True):
            with pytest.raises(Refused) as refused:
                world.publish(whole=whole)
            assert "unit.yaml" in refused.value.message
            assert "drift --fix revert" in refused.value.remedy
        assert world.tree() == before

    def test_a_publish_without_its_spec_does_not_drop_it(self, world):
        world.by_hand(plan)
        world.merge({"cart.yaml": None, "cart-v1.yaml": None})
        with pytest.raises(Refused):
            world.publish()

    def test_verify_names_it(self, world):
        world.by_hand(folder)
        found = world.verify().differences
        assert [(d.path, d.what) for d in found] == [(f"{CART}/unit.yaml", "missing")]

    def test_a_unit_that_goes_does_not_take_it_along(self, world):
        world.by_hand(plan)
        with pytest.raises(Refused, match="handler-cart"):
            world.act("retire", "shop/users", now=True, clusters=("eu",))
        world.act("retire", "shop/users", now=True, clusters=("us",))

    def test_who_takes_its_line_away_too_has_decided(self, world, drift):
        def removed(root):
            folder(root)
            lines = root / LINES
            lines.write_text(lines.read_text().replace("- handler-cart\n", ""))

        world.by_hand(removed)
        assert "shop/cart" not in names(drift()[1])
        world.publish()
        assert world.ledger(CART).hold.startswith("reverted by Ada")


def test_a_plan_that_comes_back_is_no_new_unit(world, drift):
    """Who reads the commit at night must not look for a release."""
    world.by_hand(plan)
    drift("--fix", "revert")
    text = git(world.output, "log", "-1", "--format=%B", "main")
    assert "Unit shop/cart on eu: changes" in text, text
