"""A real API server takes our CRDs, and then what the specs of our users say, or says why not."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.disk.specs import read_specs
from gati_gitops.spec.crds import crd_files
from gati_gitops.spec.kinds import GatiHandler, GatiModule, GatiVersion
from tests.crds.documents import documents, spoiled
from tests.crds.test_agreement import HANDLER, RULES, model_errors
from tests.e2e.api import ApiError

ROOT = Path(__file__).parents[2]
V1 = "gati.dev/v1alpha1"

# The three that every user of the operator starts with.
USERS = {
    "apiVersion": V1,
    "kind": "GatiHandler",
    "metadata": {"name": "user-handler"},
    "spec": {
        "handlerPath": "/api/users",
        "version": "v1.0.0",
        "replicas": 3,
        "image": "ghcr.io/krishnapaul242/user-handler:v1.0.0",
        "port": 3000,
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "500m", "memory": "512Mi"},
        },
        "env": {"NODE_ENV": "production"},
        "timescape": {"breaking": False, "routingWeight": 100},
    },
}
DATABASE = {
    "apiVersion": V1,
    "kind": "GatiModule",
    "metadata": {"name": "db-module"},
    "spec": {
        "moduleName": "database",
        "moduleType": "node",
        "runtime": "node:20",
        "replicas": 2,
        "image": "ghcr.io/krishnapaul242/db-module:v1.0.0",
        "port": 50051,
        "capabilities": ["network", "storage"],
        "env": {"POOL_SIZE": "10"},
    },
}
VERSION = {
    "apiVersion": V1,
    "kind": "GatiVersion",
    "metadata": {"name": "user-handler-v1"},
    "spec": {
        "versionId": "v1.0.0",
        "breaking": False,
        "routingWeight": 100,
        "transformers": ["v1-to-v2"],
        "deploymentName": "handler-user-handler",
        "serviceName": "handler-user-handler",
    },
}


@pytest.fixture(scope="module")
def cluster(control_plane):
    control_plane.install(
        [text.decode() for text in crd_files().values() if b"\nkind: Custom" in text]
    )
    control_plane.namespace("accepted")
    return control_plane


def placed(document):
    return {**document, "metadata": {**document["metadata"], "namespace": "accepted"}}


@pytest.mark.parametrize(
    "document", [USERS, DATABASE, VERSION], ids=lambda d: d["metadata"]["name"]
)
def test_the_operators_first_examples_are_accepted(cluster, document):
    assert not model_errors(document)
    made = cluster.api.apply(placed(document))
    assert {key: made["spec"][key] for key in document["spec"]} == document["spec"]


def shop():
    for path, content in read_specs(ROOT / "examples/shop"):
        if "/environments/" not in f"/{path}":
            for document in yaml.safe_load_all(content):
                if document and document["kind"] != "GatiProject":
                    yield document


@pytest.mark.parametrize(
    "document", list(shop()), ids=lambda d: f"{d['kind']}-{d['metadata']['name']}"
)
def test_the_shop_is_accepted(cluster, document):
    cluster.namespace(document["metadata"]["namespace"])
    cluster.api.apply(document)


@pytest.mark.parametrize("spec, message", RULES, ids=lambda v: v if isinstance(v, str) else "")
def test_bad_ones_are_refused_in_our_words(cluster, spec, message):
    document = placed({**HANDLER, "spec": {**HANDLER["spec"], **spec}})
    with pytest.raises(ApiError) as refused:
        cluster.api.create(document, dryRun="All")
    assert refused.value.status == 422
    assert message in refused.value.message


KINDS = st.sampled_from((GatiHandler, GatiModule, GatiVersion))


@given(KINDS.flatmap(lambda kind: documents(kind) | spoiled(kind)))
def test_the_server_and_validate_are_of_one_mind(cluster, document):
    refused = refusal(cluster, document)
    errors = model_errors(document)
    assert bool(refused) == bool(errors), (refused, errors)


def refusal(cluster, document) -> str:
    try:
        cluster.api.create(placed(document), dryRun="All")
    except ApiError as error:
        if error.status in (400, 422):
            return error.message
        raise
    return ""


def test_a_misspelt_field_is_named(cluster):
    document = {**USERS, "spec": {**USERS["spec"], "replica": 3}}
    with pytest.raises(ApiError, match=r'unknown field \\?"spec\.replica\\?"'):
        cluster.api.create(placed(document), dryRun="All")


@pytest.mark.parametrize(
    "asked, head, line",
    [
        (
            "gatihandlers",
            "NAME PATH VERSION WEIGHT PHASE AGE",
            "user-handler /api/users v1.0.0 100",
        ),
        ("gh", "NAME PATH VERSION WEIGHT PHASE AGE", "user-handler /api/users v1.0.0 100"),
        ("gm", "NAME TYPE RUNTIME REPLICAS PHASE AGE", "db-module node node:20 2"),
        ("gv", "NAME VERSION HANDLER WEIGHT PHASE AGE", "user-handler-v1 v1.0.0 100"),
    ],
)
def test_people_see_our_columns(cluster, asked, head, line):
    for document in (USERS, DATABASE, VERSION):
        cluster.api.apply(placed(document))
    shown = [text.split() for text in cluster.kubectl("-n", "accepted", "get", asked).splitlines()]
    assert shown[0] == head.split()
    assert shown[1][: len(line.split())] == line.split()


def test_status_is_the_clusters(cluster):
    """A spec's author can't set it, and whoever runs in the cluster can."""
    cluster.api.apply(placed(USERS))
    path = cluster.api.path(V1, "GatiHandler", "accepted", "user-handler", "status")
    status = {"phase": "Running", "replicas": 3, "readyReplicas": 3}
    cluster.api.request("PATCH", path, {"status": status}, type="application/merge-patch+json")
    again = cluster.api.apply(placed({**USERS, "status": {"phase": "Failed"}}))
    assert again["status"]["phase"] == "Running"
    assert "Running" in cluster.kubectl("-n", "accepted", "get", "gh", "user-handler")
