"""What runs in a pod: a little HTTP server with the health route and the metrics of Gati's runtime.

    python pod.py 10.244.0.5:3000

Started by the kubelet of these tests with the container's own environment. GATI_E2E in it says how it
behaves: `errors=0.3` fails that share of requests, `latency=0.2` takes so many seconds for each,
`crash=5` ends with an error after that many seconds, `fatal=5` at that request, `unready` never gets
healthy, `hang` stops answering the health route after that many seconds. On SIGTERM it finishes what
it has begun.
"""

import itertools
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5)
BEHAVIOUR = dict(part.partition("=")[::2] for part in os.environ.get("GATI_E2E", "").split())
STARTED = time.monotonic()
ROUTES = ("/health", "/metrics", os.environ.get("GATI_E2E_ROUTE", "/"))
SERVED = {
    "version": os.environ.get("GATI_VERSION", ""),
    "pod": os.environ.get("HOSTNAME", ""),
    "greeting": os.environ.get("GREETING", ""),
}


def setting(name: str) -> float:
    return float(BEHAVIOUR.get(name) or 0)


class Numbers:
    """Counters as the runtime has them: by method, route and status code."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.requests: dict[tuple[str, str, int], int] = {}
        self.seconds: dict[tuple[str, str, int], float] = {}
        self.buckets: dict[tuple[str, str, int], list[int]] = {}
        self.active = 0
        self.serial = itertools.count()

    def begin(self) -> None:
        with self.lock:
            self.active += 1

    def end(self, key: tuple[str, str, int], seconds: float) -> None:
        with self.lock:
            self.active -= 1
            self.requests[key] = self.requests.get(key, 0) + 1
            self.seconds[key] = self.seconds.get(key, 0) + seconds
            counts = self.buckets.setdefault(key, [0] * len(BUCKETS))
            for index, bound in enumerate(BUCKETS):
                counts[index] += seconds <= bound

    def text(self) -> str:
        with self.lock:
            lines = ["# TYPE gati_active_connections gauge"]
            lines += [f"gati_active_connections {self.active}"]
            lines += ["# TYPE gati_http_requests_total counter"]
            duration = "gati_http_request_duration_seconds"
            histogram = [f"# TYPE {duration} histogram"]
            for (method, route, status), count in sorted(self.requests.items()):
                labels = f'method="{method}",route="{route}",status_code="{status}"'
                lines.append(f"gati_http_requests_total{{{labels}}} {count}")
                found = self.buckets[method, route, status]
                histogram += [
                    f'{duration}_bucket{{{labels},le="{bound}"}} {many}'
                    for bound, many in zip(BUCKETS, found, strict=True)
                ]
                histogram.append(f'{duration}_bucket{{{labels},le="+Inf"}} {count}')
                total = self.seconds[method, route, status]
                histogram.append(f"{duration}_sum{{{labels}}} {total:.6f}")
                histogram.append(f"{duration}_count{{{labels}}} {count}")
        return "\n".join([*lines, *histogram, ""])


NUMBERS = Numbers()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/metrics":
            return self.answer(200, NUMBERS.text(), "text/plain; version=0.0.4")
        started = time.monotonic()
        NUMBERS.begin()
        status = 500
        try:
            status = self.health() if path == "/health" else self.work()
        finally:
            route = next((r for r in ROUTES if path == r or path.startswith(f"{r}/")), "/")
            NUMBERS.end((self.command, route, status), time.monotonic() - started)
        return None

    do_POST = do_GET  # noqa: N815

    def health(self) -> int:
        hangs = "hang" in BEHAVIOUR and time.monotonic() - STARTED > setting("hang")
        if hangs:
            time.sleep(30)
        status = 503 if "unready" in BEHAVIOUR else 200
        self.answer(status, json.dumps({"status": status}))
        return status

    def work(self) -> int:
        size = int(self.headers.get("Content-Length") or 0)
        if size:
            self.rfile.read(size)
        time.sleep(setting("latency"))
        # Every so many requests, not by chance: a test knows what it gets.
        number = next(NUMBERS.serial)
        if "fatal" in BEHAVIOUR and number + 1 >= setting("fatal"):
            os._exit(1)
        failed = int((number + 1) * setting("errors")) > int(number * setting("errors"))
        status = 500 if failed else 200
        self.answer(status, json.dumps(SERVED))
        return status

    def answer(self, status: int, text: str, type: str = "application/json") -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Served-Version", SERVED["version"])
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Clients hang up."""


def drain(server: Server) -> None:
    """No new connections; what has begun is finished."""
    server.shutdown()
    server.server_close()
    end = time.monotonic() + 30
    while NUMBERS.active and time.monotonic() < end:
        time.sleep(0.02)
    os._exit(0)


def main() -> None:
    if "crash" in BEHAVIOUR:
        threading.Timer(setting("crash"), os._exit, [1]).start()
    host, _, port = sys.argv[1].rpartition(":")
    server = Server((host, int(port)), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=drain, args=[server]).start())
    server.serve_forever(0.05)
    threading.Event().wait()  # Until `drain` ends it.


if __name__ == "__main__":
    main()
