"""A reader for YAML in plain block style: one pass over the lines, or nothing.

Nearly every file of a Kustomize repository is written in the same small dialect: block mappings and
sequences, one-line scalars, literal blocks, comments on lines of their own. Lines of that dialect can
be read by one regular expression, ten times faster than by a general parser. A single line outside of
it (flow style, anchors, tags, escapes, text over several lines, tabs, odd indentation, a key twice)
and the answer is None: the caller reads the whole text again with the general parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from gati_gitops.yamlio.goyaml_scalars import BLANK, Quoted, resolve, resolve_config

_VALUE = (
    r'"[^"\\\n]*"|\'[^\'\n]*\'|\{\}|\[\]|\|[-+]?'
    # Plain text: no colon before a space, no space before a hash or another space.
    r"|(?:[A-Za-z0-9_/.$+(~=;^]|-(?=[!-~]))(?:[!-9;-~]++|:(?=[!-~])| (?=[!-\"$-~]))*+"
)
_ROW: Final = re.compile(
    rf"^(?:( *+)((?:- )*+)(?:([A-Za-z_$][\w./$-]*+):(?= |$))? *+({_VALUE})?+ *+| *+#.*|(.*))$",
    re.MULTILINE | re.ASCII,
)
# Keys that are not strings to one of the two libraries.
_NOT_KEYS: Final = frozenset(
    form
    for word in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    for form in (word, word.capitalize(), word.upper())
)
# A comment that is a JSON object would steer kustomize's merging.
_STEERING: Final = re.compile(r"#[#\s]*\{")
_FOREIGN: Final = re.compile(r"[^\n -~]")

Spell = Callable[[str], Any]


@lru_cache(maxsize=65536)
def resource_scalar(raw: str) -> Any:
    return Quoted(raw[1:-1]) if raw[0] in "\"'" else resolve(raw)


@lru_cache(maxsize=16384)
def config_scalar(raw: str) -> Any:
    return raw[1:-1] if raw[0] in "\"'" else resolve_config(raw)


class Documents(list[Any]):
    """What a text holds; `blank` when some key of it has no value at all."""

    blank = False


def read_block_style(  # noqa: C901: one loop over the lines; parts of it as calls cost a third
    text: str, spell: Spell = resource_scalar, blank: Any = BLANK
) -> Documents | None:
    """The documents of a text, or None when it is not all in plain block style."""
    if _FOREIGN.search(text) or _STEERING.search(text):
        return None
    documents = Documents()
    # Open containers, outermost first, and the columns that their entries stand in.
    open_: list[Any] = []
    columns: list[int] = []
    top: Any = None
    column = -1
    # The mapping and key that the line before left without a value.
    owner: Any = None
    gap = ""
    gaps = 0
    lines: list[str] = []
    skip = 0
    for number, (indent, dashes, key, value, other) in enumerate(_ROW.findall(text)):
        if number < skip:
            continue
        if not key and not value:
            if other or dashes:
                return None
            continue
        here = len(indent)
        if dashes:
            if owner is not None and here >= column:
                top = owner[gap] = []
                gaps -= 1
                open_.append(top)
                columns.append(here)
            else:
                while columns and columns[-1] > here:
                    open_.pop()
                    columns.pop()
                if open_:
                    top = open_[-1]
                    if columns[-1] != here or type(top) is not list:
                        return None
                elif here or top is not None:
                    return None
                else:
                    top = []
                    open_.append(top)
                    columns.append(here)
            column = here
            nested = len(dashes) - 2
            while nested:
                inner: list[Any] = []
                top.append(inner)
                top = inner
                column += 2
                open_.append(top)
                columns.append(column)
                nested -= 2
            if key:
                entry: dict[str, Any] = {}
                top.append(entry)
                top = entry
                column += 2
                open_.append(top)
                columns.append(column)
        elif here != column or type(top) is not dict:
            if not key:
                if value != "---" or here:
                    return None
                if open_:
                    documents.append(open_[0])
                    open_, columns, top, column, owner = [], [], None, -1, None
                elif documents:
                    return None
                continue
            if owner is not None and here > column:
                top = owner[gap] = {}
                gaps -= 1
                open_.append(top)
                columns.append(here)
            else:
                while columns and (columns[-1] > here or type(open_[-1]) is list):
                    open_.pop()
                    columns.pop()
                if open_:
                    if columns[-1] != here:
                        return None
                    top = open_[-1]
                elif here or top is not None:
                    return None
                else:
                    top = {}
                    open_.append(top)
                    columns.append(here)
            column = here
        elif not key:
            if value != "---" or here:
                return None
            documents.append(open_[0])
            open_, columns, top, column, owner = [], [], None, -1, None
            continue
        owner = None
        if key:
            if key in top or key in _NOT_KEYS:
                return None
            if not value:
                top[key] = blank
                owner = top
                gap = key
                gaps += 1
                continue
        if value[0] in "|{[":
            if value[0] == "|":
                lines = lines or text.split("\n")
                block = _literal(lines, number + 1, column, value[1:])
                if block is None:
                    return None
                content, skip = block
                scalar = Quoted(content) if blank is BLANK else content
            else:
                scalar = {} if value == "{}" else []
        else:
            scalar = spell(value)
        if key:
            top[key] = scalar
        else:
            top.append(scalar)
    if open_:
        documents.append(open_[0])
    documents.blank = gaps > 0
    return documents


def _literal(
    lines: list[str], start: int, parent: int, chomp: str
) -> tuple[str, int] | None:
    """The literal block whose first line has the number `start`, and the line after it."""
    if start >= len(lines) or lines[-1] != "":
        return None
    first = lines[start]
    width = len(first) - len(first.lstrip(" "))
    if width <= parent or width == len(first):
        return None
    prefix = " " * width
    body: list[str] = []
    end = start
    for end in range(start, len(lines) - 1):  # noqa: B007: used after the loop
        line = lines[end]
        if line.startswith(prefix):
            body.append(line[width:])
        elif not line.strip(" "):
            body.append("")
        elif len(line) - len(line.lstrip(" ")) > parent:
            return None
        else:
            break
    else:
        end = len(lines) - 1
    while body and not body[-1]:
        body.pop()
    if any(line.endswith(" ") and not line.strip(" ") for line in body) or not body:
        return None
    content = "\n".join(body)
    if chomp == "":
        content += "\n"
    elif chomp == "+":
        content += "\n" * (end - start - len(body) + 1)
    return content, end
