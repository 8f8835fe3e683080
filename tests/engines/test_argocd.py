"""Argo CD: the narrowest rights, and Applications that never delete, wait or wipe by accident."""

from __future__ import annotations

from pathlib import Path

import yaml

from gati_gitops.emit.engines.rights import (
    JOB_CLUSTER_KINDS,
    JOB_KINDS,
    NAMESPACE_KINDS,
    UNIT_KINDS,
)
from tests.compile.kit import document, handler, objects, project, tree_of
from tests.engines.kit import REPOSITORY, found, many, settings, specs
from tests.golden.cases import HERE, read

ROOT = Path(__file__).parents[2]


def application(tree, name="prod.east.shop"):
    return found(tree, "Application")[name]


def test_an_application_of_units():
    app = application(tree_of(specs()))
    assert app["metadata"]["namespace"] == "argocd"
    assert "finalizers" not in app["metadata"]
    policy = app["spec"]["syncPolicy"]
    assert policy["automated"] == {"prune": True, "selfHeal": True, "allowEmpty": True}
    assert policy["syncOptions"] == ["ServerSideApply=true", "PruneLast=true"]
    assert policy["retry"]["refresh"] is True and 0 < policy["retry"]["limit"] < 100
    assert "ignoreDifferences" not in app["spec"]
    assert app["spec"]["destination"] == {
        "server": "https://kubernetes.default.svc", "namespace": "shop",
    }  # fmt: skip


def test_namespaces_and_crds_go_only_when_a_person_confirms():
    tree = tree_of(specs())
    for name in ("prod.east-crds", "prod.east.shop.namespace"):
        policy = application(tree, name)["spec"]["syncPolicy"]
        assert "Prune=confirm" in policy["syncOptions"]
        assert "allowEmpty" not in policy["automated"]
    assert "namespace" not in application(tree, "prod.east-crds")["spec"]["destination"]


def test_manifests_are_made_again_only_for_what_a_root_is_built_from():
    key = "argocd.argoproj.io/manifest-generate-paths"
    paths = {
        name: app["metadata"]["annotations"][key]
        for name, app in found(tree_of(specs()), "Application").items()
    }
    assert paths == {
        "prod.east-crds": ".",
        "prod.east.shop": ".;/base/shop",
        "prod.east.shop.namespace": ".",
    }
    tree = tree_of(many(51))
    unit = application(tree, "prod.east.shop.handler-u01")["metadata"]["annotations"][key]
    assert unit == ".;/base/shop/handler-u01"
    # Nothing that a root builds lies elsewhere.
    for path in tree:
        if path.startswith("overlays/prod/east/shop/handler-u01/kustomization"):
            for resource in objects(tree, path)[0]["resources"]:
                assert "../" not in resource or "/base/shop/handler-u01/" in resource


def test_no_waves_and_no_hooks():
    for content in tree_of(specs()).values():
        assert b"sync-wave" not in content and b"argocd.argoproj.io/hook" not in content


def test_a_remote_cluster_by_name_and_by_server():
    for where in ({"name": "gke_acme_eu"}, {"server": "https://10.0.0.1:6443"}):
        tree = tree_of({**specs(), "gati.yaml": settings(where)})
        spec = application(tree)["spec"]
        assert spec["destination"] == {**where, "namespace": "shop"}
        for permitted in found(tree, "AppProject").values():
            for item in permitted["spec"]["destinations"]:
                assert item.items() >= where.items()


# -- rights ----------------------------------------------------------------------------------------


def test_a_project_of_units_holds_their_kinds_in_their_namespaces_from_one_repository():
    files = {**specs(), "other.yaml": handler("orders", namespace="other")}
    tree = tree_of(files)
    spec = found(tree, "AppProject")["prod.east.units"]["spec"]
    assert spec["sourceRepos"] == ["https://git.example.com/acme/deploy.git"]
    assert [item["namespace"] for item in spec["destinations"]] == ["other", "shop"]
    assert "clusterResourceWhitelist" not in spec
    kinds = [(item["group"], item["kind"]) for item in spec["namespaceResourceWhitelist"]]
    assert kinds == sorted(UNIT_KINDS)
    for name in ("prod.east.shop", "prod.east.other"):
        assert application(tree, name)["spec"]["project"] == "prod.east.units"


