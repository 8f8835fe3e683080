"""Every folder that kustomize's own tests build: the same bytes, or a refusal that is known by name."""

import re
from collections import Counter

import pytest

from tests.render import krusty
from tests.render.real import all_theirs, ours, verdict
from tests.tools import missing

# Refusals that are accepted, by reason. A refusal for any other reason fails the test.
ACCEPTED = [
    r"plugins that are programs are not supported",
    r"remote (files|bases) are not supported",
    r"Helm charts are not supported",
    r"validators are not supported",
]
FEWEST = 250


@pytest.mark.kustomize
@pytest.mark.slow
def test_folders_of_kustomizes_own_tests(record_property):
    folder = krusty.sources()
    if folder is None:
        missing("kustomize's sources in the Go module cache")
    cases = [case for case in krusty.cases(folder) if case.files]
    assert len(cases) >= FEWEST, "the sources are no longer read as they were"
    inputs = [
        ({name: text.encode() for name, text in case.files.items()}, case.path) for case in cases
    ]
    counts: Counter[str] = Counter()
    wrong = []
    for case, (files, path), real in zip(cases, inputs, all_theirs(inputs), strict=True):
        mine = ours(files, path)
        result = verdict(mine, real)
        counts[result if result in ("equal", "refused") else "wrong"] += 1
        known = any(re.search(reason, mine.reason) for reason in ACCEPTED)
        if result != "equal" and not (result == "refused" and (known or real.output is None)):
            wrong.append(f"{case.name}: {result} {mine.reason}")
    record_property("counts", dict(counts))
    assert not wrong, f"{counts}\n" + "\n".join(wrong)
