"""A real Prometheus that scrapes every second, and pods that misbehave on command."""

import contextlib
import json
import threading
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.servers.process import Process, free_port, started
from tests.tools import tool

CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 900ms, external_labels: {{}}}}
scrape_configs:
- job_name: pods
  honor_timestamps: true
  file_sd_configs: [{{files: ['{folder}/targets.json'], refresh_interval: 1s}}]
"""


@dataclass
class Pod:
    """What one path of the target server shows."""

    name: str
    labels: dict[str, str]
    """Of the target, as a monitor's relabelling gives them."""
    counters: dict[str, float] = field(default_factory=dict)
    """By series, written as in the text format."""
    behaviour: str = "well"
    """well, status 500, hang, garbage, or a text that is shown as it is."""
    stamped: int = 0
    """Seconds by which the pod's own time stamps lie in the past; 0: it sets none."""

    def count(self, series: str, by: float = 1) -> None:
        self.counters[series] = self.counters.get(series, 0) + by

    def request(self, code: int = 200, times: int = 1, seconds: float = 0.01, route="/users"):
        """Requests as the runtime counts them."""
        labels = f'method="GET",route="{route}",status_code="{code}"'
        self.count(f"gati_http_requests_total{{{labels}}}", times)
        for bound in ("0.1", "0.5", "1", "5", "+Inf"):
            slower = bound != "+Inf" and seconds > float(bound)
            name = f'gati_http_request_duration_seconds_bucket{{{labels},le="{bound}"}}'
            self.count(name, 0 if slower else times)

    def restart(self) -> None:
        self.counters = dict.fromkeys(self.counters, 0.0)

    def text(self) -> str:
        stamp = f" {int((time.time() - self.stamped) * 1000)}" if self.stamped else ""
        lines = [f"{name} {value:g}{stamp}" for name, value in self.counters.items()]
        return "\n".join([*lines, ""])


class Pods:
    """An HTTP server with one path a pod."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        pods = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                with contextlib.suppress(OSError):
                    pods._answer(self)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.address = f"127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def add(self, pod: Pod) -> Pod:
        self.pods[f"{pod.name}-{len(self.pods)}"] = pod
        return pod

    def targets(self) -> list[dict]:
        return [
            {
                "targets": [self.address],
                "labels": {
                    "__metrics_path__": f"/{path}",
                    "instance": path,
                    "pod": pod.name,
                    **pod.labels,
                },
            }
            for path, pod in self.pods.items()
        ]

    def end(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        pod = self.pods.get(handler.path.strip("/"))
        status = 200 if pod is not None else 404
        body = ""
        if pod is not None:
            match pod.behaviour:
                case "well":
                    body = pod.text()
                case "status 500":
                    status = 500
                case "hang":
                    time.sleep(2)
                case "garbage":
                    body = "<html>this is not a metric</html>\n"
                case shown:
                    body = shown
        content = body.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "text/plain; version=0.0.4")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)


class RealPrometheus:
    """A Prometheus of its own, with nothing in it."""

    def __init__(self, folder: Path, config: str = CONFIG) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._config = config
        self.pods = Pods()
        self.publish()
        self._process = started(5, self._start)
        self.wait(self._ready)

    def pod(self, name: str, **labels: str) -> Pod:
        return self.pods.add(Pod(name, labels))

    def publish(self) -> None:
        """Let Prometheus know of the pods there are."""
        fresh = self.folder / "targets.json.new"
        fresh.write_text(json.dumps(self.pods.targets()))
        fresh.rename(self.folder / "targets.json")

    def ask(self, query: str):
        data = urllib.parse.urlencode({"query": query}).encode()
        with urllib.request.urlopen(f"{self.url}/api/v1/query", data, timeout=10) as answer:
            return json.load(answer)["data"]["result"]

    def wait(self, true, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, "Prometheus did not get there"
            time.sleep(0.05)

    def scraped(self, times: int, pod: str = "") -> None:
        """Wait until pods have been scraped so often since now."""
        which = f'pod="{pod}"' if pod else ""
        since = time.time()

        def enough() -> bool:
            window = max(int((time.time() - since) * 1000), 1)
            found = self.ask(f"min(count_over_time(up{{{which}}}[{window}ms]))")
            return bool(found) and float(found[0]["value"][1]) >= times

        self.wait(enough)

    def stop(self) -> None:
        """It is gone; what it has stored stays."""
        self._process.end()

    def start(self, config: str = "") -> None:
        """The same server again, at another port, maybe with another configuration."""
        self._config = config or self._config
        self._process = started(5, self._start)
        self.wait(self._ready)

    def end(self) -> None:
        self._process.end()
        self.pods.end()

    def _ready(self) -> bool:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{self.url}/-/ready", timeout=1).close()
            return True
        return False

    def _start(self):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        config = self.folder / "prometheus.yaml"
        config.write_text(self._config.format(folder=self.folder))
        process = Process(
            [
                tool("prometheus"),
                f"--config.file={config}",
                f"--storage.tsdb.path={self.folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=warn",
            ],
            self.folder / "prometheus.log",
        )
        return process if process.answers(("127.0.0.1", port)) else None
