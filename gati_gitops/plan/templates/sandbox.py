"""Rendering, with values that never pass through YAML's syntax.

Every value that a template prints becomes a token in its text, and every line says which line of
the template it comes from. The text is read as YAML with the tokens in it, and only then do values
take their places. So no value can end a string, start a document or add a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from jinja2 import Template, nodes, pass_context
from jinja2.exceptions import TemplateError, TemplateRuntimeError, UndefinedError
from jinja2.runtime import Context, LoopContext, StrictUndefined, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from gati_gitops.plan.templates.budget import MAX_TEXT, BadTemplate, Exhausted, Running, text_of
from gati_gitops.plan.templates.filters import filters, joined
from gati_gitops.plan.templates.language import LOOP, TESTS, parse, size

_MAX_NUMBER = 10**18

# Private characters: a template that has them is refused, so they are ours.
OPEN, CLOSE, LINE = "\ue000", "\ue001", "\ue002"
_PRIVATE = re.compile(f"[{OPEN}{CLOSE}{LINE}]")
TOKEN = re.compile(f"{OPEN}([0-9]+){CLOSE}")
_MARK = re.compile(f"{LINE}([0-9]+){LINE}")


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a template gives for one thing: YAML with tokens, and what the tokens stand for."""

    text: str
    """Still with its marks; things that take the same way through a template share it."""
    values: tuple[Any, ...]
    lines: tuple[int, ...]
    """The template's line of each value."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja2 with plain data, our filters, and nothing else."""

    context_class = Running
    intercepted_binops = frozenset(("+", "-", "*", "//", "%"))
    intercepted_unops = frozenset(("-", "+"))

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            optimized=False,  # Folding would run filters while compiling, without a budget.
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
            cache_size=0,
        )
        self.globals.clear()
        own = {"print!": _print, "each!": _each, "concat!": _concat, "weigh!": _weigh}
        self.filters = {**filters(), **own}
        self.tests = {name: self.tests[name] for name in TESTS}

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An item of plain data. Attributes don't exist."""
        if isinstance(obj, Undefined):
            str(obj)  # Says what is missing.
        if isinstance(obj, LoopContext) and argument in LOOP:
            return getattr(obj, argument)
        if isinstance(obj, Mapping) and isinstance(argument, str) and argument in obj:
            return obj[argument]
        if isinstance(obj, (list, tuple)) and type(argument) is int and 0 <= argument < len(obj):
            return obj[argument]
        there = f"; there is {', '.join(sorted(obj))}" if isinstance(obj, Mapping) and obj else ""
        return self.undefined(f"there is no {str(argument)[:60]} here{there}")

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def call(self, *arguments: Any, **options: Any) -> NoReturn:
        """The language has no calls; should one get here, it ends here."""
        raise TemplateRuntimeError("a call is not part of templates")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        for side in (left, right):
            if isinstance(side, Undefined):
                str(side)
            if type(side) not in (int, float):
                raise TemplateRuntimeError(f"{operator} takes numbers; join texts with ~")
        value = self.binop_table[operator](left, right)
        if not -_MAX_NUMBER < value < _MAX_NUMBER:
            raise TemplateRuntimeError("the number is too large")
        return value

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:
        if type(arg) not in (int, float):
            raise TemplateRuntimeError(f"{operator} takes a number")
        return self.unop_table[operator](arg)


