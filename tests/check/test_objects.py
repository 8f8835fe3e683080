"""Faults put into good objects are found, named and placed; good objects pass."""

import importlib.resources
from functools import cache

import pytest

from gati_gitops.check import CustomKind, check_objects, read_crds
from gati_gitops.check.kubernetes import minors
from gati_gitops.errors import GatiError, Place, Severity
from tests.check.samples import custom, good, put, route, sample
from tests.tools import crds_dir


@cache
def third_party() -> list[CustomKind]:
    names = ("HTTPRoute", "ScaledObject", "ServiceMonitor", "VirtualService", "Application")
    files = {f.name: f.read_bytes() for f in crds_dir().glob("*.yaml") if f.stem.endswith(names)}
    return read_crds(files)


@cache
def newest() -> str:
    """One minor is enough, and three times as fast, where minors are not the point."""
    return minors()[-1].name


def found(*objects, crds=()) -> list[tuple[str, str, str]]:
    problems = check_objects([("a.yaml", value) for value in objects], crds, [newest()])
    return [(problem.code, problem.field, problem.message) for problem in problems]


@pytest.mark.parametrize("value", good(), ids=lambda value: value["kind"])
def test_good_objects_pass(value):
    assert found(value) == []


@pytest.mark.parametrize("value", custom(), ids=lambda value: value["kind"])
def test_good_custom_resources_pass(value):
    assert found(value, crds=third_party()) == []


FAULTS = [
    # Unknown fields.
    ("Deployment", "spec.replica", 2, "unknown-field", "does not exist"),
    ("Deployment", "spec.template.spec.containers.0.imagePull", "x", "unknown-field", "does not"),
    ("Service", "spec.port", 80, "unknown-field", "does not exist"),
    ("ServiceAccount", "spec", {}, "unknown-field", "does not exist"),
    ("ConfigMap", "dat", {}, "unknown-field", "does not exist"),
    ("HorizontalPodAutoscaler", "spec.min", 1, "unknown-field", "does not exist"),
    ("PodDisruptionBudget", "spec.minAvailabel", 1, "unknown-field", "does not exist"),
    ("NetworkPolicy", "metadata.label", {}, "unknown-field", "does not exist"),
    ("GatiHandler", "spec.replica", 1, "unknown-field", "does not exist"),
    ("GatiHandler", "metadata.label", {}, "unknown-field", "does not exist"),
    # Wrong types.
    ("Deployment", "spec.replicas", "2", "wrong-type", 'must be of type integer, but is string: "2"'),
    ("Deployment", "metadata.labels.a", 1, "wrong-type", "must be of type string, but is integer: 1"),
    ("Deployment", "spec.template.spec.containers", {}, "wrong-type", "must be of type array"),
    ("Service", "spec.ports.0.port", True, "wrong-type", "must be of type integer"),
    ("Service", "spec.ports.0.targetPort", [], "wrong-type", "must be of type string or integer"),
    ("ConfigMap", "data.a", 5, "wrong-type", "must be of type string"),
    ("GatiHandler", "spec.port", "3000", "wrong-type", "must be of type integer"),
    # Values outside a list or range.
    ("Deployment", "spec.template.spec.containers.0.imagePullPolicy", "Sometimes", "bad-value",
     'must be one of "Always", "IfNotPresent", "Never"'),
    ("Deployment", "spec.strategy.type", "BlueGreen", "bad-value", "must be one of"),
    ("Service", "spec.type", "Cluster", "bad-value", "must be one of"),
    ("HorizontalPodAutoscaler", "spec.metrics.0.type", "Cpu", "bad-value", "must be one of"),
    ("PodDisruptionBudget", "spec.unhealthyPodEvictionPolicy", "No", "bad-value", "must be one of"),
    ("Deployment", "spec.replicas", 2**31, "out-of-range", "must be at most 2147483647"),
    ("GatiHandler", "spec.port", 0, "out-of-range", "must be at least 1, but is 0"),
    ("GatiHandler", "metadata.name", "A_b", "bad-value", "must match"),
    # Missing fields.
    ("Deployment", "spec.selector", ..., "missing-field", "is missing"),
    ("Deployment", "metadata.name", ..., "missing-field", "is missing"),
    ("Deployment", "spec.template.spec.containers.0.name", ..., "missing-field", "is missing"),
    ("Service", "spec.ports.0.port", ..., "missing-field", "is missing"),
    ("HorizontalPodAutoscaler", "spec.maxReplicas", ..., "missing-field", "is missing"),
    ("GatiHandler", "spec", ..., "missing-field", "is missing"),
]  # fmt: skip


@pytest.mark.parametrize("kind, path, new, code, message", FAULTS)
def test_faults_are_found(kind, path, new, code, message):
    problems = found(put(sample(kind), path, new))
    assert [(problem[0], problem[1]) for problem in problems] == [(code, dotted(path))]
    said = problems[0][2]
    assert message in said
    assert f"({kind} " in said


