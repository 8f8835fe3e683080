"""The review as one file that a browser opens, without network and without trust in what it shows.

The page is a fixed program (``page/``) and data. User's text is only ever data: it stands as JSON
in an element that browsers do not run, and the program puts it on the screen as text nodes. A
policy in the page allows that one program by its hash, no other script, no address, and no sink
through which text could become markup; so a mistake in the program stays a mistake in looks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from typing import Any

from gati_gitops.preview.model import ObjectChange, Review
from gati_gitops.preview.writers.gather import verdict
from gati_gitops.preview.writers.page_data import Bodies, clean, page_data
from gati_gitops.preview.writers.sheet import fingerprint, page_file, style_of
from gati_gitops.preview.writers.text import write_text
from gati_gitops.report.clean import safe

Origins = Callable[[ObjectChange], Mapping[str, str]]
"""Says of an object where its fields came from: a sentence per path (``spec.ports[0].name``)."""

# In this order they are one program.
_SCRIPTS = ("dom", "store", "bodies", "lines", "parts", "overview", "unit", "nav", "keys", "main")
_STYLES = ("look", "layout", "content")
_MOST_PLAIN = 100_000
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none';"
    " form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def write_html(review: Review, *, origins: Origins | None = None) -> str:
    """The whole page. ``origins`` is asked for each object, for what shows under the pointer."""
    bodies = Bodies(origins)
    data = clean(page_data(review, bodies))
    script, style = _program(_SCRIPTS), style_of(*_STYLES)
    parts = {
        "policy": _POLICY.format(script=fingerprint(script), style=fingerprint(style)),
        "title": escape(safe(_title(review))),
        "style": style,
        "plain": escape(_plain(review)),
        "data": _json(data),
        "bodies": _json(bodies.chunks()),
        "script": script,
    }
    # In one pass, so that nothing within a part is taken for a place of another.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page_file("page.html"))


def _title(review: Review) -> str:
    found = verdict(review) or ("nothing changes" if review.same else "no dangers")
    return f"Preview of {review.head.name}: {found}"


def _plain(review: Review) -> str:
    """What stands there where no script may run."""
    text = write_text(review, width=100)
    if len(text) <= _MOST_PLAIN:
        return text
    return text[: text.rindex("\n", 0, _MOST_PLAIN)] + "\n… the rest needs scripts.\n"


def _json(data: Any) -> str:
    """JSON without a sign that HTML knows, in plain ASCII; nothing in it can end its element."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _program(names: tuple[str, ...]) -> str:
    text = "\n".join(page_file(f"{name}.js") for name in names)
    return f'"use strict";(() => {{\n{text}}})();'
