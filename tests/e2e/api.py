"""A small client of the Kubernetes API, for tests and for their kubelet."""

import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
LATER = 429
FOREGROUND = {"propagationPolicy": "Foreground"}


class ApiError(AssertionError):
    """What the API server refused, in its words."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.reason = reason


@dataclass
class Api:
    server: str
    token: str
    authority: Path
    _kinds: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        context = ssl.create_default_context(cafile=str(self.authority))
        self._pool = urllib3.PoolManager(ssl_context=context, maxsize=8, retries=False)
        self._lock = threading.Lock()

    # ------------------------------------------------------------------------------------- objects

    def get(self, version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
        return self.request("GET", self.path(version, kind, namespace, name))

    def find(self, version: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """The same, or nothing when it is not there."""
        try:
            return self.get(version, kind, namespace, name)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(
        self, version: str, kind: str, namespace: str = "", **query: str
    ) -> list[dict[str, Any]]:
        """All of a kind; an item of a list has neither apiVersion nor kind, here it does."""
        found = self.request("GET", self.path(version, kind, namespace), query=query)["items"]
        return [{"apiVersion": version, "kind": kind} | item for item in found]

    def create(self, body: Mapping[str, Any], **query: str) -> dict[str, Any]:
        version, kind, namespace, _ = identity(body)
        return self.request(
            "POST",
            self.path(version, kind, namespace),
            body,
            query={"fieldValidation": "Strict"} | query,
        )

    def apply(
        self,
        body: Mapping[str, Any],
        *,
        manager: str = "e2e",
        force: bool = True,
        dry: bool = False,
    ) -> dict[str, Any]:
        """Server-side apply, with strict field validation."""
        query = {"fieldManager": manager, "fieldValidation": "Strict", "force": str(force).lower()}
        query |= {"dryRun": "All"} if dry else {}
        return self.request("PATCH", self.path(*identity(body)), body, query=query, type=APPLY)

    def patch(
        self, version: str, kind: str, namespace: str, name: str, body: Any, *, sub: str = ""
    ) -> dict[str, Any]:
        path = self.path(version, kind, namespace, name, sub)
        return self.request("PATCH", path, body, type=MERGE)

    def delete(
        self, version: str, kind: str, namespace: str, name: str, **body: Any
    ) -> dict[str, Any]:
        return self.request("DELETE", self.path(version, kind, namespace, name), body or None)

    def path(
        self, version: str, kind: str, namespace: str = "", name: str = "", sub: str = ""
    ) -> str:
        known = self._known(version, kind)
        parts = ["api" if version == "v1" else "apis", version]
        if known["namespaced"] and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (known["name"], name, sub) if part]
        return "/" + "/".join(parts)

    def _known(self, version: str, kind: str) -> dict[str, Any]:
        with self._lock:
            if kind not in self._kinds.get(version, {}):
                found = self.request("GET", f"/{'api' if version == 'v1' else 'apis'}/{version}")
                self._kinds[version] = {
                    r["kind"]: r for r in found["resources"] if "/" not in r["name"]
                }
        if kind not in self._kinds[version]:
            raise ApiError(404, f"the server has no kind {kind} in {version}")
        return self._kinds[version][kind]

    # ------------------------------------------------------------------------------------ requests

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        type: str = "application/json",
        timeout: float = 30,
    ) -> Any:
        end = time.monotonic() + timeout
        while True:
            answer = self._pool.request(
                method,
                self._url(path, query),
                body=body if body is None or isinstance(body, str) else json.dumps(body),
                headers=self._headers(type),
                timeout=timeout,
            )
            # Of a kind that is young it says that it comes, and to ask again.
            if answer.status != LATER or time.monotonic() > end:
                break
            time.sleep(0.5)
        if answer.status >= 400:
            raise _refusal(answer.status, answer.data.decode(errors="replace"))
        said = answer.data.decode()
        return json.loads(said) if said[:1] in ("{", "[") else said

    def watch(self, path: str, since: str, timeout: int = 60) -> Iterator[tuple[str, Any]]:
        """Events after a resource version, until the server ends the stream."""
        query = {"watch": "1", "resourceVersion": since, "timeoutSeconds": str(timeout)}
        answer = self._pool.request(
            "GET",
            self._url(path, query),
            headers=self._headers("application/json"),
            preload_content=False,
            timeout=urllib3.Timeout(connect=5, read=timeout + 10),
        )
        try:
            if answer.status >= 400:
                raise _refusal(answer.status, answer.read().decode(errors="replace"))
            rest = b""
            for chunk in answer.stream(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    yield event["type"], event["object"]
        finally:
            answer.close()

    def close(self) -> None:
        self._pool.clear()

    def _url(self, path: str, query: Mapping[str, str] | None) -> str:
        return f"{self.server}{path}" + (f"?{urlencode(query)}" if query else "")

    def _headers(self, type: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": type}


def identity(body: Mapping[str, Any]) -> tuple[str, str, str, str]:
    metadata = body["metadata"]
    return body["apiVersion"], body["kind"], metadata.get("namespace", ""), metadata["name"]


def _refusal(status: int, said: str) -> ApiError:
    try:
        found = json.loads(said)
        return ApiError(status, found.get("message", said), found.get("reason", ""))
    except ValueError:
        return ApiError(status, said)
