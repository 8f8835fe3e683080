"""An API server as far as reading goes, that misbehaves on order.

What real servers do is shown by tests with the fixture `control_plane`; this one is for what they do
only on bad days: refuse, stall, cut an answer in half, forget the state that a list is read from.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from gati_gitops.observe.kube import Access, Kube, Patience, Timeouts
from gati_gitops.observe.kube_http import Http

Object = dict[str, Any]
TOKEN = "not-a-real-token-0815"
PLURALS = {
    ("v1", "Pod"): "pods",
    ("v1", "Service"): "services",
    ("v1", "Event"): "events",
    ("v1", "ConfigMap"): "configmaps",
    ("apps/v1", "Deployment"): "deployments",
    ("discovery.k8s.io/v1", "EndpointSlice"): "endpointslices",
    ("networking.k8s.io/v1", "Ingress"): "ingresses",
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): "httproutes",
    ("networking.istio.io/v1", "VirtualService"): "virtualservices",
    ("traefik.io/v1alpha1", "IngressRoute"): "ingressroutes",
    ("traefik.io/v1alpha1", "TraefikService"): "traefikservices",
    ("argoproj.io/v1alpha1", "Application"): "applications",
    ("argoproj.io/v1alpha1", "AppProject"): "appprojects",
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"): "kustomizations",
    ("source.toolkit.fluxcd.io/v1", "GitRepository"): "gitrepositories",
}


class Harm(Enum):
    CUT = auto()
    """The line is cut before an answer."""
    HALF = auto()
    """Half of the answer gets through."""
    STALL = auto()
    """The request is taken and never answered."""
    DRIP = auto()
    """The answer comes a byte at a time."""
    LATE_CUT = auto()
    """It is done, and the answer is lost."""


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    raw: str = ""
    """The path as it was sent."""

    @property
    def is_list(self) -> bool:
        return self.method == "GET" and self.path.rpartition("/")[2] in PLURALS.values()


Rule = Callable[[Request], Harm | Reply | None]


def status(code: int, message: str, reason: str = "", **details: Any) -> Reply:
    """A refusal as API servers word it."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return Reply(code, {**body, "message": message, "reason": reason, "details": details})


def once(
    harm: Harm | Reply, when: Callable[[Request], bool] = lambda _: True, times: int = 1
) -> Rule:
    """Harm for the first requests of a kind, and none for those after."""
    left = [times]

    def rule(request: Request) -> Harm | Reply | None:
        if not left[0] or not when(request):
            return None
        left[0] -= 1
        return harm

    return rule


