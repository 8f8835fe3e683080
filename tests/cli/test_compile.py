"""``compile`` and ``plan`` as a user meets them: options, exit codes, and what is left alone."""

import json
from pathlib import Path

import pytest
import yaml

from gati_gitops.cli.main import run
from tests.spec.samples import HANDLER, PROJECT

Capture = pytest.CaptureFixture[str]
UNIT = "default/handler-user-handler"


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "gati.yaml").write_text(PROJECT)
    (folder / "users.yaml").write_text(HANDLER)
    return folder


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def compiled(*options: str) -> int:
    return run(["compile", "specs", "--output", "deploy", *options])


@pytest.fixture
def deploy(specs: Path, capsys: Capture) -> Path:
    assert compiled() == 0
    capsys.readouterr()
    return specs.parent / "deploy"


class TestDryRun:
    def test_makes_no_folder(self, specs: Path, capsys: Capture) -> None:
        assert compiled("--dry-run") == 0
        assert "files would be: " in capsys.readouterr().out
        assert not (specs.parent / "deploy").exists()

    def test_neither_locks_nor_mends(self, deploy: Path, capsys: Capture) -> None:
        (deploy / ".gati-gitops").mkdir()
        (deploy / ".gati-gitops/journal").write_bytes(b"what an interrupted run left")
        before = files(deploy)
        assert compiled("--dry-run") == 5
        assert "interrupted" in capsys.readouterr().err
        assert run(["plan", "specs", "--ledger", "deploy"]) == 5
        assert files(deploy) == before

    def test_discards_nothing(self, deploy: Path, capsys: Capture) -> None:
        (deploy / "base/mine.txt").write_text("")
        assert compiled("--dry-run", "--discard") == 0
        assert "- base/mine.txt\n" in capsys.readouterr().out
        assert (deploy / "base/mine.txt").exists()


def test_a_foreign_file_is_refused_until_it_is_discarded(deploy: Path, capsys: Capture) -> None:
    before = files(deploy)
    (deploy / "overlays/prod/mine.txt").write_text("")
    (deploy / "README.md").write_text("not in our folders")
    assert compiled() == 5
    assert "overlays/prod/mine.txt" in capsys.readouterr().err
    assert compiled("--discard") == 0
    assert files(deploy) == {**before, "README.md": b"not in our folders"}


def test_another_version_is_refused_until_upgrade(deploy: Path, capsys: Capture) -> None:
    before = files(deploy)
    record = deploy / "overlays/prod/sources/shop/all.yaml"
    record.write_text(record.read_text().replace("compiler: ", "compiler: 9"))
    assert compiled() == 5
    assert "--upgrade" in capsys.readouterr().err
    assert compiled("--upgrade") == 0
    assert files(deploy) == before


def test_wrong_specs_write_nothing(specs: Path, capsys: Capture) -> None:
    (specs / "users.yaml").write_text(HANDLER.replace("3000", "0"))
    assert compiled() == 3
    assert "users.yaml:10:9: error[out-of-range] spec.port" in capsys.readouterr().err
    assert not (specs.parent / "deploy").exists()


@pytest.mark.parametrize(
    "options, said",
    [
        (["--env", "prd"], "there is no environment prd; the project has prod, staging"),
        (["--cluster", "eu-2"], "there is no cluster eu-2; the project has eu-1, staging-1, us-1"),
        (["--env", "staging", "--cluster", "eu-1"], "cluster eu-1 is not in staging"),
        (["--output", "specs/users.yaml"], "is a file"),
    ],
)
def test_wrong_usage(specs: Path, options: list[str], said: str, capsys: Capture) -> None:
    assert compiled(*options) == 2
    assert said in capsys.readouterr().err
    assert not (specs.parent / "deploy").exists()


def test_narrowing_touches_nothing_else(deploy: Path, specs: Path) -> None:
    before = files(deploy)
    (specs / "users.yaml").write_text(HANDLER.replace("replicas: 3", "replicas: 4"))
    assert compiled("--env", "prod", "--cluster", "us-1") == 0
    after = files(deploy)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed
    assert all(path.startswith(f"overlays/prod/us-1/{UNIT}/") for path in changed), changed


def test_json_names_every_path(deploy: Path, specs: Path, capsys: Capture) -> None:
    (specs / "users.yaml").write_text(HANDLER.replace("replicas: 3", "replicas: 4"))
    assert compiled("--format", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data["written"] is True
    assert f"overlays/prod/eu-1/{UNIT}/unit.yaml" in data["changed"]
    assert (data["added"], data["removed"], data["discarded"]) == ([], [], [])


def test_the_specs_folder_may_be_the_output(specs: Path, capsys: Capture) -> None:
    assert run(["compile", "specs", "--output", "specs"]) == 0
    assert run(["validate", "specs"]) == 0
    assert "1 handler, 0 modules, 0 versions" in capsys.readouterr().out
    assert run(["compile", "specs", "--output", "specs"]) == 0
    assert "nothing to change" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_wrong_specs_are_reported_as_validate_does(specs: Path, form: str, capsys: Capture) -> None:
    (specs / "users.yaml").write_text(HANDLER.replace("3000", "0"))
    assert run(["validate", "specs", "--format", form]) == 3
    told = capsys.readouterr().out
    assert compiled("--format", form) == 3
    assert capsys.readouterr().out == told != ""


def test_a_report_leaves_the_other_words_to_stderr(specs: Path, capsys: Capture) -> None:
    (specs / "users.yaml").write_text(HANDLER.replace(":1.0.0", ":latest"))
    assert compiled("--format", "sarif") == 0
    captured = capsys.readouterr()
    results = json.loads(captured.out)["runs"][0]["results"]
    assert {result["ruleId"] for result in results} == {"policy-latest"}
    assert "1 unit in deploy, files: " in captured.err


def test_crds_that_could_check_nothing(specs: Path, capsys: Capture) -> None:
    assert compiled("--crds", "specs") == 2
    assert "--check" in capsys.readouterr().err
    pytest.importorskip("kubernetes_validate")
    assert compiled("--check", "--crds", "specs") == 2
    assert "there is no CustomResourceDefinition in specs" in capsys.readouterr().err


def test_check_without_the_extra_says_what_to_install(
    specs: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "kubernetes_validate", None)
    assert compiled("--check") != 0
    assert "pip install gati-gitops[schemas]" in capsys.readouterr().err
    assert not (specs.parent / "deploy").exists()


class TestPlan:
    def test_yaml_and_json_are_the_same_data(self, specs: Path, capsys: Capture) -> None:
        assert run(["plan", "specs", "--format", "yaml"]) == 0
        as_yaml = yaml.safe_load(capsys.readouterr().out)
        assert run(["plan", "specs", "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out) == as_yaml
        assert list(as_yaml["environments"]) == ["staging", "prod"]

    def test_follows_the_ledger(self, deploy: Path, specs: Path, capsys: Capture) -> None:
        newer = HANDLER.replace("v1.0.0", "v1.1.0").replace(":1.0.0", ":1.1.0")
        (specs / "users.yaml").write_text(newer)
        assert run(["plan", "specs", "--env", "staging", "--ledger", "deploy"]) == 0
        rows = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert ["v1.1.0", "Starting", "0"] in [row[:3] for row in rows]
        assert ["v1.0.0", "Active", "100"] in [row[1:4] for row in rows]
        assert (deploy / "base").is_dir()

    def test_of_a_unit_that_is_not_there(self, specs: Path, capsys: Capture) -> None:
        assert run(["plan", "specs", "--unit", "default/nobody"]) == 2
        assert "there is no unit default/nobody" in capsys.readouterr().err
