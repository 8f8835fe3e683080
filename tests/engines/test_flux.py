"""Flux: nothing waits for a sick unit, deleting deletes nothing, and ``${…}`` is left as it is."""

from __future__ import annotations

import pytest

from gati_gitops.emit.objects.meta import SUBSTITUTE
from tests.compile.kit import by_identity, handler, kustomize, objects, tree_of, write
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
    for item in found(tree_of(specs("flux")), "Kustomization").values():
        assert "postBuild" not in item["spec"]


FILES = [{"name": "conf", "mountPath": "/conf", "files": {"a.conf": "x ${NAME}"}}]


@pytest.mark.parametrize(
    "spec", [{"env": {"A": "hi ${NAME}"}}, {"args": ["${NAME}"]}, {"volumes": FILES}]
)
def test_where_a_team_substitutes_variables_ours_stay_as_they_are(spec):
    tree = tree_of({**specs("flux"), "users.yaml": handler(**spec)})
    items = [
        item
        for path in tree
        if path.startswith("base/shop/handler-users/") and not path.endswith("/kustomization.yaml")
        for item in objects(tree, path)
    ]
    assert any("${NAME}" in str(item) for item in items)
    for item in items:
        assert item["metadata"]["annotations"][SUBSTITUTE] == "disabled"
    assert not any(SUBSTITUTE.encode() in content for content in tree_of(specs("flux")).values())


@pytest.mark.kustomize
def test_an_environment_that_brings_a_variable_marks_its_objects_too(tmp_path):
    partial = handler(env={"A": "hi ${NAME}"})
    tree = tree_of({**specs("flux"), "environments/prod/users.yaml": partial})
    write(tree, tmp_path)
    built = by_identity(kustomize(tmp_path, "overlays/prod/east/shop"))
    deployment = built["Deployment", "shop", "handler-users-v1"]
    assert "hi ${NAME}" in str(deployment)
    assert deployment["metadata"]["annotations"][SUBSTITUTE] == "disabled"
