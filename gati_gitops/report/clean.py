"""User's text, fit to be printed: no terminal escapes, no invisible characters, no secrets."""

from __future__ import annotations

import re

from gati_gitops.redact import redact

# Controls, and what hides or reorders text: zero-width signs, bidirectional overrides, odd breaks.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def neutral(text: str) -> str:
    """Every character that a terminal or a log viewer would act on, written as an escape."""
    return _UNSAFE.sub(_escape, text)


def safe(text: str) -> str:
    """One line for people."""
    return neutral(redact(text))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
