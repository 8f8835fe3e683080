"""Documents of the published CRDs: the operator's own examples, and whatever its schemas allow."""

from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from gati_gitops.plan.check import check
from gati_gitops.spec.load import load

EXAMPLES = """\
apiVersion: gati.dev/v1alpha1
kind: GatiHandler
metadata:
  name: user-handler
  namespace: default
spec:
  handlerPath: /api/users
  version: v1.0.0
  replicas: 3
  image: gati/user-handler:v1.0.0
  port: 3000
  resources:
    requests:
      cpu: 100m
      memory: 128Mi
    limits:
      cpu: 500m
      memory: 512Mi
---
apiVersion: gati.dev/v1alpha1
kind: GatiModule
metadata:
  name: db-module
  namespace: default
spec:
  moduleName: database
  moduleType: node
  runtime: node:20
  replicas: 2
  image: gati/db-module:v1.0.0
  port: 50051
  capabilities:
    - network
    - storage
---
apiVersion: gati.dev/v1alpha1
kind: GatiVersion
metadata:
  name: user-handler-v1
  namespace: default
spec:
  versionId: v1.0.0
  breaking: false
  routingWeight: 100
  transformers: []
  deploymentName: handler-user-handler
  serviceName: handler-user-handler
"""


def test_the_examples_load_as_they_stand() -> None:
    specs = load([("examples.yaml", EXAMPLES.encode())])
    assert specs.warnings == ()
    (handler,), (module,), (version,) = specs.handlers, specs.modules, specs.versions
    assert handler.model.spec.handler_path == "/api/users"
    assert handler.model.spec.resources.limits.memory == "512Mi"
    assert module.model.spec.capabilities == ["network", "storage"]
    assert version.model.spec.routing_weight == 100
    assert version.model.spec.deployment_name == "handler-user-handler"


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=30)
VERSIONS = st.one_of(
    st.from_regex(r"v[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(\+[a-z0-9]{1,8})?", fullmatch=True),
    st.from_regex(r"tsv:[0-9]{10}-[a-zA-Z0-9_-]{1,12}-[0-9]{3}", fullmatch=True),
    st.sampled_from(["1.10", "2024-01-31", "yes", "1e3", "0123", "latest"]),
)
IMAGES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "registry.example.com/", "localhost:5000/team/", "gati/"]),
    NAMES,
    st.sampled_from(["", ":v1.0.0", ":1.0", "@sha256:" + "0a" * 32, ":1.0@sha256:" + "f" * 64]),
)
PORTS = st.integers(1, 65535)
WEIGHTS = st.integers(0, 100)
REPLICAS = st.integers(0, 10000)
# Requests below limits; the schema asks for any text, a cluster for a quantity.
REQUESTS = optional(
    cpu=st.sampled_from(["100m", "0.1", "1e-1"]), memory=st.sampled_from(["128Mi", "1000000"])
)
LIMITS = optional(
    cpu=st.sampled_from(["500m", "1", "2.5"]), memory=st.sampled_from(["512Mi", "1Gi", "1e9"])
)
RESOURCES = optional(requests=REQUESTS, limits=LIMITS)
ENV = st.dictionaries(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,20}", fullmatch=True),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), max_size=30)
    | st.sampled_from(["no", "3000", "1.10", "", "~", "a\nb", "22:22"]),
    max_size=4,
)
RUNNING = {"replicas": REPLICAS, "image": IMAGES, "port": PORTS}
MORE = {"resources": RESOURCES, "env": ENV}
METADATA = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "namespace": NAMES,
        "labels": st.dictionaries(NAMES, NAMES, max_size=2),
        "annotations": st.dictionaries(NAMES, TEXT, max_size=2),
    },
)
SPECS = {
    "GatiHandler": st.fixed_dictionaries(
        {"handlerPath": st.sampled_from(["/", "/api/users", "/api/v1/things/:id"]), "version": VERSIONS, **RUNNING},
        optional={**MORE, "timescape": optional(breaking=st.booleans(), routingWeight=WEIGHTS)},
    ),
    "GatiModule": st.fixed_dictionaries(
        {"moduleName": TEXT, "moduleType": st.sampled_from(["node", "wasm", "oci"]), "runtime": TEXT, **RUNNING},
        optional={**MORE, "capabilities": st.lists(TEXT, max_size=4)},
    ),
    "GatiVersion": st.fixed_dictionaries(
        {"versionId": VERSIONS, "breaking": st.booleans(), "routingWeight": WEIGHTS},
        optional={"transformers": st.lists(TEXT, max_size=3), "deploymentName": NAMES, "serviceName": NAMES},
    ),
}  # fmt: skip
DOCUMENTS = st.sampled_from(sorted(SPECS)).flatmap(
    lambda kind: st.fixed_dictionaries(
        {
            "apiVersion": st.just("gati.dev/v1alpha1"),
            "kind": st.just(kind),
            "metadata": METADATA,
            "spec": SPECS[kind],
        }
    )
)


class Quoting(yaml.SafeDumper):
    """Writes every string in double quotes, as a careful author would."""


Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


@given(DOCUMENTS)
@example(
    {
        "apiVersion": "gati.dev/v1alpha1",
        "kind": "GatiModule",
        "metadata": {"name": "vision"},
        "spec": {"moduleName": "Vision", "moduleType": "oci", "runtime": "cuda", "replicas": 1,
                 "image": "vision:1", "port": 50051, "capabilities": ["gpu", "NET_ADMIN"]},
    }
)  # fmt: skip
def test_what_the_published_schemas_allow_loads(document: dict[str, Any]) -> None:
    # Without aliases, which PyYAML writes for values that are the same object.
    Quoting.ignore_aliases = lambda *_: True  # type: ignore[method-assign]
    specs = load([("a.yaml", yaml.dump(document, Dumper=Quoting, sort_keys=False).encode())])

    (doc,) = (*specs.handlers, *specs.modules, *specs.versions)
    assert doc.data == document
    # A version compiles with its handler only, and weights are traffic, which adds up.
    if document["kind"] != "GatiVersion":
        problems = check(specs)
        assert {problem.code for problem in problems if problem.is_error} <= {"weights-sum"}
