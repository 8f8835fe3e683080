"""Tests of one scalar, list or map by itself: bounds, patterns, formats, enumerations.

CRDs write patterns for RE2. Python reads nearly all of them alike once ``$`` means the end of the
text only; the few it cannot read are left out, and ``unreadable_patterns`` names them.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Test = tuple[str, Callable[[Any], bool], str]
"""Code of the finding, what must hold, and the message when it does not."""

_DATE_TIME = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)"
    r"(\.\d+)?([Zz]|[-+]([01]\d|2[0-3]):[0-5]\d)\Z"
)
_INLINE_FLAGS = re.compile(r"\(\?([ims]+)\)")


CLASSES = {
    "string": str, "object": dict, "array": list, "boolean": bool, "integer": int, "number": float,
    "null": type(None),
}  # fmt: skip


def kind_of(value: Any) -> str:
    """The JSON name of a value's type."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if value is None:
        return "null"
    return "number" if isinstance(value, float) else type(value).__name__


def spelled(value: Any, limit: int = 60) -> str:
    """A value as JSON, cut short."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def value_tests(schema: Mapping[str, Any]) -> list[Test]:
    """The tests that a schema puts on the value itself, not on its members."""
    return [*_enums(schema), *_numbers(schema), *_texts(schema), *_sizes(schema)]


def _enums(schema: Mapping[str, Any]) -> Iterator[Test]:
    if "enum" in schema:
        allowed = list(schema["enum"])
        said = ", ".join(spelled(value) for value in allowed)
        yield "bad-value", lambda value: value in allowed or value is None, f"must be one of {said}"


def _numbers(schema: Mapping[str, Any]) -> Iterator[Test]:
    low, high = schema.get("minimum"), schema.get("maximum")
    bits = {"int32": 31, "int64": 63}.get(schema.get("format", ""))
    if bits is not None:
        low = max(-(2**bits), low) if low is not None else -(2**bits)
        high = min(2**bits - 1, high) if high is not None else 2**bits - 1
    if low is not None:
        least = low
        above = bool(schema.get("exclusiveMinimum"))
        yield (
            "out-of-range",
            lambda v: not _is_number(v) or (v > least if above else v >= least),
            f"must be {'above' if above else 'at least'} {least}",
        )
    if high is not None:
        most = high
        below = bool(schema.get("exclusiveMaximum"))
        yield (
            "out-of-range",
            lambda v: not _is_number(v) or (v < most if below else v <= most),
            f"must be {'below' if below else 'at most'} {most}",
        )
    if "multipleOf" in schema:
        step = schema["multipleOf"]
        yield (
            "bad-value",
            lambda v: not _is_number(v) or v % step == 0,
            f"must be a multiple of {step}",
        )


def _texts(schema: Mapping[str, Any]) -> Iterator[Test]:
    if "minLength" in schema:
        least = schema["minLength"]
        yield (
            "bad-value",
            lambda v: not isinstance(v, str) or len(v) >= least,
            f"must have at least {least} characters",
        )
    if "maxLength" in schema:
        most = schema["maxLength"]
        yield (
            "too-long",
            lambda v: not isinstance(v, str) or len(v) <= most,
            f"must have at most {most} characters",
        )
    if "pattern" in schema and (found := python_pattern(schema["pattern"])):
        yield (
            "bad-value",
            lambda v: not isinstance(v, str) or found.search(v) is not None,
            f"must match {schema['pattern']}",
        )
    if fits := _FORMATS.get(schema.get("format", "")):
        yield (
            "bad-value",
            lambda v: not isinstance(v, str) or fits(v),
            f"must be a {schema['format']}",
        )


def _sizes(schema: Mapping[str, Any]) -> Iterator[Test]:
    for kind, what, word in (("array", "entries", "Items"), ("object", "keys", "Properties")):
        low, high = schema.get(f"min{word}"), schema.get(f"max{word}")
        if low is not None or high is not None:
            holds = _sized(CLASSES[kind], low or 0, high)
            yield "bad-value", holds, f"must have {_range(low, high)} {what}"
    if schema.get("uniqueItems"):
        yield (
            "duplicate-entry",
            lambda v: not isinstance(v, list) or len({spelled(i, 10**6) for i in v}) == len(v),
            "must not have an entry twice",
        )


def _sized(
    kind: type[list[Any] | dict[str, Any]], least: int, most: int | None
) -> Callable[[Any], bool]:
    return lambda value: (
        not isinstance(value, kind)
        or (len(value) >= least and (most is None or len(value) <= most))
    )


def _range(low: int | None, high: int | None) -> str:
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_ip(version: int) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return fits


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


_FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": lambda text: _DATE_TIME.match(text) is not None,
    "byte": _is_base64,
    "ipv4": _is_ip(4),
    "ipv6": _is_ip(6),
}


def python_pattern(re2: str) -> re.Pattern[str] | None:
    """An RE2 pattern for Python, or nothing where Python has no way to say it."""
    flags = _INLINE_FLAGS.search(re2)
    if flags and "(" not in re2[: flags.start()].replace("\\(", ""):
        # RE2 switches flags for the rest of the pattern; Python wants to know how far.
        re2 = f"{re2[: flags.start()]}(?{flags[1]}:{re2[flags.end() :]})"
    text: list[str] = []
    in_class = escaped = False
    for char in re2:
        if escaped:
            char = "Z" if char == "z" else char  # noqa: PLW2901 - RE2's name for the end
            escaped = False
        elif char == "\\":
            escaped = True
        elif in_class:
            in_class = char != "]" or text[-1] in ("[", "^")
        elif char == "[":
            in_class = True
        elif char == "$":
            char = r"\Z"  # noqa: PLW2901 - Python's $ also stands before a last newline
        text.append(char)
    try:
        return re.compile("".join(text), re.ASCII)
    except re.error:
        return None


def unreadable_patterns(schema: Any) -> Iterator[str]:
    """The patterns below a schema that cannot be checked here."""
    if isinstance(schema, Mapping):
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and python_pattern(pattern) is None:
            yield pattern
        for child in schema.values():
            yield from unreadable_patterns(child)
    elif isinstance(schema, list):
        for child in schema:
            yield from unreadable_patterns(child)
