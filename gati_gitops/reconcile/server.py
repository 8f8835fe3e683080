"""``/healthz``, ``/readyz`` and ``/metrics``: three answers, and nothing else.

Few threads, short requests, no request body, no file: whoever reaches the port can learn how the
job fares, and can't make it work harder than that.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import BoundedSemaphore, Thread
from typing import Any

from gati_gitops.errors import Misnamed, Outside

Answer = tuple[int, str, bytes]
"""Status, type of content, content."""
WORKERS = 8
_TIMEOUT = 5.0
_TEXT = "text/plain; charset=utf-8"


def verdict(check: Callable[[], tuple[bool, str]]) -> Callable[[str], Answer]:
    """A page that says yes or no, and why."""

    def page(accept: str) -> Answer:
        good, why = check()
        return (200 if good else 503), _TEXT, f"{'ok' if good else 'no'}: {why}\n".encode()

    return page


def exposition(registry: Any) -> Callable[[str], Answer]:
    """A page with metrics, in the form that the reader asks for."""

    def page(accept: str) -> Answer:
        from prometheus_client.exposition import choose_encoder

        encode, kind = choose_encoder(accept)
        return 200, kind, encode(registry)

    return page


def parse_listen(text: str) -> tuple[str, int]:
    """``127.0.0.1:8080``, ``[::]:8080`` or ``:8080``."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise Misnamed(
            f"--listen {text} is no address", remedy="write HOST:PORT, such as 0.0.0.0:8080"
        )
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - a pod's own address


class _Server(HTTPServer):
    """Answers a few at a time; whoever comes beyond that is turned away at once."""

    request_queue_size = 16
    allow_reuse_address = True

    def __init__(
        self, address: tuple[str, int], pages: Mapping[str, Callable[[str], Answer]]
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.pages = pages
        self._room = BoundedSemaphore(WORKERS)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        arguments = (request, client_address)
        Thread(target=self._answer, args=arguments, name="http", daemon=True).start()

    def _answer(self, request: Any, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError:  # who asked is gone, or too slow
            pass
        finally:
            self.shutdown_request(request)
            self._room.release()


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _TIMEOUT
    server_version = "gati-gitops"
    sys_version = ""

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            self._send((404, _TEXT, b"there is nothing here\n"))
            return
        try:
            answer = page(self.headers.get("Accept", ""))
        except Exception as error:  # noqa: BLE001 - a page that fails is an answer, too
            answer = (500, _TEXT, f"{type(error).__name__}\n".encode())
        self._send(answer)

    do_HEAD = do_GET  # noqa: N815 - as http.server calls it

    def _send(self, answer: Answer) -> None:
        status, kind, content = answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Probes and scrapes are no news."""


class Server:
    """Serves until it is closed."""

    def __init__(self, listen: str, pages: Mapping[str, Callable[[str], Answer]]) -> None:
        address = parse_listen(listen)
        try:
            self._server = _Server(address, pages)
        except OSError as error:
            raise Outside(
                f"cannot listen on {listen}: {error.strerror or error}",
                remedy="choose another --listen address; is something else there?",
            ) from None
        self._thread = Thread(target=self._server.serve_forever, name="server", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(_TIMEOUT)
