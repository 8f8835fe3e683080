"""docs/errors.md explains every code that a report may hold."""

import ast
import re
from collections.abc import Iterator

from gati_gitops.report.rules import RULES
from tests.docs.blocks import ROOT

CODE = re.compile(r"[a-z]+(-[a-z]+)+")
NOT_CODES = {"ephemeral-storage", "gateway-api"}  # first in a call or a tuple for another reason
# Stages that report no Problem; what previews find has codes of its own.
WITHOUT = {
    "cli", "decide", "emit", "forge", "observe", "preview", "publish", "reconcile", "render", "repo",
    "scaffold", "web",
}  # fmt: skip
ROW = re.compile(r"(?m)^\| `([a-z-]+)` \| (.+) \| (.+) \|$")


def used() -> Iterator[tuple[str, str]]:
    """Codes in the source: a Problem, or what becomes one, begins with its code."""
    for path in sorted((ROOT / "gati_gitops").rglob("*.py")):
        if path.relative_to(ROOT).parts[1] in WITHOUT:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            for text in _firsts(node):
                if CODE.fullmatch(text) and text not in NOT_CODES and not text.startswith("x-"):
                    yield text, f"{path.relative_to(ROOT)}:{node.lineno}"


def _firsts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        finding = isinstance(node.func, ast.Name) and node.func.id == "Finding"
        for argument in node.args[: 2 if finding else 1]:
            yield from _texts(argument)
    elif isinstance(node, ast.Tuple) and node.elts:
        yield from _texts(node.elts[0])


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)


def test_every_code_has_its_rule():
    found = dict(used())
    assert len(found) > 40, "the codes are no longer where this test looks"
    unexplained = {code: place for code, place in found.items() if code not in RULES}
    assert unexplained == {}, "add them to gati_gitops/report/rules.py"


def test_every_rule_is_used():
    assert set(RULES) - {code for code, _ in used()} == set()


def test_the_document_has_every_rule_and_no_other():
    documented = {m[1]: (m[2], m[3]) for m in ROW.finditer((ROOT / "docs/errors.md").read_text())}
    assert documented == RULES, "run `make regen`"
