"""What metrics-server would say of the pods: cpu as their processes really use it, or as a test wants it.

A test writes `usage.json` into the folder: the beginning of a pod's name, and its cpu (`{"handler-cart": "90m"}`).
"""

import json
import os
import ssl
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.e2e.podlife import Pod, now

PORT = 4443
GROUP = "metrics.k8s.io/v1beta1"
HERTZ = os.sysconf("SC_CLK_TCK")


class Meter:
    """Nanocores of a process since it was asked last."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[float, float]] = {}

    def read(self, pid: int) -> int:
        try:
            parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0
        used, at = (int(parts[11]) + int(parts[12])) / HERTZ, time.monotonic()
        before, when = self.seen.get(pid, (used, at - 1))
        if at - when > 1:
            self.seen[pid] = (used, at)
        return int(max(0.0, used - before) / max(at - when, 0.01) * 1e9)


def selected(labels: Mapping[str, str], selector: str) -> bool:
    pairs = [part.partition("=")[::2] for part in selector.split(",") if part]
    return all(labels.get(key.rstrip("=!")) == value.lstrip("=") for key, value in pairs)


def report(pod: Pod, usage: str) -> dict[str, Any]:
    meta = {key: pod.meta[key] for key in ("name", "namespace")} | {"labels": pod.meta["labels"]}
    container = {"name": pod.container["name"], "usage": {"cpu": usage, "memory": "32Mi"}}
    return {"metadata": meta, "timestamp": now(), "window": "10s", "containers": [container]}


def serve_usage(address: str, folder: Path, pods: Mapping[str, Pod]) -> None:
    meter = Meter()

    def usage(pod: Pod) -> str:
        try:
            wanted = json.loads((folder / "usage.json").read_text())
        except (OSError, ValueError):
            wanted = {}
        for start, said in wanted.items():
            if pod.meta["name"].startswith(start):
                return str(said)
        return f"{meter.read(pod.process.pid) if pod.process else 0}n"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            names = parts.path.strip("/").split("/")
            if "namespaces" in names:
                body = self.pods(names[names.index("namespaces") + 1], parts.query)
            else:
                pod = {"name": "pods", "namespaced": True, "kind": "PodMetrics", "verbs": ["list"]}
                body = {"kind": "APIResourceList", "groupVersion": GROUP, "resources": [pod]}
            text = json.dumps({"apiVersion": GROUP if "namespaces" in names else "v1", **body})
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def pods(self, namespace: str, query: str) -> dict[str, Any]:
            selector = unquote(parse_qs(query).get("labelSelector", [""])[0])
            found = [
                report(pod, usage(pod))
                for pod in list(pods.values())
                if pod.meta["namespace"] == namespace
                and selected(pod.meta.get("labels", {}), selector)
                and pod.ready
            ]
            return {"kind": "PodMetricsList", "metadata": {}, "items": found}

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((address, PORT), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "keys" / "usage.pem", folder / "keys" / "usage.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
