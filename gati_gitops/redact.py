"""Values that must not be printed, committed or quoted back.

Only shapes that are certain count as secrets (issuers mark their tokens with a prefix so that tools
like this one can see them), so that no honest value is refused. A variable whose name says that it
holds a secret is suspicious, and its value is never printed.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{22,}"
    r"|\bglpat-[A-Za-z0-9_-]{20,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|\b[rs]k_live_[A-Za-z0-9]{16,}"
    r"|\bAIza[0-9A-Za-z_-]{35}\b"
    r"|\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{32,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
)
# One of these is in every token; looking for them is twenty times faster than the pattern.
_HINTS = (
    "PRIVATE KEY", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
    "xox", "k_live_", "AIza", "npm_", "pypi-", "eyJ",
)  # fmt: skip
_URL_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@\"']*:)([^\s/@\"']+)(@)")
_SECRETIVE = (
    r"(?:password|passwd|passphrase|secret|token|api_?key|private_?key|access_?key|credentials?)"
)
_NAME = re.compile(rf"(?:^|[_.-]){_SECRETIVE}$", re.IGNORECASE)
# Fields of specs that name a Secret or ask for a token; they hold none.
_OWN_FIELDS = frozenset(("secret", "token"))
_LINE = re.compile(
    rf"^(\s*(?:- )?(?!(?-i:secret|token)\s*:)[\"']?[\w.-]*{_SECRETIVE}[\"']?\s*:\s+)(\S.*)$",
    re.IGNORECASE,
)
HIDDEN = "***"


def is_secret(value: str) -> bool:
    """Whether a value is, or holds, a key or token beyond doubt."""
    return any(hint in value for hint in _HINTS) and _TOKEN.search(value) is not None


def names_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret, going by its name."""
    return (
        name not in _OWN_FIELDS
        and _NAME.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) is not None
    )


def redact(text: str) -> str:
    """A line of a user's file, or a message, without the secrets in it."""
    if _LINE.match(text) and not text.rstrip().endswith(("{", "[", ":")):
        text = _LINE.sub(rf"\1{HIDDEN}", text)
    return _URL_PASSWORD.sub(rf"\1{HIDDEN}\3", _TOKEN.sub(HIDDEN, text))
