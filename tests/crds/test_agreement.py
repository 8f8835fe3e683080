"""The CRDs and the models say the same of a document: bounds, patterns, keys and rules."""

import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gati_gitops.check.compiled import Compiler, Finding
from gati_gitops.check.custom import OBJECT_META, custom_kinds, strict_schema
from gati_gitops.spec.crds import crds
from gati_gitops.spec.kinds import GatiHandler, GatiModule, GatiVersion
from gati_gitops.spec.project import GatiProject
from gati_gitops.spec.schema_editor import COMBINED, json_schemas
from tests.crds.cel import holds
from tests.crds.documents import documents, spoiled

KINDS = (GatiHandler, GatiModule, GatiVersion)
CUSTOM = {kind.kind: kind for crd in crds().values() for kind in custom_kinds(crd)}
STRICT = {name: strict_schema(kind) for name, kind in CUSTOM.items()}
CHECKS = {name: Compiler({OBJECT_META: {}}).compile(s) for name, s in STRICT.items()}


def any_kind(make) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(KINDS).flatmap(make)


def for_python(schema: Any) -> Any:
    """``$`` as JSON Schema means it."""
    if isinstance(schema, dict):
        return {
            key: re.sub(r"\$\Z", r"\\Z", value)
            if key == "pattern" and isinstance(value, str)
            else for_python(value)
            for key, value in schema.items()
        }
    return [for_python(item) for item in schema] if isinstance(schema, list) else schema


LIBRARY = {
    name: jsonschema.Draft202012Validator(for_python({**schema, "$defs": {OBJECT_META: {}}}))
    for name, schema in STRICT.items()
}
EDITOR = jsonschema.Draft7Validator(for_python(json_schemas()[COMBINED]))


def model_errors(document: dict[str, Any]) -> list[Any]:
    model = {kind.__name__: kind for kind in (*KINDS, GatiProject)}[document["kind"]]
    try:
        model.model_validate(document)
    except ValidationError as error:
        return error.errors()
    return []


