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


KIND = '{"kind": "gati-gitops recording", "format": 1}\n'


@pytest.mark.parametrize("text", [None, "hello\n", KIND, KIND.replace("ops ", "ops drift ") + "{"])
@pytest.mark.parametrize("verb", ["drift", "reconcile"])
def test_a_recording_that_is_none_is_wrong_usage(shop, tmp_path, capsys, verb, text):
    """The same exit code from both verbs, whatever is wrong with the file; and said once."""
    path = tmp_path / "bad.jsonl"
    if text is not None:
        path.write_text(text + ("[1]\n" if text == KIND and verb == "reconcile" else ""))
    dry = ["--dry-run"] * (verb == "reconcile")
    assert run([verb, "--repo", str(shop.output), "--replay", str(path), *dry]) == 2
    error, remedy = capsys.readouterr().err.splitlines()
    assert error.count(str(path)) == 1
    assert remedy.startswith("  ") and "record" in remedy


@pytest.mark.parametrize(
    "said,words",
    [
        ("usa=http://127.0.0.1:9", "--prometheus names usa, which is not looked at; eu will be"),
        ("us=http://127.0.0.1:9", "--prometheus names us, which is not looked at"),
        ("eu", "CLUSTER=URL"),
        ("eu=127.0.0.1:9", "CLUSTER=URL"),
        ("=http://127.0.0.1:9", "CLUSTER=URL"),
    ],
)
@pytest.mark.parametrize("verb", ["drift", "reconcile"])
def test_metrics_are_of_a_cluster_that_is_looked_at(shop, tmp_path, capsys, verb, said, words):
    dry = ["--dry-run"] * (verb == "reconcile")
    asked = [verb, "--repo", str(shop.output), "--cluster", "eu", "--prometheus", said, *dry]
    assert run([*asked, "--kubeconfig", str(tmp_path / "none")]) == 2
    assert words in capsys.readouterr().err
