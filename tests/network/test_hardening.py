"""Every pod is restricted, has what the runtime needs, and leaves without cutting anyone off."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from gati_gitops.render import MemoryFiles, render
from tests.compile.kit import compiled, handler, kustomizations, module, objects, project, tree_of
from tests.golden.cases import CASES, HERE, read
from tests.network.restricted import violations

ASKS_FOR_A_TOKEN = {("references", "handler-users-v1")}


def deployments(case: str) -> Iterator[dict[str, Any]]:
    """As the clusters of a golden case get them, patches of environments included."""
    tree = read(HERE / case / "want")
    files = MemoryFiles(tree)
    for folder in kustomizations(tree):
        if folder.startswith("overlays/") and folder.count("/") == 4 and "/_" not in folder:
            for item in render(files, folder).objects():
                if item["kind"] == "Deployment":
                    yield item


def one(**spec: Any) -> dict[str, Any]:
    tree = tree_of({"gati.yaml": project(), "users.yaml": handler(**spec)})
    (path,) = [p for p in tree if p.endswith("/deployment.yaml")]
    return objects(tree, path)[0]["spec"]["template"]["spec"]


@pytest.mark.parametrize("case", CASES)
def test_every_pod_is_restricted_and_more(case):
    found = list(deployments(case))
    assert found
    for item in found:
        pod = item["spec"]["template"]["spec"]
        where = item["metadata"]["name"]
        assert list(violations(pod)) == [], where
        assert pod["securityContext"]["runAsUser"] > 0, f"{where}: a named user is not enough"
        assert pod["securityContext"]["fsGroup"] > 0, where
        assert pod["automountServiceAccountToken"] is ((case, where) in ASKS_FOR_A_TOKEN), where
        assert pod["enableServiceLinks"] is False, where
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True, where
        mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
        assert not mounts["/tmp"].get("readOnly"), where
        assert {mount["name"] for mount in mounts.values()} == {v["name"] for v in pod["volumes"]}
        if container["name"] == "handler":
            assert "/app/.gati" in mounts, f"{where}: the runtime writes there when it starts"
        hooks = container.get("lifecycle") or {"preStop": {"sleep": {"seconds": 0}}}
        delay = hooks["preStop"]["sleep"]["seconds"]
        assert pod["terminationGracePeriodSeconds"] > delay, where
        assert container["resources"], where
        for constraint in pod["topologySpreadConstraints"]:
            assert constraint["whenUnsatisfiable"] == "ScheduleAnyway", "fits any number of pods"


FAULTS = {
    "hostNetwork": lambda pod: pod.update(hostNetwork=True),
    "sysctls": lambda pod: pod["securityContext"].update(sysctls=[{"name": "a", "value": "b"}]),
    "runAsUser": lambda pod: pod["securityContext"].update(runAsUser=0),
    "volume x": lambda pod: pod["volumes"].append({"name": "x", "hostPath": {"path": "/"}}),
    "privileged": lambda pod: security(pod).update(privileged=True),
    "allowPrivilegeEscalation": lambda pod: security(pod).pop("allowPrivilegeEscalation"),
    "capabilities.drop": lambda pod: security(pod)["capabilities"].pop("drop"),
    "capabilities.add": lambda pod: security(pod)["capabilities"].update(add=["NETWORK"]),
    "runAsNonRoot": lambda pod: security(pod).update(runAsNonRoot=False),
    "seccompProfile": lambda pod: pod["securityContext"].pop("seccompProfile"),
    "procMount": lambda pod: security(pod).update(procMount="Unmasked"),
    "hostPort": lambda pod: pod["containers"][0]["ports"][0].update(hostPort=80),
    "host of a probe or hook": lambda pod: pod["containers"][0]["readinessProbe"]["httpGet"].update(
        host="10.0.0.1"
    ),
}


def security(pod: dict[str, Any]) -> dict[str, Any]:
    return pod["containers"][0]["securityContext"]


@pytest.mark.parametrize("fault", FAULTS)
def test_the_standard_is_checked(fault):
    pod = copy.deepcopy(one())
    FAULTS[fault](pod)
    assert fault in list(violations(pod))


@pytest.mark.parametrize(
    "drain", [None, {"delaySeconds": 0}, {"delaySeconds": 40, "requestSeconds": 90}]
)
def test_the_grace_period_covers_routers_and_requests(drain):
    pod = one(drain=drain) if drain else one()
    wanted = {"delaySeconds": 15, "requestSeconds": 30} | (drain or {})
    assert pod["terminationGracePeriodSeconds"] >= wanted["delaySeconds"] + wanted["requestSeconds"]
    hook = pod["containers"][0].get("lifecycle", {}).get("preStop")
    assert hook == (
        {"sleep": {"seconds": wanted["delaySeconds"]}} if wanted["delaySeconds"] else None
    )


@pytest.mark.parametrize(
    ("probes", "action"),
    [
        ({}, {"httpGet": {"path": "/health", "port": 3000, "scheme": "HTTP"}}),
        ({"type": "tcp", "port": 9}, {"tcpSocket": {"port": 9}}),
        ({"type": "grpc"}, {"grpc": {"port": 3000, "service": ""}}),
        ({"type": "grpc", "service": "users.v1"}, {"grpc": {"port": 3000, "service": "users.v1"}}),
    ],
)
def test_probes_by_type(probes, action):
    (container,) = one(probes=probes)["containers"]
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert action.items() <= container[name].items()
        assert container[name]["successThreshold"] == 1


def test_a_low_port_needs_its_one_capability():
    assert security(one(port=443))["capabilities"]["add"] == ["NET_BIND_SERVICE"]
    assert "add" not in security(one(port=8443))["capabilities"]


@pytest.mark.parametrize("replicas", [0, 1, 2, 5])
def test_a_budget_stands_where_there_are_pods_to_keep(replicas):
    files = {"gati.yaml": project(), "db.yaml": module(replicas=replicas)}
    tree = tree_of(files)
    path = "overlays/prod/east/shop/module-db/scaling.yaml"
    kinds = [item["kind"] for item in objects(tree, path)] if path in tree else []
    assert kinds == (["PodDisruptionBudget"] if replicas > 1 else [])


def test_project_defaults_hold_where_a_unit_says_nothing():
    gati = project(defaults={"priorityClass": "standard", "resources": {"requests": {"cpu": "1"}}})
    files = {"gati.yaml": gati, "users.yaml": handler(), "db.yaml": module()}
    files["carts.yaml"] = handler(
        "carts",
        placement={"priorityClass": "revenue"},
        resources={"limits": {"memory": "1Gi"}},
    )
    tree = tree_of(files)
    found = {}
    for path in tree:
        if path.endswith("/deployment.yaml"):
            pod = objects(tree, path)[0]["spec"]["template"]["spec"]
            found[path.split("/")[2]] = (
                pod["priorityClassName"],
                pod["containers"][0]["resources"],
            )
    assert found["handler-users"] == found["module-db"] == ("standard", {"requests": {"cpu": "1"}})
    assert found["handler-carts"] == ("revenue", {"limits": {"memory": "1Gi"}})


def test_project_defaults_are_part_of_the_pods_they_change_and_of_no_other():
    own = {"placement": {"priorityClass": "revenue"}, "resources": {"limits": {"cpu": "1"}}}
    files = {"users.yaml": handler(), "carts.yaml": handler("carts", **own)}
    tree = tree_of({**files, "gati.yaml": project()})
    gati = project(defaults={"priorityClass": "low", "resources": {"requests": {"cpu": "1"}}})
    changed = compiled({**files, "gati.yaml": gati}, tree).changes
    assert {path.split("/")[2] for path in changed if path.startswith("base/")} == {"handler-users"}
    plans = [objects(changed, p)[0] for p in changed if p.endswith("users/unit.yaml")]
    assert len({v["digest"] for plan in plans for v in plan["versions"]}) == 2
