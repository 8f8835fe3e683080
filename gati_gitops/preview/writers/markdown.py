"""A comment on a pull request; see ``budget.py`` for how it keeps within a forge's limit."""

from __future__ import annotations

from gati_gitops.preview.model import Review

MARKER = "<!-- gati-gitops:preview -->"
LIMIT = 65536


def write_markdown(review: Review, *, limit: int = LIMIT, artifact: str = "") -> str:
    from gati_gitops.preview.writers import words

    return f"{MARKER}\n{words.effect(review.radius)}\n"
