"""One request to an API server: bounded in time and size, repeated only where that is harmless.

Reads, server-side apply and deletes may be asked for twice; a change that depends on what stood
there before may not, and when its answer is lost that is said. "Too many requests" means that
nothing was done, so anything is repeated after it, when the server says and while patience lasts.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from gati_gitops import __version__
from gati_gitops.observe.kube_config import Access, Connection, Timeouts, connect
from gati_gitops.observe.kube_errors import Asked, refused, strange, unreached

if TYPE_CHECKING:
    import httpx2

Read = Callable[[bytearray], Any]
"""How an answer is parsed; a ValueError if it can't be."""

_AGAIN = frozenset((500, 502, 503, 504))
_SIZE = 512 << 20


@dataclass(frozen=True, slots=True)
class Patience:
    """How often one request is made, and for how long it is made again."""

    attempts: int = 4
    seconds: float = 30


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any
    """Parsed JSON; text where it is none."""


class Http:
    """Requests to one API server, from any number of threads."""

    def __init__(
        self,
        access: Access,
        *,
        timeouts: Timeouts,
        patience: Patience,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._access = access
        self._timeouts = timeouts
        self._patience = patience
        self._pause = pause
        self._lock = threading.Lock()
        self._opened: Connection | None = None

    @property
    def connection(self) -> Connection:
        """Made when it is first needed: who never asks needs no credentials."""
        with self._lock:
            if self._opened is None:
                self._opened = connect(self._access, self._timeouts)
            return self._opened

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.client.close()

    def send(
        self,
        method: str,
        path: str,
        asked: Asked,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "application/json",
        harmless: bool = True,
        read: Read = json.loads,
    ) -> Answer:
        """An answer of any status, once the server gives one that counts. Raises KubeError."""
        import httpx2

        content = None if body is None else json.dumps(body).encode()
        writing = method != "GET"
        spent = 0.0
        for attempt in range(1, self._patience.attempts + 1):
            last = attempt == self._patience.attempts
            wait = min(0.5 * 2**attempt, 8) * random.uniform(0.5, 1)  # noqa: S311 - spreads
            began = time.monotonic()
            try:
                answer, asks = self._once(method, path, asked, query, content, content_type, read)
            except httpx2.HTTPError as error:
                sent = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                spent += time.monotonic() - began + wait
                if (sent and not harmless) or last or spent > self._patience.seconds:
                    raise unreached(asked, _why(error), writing=writing, sent=sent) from None
            else:
                limited = answer.status == 429
                if not limited and not (harmless and answer.status in _AGAIN):
                    return answer
                wait = wait if asks is None else asks
                spent += time.monotonic() - began + wait
                if last or spent > self._patience.seconds:
                    raise refused(asked, answer.status, answer.body)
            self._pause(wait)
        raise AssertionError("unreachable")  # pragma: no cover

    def _once(
        self,
        method: str,
        path: str,
        asked: Asked,
        query: Mapping[str, str] | None,
        content: bytes | None,
        content_type: str,
        read: Read,
    ) -> tuple[Answer, float | None]:
        import httpx2

        opened = self.connection
        headers = {"Accept": "application/json", "User-Agent": f"gati-gitops/{__version__}"}
        if content is not None:
            headers["Content-Type"] = content_type
        end = time.monotonic() + self._timeouts.answer
        raw = bytearray()
        with opened.client.stream(
            method,
            f"{opened.server}{path}",
            params=dict(query or {}),
            content=content,
            headers=headers,
            auth=opened.auth if opened.auth is not None else httpx2.USE_CLIENT_DEFAULT,
            extensions=dict(opened.extensions),
        ) as response:
            for chunk in response.iter_bytes():
                raw += chunk
                if len(raw) > _SIZE:
                    raise strange(asked, f"its answer is larger than {_SIZE >> 20} MiB")
                if time.monotonic() > end:
                    raise httpx2.ReadTimeout("the answer does not end")
            return _answer(response, raw, asked, read), _retry_after(response)


def _answer(response: httpx2.Response, raw: bytearray, asked: Asked, read: Read) -> Answer:
    status = response.status_code
    try:
        return Answer(status, read(raw) if status < 300 else json.loads(raw))
    except ValueError:
        if status >= 400:
            return Answer(status, raw[:400].decode(errors="replace"))
    kind = response.headers.get("content-type", "something").partition(";")[0]
    if kind.endswith("json"):
        raise strange(asked, "its answer is not as the API has it", status)
    raise strange(asked, f"it answered with {kind[:40]} instead of JSON", status)


def _retry_after(response: httpx2.Response) -> float | None:
    given = response.headers.get("retry-after", "").strip()
    if given.isdigit():
        return float(given)
    try:
        return max(parsedate_to_datetime(given).timestamp() - time.time(), 0.0)
    except ValueError:
        return None


def _why(error: Exception) -> str:
    import httpx2

    if isinstance(error, httpx2.ConnectTimeout):
        return "nobody answers at its address"
    if isinstance(error, httpx2.TimeoutException):
        return str(error) or "it took too long"
    return str(error) or type(error).__name__


def checked(answer: Answer, asked: Asked) -> dict[str, Any]:
    """The object in an answer. Raises KubeError."""
    if answer.status >= 300:
        raise refused(asked, answer.status, answer.body)
    if not isinstance(answer.body, dict):
        raise strange(asked, "it sent no object", answer.status)
    return answer.body
