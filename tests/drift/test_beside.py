"""What people did beside units: settings, records, terms of the job, CRDs, strays."""

import json
import shutil

import pytest

from gati_gitops.cli.main import run
from gati_gitops.reconcile.fence import Term, fence_file
from tests.drift.kit import published, shop
from tests.drift.test_repository import files, replaced
from tests.job.kit import PROJECT
from tests.publish.kit import World, git

EU = "overlays/prod/eu"
RECORD = "overlays/prod/sources/shop/all.yaml"
SETTINGS = "overlays/prod/project.yaml"
TERMS = "overlays/prod/job.yaml"
CRD = "gatihandlers.gati.dev.yaml"
OURS = "\n\nGati-Decision: test"


@pytest.fixture
def world(tmp_path):
    world = published(tmp_path)
    terms = fence_file({"eu": Term("a", 1, "b")})
    world.by_hand(lambda root: (root / TERMS).write_bytes(terms), f"Step{OURS}")
    return world


@pytest.fixture
def look(world, capsys):
    def looked(*options, code=None, repo=None):
        at = ["--repo", str(repo or world.output), "--git-only", "--format", "json"]
        ended = run(["drift", *at, *options])
        said = capsys.readouterr()
        assert code is None or ended == code, said
        return json.loads(said.out)

    return looked


def gone(path):
    def delete(root):
        shutil.rmtree(root / path) if (root / path).is_dir() else (root / path).unlink()

    return delete


def wrote(path, text="<<<<<<< HEAD\n"):
    return lambda root: (root / path).write_text(text)


EDITS = {
    "settings": (replaced(SETTINGS, "strategy: manual", "strategy: canary"), {SETTINGS}),
    "record": (replaced(RECORD, "group: all", "group: all # mine"), {RECORD}),
    "commit of a record": (replaced(RECORD, "commit: ", "commit: 0"), {RECORD}),
    "records gone": (gone("overlays/prod/sources"), {RECORD}),
    "terms": (replaced(TERMS, "term: 1", "term: 9"), {TERMS}),
    "terms unreadable": (wrote(TERMS), {TERMS}),
    "terms gone": (gone(TERMS), {TERMS}),
    "a crd": (replaced(f"crds/{CRD}", "GatiHandler", "Other"), {f"crds/{CRD}"}),
    "crds gone": (gone("crds"), None),
    "crds of a cluster gone": (gone(f"{EU}/_crds"), None),
    "a crd of a cluster": (
        replaced(f"{EU}/_crds/{CRD}", "GatiHandler", "Other"),
        {f"{EU}/_crds/{CRD}"},
    ),
    "what an engine is told gone": (
        gone("clusters/eu/project.yaml"),
        {"clusters/eu/project.yaml"},
    ),
    "all of an engine gone": (gone("clusters/eu"), None),
}


class TestEdits:
    @pytest.mark.parametrize("name", EDITS)
    def test_it_is_told_and_comes_back(self, world, look, name, capsys):
        before = world.tree()
        edit, paths = EDITS[name]
        commit = world.by_hand(edit)
        after = world.tree()
        changed = {path for path in before if after.get(path) != before[path]}
        assert changed == (paths or changed)
        found = files(look(code=1))
        assert found.keys() == changed
        for path, (what, why) in found.items():
            assert what == ("changed" if path in after else "missing")
            told = f"{'edited' if path in after else 'deleted'} by Ada in {commit[:12]}"
            assert why == told or path.startswith("clusters/")
        run(["drift", "--repo", str(world.output), "--git-only", "--fix", "revert"])
        capsys.readouterr()
        assert world.tree() == before
        assert files(look(code=0)) == {}

    @pytest.mark.parametrize("name", ["settings", "terms", "crds of a cluster gone"])
    def test_a_commit_of_ours_on_top_does_not_hide_it(self, world, look, name, capsys):
        before = world.tree()
        world.by_hand(EDITS[name][0])
        world.act("hold", "shop/users")
        held = world.tree()
        assert files(look(code=1))
        run(["drift", "--repo", str(world.output), "--git-only", "--fix", "revert"])
        capsys.readouterr()
        changed = {p for p in held if before.get(p) != held[p] and "/handler-" in p}
        assert changed
        assert world.tree() == {**before, **{p: held[p] for p in changed}}

    def test_what_was_edited_twice_becomes_what_we_wrote(self, world, look, capsys):
        before = world.tree()
        world.by_hand(EDITS["settings"][0])
        world.by_hand(replaced(SETTINGS, "strategy: canary", "strategy: none"))
        run(["drift", "--repo", str(world.output), "--git-only", "--fix", "revert"])
        capsys.readouterr()
        assert world.tree() == before

    def test_who_takes_it_back_leaves_nothing(self, world, look):
        world.by_hand(EDITS["settings"][0])
        world.revert()
        assert files(look(code=0)) == {}

    def test_an_environment_s_files_are_counted_once(self, world, capsys):
        world.by_hand(EDITS["settings"][0])
        run(["drift", "--repo", str(world.output), "--git-only"])
        assert ", 1 file, at" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "path", ["overlays/prod/mine.txt", f"{EU}/mine.txt", f"{EU}/shop/mine.txt", "crds/x.txt"]
    )
    def test_a_stray_file_is_told_and_stays(self, world, look, path):
        commit = world.by_hand(wrote(path, "mine\n"))
        told = ("extra", f"nobody of us made it: added by Ada in {commit[:12]}")
        assert files(look(code=1)) == {path: told}
        before = world.tree()
        assert files(look("--fix", "revert", code=1)) == {path: told}
        assert world.tree() == before

    def test_a_copy_of_a_file_of_ours_goes(self, world, look):
        before = world.tree()
        text = before[SETTINGS].decode()
        world.by_hand(wrote("overlays/prod/copy.yaml", text))
        assert files(look("--fix", "revert", code=1)).keys() == {"overlays/prod/copy.yaml"}
        assert world.tree() == before


