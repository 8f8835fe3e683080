"""Every object of every tree that we write, on a real API server: taken as it is, and left alone after.

Server-side apply with strict field validation, as both engines do it; restricted Pod Security as our
namespaces ask for it; controllers that make the pods. Applied again, nothing moves.
"""

import contextlib
from pathlib import Path

import pytest

from gati_gitops.render import MemoryFiles, render
from gati_gitops.spec.crds import crd_files
from tests.e2e.api import ApiError, identity
from tests.e2e.processes import until
from tests.golden.cases import CASES, compile_case, read

ROOT = Path(__file__).parents[2]
# What a cluster has before our output comes: it names these.
ENGINES = ("argocd", "flux-system", "gati-system", "monitoring")
PRIORITY = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000}
RUNTIME = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "runc"}


def shop() -> dict[str, bytes]:
    folders = ("base", "overlays", "clusters", "crds")
    return {f"{name}/{path}": text for name in folders for path, text in read(ROOT / name).items()}


TREES = {"shop": shop, **{case: lambda case=case: compile_case(case) for case in CASES}}


@pytest.fixture(scope="module")
def cluster(control_plane):
    control_plane.install_crds()
    crds = [text.decode() for text in crd_files().values()]
    control_plane.install([text for text in crds if "\nkind: CustomResourceDefinition" in text])
    for name in ENGINES:
        control_plane.namespace(name)
    return control_plane


def folders(tree) -> list[str]:
    """What is synced: whole clusters, and what makes an engine sync them."""
    found = [
        path.removesuffix("/kustomization.yaml")
        for path in tree
        if path.endswith("/kustomization.yaml")
    ]
    return sorted(
        p for p in found if (p.split("/")[0], p.count("/")) in (("overlays", 2), ("clusters", 1))
    )


def prepare(cluster, objects) -> None:
    """Namespaces first, as their own sync root does; then what specs name and only others can give."""
    for body in objects:
        if body["kind"] == "Namespace":
            cluster.api.apply(body)
    for namespace in {body["metadata"].get("namespace", "") for body in objects} - {""}:
        cluster.namespace(namespace)
        account = ("v1", "ServiceAccount", namespace, "default")
        until("its account", lambda a=account: cluster.api.find(*a), within=30)
    own = {identity(body)[2:] for body in objects if body["kind"] == "ServiceAccount"}
    for body in objects:
        spec = body.get("spec", {}).get("template", {}).get("spec", {})
        if name := spec.get("priorityClassName"):
            cluster.api.apply({**PRIORITY, "metadata": {"name": name}})
        if name := spec.get("runtimeClassName"):
            cluster.api.apply({**RUNTIME, "metadata": {"name": name}})
        account = (body["metadata"].get("namespace", ""), spec.get("serviceAccountName"))
        if account[1] and account not in own:
            metadata = {"namespace": account[0], "name": account[1]}
            cluster.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})


def moved(cluster, body) -> bool:
    """Whether applying it once more changes it; controllers may, so a moment without them counts."""
    for _ in range(5):
        before = cluster.api.get(*identity(body))["metadata"]
        after = cluster.api.apply(body)["metadata"]
        if after["resourceVersion"] == before["resourceVersion"]:
            return False
        if after["generation"] != before["generation"]:
            return True
    return True


@pytest.mark.parametrize("name", TREES)
def test_all_objects_are_taken_and_stay(cluster, name):
    tree = TREES[name]()
    found = folders(tree)
    assert found
    for folder in found:
        objects = render(MemoryFiles(tree), folder).objects()
        assert objects
        prepare(cluster, objects)
        try:
            stay(cluster, objects)
        finally:
            remove(cluster, objects)


def stay(cluster, objects) -> None:
    refused = refusals(cluster, objects, dry=True) or refusals(cluster, objects, dry=False)
    assert not refused, "\n".join(refused)
    deployments = [body for body in objects if body["kind"] == "Deployment"]
    for body in deployments:
        name = body["metadata"]["name"]
        until(f"pods of {name}", lambda b=body: admitted(cluster, b), within=60)
    again = ["/".join(identity(body)) for body in objects if moved(cluster, body)]
    assert not again, f"applied again, these moved: {again}"


def remove(cluster, objects) -> None:
    """So that the next tree finds no quota and no policy of this one."""
    for body in objects:
        if body["kind"] not in ("Namespace", "CustomResourceDefinition"):
            with contextlib.suppress(ApiError):
                cluster.api.delete(*identity(body), propagationPolicy="Background")


def refusals(cluster, objects, *, dry: bool) -> list[str]:
    found = []
    for body in objects:
        try:
            cluster.api.apply(body, dry=dry)
        except AssertionError as error:
            found.append(f"{'/'.join(identity(body))}: {error}")
    return found


def admitted(cluster, body) -> bool:
    """Its controller has seen it, and no admission rule stood between it and its pods."""
    status = cluster.api.get(*identity(body)).get("status", {})
    generation = cluster.api.get(*identity(body))["metadata"]["generation"]
    failed = [c["message"] for c in status.get("conditions", ()) if c["type"] == "ReplicaFailure"]
    if failed:
        raise AssertionError(failed)
    wanted = body["spec"].get("replicas")
    made = status.get("replicas", 0)
    return status.get("observedGeneration") == generation and (made >= 1 or wanted == 0)
