"""A reader for YAML in plain block style: one pass over the lines, or nothing.

Nearly every file of a Kustomize repository is written in the same small dialect: block mappings
and sequences, one-line scalars, literal blocks, comments on lines of their own. A line of that
dialect is read by one regular expression, and most lines have been seen before. A single line
outside of it (flow style, anchors, tags, escapes, text over several lines, tabs, odd indentation,
a key twice) and the answer is None: the caller reads the whole text again with the general
parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from operator import itemgetter
from sys import intern
from typing import Any, Final

from gati_gitops.yamlio.goyaml_patterns import Documents, Draft, Pattern, Row, drafts
from gati_gitops.yamlio.goyaml_scalars import BLANK, Quoted, resolve, resolve_config

_VALUE = (
    r'"(?:[ !#-\[\]-~]++|\\[\\"])*"|\'[ -&(-~]*\'|\{\}|\[\]|\|[-+]?'
    # Plain text: no colon before a space, no space before a hash or another space.
    r"|(?:[A-Za-z0-9_/.$+(~=;^]|-(?=[!-~]))(?:[!-9;-~]++|:(?=[!-~])| (?=[!-\"$-~]))*+"
)
_ROW: Final = re.compile(
    rf"( *+)((?:- )*+)(?:([A-Za-z_$][\w./$-]*+):(?= |\Z))? *+({_VALUE})?+ *+\Z", re.ASCII
)
_ESCAPED: Final = re.compile(r"\\(.)")
_BLOCKS: Final = re.compile(r"\|[-+]? *$", re.MULTILINE)
_COMMENT: Final = re.compile(r" *(?:#.*)?\Z")
# Keys that are not strings to one of the two libraries.
_NOT_KEYS: Final = frozenset(
    form
    for word in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    for form in (word, word.capitalize(), word.upper())
)
# A comment that is a JSON object would steer kustomize's merging.
_STEERING: Final = re.compile(r"#[#\s]*\{")
_ALLOWED: Final = bytes([10, *range(32, 127)])

# What a line can be.
_NOTHING, _FOREIGN, _FIELD, _SCALAR, _KEY, _BLOCK, _MAPPING, _SEQUENCE, _SEPARATOR = range(9)
_SKIP: Final[Row] = (_NOTHING, 0, 0, "", None, "0 0 0 ", "")
_STOP: Final[Row] = (_FOREIGN, 0, 0, "", None, "1 0 0 ", "")
_LINE: Final[Row] = (_SEPARATOR, 0, 0, "", None, "8 0 0 ", "")
_SHAPE_OF: Final = itemgetter(5)


# Most lines of a repository are the same in file after file.
@lru_cache(maxsize=1 << 16)
def resource_row(line: str) -> Row:
    row, raw = _row(line)
    if not raw:
        return row
    value = Quoted(_unquoted(raw)) if raw[0] in "\"'" else resolve(raw)
    return (*row[:4], value, *row[5:])


@lru_cache(maxsize=1 << 14)
def config_row(line: str) -> Row:
    row, raw = _row(line)
    if not raw:
        return row
    value = _unquoted(raw) if raw[0] in "\"'" else resolve_config(raw)
    return (*row[:4], value, *row[5:])


def _unquoted(raw: str) -> str:
    return _ESCAPED.sub(r"\1", raw[1:-1]) if raw[0] == '"' and "\\" in raw else raw[1:-1]


def _row(line: str) -> tuple[Row, str]:
    match = _ROW.match(line)
    if match is None or _NOT_KEYS.__contains__(match[3]):
        return (_SKIP if _COMMENT.match(line) else _STOP), ""
    indent, dashes, key, raw = match.groups()
    if key is None and raw is None:
        return (_STOP if dashes else _SKIP), ""
    here, width, key = len(indent), len(dashes), key or ""
    what, value = _FIELD, None
    if raw is None:
        what = _KEY
    elif raw[0] == "|":
        what, value = _BLOCK, raw[1:]
    elif raw in ("{}", "[]"):
        what = _MAPPING if raw == "{}" else _SEQUENCE
    elif width:
        what = _SCALAR
    elif not key:
        return (_LINE if raw == "---" and not here else _STOP), ""
    row = (what, here, width, key, value, intern(f"{what} {here} {width} {key}"), line)
    return row, raw if what in (_FIELD, _SCALAR) else ""


def read_block_style(text: str, row: Callable[[str], Row] = resource_row) -> Documents | None:
    """The documents of a text, or None when it is not all in plain block style."""
    if not _is_usual(text):
        return None
    blank = BLANK if row is resource_row else None
    lines = text.split("\n")
    if "|" in text and _BLOCKS.search(text):
        # A literal block, whose lines are none of ours.
        return _read(lines, row, blank)
    rows = [*map(row, lines)]
    pattern = _pattern(tuple(map(_SHAPE_OF, rows)))
    return None if pattern is None else pattern.filled(rows, blank)


def read_drafts(text: str) -> list[Draft] | None:
    """The objects of a text as drafts, or None when it takes more to read them."""
    if ("|" in text and _BLOCKS.search(text)) or not _is_usual(text):
        return None
    rows = [*map(resource_row, text.split("\n"))]
    pattern = _pattern(tuple(map(_SHAPE_OF, rows)))
    return None if pattern is None else drafts(rows, pattern)


def _is_usual(text: str) -> bool:
    if "{" in text and _STEERING.search(text):
        return False
    return not text.encode().translate(None, _ALLOWED)


@lru_cache(maxsize=1 << 10)
def _pattern(shapes: tuple[str, ...]) -> Pattern | None:
    numbered = [_numbered(number, shape) for number, shape in enumerate(shapes)]
    rows = iter(numbered)
    documents = _read([""] * len(shapes), lambda _: next(rows), len(shapes))
    if documents is None:
        return None
    return Pattern(documents, [here + width for _, here, width, *_ in numbered])


def _numbered(number: int, shape: str) -> Row:
    what, here, width, key = shape.split(" ")
    return int(what), int(here), int(width), key, number, shape, ""


def _read(  # noqa: C901 - one loop over the lines; parts of it as calls cost a third
    lines: list[str], row: Callable[[str], Row], blank: Any
) -> Documents | None:
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
    skip = 0
    for number, line in enumerate(lines):
        if number < skip:
            continue
        what, here, dashes, key, value, _, _ = row(line)
        if what == _FIELD and here == column and type(top) is dict:
            # By far the most common line: one more field of the mapping at hand.
            if key in top:
                return None
            top[key] = value
            owner = None
            continue
        if what < _FIELD:
            if what == _NOTHING:
                continue
            return None
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
            while dashes > 2:
                inner: list[Any] = []
                top.append(inner)
                top = inner
                column += 2
                open_.append(top)
                columns.append(column)
                dashes -= 2
            if key:
                entry: dict[str, Any] = {}
                top.append(entry)
                top = entry
                column += 2
                open_.append(top)
                columns.append(column)
        elif here != column or type(top) is not dict or not key:
            if not key:
                if what != _SEPARATOR:
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
        owner = None
        if key and key in top:
            return None
        if what > _SCALAR:
            if what == _KEY:
                top[key] = blank
                owner = top
                gap = key
                gaps += 1
                continue
            if what == _BLOCK:
                block = _literal(lines, number + 1, column, value)
                if block is None:
                    return None
                value, skip = block
                if blank is BLANK:
                    value = Quoted(value)
            elif what == _MAPPING:
                value = {}
            else:
                value = []
        if key:
            top[key] = value
        else:
            top.append(value)
    if open_:
        documents.append(open_[0])
    documents.blank = gaps > 0
    return documents


def _literal(lines: list[str], start: int, parent: int, chomp: str) -> tuple[str, int] | None:
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
    for end in range(start, len(lines) - 1):
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
