"""The schemas that editors read."""

from typing import Any

import jsonschema
import pytest

from gati_gitops.spec.schema_editor import COMBINED, ENVIRONMENT, json_schema_files, json_schemas

SCHEMAS = json_schemas()
HANDLER: dict[str, Any] = {
    "apiVersion": "gati.dev/v1alpha1",
    "kind": "GatiHandler",
    "metadata": {"name": "users", "anything": "goes"},
    "spec": {
        "handlerPath": "/users",
        "version": "v1",
        "replicas": 1,
        "image": "users:1",
        "port": 3000,
        "autoscaling": None,
    },
}
PROJECT = {
    "apiVersion": "gati.dev/v1alpha1",
    "kind": "GatiProject",
    "metadata": {"name": "shop"},
    "spec": {"environments": {"prod": {"clusters": {"eu": {}}}}},
}


def errors(file: str, document: Any) -> list[str]:
    """Messages, those inside ``if``/``then`` included."""
    found = jsonschema.Draft7Validator(SCHEMAS[file]).iter_errors(document)
    return [error.message for error in found]


def test_one_file_per_kind_and_two_for_all():
    kinds = ("gatihandler", "gatimodule", "gativersion", "gatiproject")
    assert SCHEMAS.keys() == {*(f"{kind}.schema.json" for kind in kinds), COMBINED, ENVIRONMENT}
    assert json_schema_files().keys() == SCHEMAS.keys()


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_each_is_draft_7_by_its_own_word(schema):
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    jsonschema.Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_no_word_of_kubernetes_or_pydantic_is_left(schema):
    def words(value: Any):
        if isinstance(value, dict):
            yield from value
            for child in value.values():
                yield from words(child)
        elif isinstance(value, list):
            for child in value:
                yield from words(child)

    found = set(words(schema))
    assert not {word for word in found if word.startswith("x-kubernetes")}
    assert not found & {"nullable", "$defs", "anyOf"}


@pytest.mark.parametrize("file", [COMBINED, "gatihandler.schema.json"])
def test_a_good_document_passes(file):
    assert errors(file, HANDLER) == []


def test_combined_switches_on_kind():
    assert errors(COMBINED, PROJECT) == []
    assert errors(COMBINED, {**PROJECT, "kind": "GatiHandler"})
    assert errors(COMBINED, {**PROJECT, "kind": "Deployment"}) == [
        "'Deployment' is not one of ['GatiHandler', 'GatiModule', 'GatiVersion', 'GatiProject']"
    ]
    assert "'kind' is a required property" in errors(COMBINED, {"metadata": {}})


def test_a_misspelt_field_is_underlined():
    wrong = {**HANDLER, "spec": {**HANDLER["spec"], "replica": 2}}
    assert errors(COMBINED, wrong) == [
        "Additional properties are not allowed ('replica' was unexpected)"
    ]


def test_hover_text_is_there():
    spec = SCHEMAS["gatihandler.schema.json"]["properties"]["spec"]
    assert spec["properties"]["handlerPath"]["description"]
    assert spec["properties"]["drain"]["properties"]["delaySeconds"]["default"] == 15


def test_partial_documents_need_only_their_identity():
    partial = {**HANDLER, "spec": {"replicas": 5, "image": None, "env": {"A": None}}}
    assert errors(ENVIRONMENT, partial) == []
    assert errors(COMBINED, partial)
    assert errors(ENVIRONMENT, {**partial, "spec": {"replica": 5}})
    assert errors(ENVIRONMENT, {**partial, "spec": {"port": 0}})
    assert errors(ENVIRONMENT, {**partial, "metadata": {}})
