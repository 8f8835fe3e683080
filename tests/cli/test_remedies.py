"""What cannot be read or written is said with what would help."""

from __future__ import annotations

import pytest

from gati_gitops.cli.main import run
from tests.drift.kit import published
from tests.publish.kit import World

ABOUT = ["shop/cart", "--env", "prod", "--reason", "x"]
READING = {
    "status": [],
    "drift": ["--git-only"],
    "reconcile": ["--dry-run"],
    "hold": ABOUT,
    "rollback": ABOUT,
    "rollback --break-glass": ABOUT,
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> World:
    """To be read only."""
    return published(tmp_path_factory.mktemp("shop"))


def said(capsys) -> tuple[str, str]:
    """An error, and its remedy."""
    error, remedy = capsys.readouterr().err.splitlines()[-2:]
    assert error.startswith("error: ") and remedy.startswith("  ")
    return error, remedy


@pytest.mark.parametrize(
    "arguments, code, words, helps",
    [
        (["reconcile", "--replay", "{}", "--dry-run"], 2, "recording", "reconcile --record"),
        (["reconcile", "--record", "{}/x", "--cluster", "eu"], 4, "record", "--record a file in"),
        (["drift", "--record", "{}/x", "--cluster", "eu"], 4, "cannot write", "another --record"),
        (["drift", "--output", "{}/x", "--git-only"], 4, "cannot write", "--output a file in"),
        (["drift", "--replay", "{}"], 2, "cannot read", "drift --record"),
    ],
)
def test_files(shop, tmp_path, capsys, arguments, code, words, helps):
    missing = str(tmp_path / "missing")
    asked = [one.replace("{}", missing) for one in arguments]
    assert run([*asked, "--repo", str(shop.output), "--kubeconfig", missing]) == code
    error, remedy = said(capsys)
    assert words in error and "No such file" in error
    assert helps in remedy


@pytest.mark.parametrize("verb", READING)
@pytest.mark.parametrize("there", [False, True], ids=["nothing", "a folder"])
def test_who_reads_an_output_is_not_told_to_make_an_empty_one(tmp_path, capsys, verb, there):
    place = tmp_path / "nope.git"
    if there:
        place.mkdir()
    assert run([*verb.split(), *READING[verb], "--repo", str(place)]) == 4
    error, remedy = said(capsys)
    assert str(place) in error
    assert "git init" not in remedy
    assert "holds" in remedy and "compiled output" in remedy


def test_who_publishes_is(tmp_path, capsys):
    world = published(tmp_path / "world")
    place = str(tmp_path / "nope.git")
    assert run(["publish", str(world.specs), "--repo", place]) == 4
    _, remedy = said(capsys)
    assert f"git init --bare {place}" in remedy
