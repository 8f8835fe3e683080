"""A file as text: whether it can be read at all, and what the parser's complaints mean."""

from __future__ import annotations

import re

import yaml

from gati_gitops.errors import Place, Problem

MAX_BYTES = 1 << 20

_BOMS = (
    (b"\xef\xbb\xbf", "a byte order mark"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
# Line breaks of YAML 1.1 alone (NEL, LS, PS) count as well: the readers disagree about them.
CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
_BREAK = re.compile("\r\n|\r|\n")


def unreadable(content: bytes, file: str) -> Problem | None:
    """Why the file is not text that we read, or None."""
    if len(content) > MAX_BYTES:
        return Problem(
            "file-too-large",
            f"the file is larger than {MAX_BYTES // 1024} KiB, the limit of one file",
            Place(file),
            remedy="split it into several files",
        )
    for bom, what in _BOMS:
        if content.startswith(bom):
            return Problem(
                "yaml-encoding",
                f"the file starts with {what}",
                Place(file, 1, 1),
                remedy="save it as UTF-8 without a byte order mark",
            )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return Problem(
            "yaml-encoding",
            f"byte 0x{content[error.start]:02x} is not UTF-8",
            _place_at(content[: error.start].decode(), file),
            remedy="save the file as UTF-8",
        )
    match = CONTROL.search(text)
    if match is None:
        return None
    return Problem(
        "yaml-control-character",
        f"the character U+{ord(match[0]):04X} is not allowed in a spec",
        _place_at(text[: match.start()], file),
        remedy=(
            "save the file as UTF-8"
            if match[0] == "\0"
            else f'remove it, or write "\\u{ord(match[0]):04x}" in double quotes'
        ),
    )


def _place_at(before: str, file: str) -> Place:
    lines = _BREAK.split(before)
    return Place(file, len(lines), len(lines[-1]) + 1)


def explained(error: yaml.YAMLError, content: bytes, file: str) -> Problem:
    """The parser's complaint, in terms of what the author sees."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = str(getattr(error, "problem", None) or error).splitlines()[0]
    if mark is None:
        return Problem("yaml-syntax", f"not YAML: {what}", Place(file), remedy=_SYNTAX)
    lines = _BREAK.split(content.decode())
    line = lines[mark.line] if mark.line < len(lines) else ""
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation and mark.column <= len(indentation):
        place = Place(file, mark.line + 1, indentation.index("\t") + 1)
        return Problem(
            "yaml-tab", "a tab is used as indentation", place, remedy="indent with spaces"
        )
    place = Place(file, mark.line + 1, mark.column + 1)
    for part, code, message, remedy in _EXPLAINED:
        if part in what:
            return Problem(code, message, place, remedy=remedy)
    context = str(getattr(error, "context", None) or "")
    message = f"not YAML: {what}" + (f" {context}" if context else "")
    return Problem("yaml-syntax", message, place, remedy=_SYNTAX)


_SYNTAX = "check indentation, colons, quotes and brackets at and above this line"
_EXPLAINED = (
    ("undefined tag handle", "yaml-tag", "a tag that nothing declares",
     "remove the tag; quote text that starts with !"),
    ("invalid Unicode character escape", "yaml-control-character",
     "an escape that is no character (half a surrogate pair, or beyond Unicode)",
     "write the character itself"),
    ("mapping values are not allowed", "yaml-syntax", "not YAML: a second ': ' in one line",
     "quote the value, or put what follows on a line of its own"),
    ("cannot start any token", "yaml-syntax", "not YAML: the text starts with a reserved character",
     "quote the value"),
)  # fmt: skip