class Program:
    """A template that has been checked and can be rendered many times."""

    def __init__(self, sandbox: Sandbox, text: str, known: frozenset[str]) -> None:
        if match := _PRIVATE.search(text):
            line = text.count("\n", 0, match.start()) + 1
            raise BadTemplate(line, f"the character U+{ord(match[0]):04X} is ours", "remove it")
        tree = parse(sandbox, text, known)
        self._cost = size(tree)
        try:
            code = sandbox.compile(_Instrument().visit(tree), "template", "template")
            self._template = Template.from_code(sandbox, code, {})
        except (RecursionError, MemoryError, SyntaxError):
            raise BadTemplate(1, "the template is nested too deeply", "write it simpler") from None

    def render(self, values: Mapping[str, Any]) -> Rendered:
        """Raises BadTemplate with the line that went wrong."""
        running = self._template.new_context(dict(values))
        assert isinstance(running, Running)
        parts: list[str] = []
        length = 0
        try:
            running.spend(self._cost)
            for part in self._template.root_render_func(running):
                length += len(part)
                if length > 2 * MAX_TEXT:  # Marks count, too.
                    raise Exhausted(f"the template gives more than {MAX_TEXT // 1024} KiB")
                parts.append(part)
        except Exhausted as error:
            remedy = "make it loop less, or split it"
            raise BadTemplate(self._line(error), str(error), remedy) from None
        except UndefinedError as error:
            remedy = "correct the name, or give a default: | default('')"
            raise BadTemplate(self._line(error), str(error), remedy) from None
        except (TemplateError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise BadTemplate(self._line(error), str(error), "correct the expression") from None
        lines, printed = zip(*running.printed, strict=True) if running.printed else ((), ())
        return Rendered("".join(parts), printed, lines)

    def _line(self, error: BaseException) -> int:
        """The template's line that was running; the innermost frame of it knows."""
        found, frame = 1, error.__traceback__
        while frame is not None:
            if frame.tb_frame.f_code.co_filename == "template":
                found = self._template.get_corresponding_lineno(frame.tb_lineno)
            frame = frame.tb_next
        return found


def unmarked(text: str, token_lines: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """A rendered text without its marks, and the template's line of each of its lines."""
    lines: list[int] = []
    last = 1
    for line in text.split("\n"):
        found = [int(mark) for mark in _MARK.findall(line)]
        parts = _MARK.split(line)[2::2]
        # The part that holds something decides; a mark alone is the end of an earlier line.
        named = [number for number, part in zip(found, parts, strict=True) if part.strip()]
        tokens = [token_lines[int(token)] for token in TOKEN.findall(line)]
        last = (named or tokens or found or [last])[0]
        lines.append(last)
    return _MARK.sub("", text), tuple(lines)


class _Instrument(NodeTransformer):
    """Writes the counting, the tokens and the line numbers into a template."""

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802 - Jinja2's names
        parts: list[nodes.Expr] = []
        for child in node.nodes:
            if isinstance(child, nodes.TemplateData):
                parts.append(_marked(child))
            else:
                line = nodes.Const(child.lineno, lineno=child.lineno)
                parts.append(_filtered(self.visit(child), "print!", line))
        return nodes.Output(parts, lineno=node.lineno)

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802
        each = [*node.body, *([node.test] if node.test is not None else [])]
        cost = nodes.Const(1 + sum(map(size, each)), lineno=node.lineno)
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "each!", cost)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "concat!")

    def _literal(self, node: nodes.Node) -> nodes.Node:
        self.generic_visit(node)
        return node if getattr(node, "ctx", "load") == "store" else _filtered(node, "weigh!")

    visit_List = visit_Tuple = visit_Dict = _literal  # noqa: N815


def _filtered(node: Any, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(arguments), [], None, None, lineno=node.lineno)


def _marked(data: nodes.TemplateData) -> nodes.TemplateData:
    """Text whose every line says where it stands in the template."""
    lines = enumerate(data.data.split("\n"), data.lineno or 1)
    text = "\n".join(f"{LINE}{number}{LINE}{line}" for number, line in lines)
    return nodes.TemplateData(text, lineno=data.lineno)


# -- what an instrumented template calls ---------------------------------------------------------


@pass_context
def _print(running: Running, value: Any, line: int) -> str:
    running.weigh(value)
    running.printed.append((line, value))
    return f"{OPEN}{len(running.printed) - 1}{CLOSE}"


@pass_context
def _each(running: Running, value: Any, cost: int) -> Iterator[Any]:
    if isinstance(value, Undefined):
        str(value)
    if not isinstance(value, (list, tuple, Mapping)):
        raise TemplateRuntimeError("a loop goes over a list or a mapping")
    for item in value:
        running.spend(cost)
        yield item


@pass_context
def _concat(running: Running, parts: list[Any]) -> str:
    return joined(running, [text_of(part) for part in parts])


@pass_context
def _weigh(running: Running, value: Any) -> Any:
    running.weigh(value)
    return value
