"""A proxy before a Git server that cuts, drops, stalls, doubles and refuses on order."""

import contextlib
import re
import select
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

WAIT = 30  # Seconds for the server behind; nobody waits for ever.


class Harm(Enum):
    CUT_BEFORE = auto()
    """The connection ends before the server behind has heard of the request."""
    CUT_INSIDE = auto()
    """Half of the body gets through, then both ends are cut."""
    CUT_AFTER = auto()
    """The server has done its work; its answer is dropped."""
    CUT_ANSWER = auto()
    """Half of the answer gets through."""
    STALL = auto()
    """The request is taken and never answered."""
    STALL_AFTER = auto()
    """The server has done its work, and the line falls silent."""
    TWICE = auto()
    """The server gets the request twice; the second answer is passed on."""


@dataclass(frozen=True)
class Answer:
    """An answer of the proxy's own."""

    status: int
    headers: tuple[str, ...] = ()
    body: bytes = b"no"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    head: bytes
    body: bytes

    @property
    def is_push(self) -> bool:
        return self.method == "POST" and self.path.endswith("/git-receive-pack")

    @property
    def is_fetch(self) -> bool:
        return self.method == "POST" and self.path.endswith("/git-upload-pack")

    @property
    def is_list(self) -> bool:
        return self.method == "GET" and "/info/refs" in self.path

    @property
    def has_credentials(self) -> bool:
        return b"\r\nauthorization:" in self.head.lower()


Rule = Callable[[Request], Harm | Answer | None]


class _Listener:
    """A port whose connections are served, each in a thread of its own, until the end."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def end(self) -> None:
        # Only a shutdown wakes the thread that waits in accept.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        raise NotImplementedError


class Proxy(_Listener):
    """Set ``rule`` to do harm; ``requests`` are those that were seen."""

    def __init__(self, port: int) -> None:
        self.reset()
        super().__init__(port)

    def reset(self) -> None:
        self.rule: Rule = lambda _: None
        self.requests: list[Request] = []
        self.sent = 0
        """Bytes of answers that the server behind gave."""

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def _serve(self, connection: socket.socket) -> None:
        self._open.add(connection)
        with connection, contextlib.suppress(OSError):
            request = _read(connection)
            if request is not None:
                self.requests.append(request)
                self._answer(connection, request, self.rule(request))
        self._open.discard(connection)

    def _answer(self, client: socket.socket, request: Request, harm: Harm | Answer | None) -> None:
        if isinstance(harm, Answer):
            client.sendall(_own(harm))
        elif harm is Harm.CUT_BEFORE:
            return
        elif harm is Harm.STALL:
            _silence(client)
        elif harm is Harm.CUT_INSIDE:
            self._forward(request, whole=False)
        else:
            if harm is Harm.TWICE:
                self._forward(request)
            answer = self._forward(request)
            if harm is Harm.CUT_AFTER:
                return
            if harm is Harm.STALL_AFTER:
                _silence(client)
            else:
                client.sendall(answer[: len(answer) // 2] if harm is Harm.CUT_ANSWER else answer)

    def _forward(self, request: Request, *, whole: bool = True) -> bytes:
        head = re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", request.head)
        head = head[:-2] + b"Connection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self._behind), timeout=WAIT) as server:
            if not whole:
                server.sendall(head + request.body[: len(request.body) // 2])
                return b""
            server.sendall(head + request.body)
            answer = bytearray()
            while part := server.recv(1 << 16):
                answer += part
            self.sent += len(answer)
            return bytes(answer)


class Tunnel(_Listener):
    """Passes bytes on, for protocols that can't be looked into; falls silent or ends on order."""

    def __init__(self, port: int) -> None:
        self.silent_after: int | None = None
        """Bytes of the client that get through before the line falls silent."""
        self.cut_after: int | None = None
        """Bytes of the client that get through before the line is cut."""
        super().__init__(port)

    def _serve(self, client: socket.socket) -> None:
        self._open.add(client)
        behind = ("127.0.0.1", self._behind)
        with client, contextlib.suppress(OSError), socket.create_connection(behind) as server:
            self._pass(client, server)
        self._open.discard(client)

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        passed = 0
        while True:
            for source in select.select([client, server], [], [], WAIT)[0]:
                part = source.recv(1 << 12)
                passed += len(part) * (source is client)
                if not part or (self.cut_after is not None and passed > self.cut_after):
                    return
                if self.silent_after is None or passed <= self.silent_after:
                    (server if source is client else client).sendall(part)


def _read(connection: socket.socket) -> Request | None:
    data = bytearray()
    while b"\r\n\r\n" not in data:
        part = connection.recv(1 << 16)
        if not part:
            return None
        data += part
    at = data.index(b"\r\n\r\n") + 4
    head, body = bytes(data[:at]), data[at:]
    method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
    if re.search(rb"(?i)\r\ntransfer-encoding: *chunked", head):
        while not body.endswith(b"0\r\n\r\n"):
            body += _some(connection)
    elif length := re.search(rb"(?i)\r\ncontent-length: *(\d+)", head):
        while len(body) < int(length[1]):
            body += _some(connection)
    return Request(method, path, head, bytes(body))


def _some(connection: socket.socket) -> bytes:
    part = connection.recv(1 << 16)
    if not part:
        raise ConnectionError
    return part


def _silence(connection: socket.socket) -> None:
    """Hold the line until the other end gives up."""
    connection.settimeout(WAIT * 4)
    while connection.recv(1 << 12):
        pass


def _own(answer: Answer) -> bytes:
    head = [f"HTTP/1.1 {answer.status} Because", "Connection: close", *answer.headers]
    head.append(f"Content-Length: {len(answer.body)}")
    return "\r\n".join([*head, "", ""]).encode() + answer.body
