"""The Dockerfile: read as a builder reads it, and its steps done without one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

from gati_gitops import __version__
from gati_gitops.plan.job import CACHE, USER
from tests.docs.blocks import ROOT
from tests.tools import missing

WHEELS = Path(sys.prefix) / "wheels"
INSTRUCTIONS = {
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "FROM",
    "LABEL",
    "RUN",
    "USER",
    "WORKDIR",
}


@dataclass(frozen=True)
class Step:
    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """Of the exec form, which needs no shell."""
        found = json.loads(self.text)
        assert isinstance(found, list) and all(isinstance(word, str) for word in found)
        return found


def steps(text: str) -> list[Step]:
    """The instructions of a Dockerfile: comments left out, long lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", "")
    found = []
    for line in joined.splitlines():
        name, _, rest = line.partition(" ")
        assert name in INSTRUCTIONS, line
        found.append(Step(name, rest.strip()))
    return found


STEPS = steps((ROOT / "Dockerfile").read_text())
STAGES = [n for n, step in enumerate(STEPS) if step.name == "FROM"]
BUILD, FINAL = STEPS[STAGES[0] : STAGES[1]], STEPS[STAGES[1] :]


def of(name: str, stage: list[Step]) -> list[Step]:
    return [step for step in stage if step.name == name]


def test_the_base_is_pinned_by_a_digest_that_whoever_builds_must_name():
    for step in of("FROM", STEPS):
        assert step.text.startswith("${BASE}@${BASE_DIGEST}")
    arguments = {s.text.partition("=")[0]: s.text.partition("=")[2] for s in STEPS[: STAGES[0]]}
    assert arguments["BASE_DIGEST"] == "", "a default would grow old"
    assert "slim" in arguments["BASE"]


def test_it_runs_as_a_number_that_is_not_root_and_that_the_pod_has_too():
    (user,) = of("USER", FINAL)
    assert re.fullmatch(r"\d+:\d+", user.text)
    assert set(user.text.split(":")) == {str(USER)}
    last = [step.name for step in FINAL]
    assert last.index("USER") < last.index("ENTRYPOINT")
    assert not {"RUN", "COPY"} & set(last[last.index("USER") :]), "nothing is done as that user"


def test_nothing_needs_a_shell():
    for step in STEPS:
        if step.name in ("RUN", "ENTRYPOINT", "CMD"):
            assert step.words
    (entry,) = of("ENTRYPOINT", FINAL)
    assert entry.words == ["/opt/gati-gitops/bin/gati-gitops"]
    assert not of("RUN", FINAL), "the last stage only copies"


def test_it_holds_no_secret_and_fetches_nothing_by_itself():
    text = (ROOT / "Dockerfile").read_text()
    assert not [step for step in STEPS if step.name == "ADD"]
    assert not re.search(r"(?i)(token|password|secret)\s*=", text)
    assert "curl" not in text and "wget" not in text
    assert not any(CACHE in step.text for step in STEPS), "the cache is mounted"


def test_the_context_is_what_is_copied_and_no_more():
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]  # fmt: skip
    copied = {word for step in of("COPY", BUILD) for word in step.text.split()[:-1]}
    assert set(kept) == copied
    assert "*" in (ROOT / ".dockerignore").read_text().splitlines()


def context(folder: Path) -> None:
    """The source tree as a builder would have it after COPY."""
    for step in of("COPY", BUILD):
        *sources, _ = step.text.split()
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, folder / source, ignore=_ignored)
            else:
                shutil.copy(ROOT / source, folder / source)


def _ignored(_: str, names: list[str]) -> set[str]:
    return {name for name in names if fnmatch(name, "__pycache__") or fnmatch(name, "*.py[co]")}


@pytest.mark.slow
def test_the_steps_give_a_program_that_runs(tmp_path: Path):
    """Each RUN as it stands, in other folders; then the ENTRYPOINT, with nothing else in reach."""
    if not WHEELS.is_dir():
        missing("the packages of the image", "`make test` puts them into .venv/wheels")
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS)}
    source, home = tmp_path / "src", tmp_path / "opt"
    source.mkdir()
    context(source)
    for step in of("RUN", BUILD):
        words = [
            word.replace("/opt/gati-gitops", str(home)).replace("/src[", f"{source}[")
            for word in step.words
        ]
        words[0] = sys.executable if words[0] == "python" else words[0]
        done = subprocess.run(
            words, env=offline, cwd=source, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    program = home / "bin/gati-gitops"
    alone = {
        "HOME": str(tmp_path),
        "PATH": str(tmp_path / "nowhere"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    said = _run([str(program), "--version"], alone, tmp_path)
    assert __version__ in said
    assert "--lease" in _run([str(program), "reconcile", "--help"], alone, tmp_path)
    needed = (
        "lightkube, prometheus_client, pygit2, opentelemetry.sdk, cryptography, pysequoia, tzdata"
    )
    modules = f"import {needed}, gati_gitops.reconcile.running, gati_gitops.reconcile.meters"
    _run([str(home / "bin/python"), "-c", modules], alone, tmp_path)
    assert not (home / "bin/pip").exists()
    pulled = _run([str(program), "init", "specs"], alone, tmp_path)
    assert pulled is not None
    _run([str(program), "compile", "specs", "--output", "out"], alone, tmp_path)
    assert (tmp_path / "out/overlays").is_dir(), "templates and data are in the package, too"


def _run(words: list[str], env: dict[str, str], cwd: Path) -> str:
    done = subprocess.run(words, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
