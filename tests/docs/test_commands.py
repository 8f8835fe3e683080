"""Every command in the documents runs, in order, and prints what they say."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gati_gitops.tree import OWNED
from tests.docs.blocks import DOCUMENTS, ROOT, blocks, matches

NAMES = [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]
MAY_NOT_RUN = 7
READER = {"COLUMNS": "100", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
"""What a reader's terminal is like, whatever the one that runs the tests is."""


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    """Where a reader stands: a clone of the repository, as far as the documents speak of it."""
    for folder in ("examples", *OWNED):
        shutil.copytree(ROOT / folder, tmp_path / "clone" / folder)
    return tmp_path / "clone"


def type_in(command: str, home: Path) -> tuple[int, str]:
    """Run a line in a shell that remembers where the last one went."""
    state = home.parent / "folder"
    folder = state.read_text().strip() if state.exists() else str(home)
    script = f"set -o pipefail\ncd '{folder}'\n{command}\ncode=$?\npwd > '{state}'\nexit $code"
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, **READER, "PATH": programs}, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_every_command_runs(document, reader):
    for block in blocks(document):
        where = f"{document.name}:{block.line}"
        if block.file:
            file = reader / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.body)
        for command in block.commands:
            code, printed = type_in(command.text, reader)
            assert code == command.exit, f"{where}: $ {command.text}\n{printed}"
            if command.output is not None:
                assert matches(command.output, printed), (
                    f"{where}: $ {command.text}\nprints\n{printed}\nnot\n{command.output}"
                )


def test_few_blocks_are_not_run():
    skipped = [block for path in DOCUMENTS for block in blocks(path) if block.not_run]
    assert len(skipped) <= MAY_NOT_RUN


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_every_block_says_what_it_is(document):
    """A block of another language could hide a command from these tests."""
    known = {"sh", "console", "yaml", "json", "diff", ""}
    for block in blocks(document):
        assert block.language in known, f"{document.name}:{block.line}"
        if block.language == "":
            assert "gati-gitops " not in block.body, f"{document.name}:{block.line}"
    fences = re.findall(r"(?m)^```", document.read_text())
    assert len(fences) == 2 * len(blocks(document)), "a block that these tests do not see"


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_every_link_leads_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md"])
def test_the_first_pages_are_short(name):
    assert len((ROOT / name).read_text().splitlines()) <= 120


def test_the_readme_leads_to_every_page():
    readme = (ROOT / "README.md").read_text()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert sorted(page for page in pages if f"](docs/{page})" not in readme) == []


def test_the_architecture_has_a_paragraph_for_every_part():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    package = ROOT / "gati_gitops"
    folders = {path.parent.relative_to(ROOT).as_posix() for path in package.glob("*/__init__.py")}
    assert {folder for folder in folders if f"**`{folder}`**" not in text} == set()
