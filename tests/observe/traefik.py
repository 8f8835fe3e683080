"""A real Traefik before real Services of a real API server, and a Prometheus that scrapes it.

All of it lives in a network namespace apart, because Services have no endpoints on 127.0.0.1.
"""

import http.client
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gati_gitops.emit.routes import routes
from gati_gitops.ledger.model import DEPLOYED, Phase
from gati_gitops.ledger.stored import Stored
from gati_gitops.output import UnitKey
from tests.e2e.control_plane import ControlPlane
from tests.e2e.processes import Place, until
from tests.servers.process import free_port
from tests.servers.prometheus import RealPrometheus
from tests.tools import engine

HOST = "shop.example.com"
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 900ms}}
scrape_configs:
- job_name: pods
  file_sd_configs: [{{files: ['{folder}/targets.json'], refresh_interval: 1s}}]
- job_name: gateway/traefik
  static_configs: [{{targets: ['127.0.0.1:METRICS'], labels: {{namespace: gateway, pod: traefik-0, by: pod}}}}]
- job_name: traefik
  static_configs: [{{targets: ['127.0.0.1:METRICS'], labels: {{namespace: gateway, pod: traefik-0, service: traefik, by: service}}}}]
"""


class Backends:
    """An HTTP server for each version, at an address of its own."""

    def __init__(self) -> None:
        self.served: dict[str, list[str]] = {}
        self._servers: list[ThreadingHTTPServer] = []

    def address(self, name: str, port: int) -> str:
        number = len(self._servers) + 2
        address = f"10.244.200.{number}"
        seen = self.served.setdefault(name, [])

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                seen.append(self.path)
                self.send_response(500 if "fail" in self.path else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        server = ThreadingHTTPServer((address, port), Handler)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self._servers.append(server)
        return address

    def end(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


class TraefikWorld:
    def __init__(self, folder: Path) -> None:
        self.place = Place(folder, apart=True)
        self._inside = self.place.inside()
        self._inside.__enter__()
        self.backends = Backends()
        try:
            self.plane = ControlPlane(self.place)
            self.plane.install_crds("gateway.networking.k8s.io_*", "traefik.io_*")
            for name in ("shop", "gati-system"):
                self.plane.namespace(name)
            self.port, metrics = free_port(), free_port()
            self._gateway()
            self._start(metrics)
            self.prometheus = RealPrometheus(
                folder / "prometheus", CONFIG.replace("METRICS", str(metrics))
            )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if hasattr(self, "prometheus"):
            self.prometheus.end()
        self.backends.end()
        self.place.close()
        self._inside.__exit__(None, None, None)

    # -- for tests --------------------------------------------------------------------------------

    def apply(self, found: Mapping[UnitKey, Stored]) -> None:
        """Services with endpoints, but for versions that are parked, and the routes of units."""
        for stored in found.values():
            assert stored.ledger is not None
            for entry in stored.ledger.entries:
                version = stored.plan.version(entry.id, entry.digest)
                if version is not None and entry.phase in DEPLOYED:
                    parked = entry.phase is Phase.PARKED
                    self._service(stored.plan.unit.namespace, version.name, version.port, parked)
            for body in routes(stored.plan, stored.ledger):
                self.plane.api.apply(body)

    def get(self, path: str, version: str = "", host: str = HOST) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        headers = {"Host": host} | ({"X-Gati-Version": version} if version else {})
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def until(self, path: str, version: str, status: int) -> None:
        until(f"{path} {version}", lambda: self.get(path, version) == status, within=30)

    def scraped(self) -> None:
        self.prometheus.scraped(5, "traefik-0")

    # -- beginning --------------------------------------------------------------------------------

    def _gateway(self) -> None:
        version = "gateway.networking.k8s.io/v1"
        spec: dict[str, Any] = {"controllerName": "traefik.io/gateway-controller"}
        listener = {
            "name": "http", "protocol": "HTTP", "port": self.port,
            "allowedRoutes": {"namespaces": {"from": "All"}},
        }  # fmt: skip
        for kind, meta, body in (
            ("GatewayClass", {"name": "traefik"}, spec),
            (
                "Gateway",
                {"name": "gati", "namespace": "gati-system"},
                {"gatewayClassName": "traefik", "listeners": [listener]},
            ),
        ):
            self.plane.api.apply(
                {"apiVersion": version, "kind": kind, "metadata": meta, "spec": body}
            )

    def _start(self, metrics: int) -> None:
        access = [
            f"--providers.{name}.{option}"
            for name in ("kubernetesgateway", "kubernetescrd")
            for option in (
                f"endpoint={self.plane.server}",
                f"token={self.plane.token}",
                f"certauthfilepath={self.plane.authority}",
            )
        ]
        self.traefik = self.place.start(
            "traefik",
            engine("traefik"),
            f"--entrypoints.web.address=127.0.0.1:{self.port}",
            f"--entrypoints.metrics.address=127.0.0.1:{metrics}",
            "--metrics.prometheus=true",
            "--metrics.prometheus.entrypoint=metrics",
            "--metrics.prometheus.addrouterslabels=true",
            "--providers.kubernetescrd.allowemptyservices=true",
            *access,
            "--providers.providersthrottleduration=100ms",
            "--global.checknewversion=false",
            "--global.sendanonymoususage=false",
            "--log.level=INFO",
        )

    def _service(self, namespace: str, name: str, port: int, parked: bool) -> None:
        ports = [{"name": "http", "port": port, "protocol": "TCP"}]
        meta = {"name": name, "namespace": namespace}
        self.plane.api.apply(
            {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": ports}}
        )
        endpoints = []
        if not parked:
            address = self.backends.address(f"{namespace}/{name}", port)
            endpoints = [{"addresses": [address], "conditions": {"ready": True}}]
        self.plane.api.apply(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {**meta, "labels": {"kubernetes.io/service-name": name}},
                "addressType": "IPv4",
                "endpoints": endpoints,
                "ports": ports,
            }
        )


def parked(stored: Stored, version_id: str) -> Stored:
    assert stored.ledger is not None
    entries: Iterable[Any] = (
        replace(e, phase=Phase.PARKED, weight=0) if e.id == version_id else replace(e, weight=100)
        for e in stored.ledger.entries
    )
    return replace(stored, ledger=stored.ledger.with_entries(entries))
