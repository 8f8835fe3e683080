"""One look at a cluster with a fleet: 1,000 units of 3 versions with 2 pods each.

The API server's answers are recorded: pages of 500 objects as large as real ones, with who wrote
which field, served by a process of their own, so that only our own work is measured: requests,
parsing, and making units out of lists. Beside it, what parsing the same pages alone costs.

python bench/cluster.py [--smoke] [--units N]
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent))

from gati_gitops.decide.observation import Live, LiveRoute, Missing
from gati_gitops.ledger.stored import Stored
from gati_gitops.observe.cluster import Cluster
from gati_gitops.observe.kube import Access, Kube
from gati_gitops.observe.wanted import Wanted
from gati_gitops.output import Output, UnitKey
from gati_gitops.render import FileSystem, MemoryFiles, render
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import canary, handler, tree_of, version
from tests.observe.kube_api import PLURALS, kubeconfig
from tests.observe.world import endpoint_slice, pod

SMOKE = "--smoke" in sys.argv
UNITS = int(sys.argv[sys.argv.index("--units") + 1]) if "--units" in sys.argv else 1000
PODS, PAGE, ROUNDS = 2, 500, 5
Object = dict[str, Any]
Pages = dict[str, list[bytes]]


def template() -> tuple[Stored, list[Object]]:
    """A unit of three versions, and what a cluster has of it."""
    documents = {
        "gati.yaml": canary(),
        "users.yaml": handler(
            "NAME", weight=80, replicas=PODS, env={f"E{n}": "x" for n in range(9)}
        ),
        "v2.yaml": version("NAME", "v2", 10, image="ghcr.io/acme/NAME:v2"),
        "v3.yaml": version("NAME", "v3", 10, image="ghcr.io/acme/NAME:v3"),
    }
    tree = tree_of({name: text.replace("NAME", "unit-0000") for name, text in documents.items()})
    (stored,) = Output(MemorySnapshot(tree)).units("prod", "east").values()
    return stored, list(running(MemoryFiles(tree), "overlays/prod/east/shop/handler-unit-0000"))


def running(files: FileSystem, folder: str) -> Iterator[Object]:
    """What a cluster has of a unit that is synced and well."""
    for item in render(files, folder).objects():
        if item["kind"] == "Deployment":
            count = item["spec"]["replicas"]
            counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas"), count)
            item["status"] = {"observedGeneration": 1, **counts, "conditions": _conditions(2)}
            yield from _pods(item, count)
        elif item["kind"] == "HTTPRoute":
            parents = [
                {"parentRef": ref, "controllerName": "x/y", "conditions": _conditions(2)}
                for ref in item["spec"]["parentRefs"]
            ]
            item["status"] = {"parents": parents}
        if item["kind"] in ("Deployment", "Service", "HTTPRoute"):
            item["metadata"]["generation"] = 1
            yield _written(item)


def _pods(item: Object, count: int) -> Iterator[Object]:
    head, labels = item["metadata"], item["spec"]["template"]["metadata"]["labels"]
    pods = [pod(pod_name(head["name"], n), "shop", labels) for n in range(count)]
    for one in pods:
        one["metadata"]["uid"] = "0192f9dd-45bb-4b3a-bf48-692da8006713"
        one["spec"] = item["spec"]["template"]["spec"]
        one["status"]["conditions"] = _conditions(5)
        yield _written(one)
    yield _written(endpoint_slice(head["name"], "shop", head["labels"], pods))


def pod_name(workload: str, number: int) -> str:
    return f"{workload}-5d4f8b7c9-{number:05}"


def _conditions(count: int) -> list[Object]:
    names = ("Accepted", "ResolvedRefs", "Ready", "Initialized", "PodScheduled")
    moment = "2026-11-01T00:00:00Z"
    return [
        {"type": name, "status": "True", "reason": name, "message": "all is well",
         "lastTransitionTime": moment, "observedGeneration": 1}
        for name in names[:count]
    ]  # fmt: skip


def _written(item: Object) -> Object:
    """With the record that a server keeps of who wrote which field: as large as the object."""
    head = item["metadata"]
    head |= {"resourceVersion": "4711", "creationTimestamp": "2026-11-01T00:00:00Z"}
    parts = {"argocd-controller": ("spec", "metadata"), "kube-controller-manager": ("status",)}
    head["managedFields"] = [
        {
            "manager": manager, "operation": "Apply", "apiVersion": item["apiVersion"],
            "time": "2026-11-01T00:00:00Z", "fieldsType": "FieldsV1",
            "fieldsV1": {f"f:{part}": _fields(item[part]) for part in named if part in item},
        }
        for manager, named in parts.items()
    ]  # fmt: skip
    return item


def _fields(value: Any) -> Object:
    if isinstance(value, dict):
        return {f"f:{key}": _fields(below) for key, below in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict) and "name" in value[0]:
        named = {f'k:{{"name":"{one["name"]}"}}': {".": {}, **_fields(one)} for one in value}
        return {".": {}, **named}
    return {}


def recorded(count: int) -> tuple[dict[UnitKey, Stored], Pages]:
    """So many units, and the pages that an API server would answer with."""
    from gati_gitops.ledger.store import plan_data, plan_from

    stored, objects = template()
    units: dict[UnitKey, Stored] = {}
    plan = json.dumps(plan_data(stored.plan))
    names = [f"unit-{number:04}" for number in range(count)]
    for name in names:
        mine = plan_from(json.loads(plan.replace(names[0], name)), "unit.yaml")
        units[mine.unit.key] = Stored(mine, stored.ledger)
    return units, copied(objects, names)


def copied(objects: Iterable[Object], names: list[str]) -> Pages:
    """The objects of the first of these units, for all of them."""
    found: dict[str, list[str]] = {}
    for item in objects:
        text = json.dumps(item)
        texts = found.setdefault(PLURALS[item["apiVersion"], item["kind"]], [])
        texts += [text.replace(names[0], name) for name in names]
    return {plural: list(_pages(plural, texts)) for plural, texts in found.items()}


def _pages(plural: str, texts: list[str]) -> Iterator[bytes]:
    kind = next(kind for (_, kind), name in PLURALS.items() if name == plural)
    for start in range(0, len(texts), PAGE):
        more = f"{start // PAGE + 1}" if start + PAGE < len(texts) else ""
        meta = json.dumps({"resourceVersion": "4711", "continue": more})
        items = ",".join(texts[start : start + PAGE])
        yield f'{{"kind":"{kind}List","metadata":{meta},"items":[{items}]}}'.encode()


def serve(pages: Pages, port: Any) -> None:
    """The API server: discovery, and pages as they were recorded."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            page = int(parse_qs(parts.query).get("continue", ["0"])[0])
            plural = parts.path.rpartition("/")[2]
            if plural in PLURALS.values():
                body = pages[plural][page] if plural in pages else b'{"kind":"List","items":[]}'
                self._send(200, body)
            elif parts.path.count("/") == 2 and parts.path.startswith("/apis/"):
                self._send(404, b"{}")  # none of the optional kinds
            else:
                group = parts.path.removeprefix("/apis/").removeprefix("/api/")
                resources = [
                    {"name": name, "kind": kind, "namespaced": True}
                    for (api, kind), name in PLURALS.items()
                    if api == group
                ]
                self._send(200, json.dumps({"resources": resources}).encode())

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port.value = server.server_address[1]
    server.serve_forever()


