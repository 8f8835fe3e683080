"""Our own reading of schemas, held against the library's, and the dialect of CRDs."""

import copy
import json
from importlib import resources
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.check import read_crds
from gati_gitops.check.compiled import Compiler, Finding
from gati_gitops.check.custom import CustomKind, strict_schema
from gati_gitops.check.kubernetes import minors
from gati_gitops.check.objects import check_objects
from gati_gitops.check.values import python_pattern
from gati_gitops.errors import SpecsInvalid
from gati_gitops.yamlio.emit import dump
from tests.check.samples import good

NEWEST = minors()[-1]
_FOLDER = f"kubernetes-json-schema/v{NEWEST.name}.0-local-strict/_definitions.json"
DEFINITIONS = json.loads((resources.files("kubernetes_validate") / _FOLDER).read_bytes())
BUILT_IN = [value for value in good() if value["kind"] != "GatiHandler"]
JUNK = st.sampled_from([None, 1, -1, 2**40, 1.5, True, "", "x", "TCP", [], [1], {}, {"name": "x"}])


def findings(schema: dict[str, Any], value: Any) -> list[Finding]:
    found: list[Finding] = []
    Compiler().compile(schema)(value, (), found)
    return found


def places(value: Any):
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(item, (dict, list)):
            yield from places(item)


@st.composite
def spoiled(draw: st.DrawFn) -> dict[str, Any]:
    value = copy.deepcopy(draw(st.sampled_from(BUILT_IN)))
    holder, key = draw(
        st.sampled_from([p for p in places(value) if p[1] not in ("apiVersion", "kind")])
    )
    how = draw(st.sampled_from(["replace", "remove", "add"]))
    if how == "replace":
        holder[key] = draw(JUNK)
    elif how == "remove":
        del holder[key]
    elif isinstance(holder, dict):
        holder[draw(st.sampled_from(["spec", "name", "value", "data", "type"]))] = draw(JUNK)
    return value


@given(spoiled())
def test_built_in_kinds_are_read_as_the_library_reads_them(value):
    name = NEWEST.kinds[value["apiVersion"], value["kind"]]
    schema = {**DEFINITIONS, "$ref": f"#/$defs/{name}"}
    theirs = jsonschema.Draft202012Validator(schema)
    found: list[Finding] = []
    NEWEST.check(value["apiVersion"], value["kind"])(value, (), found)
    # What we say beyond the published schema: known values, and numbers that fit their field.
    beyond = [f for f in found if "must be one of" in f.message or f.code == "out-of-range"]
    # The library takes 1.0 for an integer and null for a quantity in one way only.
    if theirs.is_valid(value):
        assert found == beyond
    else:
        assert found


WORDS = [
    ({"type": "string", "minLength": 2}, ["ab", "äö"], ["", "a", 1]),
    ({"type": "string", "maxLength": 2}, ["", "äö"], ["abc"]),
    ({"type": "string", "pattern": "^a$"}, ["a"], ["a\n", "b", "aa"]),
    ({"type": "string", "pattern": "b"}, ["abc"], ["ac"]),
    ({"type": "string", "format": "date-time"}, ["2025-11-29T00:00:00Z"], ["2025-11-29", "x"]),
    ({"type": "string", "format": "byte"}, ["", "YQ=="], ["YQ", "*"]),
    ({"type": "string", "format": "ipv4"}, ["10.0.0.1"], ["::1", "10"]),
    ({"type": "string", "format": "ipv6"}, ["::1"], ["10.0.0.1"]),
    ({"type": "string", "format": "of-the-future"}, ["anything"], []),
    ({"type": "integer", "minimum": 1, "maximum": 3}, [1, 3], [0, 4, True, 1.5, "1"]),
    ({"type": "integer", "format": "int32"}, [2**31 - 1, -(2**31)], [2**31]),
    ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, [0.1, 1], [0]),
    ({"type": "number", "maximum": 1, "exclusiveMaximum": True}, [0.9], [1]),
    ({"type": "integer", "multipleOf": 5}, [0, 10], [3]),
    ({"enum": ["a", "b"]}, ["a"], ["c", 1]),
    ({"type": "array", "items": {"type": "string"}, "minItems": 1}, [["a"]], [[], [1], "a"]),
    ({"type": "array", "items": {}, "maxItems": 1}, [[], [1]], [[1, 2]]),
    ({"type": "array", "items": {}, "uniqueItems": True}, [[1, "1"]], [[1, 1], [{}, {}]]),
    ({"type": "object", "maxProperties": 1}, [{}, {"a": 1}], [{"a": 1, "b": 2}]),
    ({"type": "object", "minProperties": 1}, [{"a": 1}], [{}]),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, [{"a": 1}], [{"a": "1"}]),
    ({"type": "object", "required": ["a"]}, [{"a": None}], [{}]),
    ({"type": ["string", "null"]}, [None, ""], [1]),
    ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, ["a", 5], [4]),
    ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": 1}], [{}, {"a": 1, "b": 1}]),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1, 2], [0, 3]),
    ({"not": {"required": ["a"]}}, [{}], [{"a": 1}]),
]


