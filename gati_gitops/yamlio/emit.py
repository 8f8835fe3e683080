"""Objects to canonical YAML bytes.

One spelling for every value, so that the same object gives the same bytes everywhere: two-space
indentation, lists flush with their key, keys in the order they were put in, no anchors, no folding.
A string stays plain only when every YAML 1.1 and 1.2 reader takes it for a string; anything else is
written as a JSON string, which all of them read alike. Text of several lines is a literal block.

Written by hand because output is what a compile spends its time on: a library that lets us choose
the spelling costs ten times as much per document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

# Letters first, then a conservative alphabet without ": " or " #": no number, date or operator.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?::[A-Za-z0-9_./-]+)*\Z|/[A-Za-z0-9_./-]*\Z")
# Digit-led quantities such as 100m or 128Mi are strings to every reader; 1e3 and 0x1F are not.
_QUANTITY = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:m|Ki|Mi|Gi|Ti|M|G|T|s|h|d)\Z")
_PLAIN_KEY = re.compile(r"[A-Za-z$][A-Za-z0-9_./-]*\Z")
_WORDS = frozenset(
    word
    for base in ("y", "n", "yes", "no", "true", "false", "on", "off", "null")
    for word in (base, base.capitalize(), base.upper())
)
# Controls, line breaks that only some readers know, what is invisible or turns text around.
# A fixed list: what Python calls printable changes from version to version.
_HIDDEN = r"\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\uffff"
_ESCAPED = re.compile(f"[{_HIDDEN}]")
# A block scalar keeps its text only when no reader would strip, fold or refuse a part of it.
_BLOCK_SAFE = re.compile(rf"(?!\s)[^\x00-\x09\x0b-\x1f{_HIDDEN}]+\Z")


class Shared(dict[str, Any]):
    """A mapping that stands in many places: its text is made once, so it must never change."""

    __slots__ = ("_texts",)
    _texts: dict[str, str]

    def text(self, indent: str) -> str:
        """The mapping's lines at an indentation."""
        try:
            texts = self._texts
        except AttributeError:
            texts = self._texts = {}
        if indent not in texts:
            lines: list[str] = []
            _mapping(self, indent, indent, lines)
            texts[indent] = "\n".join(lines)
        return texts[indent]


@lru_cache(maxsize=65536)
def scalar(text: str) -> str:
    """The spelling of one string; empty for a text of several lines, which has no such spelling."""
    if "\n" in text:
        return ""
    if (_PLAIN.match(text) or _QUANTITY.match(text)) and text not in _WORDS:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    """A double-quoted string as JSON writes it, which YAML reads alike.

    Characters above U+FFFF stand as they are: JSON escapes each as two halves, which YAML reads as
    two broken characters.
    """
    text = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@lru_cache(maxsize=16384)
def _key(text: str) -> str:
    if _PLAIN_KEY.match(text) and text not in _WORDS:
        return text
    return _quoted(text) if text[:1] == "/" or "\n" in text else scalar(text)


def dump(value: Any, header: str = "") -> bytes:
    """One document, after an optional comment line."""
    lines: list[str] = [f"# {header}"] if header else []
    _document(value, lines)
    lines.append("")
    return "\n".join(lines).encode()


def dump_all(values: Iterable[Any], header: str = "") -> bytes:
    """Several documents in one file, separated by ``---``."""
    lines: list[str] = [f"# {header}"] if header else []
    for number, value in enumerate(values):
        if number:
            lines.append("---")
        _document(value, lines)
    lines.append("")
    return "\n".join(lines).encode()


def _document(value: Any, lines: list[str]) -> None:
    if isinstance(value, Mapping) and value:
        _mapping(value, "", "", lines)
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        _sequence(value, "", lines)
    else:
        lines.append(_inline(value))


def _mapping(value: Mapping[str, Any], first: str, indent: str, lines: list[str]) -> None:
    lead = first
    deeper = indent + "  "
    for key, item in value.items():
        kind = type(item)
        if kind is str:
            lines.append(f"{lead}{_key(key)}: {scalar(item) or _text(item, deeper)}")
        elif kind is int:
            lines.append(f"{lead}{_key(key)}: {item}")
        elif kind is Shared and item:
            lines.append(f"{lead}{_key(key)}:")
            lines.append(item.text(deeper))
        elif kind is dict and item:
            lines.append(f"{lead}{_key(key)}:")
            _mapping(item, deeper, deeper, lines)
        elif (kind is list or kind is tuple) and item:
            lines.append(f"{lead}{_key(key)}:")
            _sequence(item, indent, lines)
        else:
            lines.append(f"{lead}{_key(key)}: {_inline(item)}")
        lead = indent


def _sequence(value: Sequence[Any], indent: str, lines: list[str]) -> None:
    first = indent + "- "
    deeper = indent + "  "
    for item in value:
        kind = type(item)
        if (kind is dict or kind is Shared) and item:
            _mapping(item, first, deeper, lines)
        elif kind is str:
            lines.append(first + (scalar(item) or _text(item, deeper)))
        elif (kind is list or kind is tuple) and item:
            nested: list[str] = []
            _sequence(item, deeper, nested)
            nested[0] = first + nested[0].lstrip(" ")
            lines.extend(nested)
        else:
            lines.append(first + _inline(item))


def _text(text: str, indent: str) -> str:
    if not _BLOCK_SAFE.match(text) or any(line != line.rstrip(" ") for line in text.split("\n")):
        return _quoted(text)
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    chomp = "-" if ends == 0 else "" if ends == 1 else "+"
    lines = [f"|{chomp}"]
    lines += [indent + line if line else "" for line in body.split("\n")]
    lines += [""] * (ends - 1)
    return "\n".join(lines)


def _inline(value: Any) -> str:
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "null"
    if isinstance(value, str):
        return scalar(value) or _quoted(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if not value and isinstance(value, Mapping):
        return "{}"
    if not value and isinstance(value, Sequence):
        return "[]"
    raise TypeError(f"{type(value).__name__} has no spelling in YAML")


def _float(value: float) -> str:
    """With a point, without which YAML 1.1 takes 1e+22 for a string."""
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return text.replace("inf", ".inf").replace("nan", ".nan")
    head, e, exponent = text.partition("e")
    return text if "." in head else f"{head}.0{e}{exponent}"