CUSTOM_FAULTS = [
    ("HTTPRoute", "spec.rules.0.backendRefs.0.weight", 1000001, "out-of-range", "at most 1000000"),
    ("HTTPRoute", "spec.rules.0.backendRef", [], "unknown-field", "does not exist"),
    ("HTTPRoute", "spec.rules.0.matches.0.path.type", "Prefix", "bad-value", "must be one of"),
    ("HTTPRoute", "spec.rules.0.matches.0.method", "get", "bad-value", "must be one of"),
    ("HTTPRoute", "spec.hostnames.0", "Shop", "bad-value", "must match"),
    ("HTTPRoute", "spec.hostnames.0", "shop\n", "bad-value", "must match"),
    ("HTTPRoute", "spec.rules.0.backendRefs.0.name", ..., "missing-field", "is missing"),
    ("HTTPRoute", "spec.hostnames", ["a.b"] * 17, "bad-value", "must have at most 16 entries"),
    ("ScaledObject", "spec.triggers.0.metadata.threshold", 100, "wrong-type", "string, but is int"),
    ("ScaledObject", "spec.triggers", ..., "missing-field", "is missing"),
    ("ScaledObject", "spec.maxReplicas", 5, "unknown-field", "does not exist"),
    ("ServiceMonitor", "spec.endpoints.0.interval", "often", "bad-value", "must match"),
    ("ServiceMonitor", "spec.endpoints.0.relabelings.0.action", "drops", "bad-value", "one of"),
    ("VirtualService", "spec.http.0.route.0.weight", "1", "wrong-type", "must be of type integer"),
    ("Application", "spec.source.repoUrl", "x", "unknown-field", "does not exist"),
    ("Application", "spec.project", ..., "missing-field", "is missing"),
]


@pytest.mark.parametrize("kind, path, new, code, message", CUSTOM_FAULTS)
def test_faults_in_custom_resources_are_found(kind, path, new, code, message):
    problems = found(put(sample(kind), path, new), crds=third_party())
    assert [(problem[0], problem[1]) for problem in problems] == [(code, dotted(path))]
    assert message in problems[0][2]


def dotted(path: str) -> str:
    text = ""
    for part in path.split("."):
        text += f"[{part}]" if part.isdigit() else f".{part}"
    return text.removeprefix(".")


def test_a_likely_name_is_offered():
    (problem,) = check_objects([("a.yaml", put(sample("Deployment"), "spec.replica", 2))])
    assert problem.remedy == "did you mean replicas?"


def test_all_problems_of_all_objects_are_sorted_by_file():
    bad = put(put(sample("Service"), "spec.type", 5), "spec.portz", [])
    problems = check_objects([("b.yaml", bad), (Place("a.yaml", 7, 3), bad), ("c.yaml", good()[0])])
    assert [str(problem.place) for problem in problems] == ["a.yaml:7:3"] * 2 + ["b.yaml"] * 2


def test_a_custom_resource_without_its_crd_is_a_warning():
    (problem,) = check_objects([("a.yaml", sample("ScaledObject"))])
    assert problem.severity is Severity.WARNING
    assert "keda.sh/v1alpha1 ScaledObject" in problem.message
    assert "--crds" in problem.remedy


def test_a_route_without_its_crd_is_still_held_to_the_rules():
    bad = put(route(), "spec.rules.0.matches.0.path.value", "/a//b")
    codes = [problem.code for problem in check_objects([("a.yaml", bad)])]
    assert codes == ["bad-value", "not-checked"]


def test_what_only_some_minors_refuse_names_them():
    # `hostnameOverride` came with 1.34.
    value = put(sample("Deployment"), "spec.template.spec.hostnameOverride", "a")
    (problem,) = check_objects([("a.yaml", value)], kubernetes=["1.33", "1.34", "1.35"])
    assert problem.message == "does not exist (Deployment handler-users-v1, Kubernetes 1.33)"


def test_a_kind_that_some_minors_lack_names_them():
    value = {
        "apiVersion": "autoscaling/v2beta2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
    }
    (problem,) = check_objects([("a.yaml", value)], kubernetes=["1.25", "1.26"])
    assert "no kind HorizontalPodAutoscaler in autoscaling/v2beta2" in problem.message
    assert problem.message.endswith(", Kubernetes 1.26)")


@pytest.mark.parametrize(
    "value", [None, [], "text", {}, {"kind": "Service"}, {"apiVersion": 1, "kind": "A"}]
)
def test_what_is_no_object_is_refused(value):
    (problem,) = check_objects([("a.yaml", value)])
    assert problem.is_error


def test_kustomizations_are_nobody_s_object():
    value = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    assert found(value) == []


def test_three_minors_by_default():
    names = [minor.name for minor in minors()]
    assert len(names) == 3
    assert names == sorted(names, key=lambda name: int(name.split(".")[1]))
    assert [minor.name for minor in minors(["1.36", "1.35"])] == ["1.35", "1.36"]


def test_an_unknown_minor_is_an_error():
    with pytest.raises(GatiError, match=r"no schemas for Kubernetes 1\.99; known are 1\.25"):
        check_objects([], kubernetes=["1.99"])


def test_without_the_extra_the_remedy_is_the_extra(monkeypatch):
    def missing(package: str):
        raise ModuleNotFoundError(package)

    monkeypatch.setattr(importlib.resources, "files", missing)
    with pytest.raises(GatiError) as caught:
        check_objects([("a.yaml", good()[0])])
    assert caught.value.remedy == "pip install gati-gitops[schemas]"
