"""The fourteen things that the framework leaves open, and what we decided; docs/decisions.md says why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gati_gitops.errors import SpecsInvalid
from gati_gitops.plan.naming import UnitId, slug
from gati_gitops.render import MemoryFiles, render
from tests.compile.kit import (
    compiled,
    decide,
    document,
    handler,
    module,
    moved,
    objects,
    phases,
    tree_of,
    version,
    weights,
)

CLUSTER = "overlays/default/in-cluster"
USERS = f"{CLUSTER}/shop/handler-users"
DECISIONS = Path(__file__).parents[2] / "docs" / "decisions.md"


def built(files, folder=CLUSTER, **kind):
    items = render(MemoryFiles(tree_of(files)), folder).objects()
    return [item for item in items if all(item.get(key) == value for key, value in kind.items())]


def pod(files, name):
    (found,) = [
        d for d in built(files, kind="Deployment") if d["metadata"]["name"].startswith(name)
    ]
    return found["spec"]["template"]["spec"]


def test_every_decision_is_written_down_with_its_test():
    text = DECISIONS.read_text(encoding="utf-8")
    assert re.findall(r"(?m)^## (\d+)\. ", text) == [str(n) for n in range(1, 15)]
    named = re.findall(r"`(test_\d\d_\w+)`", text)
    here = [name for name in globals() if re.match(r"test_\d\d_", name)]
    assert sorted(named) == sorted(here)


def test_01_only_v1alpha1_is_read():
    old = handler().replace("gati.dev/v1alpha1", "gati.dev/v1")
    with pytest.raises(SpecsInvalid) as error:
        compiled({"a.yaml": old})
    (problem,) = error.value.problems
    assert "gati.dev/v1alpha1" in problem.message + problem.remedy
    assert problem.place.line


def test_02_one_selector_per_unit_and_version():
    files = {"a.yaml": handler("users"), "b.yaml": handler("orders")}
    selectors = [d["spec"]["selector"]["matchLabels"] for d in built(files, kind="Deployment")]
    assert selectors == [
        {"gati.dev/unit": "handler-orders", "gati.dev/version": "v1"},
        {"gati.dev/unit": "handler-users", "gati.dev/version": "v1"},
    ]


@pytest.mark.parametrize(
    "raw, legal",
    [
        ("v1.2.0", "v1-2-0"),
        ("tsv:1732186200-users-001", "tsv-1732186200-users-001-"),
        ("1.2.3+build", "1-2-3-build-"),
        ("2024-01-01T00:00:00Z", "2024-01-01t00-00-00z-"),
        ("V1", "v1-"),
    ],
)
def test_03_labels_are_slugs_and_the_raw_value_is_an_annotation(raw, legal):
    assert slug(raw).startswith(legal)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", slug(raw))
    files = {"a.yaml": handler(version=raw, image="users:x")}
    (deployment,) = built(files, kind="Deployment")
    assert deployment["metadata"]["labels"]["gati.dev/version"] == slug(raw)
    assert deployment["metadata"]["annotations"]["gati.dev/version-id"] == raw
    assert len(UnitId("shop", "handler", "x" * 63).version_name(raw)) <= 46


def test_04_a_version_belongs_by_handler_then_by_names_then_by_prefix():
    base = {"a.yaml": handler(version="v1", image="users:1")}
    spec = {"versionId": "v1", "breaking": False, "routingWeight": 100}
    for name, more in (
        ("anything", {"handler": "users"}),
        ("anything", {"deploymentName": "handler-users"}),
        ("anything", {"serviceName": "handler-users"}),
        ("users-first", {}),
    ):
        tree = tree_of({**base, "v.yaml": document("GatiVersion", name, {**spec, **more})})
        assert phases(tree, USERS) == {"v1": ("Active", 100)}
    with pytest.raises(SpecsInvalid) as error:
        compiled({**base, "v.yaml": document("GatiVersion", "anything", spec)})
    assert "users" in error.value.problems[0].remedy, "candidates are listed"
    # where the two documents disagree the GatiVersion counts, and that is said
    files = {
        "a.yaml": handler(version="v1", weight=40),
        "v.yaml": version("users", "v1", 100),
    }
    result = compiled(files)
    assert [w.code for w in result.warnings] == ["documents-disagree"]
    assert phases(result.tree, USERS) == {"v1": ("Active", 100)}


def test_05_weights_are_percent_and_zero_is_served_to_pins_only():
    two = {
        "a.yaml": handler(version="v2", weight=30),
        "v.yaml": version("users", "v1", 60, image="users:1"),
    }
    with pytest.raises(SpecsInvalid) as error:
        compiled(two)
    assert [p.code for p in error.value.problems if p.is_error] == ["weights-sum"]
    with pytest.raises(SpecsInvalid):
        compiled({"a.yaml": handler(weight=101)})
    two["a.yaml"] = handler(version="v2", weight=100)
    two["v.yaml"] = version("users", "v1", 0, image="users:1")
    tree = tree_of(two)
    assert weights(tree, USERS) == {"handler-users-v1": 0, "handler-users-v2": 100}
    rules = [r["name"] for r in objects(tree, f"{USERS}/route.yaml")[0]["spec"]["rules"]]
    assert rules == ["pin-v1", "pin-v2", "split"]


def test_06_pins_are_the_two_headers_and_the_two_queries_by_exact_id():
    tree = tree_of({"a.yaml": handler(version="tsv:1-users-1", image="users:1")})
    pin = objects(tree, f"{USERS}/route.yaml")[0]["spec"]["rules"][0]
    found = [
        (kind, match[kind][0]["name"], match[kind][0]["type"], match[kind][0]["value"])
        for match in pin["matches"]
        for kind in ("headers", "queryParams")
        if kind in match
    ]
    assert found == [
        ("headers", "X-Gati-Version", "Exact", "tsv:1-users-1"),
        ("headers", "X-Api-Version", "Exact", "tsv:1-users-1"),
        ("queryParams", "version", "Exact", "tsv:1-users-1"),
        ("queryParams", "v", "Exact", "tsv:1-users-1"),
    ]


def test_07_handlers_are_probed_at_health_and_modules_by_tcp():
    files = {"a.yaml": handler(), "m.yaml": module()}
    ours = pod(files, "handler-users")["containers"][0]
    for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert ours[kind]["httpGet"] == {"path": "/health", "port": 3000, "scheme": "HTTP"}
        assert pod(files, "module-db")["containers"][0][kind]["tcpSocket"] == {"port": 50051}
    none = pod({"a.yaml": handler(probes={"type": "none"})}, "handler-users")["containers"][0]
    assert not [key for key in none if key.endswith("Probe")]


def test_08_capabilities_never_become_linux_capabilities():
    files = {"m.yaml": module(capabilities=["network", "storage"])}
    (container,) = pod(files, "module-db")["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "NETWORK" not in str(built(files))
    low = pod({"a.yaml": handler(port=80)}, "handler-users")["containers"][0]
    assert low["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}


def test_09_pods_are_restricted_and_have_what_the_runtime_writes():
    for name, files in (("handler", {"a.yaml": handler()}), ("module", {"m.yaml": module()})):
        spec = pod(files, name)
        assert spec["securityContext"] == {
            "fsGroup": 1001,
            "runAsGroup": 1001,
            "runAsNonRoot": True,
            "runAsUser": 1001,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        (container,) = spec["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert {"/tmp", "/app/.gati"} <= {m["mountPath"] for m in container["volumeMounts"]}


def test_10_one_owner_of_the_number_of_pods():
    fixed = {"a.yaml": handler(replicas=2)}
    assert [d["spec"]["replicas"] for d in built(fixed, kind="Deployment")] == [2]
    assert not built(fixed, kind="HorizontalPodAutoscaler")
    scaled = {"a.yaml": handler(replicas=2, autoscaling={"type": "hpa"})}
    assert not [d for d in built(scaled, kind="Deployment") if "replicas" in d["spec"]]
    (hpa,) = built(scaled, kind="HorizontalPodAutoscaler")
    assert (hpa["spec"]["minReplicas"], hpa["spec"]["maxReplicas"]) == (2, 6)
    assert [m["resource"]["name"] for m in hpa["spec"]["metrics"]] == ["cpu"]
    # the floor that comes from replicas never stands above the ceiling
    capped = {"a.yaml": handler(replicas=9, autoscaling={"type": "hpa", "max": 4})}
    (hpa,) = built(capped, kind="HorizontalPodAutoscaler")
    assert (hpa["spec"]["minReplicas"], hpa["spec"]["maxReplicas"]) == (4, 4)
    # one pod gets no budget, which could only block node drains
    assert not built({"a.yaml": handler(replicas=1)}, kind="PodDisruptionBudget")
    assert built(fixed, kind="PodDisruptionBudget")


def test_11_no_config_map_of_env_and_secrets_by_reference():
    files = {
        "a.yaml": handler(
            env={"LEVEL": "info"}, envRefs={"PASSWORD": {"secret": "db", "key": "password"}}
        )
    }
    assert not built(files, kind="ConfigMap")
    env = {e["name"]: e for e in pod(files, "handler-users")["containers"][0]["env"]}
    assert env["LEVEL"] == {"name": "LEVEL", "value": "info"}
    assert env["PASSWORD"]["valueFrom"]["secretKeyRef"] == {"name": "db", "key": "password"}
    # the runtime's own variables are there once, and the spec's word counts
    own = {"a.yaml": handler(env={"NODE_ENV": "test", "Z": "1", "A": "$(Z)"})}
    names = [e["name"] for e in pod(own, "handler-users")["containers"][0]["env"]]
    assert len(names) == len(set(names))
    assert names.index("Z") < names.index("A"), "what is referred to stands before"
    env = {e["name"]: e.get("value") for e in pod(own, "handler-users")["containers"][0]["env"]}
    assert env["NODE_ENV"] == "test"
    files["a.yaml"] = handler(
        volumes=[{"name": "conf", "mountPath": "/conf", "files": {"a.txt": "text"}}]
    )
    (made,) = built(files, kind="ConfigMap")
    assert made["data"] == {"conf.a.txt": "text"}


def test_12_a_version_parks_before_it_goes():
    files = {"a.yaml": handler(version="v1")}
    tree = tree_of(files)
    files["a.yaml"] = handler(version="v2")
    tree = tree_of(files, tree)
    assert phases(tree, USERS) == {"v1": ("Active", 100), "v2": ("Starting", 0)}
    tree = decide(tree, moved(v1=("Parked", 0), v2=("Active", 100)), USERS)
    tree = tree_of(files, tree)
    items = render(MemoryFiles(tree), USERS).objects()
    replicas = {
        d["metadata"]["name"]: d["spec"]["replicas"] for d in items if d["kind"] == "Deployment"
    }
    assert replicas == {"handler-users-v1": 0, "handler-users-v2": 2}
    # no compile ever takes a version away that its ledger has not let go
    assert phases(tree_of(files, tree), USERS)["v1"] == ("Parked", 0)


def test_13_images_are_split_at_the_tag_and_not_at_a_registrys_port():
    files = {
        "gati.yaml": document("GatiProject", "p", {
            "environments": {
                "prod": {"clusters": {"c": {}}, "registries": {"reg:5000/acme": "mirror:6000/x"}}
            }
        }),
        "a.yaml": handler(image="reg:5000/acme/users:1.2"),
        "m.yaml": module(image="reg:5000/acme/db@sha256:" + "a" * 64),
    }  # fmt: skip
    images = {
        d["spec"]["template"]["spec"]["containers"][0]["image"]
        for d in built(files, "overlays/prod/c", kind="Deployment")
    }
    assert images == {"mirror:6000/x/users:1.2", "mirror:6000/x/db@sha256:" + "a" * 64}
    tree = tree_of(files)
    assert not [path for path in tree if "Chart" in path or "values" in path], "no Helm"


def test_14_status_is_read_by_nobody_and_never_rendered():
    document_ = handler().rstrip("}\n ") + '},\n "status": {"phase": "Running", "replicas": 7}}'
    tree = tree_of({"a.yaml": document_})
    assert tree == tree_of({"a.yaml": handler()})
    for item in render(MemoryFiles(tree), CLUSTER).objects():
        assert "status" not in item
