"""Credentials from a program that the kubeconfig names, as clouds and identity providers want it.

The program is run when a token is first needed, when it has expired, and once more when the server
does not take it any longer. It may ask nobody: there is no terminal behind a job.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2

from gati_gitops.observe.kube_errors import KubeError
from gati_gitops.report.clean import safe

_API = "client.authentication.k8s.io/"
_VERSIONS = ("v1", "v1beta1", "v1alpha1")
_SOON = 30
"""Seconds before its end at which a token counts as expired."""


@dataclass(frozen=True, slots=True)
class Program:
    """What the kubeconfig says of the program."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    api_version: str
    hint: str
    cluster: Mapping[str, Any] | None
    """What the program is told of the cluster, where it asks for that."""


class ExecAuth(httpx2.Auth):
    """Bearer tokens of a program; one run serves all threads."""

    def __init__(self, program: Program, timeout: float) -> None:
        self._program = program
        self._timeout = timeout
        self._lock = threading.Lock()
        self._token = ""
        self._ends = 0.0

    def sync_auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        token = self._current("")
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401:
            request.headers["Authorization"] = f"Bearer {self._current(token)}"
            yield request

    def _current(self, refused: str) -> str:
        """A token that is not the refused one."""
        with self._lock:
            stale = self._ends and time.time() > self._ends - _SOON
            if not self._token or stale or self._token == refused:
                self._token, self._ends = run(self._program, self._timeout)
            return self._token


def program_of(said: Mapping[str, Any], folder: Path | None, cluster: Mapping[str, Any]) -> Program:
    """The program of a user in a kubeconfig. Raises KubeError."""
    api_version = str(said.get("apiVersion") or "")
    if api_version.removeprefix(_API) not in _VERSIONS or not said.get("command"):
        raise KubeError(
            f"the kubeconfig's program for credentials speaks {safe(api_version) or 'nothing'}",
            remedy=f"set apiVersion to {_API}v1, and command to the program",
        )
    command = str(said["command"])
    if "/" in command and folder is not None and not Path(command).is_absolute():
        command = str(folder / command)  # a bare name is looked for on PATH
    told = {
        "server": cluster.get("server", ""),
        "certificate-authority-data": cluster.get("certificate-authority-data", ""),
        "tls-server-name": cluster.get("tls-server-name", ""),
        "insecure-skip-tls-verify": bool(cluster.get("insecure-skip-tls-verify", False)),
    }
    return Program(
        command=command,
        args=tuple(str(arg) for arg in said.get("args") or ()),
        env={str(item["name"]): str(item["value"]) for item in said.get("env") or ()},
        api_version=api_version,
        hint=str(said.get("installHint") or ""),
        cluster=told if said.get("provideClusterInfo") else None,
    )


def run(program: Program, timeout: float) -> tuple[str, float]:
    """A token and when it ends; 0: nobody says. Raises KubeError."""
    spec: dict[str, Any] = {"interactive": False}
    if program.cluster is not None:
        spec["cluster"] = program.cluster
    info = {"apiVersion": program.api_version, "kind": "ExecCredential", "spec": spec}
    env = {**os.environ, **program.env, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    try:
        done = subprocess.run(  # noqa: S603 - the kubeconfig is the user's own
            [program.command, *program.args],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _failed(program, f"it took longer than {timeout:.0f} s") from None
    except OSError as error:
        raise _failed(program, error.strerror or "it can't be run") from None
    if done.returncode != 0:
        said = safe(" ".join(done.stderr.decode(errors="replace").split()))[:300]
        raise _failed(program, f"it ended with {done.returncode}" + (f": {said}" if said else ""))
    return _credential(program, done.stdout)


def _credential(program: Program, output: bytes) -> tuple[str, float]:
    # what it printed may be a secret, so it is never quoted
    try:
        status = json.loads(output)["status"]
        token, ends = status.get("token"), status.get("expirationTimestamp")
        moment = datetime.fromisoformat(ends).timestamp() if ends else 0.0
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _failed(program, "it printed no ExecCredential") from None
    if not isinstance(token, str) or not token.strip():
        more = " but a client certificate, and that is not supported"
        found = more if isinstance(status.get("clientCertificateData"), str) else ""
        raise _failed(program, f"it gave no token{found}")
    return token.strip(), moment


def _failed(program: Program, why: str) -> KubeError:
    return KubeError(
        f"the program {safe(program.command)} gave no credentials for the cluster: {why}",
        remedy=safe(" ".join(program.hint.split()))[:300]
        or "run it by hand to see what it wants; a job can't answer questions",
    )
