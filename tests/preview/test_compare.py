"""Objects field by field: what is found, and that applying what was found gives the other object."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.preview.compare import apply, compare, same
from gati_gitops.preview.model import FieldChange, Op


def deployment(**container: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"template": {"spec": {"containers": [{"name": "app", **container}]}}},
    }


def route(*rules: Any) -> dict[str, Any]:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "spec": {"rules": list(rules)},
    }


def shown(changes: tuple[FieldChange, ...]) -> list[tuple[str, str, Any, Any]]:
    return [(str(c.op), c.shown, c.before, c.after) for c in changes]


CONTAINER = "spec.template.spec.containers[name=app]"
ENV = f"{CONTAINER}.env"


@pytest.mark.parametrize(
    "before,after,found",
    [
        (deployment(image="a:1"), deployment(image="a:1"), []),
        (
            deployment(image="a:1"),
            deployment(image="a:2"),
            [("replace", f"{CONTAINER}.image", "a:1", "a:2")],
        ),
        (
            deployment(env=[{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
            deployment(env=[{"name": "C", "value": "3"}, {"name": "B", "value": "x"}]),
            [
                ("remove", f"{ENV}[name=A]", {"name": "A", "value": "1"}, None),
                ("add", f"{ENV}[name=C]", None, {"name": "C", "value": "3"}),
                ("replace", f"{ENV}[name=B].value", "2", "x"),
            ],
        ),
        (  # order of variables means something: later ones may refer to earlier ones
            deployment(env=[{"name": "A"}, {"name": "B"}]),
            deployment(env=[{"name": "B"}, {"name": "A"}]),
            [("order", ENV, [{"name": "A"}, {"name": "B"}], [{"name": "B"}, {"name": "A"}])],
        ),
        (
            deployment(ports=[{"containerPort": 80, "protocol": "TCP"}]),
            deployment(ports=[{"containerPort": 80, "protocol": "TCP", "name": "http"}]),
            [("add", f"{CONTAINER}.ports[containerPort=80,protocol=TCP].name", None, "http")],
        ),
        (  # two ports of one number
            deployment(ports=[{"containerPort": 53, "protocol": "TCP"}]),
            deployment(
                ports=[{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"}]
            ),
            [
                (
                    "add",
                    f"{CONTAINER}.ports[containerPort=53,protocol=UDP]",
                    None,
                    {"containerPort": 53, "protocol": "UDP"},
                )
            ],
        ),
        (  # arguments have no key: one that comes first changes none of the others
            deployment(args=["--a", "--b"]),
            deployment(args=["--x", "--a", "--b"]),
            [("add", f"{CONTAINER}.args[0]", None, "--x")],
        ),
        (
            deployment(args=["--a", "--b"]),
            deployment(args=["--a", "--c"]),
            [("replace", f"{CONTAINER}.args[1]", "--b", "--c")],
        ),
        (
            route({"name": "split", "backendRefs": [{"name": "v1", "weight": 100}]}),
            route(
                {"name": "pin-v2", "backendRefs": [{"name": "v2", "weight": 1}]},
                {"name": "split", "backendRefs": [{"name": "v1", "weight": 90}, {"name": "v2", "weight": 10}]},
            ),
            [
                (
                    "add",
                    "spec.rules[name=pin-v2]",
                    None,
                    {"name": "pin-v2", "backendRefs": [{"name": "v2", "weight": 1}]},
                ),
                ("replace", "spec.rules[name=split].backendRefs[name=v1].weight", 100, 90),
                ("add", "spec.rules[name=split].backendRefs[name=v2]", None, {"name": "v2", "weight": 10}),
            ],
        ),
        (  # rules without a name: by position
            route({"matches": ["/a"]}),
            route({"matches": ["/b"]}),
            [("replace", "spec.rules[0].matches[0]", "/a", "/b")],
        ),
        ({"a.b/c": 1}, {"a.b/c": True}, [("replace", '["a.b/c"]', 1, True)]),
        ({"a": 1}, {"a": 1.0}, [("replace", "a", 1, 1.0)]),
        ({"a": {}}, {}, [("remove", "a", {}, None)]),
        ({"a": [1]}, {"a": {"b": 1}}, [("replace", "a", [1], {"b": 1})]),
        ({"a": None}, {"a": ""}, [("replace", "a", None, "")]),
    ],
)  # fmt: skip
def test_fields_by_path_and_lists_by_key(before: Any, after: Any, found: Any):
    changes = compare(before, after)
    assert shown(changes) == found
    assert same(apply(changes, before), after)


def test_an_unfit_key_falls_back_to_positions():
    twice = deployment(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])
    changed = deployment(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "3"}])
    assert shown(compare(twice, changed)) == [("replace", f"{ENV}[1].value", "2", "3")]
    assert same(apply(compare(twice, changed), twice), changed)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(0, 3), st.just(1.0), st.sampled_from("abc")
)
named = st.fixed_dictionaries({"name": st.sampled_from("abcde")}, optional={"value": scalars})
ports = st.fixed_dictionaries(
    {"containerPort": st.integers(1, 3)}, optional={"protocol": st.sampled_from(["TCP", "UDP"])}
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(named, max_size=5),
        st.dictionaries(st.sampled_from(["a", "b", "c.d", "name"]), inner, max_size=4),
    ),
    max_leaves=20,
)
containers = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["app", "side"])},
        optional={
            "env": st.lists(named, max_size=5),
            "ports": st.lists(ports, max_size=4),
            "args": st.lists(scalars, max_size=5),
            "other": values,
        },
    ),
    max_size=3,
)
objects = st.one_of(
    containers.map(
        lambda found: {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "spec": {"template": {"spec": {"containers": found}}},
        }
    ),
    st.dictionaries(st.sampled_from(["a", "b", "kind"]), values, max_size=3),
)


@given(objects, objects)
def test_applying_the_changes_gives_the_other_object(before: Any, after: Any):
    kept = copy.deepcopy(before)
    changes = compare(before, after)
    assert same(apply(changes, before), after)
    assert same(before, kept), "what was given has been changed"
    assert bool(changes) is not same(before, after)
    assert all(not same(c.before, c.after) for c in changes if c.op is Op.REPLACE)


@given(objects)
def test_nothing_differs_from_itself(value: Any):
    assert compare(value, copy.deepcopy(value)) == ()
