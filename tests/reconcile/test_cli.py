"""The verb: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml

from gati_gitops.cli.main import run
from gati_gitops.cli.reconciling import Teller
from gati_gitops.errors import Refused
from gati_gitops.observe.recording import Look, Recorder
from gati_gitops.observe.wanted import Wanted
from gati_gitops.output import Output
from tests.compile.kit import handler, project
from tests.publish.kit import git
from tests.reconcile.town import QUICK, Town


@pytest.fixture
def told(town, tmp_path, capsys):
    """A town with a version that is about to get traffic, and a recording of the next looks."""
    town.release({"gati.yaml": project(rollout=QUICK), "users.yaml": handler(), "carts.yaml": handler("carts")})  # fmt: skip
    town.wait(120)
    town.release({"users.yaml": handler(version="v2")})
    town.wait(60)
    path = tmp_path / "looks.jsonl"
    record(town, path, 2)
    return Told(town, path, capsys)


def record(town: Town, path, looks: int) -> None:
    recorder = Recorder(path)
    with town.open() as repository:
        units = Output(repository.tip().snapshot()).units("prod", "east")
    wanted = Wanted("east", units, window=390.0)
    for _ in range(looks):
        site = town.site()
        recorder.write(Look("east", site.now, site.look(wanted), site.metrics.look(wanted)))
        town.wait(30)


class Told:
    def __init__(self, town, path, capsys):
        self.town, self.path, self.capsys = town, path, capsys

    def run(self, *arguments: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        code = run(["reconcile", "--repo", str(self.town.output), *arguments])
        out, err = self.capsys.readouterr()
        return code, out, err

    def replay(self, *arguments: str) -> tuple[int, str, str]:
        return self.run("--replay", str(self.path), *arguments)


def test_a_dry_run_tells_every_unit_and_writes_nothing(told):
    refs = git(told.town.output, "for-each-ref")
    code, out, err = told.replay("--dry-run")
    assert code == 0
    assert out.startswith("UNIT")
    assert "shop/users  prod  east      advance  v2 is ready" in out
    assert "would commit  prod: shift shop/users v2 to 10 %" in out
    assert "2 units, 1 to decide, 0 held" in err
    assert git(told.town.output, "for-each-ref") == refs


def test_a_replay_into_a_repository_on_this_machine_commits_as_of_then(told):
    code, out, _ = told.replay()
    assert code == 0
    assert "prod: shift shop/users v2 to 10 %" in out
    assert told.town.phases()["v2"] == ("Canary", 10)
    when = int(git(told.town.output, "log", "-1", "--format=%ct", "main"))
    assert abs(when - told.town.clock) < 300


def test_json_is_one_document_for_each_pass(told):
    code, out, _ = told.replay("--dry-run", "--format", "json")
    assert code == 0
    first, _second = map(json.loads, out.splitlines())
    assert (first["format"], first["dryRun"], first["written"]) == (1, True, False)
    users = next(one for one in first["decisions"] if one["unit"] == "shop/users")
    assert users["verdict"] == "advance"
    assert users["move"]["weight"] == 10
    assert users["versions"][0]["facts"]
    assert first["commits"][0]["units"] == ["shop/users"]


def test_explain_tells_every_fact_of_one_unit_and_writes_nothing(told):
    tip = told.town.tip()
    code, out, _ = told.replay("--explain", "shop/users")
    assert code == 0
    assert out.startswith("shop/users in prod on east")
    for words in ("advance", "job: not asked whether it can write", "version v1 (Active at 100 %)", "version v2 (Starting at 0 %)", "clocks:", "ledger "):  # fmt: skip
        assert words in out, words
    assert "shop/carts" not in out
    assert told.town.tip() == tip


def test_narrowing_names_what_is_there(told):
    code, out, _ = told.replay("--dry-run", "--unit", "shop/carts", "--env", "prod")
    assert code == 0
    assert "shop/users" not in out
    code, _, err = told.replay("--dry-run", "--unit", "shop/nothing")
    assert code == 2 and "there is no unit shop/nothing" in err
    code, _, err = told.replay("--dry-run", "--cluster", "west")
    assert code == 2 and "there is no cluster west" in err


def test_a_cluster_that_nobody_can_reach_ends_with_4_and_says_what_was_not_seen(told, tmp_path):
    kubeconfig = tmp_path / "none"
    code, out, err = told.run("--dry-run", "--kubeconfig", str(kubeconfig))
    assert code == 4
    assert "error" in out
    assert "not everything could be seen" in err
    assert str(kubeconfig) in err


def test_another_jobs_clusters_are_refused_with_5(told, tmp_path):
    told.town.look()
    kubeconfig = str(tmp_path / "none")
    code, _, err = told.run("--kubeconfig", kubeconfig, "--owner", "another")
    assert code == 5
    assert "the job town, and this one is another" in err
    assert "--take-over" in err
    code, _, _ = told.run("--kubeconfig", kubeconfig, "--owner", "another", "--dry-run")
    assert code == 4, "who only looks is nobody's rival"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--watch", "--dry-run"], "--watch"),
        (["--watch", "--explain", "shop/users"], "--watch"),
        (["--interval", "soon"], "--interval soon is no duration"),
        (["--deadline", "0s"], "--deadline 0s is no duration"),
        (["--interval", f"{'9' * 400}d"], "is no duration"),
        (["--deadline", "31d"], "is no duration up to 30 days"),
        (["--prometheus", "east"], "CLUSTER=URL"),
        (["--prometheus", "east=http://"], "the address is not http://"),
        (["--prometheus", "east=http://a b/"], "the address is not http://"),
        (["--prometheus", "east=http://169.254.169.254/"], "is never asked"),
        (["--prometheus", "east=http://robot:hunter2@metrics/"], "a user name or password"),
        (["--clocks", "configmap:nowhere"], "configmap:NAMESPACE/NAME"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_2(told, arguments, words):
    code, _, err = told.replay(*arguments)
    assert code == 2
    assert words in err
    assert "hunter2" not in err


def test_notes_are_told_even_where_nothing_is_decided(told, tmp_path):
    """A folder where clocks should be kept: quiet or not, somebody must hear of it."""
    for quiet in ((), ("--quiet",)):
        code, _, err = told.replay("--clocks", str(tmp_path), *quiet)
        assert code and str(tmp_path) in err, err


def test_what_is_no_recording_is_refused(told, tmp_path):
    (tmp_path / "text").write_text("hello\n")
    code, _, err = told.run("--replay", str(tmp_path / "text"))
    assert code == 2 and "is no recording" in err
    code, _, err = told.run("--replay", str(tmp_path / "missing"))
    assert code == 2 and "missing" in err


def test_a_replay_goes_on_after_a_pass_that_was_refused_something(told):
    """An environment that cannot be read is no reason to hear nothing of the others later on."""
    passed = told.town.look(dry_run=True)
    heard = []

    class Hearing(Teller):
        def passed(self, passed):
            heard.append(passed)

    bad = replace(passed, error=Refused("overlays/staging/project.yaml can't be read", remedy="x"))
    with pytest.raises(Refused, match="staging"):
        Hearing("text", dry_run=True, explain="").replayed([bad, passed])
    assert heard == [bad, passed]


def test_a_recording_without_a_cluster_says_so(told):
    """Another cluster joined since: it is not seen, and the others are judged."""
    told.town.release({"gati.yaml": project({"prod": ["east", "west"]}, rollout=QUICK)})
    code, out, err = told.replay("--dry-run")
    assert code == 4
    assert "would commit  prod: shift shop/users v2 to 10 %" in out
    assert "not everything could be seen: prod on west" in err
    assert "the recording has nothing of west" in err
    code, out, err = told.replay("--dry-run", "--cluster", "west")
    assert code == 4 and "the recording has nothing of west" in err
    assert told.replay("--dry-run", "--cluster", "east")[0] == 0


@pytest.mark.parametrize("looks", [1, 2])
def test_a_recording_that_was_cut_off_says_so(told, looks):
    whole = told.path.read_bytes().splitlines(keepends=True)
    told.path.write_bytes(b"".join(whole[:looks]) + whole[looks][:-20])
    code, out, err = told.replay("--dry-run")
    assert code == 4
    assert f"looks.jsonl ends in the middle of line {looks + 1}" in err
    # what comes before is judged all the same
    assert ("would commit  prod: shift shop/users v2 to 10 %" in out) == (looks > 1)


def test_clocks_are_kept_in_the_file_that_is_named_and_words_say_when_none_is(told, tmp_path):
    kubeconfig = str(tmp_path / "none")
    _, _, err = told.run("--kubeconfig", kubeconfig)
    assert "without --clocks nothing is decided that takes longer" in err
    clocks = tmp_path / "clocks.json"
    told.run("--kubeconfig", kubeconfig, "--clocks", str(clocks))
    assert clocks.exists()


def test_clocks_do_not_replace_what_somebody_else_keeps_there(told, tmp_path):
    specs = tmp_path / "gati.yaml"
    specs.write_text("kind: GatiProject\n")
    tip = told.town.tip()
    for arguments in ((), ("--dry-run",)):
        code, _, err = told.replay("--clocks", str(specs), *arguments)
        assert code == 2
        assert f"{specs} is no file of clocks" in err and "give --clocks a file of its own" in err
    with pytest.raises(SystemExit) as ended:
        told.run("--kubeconfig", "none", "--watch", "--clocks", str(specs))
    assert ended.value.code == 2
    assert specs.read_text() == "kind: GatiProject\n"
    assert told.town.tip() == tip


def test_an_empty_repository_is_told(tmp_path, capsys):
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "empty.git")
    assert run(["reconcile", "--repo", str(tmp_path / "empty.git"), "--dry-run"]) == 4
    assert "no compiled output" in capsys.readouterr().err


def test_a_job_is_called_after_its_lease_or_its_clocks(told):
    from gati_gitops.cli.reconciling import _installed

    assert _installed({"clocks": "configmap/gati-system/job", "lease": None}) == "gati-system/job"
    assert _installed({"clocks": "x.json", "lease": "a/b"}) == "a/b"
    assert _installed({"clocks": None}) == "gati-gitops"


def test_the_fence_says_whose_the_clusters_are(told):
    told.replay("--owner", "mine")
    said = yaml.safe_load(told.town.tree()["overlays/prod/job.yaml"])
    assert said["clusters"]["east"]["owner"] == "mine"
