"""Values that must not be printed, committed or quoted back.

Shapes that are certain count as secrets anywhere: issuers mark their tokens with a prefix so that
tools like this one can see them, and a password in an address is one. A variable whose name says
that it holds a secret is suspicious; it is refused when its value looks generated, too, for such a
name may also hold a word, a path or a reference. Its value is never printed either way.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{22,}"
    r"|\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas)-[A-Za-z0-9_-]{20,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[0-9]-[A-Za-z0-9-]{20,}"
    r"|\bhooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16,}"
    r"|\b[rs]k_live_[A-Za-z0-9]{16,}"
    r"|\bAIza[0-9A-Za-z_-]{35}\b|\bGOCSPX-[A-Za-z0-9_-]{20,}|\bya29\.[A-Za-z0-9_-]{20,}"
    r"|\bsk-(?:ant|proj|svcacct)-[A-Za-z0-9_-]{20,}|\bhf_[A-Za-z0-9]{30,}"
    r"|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bhv[sbr]\.[A-Za-z0-9_-]{24,}"
    r"|\bdop_v1_[a-f0-9]{64}\b|\bdckr_pat_[A-Za-z0-9_-]{20,}|\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"
    r"|\bAccountKey=[A-Za-z0-9+/]{40,}|\bAGE-SECRET-KEY-1[A-Z0-9]{50,}"
    r"|\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{32,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
)
# One of these is in every token; looking for them is twenty times faster than the pattern.
_HINTS = (
    "PRIVATE KEY", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",
    "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-",
    "xox", "xapp-", "hooks.slack.com", "k_live_", "AIza", "GOCSPX-", "ya29.", "sk-", "hf_", "SG.",
    "hvs.", "hvb.", "hvr.", "dop_v1_", "dckr_pat_", "shpat_", "shpca_", "shppa_", "shpss_",
    "AccountKey=", "AGE-SECRET-KEY-1", "npm_", "pypi-", "eyJ",
)  # fmt: skip
_URL_PASSWORD = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@\"']*:)([^\s/@\"']+)(@)")
# What stands for a value that is filled in later: $(NAME), ${NAME}, <password>, {name}, %s, ***.
_REFERENCE = re.compile(r"[$<{%*\[]")
_RUN = re.compile(r"[A-Za-z0-9+/]{20,}")
_SECRETIVE = (
    r"(?:password|passwd|passphrase|secret|token|api_?key|private_?key|access_?key|credentials?)"
)
# One of several, or of a rotation: API_TOKEN_2, DB_PASSWORD_OLD.
_WHICH = (
    r"(?:[_.-]?(?:v?\d+|old|new|next|prev(?:ious)?|current|primary|secondary|backup|b64|base64))*"
)
_NAME = re.compile(rf"(?:^|[_.-]){_SECRETIVE}{_WHICH}$", re.IGNORECASE)
_WORD = re.compile(rf"(?:^|[_.-]){_SECRETIVE}s?(?:[_.-]|$)", re.IGNORECASE)
# Fields of specs that name a Secret or ask for a token; they hold none.
_OWN_FIELDS = frozenset(("secret", "token"))
_LINE = re.compile(
    rf"^(\s*(?:- )?(?!(?-i:secret|token)\s*:)[\"']?[\w.-]*{_SECRETIVE}{_WHICH}[\"']?\s*:\s+)"
    r"(\S.*)$",
    re.IGNORECASE,
)
HIDDEN = "***"


def is_secret(value: str) -> bool:
    """Whether a value is, or holds, a key or token beyond doubt."""
    return any(hint in value for hint in _HINTS) and _TOKEN.search(value) is not None


def holds_password(value: str) -> bool:
    """Whether there is an address with a password in a value, and not just a reference to one."""
    if "://" not in value or "@" not in value:
        return False
    return any(not _REFERENCE.match(found[2]) for found in _URL_PASSWORD.finditer(value))


def looks_generated(value: str) -> bool:
    """Whether a value could be a password or key, and is no word, path, address or reference."""
    if len(value) < 8 or re.search(r"\s|://", value) or re.match(r"[./~$<{%*\[]", value):
        return False
    letters, digits = re.search("[a-z]", value, re.IGNORECASE), re.search("[0-9]", value)
    if not letters or not digits:
        return False
    mixed = re.search("[a-z]", value) and re.search("[A-Z]", value)
    odd = re.search(r"[^A-Za-z0-9._:/#-]", value)
    runs = any(len(re.findall("[0-9]", run)) >= 4 for run in _RUN.findall(value))
    return bool(mixed or odd or runs)


def names_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret, going by its name."""
    return name not in _OWN_FIELDS and _NAME.search(_apart(name)) is not None


def speaks_of_secrets(name: str) -> bool:
    """Whether a name has such a word in it, though it may be about something else of a secret."""
    return name not in _OWN_FIELDS and _WORD.search(_apart(name)) is not None


def _apart(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)


def redact(text: str) -> str:
    """A line of a user's file, or a message, without the secrets in it."""
    if _LINE.match(text) and not text.rstrip().endswith(("{", "[", ":")):
        text = _LINE.sub(rf"\1{HIDDEN}", text)
    if any(hint in text for hint in _HINTS):
        text = _TOKEN.sub(HIDDEN, text)
    return _URL_PASSWORD.sub(rf"\1{HIDDEN}\3", text) if "://" in text else text


def replaced(text: str, by: Callable[[str], str]) -> str:
    """A text with something else in place of every token, and of every password in an address."""
    if is_secret(text):
        text = _TOKEN.sub(lambda found: by(found[0]), text)
    if holds_password(text):
        text = _URL_PASSWORD.sub(lambda found: f"{found[1]}{by(found[2])}{found[3]}", text)
    return text
