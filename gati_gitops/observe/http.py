"""Asking one metric server: credentials from files, one origin, no redirects, bounded answers.

Files are read again for every look, so a token or certificate that was rotated is used at once.
Nothing that goes wrong here says more than it may: what the server sent is cut short, and secrets
in it are masked.
"""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
)

from gati_gitops import __version__
from gati_gitops.errors import GatiError
from gati_gitops.report.clean import safe
from gati_gitops.spec.address import LOOPBACK, forbidden
from gati_gitops.spec.metrics import MetricSource
from gati_gitops.web.connect import Limits, connections
from gati_gitops.web.read import TooLarge, whole
from gati_gitops.web.secret import Secret

SIZE = 512 << 20
SHOWN = 200
"""Characters of an answer that an error shows."""
_AGAIN = frozenset((502, 503, 504))


class NotAnswered(Exception):
    """The server could not be asked, or its answer is not one."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    kind: str
    """What the server says it sent."""
    location: str
    body: bytes


@dataclass(frozen=True, slots=True)
class _Login:
    """What stands in the files of a source at one time."""

    header: Secret
    secrets: tuple[Secret, ...]
    tls: tuple[bytes, ...]


class Client:
    """Requests to one metric server."""

    def __init__(self, source: MetricSource, environ: Mapping[str, str]) -> None:
        parts = urlsplit(source.url)
        self._source = source
        self._host = parts.hostname or ""
        self._scheme = parts.scheme
        self._environ = environ
        self._limits = replace(
            Limits(), connect=min(10, source.timeout_seconds), read=source.timeout_seconds + 2
        )
        self._login = _Login(Secret(""), (), ())
        self._pool: urllib3.PoolManager | None = None
        self.received = 0
        """Bytes of answers so far."""

    @property
    def name(self) -> str:
        return f"Prometheus at {self._source.url}"

    def refresh(self) -> None:
        """Read the files again. Raises NotAnswered."""
        if self._scheme not in ("http", "https") or not self._host:
            raise NotAnswered("its address is not one of http or https")
        if forbidden(self._host):
            raise NotAnswered(f"{self._host} hands out credentials of machines and is never asked")
        login = _login(self._source)
        if login.header and self._scheme == "http" and self._host not in LOOPBACK:
            raise NotAnswered("its address is http, and a secret is never sent in the clear")
        if self._pool is None or login.tls != self._login.tls:
            try:
                context = _context(self._source) if self._scheme == "https" else None
                self._pool = connections(
                    self._scheme, self._host, self._environ, self._limits, context
                )
            except GatiError as error:
                raise NotAnswered(error.message) from None
        self._login = login

    def post(self, path: str, form: Mapping[str, str]) -> Answer:
        """One question, asked a second time if the connection broke. Raises NotAnswered."""
        for attempt in (1, 2):
            try:
                answer = self._once(path, form)
            except TooLarge as error:
                raise NotAnswered(str(error)) from None
            except HTTPError as error:
                slow = isinstance(error, ReadTimeoutError | ConnectTimeoutError | SSLError)
                if slow or attempt == 2:
                    raise NotAnswered(self.clean(_explained(error))) from None
                continue
            if answer.status not in _AGAIN or attempt == 2:
                return answer
        raise AssertionError("unreachable")  # pragma: no cover

    def clean(self, text: str) -> str:
        """What a server said, in one line that is short and holds no secret of ours."""
        line = " ".join(text.split())
        for secret in self._login.secrets:
            line = secret.hide(line)
        line = safe(line)
        return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"

    def _once(self, path: str, form: Mapping[str, str]) -> Answer:
        assert self._pool is not None
        headers = {
            "User-Agent": f"gati-gitops/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        if self._login.header:
            headers["Authorization"] = self._login.header.reveal()
        response = self._pool.request(
            "POST",
            f"{self._source.url}{path}",
            body=urlencode(form).encode(),
            headers=headers,
            retries=False,
            redirect=False,
            preload_content=False,
        )
        try:
            body = whole(response, SIZE, self._source.timeout_seconds + 30)
        finally:
            response.release_conn()
        self.received += len(body)
        found = {key.lower(): value for key, value in response.headers.items()}
        return Answer(
            response.status, found.get("content-type", ""), found.get("location", ""), body
        )


def _login(source: MetricSource) -> _Login:
    header, secrets = Secret(""), []
    if source.bearer_file is not None:
        token = _text(source.bearer_file)
        header, secrets = Secret(f"Bearer {token}"), [Secret(token)]
    elif source.basic is not None:
        user, password = _text(source.basic.username_file), _text(source.basic.password_file)
        code = b64encode(f"{user}:{password}".encode()).decode()
        header, secrets = Secret(f"Basic {code}"), [Secret(code), Secret(password)]
    tls = source.tls
    files = (tls.ca_file, tls.cert_file, tls.key_file) if tls is not None else ()
    return _Login(header, tuple(secrets), tuple(_bytes(name) for name in files if name is not None))


def _text(path: str) -> str:
    try:
        value = _bytes(path).decode().strip()
    except UnicodeDecodeError:
        raise NotAnswered(f"{path} does not hold text") from None
    if not value or any(not sign.isprintable() for sign in value):
        raise NotAnswered(f"{path} holds nothing, or what can't stand in a header")
    return value


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise NotAnswered(f"{path} can't be read: {error.strerror}") from None


def _context(source: MetricSource) -> ssl.SSLContext | None:
    """None where the settings name no files: then the environment decides."""
    tls = source.tls
    if tls is None:
        return None
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.cert_file is not None:
            context.load_cert_chain(tls.cert_file, tls.key_file)
        return context
    except (OSError, ValueError):  # of these, one is the key; none is quoted
        files = ", ".join(file for file in (tls.ca_file, tls.cert_file, tls.key_file) if file)
        raise NotAnswered(f"these files do not hold what tls needs: {files}") from None


def _explained(error: HTTPError) -> str:
    if isinstance(error, SSLError):
        return f"its certificate is not trusted, or ours is not ({error})"
    if isinstance(error, ProxyError):
        return "the proxy does not let us through; look at HTTPS_PROXY and NO_PROXY"
    if isinstance(error, NewConnectionError):
        never = "never asked" in str(error)
        return str(error).rpartition(": ")[2] if never else "there is no way to its address"
    if isinstance(error, ConnectTimeoutError):
        return "nothing answers at its address"
    if isinstance(error, ReadTimeoutError):
        return "it took too long to answer"
    return f"the connection broke ({type(error).__name__})"
