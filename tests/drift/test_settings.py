"""Settings that are gone or can't be read: the trouble of their environment, and of no other."""

import json
import shutil

import pytest

from gati_gitops.cli.main import run
from gati_gitops.decide.observation import Gap, Missing
from gati_gitops.errors import Refused
from gati_gitops.observe.recording import Look, Recorder
from gati_gitops.output import Output
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import canary, handler, tree_of
from tests.publish.kit import World, git

PROD, STAGING = "overlays/prod/project.yaml", "overlays/staging/project.yaml"
TWO = {"staging": {"clusters": {"stage": {}}}, "prod": {"clusters": {"east": {}}}}


def gone(root):
    (root / PROD).unlink()


def unreadable(root):
    (root / PROD).write_text("{\n")


def empty(root):
    (root / PROD).write_text("")


def no_mapping(root):
    (root / PROD).write_text("- a\n")


BROKEN = [gone, unreadable, empty, no_mapping]


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    promotion = {"prod": {"after": "staging", "dwell": "1h"}}
    world.release({"gati.yaml": canary(TWO, promotion=promotion), "users.yaml": handler()})
    return world


@pytest.fixture
def cli(world, capsys):
    def called(verb, *options):
        code = run([*verb.split(), "--repo", str(world.output), *options])
        said = capsys.readouterr()
        return code, said.out, said.err

    return called


def test_settings_are_wanted_where_units_are():
    tree = tree_of({"users.yaml": handler()})
    del tree["overlays/default/project.yaml"]
    output = Output(MemorySnapshot(tree))
    with pytest.raises(Refused) as refused:
        output.settings("default")
    assert "overlays/default/project.yaml is not there" in refused.value.message
    assert "drift --fix revert" in refused.value.remedy
    assert output.settings("new") == {}


@pytest.mark.parametrize("broken", BROKEN)
class TestIts:
    """The environment itself."""

    def test_nothing_is_decided_there(self, world, cli, broken):
        world.by_hand(broken)
        tip = world.tip()
        code, _, err = cli("hold shop/users", "--env", "prod", "--reason", "x")
        assert code == 5
        assert PROD in err
        assert world.tip() == tip

    def test_nothing_is_published_there(self, world, broken):
        world.by_hand(broken)
        for whole in (False, True):
            with pytest.raises(Refused, match=PROD):
                world.publish(whole=whole)

    def test_it_is_told_and_comes_back(self, world, cli, broken):
        before = world.tree()
        commit = world.by_hand(broken)
        code, out, err = cli("drift", "--git-only", "--format", "json")
        assert code == 5
        assert "the settings of prod can't be read" in err
        places = {place["environment"]: place for place in json.loads(out)["places"]}
        assert PROD in places["prod"]["refused"]
        (file,) = places["prod"]["files"]
        assert file["path"] == PROD
        assert file["what"] == ("missing" if broken is gone else "changed")
        assert file["why"].endswith(f"by Ada in {commit[:12]}")
        assert "refused" not in places["staging"]
        assert not places["staging"]["files"]
        assert cli("drift", "--git-only", "--fix", "revert", "--unattended")[0] == 0
        assert world.tree() == before
        assert cli("drift", "--git-only")[0] == 0

    def test_without_a_history_it_is_refused(self, world, cli, broken):
        world.by_hand(broken)
        world.forget()
        before = world.tree()
        assert cli("drift", "--git-only")[0] == 5
        assert cli("drift", "--git-only", "--env", "staging")[0] == 0
        assert cli("drift", "--git-only", "--fix", "revert")[0] == 5
        assert cli("drift", "--git-only", "--fix", "revert", "--unattended")[0] == 5
        assert world.tree() == before