class KubeApi:
    """Set ``rule`` to do harm; ``requests`` are those that were seen."""

    def __init__(
        self, objects: Iterable[Object] = (), certificate: tuple[Path, Path] | None = None
    ) -> None:
        self.served = dict(PLURALS)
        self.objects: list[Object] = list(objects)
        self.rule: Rule = lambda _: None
        self.requests: list[Request] = []
        self.waits: list[float] = []
        self.continued: dict[str, tuple[list[Object], int]] = {}
        self.token = TOKEN
        self._ending = threading.Event()
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: object) -> None:
                pass

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except OSError:
                    self.close_connection = True

            def do_GET(self) -> None:
                api._answer(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - as http.server wants it

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def end(self) -> None:
        self._ending.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def access(self, folder: Path, token: str = TOKEN) -> Access:
        file = folder / "kubeconfig"
        file.write_text(kubeconfig(self.url, {"token": token}))
        return Access(str(file))

    def kube(self, folder: Path, *, page: int = 500, **timeouts: float) -> Kube:
        """A client that does not wait long, and only notes how long it would between two tries."""
        limits = Timeouts(**{"connect": 2, "read": 2, "answer": 5, **timeouts})
        http = Http(
            self.access(folder),
            timeouts=limits,
            patience=Patience(attempts=3, seconds=10),
            pause=self.waits.append,
        )
        return Kube(page=page, http=http)

    def lists(self) -> list[str]:
        """What was listed, in order."""
        return [request.path for request in self.requests if request.is_list]

    # ------------------------------------------------------------------------------ answering

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        length = int(handler.headers.get("content-length") or 0)
        raw = handler.rfile.read(length)
        request = Request(
            handler.command,
            unquote(parts.path),
            dict(parse_qsl(parts.query)),
            {key.lower(): value for key, value in handler.headers.items()},
            json.loads(raw) if raw else None,
            parts.path,
        )
        self.requests.append(request)
        harm = self.rule(request)
        if harm is Harm.CUT:
            _cut(handler)
            return
        if harm is Harm.STALL:
            self._ending.wait(30)
            _cut(handler)
            return
        reply = harm if isinstance(harm, Reply) else self._reply(request)
        text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        body = text.encode()
        if harm is Harm.LATE_CUT:
            _cut(handler)
            return
        handler.send_response(reply.status)
        kind = "text/html" if isinstance(reply.body, str) else "application/json"
        for name, value in {"Content-Type": kind, **reply.headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if harm is Harm.HALF:
            handler.wfile.write(body[: len(body) // 2])
            _cut(handler)
        elif harm is Harm.DRIP:
            for byte in body:
                handler.wfile.write(bytes([byte]))
                handler.wfile.flush()
                if self._ending.wait(0.02):
                    return
        else:
            handler.wfile.write(body)

    def _reply(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return status(401, "Unauthorized", "Unauthorized")
        steps = request.path.strip("/").split("/")
        head = 2 if steps[0] == "api" else 3
        version = "/".join(steps[1:head])
        rest = steps[head:]
        if steps[0] == "apis" and len(steps) == 2:
            return self._group(steps[1])
        if not rest:
            return self._resources(version)
        namespace = rest[1] if rest[0] == "namespaces" and len(rest) > 2 else ""
        plural, *names = rest[2:] if namespace else rest
        kind = next((k for (v, k), p in self.served.items() if (v, p) == (version, plural)), "")
        if not kind:
            return Reply(404, "404 page not found")
        if request.method == "GET" and not names:
            return self._list(request, version, kind, namespace)
        return self._object(request, version, kind, namespace, names[0] if names else "")

    def _group(self, group: str) -> Reply:
        versions = sorted({v for v, _ in self.served if v.startswith(f"{group}/")})
        if not versions:
            return Reply(404, "404 page not found")
        told = [{"groupVersion": v, "version": v.partition("/")[2]} for v in versions]
        return Reply(200, {"kind": "APIGroup", "versions": told, "preferredVersion": told[-1]})

    def _resources(self, version: str) -> Reply:
        found = [
            {"name": plural, "kind": kind, "namespaced": True}
            for (v, kind), plural in self.served.items()
            if v == version
        ]
        if not found:
            return Reply(404, "404 page not found")
        parts = [{**one, "name": f"{one['name']}/status"} for one in found]
        return Reply(200, {"kind": "APIResourceList", "resources": found + parts})

    def _list(self, request: Request, version: str, kind: str, namespace: str) -> Reply:
        token = request.query.get("continue", "")
        if token:
            if token not in self.continued:
                return status(410, "The provided continue parameter is too old", "Expired")
            items, start = self.continued[token]
        else:
            items, start = self._matching(request, version, kind, namespace), 0
        limit = int(request.query.get("limit", 0)) or len(items)
        page, left = items[start : start + limit], items[start + limit :]
        meta: Object = {"resourceVersion": "1"}
        if left:
            meta["continue"] = f"{id(items)}-{start + limit}"
            self.continued[meta["continue"]] = (items, start + limit)
        bare = [{k: v for k, v in one.items() if k not in ("kind", "apiVersion")} for one in page]
        return Reply(200, {"kind": f"{kind}List", "metadata": meta, "items": bare})

    def _matching(self, request: Request, version: str, kind: str, namespace: str) -> list[Object]:
        found = []
        for item in self.objects:
            head = item["metadata"]
            if (item["apiVersion"], item["kind"]) != (version, kind):
                continue
            if namespace and head.get("namespace") != namespace:
                continue
            if _selected(request.query.get("labelSelector", ""), head.get("labels") or {}):
                found.append(item)
        return found

    def _object(
        self, request: Request, version: str, kind: str, namespace: str, name: str
    ) -> Reply:
        name = name or request.body["metadata"]["name"]
        same = [
            item
            for item in self.objects
            if (item["apiVersion"], item["kind"]) == (version, kind)
            and (item["metadata"].get("namespace", ""), item["metadata"]["name"])
            == (namespace, name)
        ]
        if request.method == "POST":
            if same:
                return status(409, f'{kind} "{name}" already exists', "AlreadyExists", name=name)
            self.objects.append(request.body)
            return Reply(201, request.body)
        if not same:
            return status(404, f'{kind} "{name}" not found', "NotFound", name=name)
        if request.method == "DELETE":
            self.objects.remove(same[0])
            return Reply(200, {"kind": "Status", "status": "Success"})
        if request.method in ("PATCH", "PUT"):
            _merge(same[0], request.body)
        return Reply(200, same[0])


def kubeconfig(server: str, user: Object, cluster: Object | None = None) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "us"}}],
            "clusters": [{"name": "it", "cluster": {"server": server, **(cluster or {})}}],
            "users": [{"name": "us", "user": user}],
        }
    )


def _cut(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)


def _selected(selector: str, labels: dict[str, str]) -> bool:
    for part in filter(None, selector.split(",")):
        key, equals, value = part.partition("=")
        if key not in labels or (equals and labels[key] != value):
            return False
    return True


def _merge(item: Object, change: Object) -> None:
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(item.get(key), dict):
            _merge(item[key], value)
        else:
            item[key] = value
