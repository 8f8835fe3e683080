"""Every command that stands in the middle of a sentence could be typed as it stands."""

import pytest

from tests.cli.typed import WITHIN, understood
from tests.docs.blocks import DOCUMENTS, ROOT

SAID = [
    (document.relative_to(ROOT).as_posix(), command)
    for document in DOCUMENTS
    for command in dict.fromkeys(WITHIN.findall(document.read_text()))
]


@pytest.mark.parametrize("document, command", SAID)
def test_it_is_understood(document, command, monkeypatch):
    monkeypatch.delenv("GATI_REPO", raising=False)
    understood(command)


def test_there_are_some():
    assert sum(document == "docs/runbooks.md" for document, _ in SAID) > 8
