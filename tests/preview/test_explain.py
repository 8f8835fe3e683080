"""Origins by name: where values come from that people ask about, and how they may ask."""

from typing import Any

import pytest

from gati_gitops.output import Output
from gati_gitops.preview.explain import BadField, Explainer, Kind, Origin, find, origins
from gati_gitops.preview.explain.fields import match, pattern
from gati_gitops.preview.explain.files import scope_for, scope_of
from gati_gitops.render import MemoryFiles, render
from gati_gitops.spec.link import link_all
from gati_gitops.spec.load import load
from gati_gitops.tree import MemorySnapshot, Tree
from gati_gitops.yamlio.goyaml_read import decode, read_resources
from gati_gitops.yamlio.goyaml_scalars import plain
from tests.preview.mutate import compiled

PROJECT = b"""apiVersion: gati.dev/v1alpha1
kind: GatiProject
metadata:
  name: shop
spec:
  environments:
    dev:
      clusters: {dev-1: {}}
    prod:
      rollout: {strategy: canary}
      registries:
        ghcr.io/acme: mirror.example/acme
      clusters:
        eu-1: {}
        us-1:
          routing: {hosts: [us.example.com]}
      routing: {hosts: [www.example.com]}
"""
USERS = b"""apiVersion: gati.dev/v1alpha1
kind: GatiHandler
metadata:
  name: users
  namespace: shop
  labels:
    team: identity
spec:
  handlerPath: /users
  version: v1
  replicas: 3
  image: ghcr.io/acme/users:1
  port: 3000
  env:
    LEVEL: info
  probes:
    periodSeconds: 7
    liveness:
      periodSeconds: 9
  security:
    writablePaths: [/cache]
  timescape: {routingWeight: 90}
---
apiVersion: gati.dev/v1alpha1
kind: GatiVersion
metadata:
  name: users-v2
  namespace: shop
spec:
  handler: users
  versionId: v2
  breaking: false
  routingWeight: 10
  image: ghcr.io/acme/users:2
  env:
    EXTRA: "1"
"""
PARTIAL = b"""apiVersion: gati.dev/v1alpha1
kind: GatiHandler
metadata:
  name: users
  namespace: shop
spec:
  replicas: 5
  env:
    LEVEL: warn
"""
FILES: Tree = {
    "gati.yaml": PROJECT,
    "users.yaml": USERS,
    "environments/prod/users.yaml": PARTIAL,
}
UNIT = "overlays/prod/eu-1/shop/handler-users"
BOX = "spec.template.spec.containers[0]"


def explainer_of(files: Tree, tree: Tree) -> Explainer:
    specs = load(files.items())
    return Explainer(specs, link_all(specs, Output(MemorySnapshot(tree)).names()))


@pytest.fixture(scope="module")
def tree() -> Tree:
    return compiled(FILES, {})


def of_file(tree: Tree, path: str, kind: str = "", files: Tree = FILES) -> dict[str, Origin]:
    """The origins of the first object of a kind in a file."""
    explainer = explainer_of(files, tree)
    for document in read_resources(decode(tree[path])):
        made = plain(document)
        if kind in ("", made.get("kind")):
            return origins(scope_of(explainer, MemorySnapshot(tree), path), made, path)
    raise AssertionError(f"no {kind} in {path}")


def rendered(tree: Tree, folder: str, name: str, files: Tree = FILES) -> dict[str, Origin]:
    """Of a Deployment as a cluster gets it."""
    explainer, output = explainer_of(files, tree), MemorySnapshot(tree)
    for made in render(MemoryFiles(tree), folder).objects():
        if (made["kind"], made["metadata"]["name"]) == ("Deployment", name):
            path = f"{folder}/kustomization.yaml"
            return origins(scope_for(explainer, output, path, made), made, path)
    raise AssertionError(name)


def release(tree: Tree, version: str) -> str:
    return next(
        path for path in tree if path.startswith("base/") and path.endswith("/deployment.yaml")
        and path.split("/")[3].startswith(f"{version}-")
    )  # fmt: skip


def said(origin: Origin) -> tuple[str, str, str]:
    return str(origin.kind), origin.field, f"{origin.file}:{origin.line}"


