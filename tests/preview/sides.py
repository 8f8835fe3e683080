"""Reviews of two folders of specs, compiled in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gati_gitops.compiler import Compilation, compile_specs
from gati_gitops.preview.locate import Locator
from gati_gitops.preview.mask import Mask
from gati_gitops.preview.model import Compared, Finding, Review
from gati_gitops.preview.review import review
from gati_gitops.preview.side import Side, compiled_side
from gati_gitops.spec.link import link_all
from gati_gitops.spec.load import load
from gati_gitops.tree import MemorySnapshot

MASK = Mask(b"a key of the tests")
Files = Mapping[str, str]
Tree = Mapping[str, bytes]


def compiled(files: Files, before: Tree | None = None) -> Compilation:
    specs = load((name, text.encode()) for name, text in files.items())
    return compile_specs(specs, MemorySnapshot(before))


def side(files: Files, before: Tree | None = None, name: str = "") -> Side:
    """One side, compiled as a whole."""
    specs = load((path, text.encode()) for path, text in files.items())
    compilation = compile_specs(specs, MemorySnapshot(before))
    locate = Locator(specs, link_all(specs))
    clusters = {env: tuple(s.clusters) for env, s in specs.project.spec.environments.items()}
    return compiled_side(compilation, Compared(name), locate, clusters)


def reviewed(base: Files, head: Files, ledger: Tree | None = None, **options: Any) -> Review:
    """The review of two folders of specs, on the output of an earlier compile if one is given."""
    named = "output" if ledger is not None else ""
    return review(
        side(base, ledger, "base"), side(head, ledger, "head"), MASK, ledger=named, **options
    )


def found(result: Review, code: str) -> list[Finding]:
    return [finding for finding in result.findings if finding.code == code]


def codes(result: Review) -> dict[str, str]:
    """Code to the worst level."""
    levels: dict[str, str] = {}
    for finding in result.findings:
        levels.setdefault(finding.code, str(finding.level))
    return levels
