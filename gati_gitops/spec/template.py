"""A user template as it is read: its file, its text, and what it is rendered for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gati_gitops.errors import Place, Problem
from gati_gitops.yamlio.text import unreadable

SUFFIX = ".yaml.j2"
MAX_BYTES = 64 * 1024
SCOPES = ("version", "unit", "environment")
_FILE = re.compile(r"templates/[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.yaml\.j2")
_HEADER = re.compile(r"\{#-?[ \t]*gati:[ \t]*([a-z-]*)[ \t]*-?#\}[ \t]*\r?(\n|\Z)")


@dataclass(frozen=True, slots=True)
class Template:
    """One file of ``templates/``."""

    file: str
    scope: str
    text: str

    @property
    def name(self) -> str:
        return self.file.rpartition("/")[2].removesuffix(SUFFIX)


def is_template(file: str) -> bool:
    return file.startswith("templates/") and file.endswith(SUFFIX)


def read_template(file: str, content: bytes) -> Template | Problem:
    """A template, or why it is none."""
    problem = unreadable(content, file)
    if problem is not None:
        return problem
    if len(content) > MAX_BYTES:
        message = f"the template is larger than {MAX_BYTES // 1024} KiB"
        return Problem("file-too-large", message, Place(file), remedy="split it into several files")
    if not _FILE.fullmatch(file):
        return Problem(
            "template-invalid",
            "the file's name is not one of a template",
            Place(file),
            remedy="name it templates/<name>.yaml.j2, with lower-case letters, digits and -",
        )
    text = content.decode()
    header = _HEADER.match(text)
    if header is None or header[1] not in SCOPES:
        said = f"there is no scope {header[1]}" if header and header[1] else "it names no scope"
        return Problem(
            "template-invalid",
            f"the first line must say what the template is rendered for; {said}",
            Place(file, 1, 1),
            remedy="begin it with {# gati: version #}, {# gati: unit #} or {# gati: environment #}",
        )
    return Template(file, header[1], text.replace("\r\n", "\n"))
