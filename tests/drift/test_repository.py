"""Hand edits in the repository: found without specs and without a cluster."""

import json
from pathlib import Path

import pytest

from gati_gitops.cli.main import run
from gati_gitops.decide.drift.files import around_files, release_files, unit_files
from gati_gitops.disk.snapshot import DiskSnapshot
from gati_gitops.emit.layout import crd_copies
from gati_gitops.output import Output
from gati_gitops.spec.crds import shipped_crd_files
from gati_gitops.tree import Changes, Overlay
from tests.drift.kit import published

ROOT = Path(__file__).parents[2]
TREES = sorted(path for path in (ROOT / "tests" / "golden").glob("*/want") if path.is_dir())
CART = "overlays/prod/eu/shop/handler-cart"


@pytest.mark.parametrize("tree", [ROOT, *TREES], ids=lambda path: path.parent.name)
def test_what_was_compiled_was_not_edited(tree):
    snapshot = DiskSnapshot(tree)
    for env, cluster in Output(snapshot).clusters():
        crds: Changes = dict(
            crd_copies(env, cluster, shipped_crd_files())
        )  # golden trees go without
        output = Output(Overlay(snapshot, crds))
        assert not around_files(output, env, cluster)
        for key in output.keys(env, cluster):
            assert unit_files(output, (env, cluster, key)) == ()
        plans = [stored.plan for stored in output.units(env, cluster).values()]
        assert release_files(output, plans) == {}


@pytest.fixture
def world(tmp_path):
    return published(tmp_path)


@pytest.fixture
def look(world, capsys):
    def looked(*options, code=None):
        ended = run(
            ["drift", "--repo", str(world.output), "--git-only", "--format", "json", *options]
        )
        said = capsys.readouterr()
        assert code is None or ended == code, said
        return json.loads(said.out)

    return looked


def files(data):
    return {
        file["path"]: (file["what"], file.get("why", ""))
        for place in data["places"]
        for file in (*place["files"], *(f for unit in place["units"] for f in unit["files"]))
    }


def replaced(path, old, new):
    def edit(root):
        file = root / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    return edit


def test_nothing_was_edited(look):
    assert files(look(code=0)) == {}


def test_a_weight_in_a_route(world, look):
    world.by_hand(replaced(f"{CART}/route.yaml", "weight: 90", "weight: 50"))
    assert files(look(code=1)) == {f"{CART}/route.yaml": ("changed", "")}


def test_a_file_that_is_gone(world, look):
    world.by_hand(lambda root: (root / CART / "network.yaml").unlink())
    assert files(look(code=1)).keys() >= {f"{CART}/network.yaml"}


def test_a_stranger_s_file(world, look):
    world.by_hand(lambda root: (root / CART / "mine.yaml").write_text("a: 1\n"))
    assert files(look(code=1)) == {f"{CART}/mine.yaml": ("extra", "nobody of us made it")}


def test_a_copy_of_a_file_of_ours(world, look):
    def copy(root):
        (root / CART / "copy.yaml").write_text((root / CART / "route.yaml").read_text())

    world.by_hand(copy)
    assert files(look(code=1))[f"{CART}/copy.yaml"][0] == "extra"


def test_a_release_folder(world, look):
    (folder,) = [
        p for p in world.tree() if p.startswith("base/shop/handler-users/") and "deploy" in p
    ]
    world.by_hand(replaced(folder, "acme/users:v1", "acme/users:v1-hacked"))
    found = files(look(code=1))
    path = folder.rpartition("/")[0]
    assert found[path] == ("changed", "a release folder is not what its name says")


def test_what_stands_around_units(world, look):
    path = "overlays/prod/eu/shop/kustomization.yaml"
    world.by_hand(replaced(path, "- handler-cart\n", ""))
    assert path in files(look(code=1))


def test_what_an_engine_is_told(world, look):
    path = "clusters/eu/shop.units.yaml"
    world.by_hand(replaced(path, "selfHeal: true", "selfHeal: false"))
    assert files(look(code=1)) == {path: ("changed", "")}


def test_a_deleted_ledger_is_told_as_a_hold(world, look):
    world.by_hand(lambda root: (root / CART / "rollout.yaml").unlink())
    data = look("--cluster", "eu", code=1)
    found = files(data)
    assert found[f"{CART}/rollout.yaml"][1] == "its ledger was deleted; the unit counts as held"
    assert data["places"][0]["units"][0]["held"] == "the ledger was deleted by hand"


def test_a_hold_and_a_comment_in_a_ledger_are_no_drift(world, look):
    def hold(root):
        file = root / CART / "rollout.yaml"
        file.write_text(f"{file.read_text()}# we look at it on Monday\nhold: slow\n")

    world.by_hand(hold)
    assert files(look(code=0)) == {}