def defaulted(value: Any, schema: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        known = schema.get("properties", {})
        other = schema.get("additionalProperties", {})
        result = {key: defaulted(item, known.get(key, other)) for key, item in value.items()}
        for key, child in known.items():
            if key not in result and "default" in child:
                result[key] = child["default"]
        return result
    if isinstance(value, list):
        return [defaulted(item, schema.get("items", {})) for item in value]
    return value


def broken_rules(value: Any, schema: dict[str, Any]) -> list[str]:
    found = [
        rule["message"]
        for rule in schema.get("x-kubernetes-validations", ())
        if not holds(rule["rule"], value)
    ]
    if isinstance(value, dict):
        for key, item in value.items():
            child = schema.get("properties", {}).get(key) or schema.get("additionalProperties", {})
            found += broken_rules(item, child)
    elif isinstance(value, list):
        for item in value:
            found += broken_rules(item, schema.get("items", {}))
    return found


def schema_refuses(document: dict[str, Any]) -> list[Finding]:
    found: list[Finding] = []
    CHECKS[document["kind"]](document, (), found)
    return found


def crd_refuses(document: dict[str, Any]) -> list[Any]:
    """What the API server does: the schema first, then defaults and the rules."""
    schema = CUSTOM[document["kind"]].schema
    return schema_refuses(document) or broken_rules(defaulted(document, schema), schema)


def expressible(error: dict[str, Any]) -> bool:
    """Whether a schema without CEL can say what the model said."""
    return error["type"] != "value_error" and error["loc"][-1] != "[key]"


@given(any_kind(documents) | any_kind(spoiled))
def test_crds_refuse_what_the_models_refuse_and_nothing_else(document):
    errors = model_errors(document)
    assert bool(crd_refuses(document)) == bool(errors), (crd_refuses(document), errors)


@given(any_kind(documents) | any_kind(spoiled))
def test_bounds_alone_are_in_the_schema(document):
    errors = model_errors(document)
    refused = schema_refuses(document)
    assert not refused or errors
    if any(expressible(error) for error in errors):
        assert refused, errors


@given(any_kind(documents) | any_kind(spoiled))
def test_our_reading_of_a_schema_is_the_library_s(document):
    ours = {
        finding.path for finding in schema_refuses(document) if finding.code != "duplicate-entry"
    }
    assert bool(ours) == (not LIBRARY[document["kind"]].is_valid(document)), ours


@given(st.sampled_from((*KINDS, GatiProject)).flatmap(lambda k: documents(k) | spoiled(k)))
def test_editor_schema_refuses_what_the_models_refuse_of_one_value(document):
    errors = model_errors(document)
    valid = EDITOR.is_valid(document)
    assert valid or errors, list(EDITOR.iter_errors(document))
    if any(error["type"] != "value_error" for error in errors):
        assert not valid, errors


HANDLER = {
    "apiVersion": "gati.dev/v1alpha1",
    "kind": "GatiHandler",
    "metadata": {"name": "users"},
    "spec": {"handlerPath": "/", "version": "v1", "replicas": 1, "image": "a:1", "port": 3000},
}
EDGE = {"type": "prometheus", "target": "1"}
CPU = {"type": "cpu", "utilization": 70}


# What each rule refuses, and what it says; a real API server is asked the same in tests/e2e.
RULES = [
    ({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}}, "cpu request"),
    ({"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1G"}}}, "memory"),
    (
        {
            "resources": {
                "requests": {"ephemeral-storage": "2"},
                "limits": {"ephemeral-storage": "1"},
            }
        },
        "ephemeral-storage",
    ),
    ({"envRefs": {"A": {}}}, "exactly one of secret, configMap and field"),
    ({"envRefs": {"A": {"secret": "a", "field": "b", "key": "k"}}}, "exactly one of"),
    ({"envRefs": {"A": {"secret": "a"}}}, "needs a key"),
    ({"envFrom": [{}]}, "exactly one of secret and configMap"),
    ({"envFrom": [{"secret": "a", "configMap": "b"}]}, "exactly one of secret and configMap"),
    ({"env": {"A": "1"}, "envRefs": {"A": {"field": "b"}}}, "in env and in envRefs"),
    ({"env": {"A=B": "1"}}, "variable's name"),
    ({"placement": {"nodeSelector": {"a b": "1"}}}, "DNS prefix"),
    ({"autoscaling": {"min": 3, "max": 2}}, "above max"),
    ({"autoscaling": {"warmFloor": 3, "max": 2}}, "above max"),
    ({"autoscaling": {"min": 0}}, "cannot go to 0"),
    ({"autoscaling": {"metrics": [{"type": "cpu"}]}}, "needs utilization"),
    ({"autoscaling": {"metrics": [{"type": "pods", "name": "a"}]}}, "needs name and target"),
    (
        {"autoscaling": {"type": "keda", "metrics": [{"type": "prometheus", "query": "a"}]}},
        "needs query and target",
    ),
    (
        {"autoscaling": {"type": "keda", "metrics": [{"type": "cron", "replicas": 1}]}},
        "needs timezone",
    ),
    (
        {"autoscaling": {"metrics": [{"type": "prometheus", "query": "a", "target": "1"}]}},
        "an HPA cannot follow",
    ),
    (
        {
            "autoscaling": {
                "type": "keda",
                "metrics": [{"type": "pods", "name": "a", "target": "1"}],
            }
        },
        "a ScaledObject cannot follow",
    ),
    ({"autoscaling": {"type": "keda", "min": 0, "metrics": [CPU]}}, "ever wake it"),
    (
        {"autoscaling": {"type": "keda", "min": 0, "metrics": [{**EDGE, "query": "gati_x"}]}},
        "ever wake it",
    ),
    ({"volumes": [{"name": "a", "mountPath": "/a"}]}, "exactly one of emptyDir"),
    (
        {"volumes": [{"name": "a", "mountPath": "/a", "emptyDir": {}, "secret": "s"}]},
        "exactly one of emptyDir",
    ),
    (
        {
            "volumes": [
                {"name": "a", "mountPath": "/a", "emptyDir": {}},
                {"name": "b", "mountPath": "/a", "emptyDir": {}},
            ]
        },
        "mount path is used twice",
    ),
]


@pytest.mark.parametrize("spec, message", RULES)
def test_each_rule_has_its_twin(spec, message):
    document = {**HANDLER, "spec": {**HANDLER["spec"], **spec}}
    assert model_errors(document)
    assert any(message in said for said in crd_refuses(document))


@pytest.mark.parametrize(
    "spec",
    [
        {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1000m"}}},
        {"envRefs": {"A": {"secret": "a", "key": "k"}, "B": {"field": "status.podIP"}}},
        {"envFrom": [{"secret": "a"}, {"configMap": "b", "prefix": "P_"}]},
        {"env": {"A": "1"}, "envRefs": {"B": {"field": "b"}}},
        {"autoscaling": {"min": 1, "max": 1, "metrics": [CPU]}},
        {"autoscaling": {"min": 0, "warmFloor": 1}},
        {"autoscaling": {"type": "keda", "min": 0, "metrics": [{**EDGE, "query": "edge"}]}},
        {"volumes": [{"name": "a", "mountPath": "/a", "files": {"a.txt": "x"}}]},
    ],
)
def test_rules_let_good_documents_pass(spec):
    document = {**HANDLER, "spec": {**HANDLER["spec"], **spec}}
    assert model_errors(document) == []
    assert crd_refuses(document) == []


def test_two_volumes_of_one_name_are_refused_as_entries_of_one_key():
    volume = {"name": "a", "mountPath": "/a", "emptyDir": {}}
    document = {
        **HANDLER,
        "spec": {**HANDLER["spec"], "volumes": [volume, {**volume, "mountPath": "/b"}]},
    }
    assert model_errors(document)
    assert [finding.code for finding in crd_refuses(document)] == ["duplicate-entry"]
