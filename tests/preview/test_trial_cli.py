"""Slips of the pen on the command line: told, and never taken for "nothing changes"."""

from __future__ import annotations

from pathlib import Path

import pytest

from gati_gitops.cli.main import run
from tests.preview.test_cli import BASE, Capture, git, here, write

__all__ = ["here"]  # the fixture


def test_a_unit_that_nobody_knows_is_wrong_usage(here: Path, capsys: Capture):
    sides = ["preview", "--base", "old", "--head", "new"]
    assert run([*sides, "--unit", "shop/user"]) == 2
    err = capsys.readouterr().err
    assert "there is no unit shop/user" in err and "shop/users" in err
    assert run([*sides, "--unit", "shop/users"]) == 1


def test_a_unit_that_only_the_output_knows_may_be_asked_for(here: Path, capsys: Capture):
    write(here / "older", {**BASE, "carts.yaml": BASE["users.yaml"].replace("users", "carts")})
    assert run(["compile", "older", "--output", "deploy"]) == 0
    sides = ["preview", "--base", "old", "--head", "new", "--ledger", "deploy"]
    assert run([*sides, "--unit", "shop/carts"]) == 0
    assert run([*sides, "--unit", "shop/handler-carts"]) == 0
    assert run([*sides, "--unit", "shop/cart"]) == 2


@pytest.mark.parametrize("option", ["--base", "--head", "--ledger"])
def test_neither_a_folder_nor_a_revision_is_said_to_be_neither(
    here: Path, capsys: Capture, option: str
):
    git("init", "-q", at=here)
    git("add", ".", at=here)
    git("commit", "-qm", "specs", at=here)
    sides = {"--base": "old", "--head": "new", option: "../deploi"}
    assert run(["preview", "new", *(word for pair in sides.items() for word in pair)]) == 4
    err = capsys.readouterr().err
    assert "there is no folder ../deploi" in err and "names no commit" in err
