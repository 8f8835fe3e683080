"""One cluster of a world: a control plane, the tests' kubelet, and what a test adds to it."""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.api import Api, identity
from tests.e2e.control_plane import ControlPlane
from tests.e2e.processes import Place, until
from tests.e2e.usage import PORT as USAGE_PORT

ROOT = Path(__file__).parents[2]
PORTS = (
    "api", "etcd", "etcd-peer", "manager",
    "flux-storage", "source-metrics", "source-health", "kustomize-metrics", "kustomize-health",
    "redis", "repo-server", "repo-metrics", "argocd-metrics",
    "edge", "edge-metrics", "prometheus",
)  # fmt: skip
DEPLOYMENT = ("apps/v1", "Deployment")
ROUTE = ("gateway.networking.k8s.io/v1", "HTTPRoute")


class Cluster:
    def __init__(self, place: Place, name: str, index: int = 0) -> None:
        self.place = place
        self.name = name
        self.index = index
        own = [self.port(part) for part in ("api", "etcd", "etcd-peer", "manager")]
        self.plane = ControlPlane(place, name=name, ports=own)
        self.folder = self.plane.folder
        self._prepare()
        self._kubelet = self._start_kubelet()
        self._wait()

    @property
    def api(self) -> Api:
        return self.plane.api

    def port(self, part: str) -> int:
        """Each cluster of a world has a hundred ports of its own."""
        return 20000 + 100 * self.index + PORTS.index(part)

    # ------------------------------------------------------------------------------------ for tests

    def apply_all(self, objects: Iterable[Mapping[str, Any]], manager: str = "e2e") -> None:
        for body in objects:
            self.api.apply(body, manager=manager)

    def objects(self, *kinds: tuple[str, str]) -> dict[str, dict[str, Any]]:
        """Everything of these kinds that we wrote, by kind, namespace and name."""
        query = {"labelSelector": "app.kubernetes.io/managed-by=gati-gitops"}
        return {
            "/".join(identity(item)[1:]): item
            for kind in kinds
            for item in self.api.items(*kind, **query)
        }

    def weights(self, namespace: str, name: str) -> dict[str, int]:
        """What the live route gives to each Service of a unit."""
        body = self.api.get(*ROUTE, namespace, name)
        rules = [rule for rule in body["spec"]["rules"] if rule.get("name") == "split"]
        return {ref["name"]: ref["weight"] for rule in rules for ref in rule["backendRefs"]}

    def ready(self, namespace: str, name: str) -> int:
        status = self.api.get(*DEPLOYMENT, namespace, name).get("status", {})
        return status.get("readyReplicas", 0)

    def pods(self, namespace: str, unit: str = "") -> list[dict[str, Any]]:
        query = {"labelSelector": f"gati.dev/unit={unit}"} if unit else {}
        return self.api.items("v1", "Pod", namespace, **query)

    def use_cpu(self, **wanted: str) -> None:
        """What metrics-server says of pods whose names begin so; nothing means the truth."""
        text = json.dumps({name.replace("_", "-"): cpu for name, cpu in wanted.items()})
        (self.folder / "usage.json").write_text(text)

    def wipe(self) -> None:
        """Nothing is left of it but its address."""
        self._kubelet.end(grace=0)
        with self.place.inside():
            self.plane.wipe()
        self._prepare()
        self._kubelet = self._start_kubelet()
        self._wait()

    # ------------------------------------------------------------------------------------- beginning

    def _prepare(self) -> None:
        with self.place.inside():
            self.plane.install_crds()
            for name in ("gati-system", "monitoring"):
                self.plane.namespace(name)
            self.apply_all(self._usage_service())
        authority, keys = self.plane, self.folder / "keys"
        authority.issue(self._range + ".1", keys / "usage.pem", keys / "usage.key")

    @property
    def _range(self) -> str:
        return f"10.244.{16 * self.index}"

    def _start_kubelet(self):
        (self.folder / "keys" / "kubelet.token").write_text(self.plane.token)
        return self.plane.start(
            "kubelet",
            sys.executable,
            "-m",
            "tests.e2e.kubelet",
            self.plane.server,
            self.folder / "keys" / "kubelet.token",
            self.plane.authority,
            self.folder,
            self._range,
            env={"PYTHONPATH": str(ROOT)},
        )

    def _wait(self) -> None:
        def ready() -> bool:
            assert self._kubelet.running, self._kubelet.said()
            return "is ready" in self._kubelet.said()

        until("the kubelet", ready, within=30)

    def _usage_service(self) -> list[dict[str, Any]]:
        """So that the API server finds resource metrics at the kubelet."""
        meta = {"name": "usage", "namespace": "kube-system"}
        port = {"name": "https", "port": USAGE_PORT, "protocol": "TCP"}
        service = {"name": "usage", "namespace": "kube-system", "port": USAGE_PORT}
        return [
            {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": [port]}},
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {**meta, "labels": {"kubernetes.io/service-name": "usage"}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": [f"{self._range}.1"], "conditions": {"ready": True}}],
                "ports": [port],
            },
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": "v1beta1.metrics.k8s.io"},
                "spec": {
                    "group": "metrics.k8s.io",
                    "version": "v1beta1",
                    "groupPriorityMinimum": 100,
                    "versionPriority": 100,
                    "insecureSkipTLSVerify": True,
                    "service": service,
                },
            },
        ]


def condition(body: Mapping[str, Any], kind: str) -> tuple[str, str]:
    """A condition's status, and what it says."""
    for found in body.get("status", {}).get("conditions") or ():
        if found["type"] == kind:
            return found["status"], found.get("message", "")
    return "", ""