@contextmanager
def served(pages: Pages) -> Iterator[Access]:
    """An API server in a process of its own."""
    port = multiprocessing.Value("i", 0)
    server = multiprocessing.Process(target=serve, args=(pages, port), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kubeconfig")
        file.write_text(kubeconfig(f"http://127.0.0.1:{port.value}", {"token": "x"}))
        yield Access(str(file))
    server.terminate()
    server.join()


def main() -> int:
    count = 20 if SMOKE else UNITS
    units, pages = recorded(count)
    size = sum(len(page) for some in pages.values() for page in some)
    with served(pages) as access:
        kube = Kube(access, page=PAGE)
        cluster = Cluster(kube)
        looks = [_measured(cluster, Wanted("east", units)) for _ in range(1 if SMOKE else ROUNDS)]
        kube.close()
    start = time.process_time()
    for some in pages.values():
        for page in some:
            json.loads(page)
    parsing = time.process_time() - start
    cpu, wall = min(one[0] for one in looks), min(one[1] for one in looks)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count} units, {size / 1e6:.0f} MB of answers in {sum(map(len, pages.values()))} pages")
    print(f"one look: {cpu:.2f} s CPU, {wall:.2f} s; parsing alone {parsing:.2f} s CPU")
    print(f"peak memory, the recording included: {peak:.0f} MiB")
    if not SMOKE and count == 1000 and cpu > 2:
        print("slower than 2 s of CPU", file=sys.stderr)
        return 1
    return 0


def _measured(cluster: Cluster, wanted: Wanted) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = cluster.look(wanted)
    took = (time.process_time() - cpu, time.perf_counter() - wall)
    assert not isinstance(found, Missing), found
    for unit in found.values():
        assert isinstance(unit, Live)
        assert isinstance(unit.route, LiveRoute)
        assert unit.route.current
        assert [len(w.pods) for w in unit.workloads.values()] == [PODS] * 3
        assert [w.ready_endpoints for w in unit.workloads.values()] == [PODS] * 3
        assert unit.references == dict.fromkeys(unit.workloads, ())
    return took


if __name__ == "__main__":
    sys.exit(main())
