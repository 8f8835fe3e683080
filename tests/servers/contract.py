"""A small HTTP server that holds a client to a published contract, and fails on demand.

A subclass names its endpoints. What the contract does not know is refused loudly: an unknown path,
query or field, a missing header. `fail` makes the next matching requests go wrong: before they are done,
or after, when the work is done and only the answer is lost.
"""

import contextlib
import json
import re
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass
class Seen:
    """A request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    raw: str


@dataclass
class Reply(Exception):
    """An answer; raised, it cuts a handler short."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Fault:
    method: str
    path: re.Pattern[str]
    times: int
    reply: Reply | None = None
    cut: str = ""  # before: nothing was done; after: it was done; inside: half an answer
    stall: float = 0


def endpoint(method: str, path: str) -> Callable:
    """Marks a method of a server; {name} stands for one part of a path, and slashes in it are coded."""
    pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path) + r"\Z")

    def mark(function: Callable) -> Callable:
        function.endpoint = (method, pattern)
        return function

    return mark


class ContractServer:
    """Listens on this machine, at a free port, until `close`."""

    prefix = ""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.seen: list[Seen] = []
        self.faults: list[Fault] = []
        self.lock = threading.RLock()
        self.routes = [
            (*getattr(self, name).endpoint, getattr(self, name))
            for name in dir(type(self))
            if hasattr(getattr(type(self), name), "endpoint")
        ]
        self._http = _Server(("127.0.0.1", 0), _handler(self))
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------ for tests

    def fail(
        self, method: str, path: str, *, times: int = 1, cut: str = "", stall: float = 0,
        status: int = 0, body: Any = None, headers: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        reply = Reply(status, body, headers or {}) if status else None
        self.faults.append(Fault(method, re.compile(path), times, reply, cut, stall))

    def calls(self, method: str = "", path: str = "") -> list[Seen]:
        return [s for s in self.seen if s.method == (method or s.method) and path in s.path]

    # ------------------------------------------------------------------------------ for contracts

    def admit(self, seen: Seen) -> None:
        """What every request must have; raises a Reply otherwise."""

    def unknown(self, seen: Seen) -> Reply:
        return Reply(404, {"message": "Not Found"})

    def answer(self, seen: Seen) -> Reply:
        with self.lock:
            self.seen.append(seen)
            try:
                self.admit(seen)
                for method, pattern, function in self.routes:
                    found = pattern.match(seen.path.removeprefix(self.prefix))
                    if method == seen.method and found and seen.path.startswith(self.prefix):
                        parts = {name: unquote(part) for name, part in found.groupdict().items()}
                        return function(seen, **parts)
                return self.unknown(seen)
            except Reply as reply:
                return reply

    def page(self, seen: Seen, items: list[Any], size: int, name: str = "per_page") -> Reply:
        """One page of a list, with a Link header as RFC 8288 has it."""
        size = min(int(seen.query.get(name, size)), 100)
        number = int(seen.query.get("page", 1))
        shown = items[(number - 1) * size : number * size]
        headers = {}
        if number * size < len(items):
            query = "&".join(f"{k}={v}" for k, v in {**seen.query, "page": number + 1}.items())
            headers["Link"] = (
                f'<{self.url}{seen.path}?{query}>; rel="next", '
                f'<{self.url}{seen.path}?page=99>; rel="last"'
            )
        return Reply(200, shown, headers)

    def fault(self, method: str, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times and fault.method == method and fault.path.search(path):
                    fault.times -= 1
                    return fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up, or does not trust us, is part of the game."""


def _handler(server: ContractServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                super().handle()

        def serve(self) -> None:
            parts = urlsplit(self.path)
            size = int(self.headers.get("Content-Length") or 0)
            raw = self.rfile.read(size).decode() if size else ""
            seen = Seen(
                self.command,
                parts.path,
                dict(parse_qsl(parts.query, keep_blank_values=True)),
                {key.lower(): value for key, value in self.headers.items()},
                None,
                raw,
            )
            fault = server.fault(seen.method, parts.path)
            if fault and fault.stall:
                time.sleep(fault.stall)
            if fault and (fault.cut == "before" or fault.reply):
                server.seen.append(seen)
            if fault and fault.cut == "before":
                return self.drop()
            reply = fault.reply if fault and fault.reply else server.answer(seen)
            if fault and fault.cut == "after":
                return self.drop()
            text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            content = b"" if reply.body is None else text.encode()
            self.send_response(reply.status)
            headers = {"Content-Type": "application/json; charset=utf-8"} | reply.headers
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if fault and fault.cut == "inside":
                self.wfile.write(content[: len(content) // 2])
                return self.drop()
            self.wfile.write(content)
            return None

        def drop(self) -> None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(2)

    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.serve)
    return Handler


def fields(body: Any, refuse: Callable[[str, str], Reply], required: dict, optional: dict) -> Any:
    """The body, if it has exactly what the contract knows, of the right types."""
    known = required | optional
    for name in required:
        if name not in body:
            raise refuse(name, "missing_field")
    for name, value in body.items():
        if name not in known:
            raise refuse(name, "unknown field")
        if not isinstance(value, known[name]):
            raise refuse(name, "wrong type")
    return body
