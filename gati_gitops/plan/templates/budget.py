"""What a render may cost, and what is plain data.

Work is counted, not timed: each evaluation of a node costs one, and whatever goes through a list or
a text pays for its length. A template that spends its budget is refused, always at the same place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2.exceptions import TemplateRuntimeError
from jinja2.runtime import Context, Undefined

BUDGET = 50_000
MAX_TEXT = 64 * 1024
"""Characters of one value, and of all that a template gives for one unit."""


class BadTemplate(Exception):
    """What is wrong with a template, at which of its lines, and what to do instead."""

    def __init__(self, line: int, message: str, remedy: str) -> None:
        super().__init__(message)
        self.line, self.message, self.remedy = line, message, remedy


class Exhausted(TemplateRuntimeError):
    """The template costs too much."""


class Running(Context):
    """A render under way: its budget, and what it has printed, each with its line."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.budget = BUDGET
        self.printed: list[tuple[int, Any]] = []

    def spend(self, cost: int) -> None:
        self.budget -= cost
        if self.budget < 0:
            raise Exhausted("the template takes too many steps")

    def weigh(self, value: Any) -> None:
        """Pay for all that is in a value; lists may share their parts, so it is no small thing."""
        waiting = [value]
        while waiting:
            item = waiting.pop()
            cost = 1
            if isinstance(item, str):
                cost += len(item) // 64
            elif isinstance(item, Mapping):
                cost += len(item)
                waiting += item.values()
            elif isinstance(item, (list, tuple)):
                waiting += item
            elif isinstance(item, Undefined):
                str(item)  # Says what is missing.
            elif item is not None and not isinstance(item, (bool, int, float)):
                raise TemplateRuntimeError("this is no value that can be printed")
            self.spend(cost)


def text_of(value: Any) -> str:
    """A value as part of a text; raises TemplateRuntimeError where it can't be one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float, Undefined)):
        return str(value)
    what = {type(None): "null", dict: "a mapping"}.get(type(value), "a list")
    raise TemplateRuntimeError(f"{what} can't be part of a text; use | json or | join(',')")
