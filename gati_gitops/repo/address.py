"""Where an output repository is, from the text a user gives; nothing is touched to find out.

Taken are https, ssh (as ssh:// or user@host:path) and the path of a bare repository or work tree;
http only to this very machine. Everything else is refused by name, for Git's other forms run
programs (`ext::`), lose commits (`file://`, where libgit2 compares nothing) or carry secrets.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from gati_gitops.errors import Misnamed, Refused

Kind = Literal["https", "http", "ssh", "path"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
# As Git has it: a colon before the first slash makes a host of what stands before it.
_SCP = re.compile(r"(?:(?P<user>[^@/:]*)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^@/:\[\]]+):(?P<path>.*)")
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\.?|[0-9A-Fa-f:.]+")
_USER = re.compile(r"[A-Za-z0-9_.+@~][A-Za-z0-9_.+@~-]*")
_FORMS = "give https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or the path of a folder"
_TOKENS = "leave it out, and set GATI_GIT_TOKEN or GATI_GIT_TOKEN_FILE"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a repository is. No field holds a secret, so all may be printed."""

    kind: Kind
    text: str
    """As it is shown."""
    url: str
    """What libgit2 is given: an URL, the short form of ssh, or an absolute path."""
    host: str = ""
    port: int = 0
    user: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def is_remote(self) -> bool:
        return self.kind != "path"


def parse(text: str) -> Address:
    """The address in a user's words. Others are Misnamed, with the forms that work.

    Refused is what we understand, and what would run a program, lose commits or show a secret.
    """
    if not text:
        raise Misnamed("the repository's address is empty", remedy=_FORMS)
    if text.startswith("-"):
        raise Misnamed("a repository's address cannot begin with a dash", remedy=_FORMS)
    if any(ord(sign) < 32 or ord(sign) == 127 for sign in text):
        raise Misnamed("there is a control character in the repository's address", remedy=_FORMS)
    if _SCHEME.match(text):
        return _url(text)
    if _HELPER.match(text):
        helper = text.partition("::")[0]
        raise Refused(f"{helper}:: would run a program to reach the repository", remedy=_FORMS)
    if (found := _SCP.fullmatch(text)) and not text.startswith(("/", ".", "~")):
        return _scp(found)
    folder = Path(text).expanduser().absolute()
    return Address("path", text, str(folder))


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, going by its name alone."""
    if host.lower().rstrip(".") in ("localhost", "ip6-localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _url(text: str) -> Address:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port or 0
    except ValueError:
        raise Misnamed("the repository's address is no URL", remedy=_FORMS) from None
    scheme = parts.scheme.lower()
    if scheme == "file":
        raise Refused("file:// is not taken for a repository", remedy="give the path itself")
    if scheme not in ("https", "http", "ssh"):
        raise Misnamed(f"{scheme}:// is not taken for a repository", remedy=_FORMS)
    if parts.password is not None:
        remedy = _TOKENS if scheme != "ssh" else "leave it out, and set GATI_SSH_KEY"
        raise Refused("there is a password in the repository's address", remedy=remedy)
    if parts.query or parts.fragment or " " in text or "\\" in text:
        raise Misnamed("the repository's address has more in it than a path", remedy=_FORMS)
    if not host or not _HOST.fullmatch(host) or not parts.path.strip("/"):
        raise Misnamed("the repository's address names no host, or no path on it", remedy=_FORMS)
    if scheme == "ssh":
        return _ssh(parts, host, port)
    if parts.username is not None:  # Often a token in disguise, so it is not even shown.
        raise Refused("there is a user name in the repository's address", remedy=_TOKENS)
    if scheme == "http" and not is_loopback(host):
        raise Refused(
            f"http:// to {host} would send the token in the clear", remedy="give https://"
        )
    shown = f"{scheme}://{_bracketed(host)}{f':{port}' if port else ''}{parts.path}"
    return Address("https" if scheme == "https" else "http", shown, shown, host, port)


def _ssh(parts: SplitResult, host: str, port: int) -> Address:
    user = parts.username or "git"
    if not _USER.fullmatch(user):
        raise Misnamed("the user name in the repository's address is malformed", remedy=_FORMS)
    if parts.path.startswith("/-"):
        raise Misnamed("the path in the repository's address begins with a dash", remedy=_FORMS)
    url = f"ssh://{user}@{_bracketed(host)}{f':{port}' if port else ''}{parts.path}"
    return Address("ssh", url, url, host, port or 22, user)


def _scp(found: re.Match[str]) -> Address:
    user, host, path = found["user"] or "git", found["host"].strip("[]"), found["path"]
    if not _USER.fullmatch(user) or not _HOST.fullmatch(host):
        raise Misnamed("the repository's address names no host", remedy=_FORMS)
    if not path.strip("/") or path.startswith("-") or "\\" in path or " " in path:
        raise Misnamed("the repository's address names no path on its host", remedy=_FORMS)
    text = f"{user}@{_bracketed(host)}:{path}"
    return Address("ssh", text, text, host, 22, user)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
