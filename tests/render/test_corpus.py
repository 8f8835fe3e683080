"""Hand-written overlays: what people commonly write, folder by folder.

A case is a folder under corpus/; every folder in it that holds a kustomization is built by both. Cases
whose name starts with `bad-` are refused by kustomize, and must be refused here.
"""

from pathlib import Path

import pytest

from tests.render.real import all_theirs, ours, verdict

CORPUS = Path(__file__).parent / "corpus"
CASES = sorted(path.name for path in CORPUS.iterdir())


def folders(case: str) -> list[tuple[dict[str, bytes], str]]:
    root = CORPUS / case
    files = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    found = [p for p in root.rglob("[kK]ustomization*") if b"kind: Component" not in p.read_bytes()]
    names = {p.parent.relative_to(root) for p in found}
    return [(files, "" if str(name) == "." else str(name)) for name in sorted(names)]


def test_there_are_enough():
    assert len(CASES) >= 30


@pytest.mark.kustomize
@pytest.mark.parametrize("case", CASES)
def test_same_as_kustomize(case):
    inputs = folders(case)
    assert inputs
    answers = all_theirs(inputs)
    for (files, path), real in zip(inputs, answers, strict=True):
        mine = ours(files, path)
        refused = case.startswith("bad-") and mine.unsupported and real.output is None
        assert refused or verdict(mine, real) == "equal", (path, mine, real)
    if case.startswith("bad-"):
        assert any(answer.output is None for answer in answers)
    else:
        assert all(answer.output for answer in answers)
