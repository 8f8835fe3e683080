"""The filters of templates. Each pays for what it goes through, and none reaches beyond it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import pass_context
from jinja2.exceptions import TemplateRuntimeError
from jinja2.filters import do_default
from jinja2.runtime import Undefined

from gati_gitops.plan.templates.budget import MAX_TEXT, Exhausted, Running, text_of


def joined(running: Running, parts: list[str], between: str = "") -> str:
    """Texts as one, if that is not too long."""
    length = sum(map(len, parts)) + len(between) * max(0, len(parts) - 1)
    if length > MAX_TEXT:
        raise Exhausted(f"a text is longer than {MAX_TEXT // 1024} KiB")
    running.spend(1 + length // 64)
    return between.join(parts)


def _list(running: Running, value: Any, name: str) -> list[Any]:
    if isinstance(value, Undefined):
        str(value)
    if not isinstance(value, (list, tuple, Mapping)):
        raise TemplateRuntimeError(f"{name} takes a list or a mapping")
    running.spend(1 + len(value))
    return list(value)


def _mapping(running: Running, value: Any, name: str) -> Mapping[str, Any]:
    if isinstance(value, Undefined):
        str(value)
    if not isinstance(value, Mapping):
        raise TemplateRuntimeError(f"{name} takes a mapping")
    running.spend(1 + len(value))
    return value


def _text(running: Running, value: Any, name: str) -> str:
    if isinstance(value, Undefined):
        str(value)
    if not isinstance(value, str):
        raise TemplateRuntimeError(f"{name} takes a text")
    running.spend(1 + len(value) // 64)
    return value


def _first(running: Running, value: Any) -> Any:
    items = _list(running, value, "first")
    return items[0] if items else running.environment.undefined("the list is empty")


def _last(running: Running, value: Any) -> Any:
    items = _list(running, value, "last")
    return items[-1] if items else running.environment.undefined("the list is empty")


def _int(running: Running, value: Any) -> int:
    if type(value) is int:
        return value
    text = _text(running, value, "int").strip()
    if not re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        raise TemplateRuntimeError("int takes a whole number")
    return int(text)


def _items(running: Running, value: Any) -> list[Any]:
    return [[key, item] for key, item in sorted(_mapping(running, value, "items").items())]


def _keys(running: Running, value: Any) -> list[Any]:
    return sorted(_mapping(running, value, "keys"))


def _values(running: Running, value: Any) -> list[Any]:
    return [item for _, item in sorted(_mapping(running, value, "values").items())]


def _join(running: Running, value: Any, between: Any = "") -> str:
    return joined(running, [text_of(item) for item in _list(running, value, "join")],
                  _text(running, between, "join"))  # fmt: skip


def _json(running: Running, value: Any) -> str:
    running.weigh(value)
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return joined(running, [text])


def _length(running: Running, value: Any) -> int:
    return len(value) if isinstance(value, str) else len(_list(running, value, "length"))


def _replace(running: Running, value: Any, old: Any, new: Any) -> str:
    text, old, new = (_text(running, part, "replace") for part in (value, old, new))
    if not old:
        raise TemplateRuntimeError("replace takes a text to look for")
    return joined(running, text.split(old), new)


def _sort(running: Running, value: Any) -> list[Any]:
    items = _list(running, value, "sort")
    if len({type(item) for item in items}) > 1 or not all(type(i) in (str, int) for i in items):
        raise TemplateRuntimeError("sort takes texts, or whole numbers")
    return sorted(items)


def _string(running: Running, value: Any) -> str:
    return joined(running, [text_of(value)])


def _lower(running: Running, value: Any) -> str:
    return _text(running, value, "lower").lower()


def _upper(running: Running, value: Any) -> str:
    return _text(running, value, "upper").upper()


def _trim(running: Running, value: Any) -> str:
    return _text(running, value, "trim").strip()


def filters() -> dict[str, Callable[..., Any]]:
    """Every filter by its name."""
    own = (_first, _int, _items, _join, _json, _keys, _last, _length, _lower, _replace, _sort,
           _string, _trim, _upper, _values)  # fmt: skip
    return {"default": do_default} | {f.__name__[1:]: pass_context(f) for f in own}
