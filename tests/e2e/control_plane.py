"""etcd, kube-apiserver and kube-controller-manager: a cluster without nodes.

In the machine's own network its ports are free ones on 127.0.0.1; in a namespace apart they are those of
every cluster. People and programs get tokens: `admin` may do everything, `account` makes one that may
do what its rules say.
"""

import base64
import json
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.e2e.api import APPLY, Api
from tests.e2e.processes import Place, Program, until
from tests.servers.certificates import Authority
from tests.servers.process import free_port
from tests.tools import crds_dir, engine

ADMIN = "e2e-admin-token"
STARTED = 90.0  # Seconds; a busy machine is slow.
# Of third parties: what our output is made of, what engines sync it by, and what they want to find.
CRDS = (
    "argoproj.io_Application",
    "argoproj.io_AppProject",
    "gateway.networking.k8s.io_*",
    "keda.sh_*",
    "kustomize.toolkit.fluxcd.io_*",
    "monitoring.coreos.com_PodMonitor",
    "monitoring.coreos.com_PrometheusRule",
    "monitoring.coreos.com_ServiceMonitor",
    "networking.istio.io_DestinationRule",
    "networking.istio.io_Gateway",
    "networking.istio.io_VirtualService",
    "source.toolkit.fluxcd.io_*",
    "traefik.io_IngressRoute",
    "traefik.io_Middleware",
    "traefik.io_TraefikService",
)


@dataclass(frozen=True)
class Account:
    """Somebody who may do something."""

    token: str
    kubeconfig: Path