@pytest.mark.parametrize("broken", BROKEN)
class TestOthers:
    """Environments are walls."""

    def test_people_decide_elsewhere(self, world, cli, broken):
        world.by_hand(broken)
        code, _, err = cli("hold shop/users", "--env", "staging", "--reason", "x")
        assert code == 0, err
        assert world.ledger("overlays/staging/stage/shop/handler-users").hold == "x"

    def test_even_where_something_was_undone_there(self, world, cli, broken):
        world.by_hand(broken)
        ledger = "overlays/prod/east/shop/handler-users/rollout.yaml"
        world.by_hand(lambda root: (root / ledger).unlink())
        assert cli("hold shop/users", "--env", "staging", "--reason", "x")[0] == 0
        assert world.ledger("overlays/prod/east/shop/handler-users").hold

    def test_they_are_published(self, world, broken):
        world.by_hand(broken)
        world.merge({"users.yaml": handler(replicas=7)})
        before = world.tree()
        steps = world.publish("staging").steps
        assert {step.environment for step, _ in steps} == {"staging"}
        after = world.tree()
        changed = {path for path in before | after if after.get(path) != before.get(path)}
        assert not {path for path in changed if path.startswith("overlays/prod")}

    def test_they_are_told(self, world, cli, broken):
        world.by_hand(broken)
        assert cli("drift", "--git-only", "--env", "staging")[0] == 0
        assert cli("status")[0] == 0

    def test_they_are_judged(self, world, cli, broken, tmp_path):
        looks = tmp_path / "looks.jsonl"
        with world.open() as repository:
            output = Output(repository.tip().snapshot())
        recorder = Recorder(looks)
        for env, cluster in (("prod", "east"), ("staging", "stage")):
            assert output.keys(env, cluster)
            none = Missing(Gap.ERROR, "a test", "a test")
            recorder.write(Look(cluster, 1.0, none, none))
        world.by_hand(broken)
        options = ["--replay", str(looks), "--dry-run"]
        code, out, _ = cli("reconcile", "--env", "staging", *options)
        assert code == 4  # as the recording has it: nothing could be seen
        assert "shop/users" in out
        assert PROD not in out
        for more in ([], ["--env", "prod"], ["--env", "prod", "--env", "staging"]):
            code, out, err = cli("reconcile", *more, *options)
            assert code == 5, (out, err)
            assert PROD in out
            assert PROD in err
            assert ("staging" in out) == (more != ["--env", "prod"])


class TestAWholeEnvironment:
    def test_that_a_person_deleted_is_told_and_comes_back(self, world, cli):
        before = world.tree()
        commit = world.by_hand(lambda root: shutil.rmtree(root / "overlays/prod"))
        code, out, _ = cli("drift", "--git-only", "--format", "json")
        assert code == 1
        (prod,) = (p for p in json.loads(out)["places"] if p["environment"] == "prod")
        told = {file["path"]: file.get("why", "") for file in prod["files"]}
        assert told[PROD].endswith(f"by Ada in {commit[:12]}")
        assert [unit["unit"] for unit in prod["units"]] == ["shop/users"]
        assert cli("drift", "--git-only", "--env", "prod", "--cluster", "east")[0] == 1
        assert cli("drift", "--git-only", "--env", "staging")[0] == 0
        assert cli("drift", "--git-only", "--fix", "revert", "--unattended")[0] == 0
        assert world.tree() == before
        told = " ".join(git(world.output, "log", "-1", "--format=%b", "main").split())
        assert "the environment's settings come back with it" in told
        assert "Unit shop/users on east: changes" in told
        assert "Gati-Source: shop" in told
        assert cli("drift", "--git-only")[0] == 0

    def test_in_two_steps_too(self, world, cli):
        """The unit still serves: that nobody names it any more was decided by nobody."""
        before = world.tree()
        world.by_hand(lambda root: shutil.rmtree(root / "overlays/prod/east/shop"))
        world.by_hand(lambda root: shutil.rmtree(root / "overlays/prod"))
        assert cli("drift", "--git-only")[0] == 1
        cli("drift", "--git-only", "--fix", "revert")
        assert world.tree() == before

    def test_whose_settings_were_left_too(self, world, cli):
        before = world.tree()
        world.by_hand(lambda root: shutil.rmtree(root / "overlays/prod/east"))
        assert cli("drift", "--git-only")[0] == 1
        cli("drift", "--git-only", "--fix", "revert")
        assert world.tree() == before

    def test_whose_units_were_taken_out_before_is_cleared_away(self, world, cli):
        def taken_out(root):
            shutil.rmtree(root / "overlays/prod/east/shop")
            top = root / "overlays/prod/east/kustomization.yaml"
            lines = top.read_text().splitlines(keepends=True)
            top.write_text("".join(line for line in lines if line.strip() != "- shop"))

        world.by_hand(taken_out)
        world.by_hand(lambda root: shutil.rmtree(root / "overlays/prod"))
        assert cli("drift", "--git-only")[0] == 0

    def test_that_has_another_name_by_now_stays_away(self, world, cli):
        world.by_hand(lambda root: shutil.rmtree(root / "overlays/prod"))
        renamed = {"staging": {"clusters": {"stage": {}}}, "live": {"clusters": {"east": {}}}}
        world.release({"gati.yaml": canary(renamed), "users.yaml": handler()})
        for _ in range(2):
            code, _, err = cli("drift", "--git-only", "--env", "live", "--cluster", "east")
            assert code == 0, err
        assert cli("drift", "--git-only")[0] == 0
