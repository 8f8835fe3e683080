"""Prometheus for one cluster, and a little of its operator: monitors and rules become its configuration.

    python -m tests.e2e.prometheus SERVER TOKEN_FILE CA_FILE FOLDER PORT EDGE INTERVAL

What an operator does with a ServiceMonitor is done here with the same labels: `job`, `namespace`, `service`,
`pod`, `endpoint`, then the monitor's own relabelings. Debian's Prometheus can't discover targets in Kubernetes, so
they are looked up here and given to it as files, with the labels that its own discovery would have given.
Traefik's metrics are scraped besides.
"""

import json
import re
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from urllib3.exceptions import HTTPError

from tests.e2e.api import Api, ApiError
from tests.e2e.cluster import ROOT, Cluster
from tests.e2e.processes import until
from tests.tools import tool

MONITORS = "monitoring.coreos.com/v1"
EVERY = 1.0


# ------------------------------------------------------------------------------------------ for tests


class Prometheus:
    def __init__(self, cluster: Cluster, interval: str = "2s") -> None:
        self.cluster = cluster
        port = cluster.port("prometheus")
        self.url = f"http://127.0.0.1:{port}"
        folder = cluster.folder / "prometheus"
        edge = f"127.0.0.1:{cluster.port('edge-metrics')}"
        for name in ("rules", "targets"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        write(folder, [], [], edge, interval)
        self._command = (
            tool("prometheus"),
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--web.enable-lifecycle",
            "--query.lookback-delta=30s",
        )
        self.start()
        token = cluster.folder / "keys" / "kubelet.token"
        self._operator = cluster.plane.start(
            "prometheus-operator", sys.executable, "-m", "tests.e2e.prometheus",
            cluster.plane.server, token, cluster.plane.authority, folder, port, edge, interval,
            env={"PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def get(self, path: str) -> str:
        try:
            with (
                self.cluster.place.inside(),
                urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer,
            ):
                return answer.read().decode()
        except urllib.error.HTTPError as error:  # It holds its connection until it is closed.
            error.close()
            raise

    def query(self, expression: str) -> list[dict[str, Any]]:
        from urllib.parse import urlencode

        found = json.loads(self.get(f"/api/v1/query?{urlencode({'query': expression})}"))
        return found["data"]["result"]

    def stop(self) -> None:
        self.server.end()

    def start(self) -> None:
        self.server = self.cluster.plane.start("prometheus", *self._command)
        until("Prometheus", lambda: self.get("/-/ready"), within=60)


# --------------------------------------------------------------------------------------- the operator


def write(folder: Path, monitors: list, rules: list, edge: str, interval: str) -> bool:
    """The configuration as it should be; whether it was another one before."""
    traefik = {"job_name": "traefik", "static_configs": [{"targets": [edge]}]}
    jobs = [job for monitor in monitors for job in scrape(monitor, folder)]
    body = {
        "global": {"scrape_interval": interval, "evaluation_interval": interval},
        "scrape_configs": [traefik, *jobs],
        "rule_files": [str(folder / "rules" / "*.json")],
    }
    wanted = {folder / "prometheus.yml": json.dumps(body, indent=1)}
    for rule in rules:
        name = f"{rule['metadata']['namespace']}-{rule['metadata']['name']}.json"
        wanted[folder / "rules" / name] = json.dumps({"groups": rule["spec"]["groups"]})
    changed = [put(path, text) for path, text in wanted.items()]
    gone = set((folder / "rules").glob("*.json")) - wanted.keys()
    for path in gone:
        path.unlink()
    return any(changed) or bool(gone)


def put(path: Path, text: str) -> bool:
    """A file at once and whole, if it is another one."""
    if path.exists() and path.read_text() == text:
        return False
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)
    return True


def scrape(monitor: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Scrape jobs of one ServiceMonitor or PodMonitor."""
    pods = monitor["kind"] == "PodMonitor"
    meta, spec = monitor["metadata"], monitor["spec"]
    kind = "pod" if pods else "service"
    names = spec.get("namespaceSelector", {}).get("matchNames") or [meta["namespace"]]
    files = [str(folder / "targets" / f"{kind}-{name}.json") for name in names]
    jobs = []
    for index, endpoint in enumerate(spec["podMetricsEndpoints" if pods else "endpoints"]):
        port = "pod_container_port_name" if pods else "endpointslice_port_name"
        relabel = [
            *selection(spec["selector"], kind),
            keep(port, endpoint["port"]),
            copy("namespace", "namespace"),
            copy("pod_name", "pod"),
            copy("pod_container_name", "container"),
            *(() if pods else [copy("service_name", "service")]),
            {"target_label": "endpoint", "replacement": endpoint["port"]},
            *(snake(rule) for rule in endpoint.get("relabelings", ())),
        ]
        jobs.append(
            {
                "job_name": f"{kind}Monitor/{meta['namespace']}/{meta['name']}/{index}",
                "honor_labels": endpoint.get("honorLabels", False),
                "scrape_interval": endpoint["interval"],
                "scrape_timeout": endpoint["scrapeTimeout"],
                "metrics_path": endpoint.get("path", "/metrics"),
                "scheme": endpoint.get("scheme", "http"),
                "file_sd_configs": [{"files": files}],
                "relabel_configs": relabel,
            }
        )
    return jobs


M = "__meta_kubernetes_"


def label(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)


def keep(name: str, value: str) -> dict[str, Any]:
    return {"source_labels": [f"{M}{name}"], "regex": value, "action": "keep"}


def copy(name: str, target: str) -> dict[str, Any]:
    return {"source_labels": [f"{M}{name}"], "target_label": target}


def selection(selector: dict[str, Any], owner: str) -> list[dict[str, Any]]:
    rules = [
        keep(f"{owner}_label_{label(key)}", re.escape(value))
        for key, value in selector.get("matchLabels", {}).items()
    ]
    for found in selector.get("matchExpressions", ()):
        name = label(found["key"])
        present = found["operator"]
        assert present in ("Exists", "In", "DoesNotExist"), found
        if present == "In":
            rules.append(keep(f"{owner}_label_{name}", "|".join(map(re.escape, found["values"]))))
        else:
            rules.append(
                keep(f"{owner}_labelpresent_{name}", "true" if present == "Exists" else "")
            )
    return rules


def snake(rule: dict[str, Any]) -> dict[str, Any]:
    return {re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", key): v for key, v in rule.items()}


# ------------------------------------------------------------------------------------------ discovery


def labels_of(body: dict[str, Any], kind: str) -> dict[str, str]:
    found = {f"{M}{kind}_name": body["metadata"]["name"]}
    for key, value in body["metadata"].get("labels", {}).items():
        found[f"{M}{kind}_label_{label(key)}"] = value
        found[f"{M}{kind}_labelpresent_{label(key)}"] = "true"
    return found


def endpoints(api: Api, namespace: str) -> list[dict[str, Any]]:
    """As the role `endpointslice`: every port of every endpoint, with its service and its pod."""
    services = {s["metadata"]["name"]: s for s in api.items("v1", "Service", namespace)}
    pods = {p["metadata"]["name"]: p for p in api.items("v1", "Pod", namespace)}
    found = []
    for each in api.items("discovery.k8s.io/v1", "EndpointSlice", namespace):
        service = services.get(each["metadata"]["labels"].get("kubernetes.io/service-name", ""))
        for one in each.get("endpoints") or ():
            pod = pods.get((one.get("targetRef") or {}).get("name", ""))
            for port in each.get("ports") or ():
                meta = {f"{M}namespace": namespace, f"{M}endpointslice_port_name": port["name"]}
                meta |= labels_of(service, "service") if service else {}
                meta |= labels_of(pod, "pod") if pod else {}
                if pod:
                    meta[f"{M}pod_container_name"] = pod["spec"]["containers"][0]["name"]
                targets = [f"{address}:{port['port']}" for address in one["addresses"]]
                found.append({"targets": targets, "labels": meta})
    return found


def containers(api: Api, namespace: str) -> list[dict[str, Any]]:
    """As the role `pod`: every port of every container."""
    found = []
    for pod in api.items("v1", "Pod", namespace):
        for container in pod["spec"]["containers"]:
            for port in container.get("ports", ()):
                meta = {f"{M}namespace": namespace, **labels_of(pod, "pod")}
                meta[f"{M}pod_container_name"] = container["name"]
                meta[f"{M}pod_container_port_name"] = port.get("name", "")
                if address := pod.get("status", {}).get("podIP"):
                    target = f"{address}:{port['containerPort']}"
                    found.append({"targets": [target], "labels": meta})
    return found


def main() -> None:
    server, token, authority, folder, port, edge, interval = sys.argv[1:]
    api = Api(server, Path(token).read_text(), Path(authority))
    targets = Path(folder, "targets")
    while True:
        try:
            services = api.items(MONITORS, "ServiceMonitor")
            pods = api.items(MONITORS, "PodMonitor")
            for name in {m["metadata"]["namespace"] for m in services}:
                put(targets / f"service-{name}.json", json.dumps(endpoints(api, name), indent=1))
            for name in {m["metadata"]["namespace"] for m in pods}:
                put(targets / f"pod-{name}.json", json.dumps(containers(api, name), indent=1))
            rules = api.items(MONITORS, "PrometheusRule")
            if write(Path(folder), [*services, *pods], rules, edge, interval):
                request = urllib.request.Request(f"http://127.0.0.1:{port}/-/reload", method="POST")
                urllib.request.urlopen(request, timeout=10).close()
                print(f"{len(services + pods)} monitors, {len(rules)} rules", flush=True)
        except (ApiError, HTTPError, OSError) as error:
            print(error, flush=True)
        time.sleep(EVERY)


if __name__ == "__main__":
    main()