# -- where values come from ----------------------------------------------------------------------


def test_a_field_of_the_spec(tree):
    found = of_file(tree, release(tree, "v1"))
    assert said(found[f"{BOX}.image"]) == ("spec", "spec.image", "users.yaml:12")
    assert said(found["metadata.labels.team"]) == ("spec", "metadata.labels.team", "users.yaml:7")


def test_the_version_says_more_than_its_handler(tree):
    found = of_file(tree, release(tree, "v2"))
    assert said(found[f"{BOX}.image"]) == ("spec", "spec.image", "users.yaml:34")
    assert said(found[f"{BOX}.ports[0].containerPort"]) == ("spec", "spec.port", "users.yaml:13")
    by_name = {o.field: o for path, o in found.items() if path.endswith(".value")}
    assert said(by_name["spec.env.EXTRA"]) == ("spec", "spec.env.EXTRA", "users.yaml:36")
    assert said(by_name["spec.env.LEVEL"]) == ("spec", "spec.env.LEVEL", "users.yaml:15")


def test_the_nearest_setting_of_a_probe(tree):
    found = of_file(tree, release(tree, "v1"))
    assert found[f"{BOX}.livenessProbe.periodSeconds"].field == "spec.probes.liveness.periodSeconds"
    assert found[f"{BOX}.readinessProbe.periodSeconds"].field == "spec.probes.periodSeconds"


def test_a_default_says_where_to_change_it(tree):
    found = of_file(tree, release(tree, "v1"))
    origin = found[f"{BOX}.readinessProbe.failureThreshold"]
    assert said(origin) == ("default", "spec.probes.readiness.failureThreshold", "users.yaml:0")
    assert "3 where nobody says otherwise" in origin.sentence


def test_a_rule_of_the_compiler(tree):
    origin = of_file(tree, release(tree, "v1"))["spec.strategy.rollingUpdate.maxUnavailable"]
    assert (origin.kind, origin.field, origin.file) == (Kind.RULE, "", "")


