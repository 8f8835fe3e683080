"""What the framework's published CRDs accept and could run, ours accept too."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crds.test_agreement import CUSTOM, crd_refuses, model_errors

# Field: type, required, bounds; as published. A published string or number without bounds stands
# here with the values of it that could have worked.
TEXT = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=40)
LABEL = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?", fullmatch=True)
SUBDOMAIN = st.lists(LABEL, min_size=1, max_size=3).map(".".join)
PATH = st.from_regex(r"(/[A-Za-z0-9_.~:-]{1,10}){1,4}|/", fullmatch=True)
VERSION = st.sampled_from(
    ["v1.0.0", "1", "2024-01-01T00:00:00Z", "tsv:1732186200-users-001", "v1.0.0+build.5", "latest"]
)
IMAGE = st.sampled_from(
    [
        "user-handler:v1.0.0",
        "ghcr.io/krishnapaul242/gati/users:1.2.3",
        "localhost:5000/users",
        "users@sha256:" + "0" * 64,
        "reg.example.com:443/a/b_c.d-e:T@sha256:" + "a" * 64,
    ]
)
PORT = st.integers(1, 65535)
REPLICAS = st.integers(0, 1000)
AMOUNTS = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["100m", "1", "0.5", "2"]),
        "memory": st.sampled_from(["128Mi", "1Gi", "512M", "1e9"]),
    },
)
RESOURCES = st.one_of(
    st.builds(lambda amounts: {"requests": amounts, "limits": amounts}, AMOUNTS),
    st.builds(lambda amounts: {"requests": amounts}, AMOUNTS),
    st.builds(lambda amounts: {"limits": amounts}, AMOUNTS),
    st.just({}),
)
ENV = st.dictionaries(
    st.from_regex(r"[A-Z_][A-Z0-9_]{0,20}", fullmatch=True), st.text(max_size=50), max_size=4
)
RUNNING = {"replicas": REPLICAS, "image": IMAGE, "port": PORT}
OPTIONAL = {"resources": RESOURCES, "env": ENV}
PUBLISHED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "GatiHandler": (
        {"handlerPath": PATH, "version": VERSION, **RUNNING},
        {
            **OPTIONAL,
            "timescape": st.fixed_dictionaries(
                {}, optional={"breaking": st.booleans(), "routingWeight": st.integers(0, 100)}
            ),
        },
    ),
    "GatiModule": (
        {
            "moduleName": TEXT,
            "moduleType": st.sampled_from(["node", "wasm", "oci"]),
            "runtime": st.sampled_from(["node:20", "wasmtime", "docker.io/library/alpine:3"]),
            **RUNNING,
        },
        {**OPTIONAL, "capabilities": st.lists(TEXT, max_size=8)},
    ),
    "GatiVersion": (
        {"versionId": VERSION, "breaking": st.booleans(), "routingWeight": st.integers(0, 100)},
        {
            "transformers": st.lists(TEXT, max_size=8),
            "deploymentName": LABEL,
            "serviceName": LABEL,
        },
    ),
}
# A handler's and a module's name became part of a Service's, which has no dots.
NAMES = {"GatiHandler": LABEL, "GatiModule": LABEL, "GatiVersion": SUBDOMAIN}
STATUS = {
    "GatiHandler": {
        "phase": ("Pending", "Running", "Failed", "Decommissioned"),
        "replicas": 3,
        "readyReplicas": 2,
        "lastUpdated": "2025-11-29T00:00:00Z",
        "conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m"}],
    },
    "GatiModule": {
        "phase": ("Pending", "Running", "Failed"),
        "replicas": 3,
        "readyReplicas": 2,
        "lastUpdated": "yesterday",
    },
    "GatiVersion": {
        "phase": ("Active", "Draining", "Decommissioned"),
        "trafficCount": 12345678901,
        "lastTrafficTimestamp": "never",
        "decommissionedAt": "2025-11-29T00:00:00Z",
    },
}


@st.composite
def published(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(list(PUBLISHED)))
    required, optional = PUBLISHED[kind]
    return {
        "apiVersion": "gati.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": draw(NAMES[kind]), "labels": {"a": "b"}, "finalizers": ["x/y"]},
        "spec": draw(st.fixed_dictionaries(required, optional=optional)),
    }


@given(published())
def test_published_documents_stay_valid(document):
    assert model_errors(document) == []
    assert crd_refuses(document) == []


@pytest.mark.parametrize("kind", PUBLISHED)
def test_the_same_fields_are_required(kind):
    spec = CUSTOM[kind].schema["properties"]["spec"]
    assert set(spec["required"]) == PUBLISHED[kind][0].keys()


@pytest.mark.parametrize("kind", STATUS)
def test_status_is_as_published(kind):
    published_status = STATUS[kind]
    status = CUSTOM[kind].schema["properties"]["status"]
    assert tuple(status["properties"]["phase"]["enum"]) == published_status["phase"]
    required, _ = PUBLISHED[kind]
    document = {
        "apiVersion": "gati.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": MINIMAL[kind],
    }
    assert required.keys() == document["spec"].keys()
    for phase in published_status["phase"]:
        assert crd_refuses({**document, "status": {**published_status, "phase": phase}}) == []
    assert crd_refuses({**document, "status": {"phase": "Unheard"}})
    today = {
        "observedGeneration": 4,
        "conditions": [
            {"type": "Ready", "lastTransitionTime": "2025-11-29T00:00:00Z", "observedGeneration": 4}
        ],
    }
    assert crd_refuses({**document, "status": today}) == []


MINIMAL = {
    "GatiHandler": {"handlerPath": "/", "version": "1", "replicas": 1, "image": "a", "port": 1},
    "GatiModule": {
        "moduleName": "a",
        "moduleType": "oci",
        "runtime": "r",
        "replicas": 0,
        "image": "a",
        "port": 65535,
    },
    "GatiVersion": {"versionId": "1", "breaking": False, "routingWeight": 0},
}


@pytest.mark.parametrize(
    "kind, spec",
    [
        ("GatiHandler", {"port": 0}),
        ("GatiHandler", {"port": 65536}),
        ("GatiHandler", {"timescape": {"routingWeight": 101}}),
        ("GatiHandler", {"timescape": {"routingWeight": -1}}),
        ("GatiHandler", {"version": ""}),
        ("GatiHandler", {"image": "two words"}),
        ("GatiModule", {"moduleType": "binary"}),
        ("GatiVersion", {"routingWeight": 101}),
    ],
)
def test_what_never_worked_is_refused(kind, spec):
    document = {
        "apiVersion": "gati.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": {**MINIMAL[kind], **spec},
    }
    assert model_errors(document)
    assert crd_refuses(document)


@pytest.mark.parametrize("kind", PUBLISHED)
def test_an_object_without_a_spec_is_refused(kind):
    document = {"apiVersion": "gati.dev/v1alpha1", "kind": kind, "metadata": {"name": "a"}}
    assert [finding.path for finding in crd_refuses(document)] == [("spec",)]
