"""Writing YAML the way kustomize does: byte for byte what go-yaml v2 prints for the same value.

Keys are in its "natural" order (a2 before a10, letters after everything else), lists stand flush
with their key, nothing is folded, and a string is plain, 'single' or "double" quoted or a literal
block by rules that the functions below follow to the letter.
"""

from __future__ import annotations

import math
import re
from functools import cmp_to_key, lru_cache
from typing import Any, Final

from gati_gitops.yamlio.goyaml_read import GoYamlError
from gati_gitops.yamlio.goyaml_scalars import (
    Cell,
    Odd,
    go_float,
    is_null,
    reads_as_string,
    through_json,
)

_SAFE: Final = re.compile(
    r"(?!\.\.\.)[\w/.$(+=;^<~](?:[\w/.$()+=;^<>~,?\[\]{}!&*|'\"%@`-]| (?! |#|\Z)|:(?=[\w/]))*\Z",
    re.ASCII,
)
_WIDTH: Final = 80
_INDICATORS: Final = frozenset("#,[]{}&*!|>'\"%@`")
# These take long to compile and are seldom needed, so they are compiled where they are used.
_UNPRINTABLE: Final = r"[^\n -~\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]"
_FORBIDDEN: Final = r"[\x7f-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]"
_BREAKS: Final = "[\u2028\u2029\x85]"
_ESCAPE: Final = r'["\\]|[^ -~\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]'
_SHORT: Final = {
    "\0": "0", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r",
    "\x1b": "e", '"': '"', "\\": "\\", "\x85": "N", "\xa0": "_",
}  # fmt: skip


def write_document(document: Any) -> str:
    """One document, without the end of its last line."""
    if not document:
        return "{}"
    lines: list[str] = []
    _mapping(document, "", "", lines)
    return "\n".join(lines)


def write_lines(value: Any) -> list[str]:
    """A value made of mappings, lists and simple strings, keys in the order they have."""
    if isinstance(value, str):
        return [_spelling(value)]
    lines: list[str] = []
    if isinstance(value, list):
        for item in value:
            first, *rest = write_lines(item)
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        return lines
    for key, item in value.items():
        if isinstance(item, str):
            lines.append(f"{key}: {_spelling(item)}")
        else:
            lines += [f"{key}:", *(f"  {line}" for line in write_lines(item))]
    return lines


def _mapping(value: dict[str, Any], lead: str, indent: str, lines: list[str]) -> None:
    deeper = indent + "  "
    for key, spelled in ordered(tuple(value)):
        item = value[key]
        kind = type(item)
        if kind is str:
            text = _spelling(item)
            line = f"{lead}{spelled} {text}"
            if len(line) > _WIDTH or not text:
                line = _long(item, f"{lead}{spelled} ", text, deeper)
            lines.append(line)
        elif kind is dict and item:
            lines.append(lead + spelled)
            _mapping(item, deeper, deeper, lines)
        elif kind is list and item:
            lines.append(lead + spelled)
            _sequence(item, indent + "- ", indent, lines)
        elif kind is int:
            lines.append(f"{lead}{spelled} {item}")
        else:
            write_item(item, f"{lead}{spelled} ", indent, deeper, lines)
        lead = indent


def _long(item: str, lead: str, text: str, deeper: str) -> str:
    """Text of several lines, or of one that may have to be folded."""
    if not text:
        text = _text(item, deeper)
    line = lead + text
    if len(line) > _WIDTH and " " in item and "\n" not in text:
        return _folded(line, len(lead), deeper)
    return line


def _sequence(value: list[Any], lead: str, indent: str, lines: list[str]) -> None:
    rest = indent + "- "
    deeper = indent + "  "
    for item in value:
        if type(item) is dict and item:
            _mapping(item, lead, deeper, lines)
        else:
            write_item(item, lead, indent, deeper, lines)
        lead = rest


def write_item(item: Any, lead: str, indent: str, deeper: str, lines: list[str]) -> None:
    if isinstance(item, str):
        lines.append(_long(item, lead, _spelling(item), deeper))
    elif isinstance(item, Cell):
        write_item(item.value, lead, indent, deeper, lines)
    elif isinstance(item, dict) and item:
        _mapping(item, lead, deeper, lines)
    elif isinstance(item, list) and item:
        _sequence(item, lead + "- ", deeper, lines)
    else:
        lines.append(lead + _other(item))


