"""The CI files that we hand out do what they say: their own steps, run here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gati_gitops import __version__
from gati_gitops.cli.main import run
from tests.forge import worlds
from tests.publish.kit import QUIET, git

ROOT = Path(__file__).parents[2]
HANDLER = "handlers/hello.yaml"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A new project in a repository, with a change on a branch of its own."""
    specs = tmp_path / "specs"
    assert run(["init", str(specs)]) == 0
    git(tmp_path, "init", "-q", "-b", "main", "specs")
    git(specs, "add", "-A")
    git(specs, "commit", "-q", "-m", "First")
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "deploy.git")
    return specs


def workflow(project: Path, name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((project / f".github/workflows/{name}.yml").read_text())
    return data


def steps(data: dict[str, Any], job: str) -> list[str]:
    """What a job runs, without installing us."""
    found = [step["run"] for step in data["jobs"][job]["steps"] if "run" in step]
    installs = [text for text in found if text.startswith("pip install")]
    assert installs and all(f"=={__version__}'" in text for text in installs)
    return [text for text in found if text not in installs]


def bash(script: str, folder: Path, **environ: str) -> str:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder, env={**QUIET, "PATH": programs, "NO_COLOR": "1", **environ},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
    return done.stdout


def changed(project: Path) -> str:
    """A branch that changes the handler; the commit that it left."""
    base = git(project, "rev-parse", "HEAD").strip()
    file = project / HANDLER
    file.write_text(file.read_text().replace("replicas: ", "replicas: 1"))
    git(project, "commit", "-q", "-a", "-m", "More pods")
    return base


def test_publish_on_merge(project):
    data = workflow(project, "gati-publish")
    assert data["concurrency"]["cancel-in-progress"] is False
    checkout = data["jobs"]["publish"]["steps"][0]["with"]
    assert checkout == {"persist-credentials": False, "fetch-depth": 0}
    output = project.parent / "deploy.git"
    for script in steps(data, "publish"):
        bash(script, project, GATI_REPO=str(output))
    assert "overlays/" in git(output, "ls-tree", "-r", "--name-only", "main")


def test_a_preview_has_no_secret_and_no_right_to_write(project):
    data = workflow(project, "gati-preview")
    assert data["permissions"] == {"contents": "read"}
    assert "secrets." not in (project / ".github/workflows/gati-preview.yml").read_text()
    assert True in data or "on" in data  # YAML 1.1 reads `on` as a truth
    assert "pull_request_target" not in str(data)


def test_the_preview_of_a_pull_request_is_made_and_commented(project, tmp_path):
    world = worlds.github()
    try:
        base = changed(project)
        head = world.push("feature")
        pull = world.forge.open("feature", "main", _text()).pull
        for script in steps(workflow(project, "gati-preview"), "preview"):
            bash(script, project, BASE=base, NUMBER=str(pull.number))
        made = project / "preview"
        assert "replicas" in (made / "preview.md").read_text()
        assert (made / "index.html").read_text().startswith("<!doctype html>")
        comment = steps(workflow(project, "gati-comment"), "comment")
        environ = {
            "GATI_FORGE": "github",
            "GATI_FORGE_URL": world.server.url,
            "GATI_FORGE_TOKEN": worlds.GITHUB_TOKEN,
            "REPOSITORY": "https://github.com/acme/output",
            "SHA": head,
            "PAGE": "https://example.com/page",
        }
        for _ in range(2):  # in place: still one
            for script in comment:
                bash(script, project, **environ)
        assert len(world.comments(pull.number)) == 1
        assert world.check(head, "gati-gitops/preview") == "success"
    finally:
        world.server.close()


def _text():
    from gati_gitops.forge.model import Text

    return Text("A change", "of the specs")


def test_the_template_for_gitlab(tmp_path):
    specs = tmp_path / "specs"
    assert run(["init", str(specs), "--ci", "gitlab"]) == 0
    assert not (specs / ".github").exists()
    git(tmp_path, "init", "-q", "-b", "main", "specs")
    git(specs, "add", "-A")
    git(specs, "commit", "-q", "-m", "First")
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "deploy.git")
    jobs = yaml.safe_load((specs / ".gitlab-ci.yml").read_text())
    output = str(tmp_path / "deploy.git")
    script(specs, jobs["gati-validate"])
    script(specs, jobs["gati-publish"], OUTPUT_REPOSITORY=output, OUTPUT_TOKEN="")
    assert git(Path(output), "rev-list", "--count", "main").strip() == "2"
    base = changed(specs)
    script(specs, jobs["gati-preview"], CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    world = worlds.gitlab()
    try:
        world.push("feature")
        pull = world.forge.open("feature", "main", _text()).pull
        environ = {
            "GATI_FORGE_URL": world.server.url,
            "PREVIEW_TOKEN": worlds.GITLAB_TOKEN,
            "CI_PROJECT_URL": f"{world.server.url}/acme/platform/output",
            "CI_MERGE_REQUEST_IID": str(pull.number),
            "CI_COMMIT_SHA": world.push("feature"),
            "CI_JOB_URL": "https://example.com/job",
        }
        script(specs, jobs["gati-comment"], **environ)
        script(specs, jobs["gati-comment"], **environ)
        assert len([c for c in world.comments(pull.number) if "gati-gitops:preview" in c]) == 1
    finally:
        world.server.close()


def script(folder: Path, job: dict[str, Any], **environ: str) -> None:
    lines = [line for line in job["script"] if not line.startswith("pip install")]
    assert len(lines) < len(job["script"])
    bash("\n".join(lines), folder, **environ)


def test_the_composite_action(project):
    action = yaml.safe_load((ROOT / ".github/actions/gati-gitops/action.yml").read_text())
    install, last = action["runs"]["steps"]
    assert "${{" not in install["run"] + last["run"], "inputs reach the shell as variables only"
    defaults = {name: given.get("default", "") for name, given in action["inputs"].items()}
    output = project.parent / "deploy.git"

    def act(**inputs: str) -> str:
        given = {**defaults, **inputs}
        environ = {
            name: value.replace("${{ inputs.", "").replace(" }}", "")
            for name, value in last["env"].items()
        }
        return bash(last["run"], project, **{name: given[key] for name, key in environ.items()})

    act()
    act(verb="publish", arguments=f"--repo\n{output}\n\n--rev\nHEAD")
    act(verb="verify", arguments=f"  --repo\n  {output}")
    base = changed(project)
    told = act(verb="preview", arguments=f"--base\n{base}\n--head\nHEAD")
    assert "hello" in told
    hostile = "$(touch hacked); `touch hacked`"
    with pytest.raises(AssertionError):
        act(verb="publish", arguments=f"--repo\n{hostile}")
    assert not (project / "hacked").exists()


def test_the_hook_for_pre_commit(project):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert not hook["pass_filenames"]
    assert bash(hook["entry"], project)
    (project / HANDLER).write_text("kind: GatiHandler\n")
    with pytest.raises(AssertionError):
        bash(hook["entry"], project)
