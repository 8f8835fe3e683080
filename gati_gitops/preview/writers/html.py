"""The page."""

from __future__ import annotations

from gati_gitops.preview.model import Review


def write_html(review: Review) -> str:
    return "<!doctype html>\n<title>preview</title>\n"