def test_folders_that_can_be_written(tree):
    explainer = explainer_of(FILES, tree)
    path = release(tree, "v1")
    made = plain(read_resources(decode(tree[path]))[0])
    found = origins(scope_of(explainer, MemorySnapshot(tree), path), made, path)
    mounts = made["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    number = next(n for n, mount in enumerate(mounts) if mount["mountPath"] == "/cache")
    own = found[f"{BOX}.volumeMounts[{number}].mountPath"]
    assert said(own) == ("spec", "spec.security.writablePaths[0]", "users.yaml:21")
    assert found[f"{BOX}.volumeMounts[0].mountPath"].kind is Kind.DEFAULT


def test_a_partial_document_of_the_environment(tree):
    prod = rendered(tree, UNIT, "handler-users-v1")
    assert said(prod["spec.replicas"]) == (
        "spec", "spec.replicas", "environments/prod/users.yaml:7",
    )  # fmt: skip
    dev = rendered(tree, "overlays/dev/dev-1/shop/handler-users", "handler-users-v1")
    assert said(dev["spec.replicas"]) == ("spec", "spec.replicas", "users.yaml:11")


def test_an_image_names_its_mirror(tree):
    origin = rendered(tree, UNIT, "handler-users-v1")[f"{BOX}.image"]
    assert [(c.field, c.file, c.line) for c in origin.also] == [
        ('spec.environments.prod.registries["ghcr.io/acme"]', "gati.yaml", 12)
    ]
    assert (
        rendered(tree, "overlays/dev/dev-1/shop/handler-users", "handler-users-v1")[
            f"{BOX}.image"
        ].also
        == ()
    )


def test_a_cluster_counts_before_its_environment(tree):
    eu = of_file(tree, f"{UNIT}/route.yaml")["spec.hostnames[0]"]
    us = of_file(tree, "overlays/prod/us-1/shop/handler-users/route.yaml")["spec.hostnames[0]"]
    assert said(eu)[1:] == ("spec.environments.prod.routing.hosts[0]", "gati.yaml:17")
    assert said(us)[1:] == ("spec.environments.prod.clusters.us-1.routing.hosts[0]", "gati.yaml:16")


def split(tree: Tree, folder: str) -> dict[str, Origin]:
    """The origins of the weights, by version."""
    path = f"{folder}/route.yaml"
    made = plain(read_resources(decode(tree[path]))[0])
    found = of_file(tree, path)
    return {
        ref["name"]: found[f"spec.rules[{number}].backendRefs[{at}].weight"]
        for number, rule in enumerate(made["spec"]["rules"])
        if rule["name"] == "split"
        for at, ref in enumerate(rule["backendRefs"])
    }


def test_weights_under_manual_are_the_spec_s(tree):
    dev = split(tree, "overlays/dev/dev-1/shop/handler-users")
    assert said(dev["handler-users-v1"])[1:] == ("spec.timescape.routingWeight", "users.yaml:22")
    assert said(dev["handler-users-v2"])[1:] == ("spec.routingWeight", "users.yaml:33")


def test_weights_under_canary_are_the_ledger_s_and_name_its_line(tree):
    prod = split(tree, UNIT)
    lines = tree[f"{UNIT}/rollout.yaml"].decode().splitlines()
    for name, weight in (("handler-users-v1", "90"), ("handler-users-v2", "10")):
        origin = prod[name]
        assert (origin.kind, origin.file) == (Kind.LEDGER, f"{UNIT}/rollout.yaml")
        assert lines[origin.line - 1].strip() == f"weight: {weight}"


def test_a_ledger_that_changes_moves_what_it_is_named_for(tree):
    stored = tree[f"{UNIT}/rollout.yaml"]
    moved = stored.replace(b"weight: 90", b"weight: 70").replace(b"weight: 10\n", b"weight: 30\n")
    after = compiled(FILES, {**tree, f"{UNIT}/rollout.yaml": moved})
    route = decode(after[f"{UNIT}/route.yaml"])
    assert "weight: 70" in route and "weight: 30" in route
    assert all(origin.kind is Kind.LEDGER for origin in split(after, UNIT).values())


def test_a_unit_whose_spec_is_gone_still_says_what_made_it(tree):
    other = USERS.partition(b"---")[0].replace(b"name: users", b"name: other")
    other = other.replace(b"/users\n", b"/other\n").replace(b"routingWeight: 90", b"")
    others = {"gati.yaml": PROJECT, "users.yaml": other}
    after = compiled(others, tree)
    origin = of_file(after, f"{UNIT}/route.yaml", files=others)["metadata.name"]
    assert (origin.kind, origin.file, origin.line) == (Kind.SPEC, "users.yaml", 0)
    assert "its spec is gone" in origin.sentence


def test_without_specs_the_plan_still_names_the_file(tree):
    path = f"{UNIT}/scaling.yaml"
    made = plain(read_resources(decode(tree[path]))[0])
    found = origins(scope_of(Explainer(), MemorySnapshot(tree), path), made, path)
    origin = found['metadata.annotations["gati.dev/version-id"]']
    assert (origin.file, origin.line) == ("users.yaml", 0)
    assert "the specs were not looked at" in origin.sentence


def test_specs_that_have_changed_since_are_noticed(tree):
    plan = Output(MemorySnapshot(tree)).units("prod", "eu-1")["shop", "handler-users"].plan
    assert explainer_of(FILES, tree).outdated(plan) == []
    changed = {**FILES, "users.yaml": USERS.replace(b"LEVEL: info", b"LEVEL: debug")}
    assert explainer_of(changed, tree).outdated(plan) == ["v1", "v2"]
    one = {**FILES, "users.yaml": USERS.replace(b'EXTRA: "1"', b'EXTRA: "2"')}
    assert explainer_of(one, tree).outdated(plan) == ["v2"]
    assert Explainer().outdated(plan) == []


@pytest.mark.parametrize(
    "made",
    [
        {"apiVersion": "v1", "kind": "Service", "metadata": None, "spec": None},
        {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "x"}},
        {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {}, "spec": {"egress": [{"ports": [{"port": 1}]}] * 9, "ingress": [{"ports": [{"port": 2}]}] * 9}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": None}, "data": {"a": "b"}},
        {"apiVersion": "x", "kind": "Unheard", "spec": [[[1]]]},
        {"no": "kind"},
    ],
)  # fmt: skip
def test_odd_objects_are_explained_or_not_but_nothing_fails(tree, made: dict[str, Any]):
    explainer, output = explainer_of(FILES, tree), MemorySnapshot(tree)
    for path in (f"{UNIT}/route.yaml", "overlays/prod/eu-1/shop/_namespace/x.yaml", "base/a/b/c/d"):
        assert origins(scope_for(explainer, output, path, made), made, path)


# -- how people ask ------------------------------------------------------------------------------

OBJECT = {
    "metadata": {"labels": {"gati.dev/unit": "users", "team": "a"}},
    "spec": {
        "replicas": 2,
        "rules": [{"name": "split", "weight": 1}, {"name": "pin", "weight": 2}],
        "empty": {},
    },
}


@pytest.mark.parametrize(
    "text, paths",
    [
        ("spec.replicas", [("spec", "replicas")]),
        (".spec.replicas", [("spec", "replicas")]),
        ("$.spec.replicas", [("spec", "replicas")]),
        ("spec.rules[1].weight", [("spec", "rules", 1, "weight")]),
        ("spec.rules[name=pin].weight", [("spec", "rules", 1, "weight")]),
        ("spec.rules[*].name", [("spec", "rules", 0, "name"), ("spec", "rules", 1, "name")]),
        ('metadata.labels["gati.dev/unit"]', [("metadata", "labels", "gati.dev/unit")]),
        ("metadata.labels['gati.dev/unit']", [("metadata", "labels", "gati.dev/unit")]),
        ("metadata.labels.gati.dev/unit", [("metadata", "labels", "gati.dev/unit")]),
        ("spec.rules", [("spec", "rules")]),
    ],
)
def test_ways_to_name_a_field(text, paths):
    assert find(OBJECT, text) == paths


@pytest.mark.parametrize(
    "text, words",
    [
        ("spec.replica", "no field replica in spec; did you mean replicas"),
        ("spce", "no field spce; did you mean spec"),
        ("spec.rules[7]", "no element 7 in spec.rules, which has 2; its elements are called split, pin"),
        ("spec.rules[name=x]", r"no element \[name=x\] in spec.rules"),
        ("spec.replicas.more", "spec.replicas is a plain value"),
        ("metadata.zzzz", "there is labels"),
        ("spec[", "is no field"),
    ],
)  # fmt: skip
def test_a_field_that_is_not_there_is_explained(text, words):
    with pytest.raises(BadField, match=words):
        find(OBJECT, text)


@pytest.mark.parametrize(
    "rule, path, bound",
    [
        ("spec.rules[name=$n].weight", ("spec", "rules", 1, "weight"), {"n": "pin"}),
        ("spec.rules[name=$n@p*].weight", ("spec", "rules", 1, "weight"), {"n": "pin"}),
        ("spec.rules[name=$n@s*].weight", ("spec", "rules", 1, "weight"), None),
        ("spec.rules[name=split].weight", ("spec", "rules", 1, "weight"), None),
        ("spec.rules[].$k", ("spec", "rules", 0, "name"), {"k": "name"}),
        ("spec.**", ("spec", "rules", 0, "name"), {}),
        ("spec.$k", ("spec", "rules", 0, "name"), None),
    ],
)
def test_patterns(rule, path, bound):
    found = match(pattern(rule), path, OBJECT)
    assert (found is None) == (bound is None)
    if found is not None:
        assert {key: value for key, value in found.items() if key != "indexes"} == bound


def test_what_a_gone_spec_said_of_a_variable_is_named(tree):
    """Without the document, too: the field is the variable's, and no pattern."""
    path = f"{UNIT}/scaling.yaml"
    version = plain(read_resources(decode(tree[path]))[0])["metadata"]
    box = {"name": "handler", "env": [{"name": "GREETING", "value": "hello"}]}
    made = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": version,
        "spec": {"template": {"spec": {"containers": [box]}}},
    }  # fmt: skip
    found = origins(scope_of(Explainer(), MemorySnapshot(tree), path), made, path)
    assert found["spec.template.spec.containers[0].env[0].value"].field == "spec.env.GREETING"
