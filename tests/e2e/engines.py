"""Flux and Argo CD, set up as their own manifests do, each beside one cluster."""

import base64
import os
import shutil
from pathlib import Path
from typing import Any

from tests.e2e.cluster import Cluster, condition
from tests.e2e.git import GitServer
from tests.e2e.processes import until
from tests.servers.web import TOKEN, USER
from tests.tools import engine, tool

FLUX = "flux-system"
ARGOCD = "argocd"
KUSTOMIZATION = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", FLUX)
SOURCE = ("source.toolkit.fluxcd.io/v1", "GitRepository", FLUX)
APPLICATION = ("argoproj.io/v1alpha1", "Application", ARGOCD)
GIT_SECRET = "deploy-git"


def secret(namespace: str, name: str, labels: dict[str, str], **data: str) -> dict[str, Any]:
    coded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": coded}


class Flux:
    """source-controller and kustomize-controller."""

    def __init__(self, cluster: Cluster, git: GitServer) -> None:
        self.cluster, self.git = cluster, git
        self._setup()
        self._start()

    def _setup(self) -> None:
        self.cluster.plane.namespace(FLUX)
        ca = self.git.authority.file.read_text()
        keys = {"username": USER, "password": TOKEN, "ca.crt": ca}
        self.cluster.api.apply(secret(FLUX, GIT_SECRET, {}, **keys))

    def _start(self) -> None:
        port = self.cluster.port
        common = ("--enable-leader-election=false", "--events-addr=", "--log-level=info")
        env = {"KUBECONFIG": str(self.cluster.plane.kubeconfig), "RUNTIME_NAMESPACE": FLUX}
        env |= {"TMPDIR": str(self.cluster.plane.folder)}
        store = self.cluster.plane.folder / "flux"
        store.mkdir(exist_ok=True)
        self.source = self.cluster.plane.start(
            "source-controller",
            engine("source-controller"),
            *common,
            f"--storage-path={store}",
            f"--storage-addr=127.0.0.1:{port('flux-storage')}",
            f"--storage-adv-addr=127.0.0.1:{port('flux-storage')}",
            f"--metrics-addr=127.0.0.1:{port('source-metrics')}",
            f"--health-addr=127.0.0.1:{port('source-health')}",
            env=env,
        )
        self.kustomize = self.cluster.plane.start(
            "kustomize-controller",
            engine("kustomize-controller"),
            *common,
            f"--metrics-addr=127.0.0.1:{port('kustomize-metrics')}",
            f"--health-addr=127.0.0.1:{port('kustomize-health')}",
            "--requeue-dependency=2s",
            env=env,
        )

    def restart(self) -> None:
        """After its cluster was made anew."""
        self.source.end()
        self.kustomize.end()
        self._setup()
        self._start()

    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.cluster.api.items(*KUSTOMIZATION)]

    def synced(self, commit: str) -> bool:
        """Every root is ready, on this commit; otherwise who is not, and why."""
        behind = []
        for item in self.cluster.api.items(*KUSTOMIZATION):
            at = item.get("status", {}).get("lastAppliedRevision", "")
            state, why = condition(item, "Ready")
            if not at.endswith(commit) or state != "True":
                behind.append(f"{item['metadata']['name']}: {state} at {at[-12:]}: {why}")
        assert not behind, "; ".join(behind)
        return bool(self.names())

    def sync(self) -> None:
        """Look for commits now, and apply all roots again."""
        stamp = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": _stamp()}}}
        for kind in (SOURCE, KUSTOMIZATION):
            for item in self.cluster.api.items(*kind):
                self.cluster.api.patch(*kind, item["metadata"]["name"], stamp)