def _folded(line: str, start: int, indent: str) -> str:
    """The line with its scalar, which begins at `start`, broken at spaces beyond the width."""
    quote = line[start] if line[start] in "\"'" else ""
    first, last = (start + 1, len(line) - 2) if quote else (-1, len(line))
    result = [line[:start]]
    column = start
    after_space = False
    for at in range(start, len(line)):
        char = line[at]
        if (
            char != " "
            or after_space
            or column <= _WIDTH
            or not first < at < last
            or (line[at + 1] == " " and quote != '"')
        ):
            result.append(char)
            column += 1
        else:
            result.append("\n" + indent)
            column = len(indent)
            if line[at + 1] == " ":
                result.append("\\")
                column += 1
        after_space = char == " "
    return "".join(result)


def _other(value: Any) -> str:
    if value is True:
        return "true"
    if value is False:
        return "false"
    if is_null(value):
        return "null"
    if isinstance(value, Odd):
        value = value.value
        if not isinstance(value, float):
            return _spelling(value) if isinstance(value, str) else _other(value)
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            raise GoYamlError("JSON has no number for infinity or not-a-number")
        number = through_json(value)
        return go_float(number) if isinstance(number, float) else str(number)
    if isinstance(value, dict):
        return "{}"
    return "[]" if isinstance(value, list) else str(value)


@lru_cache(maxsize=65536)
def _spelling(text: str) -> str:
    """One line of text; nothing for text of several lines."""
    if "\n" in text:
        return ""
    if not reads_as_string(text):
        return _double_quoted(text)
    if _SAFE.match(text):
        return text
    if _is_unprintable(text):
        return _double_quoted(text)
    if text[0] == " " or text[-1] == " " or _has_indicator(text):
        return "'" + text.replace("'", "''") + "'"
    return text


def _has_indicator(text: str) -> bool:
    first = text[0]
    return (
        first in _INDICATORS
        or (first in "?:-" and (len(text) == 1 or text[1] == " "))
        or text.startswith(("---", "..."))
        or ": " in text
        or text[-1] == ":"
        or " #" in text
    )


def _is_unprintable(text: str) -> bool:
    if text.isascii():
        return not text.replace("\n", "").isprintable()
    if re.search(_UNPRINTABLE, text):
        return True
    if re.search(_BREAKS, text):
        raise GoYamlError("text with Unicode line separators is not supported", unsupported=True)
    return False


def _double_quoted(text: str) -> str:
    if text.isascii() and text.isprintable():
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if re.search(_FORBIDDEN, text):
        raise GoYamlError("control characters are not allowed")
    return '"' + re.sub(_ESCAPE, _escaped, text) + '"'


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return "\\" + _SHORT[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _text(text: str, indent: str) -> str:
    """Text of several lines."""
    if text[-1] == " " or " \n" in text or _is_unprintable(text):
        return _double_quoted(text)
    hint = "2" if text[0] in " \n" else ""
    if text[-1] != "\n":
        hint += "-"
    elif text == "\n" or text[-2] == "\n":
        hint += "+"
    body = text[:-1] if text[-1] == "\n" else text
    lines = [indent + line if line else "" for line in body.split("\n")]
    return "\n".join([f"|{hint}", *lines])


# ---------------------------------------------------------------------------------- order of keys


@lru_cache(maxsize=65536)
def ordered(keys: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    plain = all(key.isalpha() and key.isascii() for key in keys)
    ordered = sorted(keys) if plain else sorted(keys, key=cmp_to_key(_compare))
    return tuple((key, _key(key)) for key in ordered)


def _key(key: str) -> str:
    if "\n" in key:
        raise GoYamlError("a key of several lines is not supported", unsupported=True)
    if len(key.encode()) > 128:
        raise GoYamlError("a key of more than 128 bytes is not supported", unsupported=True)
    return _spelling(key) + ":"


def _compare(one: str, two: str) -> int:
    if one == two:
        return 0
    return -1 if _less(one, two) else 1


def _less(one: str, two: str) -> bool:
    for at, (a, b) in enumerate(zip(one, two, strict=False)):
        if a == b:
            continue
        if a.isalpha() or b.isalpha():
            return a < b if a.isalpha() and b.isalpha() else b.isalpha()
        start = _leading_digits(one, at) if "0" in (a, b) else 0
        a_number, a_end = _number(one, at, start)
        b_number, b_end = _number(two, at, start)
        if a_number != b_number:
            return a_number < b_number
        return a_end < b_end if a_end != b_end else a < b
    return len(one) < len(two)


def _leading_digits(text: str, at: int) -> int:
    """1 when a digit other than 0 stands before the position, so that zeros count."""
    while at and text[at - 1].isdigit():
        at -= 1
        if text[at] != "0":
            return 1
    return 0


def _number(text: str, at: int, number: int) -> tuple[int, int]:
    while at < len(text) and text[at].isdigit():
        number = number * 10 + ord(text[at]) - 48
        at += 1
    return number, at
