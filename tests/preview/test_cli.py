"""``preview`` as a user meets it: folders and revisions, ledgers, formats, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gati_gitops.cli.main import run
from gati_gitops.preview.writers.json import review_schema
from tests.compile.kit import canary, handler
from tests.repo.gitkit import git as real_git

Capture = pytest.CaptureFixture[str]
PROJECT = canary({"dev": ["d1"], "prod": ["east"]}, promotion={"prod": {"after": "dev"}})
BASE = {"gati.yaml": PROJECT, "users.yaml": handler(), "orders.yaml": handler("orders")}
HEAD = {**BASE, "users.yaml": handler(env={"A": "1"})}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GATI_FINGERPRINT_KEY", "a key of the tests")
    write(tmp_path / "old", BASE)
    write(tmp_path / "new", HEAD)
    return tmp_path


def git(*arguments: str, at: Path) -> str:
    return real_git(at, "-c", "init.defaultBranch=main", *arguments)


def preview(capsys: Capture, *arguments: str, code: int = 1) -> Any:
    """The review as JSON."""
    assert run(["preview", "--format", "json", *arguments]) == code
    out = capsys.readouterr()
    assert out.err == ""
    data = json.loads(out.out)
    jsonschema.Draft202012Validator(review_schema()).validate(data)
    return data


def units(data: Any) -> set[str]:
    return {
        f"{environment['name']}/{cluster['name']} {unit['unit']}"
        for environment in data["environments"]
        for cluster in environment["clusters"]
        for unit in cluster["units"]
    }


# -- folders -------------------------------------------------------------------------------------


def test_two_folders(here: Path, capsys: Capture):
    data = preview(capsys, "--base", "old", "--head", "new")
    assert (data["base"]["name"], data["head"]["name"]) == ("old", "new")
    assert units(data) == {"dev/d1 shop/users", "prod/east shop/users"}
    assert any("first publish" in note for note in data["notes"])
    assert data["findings"][0]["place"]["file"] == "new/users.yaml"


def test_the_same_specs_are_the_same(here: Path, capsys: Capture):
    data = preview(capsys, "--base", "old", "--head", "old", code=0)
    assert data["same"]
    assert data["environments"] == []


def test_the_head_is_the_folder_of_the_specs_unless_it_is_named(here: Path, capsys: Capture):
    assert preview(capsys, "new", "--base", "old")["head"]["name"] == "new"


def test_ledgers_of_a_copy_of_the_output(here: Path, capsys: Capture):
    assert run(["compile", "old", "--output", "deploy"]) == 0
    capsys.readouterr()
    data = preview(capsys, "--base", "old", "--head", "new", "--ledger", "deploy")
    assert data["ledger"] == "deploy"
    assert {finding["code"] for finding in data["findings"]} == {
        "revision",
        "promotion",
        "blast-radius",
    }


def test_narrowed_to_an_environment_a_cluster_a_unit(here: Path, capsys: Capture):
    write(here / "new", {"orders.yaml": handler("orders", replicas=4)})
    for options, wanted in (
        (["--env", "dev"], {"dev/d1 shop/users", "dev/d1 shop/orders"}),
        (["--cluster", "east"], {"prod/east shop/users", "prod/east shop/orders"}),
        (["--unit", "shop/orders", "--env", "dev"], {"dev/d1 shop/orders"}),
        (["--unit", "shop/handler-users", "--env", "prod"], {"prod/east shop/users"}),
    ):
        assert units(preview(capsys, "--base", "old", "--head", "new", *options)) == wanted


def test_prices(here: Path, capsys: Capture):
    write(here / "new", {"users.yaml": handler(replicas=4)})
    hourly = preview(capsys, "--base", "old", "--head", "new", "--prices", "cpu=1,memory=0")
    monthly = preview(
        capsys, "--base", "old", "--head", "new", "--prices", "cpu=730/month,memory=0/hour"
    )
    assert hourly == monthly
    assert hourly["environments"][0]["totals"]["least"]["after"]["cost"] == 0.4 * 730


# -- forms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "format,start",
    [("text", "preview old → new"), ("markdown", "<!--"), ("html", "<!doctype html>"), ("json", '{"format": 1'),
     ("github", "::"), ("sarif", "{")],
)  # fmt: skip
def test_every_form_goes_to_stdout_or_a_file(here: Path, capsys: Capture, format: str, start: str):
    options = ["--base", "old", "--head", "new", "--format", format]
    assert run(["preview", *options]) == 1
    out = capsys.readouterr()
    assert out.err == ""
    assert out.out.lower().startswith(start.lower())
    assert run(["preview", *options, "--output", "page"]) == 1
    assert capsys.readouterr().out == ""
    assert (here / "page").read_text() == out.out


# -- what is wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize("side,other", [("new", "old"), ("old", "new")])
def test_a_wrong_side_is_named(here: Path, capsys: Capture, side: str, other: str):
    write(here / side, {"users.yaml": handler(port=0)})
    assert run(["preview", "--base", "old", "--head", "new"]) == 3
    out = capsys.readouterr()
    assert out.out == ""
    assert f"the specs of the {'head' if side == 'new' else 'base'}, {side}, are wrong" in out.err
    assert f"{side}/users.yaml:" in out.err
    assert f"{other}/users.yaml" not in out.err


def test_both_sides_wrong(here: Path, capsys: Capture):
    for side in ("old", "new"):
        write(here / side, {"users.yaml": handler(port=0)})
    assert run(["preview", "--base", "old", "--head", "new"]) == 3
    err = capsys.readouterr().err
    assert "the specs of the base, old and of the head, new, are wrong" in err
    assert "old/users.yaml:" in err
    assert "new/users.yaml:" in err


def test_what_only_shows_among_documents_is_told_with_its_side(here: Path, capsys: Capture):
    """Even if the other document is the same on both sides, and in another namespace."""
    more = handler("more", handlerPath="/orders", namespace="elsewhere")
    write(here / "more", {**BASE, "more.yaml": more})
    assert run(["preview", "--base", "old", "--head", "more"]) == 3
    err = capsys.readouterr().err
    assert "the specs of the head, more, are wrong" in err
    assert "path-taken" in err


def test_what_compiling_refuses_is_told_with_its_side(here: Path, capsys: Capture):
    assert run(["compile", "old", "--output", "deploy"]) == 0
    capsys.readouterr()
    write(here / "new", {"users.yaml": handler(image="ghcr.io/acme/users:other")})
    assert run(["preview", "--base", "old", "--head", "new", "--ledger", "deploy"]) == 3
    err = capsys.readouterr().err
    assert "the specs of the head, new, are wrong" in err
    assert "image-changed" in err
    assert "new/users.yaml:" in err


def test_a_report_of_wrong_specs_has_the_form_that_was_asked_for(here: Path, capsys: Capture):
    write(here / "new", {"users.yaml": handler(port=0)})
    assert run(["preview", "--base", "old", "--head", "new", "--format", "sarif"]) == 3
    assert json.loads(capsys.readouterr().out)["version"] == "2.1.0"


@pytest.mark.parametrize(
    "options,told",
    [
        (["--base", "nowhere"], "there is no folder nowhere"),
        (["--base", "old", "--env", "nowhere"], "there is no environment nowhere"),
        (["--base", "old", "--prices", "gold=1"], "--prices wants"),
        (["--base", "old", "--prices", "cpu=x"], "--prices wants"),
        ([], "--base"),
    ],
)
def test_wrong_usage(here: Path, capsys: Capture, options: list[str], told: str):
    assert run(["preview", "new", *options]) == 2
    assert told in capsys.readouterr().err


# -- revisions -----------------------------------------------------------------------------------


@pytest.fixture
def repository(here: Path) -> Path:
    """main with the base; a branch with the head; and main has gone on since."""
    root = here / "repo"
    root.mkdir()
    git("init", "-q", at=root)
    write(root / "specs", BASE)
    git("add", ".", at=root)
    git("commit", "-qm", "base", at=root)
    git("checkout", "-qb", "topic", at=root)
    write(root / "specs", HEAD)
    git("commit", "-qam", "head", at=root)
    git("checkout", "-q", "main", at=root)
    write(root / "specs", {"orders.yaml": handler("orders", replicas=7)})
    git("commit", "-qam", "elsewhere", at=root)
    git("checkout", "-q", "topic", at=root)
    return root


def test_two_revisions_from_where_they_parted(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(repository)
    data = preview(capsys, "specs", "--base", "main", "--head", "topic")
    assert units(data) == {"dev/d1 shop/users", "prod/east shop/users"}
    assert data["base"]["commit"] == git("merge-base", "main", "topic", at=repository)
    assert data["head"]["commit"] == git("rev-parse", "topic", at=repository)
    assert any("where topic left main" in note for note in data["notes"])
    assert data["findings"][0]["place"]["file"] == "specs/users.yaml"


def test_two_revisions_as_they_are(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(repository)
    data = preview(capsys, "specs", "--base", "main", "--head", "topic", "--no-merge-base")
    assert "prod/east shop/orders" in units(data)


def test_the_work_tree_against_a_revision(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(repository)
    write(repository / "specs", {"more.yaml": handler("more")})
    data = preview(capsys, "specs", "--base", "main")
    assert "dev/d1 shop/more" in units(data)
    assert "dev/d1 shop/orders" not in units(data)
    assert data["base"]["commit"] == git("merge-base", "main", "topic", at=repository)


def test_a_revision_that_is_none(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(repository)
    assert run(["preview", "specs", "--base", "no-such-branch"]) == 4
    assert "names no commit" in capsys.readouterr().err


def test_a_wrong_base_revision_is_named_with_its_files(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(repository)
    write(repository / "specs", {"users.yaml": handler(port=0)})
    git("commit", "-qam", "broken", at=repository)
    write(repository / "specs", HEAD)
    assert run(["preview", "specs", "--base", "topic"]) == 3
    err = capsys.readouterr().err
    assert "the specs of the base, topic, are wrong" in err
    assert "topic:specs/users.yaml:" in err


@pytest.mark.parametrize("bare", [True, False])
def test_ledgers_of_a_repository(here: Path, capsys: Capture, bare: bool):
    assert run(["compile", "old", "--output", "deploy"]) == 0
    deploy = here / "deploy"
    git("init", "-q", at=deploy)
    git("add", ".", at=deploy)
    git("commit", "-qm", "output", at=deploy)
    where = "deploy@HEAD"
    if bare:
        git("clone", "-q", "--bare", str(deploy), str(here / "deploy.git"), at=here)
        where = "deploy.git"
    capsys.readouterr()
    data = preview(capsys, "--base", "old", "--head", "new", "--ledger", where)
    plain = preview(capsys, "--base", "old", "--head", "new", "--ledger", "deploy")
    assert {**data, "ledger": ""} == {**plain, "ledger": ""}


def test_ledgers_of_a_revision_of_the_specs_own_repository(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(repository)
    git("checkout", "-qb", "output", "main", at=repository)
    assert run(["compile", "specs", "--output", "."]) == 0
    git("add", ".", at=repository)
    git("commit", "-qm", "output", at=repository)
    git("checkout", "-q", "topic", at=repository)
    capsys.readouterr()
    data = preview(capsys, "specs", "--base", "main", "--ledger", "output")
    assert "promotion" in {finding["code"] for finding in data["findings"]}
    assert data["ledger"] == "output"
