"""A kubelet of the tests' own: it binds pods, starts a real HTTP server for each, and tells the truth.

    python -m tests.e2e.kubelet SERVER TOKEN_FILE CA_FILE FOLDER RANGE

Pods get an address each out of RANGE (such as 10.244.0), on the loopback device of the namespace that all
of this runs in. Probes are really asked, containers really crash, restart and back off, and a pod that is
deleted has its preStop hook and its grace period. Resource metrics are served as metrics-server does, so that
autoscalers have something to follow. What it leaves out: images, volumes, cgroups, exec.
"""

import itertools
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from urllib3.exceptions import HTTPError

from tests.e2e.api import Api, ApiError
from tests.e2e.podlife import Pod, Runtime, now
from tests.e2e.usage import serve_usage

NODE = "e2e-node"
LEASE_EVERY = 10


class Kubelet:
    def __init__(self, api: Api, folder: Path, addresses: str) -> None:
        self.api = api
        self.runtime = Runtime(api, folder, NODE)
        self.pods: dict[str, Pod] = {}
        numbers = itertools.cycle(
            f"{addresses[: addresses.rindex('.')]}.{int(addresses.rpartition('.')[2]) + n // 250}.{n % 250 + 2}"
            for n in range(250 * 8)
        )
        self.addresses = numbers
        self.binder = ThreadPoolExecutor(4)

    def register(self) -> None:
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
        ready |= {"lastHeartbeatTime": now(), "lastTransitionTime": now()}
        many = {"cpu": "64", "memory": "256Gi", "pods": "500"}
        labels = {"kubernetes.io/hostname": NODE, "topology.kubernetes.io/zone": "zone-a"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": labels}}
        if not self.api.find("v1", "Node", "", NODE):
            self.api.create(node)
        status = {
            "capacity": many,
            "allocatable": many,
            "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": next(self.addresses)}],
        }
        self.api.patch("v1", "Node", "", NODE, {"status": status}, sub="status")

    def renew(self) -> None:
        """Without this the cluster takes the node for dead and its pods with it."""
        meta = {"name": NODE, "namespace": "kube-node-lease"}
        spec = {"holderIdentity": NODE, "leaseDurationSeconds": 40, "renewTime": now(micro=True)}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta}
        while True:
            try:
                spec["renewTime"] = now(micro=True)
                self.api.apply({**lease, "spec": spec}, manager="kubelet")
                node = self.api.find("v1", "Node", "", NODE)
                if not node or condition(node, "Ready") != "True":
                    self.register()  # It is new, or was taken for dead while it could not be heard.
            except (ApiError, HTTPError, OSError) as error:
                print(f"lease: {error}", flush=True)
            time.sleep(LEASE_EVERY)

    def follow(self) -> None:
        path = self.api.path("v1", "Pod")
        while True:
            try:
                listed = self.api.request("GET", path)
                seen = {item["metadata"]["uid"] for item in listed["items"]}
                for item in listed["items"]:
                    self.take("MODIFIED", item)
                for uid in self.pods.keys() - seen:
                    self.pods.pop(uid).vanish()
                for kind, body in self.api.watch(path, listed["metadata"]["resourceVersion"]):
                    if kind in ("ERROR", "BOOKMARK"):
                        break
                    self.take(kind, body)
            except (ApiError, HTTPError, OSError, ValueError) as error:
                print(f"watch: {error}", flush=True)
                time.sleep(0.5)

    def take(self, kind: str, body: dict[str, Any]) -> None:
        uid = body["metadata"]["uid"]
        if kind == "DELETED":
            if uid in self.pods:
                self.pods.pop(uid).vanish()
            return
        spec = body["spec"]
        if not spec.get("nodeName") and not body["metadata"].get("deletionTimestamp"):
            self.binder.submit(self.bind, body)
            return
        if spec.get("nodeName") != NODE:
            return
        if uid not in self.pods:
            self.pods[uid] = Pod(self.runtime, body, next(self.addresses))
            self.pods[uid].start()
        else:
            self.pods[uid].heard(condition(body, "Ready"))
        if body["metadata"].get("deletionTimestamp"):
            self.pods[uid].leave(body["metadata"].get("deletionGracePeriodSeconds", 30))

    def bind(self, body: dict[str, Any]) -> None:
        meta = {"name": body["metadata"]["name"], "namespace": body["metadata"]["namespace"]}
        path = self.api.path("v1", "Pod", meta["namespace"], meta["name"], "binding")
        target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        try:
            self.api.request("POST", path, binding)
        except (ApiError, HTTPError, OSError) as error:
            if not isinstance(error, ApiError) or error.status not in (404, 409):
                print(f"bind {meta['name']}: {error}", flush=True)


def condition(body: dict[str, Any], kind: str) -> str:
    found = body.get("status", {}).get("conditions") or ()
    return next((c["status"] for c in found if c["type"] == kind), "")


def main() -> None:
    server, token, authority, folder, addresses = sys.argv[1:]
    api = Api(server, Path(token).read_text(), Path(authority))
    kubelet = Kubelet(api, Path(folder), addresses)
    kubelet.register()
    threading.Thread(target=kubelet.renew, daemon=True).start()
    serve_usage(f"{addresses}.1", Path(folder), kubelet.pods)
    print(f"kubelet {os.getpid()} is ready", flush=True)
    kubelet.follow()


if __name__ == "__main__":
    main()
