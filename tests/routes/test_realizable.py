"""Weights that could not happen are said before anything is written."""

from __future__ import annotations

import pytest

from gati_gitops.errors import SpecsInvalid
from gati_gitops.plan.check import check
from gati_gitops.spec.load import load
from tests.compile.kit import compiled, handler, project, tree_of, version


def problems(**files):
    specs = load((f"{name}.yaml", text.encode()) for name, text in files.items())
    return [p for p in check(specs) if p.code != "version-without-image"]


def cluster(**routing):
    return project({"prod": {"clusters": {"east": {}}, "routing": routing}})


def codes(found):
    return [(p.code, p.severity.value) for p in found]


def v2(**spec):
    return version("users", "v2", 10, **{"image": "ghcr.io/acme/users:v2", **spec})


def test_a_share_without_pods_is_an_error():
    found = problems(users=handler(weight=90), v2=v2(replicas=0))
    assert codes(found) == [("weight-without-pods", "error")]
    assert found[0].place.file == "v2.yaml" and found[0].place.line
    assert "10 %" in found[0].message
    assert not problems(users=handler(weight=100), v2=v2(replicas=0, routingWeight=0))


def test_a_unit_that_is_switched_off_is_a_warning():
    assert codes(problems(users=handler(replicas=0))) == [("weight-without-pods", "warning")]


def test_a_scaler_that_may_go_to_zero_is_a_warning():
    scaler = {
        "type": "keda",
        "min": 0,
        "metrics": [{"type": "prometheus", "query": "up", "target": "1"}],
    }
    files = {"users": handler(weight=90, autoscaling=scaler), "v2": v2()}
    found = [p for p in problems(**files) if p.code == "weight-without-pods"]
    assert codes(found)[0] == ("weight-without-pods", "warning")
    warm = {**scaler, "warmFloor": 1}
    files["users"] = handler(weight=90, autoscaling=warm)
    assert "weight-without-pods" not in [p.code for p in problems(**files)]


def test_two_namespaces_on_one_path_are_an_error_that_names_both():
    files = {
        "a": handler("users"),
        "b": handler("people", handlerPath="/users/", namespace="other"),
    }
    (found,) = problems(**files)
    assert (found.code, found.severity.value) == ("path-taken", "error")
    assert "shop/users" in found.message and "other/people" in found.message
    assert found.related[0][0].file != found.place.file
    apart = {
        **files,
        "b": handler("people", handlerPath="/users", namespace="other", hosts=["b.com"]),
    }
    assert not problems(**apart)


def test_parameters_are_the_same_whatever_they_are_called():
    found = problems(a=handler("a", handlerPath="/u/:id"), b=handler("b", handlerPath="/u/:name"))
    assert codes(found) == [("path-taken", "error")]


def test_the_same_path_on_another_gateway_is_fine():
    settings = {"clusters": {"east": {"routing": {"gateway": {"name": "x"}}}, "west": {}}}
    assert not problems(gati=project({"prod": settings}), a=handler("users"))


@pytest.mark.parametrize(
    "path, hosts",
    [("/files/:name.json", None), ("/files/:name", ["a.com"])],
)
def test_an_order_that_only_the_gateway_knows_is_a_warning(path, hosts):
    extra = {"hosts": hosts} if hosts else {}
    both = {"hosts": ["a.com", "b.com"]} if hosts else {}
    files = {"a": handler("files", **both), "b": handler("one", handlerPath=path, **extra)}
    found = problems(**files)
    assert codes(found) == [("path-order", "warning")]
    assert path in found[0].message and found[0].place.file == "a.yaml"
    assert not problems(gati=cluster(provider="traefik"), **files)


def test_too_many_neighbours_for_one_expression_are_a_warning():
    files = {
        f"u{n}": handler(f"u{n}", handlerPath=f"/a-rather-long-name-{n}x/:id") for n in range(40)
    }
    found = problems(front=handler("front", handlerPath="/"), **files)
    assert codes(found) == [("path-order", "warning")]
    tree = tree_of(
        {f"{n}.yaml": t for n, t in {"front": handler("front", handlerPath="/"), **files}.items()}
    )
    route = tree["overlays/default/in-cluster/shop/handler-front/route.yaml"]
    assert b"type: PathPrefix" in route and b"RegularExpression" not in route


def test_ingress_nginx_says_what_it_cannot_do():
    nginx = cluster(provider="ingress-nginx")
    (warning,) = problems(gati=nginx, users=handler(weight=90), v2=v2())
    assert (warning.code, warning.severity.value) == ("pins-limited", "warning")
    assert warning.place.file == "gati.yaml" and warning.place.line
    three = problems(
        gati=nginx, users=handler(weight=80), v2=v2(), v3=version("users", "v3", 10, image="a/b:v3")
    )
    assert ("too-many-live-versions", "error") in codes(three)
    assert next(p for p in three if p.is_error).place.file == "v3.yaml"
    found = problems(gati=nginx, users=handler(handlerPath="/users/:id"))
    assert ("path-parameters", "error") in codes(found)


def test_a_unit_that_moved_meets_the_route_it_left_behind():
    before = tree_of({"users.yaml": handler("users")})
    moved = {"users.yaml": handler("users", namespace="other")}
    warnings = [p for p in compiled(moved, before).warnings if p.code == "route-left-behind"]
    assert len(warnings) == 1
    assert "shop/users" in warnings[0].message and "other/users" in warnings[0].message


def test_a_path_of_another_source_is_an_error():
    before = tree_of({"gati.yaml": project(name="first"), "users.yaml": handler("users")})
    files = {"gati.yaml": project(name="second"), "users.yaml": handler("users", namespace="other")}
    with pytest.raises(SpecsInvalid) as caught:
        compiled(files, before)
    (problem,) = caught.value.problems
    assert problem.code == "path-taken" and "first" in problem.message


def test_only_gateway_api_bounds_how_many_versions_share_the_traffic():
    many = {f"v{n}": version("users", f"a{n}", 5, image=f"a/b:{n}") for n in range(16)}
    files = {"users": handler(weight=20), **many}
    assert codes(problems(gati=cluster(), **files)) == [("too-many-weights", "error")]
    for provider in ("istio", "traefik"):
        assert codes(problems(gati=cluster(provider=provider), **files)) == []
        tree = tree_of(
            {f"{n}.yaml": text for n, text in files.items()}
            | {"gati.yaml": cluster(provider=provider)}
        )
        text = tree["overlays/prod/east/shop/handler-users/route.yaml"].decode()
        assert text.count("weight: 5\n") == 16
