"""HTTP as forges want it: JSON, pages, patience, and no token where it does not belong.

The token goes in a header, to one origin, over TLS (plain http only to this machine). A redirect
or a next page that leads elsewhere is an error. What can safely be asked again is asked again:
reads and whole updates after a failure, anything after "too many requests", because that says that
nothing was done. How long to wait is the forge's word, up to a limit for the whole run. A POST
whose answer was lost is `Unanswered`: the caller looks whether it was done.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

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
from gati_gitops.errors import Refused
from gati_gitops.forge.answers import Answer, Sent, next_page, rate_limited, retry_after, said
from gati_gitops.forge.model import ForgeError, Unanswered
from gati_gitops.report.clean import safe
from gati_gitops.web.connect import LOOPBACK, Limits, connections
from gati_gitops.web.read import TooLarge, whole
from gati_gitops.web.secret import Secret

_AGAIN = frozenset((500, 502, 503, 504))
_REPEATABLE = frozenset(("GET", "PUT", "PATCH", "DELETE"))
_SIZE = 32 << 20
_PAGES = 200


class Http:
    """Requests to one forge."""

    def __init__(
        self,
        base: str,
        name: str,
        headers: Mapping[str, str],
        token: Secret,
        *,
        environ: Mapping[str, str],
        limits: Limits | None = None,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        parts = urlsplit(base)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise Refused(
                f"{base} is not https: a token is never sent in the clear",
                remedy="set GATI_FORGE_URL to the https address of the forge",
            )
        self.name = name
        self._base = base.rstrip("/")
        self._origin = (parts.scheme, parts.netloc)
        self._headers = {"User-Agent": f"gati-gitops/{__version__}", **headers}
        self._token = token
        self._limits = limits or Limits()
        self._pause = pause
        self._clock = clock
        self._waited = 0.0
        self._pool = connections(parts.scheme, parts.hostname or "", environ, self._limits)

    def get(self, path: str, doing: str, **query: str | int) -> Sent:
        """One object."""
        data = self.request("GET", path, doing, query=query).data
        if not isinstance(data, Sent):
            raise self._failed(doing, "it sent no object")
        return data

    def some(self, path: str, doing: str, **query: str | int) -> list[Sent]:
        """The first page of a list."""
        return self._objects(self.request("GET", path, doing, query=query), doing)

    def pages(self, path: str, doing: str, **query: str | int) -> Iterator[Sent]:
        """Every item of a list, page by page as the forge's own links lead."""
        answer = self.request("GET", path, doing, query=query)
        for _ in range(_PAGES):
            yield from self._objects(answer, doing)
            following = next_page(answer.headers.get("link", ""))
            if not following:
                return
            answer = self.request("GET", following, doing)
        raise self._failed(doing, f"the list has more than {_PAGES} pages")

    def send(self, method: str, path: str, doing: str, body: object = None) -> Sent:
        """Write; the object that came of it, empty if the forge shows none."""
        data = self.request(method, path, doing, body=body).data
        return data if isinstance(data, Sent) else Sent()

    def pause(self, seconds: float) -> bool:
        """Wait, if patience is left for it."""
        if self._waited + seconds > self._limits.patience:
            return False
        self._waited += seconds
        self._pause(seconds)
        return True

    def request(
        self,
        method: str,
        path: str,
        doing: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: object = None,
    ) -> Answer:
        """One request, repeated as far as that is safe; an error unless it succeeded."""
        url = self._url(path, query or {})
        for attempt in range(1, self._limits.attempts + 1):
            last = attempt == self._limits.attempts
            try:
                answer = self._once(method, url, doing, body)
            except HTTPError as error:
                sent = not isinstance(error, NewConnectionError | ConnectTimeoutError)
                if isinstance(error, SSLError) or (sent and method not in _REPEATABLE) or last:
                    raise self._unreached(error, method, doing, sent) from None
                wait = _backoff(attempt)
                if not self.pause(wait):
                    raise self._unreached(error, method, doing, sent) from None
                continue
            if answer.status < 300:
                return answer
            limited = rate_limited(answer)
            again = answer.status in _AGAIN and method in _REPEATABLE
            if last or not (limited or again):
                raise self._refused(answer, doing)
            wait = self._wait(answer, attempt, limited=limited)
            if not self.pause(wait):
                raise self._too_long(answer, doing, wait)
        raise AssertionError("unreachable")  # pragma: no cover

    # ------------------------------------------------------------------------------ one exchange

    def _url(self, path: str, query: Mapping[str, str | int]) -> str:
        url = path if "://" in path else f"{self._base}{path}"
        parts = urlsplit(url)
        if (parts.scheme, parts.netloc) != self._origin:
            raise ForgeError(
                f"{self.name} points to another place, {parts.scheme}://{parts.hostname}, and the"
                " token is not taken there",
                remedy="set GATI_FORGE_URL to the address that the forge now has",
            )
        return f"{url}?{urlencode(query)}" if query else url

    def _once(self, method: str, url: str, doing: str, body: object) -> Answer:
        headers = dict(self._headers)
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        for _ in range(4):
            response = self._pool.request(
                method,
                url,
                body=content,
                headers=headers,
                retries=False,
                redirect=False,
                preload_content=False,
            )
            try:
                raw = self._read(response, doing)
            finally:
                response.release_conn()
            found = {key.lower(): value for key, value in response.headers.items()}
            if response.status in (301, 302, 307, 308) and "location" in found:
                url = self._url(urljoin(url, found["location"]), {})
                continue
            return Answer(response.status, found, self._parsed(response.status, found, raw, doing))
        raise self._failed(doing, "it redirects in circles")

    def _read(self, response: urllib3.BaseHTTPResponse, doing: str) -> bytes:
        try:
            return whole(response, _SIZE, self._limits.answer)
        except TooLarge:
            raise self._failed(doing, f"its answer is larger than {_SIZE >> 20} MiB") from None

    def _parsed(self, status: int, headers: Mapping[str, str], raw: bytes, doing: str) -> Any:
        if not raw.strip():
            return None
        try:
            return json.loads(raw, object_hook=Sent)
        except ValueError:
            if status >= 300:
                return None
        kind = headers.get("content-type", "something").partition(";")[0]
        raise ForgeError(
            f"{self.name} could not {doing}: it answered with {safe(kind)[:40]} instead of JSON",
            remedy="is GATI_FORGE_URL right, and is there no login page in between?",
            status=status,
        )

    def _objects(self, answer: Answer, doing: str) -> list[Sent]:
        data = answer.data
        if not isinstance(data, list) or not all(isinstance(item, Sent) for item in data):
            raise self._failed(doing, "it sent no list of objects")
        return data

    # ------------------------------------------------------------------------------ what went wrong

    def _failed(self, doing: str, why: str, status: int = 0) -> ForgeError:
        return ForgeError(f"{self.name} could not {doing}: {self._clean(why)}", status=status)

    def _unreached(self, error: HTTPError, method: str, doing: str, sent: bool) -> ForgeError:
        why, remedy = _explained(error)
        message = f"{self.name} could not {doing}: {self._clean(why)}"
        if sent and method not in _REPEATABLE:
            return Unanswered(f"{message}; whether it was done is not known", remedy=remedy)
        return ForgeError(message, remedy=remedy)

    def _refused(self, answer: Answer, doing: str) -> ForgeError:
        words = self._clean(said(answer.data))
        message = f"{self.name} would not {doing}: {answer.status}" + (f" {words}" if words else "")
        remedy = ""
        if answer.status == 401:
            remedy = (
                "the token is wrong or has expired: set GATI_FORGE_TOKEN or GATI_FORGE_TOKEN_FILE"
            )
        elif answer.status == 403 and not rate_limited(answer):
            wanted = answer.headers.get("x-accepted-github-permissions", "")
            remedy = "the token lacks a right" + (f": {self._clean(wanted)}" if wanted else "")
        elif answer.status == 404:
            remedy = "it does not exist, or the token may not see it"
        return ForgeError(message, remedy=remedy, status=answer.status)

    def _too_long(self, answer: Answer, doing: str, wait: float) -> ForgeError:
        return ForgeError(
            f"{self.name} would not {doing}: {answer.status}, and it asks to wait {wait:.0f} s",
            remedy="run again later; what was done so far is kept",
            status=answer.status,
        )

    def _clean(self, text: str) -> str:
        cleaned = safe(self._token.hide(" ".join(text.split())))
        return cleaned if len(cleaned) <= 300 else cleaned[:299] + "…"

    def _wait(self, answer: Answer, attempt: int, *, limited: bool) -> float:
        asked = retry_after(answer.headers, self._clock())
        if asked is not None:
            return asked + random.uniform(0, 0.5)  # noqa: S311 - spreads writers, hides nothing
        # GitHub: without a word on when, at least a minute, and longer each time
        return 60.0 * 2 ** (attempt - 1) if limited else _backoff(attempt)


def segment(text: str) -> str:
    """One part of a path; a slash in it is not a slash of the path."""
    return quote(text, safe="")


def _backoff(attempt: int) -> float:
    return float(min(2 ** (attempt - 1), 30)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter


def _explained(error: HTTPError) -> tuple[str, str]:
    if isinstance(error, SSLError):
        return (
            f"its certificate is not trusted ({error.args[0] if error.args else error})",
            "set SSL_CERT_FILE to the certificate of the authority that issued it",
        )
    if isinstance(error, ProxyError):
        return "the proxy does not let us through", "look at HTTPS_PROXY and NO_PROXY"
    if isinstance(error, NewConnectionError):
        return "there is no way to its address", "look at the network and at GATI_FORGE_URL"
    if isinstance(error, ConnectTimeoutError):
        return "nothing answers at its address", ""
    if isinstance(error, ReadTimeoutError):
        return "it took too long to answer", ""
    return "the connection broke", ""
