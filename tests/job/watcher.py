"""The compiled job's own account on a real API server."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gati_gitops.observe.kube import Access, Kube
from gati_gitops.render import MemoryFiles, render
from tests.job.kit import NAME, job, tree

CRDS = Path(__file__).parents[2] / "crds"
THEIRS = (
    "argoproj.io_*", "gateway.networking.k8s.io_*", "monitoring.coreos.com_*",
    "networking.istio.io_VirtualService", "traefik.io_*",
)  # fmt: skip


@dataclass
class Watcher:
    """The job as the cluster has it."""

    plane: Any
    kube: Kube
    """By the job's own account."""
    home: str
    """Its namespace."""
    units: str
    """A namespace with units."""
    spec: dict[str, Any]
    """What the project says."""


def unique(name: str) -> str:
    return f"{name}-{os.getpid()}-{time.monotonic_ns() % 10**8}"


def settled(kube: Kube, home: str) -> None:
    """Rights take a moment until the API server knows them."""
    end = time.monotonic() + 20
    while True:
        try:
            kube.get("coordination.k8s.io/v1", "Lease", NAME, home)
            return
        except Exception:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


@pytest.fixture(scope="session")
def kinds(control_plane: Any) -> Any:
    """A cluster that has all the kinds that the job may meet."""
    control_plane.install_crds(*THEIRS)
    control_plane.install([path.read_text() for path in CRDS.glob("gati*.yaml")])
    return control_plane


@pytest.fixture
def watcher(kinds: Any) -> Iterator[Watcher]:
    """The job, applied from the compiled output, and its account."""
    home, units, engine = unique("watch"), unique("shop"), unique("argocd")
    for name in (home, units, engine):
        kinds.namespace(name)
    repository = "https://git.example.com/acme/deploy.git"
    sync = {"repository": repository, "argocd": {"namespace": engine}}
    spec: dict[str, Any] = {"job": job(namespace=home), "sync": sync, "monitoring": {}}
    found = tree(**spec)
    for item in render(MemoryFiles(found), f"overlays/prod/eu/{home}/_reconciler").objects():
        kinds.api.apply(item)
    path = f"/api/v1/namespaces/{home}/serviceaccounts/{NAME}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = kinds.api.request("POST", path, body)["status"]["token"]
    kube = Kube(Access(kubeconfig=str(kinds.config(f"{home}-watcher", token))))
    settled(kube, home)
    yield Watcher(kinds, kube, home, units, spec)
    kube.close()