class TestHistory:
    def test_where_people_commit_the_output_nothing_is_an_edit(self, world, look):
        world.forget()
        assert files(look(code=0)) == {}

    def test_a_history_that_ends_too_early_is_said(self, world, look, tmp_path):
        world.by_hand(EDITS["settings"][0])
        shallow = tmp_path / "shallow.git"
        git(tmp_path, "clone", "-q", "--bare", "--depth=1", f"file://{world.output}", str(shallow))
        data = look(code=4, repo=shallow)
        assert not data["complete"]
        for place in data["places"]:
            (gap,) = place["unseen"]
            assert "the history that is here ends at" in gap["why"]

    @pytest.mark.parametrize("way", ["merge", "squash", "rebase", "named"])
    def test_a_pull_request_of_ours_is_no_edit_however_it_was_merged(self, world, look, way):
        world.release({"users.yaml": None})
        world.by_hand(lambda root: (root / "README.md").write_text("hello\n"))
        hand = world.root / "hand"
        base = git(hand, "rev-parse", "HEAD~2").strip()
        ours = git(hand, "rev-parse", "HEAD~1").strip()
        git(hand, "checkout", "-q", "-B", "main", base)
        if way == "merge":
            git(hand, "merge", "-q", "--no-ff", "-m", "Merge it", ours)
        else:
            git(hand, "cherry-pick", "--no-commit", ours)
            text = git(hand, "log", "-1", "--format=%B", ours)
            git(hand, "commit", "-q", "-m", text if way != "squash" else "Squash it")
        git(hand, "push", "-q", "-f", "origin", "main")
        assert not {p for p in files(look()) if "/handler-users/" not in p}

    def test_nor_is_a_merge_of_what_has_no_record(self, world, look):
        def step(root):
            (root / TERMS).write_bytes(fence_file({"eu": Term("a", 2, "b")}))

        base = world.tip()
        ours = world.by_hand(step, f"Step{OURS}")
        hand = world.root / "hand"
        git(hand, "checkout", "-q", "-B", "main", base)
        git(hand, "merge", "-q", "--no-ff", "-m", "Merge it", ours)
        git(hand, "push", "-q", "-f", "origin", "main")
        assert files(look(code=0)) == {}


class TestJob:
    """The job of a cluster is taken as it is by everybody but who compiles it."""

    @pytest.fixture
    def world(self, tmp_path):
        specs = shop()
        said = json.loads(specs["gati.yaml"])
        said["spec"]["job"] = PROJECT["job"]
        world = World(tmp_path)
        world.release(specs | {"gati.yaml": json.dumps(said)})
        return world

    @pytest.mark.parametrize("edit", ["a file", "gone", "release"])
    def test_it_comes_back(self, world, look, edit, capsys):
        before = world.tree()
        (rights,) = [
            p for p in before if p.startswith(EU) and p.endswith("_reconciler/rights.yaml")
        ]
        (release,) = [p for p in before if "/reconciler/" in p and p.endswith("/deployment.yaml")]
        edits = {
            "a file": replaced(rights, "get", "delete"),
            "gone": gone(rights.rpartition("/")[0]),
            "release": gone(release.rpartition("/")[0]),
        }
        world.by_hand(edits[edit])
        after = world.tree()
        found = files(look(code=1))
        if edit == "release":
            assert release.rpartition("/")[0] in found
        else:
            assert found.keys() >= {p for p in before if after.get(p) != before[p]}
        run(["drift", "--repo", str(world.output), "--git-only", "--fix", "revert"])
        capsys.readouterr()
        assert world.tree() == before
        assert files(look(code=0)) == {}


def test_verify_does_not_pass_over_an_environment(world):
    assert not world.verify().differences
    world.by_hand(gone("overlays/prod/sources"))
    (found,) = world.verify().differences
    assert (found.path, found.what) == ("overlays/prod/sources/shop", "missing")
