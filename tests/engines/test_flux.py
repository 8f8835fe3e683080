"""Flux: nothing waits for a sick unit, deleting deletes nothing, and ``${…}`` is left as it is."""

from __future__ import annotations

import pytest

from tests.compile.kit import handler, tree_of
from tests.engines.kit import found, many, settings, specs


def kustomization(tree, name="prod.east.shop"):
    return found(tree, "Kustomization")[name]["spec"]


def test_one_repository_with_its_branch_and_secret():
    files = specs("flux", branch="live", flux={"secret": "deploy-key", "interval": "1d12h"})
    (repository,) = found(tree_of(files), "GitRepository").values()
    assert repository["metadata"]["namespace"] == "flux-system"
    assert repository["spec"] == {
        "interval": "24h12h",
        "timeout": "60s",
        "url": "https://git.example.com/acme/deploy.git",
        "ref": {"branch": "live"},
        "secretRef": {"name": "deploy-key"},
    }


def test_a_kustomization_of_units_waits_for_nobody_and_prunes():
    spec = kustomization(tree_of(specs("flux")))
    assert spec["wait"] is False and spec["prune"] is True and spec["force"] is False
    assert spec["deletionPolicy"] == "Orphan"
    assert spec["sourceRef"] == {"kind": "GitRepository", "name": "prod.east"}


def test_namespaces_and_crds_are_never_pruned():
    tree = tree_of(specs("flux"))
    for name in ("prod.east-crds", "prod.east.shop.namespace"):
        spec = kustomization(tree, name)
        assert (
            spec["prune"] is False and spec["wait"] is True and spec["deletionPolicy"] == "Orphan"
        )


@pytest.mark.parametrize("count", [2, 51])
def test_nothing_waits_for_anything(count):
    for item in found(tree_of(many(count, "flux")), "Kustomization").values():
        assert not {"dependsOn", "healthChecks", "healthCheckExprs"} & item["spec"].keys()


def test_a_remote_cluster_is_reached_by_its_secret():
    here = {
        "engine": "flux",
        "kubeConfig": {"name": "east", "key": "config"},
        "serviceAccount": "gati",
    }
    tree = tree_of({**specs(), "gati.yaml": settings(here)})
    for item in found(tree, "Kustomization").values():
        assert item["spec"]["kubeConfig"] == {"secretRef": {"name": "east", "key": "config"}}
        assert item["spec"]["serviceAccountName"] == "gati"
    here["kubeConfig"] = {"name": "east"}
    tree = tree_of({**specs(), "gati.yaml": settings(here)})
    assert kustomization(tree)["kubeConfig"] == {"secretRef": {"name": "east"}}


def test_flux_may_live_elsewhere():
    tree = tree_of(specs("flux", flux={"namespace": "gitops"}))
    for kind in ("Kustomization", "GitRepository"):
        for item in found(tree, kind).values():
            assert item["metadata"]["namespace"] == "gitops"


def test_no_variables_are_substituted():
    files = {**specs("flux"), "users.yaml": handler(env={"GREETING": "hello ${NAME}"})}
    tree = tree_of(files)
    assert any(
        b"hello ${NAME}" in content for path, content in tree.items() if path.startswith("base/")
    )
    for item in found(tree, "Kustomization").values():
        assert "postBuild" not in item["spec"]
