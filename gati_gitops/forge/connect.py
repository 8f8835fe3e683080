"""Connections: time-outs, trusted authorities, proxies of the environment."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import urllib3

from gati_gitops.errors import Refused
from gati_gitops.report.clean import safe

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Limits:
    """How long we wait, in seconds, and how often we ask."""

    connect: float = 10
    read: float = 30
    answer: float = 60
    attempts: int = 5
    patience: float = 300
    """All the waiting of one run, together."""


def connections(
    scheme: str, host: str, environ: Mapping[str, str], limits: Limits
) -> urllib3.PoolManager:
    timeout = urllib3.Timeout(connect=limits.connect, read=limits.read)
    context = _context(environ) if scheme == "https" else None
    proxy = _proxy(scheme, host, environ)
    if not proxy:
        return urllib3.PoolManager(timeout=timeout, ssl_context=context)
    parts = urlsplit(proxy)
    if parts.scheme not in ("http", "https"):
        raise Refused(
            f"the proxy of the environment is of kind {safe(parts.scheme)}, which is not supported",
            remedy=f"set HTTPS_PROXY to an http address, or NO_PROXY={host}",
        )
    login = f"{parts.username}:{parts.password or ''}" if parts.username else None
    return urllib3.ProxyManager(
        f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
        proxy_headers=urllib3.make_headers(proxy_basic_auth=login) if login else None,
        timeout=timeout,
        ssl_context=context,
    )


def _context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """The system's authorities, or those of SSL_CERT_FILE."""
    file = environ.get("SSL_CERT_FILE")
    try:
        return ssl.create_default_context(cafile=file or None)
    except OSError as error:
        raise Refused(
            f"SSL_CERT_FILE names {file}, which holds no certificates: {error.strerror or error}"
        ) from None


def _proxy(scheme: str, host: str, environ: Mapping[str, str]) -> str:
    def variable(name: str) -> str:
        return environ.get(name) or environ.get(name.upper()) or ""

    if host in LOOPBACK or _without(host, variable("no_proxy")):
        return ""
    address = variable(f"{scheme}_proxy") or variable("all_proxy")
    return address if "://" in address or not address else f"http://{address}"


def _without(host: str, listed: str) -> bool:
    """Whether NO_PROXY names a host, or a domain that it is in."""
    names = (name.strip().lstrip("*").lstrip(".").lower() for name in listed.split(","))
    full = f".{host.lower()}"
    return listed.strip() == "*" or any(name and full.endswith(f".{name}") for name in names)
