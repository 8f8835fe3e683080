"""From a kubeconfig, or from inside a cluster, to a connection.

Reading, TLS and rotating tokens are lightkube's. Added is what it leaves out and people have: a
list of files in KUBECONFIG, `tls-server-name`, `proxy-url`, and programs for credentials of the
present API version.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gati_gitops.observe.kube_errors import KubeError
from gati_gitops.observe.kube_shapes import LEARNING
from gati_gitops.report.clean import safe

if TYPE_CHECKING:
    import httpx2

LOOPBACK = ("localhost", "127.0.0.1", "::1")
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_DEFAULT = "~/.kube/config"
_FILES = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}


@dataclass(frozen=True, slots=True)
class Access:
    """How the API of a cluster is reached; without more, as kubectl would."""

    kubeconfig: str = ""
    """One file or several, as KUBECONFIG has them."""
    context: str = ""
    in_cluster: bool = False
    """By the account of the pod that this runs in."""
    service_account: str = SERVICE_ACCOUNT

    def __str__(self) -> str:
        if self.in_cluster:
            return "the pod's own service account"
        return f"the context {self.context}" if self.context else "the current context"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long one request may take, in seconds."""

    connect: float = 10
    read: float = 30
    """Between two parts of an answer."""
    answer: float = 90
    """The whole of it."""
    program: float = 60
    """A program that gives credentials."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A client, who we are in its requests, and by which name the server is checked."""

    client: httpx2.Client
    auth: httpx2.Auth | None
    server: str
    namespace: str
    extensions: Mapping[str, Any] = field(default_factory=dict)


def connect(access: Access, timeouts: Timeouts) -> Connection:
    """Open nothing yet, but know all that is needed. Raises KubeError."""
    import msgspec
    from lightkube.core.exceptions import ConfigError

    try:
        with LEARNING:  # the types of a kubeconfig; several clusters are connected to at once
            return _inside(access, timeouts) if access.in_cluster else _outside(access, timeouts)
    except KubeError:
        raise
    except (
        ConfigError,
        msgspec.ValidationError,
        OSError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        # messages of readers may quote what they read, so only the kind of error is told
        known = str(error) if isinstance(error, ConfigError | OSError) else type(error).__name__
        raise KubeError(
            f"the cluster can't be reached by {access}: {safe(known)}",
            remedy="name a kubeconfig with --kubeconfig, or run as a pod with a service account",
        ) from None


def _inside(access: Access, timeouts: Timeouts) -> Connection:
    from lightkube.config.kubeconfig import KubeConfig

    if not os.environ.get("KUBERNETES_SERVICE_HOST"):
        raise KubeError(
            "this does not run inside a cluster: KUBERNETES_SERVICE_HOST is not set",
            remedy="name a kubeconfig with --kubeconfig",
        )
    config = KubeConfig.from_service_account(access.service_account).get()
    return _connection(config, timeouts, {}, {}, None)


def _outside(access: Access, timeouts: Timeouts) -> Connection:
    from lightkube.config.kubeconfig import KubeConfig

    merged = _merged(_paths(access))
    context = access.context or merged["current-context"]
    contexts = merged["contexts"]
    if context not in contexts:
        known = ", ".join(sorted(contexts)) or "none"
        raise KubeError(
            f"the kubeconfig has no context {safe(context)!r}; it has {safe(known)}"
            if context
            else "the kubeconfig has no current context",
            remedy="name one of its contexts with --context",
        )
    said = contexts[context]
    cluster = merged["clusters"].get(said.get("cluster"))
    user = merged["users"].get(said.get("user") or "", {})
    if cluster is None or (said.get("user") and said["user"] not in merged["users"]):
        raise KubeError(
            f"the context {safe(context)!r} names a cluster or user that the kubeconfig lacks",
            remedy="mend the kubeconfig; `kubectl config view` shows it",
        )
    plain = {key: value for key, value in user.items() if key != "exec"}
    config = KubeConfig.from_dict(
        {
            "current-context": context,
            "contexts": [{"name": context, "context": {**said, "cluster": "it", "user": "us"}}],
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "us", "user": plain}],
        }
    ).get()
    return _connection(config, timeouts, cluster, user, Path(merged["folders"][context]))


def _connection(
    config: Any,
    timeouts: Timeouts,
    cluster: Mapping[str, Any],
    user: Mapping[str, Any],
    folder: Path | None,
) -> Connection:
    import httpx2
    from lightkube.config import client_adapter

    server = str(config.cluster.server).rstrip("/")
    parts = urlsplit(server)
    local = parts.hostname in LOOPBACK
    proxy = str(cluster.get("proxy-url") or "") or None
    client = client_adapter.Client(
        config,
        client_adapter.ConnectionParams(
            timeout=httpx2.Timeout(timeouts.read, connect=timeouts.connect),
            trust_env=not local,  # nobody's proxy stands between a machine and itself
            proxy=proxy,
        ),
    )
    auth: httpx2.Auth | None = None
    if "exec" in user:
        from gati_gitops.observe.kube_exec import ExecAuth, program_of

        auth = ExecAuth(program_of(user["exec"], folder, cluster), timeouts.program)
    if parts.scheme != "https" and not local and (auth or client.auth):
        raise KubeError(
            f"{safe(server)} is not https: credentials are never sent in the clear",
            remedy="set the cluster's server to its https address",
        )
    name = str(cluster.get("tls-server-name") or "")
    return Connection(
        client, auth, server, config.namespace, {"sni_hostname": name} if name else {}
    )


def _paths(access: Access) -> list[Path]:
    said = access.kubeconfig or os.environ.get("KUBECONFIG") or _DEFAULT
    paths = [Path(part).expanduser() for part in said.split(os.pathsep) if part]
    found = [path for path in paths if path.is_file()]
    if not found:
        raise KubeError(
            f"there is no kubeconfig {safe(said)}",
            remedy="name one with --kubeconfig or KUBECONFIG",
        )
    return found


def _merged(paths: list[Path]) -> dict[str, Any]:
    """All files as one: what an earlier one says stays, and its own paths lead from itself."""
    from gati_gitops.yamlio.goyaml_read import decode, read_config

    merged: dict[str, Any] = {
        "current-context": "", "contexts": {}, "clusters": {}, "users": {}, "folders": {},
    }  # fmt: skip
    for path in paths:
        data = read_config(decode(path.read_bytes()))
        if not isinstance(data, dict):
            raise KubeError(f"{path} is no kubeconfig", remedy="name another file")
        merged["current-context"] = merged["current-context"] or data.get("current-context") or ""
        for kind in ("context", "cluster", "user"):
            for item in data.get(f"{kind}s") or ():
                value = dict(item.get(kind) or {})
                for key in _FILES.get(kind, ()):
                    if value.get(key):
                        value[key] = str(path.parent / str(value[key]))
                merged[f"{kind}s"].setdefault(item["name"], value)
                if kind == "context":
                    merged["folders"].setdefault(item["name"], str(path.parent))
    return merged
