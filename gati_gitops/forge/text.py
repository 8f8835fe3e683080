"""Texts that fit: pull requests and comments have a limit, and hidden markers name what is ours."""

from __future__ import annotations

import re

_FENCE = re.compile(r"(?m)^ {0,3}(`{3,}|~{3,})")
_CUT = "\n\n*Cut here: {} more characters do not fit. `gati-gitops preview` shows all of it.*\n"
_MARKER = re.compile(r"<!-- gati-gitops ([a-z-]+): ([A-Za-z0-9._:/ -]*) -->")


def fit(text: str, limit: int) -> str:
    """The text, or as many whole lines of it as fit, with what they leave open closed."""
    if len(text) <= limit:
        return text
    room = limit - len(_CUT) - 20  # 20: the count
    while True:
        kept = text[: max(text.rfind("\n", 0, room), 0)] or text[:room]
        tail = _closing(kept) + _CUT.format(len(text) - len(kept))
        if len(kept) + len(tail) <= limit or not kept:
            return (kept + tail)[:limit]
        room -= len(tail)


def _closing(text: str) -> str:
    """What ends a code block or folded part that the text leaves open."""
    fence = ""
    for found in _FENCE.finditer(text):
        if not fence:
            fence = found[1]
        elif found[1].startswith(fence):
            fence = ""
    folded = max(text.count("<details") - text.count("</details>"), 0)
    return (f"\n{fence}" if fence else "") + "\n\n</details>" * folded


def marker(name: str, value: str) -> str:
    """A line that a forge keeps and does not show."""
    return f"<!-- gati-gitops {name}: {value} -->"


def marked(text: str, name: str) -> str:
    """The value of a marker in a text; nothing if it has none."""
    return next((m[2] for m in _MARKER.finditer(text) if m[1] == name), "")


def unmarked(text: str) -> str:
    """The text without our markers."""
    return _MARKER.sub("", text).strip()


def same(one: str, other: str) -> bool:
    """Whether two texts are the same to a forge, which may change line ends and outer space."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()


def one_line(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