@pytest.mark.parametrize("schema, fine, bad", WORDS, ids=lambda part: str(part)[:60])
def test_each_word(schema, fine, bad):
    for value in fine:
        assert findings(schema, value) == [], value
    for value in bad:
        assert findings(schema, value), value


def test_a_definition_may_contain_itself():
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}},
            "additionalProperties": False}  # fmt: skip
    check = Compiler({"Tree": tree}).definition("Tree")
    found: list[Finding] = []
    check({"child": {"child": {"leaf": 1}}}, (), found)
    assert [finding.path for finding in found] == [("child", "child", "leaf")]


@pytest.mark.parametrize(
    "re2, fine, bad",
    [
        (r"^a$", "a", "a\n"),
        (r"^[$]a\$$", "$a$", "$a"),
        (r"^[]$a]+$", "]$a", "]$b"),
        (r"\Aa\z", "a", "a\n"),
        (r"^(?i)(abort|warn)?$", "ABORT", "abor"),
        (r"^\d+$", "12", "١٢"),
        (r"^\w+$", "ab", "ä"),
    ],
)
def test_patterns_of_re2(re2, fine, bad):
    pattern = python_pattern(re2)
    assert pattern is not None
    assert pattern.search(fine)
    assert not pattern.search(bad)


def crd(schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "schema": {
                        "openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}
                    },
                    **version,
                }
            ],
        },
    }


def thing(spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "a"},
        "spec": spec,
    }


def codes(schema: dict[str, Any], spec: Any) -> list[str]:
    kinds = read_crds({"crd.yaml": dump(crd(schema))})
    return [problem.code for problem in check_objects([("a.yaml", thing(spec))], kinds)]


ANY = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    "schema, spec, want",
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"b": 1}, ["unknown-field"]),
        ({"type": "object"}, {"b": 1}, ["unknown-field"]),
        ({"type": "object", **ANY}, {"b": 1}, []),
        ({"type": "object", "properties": {"a": {"type": "string"}}, **ANY}, {"a": 1, "b": 1},
         ["wrong-type"]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"b": "1"}, []),
        ({"type": "object", "additionalProperties": True}, {"b": "1"}, []),
        ({"type": "string", "nullable": True}, None, []),
        ({"type": "string"}, None, ["wrong-type"]),
        ({"x-kubernetes-int-or-string": True}, "5", []),
        ({"x-kubernetes-int-or-string": True}, 5, []),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
         [], ["wrong-type"]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
         ["a", "a"], ["duplicate-entry"]),
        ({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
          "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
         [{"k": "a"}, {"k": "b"}, {"k": "a"}], ["duplicate-entry"]),
        # What stands below anyOf only tests; it closes nothing.
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
          "anyOf": [{"properties": {"a": {"enum": ["x"]}}, "required": ["a"]}]},
         {"a": "x", "b": "y"}, []),
        ({"type": "object", "x-kubernetes-embedded-resource": True,
          "properties": {"spec": {"type": "object"}}}, {"apiVersion": "v1", "kind": "A"}, []),
    ],
)  # fmt: skip
def test_the_dialect_of_crds(schema, spec, want):
    assert codes(schema, spec) == want


def test_a_pattern_that_python_cannot_read_is_said_to_be_skipped():
    schema = {"type": "string", "pattern": r"^\pL+$"}
    kinds = read_crds({"crds/thing.yaml": dump(crd(schema))})
    objects = [("a.yaml", thing("5")), ("b.yaml", thing("6"))]
    (problem,) = check_objects(objects, kinds)
    assert (problem.code, str(problem.place)) == ("not-checked", "crds/thing.yaml")
    assert r"\pL" in problem.message


def test_only_served_versions_and_only_crds_count():
    served = crd({"type": "string"}, served=False)
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    without = crd({"type": "string"})
    del without["spec"]["versions"][0]["schema"]
    assert read_crds({"a.yaml": dump(served), "b.yaml": dump(other), "c.yaml": dump(without)}) == []


def test_a_crd_file_that_is_no_yaml_is_a_problem_with_its_place():
    with pytest.raises(SpecsInvalid) as caught:
        read_crds({"bad.yaml": b"a: [\n", "worse.yaml": b"\xff\xfe"})
    assert [problem.place.file for problem in caught.value.problems] == ["bad.yaml", "worse.yaml"]


def test_names_are_bounded_where_the_crd_bounds_them():
    named = {"type": "object", "properties": {"metadata": {"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 3}}}}}  # fmt: skip
    schema = strict_schema(CustomKind("example.com/v1", "Thing", named))
    assert schema["properties"]["metadata"]["allOf"][1]["properties"]["name"]["maxLength"] == 3
