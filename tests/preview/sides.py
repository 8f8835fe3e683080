"""Reviews of two folders of specs, compiled in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gati_gitops.compiler import Narrowed
from gati_gitops.preview.given import Given
from gati_gitops.preview.mask import Mask
from gati_gitops.preview.model import Compared, Finding, Review
from gati_gitops.preview.review import review
from gati_gitops.preview.side import Side
from gati_gitops.preview.sides import sides, whole_sides
from gati_gitops.spec.load import Known, Specs, load
from gati_gitops.tree import MemorySnapshot

MASK = Mask(b"a key of the tests")
Files = Mapping[str, str]
Tree = Mapping[str, bytes]


def specs_of(files: Files, known: Known | None = None) -> Specs:
    return load(((name, text.encode()) for name, text in files.items()), known)


def given(files: Files, name: str = "", known: Known | None = None) -> Given:
    return Given(specs_of(files, known), Compared(name))


def both_sides(
    base: Files, head: Files, ledger: Tree | None = None, *, whole: bool = False
) -> tuple[Side, Side]:
    """Both compiled: as a whole, or at the price of what differs."""
    known = Known()
    one, two = given(base, "base", known), given(head, "head", known)
    if whole:
        return whole_sides(one, two, MemorySnapshot(ledger), Narrowed())
    return sides(one, two, MemorySnapshot(ledger))


def reviewed(
    base: Files, head: Files, ledger: Tree | None = None, *, whole: bool = False, **options: Any
) -> Review:
    """The review of two folders of specs, on the output of an earlier compile if one is given."""
    one, two = both_sides(base, head, ledger, whole=whole)
    return review(one, two, MASK, ledger="output" if ledger is not None else "", **options)


def found(result: Review, code: str) -> list[Finding]:
    return [finding for finding in result.findings if finding.code == code]


def codes(result: Review) -> dict[str, str]:
    """Code to the worst level."""
    levels: dict[str, str] = {}
    for finding in result.findings:
        levels.setdefault(finding.code, str(finding.level))
    return levels
