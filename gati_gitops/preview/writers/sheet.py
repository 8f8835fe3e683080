"""What our pages share: one look, and a policy that lets nothing else in."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

STILL = (
    "default-src 'none'; style-src '{style}'; base-uri 'none'; form-action 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
"""The policy of a page that has one style and no script at all."""


@cache
def style_of(*names: str) -> str:
    """Style sheets of ours as one: ``look`` has the colours and the type of all pages."""
    return "\n".join(page_file(f"{name}.css") for name in names)


def fingerprint(text: str) -> str:
    """How a policy names the one text that it allows."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def page_file(name: str) -> str:
    return (files("gati_gitops.preview.writers") / "page" / name).read_text(encoding="utf-8")
