"""What `init` writes is a project that works, and it never writes over what is there."""

import re
from pathlib import Path

import pytest
import yaml

from gati_gitops import __version__
from gati_gitops.cli.main import run
from gati_gitops.scaffold import project_files, project_name


@pytest.fixture
def project(tmp_path: Path) -> Path:
    assert run(["init", str(tmp_path / "My.Shop")]) == 0
    return tmp_path / "My.Shop"


def written(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_the_scaffold_is_valid_without_a_warning(project, capsys):
    assert run(["validate", "--strict", str(project)]) == 0
    assert (
        "1 handler, 0 modules, 0 versions in 2 environments: no problems" in capsys.readouterr().out
    )


@pytest.mark.parametrize("name", ["123", "on", "No", "1e3", "0x1f", "y", "true"])
def test_a_folder_may_have_any_name(name, tmp_path):
    assert run(["init", str(tmp_path / name)]) == 0
    assert run(["validate", "--strict", str(tmp_path / name)]) == 0


def test_the_scaffold_compiles_once(project, tmp_path, capsys):
    output = tmp_path / "deploy"
    assert run(["compile", str(project), "--output", str(output)]) == 0
    first = written(output)
    assert "overlays/prod/prod-1/my-shop/handler-hello/route.yaml" in first
    assert run(["compile", str(project), "--output", str(output)]) == 0
    assert written(output) == first
    assert "nothing to change" in capsys.readouterr().out


def test_every_spec_names_a_schema_that_is_there(project):
    specs = [path for path in project.rglob("*.yaml") if ".github" not in path.parts]
    assert len(specs) == 3
    for path in specs:
        schema = re.match(r"# yaml-language-server: \$schema=(.+)\n", path.read_text())
        assert schema is not None, path
        assert (path.parent / schema[1]).is_file(), path


def test_the_workflow_runs_verbs_that_exist(project, tmp_path, monkeypatch):
    workflow = yaml.safe_load((project / ".github/workflows/gati-validate.yml").read_text())
    steps = [step["run"] for step in workflow["jobs"]["validate"]["steps"] if "run" in step]
    assert steps[0] == f"pip install 'gati-gitops[schemas]=={__version__}'"
    monkeypatch.chdir(project)
    for step in steps[1:]:
        arguments = step.replace('"$RUNNER_TEMP', str(tmp_path)).replace('"', "").split()
        assert arguments[0] == "gati-gitops"
        assert run(arguments[1:]) == 0, step


def test_nothing_is_overwritten(project, capsys):
    (project / "gati.yaml").write_text("mine")
    (project / "handlers/hello.yaml").unlink()
    before = written(project)
    assert run(["init", str(project)]) == 5
    assert written(project) == before, "a refused init must write nothing at all"
    message = capsys.readouterr().err
    assert "gati.yaml" in message and "--force" in message


def test_force_overwrites(project, capsys):
    before = written(project)
    (project / "gati.yaml").write_text("mine")
    capsys.readouterr()
    assert run(["init", "--force", str(project)]) == 0
    assert written(project) == before
    signs = dict(reversed(line.split(" ", 1)) for line in capsys.readouterr().out.splitlines())
    assert signs[f"{project}/gati.yaml"] == "~"
    assert signs[f"{project}/handlers/hello.yaml"] == "="


def test_what_is_beside_it_stays(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    assert run(["init", str(tmp_path)]) == 0
    assert (tmp_path / "README.md").read_text() == "mine"


def test_no_link_is_followed(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (project / "handlers").symlink_to(elsewhere)
    assert run(["init", "--force", str(project)]) == 5
    assert list(elsewhere.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_explained(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run(["init", str(tmp_path / "file" / "project")]) == 4
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "folder, name",
    [
        ("shop", "shop"),
        ("My.Shop", "my-shop"),
        ("-_-", "my-project"),
        ("", "my-project"),
        ("a" * 80, "a" * 63),
    ],
)
def test_any_folder_gives_a_project_a_name(folder, name):
    assert project_name(folder) == name


def test_the_version_is_pinned():
    assert all(b"COMPILER-VERSION" not in content for content in project_files("x").values())
