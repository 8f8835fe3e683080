"""Plain scalars by the YAML 1.2 core schema, where a YAML 1.1 reader would agree.

People's other tools read the same file: PyYAML and libyaml follow YAML 1.1, Go and JavaScript 1.2.
A plain scalar that the two take for different things (``no``, ``0123``, ``22:22``, ``1e3``) is
refused instead of read in one of the two ways, because the author meant only one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite

INT64 = range(-(2**63), 2**63)

# Whatever does not start like this is a string to everybody; checked first because most text isn't.
_SUSPECT = re.compile(
    r"[-+.0-9~=]|<<\Z|(?:y|n|yes|no|on|off|true|false|null)\Z", re.IGNORECASE
).match
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z").match
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z").match
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+][0-9]+)?\Z|\.[0-9]+\Z").match
_NOT_FINITE = re.compile(r"[-+]?\.inf\Z|\.nan\Z", re.IGNORECASE).match
_BOOLISH = re.compile(r"(?:y|n|yes|no|on|off)\Z", re.IGNORECASE).match
_WORDS = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    "null": None, "Null": None, "NULL": None, "~": None,
}  # fmt: skip

# What exactly one of the two schemas takes for something other than text.
_NUMBER = "a number to some readers and text to others"
_TIME = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?"
_DISPUTED = (
    (r"[-+]?0[0-9_]+", "an octal number in YAML 1.1 and a decimal one in YAML 1.2"),
    (r"[-+]?0o[0-7]+", "an octal number in YAML 1.2 and text in YAML 1.1"),
    (r"[-+]?0b[01_]+", "a binary number in YAML 1.1 and text in YAML 1.2"),
    (r"[-+]?0x[0-9a-fA-F_]+", _NUMBER),
    (r"[-+]?[0-9][0-9_]*", _NUMBER),
    (r"[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?", _NUMBER),
    (r"[-+]?\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?", _NUMBER),
    (
        r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?",
        "a number of minutes or seconds in YAML 1.1 and text in YAML 1.2",
    ),
    (
        rf"[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?:(?:[Tt]|[ \t]+){_TIME})?",
        "a date in YAML 1.1 and text in YAML 1.2",
    ),
    (r"=|<<", "a special value in YAML 1.1 and text in YAML 1.2"),
)


class Disputed(ValueError):
    """The scalar has no meaning that we accept; ``remedy`` says what to write instead."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy


@lru_cache(maxsize=8192)
def plain(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar; raises Disputed where readers differ or a number is too big."""
    if _SUSPECT(text) is None:
        return text or None
    if text in _WORDS:
        return _WORDS[text]
    if _INT(text):
        return _whole(text, 10)
    if _HEX(text):
        return _whole(text, 16)
    if _FLOAT(text) and isfinite(number := float(text)):
        return number
    _refuse_disputed(text)
    return text


def _refuse_disputed(text: str) -> None:
    if _FLOAT(text) or _NOT_FINITE(text):
        raise Disputed(
            "yaml-number", f"{short(text)} is not a finite number", "write a smaller number"
        )
    if _BOOLISH(text):
        raise Disputed(
            "yaml-ambiguous",
            f"{text} is a boolean in YAML 1.1 and text in YAML 1.2",
            f'write true or false for a boolean, "{text}" for text',
        )
    for pattern, why in _DISPUTED:
        if re.fullmatch(pattern, text):
            raise Disputed(
                "yaml-ambiguous",
                f"{short(text)} is {why}",
                f'write "{short(text)}" for text, or a plain decimal number',
            )


def _whole(text: str, base: int) -> int:
    # The length goes first: converting thousands of digits is slow, and Python refuses to.
    number = int(text, base) if len(text) <= 20 else 2**64
    if number not in INT64:
        raise Disputed(
            "yaml-number",
            f"{short(text)} does not fit into 64 bits",
            "write a smaller number, or quote it for text",
        )
    return number


def short(text: str, limit: int = 60) -> str:
    """At most ``limit`` characters of a user's text on one line, for messages."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return (
        text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
