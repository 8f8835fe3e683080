"""What changes of a CRD do, one by one: every rule, in the way it is judged."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest

from gati_gitops.preview.crds import CrdChange, Level, Rule, compare_crds, worst
from gati_gitops.spec.crds import crds

PRESERVE = "x-kubernetes-preserve-unknown-fields"
SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10, "format": "int32"},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "name": {"type": "string", "pattern": "^[a-z]+$", "minLength": 1, "maxLength": 5},
        "text": {"type": "string"},
        "level": {"type": "integer", "default": 3},
        "maybe": {"type": "string", "nullable": True},
        "port": {"x-kubernetes-int-or-string": True},
        "list": {
            "type": "array",
            "maxItems": 4,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
            "items": {
                "type": "object",
                "required": ["key"],
                "properties": {"key": {"type": "string"}, "value": {"type": "string"}},
            },
        },
        "tags": {"type": "array", "items": {"type": "string"}},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object", PRESERVE: True},
        "any": {PRESERVE: True},
        "inner": {"type": "object", "properties": {"a": {"type": "string"}}},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": True, PRESERVE: True},
        "ruled": {
            "type": "object",
            "properties": {"low": {"type": "integer"}, "high": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.low <= self.high", "message": "in order"}],
        },
        "either": {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
    },
}


def version(name: str = "v1", **more: Any) -> dict[str, Any]:
    root = {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": copy.deepcopy(SPEC),
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    }
    return {
        "name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": root},
        "subresources": {"status": {}}, **more,
    }  # fmt: skip


def crd(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {
                "kind": "Thing", "listKind": "ThingList", "plural": "things",
                "singular": "thing", "shortNames": ["th"], "categories": ["all"],
            },
            "versions": list(versions) or [version()],
            **spec,
        },
    }  # fmt: skip


def spec_of(made: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """The schema of ``spec``, to be changed in place."""
    return made["spec"]["versions"][number]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def changed(*path: str, **words: Any) -> dict[str, Any]:
    """The CRD with words of a node below ``spec`` set; None removes one."""
    made = crd()
    node = spec_of(made)
    for step in path:
        node = node[step] if step in ("items", "additionalProperties") else node["properties"][step]
    for word, value in words.items():
        name = word.replace("x_kubernetes_", "x-kubernetes-").replace("_", "-")
        if value is None:
            del node[name]
        else:
            node[name] = value
    return made


def without(*path: str) -> dict[str, Any]:
    """The CRD without a field below ``spec``."""
    made = crd()
    node = spec_of(made)
    for step in path[:-1]:
        node = node["properties"][step]
    del node["properties"][path[-1]]
    return made


def plus(**fields: Any) -> dict[str, Any]:
    """The CRD with more fields in ``spec``."""
    made = crd()
    spec_of(made)["properties"].update(fields)
    return made


def told(old: Any, new: Any) -> list[tuple[str, str, str]]:
    return [(str(c.rule), str(c.level), c.path) for c in compare_crds([old], [new])]


# Rule, level and path of the one change; the schema after it.
FIELDS = {
    "field removed": ("field-removed", "breaking", "spec.text", without("text")),
    "field of a field removed": ("field-removed", "breaking", "spec.inner.a", without("inner", "a")),
    "field added": ("field-added", "safe", "spec.more", plus(more={"type": "string"})),
    "field added with a default": (
        "field-added", "risky", "spec.more", plus(more={"type": "string", "default": "x"}),
    ),
    "required child of a new optional object": (
        "field-added", "safe", "spec.more",
        plus(more={"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}),
    ),
    "an old field becomes required": (
        "required-added", "breaking", "spec.text", changed(required=["size", "text"]),
    ),
    "a field with a default becomes required": (
        "required-added", "safe", "spec.level", changed(required=["size", "level"]),
    ),
    "a required field becomes optional": (
        "required-removed", "safe", "spec.size", changed(required=[]),
    ),
    "type changed": ("type", "breaking", "spec.text", changed("text", type="boolean")),
    "integer to number": ("type", "risky", "spec.level", changed("level", type="number")),
    "number to integer": ("type", "breaking", "spec.size", None),
    "integer to int-or-string": (
        "type", "risky", "spec.level",
        changed("level", type=None, x_kubernetes_int_or_string=True),
    ),
    "int-or-string to integer": (
        "type", "breaking", "spec.port",
        changed("port", x_kubernetes_int_or_string=None, type="integer"),
    ),
    "anything to a type": ("type", "breaking", "spec.any", plus(any={"type": "string"})),
    "a type to anything": ("type", "risky", "spec.text", plus(text={PRESERVE: True})),
    "map values of another type": (
        "type", "breaking", "spec.env.*", changed("env", "additionalProperties", type="integer"),
    ),
    "items of another type": ("type", "breaking", "spec.tags[]", changed("tags", "items", type="integer")),
    "no longer nullable": ("nullable", "breaking", "spec.maybe", changed("maybe", nullable=False)),
    "nullable": ("nullable", "risky", "spec.text", changed("text", nullable=True)),
    "default added": ("default-added", "risky", "spec.text", changed("text", default="x")),
    "default changed": ("default-changed", "breaking", "spec.level", changed("level", default=4)),
    "default removed": ("default-removed", "breaking", "spec.level", changed("level", default=None)),
    "unknown fields dropped": (
        "unknown-fields", "breaking", "spec.free", plus(free={"type": "object"}),
    ),
    "unknown fields kept": (
        "unknown-fields", "safe", "spec.inner",
        changed("inner", **{PRESERVE: True}),
    ),
    "map closed": ("unknown-fields", "breaking", "spec.env", plus(env={"type": "object"})),
    "map values described": (
        "type", "breaking", "spec.free.*",
        plus(free={"type": "object", "additionalProperties": {"type": "string"}}),
    ),
    "field described where unknown ones were kept": (
        "type", "breaking", "spec.free.a", changed("free", properties={"a": {"type": "string"}}),
    ),
    "embedded resource": (
        "embedded-resource", "breaking", "spec.free",
        changed("free", x_kubernetes_embedded_resource=True),
    ),
    "embedded resource no longer, still kept": (
        "embedded-resource", "safe", "spec.embedded",
        changed("embedded", x_kubernetes_embedded_resource=None),
    ),
    "list type changed": (
        "list-type", "breaking", "spec.tags", changed("tags", x_kubernetes_list_type="set"),
    ),
    "list type said that held anyway": (None, "", "", changed("tags", x_kubernetes_list_type="atomic")),
    "list keys changed": (
        "list-type", "breaking", "spec.list",
        changed("list", x_kubernetes_list_map_keys=["key", "value"]),
    ),
    "list no longer merged": (
        "list-type", "breaking", "spec.list",
        changed("list", x_kubernetes_list_type="atomic", x_kubernetes_list_map_keys=None),
    ),
    "map type": ("map-type", "risky", "spec.inner", changed("inner", x_kubernetes_map_type="atomic")),
    "map type said that held anyway": (None, "", "", changed("inner", x_kubernetes_map_type="granular")),
    "description only": (None, "", "", changed("text", description="other words", title="T", example=1)),
    "an unknown word": ("other", "risky", "spec.text", changed("text", readOnly=True)),
}  # fmt: skip

VALUES = {
    "enum value removed": ("enum", "breaking", "spec.mode", changed("mode", enum=["a"])),
    "enum value added": ("enum", "risky", "spec.mode", changed("mode", enum=["a", "b", "c"])),
    "enum reordered": ("enum", "safe", "spec.mode", changed("mode", enum=["b", "a"])),
    "enum where none was": ("enum", "breaking", "spec.text", changed("text", enum=["x"])),
    "enum gone": ("enum", "risky", "spec.mode", changed("mode", enum=None)),
    "maximum lowered": ("bound", "breaking", "spec.size", changed("size", maximum=9)),
    "maximum raised": ("bound", "safe", "spec.size", changed("size", maximum=11)),
    "maximum gone": ("bound", "safe", "spec.size", changed("size", maximum=None)),
    "maximum excluded": ("bound", "breaking", "spec.size", changed("size", exclusiveMaximum=True)),
    "maximum raised and excluded": (
        "bound", "safe", "spec.size", changed("size", maximum=11, exclusiveMaximum=True),
    ),
    "minimum raised": ("bound", "breaking", "spec.size", changed("size", minimum=2)),
    "minimum lowered": ("bound", "safe", "spec.size", changed("size", minimum=0)),
    "minimum where none was": ("bound", "breaking", "spec.level", changed("level", minimum=0)),
    "multiples only": ("bound", "breaking", "spec.level", changed("level", multipleOf=2)),
    "shorter": ("bound", "breaking", "spec.name", changed("name", maxLength=4)),
    "longer": ("bound", "safe", "spec.name", changed("name", maxLength=6)),
    "a least length that says nothing": ("bound", "safe", "spec.text", changed("text", minLength=0)),
    "fewer items": ("bound", "breaking", "spec.list", changed("list", maxItems=3)),
    "items wanted": ("bound", "breaking", "spec.tags", changed("tags", minItems=1)),
    "keys wanted": ("bound", "breaking", "spec.env", changed("env", minProperties=1)),
    "fewer keys": ("bound", "breaking", "spec.env", changed("env", maxProperties=2)),
    "no entry twice": ("bound", "breaking", "spec.tags", changed("tags", uniqueItems=True)),
    "pattern added": ("pattern", "breaking", "spec.text", changed("text", pattern="^a")),
    "pattern that takes everything": ("pattern", "safe", "spec.text", changed("text", pattern=".*")),
    "pattern removed": ("pattern", "safe", "spec.name", changed("name", pattern=None)),
    "pattern widened": ("pattern", "safe", "spec.name", changed("name", pattern="^[a-z0-9]+$")),
    "pattern narrowed": ("pattern", "breaking", "spec.name", changed("name", pattern="^[a-y]+$")),
    "pattern narrowed beyond the longest": (
        "pattern", "safe", "spec.name", changed("name", pattern="^[a-z]{1,5}$"),
    ),
    "pattern that nobody can judge": (
        "pattern", "risky", "spec.name", changed("name", pattern=r"(?i)^[a-z]+$"),
    ),
    "a pattern that the enum passes": ("pattern", "safe", "spec.mode", changed("mode", pattern="^[ab]$")),
    "a bound that the enum passes": ("bound", "safe", "spec.mode", changed("mode", maxLength=1)),
    "a bound that the enum breaks": ("bound", "breaking", "spec.mode", changed("mode", minLength=2)),
    "format added": ("format", "risky", "spec.text", changed("text", format="date-time")),
    "larger integers": ("format", "safe", "spec.size", changed("size", format="int64")),
    "smaller integers": ("format", "risky", "spec.level", changed("level", format="int32")),
    "rule added": (
        "cel", "breaking", "spec.inner",
        changed("inner", x_kubernetes_validations=[{"rule": "has(self.a)"}]),
    ),
    "rule for updates added": (
        "cel", "breaking", "spec.inner",
        changed("inner", x_kubernetes_validations=[{"rule": "self == oldSelf"}]),
    ),
    "rule removed": ("cel", "safe", "spec.ruled", changed("ruled", x_kubernetes_validations=None)),
    "rule changed": (
        "cel", "risky", "spec.ruled",
        changed("ruled", x_kubernetes_validations=[{"rule": "self.low < self.high", "message": "in order"}]),
    ),
    "rule laid out otherwise": (
        None, "", "",
        changed("ruled", x_kubernetes_validations=[{"rule": "self.low  <=\n self.high", "message": "x"}]),
    ),
    "anyOf added": ("logic", "breaking", "spec.inner", changed("inner", anyOf=[{"required": ["a"]}])),
    "anyOf widened": (
        "logic", "safe", "spec.either",
        changed("either", anyOf=[{"required": ["a"]}, {"required": ["b"]}, {"maxProperties": 0}]),
    ),
    "anyOf narrowed": ("logic", "risky", "spec.either", changed("either", anyOf=[{"required": ["a"]}])),
    "anyOf removed": ("logic", "safe", "spec.either", changed("either", anyOf=None)),
    "allOf added": ("logic", "breaking", "spec.inner", changed("inner", allOf=[{"required": ["a"]}])),
    "not added": ("logic", "breaking", "spec.inner", changed("inner", **{"not": {"required": ["a"]}})),
    "oneOf added": ("logic", "breaking", "spec.inner", changed("inner", oneOf=[{"required": ["a"]}])),
    "what int-or-string means anyway": (
        None, "", "", changed("port", anyOf=[{"type": "integer"}, {"type": "string"}]),
    ),
}  # fmt: skip


def as_number() -> dict[str, Any]:
    return changed("size", type="number")


@pytest.mark.parametrize(
    "rule, level, path, new", [*FIELDS.values(), *VALUES.values()], ids=[*FIELDS, *VALUES]
)
def test_a_change_of_the_schema(rule, level, path, new):
    old = crd()
    if new is None:  # number to integer
        old, new = as_number(), crd()
    expected = [] if rule is None else [(rule, level, path)]
    assert told(old, new) == expected


def test_a_new_required_field_is_both_new_and_required():
    new = plus(more={"type": "string"})
    spec_of(new)["required"] = ["size", "more"]
    assert set(told(crd(), new)) == {
        ("required-added", "breaking", "spec.more"),
        ("field-added", "safe", "spec.more"),
    }


def test_a_removed_field_that_looks_renamed_says_so():
    new = without("text")
    spec_of(new)["properties"]["words"] = {"type": "string"}
    (gone,) = [c for c in compare_crds([crd()], [new]) if c.rule is Rule.FIELD_REMOVED]
    assert "renamed to words" in gone.why


def test_defaults_below_a_field_that_is_no_longer_described_are_lost():
    old = changed("inner", properties={"a": {"type": "string", "default": "x"}})
    found = told(old, plus(inner={PRESERVE: True}))
    assert ("default-removed", "breaking", "spec.inner.a") in found


def test_an_embedded_resource_without_its_head():
    old = changed("inner", x_kubernetes_embedded_resource=True)
    (change,) = compare_crds([old], [crd()])
    assert (change.rule, change.level) == (Rule.EMBEDDED, Level.BREAKING)
    assert "apiVersion, kind and metadata were kept" in change.why


def test_ratcheting_is_told_where_it_helps_and_where_it_does_not():
    (bound,) = compare_crds([crd()], [changed("size", maximum=9)])
    (required,) = compare_crds([crd()], [changed(required=["size", "text"])])
    (update,) = compare_crds(
        [crd()], [changed("inner", x_kubernetes_validations=[{"rule": "self == oldSelf"}])]
    )
    assert "1.30" in bound.why and "none can be made anew" in bound.why
    assert "never ratchets" in required.why
    assert "about updates" in update.why


def test_a_narrowed_pattern_shows_a_value_that_is_refused():
    (change,) = compare_crds([crd()], [changed("name", pattern="^[b-z]+$")])
    assert change.why.startswith('"a", for one,')


# -- the definition as a whole -------------------------------------------------------------------


def with_names(**names: Any) -> dict[str, Any]:
    made = crd()
    made["spec"]["names"].update(names)
    return made


def with_version(**words: Any) -> dict[str, Any]:
    made = crd()
    for word, value in words.items():
        if value is None:
            del made["spec"]["versions"][0][word]
        else:
            made["spec"]["versions"][0][word] = value
    return made


WHOLE = {
    "scope": ("scope", "breaking", "scope", crd(), crd(scope="Cluster")),
    "group": ("group", "breaking", "group", crd(), crd(group="example.org")),
    "kind": ("names", "breaking", "names.kind", crd(), with_names(kind="Other")),
    "plural": ("names", "breaking", "names.plural", crd(), with_names(plural="others")),
    "list kind": ("names", "breaking", "names.listKind", crd(), with_names(listKind="Others")),
    "short name gone": ("names", "risky", "names.shortNames", crd(), with_names(shortNames=[])),
    "short name added": ("names", "safe", "names.shortNames", crd(), with_names(shortNames=["th", "t"])),
    "category gone": ("names", "risky", "names.categories", crd(), with_names(categories=[])),
    "singular": ("names", "risky", "names.singular", crd(), with_names(singular="x")),
    "pruning begins": (
        "pruning", "breaking", "preserveUnknownFields",
        crd(preserveUnknownFields=True), crd(preserveUnknownFields=False),
    ),
    "pruning ends": (
        "pruning", "breaking", "preserveUnknownFields", crd(), crd(preserveUnknownFields=True),
    ),
    "pruning as it was": (None, "", "", crd(), crd(preserveUnknownFields=False)),
    "webhook": ("conversion", "risky", "conversion", crd(), crd(conversion={"strategy": "Webhook", "webhook": {"x": 1}})),
    "webhook elsewhere": (
        "conversion", "risky", "conversion",
        crd(conversion={"strategy": "Webhook", "webhook": {"x": 1}}),
        crd(conversion={"strategy": "Webhook", "webhook": {"x": 2}}),
    ),
    "webhook gone, one version": (
        "conversion", "safe", "conversion", crd(conversion={"strategy": "Webhook"}), crd(),
    ),
    "a word of the spec that is not known": ("other", "risky", "more", crd(), crd(more=1)),
    "no longer served": ("served", "breaking", "versions.served", crd(), with_version(served=False)),
    "served": ("served", "safe", "versions.served", with_version(served=False), crd()),
    "deprecated": ("deprecated", "safe", "versions.deprecated", crd(), with_version(deprecated=True)),
    "status gone": (
        "status-subresource", "breaking", "versions.subresources.status", crd(), with_version(subresources={}),
    ),
    "status added": (
        "status-subresource", "breaking", "versions.subresources.status", with_version(subresources={}), crd(),
    ),
    "scale added": (
        "scale-subresource", "safe", "versions.subresources.scale",
        crd(), with_version(subresources={"status": {}, "scale": {"specReplicasPath": ".spec.size"}}),
    ),
    "scale gone": (
        "scale-subresource", "breaking", "versions.subresources.scale",
        with_version(subresources={"status": {}, "scale": {"specReplicasPath": ".spec.size"}}), crd(),
    ),
    "scale elsewhere": (
        "scale-subresource", "breaking", "versions.subresources.scale",
        with_version(subresources={"status": {}, "scale": {"specReplicasPath": ".spec.size"}}),
        with_version(subresources={"status": {}, "scale": {"specReplicasPath": ".spec.level"}}),
    ),
    "scale with a selector": (
        "scale-subresource", "safe", "versions.subresources.scale",
        with_version(subresources={"status": {}, "scale": {"specReplicasPath": ".spec.size"}}),
        with_version(subresources={"status": {}, "scale": {"specReplicasPath": ".spec.size", "labelSelectorPath": ".status.s"}}),
    ),
    "columns": (
        "printer-columns", "safe", "versions.additionalPrinterColumns",
        crd(), with_version(additionalPrinterColumns=[{"name": "Age", "type": "date", "jsonPath": ".x"}]),
    ),
    "selectable field gone": (
        "selectable-fields", "breaking", "versions.selectableFields",
        with_version(selectableFields=[{"jsonPath": ".spec.text"}]), crd(),
    ),
    "selectable field": (
        "selectable-fields", "safe", "versions.selectableFields",
        crd(), with_version(selectableFields=[{"jsonPath": ".spec.text"}]),
    ),
    "a word of a version that is not known": ("other", "risky", "versions.more", crd(), with_version(more=1)),
}  # fmt: skip


@pytest.mark.parametrize("rule, level, path, old, new", WHOLE.values(), ids=WHOLE)
def test_a_change_of_the_definition(rule, level, path, old, new):
    assert told(old, new) == ([] if rule is None else [(rule, level, path)])


def test_status_as_a_subresource_where_objects_had_none_before():
    old = with_version(subresources=None)
    del old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    assert set(told(old, crd())) == {
        ("status-subresource", "safe", "versions.subresources.status"),
        ("field-added", "safe", "status"),
    }


def named(name: str, **spec: Any) -> dict[str, Any]:
    made = crd(**spec)
    made["metadata"]["name"] = name
    return made


def test_crds_that_come_and_go():
    one, two = named("things.example.com"), named("others.example.com")
    two["spec"]["names"] |= {"plural": "others", "kind": "Other"}
    (gone,) = compare_crds([one, two], [one])
    assert (gone.rule, gone.level, gone.gone) == (Rule.CRD_REMOVED, Level.BREAKING, True)
    assert "all objects of Other are deleted" in gone.why
    (come,) = compare_crds([one], [one, two])
    assert (come.rule, come.level) == (Rule.CRD_ADDED, Level.SAFE)


def test_a_group_that_changed_is_recognised():
    old, new = named("things.example.com"), named("things.example.org", group="example.org")
    rules = {(str(c.rule), str(c.level)) for c in compare_crds([old], [new])}
    assert ("group", "breaking") in rules


def test_a_crd_that_is_there_twice():
    found = compare_crds([crd()], [crd(), crd()])
    assert [(c.rule, c.level) for c in found] == [(Rule.CRD_TWICE, Level.RISKY)]


def test_other_objects_are_passed_over():
    assert compare_crds([crd(), {"kind": "ConfigMap"}, None, 7, "x"], [crd()]) == ()


# -- versions ------------------------------------------------------------------------------------


def two(first: dict[str, Any], second: dict[str, Any], **more: Any) -> dict[str, Any]:
    return crd(first, second, **more)


OLD, OFF = {"storage": False}, {"storage": False, "served": False}


def stored(made: dict[str, Any], *names: str) -> dict[str, Any]:
    return {**made, "status": {"storedVersions": list(names)}}


@pytest.mark.parametrize(
    "old, new, expected",
    [
        (two(version("v1", **OLD), version("v2")), crd(version("v2")), ("version-removed", "breaking")),
        (two(version("v1", **OFF), version("v2")), crd(version("v2")), ("version-removed", "risky")),
        (
            stored(two(version("v1", **OFF), version("v2")), "v2"),
            crd(version("v2")),
            ("version-removed", "safe"),
        ),
        (
            stored(two(version("v1", **OFF), version("v2")), "v1", "v2"),
            crd(version("v2")),
            ("stored-version-removed", "breaking"),
        ),
        (
            two(version("v1", **OFF), version("v2")),
            stored(crd(version("v2")), "v1", "v2"),
            ("stored-version-removed", "breaking"),
        ),
        (crd(version("v1")), two(version("v1"), version("v2", **OLD)), ("version-added", "safe")),
    ],
    ids=["served", "not served", "not stored", "stored", "stored, says the new one", "added"],
)  # fmt: skip
def test_a_version_that_comes_or_goes(old, new, expected):
    assert [(str(c.rule), str(c.level)) for c in compare_crds([old], [new])] == [expected]


def test_a_version_that_is_renamed():
    found = compare_crds([crd(version("v1alpha1"))], [crd(version("v1"))])
    levels = {(str(c.rule), str(c.level)) for c in found}
    assert ("stored-version-removed", "breaking") in levels and ("version-added", "safe") in levels


def test_the_storage_version_moves():
    old = two(version("v1"), version("v2", **OLD))
    new = two(version("v1", **OLD), version("v2"))
    (change,) = compare_crds([old], [new])
    assert (change.rule, change.level, change.old, change.new) == (
        Rule.STORAGE,
        Level.RISKY,
        "v1",
        "v2",
    )
    assert "until each is written again" in change.why


def test_no_storage_version_is_refused():
    (change,) = compare_crds([crd()], [crd(version("v1", storage=False))])
    assert (change.rule, change.level) == (Rule.STORAGE, Level.BREAKING)


def test_what_is_lost_between_versions_without_a_webhook():
    lacking = version("v2", **OLD)
    del lacking["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["text"]
    found = compare_crds([crd(version("v1"))], [two(version("v1"), lacking)])
    lost = [c for c in found if c.version == "v1 → v2"]
    assert [(str(c.rule), str(c.level), c.path) for c in lost] == [
        ("field-removed", "breaking", "spec.text")
    ]
    assert "written as v1 is read as v2" in lost[0].why
    assert "webhook" in lost[0].instead


def test_a_new_version_that_could_store_nothing_of_its_own():
    """What only v2 has is dropped when it is stored as v1; nobody uses v2 yet."""
    more = version("v2", **OLD)
    spec = more["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["more"] = {"type": "string"}
    found = compare_crds([crd(version("v1"))], [two(version("v1"), more)])
    assert ("v2 → v1", "field-removed", "risky") in {
        (c.version, str(c.rule), str(c.level)) for c in found
    }


def test_a_webhook_converts_what_differs():
    lacking = version("v2", **OLD)
    del lacking["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["text"]
    webhook = {"conversion": {"strategy": "Webhook", "webhook": {"x": 1}}}
    found = compare_crds([crd(version("v1"), **webhook)], [two(version("v1"), lacking, **webhook)])
    assert [str(c.rule) for c in found] == ["version-added"]


def test_a_webhook_that_goes_while_there_are_versions():
    both = (version("v1"), version("v2", **OLD))
    old = crd(*both, conversion={"strategy": "Webhook"})
    assert told(old, crd(*both)) == [("conversion", "breaking", "conversion")]


def test_what_was_lost_before_is_not_told_again():
    lacking = version("v2", **OLD)
    del lacking["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["text"]
    old = two(version("v1"), lacking)
    new = copy.deepcopy(old)
    for number in (0, 1):
        spec_of(new, number)["properties"]["more"] = {"type": "string"}
    assert {(str(c.rule), str(c.level)) for c in compare_crds([old], [new])} == {
        ("field-added", "safe")
    }


def test_a_version_that_nobody_is_served():
    old = two(version("v1", **OFF), version("v2"))
    new = copy.deepcopy(old)
    del spec_of(new, 0)["properties"]["text"]
    found = [c for c in compare_crds([old], [new]) if c.version == "v1"]
    assert [(c.rule, c.level) for c in found] == [(Rule.FIELD_REMOVED, Level.RISKY)]


# -- old definitions, odd ones, our own ----------------------------------------------------------


def test_v1beta1_is_understood():
    old = {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            **{k: v for k, v in crd()["spec"].items() if k != "versions"},
            "version": "v1",
            "preserveUnknownFields": False,
            "subresources": {"status": {}},
            "validation": version()["schema"],
        },
    }
    assert compare_crds([old], [crd()]) == ()
    del old["spec"]["preserveUnknownFields"]
    assert told(old, crd()) == [("pruning", "breaking", "preserveUnknownFields")]


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"spec": None},
        {"spec": {"versions": [None, 7, {"name": 3}], "names": [], "conversion": "x"}},
        {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": [1]}}}]}},
        {"spec": {"versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": {
            "type": ["object"], "required": "x", "properties": {"a": None, "b": {"enum": "x",
            "pattern": 7, "minimum": "x", "multipleOf": 0, "x-kubernetes-validations": ["x"],
            "anyOf": "x", "items": [], "maximum": float("inf")}}}}}]}},
    ],
)  # fmt: skip
def test_broken_definitions_never_fail(broken):
    made = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        **broken,
    }
    assert isinstance(compare_crds([made], [crd()]), tuple)
    assert isinstance(compare_crds([crd()], [made]), tuple)
    assert compare_crds([made], [made]) == ()


def test_a_schema_without_end_is_risky():
    deep, other = {"type": "string"}, {"type": "integer"}
    for _ in range(150):
        deep = {"type": "object", "properties": {"a": deep}}
        other = {"type": "object", "properties": {"a": other}}
    (change,) = compare_crds([plus(more=deep)], [plus(more=other)])
    assert change.level is Level.RISKY and "too deeply" in change.why


def test_our_own_crds_are_as_they_are():
    ours = list(crds().values())
    assert compare_crds(ours, ours) == ()
    assert compare_crds(ours, copy.deepcopy(ours)) == ()


def test_every_rule_has_been_seen():
    """The tables above try each of them; this asks that none was forgotten."""
    tried = {row[0] for row in (*FIELDS.values(), *VALUES.values(), *WHOLE.values())}
    elsewhere = {
        "crd-removed", "crd-added", "crd-twice", "version-removed", "stored-version-removed",
        "version-added", "storage",
    }  # fmt: skip
    assert {str(rule) for rule in Rule} == (tried - {None}) | elsewhere


def test_what_breaks_says_what_would_not():
    for row in (*FIELDS.values(), *VALUES.values()):
        for change in compare_crds([crd()], [row[3]]) if row[3] else ():
            assert change.why
            if change.level is Level.BREAKING:
                assert change.instead, change


def test_the_worst_of_all():
    def of(level: Level) -> CrdChange:
        return CrdChange("", "", "", Rule.OTHER, level, None, None, "")

    assert worst([]) is None
    assert worst([of(Level.SAFE), of(Level.RISKY)]) is Level.RISKY
    assert worst([of(Level.RISKY), of(Level.BREAKING), of(Level.SAFE)]) is Level.BREAKING


def test_the_document_has_every_rule():
    text = (Path(__file__).parents[2] / "docs/crds.md").read_text()
    rows = [
        line.partition("|")[2].partition("|")[0]
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    named = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}
    assert {str(rule) for rule in Rule} <= named
