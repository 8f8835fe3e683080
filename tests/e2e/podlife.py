"""The life of one pod: its process, its probes, its restarts, its end, and what the cluster is told of it."""

import base64
import contextlib
import datetime as dt
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from urllib3.exceptions import HTTPError

from tests.e2e import pod as server
from tests.e2e.api import Api, ApiError

TICK = 0.1
# A crashed container waits so long, then twice as long, and so on: ten times faster than Kubernetes.
BACKOFF, BACKOFF_MAX = 1.0, 30.0
STABLE = 60.0  # Seconds after which a crash is a first one again.


def now(*, micro: bool = False) -> str:
    moment = dt.datetime.now(dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Runtime:
    api: Api
    folder: Path
    node: str


class ConfigError(Exception):
    """A Secret or a ConfigMap that is named is not there."""


class Pod(threading.Thread):
    def __init__(self, runtime: Runtime, body: dict[str, Any], address: str) -> None:
        super().__init__(daemon=True)
        self.runtime = runtime
        self.meta = body["metadata"]
        self.spec = body["spec"]
        self.container = self.spec["containers"][0]
        self.address = address
        self.process: subprocess.Popen[bytes] | None = None
        self.started = self.began = now()
        self.running_since = 0.0
        self.restarts = 0
        self.crashes = 0
        self.last: dict[str, Any] = {}
        self.waiting: dict[str, str] = {"reason": "ContainerCreating"}
        self.ready = False
        self.ready_since = now()
        self.up = False  # Its startup probe has passed.
        self.told: dict[str, Any] = {}
        self._leaving: float | None = None
        self._gone = threading.Event()

    # --------------------------------------------------------------------------------- from outside

    def leave(self, grace: float) -> None:
        if self._leaving is None:
            self._leaving = grace

    def vanish(self) -> None:
        """It was deleted by force: nobody waits for it."""
        self._gone.set()

    def heard(self, ready: str) -> None:
        """What the cluster takes it for; if that is not what it was told, it is told again."""
        if self.told and ready != str(self.told["containerStatuses"][0]["ready"]):
            self.told = {}

    # ------------------------------------------------------------------------------------- its life

    def run(self) -> None:
        while not self._gone.is_set() and self._leaving is None:
            try:
                self.process = self.launch()
            except ConfigError as error:
                self.waiting = {"reason": "CreateContainerConfigError", "message": str(error)}
                self.tell()
                self.pause(2)
                continue
            self.attend()
            if self._gone.is_set() or self._leaving is not None:
                break
            self.crashed()
        if self._leaving is not None and not self._gone.is_set():
            self.depart(self._leaving)
        self.kill()

    def attend(self) -> None:
        """While the container runs: ask its probes, tell what changed."""
        self.running_since = time.monotonic()
        self.began = now()
        self.up = not self.container.get("startupProbe")
        probes = {
            kind: Probe(self.container[f"{kind}Probe"], self.address, self.container)
            for kind in ("startup", "readiness", "liveness")
            if self.container.get(f"{kind}Probe")
        }
        self.ready = self.up and "readiness" not in probes
        while not self._gone.is_set() and self._leaving is None:
            if self.process is None or self.process.poll() is not None:
                return
            wanted = ("readiness", "liveness") if self.up else ("startup",)
            for kind in wanted:
                if kind in probes and (answer := probes[kind].ask()) is not None:
                    self.answered(kind, ok=answer)
            if self.up and "readiness" not in probes:
                self.set_ready(ready=True)
            self.tell()
            self.pause(TICK)

    def answered(self, kind: str, *, ok: bool) -> None:
        if kind == "readiness":
            self.set_ready(ready=ok)
        elif kind == "startup" and ok:
            self.up = True
        elif not ok and self.process:
            print(f"{self.meta['name']}: {kind} probe failed, restarting", flush=True)
            self.kill()

    def set_ready(self, *, ready: bool) -> None:
        if ready != self.ready:
            self.ready, self.ready_since = ready, now()

    def crashed(self) -> None:
        code = self.process.wait() if self.process else 1
        ended = {"exitCode": code if code >= 0 else 128 - code, "reason": "Error"}
        self.last = {"terminated": {**ended, "startedAt": self.began, "finishedAt": now()}}
        self.restarts += 1
        stable = time.monotonic() - self.running_since > STABLE
        self.crashes = 1 if stable else self.crashes + 1
        self.process = None
        self.set_ready(ready=False)
        delay = min(BACKOFF * 2 ** (self.crashes - 1), BACKOFF_MAX)
        if self.crashes > 1:
            self.waiting = {
                "reason": "CrashLoopBackOff",
                "message": f"back-off {delay:g}s restarting failed container",
            }
        else:
            self.waiting = {"reason": "Error"}
        self.tell()
        self.pause(delay)

    def depart(self, grace: float) -> None:
        """preStop, then SIGTERM, then SIGKILL, all within the grace period."""
        end = time.monotonic() + grace
        hook = self.container.get("lifecycle", {}).get("preStop", {})
        asked = float(hook.get("sleep", {}).get("seconds", 0))
        if asked and self.process:
            self._gone.wait(min(asked, grace))
        if self.process:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(max(0.1, end - time.monotonic()))
        self.kill()
        while not self._gone.is_set():
            try:
                self.runtime.api.delete(
                    "v1", "Pod", self.meta["namespace"], self.meta["name"],
                    gracePeriodSeconds=0, preconditions={"uid": self.meta["uid"]},
                )  # fmt: skip
                return
            except ApiError as error:
                if error.status in (404, 409):
                    return
            except (HTTPError, OSError):
                pass
            self._gone.wait(0.5)

    def pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._gone.is_set() and self._leaving is None:
            time.sleep(min(TICK, seconds))

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()

    # ----------------------------------------------------------------------------------- its process

    def launch(self) -> subprocess.Popen[bytes]:
        """In the kubelet's process group: when that ends, the node is gone with all its pods."""
        env = {"PATH": os.environ.get("PATH", ""), "HOSTNAME": self.meta["name"]}
        env["GATI_E2E_ROUTE"] = self.meta.get("annotations", {}).get("gati.dev/path", "/")
        env |= self.environment()
        port = self.container["ports"][0]["containerPort"]
        log = self.runtime.folder / "logs" / "pods" / f"{self.meta['name']}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as out:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", server.__file__, f"{self.address}:{port}"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=env,
            )

    def environment(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for source in self.container.get("envFrom", ()):
            for kind in ("configMap", "secret"):
                if ref := source.get(f"{kind}Ref"):
                    data = self.data(kind, ref["name"], optional=ref.get("optional", False))
                    found |= {f"{source.get('prefix', '')}{k}": v for k, v in data.items()}
        for item in self.container.get("env", ()):
            found[item["name"]] = self.value(item)
        return found

    def value(self, item: dict[str, Any]) -> str:
        source = item.get("valueFrom")
        if not source:
            return str(item.get("value", ""))
        if ref := source.get("fieldRef"):
            known = {"status.podIP": self.address, "metadata.name": self.meta["name"]}
            known |= {"metadata.namespace": self.meta["namespace"], "status.hostIP": self.address}
            return known.get(ref["fieldPath"], "")
        kind = "configMap" if "configMapKeyRef" in source else "secret"
        ref = source.get(f"{kind}KeyRef", {})
        optional = ref.get("optional", False)
        data = self.data(kind, ref.get("name", ""), optional=optional)
        if ref.get("key") not in data and not optional:
            raise ConfigError(f"couldn't find key {ref.get('key')} in {kind} {ref.get('name')}")
        return data.get(ref.get("key", ""), "")

    def data(self, kind: str, name: str, *, optional: bool) -> dict[str, str]:
        upper = {"configMap": "ConfigMap", "secret": "Secret"}[kind]
        body = self.runtime.api.find("v1", upper, self.meta["namespace"], name)
        if body is None:
            if optional:
                return {}
            raise ConfigError(f'{kind.lower()} "{name}" not found')
        data = body.get("data") or {}
        if kind == "secret":
            return {key: base64.b64decode(value).decode() for key, value in data.items()}
        return data

    # ---------------------------------------------------------------------------------------- status

    def tell(self) -> None:
        status = self.status()
        if status == self.told:
            return
        path = self.runtime.api.path(
            "v1", "Pod", self.meta["namespace"], self.meta["name"], "status"
        )
        body = {"metadata": {"uid": self.meta["uid"]}, "status": status}
        try:
            self.runtime.api.request("PATCH", path, body, type="application/merge-patch+json")
            self.told = status
        except ApiError as error:
            if error.status in (404, 409):  # It has gone meanwhile.
                return
            print(f"status of {self.meta['name']}: {error}", flush=True)
        except (HTTPError, OSError) as error:
            print(f"status of {self.meta['name']}: {error}", flush=True)

    def status(self) -> dict[str, Any]:
        running = self.process is not None and self.process.poll() is None
        if running:
            state: dict[str, Any] = {"running": {"startedAt": self.began}}
        else:
            state = {"waiting": self.waiting}
        ready = running and self.ready
        container = {
            "name": self.container["name"],
            "image": self.container["image"],
            "imageID": self.container["image"],
            "ready": ready,
            "started": running and self.up,
            "restartCount": self.restarts,
            "state": state,
            "lastState": self.last,
        }
        flags = {"PodScheduled": True, "Initialized": True, "PodReadyToStartContainers": True}
        flags |= {"ContainersReady": ready, "Ready": ready}
        conditions = [
            {
                "type": kind,
                "status": str(flag),
                "lastTransitionTime": self.ready_since if "Ready" in kind else self.started,
            }
            for kind, flag in flags.items()
        ]
        started = running or self.restarts
        return {
            "phase": "Running" if started else "Pending",
            "hostIP": self.address,
            "podIP": self.address,
            "podIPs": [{"ip": self.address}],
            "startTime": self.started,
            "conditions": conditions,
            "containerStatuses": [container],
        }


class Probe:
    """One of a container's probes: when to ask, and what its answers add up to."""

    def __init__(self, spec: dict[str, Any], address: str, container: dict[str, Any]) -> None:
        self.spec = spec
        self.address = address
        self.ports = {p.get("name"): p["containerPort"] for p in container.get("ports", ())}
        self.next = time.monotonic() + spec.get("initialDelaySeconds", 0)
        self.good = self.bad = 0

    def ask(self) -> bool | None:
        """Passed or failed, once its thresholds are reached; None while nothing is decided."""
        if time.monotonic() < self.next:
            return None
        ok = self._once(self.spec.get("timeoutSeconds", 1))
        self.next = time.monotonic() + self.spec.get("periodSeconds", 10)
        self.good, self.bad = (self.good + 1, 0) if ok else (0, self.bad + 1)
        if ok:
            return True if self.good >= self.spec.get("successThreshold", 1) else None
        return False if self.bad >= self.spec.get("failureThreshold", 3) else None

    def _once(self, timeout: float) -> bool:
        try:
            if http := self.spec.get("httpGet"):
                url = f"http://{self.address}:{self._port(http['port'])}{http.get('path', '/')}"
                with urllib.request.urlopen(url, timeout=timeout) as answer:
                    return 200 <= answer.status < 400
            where = self.spec.get("tcpSocket") or self.spec.get("grpc") or {}
            place = (self.address, self._port(where["port"]))
            with socket.create_connection(place, timeout=timeout):
                return True
        except (OSError, ValueError):
            return False

    def _port(self, named: int | str) -> int:
        return named if isinstance(named, int) else self.ports[named]