class ControlPlane:
    def __init__(self, place: Place, *, name: str = "", ports: Sequence[int] = ()) -> None:
        """With a name it is one of several in its place; without ports they are any that are free."""
        self.place = place
        self.name = name
        self.folder = place.folder / name
        self._port, self._etcd_port, self._peer_port, self._manager_port = ports or [
            free_port() for _ in range(4)
        ]
        self.server = f"https://127.0.0.1:{self._port}"
        self.token = ADMIN
        self._keys()
        self.authority = self._authority.file
        self.kubeconfig = self.config("admin", ADMIN)
        self.api = Api(self.server, ADMIN, self.authority)
        self._etcd = self._start_etcd()
        self._serve()

    # ------------------------------------------------------------------------------------- for tests

    def kubectl(self, *args: str, stdin: str = "", check: bool = True) -> str:
        """What kubectl prints; its refusal, when it refuses, unless `check` is off."""
        with self.place.inside():
            done = subprocess.run(
                [str(engine("kubectl")), f"--kubeconfig={self.kubeconfig}", *args],
                input=stdin,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
                env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"},
            )
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout if check else done.stdout + done.stderr

    def install_crds(self, *names: str) -> None:
        """Third parties' CRDs as `make tools` has them: `keda.sh_*`; without a name all that matter."""
        files = {path for name in names or CRDS for path in crds_dir().glob(f"{name}.yaml")}
        self.install([path.read_text() for path in sorted(files)])

    def install(self, crds: Sequence[str]) -> None:
        """The text of CRDs, as it is, until the server serves them."""
        names = [re.findall(r"(?m)^  name: (\S+)$", text)[0] for text in crds]
        kind = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
        query = {"fieldManager": "e2e", "force": "true", "fieldValidation": "Strict"}

        def one(name: str, text: str) -> None:
            with self.place.inside():
                self.api.request("PATCH", self.api.path(*kind, name), text, query=query, type=APPLY)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(one, names, crds))
        for name in names:
            until(f"CRD {name}", lambda name=name: self._established(name), within=STARTED)

    def namespace(self, name: str, **labels: str) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        if labels:
            body["metadata"]["labels"] = labels
        self.api.apply(body)

    def account(
        self, name: str, rules: Sequence[Mapping[str, Any]] = (), *, namespace: str = "default"
    ) -> Account:
        """A ServiceAccount with a ClusterRole of these rules, and its token."""
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        rbac = "rbac.authorization.k8s.io/v1"
        meta = {"name": name, "namespace": namespace}
        self.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
        self.api.apply(
            {
                "apiVersion": rbac,
                "kind": "ClusterRole",
                "metadata": {"name": name},
                "rules": [dict(rule) for rule in rules],
            }
        )
        self.api.apply(
            {
                "apiVersion": rbac,
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": role,
                "subjects": [{"kind": "ServiceAccount", **meta}],
            }
        )
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = self.api.request("POST", path, body)["status"]["token"]
        return Account(token, self.config(f"{namespace}-{name}", token))

    def config(self, name: str, token: str) -> Path:
        """A kubeconfig with a token."""
        path = self.folder / "kubeconfigs" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        authority = base64.b64encode(self._authority.file.read_bytes()).decode()
        cluster = {"server": self.server, "certificate-authority-data": authority}
        body = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": cluster}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": name}}],
            "current-context": "e2e",
        }
        path.write_text(json.dumps(body))
        path.chmod(0o600)
        return path

    def issue(self, host: str, certificate: Path, key: Path) -> None:
        """A server's certificate by the cluster's own authority."""
        self._authority.issue(host, certificate, key)

    def stop_api(self) -> None:
        self._apiserver.end(grace=0)

    def start_api(self) -> None:
        self._apiserver = self._start_apiserver()
        self._wait("the API server", self._answers, self._etcd, self._apiserver)

    def close(self) -> None:
        """No open connection; its programs end with their place."""
        self.api.close()

    def wipe(self) -> None:
        """A new and empty cluster with the same address, keys and tokens."""
        self.api.close()
        for program in (self._manager, self._apiserver, self._etcd):
            program.end(grace=0)
        self._etcd = self._start_etcd()
        self.api = Api(self.server, ADMIN, self.authority)
        self._serve()

    # -------------------------------------------------------------------------------------- programs

    def start(self, name: str, *command: object, env: Mapping[str, str] | None = None) -> Program:
        return self.place.start(f"{self.name}-{name}".strip("-"), *command, env=env)

    def _keys(self) -> None:
        self._authority = Authority(self.folder / "keys")
        certificate, key = self.folder / "keys/server.pem", self.folder / "keys/server.key"
        self._authority.issue("127.0.0.1", certificate, key)
        accounts = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        (self.folder / "keys/accounts.key").write_bytes(
            accounts.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        (self.folder / "keys/accounts.pub").write_bytes(
            accounts.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
        (self.folder / "keys/tokens.csv").write_text(f'{ADMIN},admin,admin,"system:masters"\n')

    def _start_etcd(self) -> Program:
        client, peer = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peer_port}"
        data = self.folder / f"etcd-{time.monotonic_ns()}"
        return self.start(
            "etcd",
            engine("etcd"),
            f"--data-dir={data}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )

    def _start_apiserver(self) -> Program:
        keys = self.folder / "keys"
        return self.start(
            "kube-apiserver",
            engine("kube-apiserver"),
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._port}",
            f"--tls-cert-file={keys}/server.pem",
            f"--tls-private-key-file={keys}/server.key",
            f"--service-account-key-file={keys}/accounts.pub",
            f"--service-account-signing-key-file={keys}/accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={keys}/tokens.csv",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            # A place apart has no route that would tell its address; nobody asks for it.
            "--advertise-address=10.244.0.1",
            "--endpoint-reconciler-type=none",
            "--enable-aggregator-routing=true",
            "--profiling=false",
        )

    def _start_manager(self) -> Program:
        keys = self.folder / "keys"
        return self.start(
            "kube-controller-manager",
            engine("kube-controller-manager"),
            f"--kubeconfig={self.kubeconfig}",
            f"--authentication-kubeconfig={self.kubeconfig}",
            f"--authorization-kubeconfig={self.kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._manager_port}",
            "--leader-elect=false",
            f"--service-account-private-key-file={keys}/accounts.key",
            f"--root-ca-file={self._authority.file}",
            "--use-service-account-credentials=false",
            # There is one node, and nobody else to take its pods. After an outage of the API server this one
            # may hear of it late; one that leads by a Lease would have ended, and begun anew.
            "--node-monitor-grace-period=10m",
            "--horizontal-pod-autoscaler-sync-period=2s",
            "--horizontal-pod-autoscaler-initial-readiness-delay=1s",
            "--horizontal-pod-autoscaler-cpu-initialization-period=2s",
            "--profiling=false",
        )

    def _serve(self) -> None:
        """Who manages ends when nobody serves for ten seconds, so it comes last."""
        self._apiserver = self._start_apiserver()
        self._wait("the API server", self._answers, self._etcd, self._apiserver)
        self._manager = self._start_manager()
        account = ("v1", "ServiceAccount", "default", "default")
        self._wait("its controllers", lambda: self.api.find(*account), self._manager)

    def _answers(self) -> bool:
        return self.api.request("GET", "/readyz") == "ok"

    def _wait(self, what: str, probe: Callable[[], object], *programs: Program) -> None:
        def ready() -> bool:
            for program in programs:
                if not program.running:
                    raise RuntimeError(f"{program.name} ended:\n{program.said()}")
            with self.place.inside():
                return bool(probe())

        until(what, ready, within=STARTED)

    def _established(self, name: str) -> bool:
        body = self.api.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
        conditions = body.get("status", {}).get("conditions") or ()
        return ("Established", "True") in [(c["type"], c["status"]) for c in conditions]