def test_a_folder_that_can_t_be_built(world, look):
    world.by_hand(replaced(f"{CART}/kustomization.yaml", "route.yaml", "rout.yaml"))
    assert f"{CART}/kustomization.yaml" in files(look(code=1))


def test_a_plan_that_can_t_be_read(world, look):
    world.by_hand(lambda root: (root / CART / "unit.yaml").write_text("{"))
    found = files(look(code=1))
    assert "can't be read" in found[f"{CART}/unit.yaml"][1]


def test_files_of_another_compiler_are_not_judged(world, look):
    def older(root):
        for path in (root / "overlays/prod/sources").rglob("*.yaml"):
            path.write_text(path.read_text().replace("compiler: ", "compiler: 0.0.1-"))

    world.by_hand(older, "As that version did\n\nGati-Compiler: 0.0.1")
    data = look(code=4)
    assert "can't be judged" in data["places"][0]["unseen"][0]["why"]


def test_it_is_narrowed(world, look):
    world.by_hand(replaced(f"{CART}/route.yaml", "weight: 90", "weight: 50"))
    assert files(look("--unit", "shop/users", code=0)) == {}
    assert files(look("--unit", "shop/cart", "--cluster", "us", code=0)) == {}
    assert files(look("--unit", "shop/cart", "--cluster", "eu", code=1))


def test_what_is_not_there_is_said(world):
    for options in (("--unit", "shop/cat"), ("--env", "pord"), ("--cluster", "moon")):
        assert run(["drift", "--repo", str(world.output), "--git-only", *options]) == 2


class TestPlans:
    """A plan that people edit would ship what nobody published, by the next decision."""

    def test_an_edited_plan_is_found_with_who_did_it(self, world, look):
        edit = replaced(f"{CART}/unit.yaml", "ghcr.io/acme/cart:v2", "ghcr.io/acme/cart:hacked")
        commit = world.by_hand(edit)
        found = files(look(code=1))
        assert found[f"{CART}/unit.yaml"] == (
            "changed",
            f"edited by Ada in {commit[:12]}: nobody published that",
        )

    def test_it_comes_back_as_it_was(self, world, look):
        before = world.tree()
        world.by_hand(replaced(f"{CART}/unit.yaml", "acme/cart:v2", "acme/cart:hacked"))
        world.by_hand(replaced(f"{CART}/unit.yaml", "acme/cart:hacked", "acme/cart:worse"))
        world.by_hand(replaced(f"{CART}/route.yaml", "weight: 90", "weight: 50"))
        options = ["--git-only", "--fix", "revert"]
        assert run(["drift", "--repo", str(world.output), *options]) == 1
        assert world.tree() == before

    def test_a_hold_that_a_person_wrote_accuses_nobody(self, world, look):
        def hold(root):
            file = root / CART / "rollout.yaml"
            file.write_text(f"{file.read_text()}hold: slow\n")

        world.by_hand(hold)
        assert files(look(code=0)) == {}

    def test_nor_does_a_step_of_ours_on_top_of_it(self, world, look):
        def hold(root):
            file = root / CART / "rollout.yaml"
            file.write_text(f"{file.read_text()}hold: slow\n")

        world.by_hand(hold)
        world.act("release", "shop/cart")
        world.by_hand(lambda root: (root / "README.md").write_text("hello\n"))
        assert files(look(code=0)) == {}


class TestEverything:
    """Whatever was edited of ours comes back, to the byte."""

    @pytest.mark.parametrize("where", ["base", "route", "namespace", "engine", "gone", "folder"])
    def test_it_is_reverted(self, world, look, where, capsys):
        before = world.tree()
        (release,) = {
            p.rpartition("/")[0] for p in before if p.startswith("base/shop/handler-users/")
        }
        edits = {
            "base": replaced(f"{release}/deployment.yaml", "acme/users:v1", "acme/users:evil"),
            "route": replaced(f"{CART}/route.yaml", "weight: 90", "weight: 50"),
            "namespace": replaced(
                "overlays/prod/eu/shop/kustomization.yaml", "- handler-cart\n", ""
            ),
            "engine": replaced("clusters/eu/shop.units.yaml", "selfHeal: true", "selfHeal: false"),
            "gone": lambda root: (root / CART / "network.yaml").unlink(),
            "folder": lambda root: [path.unlink() for path in (root / release).iterdir()],
        }
        world.by_hand(edits[where])
        assert look(code=1)["drifted"]
        options = ["--git-only", "--fix", "revert"]
        assert run(["drift", "--repo", str(world.output), *options]) == 1
        capsys.readouterr()
        assert world.tree() == before
        assert files(look(code=0)) == {}
