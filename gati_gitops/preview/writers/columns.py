"""Text in the columns of a terminal: how wide it is, and how it fits."""

from __future__ import annotations

from collections.abc import Iterator
from unicodedata import combining, east_asian_width


def width_of(text: str) -> int:
    """The columns a text takes: signs of East Asia take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(sign: str) -> int:
    if combining(sign):
        return 0
    return 2 if east_asian_width(sign) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The text, with its middle left out where it is too wide: both ends tell names apart."""
    if width_of(text) <= width:
        return text
    room = max(width - 1, 0)
    tail = _fitting(text[::-1], room // 3)[::-1]
    return _fitting(text, room - width_of(tail)) + "…"[:width] + tail


def _fitting(text: str, width: int) -> str:
    taken = 0
    for at, sign in enumerate(text):
        taken += _columns(sign)
        if taken > width:
            return text[:at]
    return text


def wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of at most ``width`` columns, broken at spaces, else within a long name."""
    width = max(width, 2)
    line = text[: len(text) - len(text.lstrip(" "))][: width // 2]
    empty = True
    for word in text.split():
        for part in _parts(word, width - width_of(line) * empty):
            space = "" if empty else " "
            if not empty and width_of(line) + 1 + width_of(part) > width:
                yield line
                line, space = "", ""
            line += space + part
            empty = False
    if line:
        yield line


def folded(text: str, width: int) -> Iterator[str]:
    """Lines of at most ``width`` columns that keep every space of the text."""
    while width_of(text) > width:
        head = _fitting(text, max(width, 2)) or text[:1]
        yield head
        text = text[len(head) :]
    yield text


def _parts(word: str, width: int) -> Iterator[str]:
    """A word, in pieces where no line could hold it."""
    while width_of(word) > width:
        head = _fitting(word, width) or word[:1]
        at = max(head.rfind(sign) for sign in "/.,=-") + 1
        head = head[:at] if at > width // 2 else head
        yield head
        word = word[len(head) :]
    if word:
        yield word