class ArgoCd:
    """application-controller and repo-server, with redis between them."""

    def __init__(self, cluster: Cluster, git: GitServer) -> None:
        self.cluster, self.git = cluster, git
        self._setup()
        self._start()

    def _setup(self) -> None:
        self.cluster.plane.namespace(ARGOCD)
        part = {"app.kubernetes.io/part-of": ARGOCD}

        def config(name: str, **data: str) -> dict[str, Any]:
            meta = {"name": name, "namespace": ARGOCD, "labels": part}
            return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}

        kind = {"argocd.argoproj.io/secret-type": "repository"}
        project = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]}
        project |= {"clusterResourceWhitelist": [{"group": "*", "kind": "*"}]}
        self.cluster.apply_all(
            [
                config("argocd-cm", **{"timeout.reconciliation": "5s"}),
                config("argocd-rbac-cm"),
                config("argocd-tls-certs-cm"),
                secret(ARGOCD, "argocd-secret", part, **{"server.secretkey": "not-a-secret"}),
                secret(
                    ARGOCD, GIT_SECRET, part | kind,
                    type="git", url=self.git.url, username=USER, password=TOKEN,
                ),
                {
                    "apiVersion": "argoproj.io/v1alpha1",
                    "kind": "AppProject",
                    "metadata": {"name": "default", "namespace": ARGOCD},
                    "spec": project,
                },
            ]
        )  # fmt: skip

    def _start(self) -> None:
        port, folder = self.cluster.port, self.cluster.plane.folder / "argocd"
        (folder / "tls").mkdir(parents=True, exist_ok=True)
        (folder / "tmp").mkdir(exist_ok=True)
        # Where its own Deployment mounts argocd-tls-certs-cm.
        shutil.copy(self.git.authority.file, folder / "tls" / "127.0.0.1")
        redis = f"127.0.0.1:{port('redis')}"
        programs = {
            str(Path(p).parent) for p in (tool("kustomize"), engine("git-verify-wrapper.sh"))
        }
        env = {
            "KUBECONFIG": str(self.cluster.plane.kubeconfig),
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_GPG_ENABLED": "false",
            "ARGOCD_TLS_DATA_PATH": str(folder / "tls"),
            "ARGOCD_EXEC_TIMEOUT": "60s",
            # By default all repo-servers of a machine share a file in /tmp; this is of the namespace.
            "ARGOCD_ASK_PASS_SOCK": f"@ask-pass-{self.cluster.name}",
            "TMPDIR": str(folder / "tmp"),
            "HOME": str(folder),
            "PATH": os.pathsep.join([*sorted(programs), os.environ["PATH"]]),
        }
        self.redis = self.cluster.plane.start(
            "redis", engine("redis-server"), "--bind", "127.0.0.1", "--port", port("redis"),
            "--save", "", "--appendonly", "no", "--dir", folder,
        )  # fmt: skip
        self.repo = self.cluster.plane.start(
            "argocd-repo-server",
            engine("argocd"),
            "--disable-tls",
            "--client-ca-path=",
            f"--redis={redis}",
            "--address=127.0.0.1",
            f"--port={port('repo-server')}",
            "--metrics-address=127.0.0.1",
            f"--metrics-port={port('repo-metrics')}",
            "--revision-cache-expiration=1s",
            env=env | {"ARGOCD_BINARY_NAME": "argocd-repo-server"},
        )
        self.controller = self.cluster.plane.start(
            "argocd-application-controller",
            engine("argocd"),
            f"--kubeconfig={self.cluster.plane.kubeconfig}",
            f"--namespace={ARGOCD}",
            f"--redis={redis}",
            "--repo-server-plaintext",
            f"--repo-server=127.0.0.1:{port('repo-server')}",
            "--app-resync=5",
            "--app-resync-jitter=0",
            "--self-heal-timeout-seconds=2",
            "--sync-timeout=60",
            f"--metrics-port={port('argocd-metrics')}",
            env=env | {"ARGOCD_BINARY_NAME": "argocd-application-controller"},
        )

    def restart(self) -> None:
        for program in (self.controller, self.repo, self.redis):
            program.end()
        self._setup()
        self._start()

    def names(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.cluster.api.items(*APPLICATION)]

    def synced(self, commit: str) -> bool:
        """Every Application is Synced and Healthy, on this commit; otherwise who is not, and why."""
        behind = []
        for item in self.cluster.api.items(*APPLICATION):
            status = item.get("status", {})
            sync, health = status.get("sync", {}), status.get("health", {})
            seen = (sync.get("status"), health.get("status"), sync.get("revision", ""))
            if seen != ("Synced", "Healthy", commit):
                said = [c.get("message", "")[:200] for c in status.get("conditions", ())]
                off = [
                    f"{r['kind']}/{r['name']} {r.get('status')} {r.get('health', {}).get('status')}"
                    for r in status.get("resources", ())
                    if r.get("status") != "Synced"
                ]
                behind.append(f"{item['metadata']['name']}: {seen} {said} {off}")
        assert not behind, "; ".join(behind)
        return bool(self.names())

    def sync(self) -> None:
        """Compare all Applications with Git now, forgetting what was cached."""
        stamp = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "hard"}}}
        for name in self.names():
            self.cluster.api.patch(*APPLICATION, name, stamp)


def wait_synced(running: Flux | ArgoCd, commit: str, within: float = 120) -> None:
    until(f"sync of {commit[:12]}", lambda: running.synced(commit), within=within, every=0.5)


def _stamp() -> str:
    import time

    return str(time.time_ns())
