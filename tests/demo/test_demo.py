"""The demo tells its whole story, plainly in a pipe, and leaves what it promised."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gati_gitops.disk.specs import read_specs
from gati_gitops.plan.check import check
from gati_gitops.scaffold import demo_specs
from gati_gitops.spec.load import load

ESCAPE = b"\x1b["


def demo(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "gati_gitops", "demo", *arguments],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")} | env,
        capture_output=True,
        check=False,
    )


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("demo")
    done = demo(folder, "--output", "kept")
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    assert done.stderr == b""
    assert ESCAPE not in done.stdout, "a pipe gets no colour"
    return done.stdout.decode(), folder / "kept"


def test_the_steps_come_in_order(told):
    text, _ = told
    steps = re.findall(r"(?m)^(\d+)\. (\w+)", text)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    words = [word for _, word in steps]
    assert words[:8] == ["Specs", "Validate", "Plan", "Compile", "Render", "A", "Compile", "A"]
    assert words[8:] == ["Publish", "Decide", "Watch", "A", "Leave", "Your"]


def test_it_shows_what_the_verbs_print(told):
    text, _ = told
    for said in (
        "2 handlers, 1 module, 1 version in 2 environments: no problems",
        "v2.1.0   Canary  10",
        "kind: GatiVersion",
        "weight: 90",
        "+  version: v1.1.0",
        "+  phase: Starting",
        "nothing to change",
        "did you mean spec.replicas?",
        "(exit code 3)",
        "prod: start shop/cart v1.1.0",
        "exactly what the specs and ledgers say",
        "prod: reject shop/cart v1.1.0",
        "Rejected",
    ):
        assert said in text, said


def test_the_job_advances_rolls_back_parks_and_removes(told):
    """If the job judges otherwise than it did, scripts/record_demo.py records anew what it sees."""
    text, kept = told
    expected = (
        "prod: shift shop/checkout v2.1.0 to 50 %", "prod: activate shop/checkout v2.1.0",
        "prod: shift shop/cart v1.2.0 to 10 %", "prod: roll back shop/cart v1.2.0",
        "prod: park shop/checkout v2.0.3", "prod: remove shop/checkout v2.0.3",
    )  # fmt: skip
    at = -1
    for subject in expected:
        assert (at := text.find(f"  {subject}\n", at + 1)) > 0, subject
    assert "Gati-Evidence: roll back shop/cart v1.2.0" in text
    log = subprocess.run(
        ["git", "-C", str(kept / "deploy.git"), "log", "--reverse", "--format=%s"],
        capture_output=True, check=True,
    ).stdout.decode().splitlines()  # fmt: skip
    assert [line for line in log if line in expected] == list(expected)


def test_every_file_of_a_unit_is_explained(told):
    text, _ = told
    listed = text.partition("$ ls ")[2].partition("\n\n")[0].splitlines()[1:]
    assert [line for line in listed if len(line.split()) < 2] == []


def test_the_folder_is_left_in_order(told):
    _, kept = told
    specs = load(read_specs(str(kept / "specs")))
    assert not any(problem.is_error for problem in check(specs))
    assert (kept / "deploy/overlays/prod/eu-1/shop/handler-cart/rollout.yaml").is_file()


def test_every_line_fits_a_terminal(told):
    text, _ = told
    long = [line for line in text.splitlines() if len(line) > 120]
    assert long == []


def test_nothing_stays_without_output(tmp_path):
    done = demo(tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_something_in_it_is_refused(tmp_path):
    (tmp_path / "mine").write_text("")
    done = demo(tmp_path, "--output", ".")
    assert done.returncode == 5
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def on_a_terminal(folder: Path, **env: str) -> bytes:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gati_gitops", "demo"],
        cwd=folder, stdout=slave, stderr=slave, close_fds=True,
        env={k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        | {"TERM": "xterm"} | env,
    )  # fmt: skip
    os.close(slave)
    seen = b""
    try:
        while chunk := os.read(master, 1 << 16):
            seen += chunk
    except OSError:
        pass  # how a pseudo terminal says that the other side has gone
    os.close(master)
    assert process.wait() == 0
    return seen


def test_colour_on_a_terminal(tmp_path):
    seen = on_a_terminal(tmp_path)
    assert ESCAPE in seen
    assert b"did you mean" in seen


def test_no_color_is_respected(tmp_path):
    assert ESCAPE not in on_a_terminal(tmp_path, NO_COLOR="1")


def test_the_specs_are_part_of_the_package():
    assert "gati.yaml" in demo_specs()
    load(demo_specs().items())