def test_routes_that_live_elsewhere_are_permitted_there_and_can_still_be_pruned_later():
    def gati(**routing):
        cluster = {"sync": {}, "routing": routing}
        return project({"prod": {"clusters": {"east": cluster}}}, sync={"repository": REPOSITORY})

    def permitted(tree):
        spec = found(tree, "AppProject")["prod.east.units"]["spec"]
        return [item["namespace"] for item in spec["destinations"]]

    before = tree_of({**specs(), "gati.yaml": gati(routeNamespace="infra")})
    route = objects(before, "overlays/prod/east/shop/handler-users/route.yaml")[0]
    assert route["metadata"]["namespace"] == "infra"
    assert permitted(before) == ["infra", "shop"]
    assert permitted(tree_of({**specs(), "gati.yaml": gati()}, before)) == ["infra", "shop"]
    assert permitted(tree_of({**specs(), "gati.yaml": gati()})) == ["shop"]


def test_the_other_project_holds_namespaces_and_crds_by_name_and_nothing_in_a_namespace():
    tree = tree_of({**specs(), "default.yaml": handler("orders", namespace="default")})
    spec = found(tree, "AppProject")["prod.east.cluster"]["spec"]
    permitted = [(i["kind"], i["name"]) for i in spec["clusterResourceWhitelist"]]
    assert permitted == [
        ("CustomResourceDefinition", "gatihandlers.gati.dev"),
        ("CustomResourceDefinition", "gatimodules.gati.dev"),
        ("CustomResourceDefinition", "gativersions.gati.dev"),
        ("Namespace", "shop"),
    ]
    # An absent list would permit every namespaced kind.
    assert {item["kind"] for item in spec["namespaceResourceWhitelist"]} == {
        kind for _, kind in NAMESPACE_KINDS
    }
    for name in ("prod.east-crds", "prod.east.shop.namespace"):
        assert application(tree, name)["spec"]["project"] == "prod.east.cluster"


def test_a_team_permits_kinds_of_its_own():
    gati = settings({}, argocd={"namespace": "gitops", "kinds": [{"kind": "Pod"}]})
    tree = tree_of({**specs(), "gati.yaml": gati})
    project = found(tree, "AppProject")["prod.east.units"]
    assert project["metadata"]["namespace"] == "gitops"
    assert {"group": "", "kind": "Pod"} in project["spec"]["namespaceResourceWhitelist"]


def emitted():
    """Group and kind of all in the golden trees and the shop: units, _namespace, the job."""
    trees = [read(case / "want") for case in HERE.iterdir() if (case / "want").is_dir()]
    trees.append(
        read(ROOT / "base") | {f"overlays/{p}": c for p, c in read(ROOT / "overlays").items()}
    )
    config = document("GatiHandler", "config", {
        "handlerPath": "/c", "version": "v1", "replicas": 1, "image": "a/b:1", "port": 80,
    })  # fmt: skip
    trees.append(tree_of({**specs(), "config.yaml": config}))
    units, spaces, jobs = set(), set(), set()
    for tree in trees:
        for path, content in tree.items():
            skipped = (
                path.startswith(("clusters/", "crds/"))
                or "/_crds/" in path
                or not path.endswith(".yaml")
                or "/template" in path  # a team's own objects need rights of its own
            )
            if skipped or b"\nkind:" not in b"\n" + content:
                continue
            for item in yaml.load_all(content, yaml.CSafeLoader):
                api = str(item.get("apiVersion", "")) if isinstance(item, dict) else ""
                if not api or item.get("kind") == "Kustomization" or api.startswith("gati.dev"):
                    continue
                kind = (api.rpartition("/")[0], item["kind"])
                job = "/_reconciler/" in path or "/reconciler/" in path
                (jobs if job else spaces if "/_namespace/" in path else units).add(kind)
    return units, spaces, jobs


def test_rights_are_exactly_the_kinds_that_are_written():
    units, spaces, jobs = emitted()
    assert units == set(UNIT_KINDS), "a kind has come or gone: emit/engines/rights.py must follow"
    assert spaces == {("", "Namespace"), *NAMESPACE_KINDS}
    assert jobs == {*JOB_KINDS, *JOB_CLUSTER_KINDS}
