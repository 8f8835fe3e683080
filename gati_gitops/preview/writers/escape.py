"""User's text inside Markdown, where it can't become markup, a mention or a reference.

Forges link ``@name``, ``#12`` and addresses in text that has been parsed already, so a backslash
before them helps nothing: a zero-width space after the sign does. In code they link nothing.
"""

from __future__ import annotations

import re

from gati_gitops.report.clean import safe

_BREAK = "&#8203;"
_REFERENCE = r"([@#!~%$&])(?=[\w\"'])|\bGH(?=-\d)|:(?=//)|\bwww(?=\.)"
# What is markup within a line. What is markup at its beginning needs no care: no line begins so.
_MARKUP = r"[\\`*_\[\]~$|<>&]"
_PART = re.compile(f"{_REFERENCE}|{_MARKUP}", re.IGNORECASE)
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def prose(text: str) -> str:
    """Text within a line of Markdown."""
    return _PART.sub(lambda match: _escaped(match, "\\{}"), safe(text))


def html(text: str) -> str:
    """Text within an HTML block of Markdown, such as the summary of a fold."""
    return _PART.sub(lambda match: _escaped(match, "&#{:d};"), safe(text))


def _escaped(match: re.Match[str], form: str) -> str:
    found = match[0]
    if not re.fullmatch(_MARKUP, found):
        return found + _BREAK
    shown = _ENTITIES.get(found) or form.format(ord(found) if "d" in form else found)
    return shown + (_BREAK if match[1] else "")


def html_code(text: str) -> str:
    """A name within an HTML block."""
    return f"<code>{html(text)}</code>" if text else ""


def code(text: str, *, cell: bool = False) -> str:
    """A name within a line, or within a cell of a table."""
    text = safe(text)
    if not text:
        return ""
    fence = "`" * (_longest_run(text) + 1)
    if len(fence) > 1 or text != text.strip():
        text = f" {text} "
    if cell:
        text = text.replace("|", "\\|")
    return fence + text + fence


def block(lines: list[str], language: str = "diff") -> str:
    """Lines of code; the fence is longer than any that they hold."""
    shown = [safe(line) for line in lines]
    fence = "`" * max(3, max(map(_longest_run, shown), default=0) + 1)
    return "\n".join([fence + language, *shown, fence])


def fold(summary: str, content: str) -> str:
    """What opens on a click. ``summary`` is HTML."""
    return f"<details><summary>{summary}</summary>\n\n{content}\n\n</details>"


def link(text: str, address: str) -> str:
    """A link to an address of ours; what could end it early is encoded."""
    kept = re.sub(
        r"[^\w:/?#@!$&'*+,;=.~%-]",
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode(errors="replace")),
        address,
        flags=re.ASCII,
    )
    if not re.match(r"https?://", kept):
        return f"{text}: {code(address)}"
    return f"[{text}]({kept})"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
