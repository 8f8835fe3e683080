"""Which forge a repository's address belongs to, and with which token we speak to it.

The host says it where it can (github.com, gitlab.example.com, codeberg.org), the CI that we run
in where it serves the same host, and GATI_FORGE otherwise. A token that CI hands out is used for
the host that it was made for, and for no other.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from gati_gitops.errors import Outside, Refused
from gati_gitops.forge.gitea import Gitea
from gati_gitops.forge.github import GitHub
from gati_gitops.forge.gitlab import GitLab
from gati_gitops.forge.http import Http
from gati_gitops.forge.model import Forge
from gati_gitops.report.clean import safe
from gati_gitops.web.connect import Limits
from gati_gitops.web.secret import Secret, secret_of

Kind = Literal["github", "gitlab", "gitea"]
_KINDS: dict[str, Kind] = {
    "github": "github",
    "gitlab": "gitlab",
    "gitea": "gitea",
    "forgejo": "gitea",
    "codeberg": "gitea",
}
# What CI sets for its own host: the variable with the host's address, then those with tokens.
_NATIVE: dict[Kind, tuple[str, tuple[str, ...]]] = {
    "github": ("GITHUB_SERVER_URL", ("GITHUB_TOKEN", "GH_TOKEN")),
    "gitlab": ("CI_SERVER_URL", ("GITLAB_TOKEN", "CI_JOB_TOKEN")),
    "gitea": ("GITHUB_SERVER_URL", ("GITEA_TOKEN", "FORGEJO_TOKEN", "GITHUB_TOKEN")),
}
_SCP = re.compile(r"(?:[^@/:]+@)?([A-Za-z0-9.-]{2,}):(?!/{2})/?(.+)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a repository is on the web."""

    scheme: str
    host: str
    """With its port, if the web is at one."""
    path: str
    """owner/name, or the path of a GitLab project."""


def forge_for(
    address: str,
    environ: Mapping[str, str],
    *,
    limits: Limits | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Forge:
    """The forge of a repository; an error that says what to set if it can't be known."""
    place = _place(address)
    if url := environ.get("GATI_FORGE_URL", "").strip():
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise Refused("GATI_FORGE_URL is not the http address of a forge, without a user in it")
        web, host = url.rstrip("/"), parts.hostname
        prefix = parts.path.strip("/")
        path = place.path if place else ""
        if prefix and path.startswith(f"{prefix}/"):
            path = path.removeprefix(f"{prefix}/")
    elif place:
        web, host, path = f"{place.scheme}://{place.host}", place.host.partition(":")[0], place.path
    else:
        raise Refused(
            f"{safe(address)} is on no forge, so there is nowhere to open a pull request",
            remedy="set GATI_FORGE (github, gitlab, gitea), GATI_FORGE_URL and"
            " GATI_FORGE_REPOSITORY, or the environment's mode to direct",
        )
    path = environ.get("GATI_FORGE_REPOSITORY", "").strip().strip("/") or path
    if "/" not in path:
        raise Refused(
            f"{safe(address)} does not say which repository it is on the forge",
            remedy="set GATI_FORGE_REPOSITORY to owner/name",
        )
    kind = _kind(host, environ)
    same_host = place is not None and place.host.partition(":")[0] == host
    token, variable = _token(kind, host, environ, same_host=same_host)
    return _client(kind, web, path, token, variable, environ, limits, pause)


def _place(address: str) -> Place | None:
    """Host and path of an address; None for a folder."""
    if "://" in address:
        parts = urlsplit(address)
        if not parts.hostname:
            return None
        path = parts.path.strip("/").removesuffix(".git")
        if parts.scheme in ("http", "https"):
            host = parts.hostname + (f":{parts.port}" if parts.port else "")
            return Place(parts.scheme, host, path)
        return Place("https", parts.hostname.removeprefix("ssh."), path)
    found = _SCP.fullmatch(address)
    if found and not address.startswith((".", "/")):
        return Place("https", found[1], found[2].strip("/").removesuffix(".git"))
    return None


def _kind(host: str, environ: Mapping[str, str]) -> Kind:
    if given := environ.get("GATI_FORGE", "").strip().lower():
        if given not in _KINDS:
            raise Refused(f"GATI_FORGE is {safe(given)!r}; it is one of github, gitlab, gitea")
        return _KINDS[given]
    if host == "github.com" or host.endswith(".ghe.com"):
        return "github"
    for word in host.split("."):
        if word in _KINDS:
            return _KINDS[word]
    if environ.get("GITEA_ACTIONS") or environ.get("FORGEJO_ACTIONS"):
        if _host(environ.get("GITHUB_SERVER_URL")) == host:
            return "gitea"
    elif _host(environ.get("GITHUB_SERVER_URL")) == host:
        return "github"
    if _host(environ.get("CI_SERVER_URL")) == host:
        return "gitlab"
    raise Refused(
        f"it can't be seen from its name which forge {safe(host)} is",
        remedy="set GATI_FORGE to github, gitlab or gitea (Forgejo is gitea)",
    )


def _token(
    kind: Kind, host: str, environ: Mapping[str, str], *, same_host: bool
) -> tuple[Secret, str]:
    server, natural = _NATIVE[kind]
    native = _host(environ.get(server)) or {"github": "github.com", "gitlab": "gitlab.com"}.get(
        kind
    )
    names = ["GATI_FORGE_TOKEN"]
    if native in (host, None):
        names += natural
    if same_host:
        names.append("GATI_GIT_TOKEN")
    token, variable = secret_of(environ, names)
    if not token:
        raise Outside(
            f"there is no token to speak to {safe(host)} with",
            remedy="set GATI_FORGE_TOKEN, or GATI_FORGE_TOKEN_FILE to a file that holds it",
        )
    return token, variable


def _host(url: str | None) -> str | None:
    return urlsplit(url).hostname if url else None


def _client(
    kind: Kind,
    web: str,
    path: str,
    token: Secret,
    variable: str,
    environ: Mapping[str, str],
    limits: Limits | None,
    pause: Callable[[float], None],
) -> Forge:
    def http(base: str, name: str, headers: Mapping[str, str]) -> Http:
        return Http(base, name, headers, token, environ=environ, limits=limits, pause=pause)

    bearer = {"Authorization": f"Bearer {token.reveal()}"}
    if kind == "gitlab":
        job = {"JOB-TOKEN": token.reveal()}
        headers = job if variable.startswith("CI_JOB_TOKEN") else bearer
        return GitLab(http(f"{web}/api/v4", "GitLab", headers), path)
    if kind == "gitea":
        headers = {"Authorization": f"token {token.reveal()}"}
        return Gitea(http(f"{web}/api/v1", "Gitea", headers), path)
    rest, graphql = _github(web)
    accept = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    return GitHub(http(rest, "GitHub", bearer | accept), path, graphql)


def _github(web: str) -> tuple[str, str]:
    """REST and GraphQL of github.com, of a tenant of ghe.com, or of an Enterprise Server."""
    host = urlsplit(web).hostname or ""
    if host == "github.com" or host.endswith(".ghe.com"):
        return f"https://api.{host}", f"https://api.{host}/graphql"
    return f"{web}/api/v3", f"{web}/api/graphql"
