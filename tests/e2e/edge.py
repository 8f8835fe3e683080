"""Traefik, following the HTTPRoutes of one cluster, as the gateway that our routes attach to."""

import urllib.error
import urllib.request
from typing import Any

from tests.e2e.cluster import Cluster, condition
from tests.e2e.processes import until
from tests.tools import engine

GATEWAY = ("gateway.networking.k8s.io/v1", "Gateway", "gati-system", "gati")


class Edge:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.url = f"http://127.0.0.1:{cluster.port('edge')}"
        self._setup()
        provider = "--providers.kubernetesgateway"
        self.traefik = cluster.plane.start(
            "traefik",
            engine("traefik"),
            f"--entrypoints.web.address=127.0.0.1:{cluster.port('edge')}",
            f"--entrypoints.metrics.address=127.0.0.1:{cluster.port('edge-metrics')}",
            "--metrics.prometheus=true",
            "--metrics.prometheus.entrypoint=metrics",
            # Calls for a version without pods are counted by its router only.
            "--metrics.prometheus.addrouterslabels=true",
            f"{provider}=true",
            f"{provider}.endpoint={cluster.plane.server}",
            f"{provider}.token={cluster.plane.token}",
            f"{provider}.certauthfilepath={cluster.plane.authority}",
            f"{provider}.statusaddress.ip=127.0.0.1",
            # How long it gathers changes before it follows them; two seconds by default.
            "--providers.providersthrottleduration=500ms",
            "--global.checknewversion=false",
            "--global.sendanonymoususage=false",
            "--log.level=INFO",
        )
        until("the gateway", self.programmed, within=60)

    def _setup(self) -> None:
        version = GATEWAY[0]
        spec = {"controllerName": "traefik.io/gateway-controller"}
        listener: dict[str, Any] = {"name": "http", "protocol": "HTTP"}
        listener |= {"port": self.cluster.port("edge")}
        listener |= {"allowedRoutes": {"namespaces": {"from": "All"}}}
        gateway = {"gatewayClassName": "traefik", "listeners": [listener]}
        self.cluster.apply_all(
            [
                {
                    "apiVersion": version,
                    "kind": "GatewayClass",
                    "metadata": {"name": "traefik"},
                    "spec": spec,
                },
                {
                    "apiVersion": version,
                    "kind": "Gateway",
                    "metadata": {"namespace": GATEWAY[2], "name": GATEWAY[3]},
                    "spec": gateway,
                },
            ]
        )

    def programmed(self) -> bool:
        assert self.traefik.running, self.traefik.said()
        return condition(self.cluster.api.get(*GATEWAY), "Programmed")[0] == "True"

    def accepted(self, namespace: str, name: str) -> bool:
        """Whether Traefik has taken a route as it stands now."""
        body = self.cluster.api.get(GATEWAY[0], "HTTPRoute", namespace, name)
        for parent in body.get("status", {}).get("parents", ()):
            for found in parent["conditions"]:
                if found["type"] == "Accepted":
                    current = found["observedGeneration"] == body["metadata"]["generation"]
                    return current and found["status"] == "True"
        return False

    def serves(self, path: str, host: str) -> bool:
        """Whether requests get through: a route may be accepted before its pods are known."""
        request = urllib.request.Request(f"{self.url}{path}", headers={"Host": host})
        try:
            with self.cluster.place.inside(), urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status == 200
        except urllib.error.HTTPError as error:
            error.close()
            return False

    def end(self) -> None:
        self.traefik.end()
