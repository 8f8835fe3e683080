"""Which documents make one unit, and what of that is certain enough."""

from __future__ import annotations

import pytest

from gati_gitops.spec.link import link, module_version
from gati_gitops.spec.load import load
from tests.compile.kit import document, handler, module, version


def linked(*texts: str, names=None):
    specs = load((f"{number}.yaml", text.encode()) for number, text in enumerate(texts))
    return link(specs, names)


def test_handlers_on_one_path_are_one_unit():
    units, problems = linked(
        handler("users-b", "v2", handlerPath="/users", weight=90),
        handler("users-a", "v1", handlerPath="/users", weight=10),
        handler("other", "v1"),
    )
    assert not problems
    assert [(u.name, u.target, [v.id for v in u.versions]) for u in units] == [
        ("other", "v1", ["v1"]),
        ("users-a", "v2", ["v1", "v2"]),
    ]


def test_a_unit_keeps_the_name_it_was_published_under():
    known = {("shop", "/users"): "old-name"}
    units, _ = linked(handler("a", handlerPath="/users"), names=known)
    assert [u.name for u in units] == ["old-name"]
    # unless that name went to another path with its handler
    units, _ = linked(handler("a", handlerPath="/users"), handler("old-name"), names=known)
    assert sorted(u.name for u in units) == ["a", "old-name"]


def test_a_version_of_its_own_inherits_what_it_does_not_say():
    (unit,), problems = linked(
        handler("users", "v2", env={"A": "1", "B": "2"}),
        version("users", "v1", 0, image="users:1", env={"B": "9", "C": "3"}),
    )
    assert not problems
    old = unit.versions[0]
    assert old.workload.env == {"A": "1", "B": "9", "C": "3"}
    assert (old.workload.image, old.workload.port) == ("users:1", 3000)


def test_a_version_without_image_waits_for_a_release_that_has_one():
    (unit,), _ = linked(handler("users", "v2"), version("users", "v1", 0))
    assert unit.versions[0].workload is None


def test_what_could_belong_to_two_handlers_is_refused_with_both_named():
    spec = {"versionId": "v1", "breaking": False, "routingWeight": 0}
    _, problems = linked(
        handler("user", "v1"),
        handler("user-api", "v1"),
        document("GatiVersion", "user-api-v1", spec),
    )
    (problem,) = problems
    assert problem.code == "ambiguous-version"
    assert "user, user-api" in problem.message
    _, problems = linked(
        handler("a"),
        handler("b"),
        document(
            "GatiVersion",
            "x",
            {**spec, "deploymentName": "handler-a", "serviceName": "handler-b"},
        ),
    )
    assert [p.code for p in problems] == ["ambiguous-version"]


def test_a_version_of_a_handler_that_is_not_there():
    _, problems = linked(handler("a"), version("b", "v1", 0))
    (problem,) = problems
    assert problem.code == "version-without-handler"
    assert "set spec.handler to one of: a" in problem.remedy


@pytest.mark.parametrize("twice", ["handlers", "versions"])
def test_one_version_described_twice_names_both_places(twice):
    if twice == "handlers":
        texts = [handler("a", handlerPath="/x"), handler("b", handlerPath="/x")]
    else:
        other = version("a", "v2", 0, image="a:2").replace("a-v2", "a-again")
        texts = [handler("a"), version("a", "v2", 0, image="a:2"), other]
    _, problems = linked(*texts)
    assert [p.code for p in problems] == ["version-twice"]
    assert problems[0].related[0][0].line


@pytest.mark.parametrize(
    "image, name",
    [
        ("ghcr.io/acme/db:1.2", "1.2"),
        ("reg:5000/db", "latest"),
        ("reg:5000/db:3", "3"),
        ("db@sha256:" + "ab" * 32, "ab" * 6),
        ("db:4@sha256:" + "ab" * 32, "4"),
    ],
)
def test_a_modules_version_is_what_tells_its_image_apart(image, name):
    (unit,), _ = linked(module(image=image))
    assert unit.target == name
    assert module_version(unit.module) == name
    (unit,), _ = linked(module(image=image, version="mine"))
    assert unit.target == "mine"
