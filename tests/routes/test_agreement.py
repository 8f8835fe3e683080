"""Every provider does the same with the same request, as far as docs/routing.md promises it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.ledger.model import Phase
from tests.routes.gateways import (
    IMPLEMENTATIONS,
    Request,
    gateway_api,
    ingress_nginx,
    istio,
    traefik,
)
from tests.routes.world import Unit, clusters, compiled, meant, ratio, requests, split

ages = st.randoms(use_true_random=False)


@given(units=clusters(), request_=requests(), age=ages, way=st.sampled_from(IMPLEMENTATIONS))
def test_gateway_api_does_what_is_meant_however_it_orders_expressions(units, request_, age, way):
    objects = [item for unit in shuffled(units, "gateway-api", age) for item in unit]
    assert ratio(gateway_api(objects, request_, way)) == ratio(meant(units, request_))


@given(units=clusters(), request_=requests(), age=ages)
def test_istio_does_what_is_meant_whatever_is_older(units, request_, age):
    objects = [item for unit in shuffled(units, "istio", age) for item in unit]
    assert ratio(istio(objects, request_)) == ratio(meant(units, request_))


@given(units=clusters(), request_=requests(), age=ages)
def test_traefik_does_what_is_meant(units, request_, age):
    objects = [item for unit in shuffled(units, "traefik", age) for item in unit]
    assert ratio(traefik(objects, request_)) == ratio(meant(units, request_))


@given(units=clusters(words=("a", "b", "me", "mex"), most=2), request_=requests(), age=ages)
def test_ingress_nginx_does_what_is_meant_as_far_as_it_can(units, request_, age):
    """The stated exceptions: one header, and only the canary can be pinned by it."""
    objects = [item for unit in shuffled(units, "ingress-nginx", age) for item in unit]
    found = ratio(ingress_nginx(objects, request_))
    if request_.header("x-gati-version") is None:
        assert found == ratio(meant(units, Request(request_.path)))
    else:
        pinned = meant(
            units, Request(request_.path, {"X-Gati-Version": request_.headers["X-Gati-Version"]})
        )
        shared = meant(units, Request(request_.path))
        assert found in (ratio(pinned), ratio(shared))


def shuffled(units, provider, age):
    found = compiled(units, provider)
    age.shuffle(found)
    return found


ACTIVE = (("v1", Phase.ACTIVE, 100),)
EVALUATORS = {
    "gateway-api": [lambda o, r, way=way: gateway_api(o, r, way) for way in IMPLEMENTATIONS],
    "istio": [istio],
    "traefik": [traefik],
}


@pytest.mark.parametrize("provider", EVALUATORS)
@pytest.mark.parametrize(
    "path, wanted",
    [
        ("/users", "list"),
        ("/users/", "list"),
        ("/users/42", "one"),
        ("/users/42/", "one"),
        ("/users/me", "me"),
        ("/users/me/", "me"),
        ("/users/mex", "one"),
        ("/users/m", "one"),
        ("/users/me/avatar", "me"),
        ("/users/me/orders", "orders"),
        ("/users/42/orders", "orders"),
        ("/users/42/avatar", "list"),
        ("/users/42/orders/7", "list"),
        ("/usersx", "front"),
        ("/userless/42", "front"),
        ("/", "front"),
    ],
)
def test_parameters_do_not_shadow_one_another(provider, path, wanted):
    units = [
        Unit("/", ACTIVE, name="front"),
        Unit("/users", ACTIVE, name="list"),
        Unit("/users/:id", ACTIVE, name="one"),
        Unit("/users/me", ACTIVE, name="me"),
        Unit("/users/:id/orders", ACTIVE, name="orders"),
    ]
    for order in (1, -1):
        objects = [item for unit in compiled(units, provider)[::order] for item in unit]
        for evaluate in EVALUATORS[provider]:
            assert evaluate(objects, Request(path)) in (
                {f"handler-{wanted}-v1": n} for n in (1, 100)
            )


@pytest.mark.parametrize("provider", EVALUATORS)
def test_a_more_specific_host_wins_before_any_path(provider):
    units = [
        Unit("/", ACTIVE, name="one", hosts=("shop.example.com",)),
        Unit("/a", ACTIVE, name="all", hosts=("*.example.com",)),
    ]
    objects = [item for unit in compiled(units, provider) for item in unit]
    for evaluate in EVALUATORS[provider]:
        assert list(evaluate(objects, Request("/a", host="shop.example.com"))) == ["handler-one-v1"]
        assert list(evaluate(objects, Request("/a", host="x.example.com"))) == ["handler-all-v1"]
        assert evaluate(objects, Request("/a", host="example.org")) is None


@pytest.mark.parametrize("provider", EVALUATORS)
def test_a_version_that_is_gone_fails_and_never_becomes_another(provider):
    entries = (("v1", Phase.REMOVED, 0), ("v2", Phase.ACTIVE, 100))
    objects = compiled([Unit("/users", entries)], provider)[0]
    for evaluate in EVALUATORS[provider]:
        for asked in (
            Request("/users/1", {"X-Gati-Version": "v1"}),
            Request("/users", {"x-api-version": "v1"}),
            Request("/users", query={"version": "v1"}),
            Request("/users", query={"v": "v1"}),
        ):
            assert evaluate(objects, asked) == "fails"


@pytest.mark.parametrize("provider", EVALUATORS)
def test_many_versions_keep_their_weights_and_pins(provider):
    """More pins than one HTTPRoute has rules, more versions than a rule has backends."""
    entries = tuple(
        (f"v{n:02}", Phase.ACTIVE if not n else Phase.CANARY, 10)
        if n < 10
        else (f"v{n:02}", Phase.DRAINING, 0)
        for n in range(40)
    )
    unit = Unit("/users", entries)
    objects = compiled([unit], provider)[0]
    for evaluate in EVALUATORS[provider]:
        assert evaluate(objects, Request("/users")) == split(unit)
        for n in range(40):
            answer = evaluate(objects, Request("/users", query={"v": f"v{n:02}"}))
            assert list(answer) == [unit.backend(f"v{n:02}")]


def test_the_lone_destination_of_istio_says_what_it_gets():
    (service,) = compiled([Unit("/a", ACTIVE)], "istio")[0]
    split_rule = service["spec"]["http"][-1]
    assert [target["weight"] for target in split_rule["route"]] == [100]
    assert (
        split_rule["route"][0]["destination"]["host"] == "handler-users-v1.shop.svc.cluster.local"
    )


def test_routes_of_another_namespace_are_granted_what_they_name_and_no_more():
    unit = Unit("/users", (("v1", Phase.ACTIVE, 90), ("v2", Phase.CANARY, 10)))
    objects = compiled([unit], "gateway-api", namespace="gati-system")[0]
    assert [item["kind"] for item in objects] == ["HTTPRoute", "ReferenceGrant"]
    for way in IMPLEMENTATIONS:
        assert gateway_api(objects, Request("/users"), way) == split(unit)
        assert gateway_api(objects[:1], Request("/users"), way) == "fails"
    route, grant = objects
    assert route["metadata"]["namespace"] == "gati-system"
    assert grant["apiVersion"] == "gateway.networking.k8s.io/v1beta1"
    assert [to["name"] for to in grant["spec"]["to"]] == ["handler-users-v1", "handler-users-v2"]
    other = compiled(
        [Unit("/x", ACTIVE, namespace="other")], "gateway-api", namespace="gati-system"
    )[0]
    assert other[0]["metadata"]["name"] != route["metadata"]["name"]


def test_ingress_nginx_refuses_a_third_version_with_weight():
    from gati_gitops.errors import SpecsInvalid

    entries = (("v1", Phase.ACTIVE, 50), ("v2", Phase.CANARY, 30), ("v3", Phase.CANARY, 20))
    with pytest.raises(SpecsInvalid) as caught:
        compiled([Unit("/a", entries)], "ingress-nginx")
    assert caught.value.problems[0].code == "too-many-live-versions"


@pytest.mark.parametrize("provider", EVALUATORS)
@pytest.mark.parametrize(
    "headers, query, wanted",
    [
        ({"X-Gati-Version": "v2"}, {"version": "v1"}, "v2"),
        ({"X-Api-Version": "v2"}, {"v": "v1"}, "v2"),
        ({"X-Gati-Version": "v2", "X-Api-Version": "v1"}, {}, "v1"),
        ({"X-Gati-Version": "v1", "X-Api-Version": "v2"}, {}, "v1"),
        ({}, {"version": "v2", "v": "v1"}, "v1"),
        ({"X-Gati-Version": "v9"}, {"v": "v2"}, "v2"),
    ],
)
def test_a_request_that_names_two_versions_gets_the_same_one_everywhere(
    provider, headers, query, wanted
):
    unit = Unit("/a", (("v1", Phase.ACTIVE, 50), ("v2", Phase.CANARY, 50)))
    objects = compiled([unit], provider)[0]
    for evaluate in EVALUATORS[provider]:
        assert list(evaluate(objects, Request("/a", headers, query))) == [unit.backend(wanted)]


@pytest.mark.parametrize("provider", EVALUATORS)
def test_a_host_of_its_own_keeps_what_another_host_gives_away(provider):
    units = [
        Unit("/users", ACTIVE, name="list", hosts=("a.com", "b.com")),
        Unit("/users/:id", ACTIVE, name="one", hosts=("a.com",)),
    ]
    objects = [item for unit in compiled(units, provider) for item in unit]
    for evaluate in EVALUATORS[provider]:
        assert list(evaluate(objects, Request("/users/1", host="b.com"))) == ["handler-list-v1"]


def test_a_pin_of_istio_has_all_of_its_weight():
    (service,) = compiled([Unit("/a", ACTIVE)], "istio")[0]
    weights = [target["weight"] for rule in service["spec"]["http"] for target in rule["route"]]
    assert set(weights) == {100}


@pytest.mark.parametrize("weight", [10, 50, 90, 100])
def test_the_active_version_stays_the_main_one_of_ingress_nginx(weight):
    entries = (("v1", Phase.CANARY, weight), ("v2", Phase.ACTIVE, 100 - weight))
    main, canary = compiled([Unit("/a", entries)], "ingress-nginx")[0]
    backends = [
        item["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"]
        for item in (main, canary)
    ]
    assert backends == ["handler-users-v2", "handler-users-v1"]
    notes = canary["metadata"]["annotations"]
    assert notes["nginx.ingress.kubernetes.io/canary-weight"] == str(weight)
