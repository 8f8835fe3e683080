"""What a change means, where the golden previews do not show it."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
import yaml

from gati_gitops.errors import Place
from gati_gitops.ledger.model import Phase
from gati_gitops.preview.compare import compare
from gati_gitops.preview.immutable import immutable
from gati_gitops.preview.meaning.pods import image
from gati_gitops.preview.meaning.totals import Prices
from gati_gitops.preview.model import Compared, Level
from gati_gitops.preview.objects import identity
from gati_gitops.preview.quantities import cpu, memory, show_cpu, show_memory
from gati_gitops.preview.review import review
from gati_gitops.preview.side import stored_side
from gati_gitops.tree import MemorySnapshot
from gati_gitops.yamlio.emit import dump, dump_all
from tests.compile.kit import UNIT, canary, decide, handler, moved, objects, project, tree_of
from tests.preview.sides import MASK, found, reviewed

ONE = canary({"prod": ["east"]})
FILES = {"gati.yaml": ONE, "users.yaml": handler()}


def stored(before: dict[str, bytes], after: dict[str, bytes]) -> Any:
    """The review of two outputs, as a pull request to the output repository would show it."""
    touched = [p for p in {*before, *after} if before.get(p) != after.get(p)]
    one, two = (
        stored_side(MemorySnapshot(tree), Compared(name), touched)
        for tree, name in ((before, "tip"), (after, "proposed"))
    )
    return review(one, two, MASK, ledger="tip", touched=touched)


def with_object(tree: dict[str, bytes], item: dict[str, Any]) -> dict[str, bytes]:
    """A unit's overlay with one object more."""
    listed = yaml.safe_load(tree[f"{UNIT}/kustomization.yaml"])
    listed["resources"] = sorted({*listed["resources"], "more.yaml"})
    return {
        **tree,
        f"{UNIT}/kustomization.yaml": dump(listed, "x"),
        f"{UNIT}/more.yaml": dump(item, "x"),
    }


def with_changed(tree: dict[str, bytes], path: str, change: Any) -> dict[str, bytes]:
    """A file of the output with its objects changed by hand."""
    items = objects(tree, path)
    for item in items:
        change(item)
    return {**tree, path: dump_all(items, "x")}


# -- secrets -------------------------------------------------------------------------------------

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "db", "namespace": "shop"},
    "type": "Opaque",
    "data": {"password": "aHVudGVyMg==", "user": "cm9vdA=="},
}


def test_a_secret_that_changes_is_seen_and_never_shown():
    tree = tree_of(FILES)
    other = copy.deepcopy(SECRET)
    other["data"]["password"] = "aHVudGVyMw=="
    result = stored(with_object(tree, SECRET), with_object(tree, other))
    (finding,) = found(result, "secret-changed")
    assert "password ***" in finding.message
    assert "user" not in finding.message
    assert "aHVudGVy" not in repr(result)
    (change,) = [c for _, _, u in result.units() for _, c in u.all_objects()]
    assert change.fields[0].before != change.fields[0].after


def test_the_same_secret_has_the_same_fingerprint_with_one_key_and_another_with_another():
    same = MASK.object(SECRET) == MASK.object(copy.deepcopy(SECRET))
    assert same
    assert replace(MASK, key=b"another", _texts={}).object(SECRET) != MASK.object(SECRET)


# -- who may do what -----------------------------------------------------------------------------


def account(**annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "x", "namespace": "shop", "annotations": annotations},
    }


def test_rights_of_a_cloud_are_rights():
    tree = tree_of(FILES)
    result = stored(
        with_object(tree, account(**{"iam.example/role": "reader"})),
        with_object(tree, account(**{"iam.example/role": "admin"})),
    )
    (finding,) = found(result, "rbac")
    assert finding.level is Level.WARNING
    assert "iam.example/role" in finding.message


