"""The part of Jinja2 that templates are written in, as a list of what is allowed.

Nothing can be called, imported or included, and what looks like an attribute is an item of plain
data. So there is no way out of a template, whatever Python objects are behind its values. What is
not on the list is refused at its line before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import Environment, nodes
from jinja2.exceptions import TemplateSyntaxError

from gati_gitops.plan.templates.budget import BadTemplate
from gati_gitops.plan.templates.filters import filters

FILTERS = frozenset(filters())
TESTS = frozenset(("defined", "undefined", "none", "string", "number", "mapping", "true", "false"))
LOOP = frozenset(("index", "index0", "first", "last", "length"))

MAX_DEPTH = 60
MAX_NODES = 5_000

_ALLOWED: tuple[type[nodes.Node], ...] = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign,
    nodes.Name, nodes.Const, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair, nodes.Keyword,
    nodes.Getattr, nodes.Getitem, nodes.Filter, nodes.Test, nodes.Compare, nodes.Operand,
    nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Pos, nodes.CondExpr, nodes.Concat,
    nodes.Add, nodes.Sub, nodes.Mul, nodes.FloorDiv, nodes.Mod,
)  # fmt: skip
_NAMES: dict[type[nodes.Node], str] = {
    nodes.Call: "a call",
    nodes.Macro: "a macro",
    nodes.CallBlock: "a call block",
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "import",
    nodes.Extends: "extends",
    nodes.Block: "a block",
    nodes.With: "with",
    nodes.FilterBlock: "a filter block",
    nodes.AssignBlock: "a set block",
    nodes.NSRef: "an attribute that is set",
    nodes.Pow: "the operator **",
    nodes.Div: "the operator /",
    nodes.Slice: "a slice",
    nodes.Scope: "autoescape",
}


def parse(environment: Environment, text: str, known: frozenset[str]) -> nodes.Template:
    """The tree of a template in which everything is allowed; ``known`` are its values' names."""
    try:
        tree = environment.parse(text)
    except TemplateSyntaxError as error:
        raise BadTemplate(
            error.lineno, f"the template can't be read: {error.message}", "correct it"
        ) from None
    except (RecursionError, ValueError, OverflowError):
        raise BadTemplate(1, "the template is nested too deeply, or has too long a number",
                      "write it simpler") from None  # fmt: skip
    assigned = set()
    for number, (node, depth) in enumerate(_walk(tree)):
        line = node.lineno or next((n.lineno for n, _ in _walk(node) if n.lineno), 1)
        if depth > MAX_DEPTH:
            raise BadTemplate(line, "the template is nested too deeply", "write it simpler")
        if number >= MAX_NODES:
            raise BadTemplate(line, "the template is too long", "split it into several")
        _check(node, line)
        if isinstance(node, nodes.Name) and node.ctx != "load":
            if node.name in known or node.name.startswith("_"):
                raise BadTemplate(line, f"{node.name} can't be set", "choose another name")
            assigned.add(node.name)
    _check_names(tree, known | assigned)
    return tree


def size(node: nodes.Node) -> int:
    """How many nodes there are in a piece of a template: what one evaluation costs."""
    return sum(1 for _ in _walk(node))


def _walk(tree: nodes.Node) -> Iterator[tuple[nodes.Node, int]]:
    """Every node with its depth, parents first; no recursion, for a chain may be long."""
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += [(child, depth + 1) for child in node.iter_child_nodes()]


def _check(node: nodes.Node, line: int) -> None:
    if type(node) not in _ALLOWED:
        what = _NAMES.get(type(node), type(node).__name__.lower())
        raise BadTemplate(
            line,
            f"{what} is not part of templates",
            "templates have values, if, for, set and filters; see docs/templates.md",
        )
    if isinstance(node, nodes.For) and node.recursive:
        raise BadTemplate(line, "a recursive loop is not part of templates", "write nested loops")
    if isinstance(node, (nodes.Filter, nodes.Test)):
        known = FILTERS if isinstance(node, nodes.Filter) else TESTS
        what = "filter" if isinstance(node, nodes.Filter) else "test"
        if node.name not in known:
            remedy = f"use one of {', '.join(sorted(known))}"
            raise BadTemplate(line, f"there is no {what} {node.name}", remedy)
        if node.dyn_args is not None or node.dyn_kwargs is not None:
            raise BadTemplate(line, "* and ** are not part of templates", "write the arguments out")
        if isinstance(node, nodes.Filter) and node.node is None:
            raise BadTemplate(line, "a filter block is not part of templates", "filter each value")
    if isinstance(node, nodes.Const) and _unbounded(node.value):
        raise BadTemplate(line, "the number is too large", "write at most 18 digits")


def _unbounded(value: object) -> bool:
    return (isinstance(value, int) and abs(value) >= 10**18) or (
        isinstance(value, float) and not abs(value) < 1e18
    )


def _check_names(tree: nodes.Template, known: frozenset[str]) -> None:
    loops = {id(name) for loop in tree.find_all(nodes.For) for name in loop.find_all(nodes.Name)}
    for name in tree.find_all(nodes.Name):
        if name.ctx != "load" or name.name in known or (name.name == "loop" and id(name) in loops):
            continue
        raise BadTemplate(
            name.lineno or 1,
            f"there is no {name.name} here",
            f"this template has {', '.join(sorted(known))}",
        )
