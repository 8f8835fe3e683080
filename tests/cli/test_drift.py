"""``drift``: what its options may not be."""

from __future__ import annotations

import pytest

from gati_gitops.cli.main import run
from tests.drift.kit import published


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A shop on two clusters, to be read only."""
    return published(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def drift(shop, capsys):
    def ask(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        code = run(["drift", "--repo", str(shop.output), *arguments])
        return code, capsys.readouterr().err

    return ask


def test_a_record_does_not_replace_what_somebody_else_keeps_there(drift, tmp_path):
    specs = tmp_path / "gati.yaml"
    specs.write_text("kind: GatiProject\n")
    arguments = ("--cluster", "eu", "--kubeconfig", str(tmp_path / "none"))
    code, err = drift(*arguments, "--record", str(specs))
    assert code == 2
    assert "is no recording of drift" in err and "give --record a file" in err
    assert specs.read_text() == "kind: GatiProject\n"