@pytest.mark.parametrize(
    "change,code",
    [
        (lambda spec: spec["ingress"].append({}), "network-open"),
        (
            lambda spec: spec["ingress"].append({"from": [{"namespaceSelector": {}}]}),
            "network-open",
        ),
        (
            lambda spec: spec["ingress"].append({"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}),
            "ingress-opened",
        ),
        (lambda spec: spec.update(policyTypes=["Ingress"]), "network-open"),
        (
            lambda spec: spec["egress"].append({"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}),
            "network-open",
        ),
    ],
)
def test_policies_that_open(change: Any, code: str):
    tree = tree_of(FILES)
    path = f"{UNIT}/network.yaml"
    after = with_changed(tree, path, lambda item: change(item["spec"]))
    assert [f.code for f in stored(tree, after).findings] == [code]
    assert stored(after, tree).findings == () or code != "ingress-opened"


def test_a_budget_that_goes_while_its_pods_stay():
    tree = tree_of(FILES)
    path = f"{UNIT}/scaling.yaml"
    listed = yaml.safe_load(tree[f"{UNIT}/kustomization.yaml"])
    listed["resources"].remove("scaling.yaml")
    after = {p: c for p, c in tree.items() if p != path}
    after[f"{UNIT}/kustomization.yaml"] = dump(listed, "x")
    (finding,) = found(stored(tree, after), "disruption-budget")
    assert finding.level is Level.WARNING


# -- traffic and phases --------------------------------------------------------------------------


def test_pins_break_when_a_version_is_parked():
    files = {"gati.yaml": ONE, "users.yaml": handler(version="v2")}
    before = decide(tree_of(files, tree_of(FILES)), moved(v2=("Active", 100), v1=("Draining", 0)))
    before = tree_of(files, before)
    after = tree_of(files, decide(before, moved(v1=("Parked", 0))))
    result = stored(before, after)
    (finding,) = found(result, "pins-break")
    assert finding.message == "requests that name version v1 are no longer answered"
    assert finding.level is Level.DANGER
    versions = {v.id: v for _, _, u in result.units() for v in u.versions}
    assert versions["v1"].after is not None
    assert versions["v1"].after.phase == Phase.PARKED
    assert versions["v1"].after.min == 0


def test_a_canary_step_moves_traffic_and_restarts_nothing():
    files = {"gati.yaml": ONE, "users.yaml": handler(version="v2")}
    before = tree_of(files, tree_of(FILES))
    after = tree_of(files, decide(before, moved(v2=("Canary", 10), v1=("Active", 90))))
    result = stored(before, after)
    (finding,) = found(result, "traffic-moves")
    assert finding.message == "traffic moves: v1 100 → 90, v2 0 → 10"
    assert not found(result, "pods-restart")
    (unit,) = [u for _, _, u in result.units()]
    assert unit.rollout == (
        "v2 has 10 % of the traffic; then 0 → 10 → 50 → 100 % as the evidence allows",
    )


# -- CRDs ----------------------------------------------------------------------------------------


def test_crds_are_judged():
    tree = tree_of(FILES)
    path = "overlays/prod/east/_crds/gatihandlers.gati.dev.yaml"
    crd = yaml.safe_load(tree[path])
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["required"] = [*schema["properties"]["spec"]["required"], "env"]
    schema["properties"]["spec"]["properties"]["extra"] = {"type": "string"}
    result = stored(tree, {**tree, path: dump(crd, "x")})
    assert [f.level for f in found(result, "crd-breaking")] == [Level.DANGER]
    assert [f.level for f in found(result, "crd-changed")] == [Level.NOTE]
    assert not result.same


def test_a_namespace_that_goes_is_a_danger():
    files = {
        **FILES,
        "gati.yaml": canary({"prod": {"clusters": {"east": {}}, "onDelete": "immediate"}}),
    }
    files["orders.yaml"] = handler("orders", namespace="fulfilment")
    less = {name: text for name, text in files.items() if name != "orders.yaml"}
    result = reviewed(files, less, tree_of(files))
    (finding,) = found(result, "namespace-removed")
    assert finding.level is Level.DANGER


# -- where it stands in the specs ----------------------------------------------------------------


def spec(env: str) -> str:
    return f"""\
apiVersion: gati.dev/v1alpha1
kind: GatiHandler
metadata:
  name: users
  namespace: shop
spec:
  handlerPath: /users
  version: v1
  replicas: 2
  image: ghcr.io/acme/users:v1
  port: 3000
  env:
    LOG: info
    REGION: {env}
"""


def test_a_finding_points_at_the_line_that_caused_it():
    base = {"gati.yaml": ONE, "users.yaml": spec("eu")}
    head = {"gati.yaml": ONE, "users.yaml": spec("us")}
    (finding,) = found(reviewed(base, head, tree_of(base)), "revision")
    assert finding.place == Place("users.yaml", 14, 13)


def test_a_finding_points_at_the_environment_that_caused_it():
    base = {"gati.yaml": ONE, "users.yaml": spec("eu")}
    partial = "kind: GatiHandler\nmetadata: {name: users, namespace: shop}\nspec:\n  env:\n    LOG: debug\n"
    head = {**base, "environments/prod/users.yaml": partial}
    (finding,) = found(reviewed(base, head, tree_of(base)), "pods-restart")
    assert finding.place == Place("environments/prod/users.yaml", 5, 10)


# -- what is told in numbers ---------------------------------------------------------------------


def test_requests_are_summed_over_pods_and_clusters():
    settings = project({"prod": ["east", "west"]})
    limits = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}}
    base = {"gati.yaml": settings, "users.yaml": handler(replicas=2, resources=limits)}
    head = {"gati.yaml": settings, "users.yaml": handler(replicas=3, resources=limits)}
    result = reviewed(base, head, tree_of(base), prices=Prices(1.0, 2.0))
    sums = result.environments[0].totals
    assert sums is not None
    assert (sums.least_before.pods, sums.least_after.pods) == (4, 6)
    assert (sums.least_before.cpu_requests, sums.least_after.cpu_requests) == (400, 600)
    assert sums.least_after.memory_requests == 6 * 128 * 2**20
    assert sums.least_after.memory_limits == 6 * 256 * 2**20
    assert sums.least_before.cost == round((0.4 * 1.0 + 0.5 * 2.0) * 730, 2)
    (cost,) = found(result, "cost")
    assert cost.message.startswith("prod costs +")


@pytest.mark.parametrize(
    "text,number,shown",
    [("250m", 250, "250m"), ("1", 1000, "1"), (2, 2000, "2"), ("1500m", 1500, "1.5"), ("0.0001", 1, "1m"),
     (None, 0, "0"), ("nonsense", 0, "0")],
)  # fmt: skip
def test_quantities_of_cpu(text: Any, number: int, shown: str):
    assert cpu(text) == number
    assert show_cpu(number) == shown


@pytest.mark.parametrize(
    "text,number,shown",
    [("128Mi", 2**27, "128Mi"), ("1.5Gi", 3 * 2**29, "1.5Gi"), ("1k", 1000, "1000"), (0, 0, "0")],
)
def test_quantities_of_memory(text: Any, number: int, shown: str):
    assert memory(text) == number
    assert show_memory(number) == shown


@pytest.mark.parametrize(
    "text,repository,tag,digest,floats",
    [
        ("nginx", "nginx", "", "", True),
        ("reg:5000/a/b", "reg:5000/a/b", "", "", True),
        ("reg:5000/a/b:1.2", "reg:5000/a/b", "1.2", "", False),
        ("a/b:latest@sha256:1", "a/b", "latest", "sha256:1", False),
        ("a/b:latest", "a/b", "latest", "", True),
    ],
)
def test_images_taken_apart(text: str, repository: str, tag: str, digest: str, floats: bool):
    taken = image(text)
    assert (taken.repository, taken.tag, taken.digest, taken.floats) == (
        repository,
        tag,
        digest,
        floats,
    )


# -- what cannot be changed in place -------------------------------------------------------------


def thing(kind: str, spec: Any, api: str = "v1", **more: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x"}, "spec": spec, **more}


@pytest.mark.parametrize(
    "before,after,fixed",
    [
        (thing("Deployment", {"selector": {"a": 1}}, "apps/v1"), thing("Deployment", {"selector": {"a": 2}}, "apps/v1"), True),
        (thing("Deployment", {"replicas": 1}, "apps/v1"), thing("Deployment", {"replicas": 2}, "apps/v1"), False),
        (thing("StatefulSet", {"serviceName": "a"}, "apps/v1"), thing("StatefulSet", {"serviceName": "b"}, "apps/v1"), True),
        (thing("StatefulSet", {"replicas": 1}, "apps/v1"), thing("StatefulSet", {"replicas": 2}, "apps/v1"), False),
        (thing("Service", {"clusterIP": "None"}), thing("Service", {}), True),
        (thing("Service", {"type": "ClusterIP"}), thing("Service", {"type": "NodePort"}), False),
        (thing("Service", {"clusterIP": "10.0.0.1"}), thing("Service", {"type": "ExternalName"}), False),
        (thing("Job", {"template": 1}, "batch/v1"), thing("Job", {"template": 2}, "batch/v1"), True),
        (thing("Job", {"suspend": True}, "batch/v1"), thing("Job", {"suspend": False}, "batch/v1"), False),
        (thing("CronJob", {"jobTemplate": 1}, "batch/v1"), thing("CronJob", {"jobTemplate": 2}, "batch/v1"), False),
        (thing("PersistentVolumeClaim", {"resources": {"requests": {"storage": "1Gi"}}}),
         thing("PersistentVolumeClaim", {"resources": {"requests": {"storage": "2Gi"}}}), False),
        (thing("PersistentVolumeClaim", {"resources": {"requests": {"storage": "2Gi"}}}),
         thing("PersistentVolumeClaim", {"resources": {"requests": {"storage": "1Gi"}}}), True),
        (thing("PersistentVolumeClaim", {"accessModes": ["a"]}), thing("PersistentVolumeClaim", {"accessModes": ["b"]}), True),
        (thing("ConfigMap", None, data={"a": "1"}, immutable=True), thing("ConfigMap", None, data={"a": "2"}, immutable=True), True),
        (thing("ConfigMap", None, data={"a": "1"}), thing("ConfigMap", None, data={"a": "2"}), False),
        (thing("Secret", None, type="a"), thing("Secret", None, type="b"), True),
        (thing("RoleBinding", None, "rbac.authorization.k8s.io/v1", roleRef={"name": "a"}),
         thing("RoleBinding", None, "rbac.authorization.k8s.io/v1", roleRef={"name": "b"}), True),
    ],
)  # fmt: skip
def test_fields_that_nobody_may_change(before: Any, after: Any, fixed: bool):
    found_fields = immutable(identity(after), before, after, compare(before, after))
    assert bool(found_fields) is fixed
