"""Routes through the whole compiler: neighbours, promotion, providers, and what is read back."""

from __future__ import annotations

import pytest

from gati_gitops.emit.routes.stored import split_weights, tombstones
from gati_gitops.errors import SpecsInvalid
from gati_gitops.ledger import acts
from gati_gitops.ledger.model import Phase
from gati_gitops.ledger.store import plan_from
from tests.compile.acts import acted
from tests.compile.kit import (
    UNIT,
    compiled,
    decide,
    handler,
    moved,
    objects,
    project,
    tree_of,
    version,
)
from tests.routes.world import Unit
from tests.routes.world import compiled as routes_of

ONE = "overlays/prod/east/shop/handler-one"


def specs(provider="gateway-api", **extra):
    settings = {"clusters": {"east": {}}, "routing": {"provider": provider}}
    return {
        "gati.yaml": project({"prod": settings}),
        "users.yaml": handler("users"),
        **extra,
    }


def path(tree, folder=UNIT):
    return objects(tree, f"{folder}/route.yaml")[0]["spec"]["rules"][-1]["matches"][0]["path"]


def test_a_path_gives_way_to_a_stronger_one_and_takes_back_when_that_is_gone():
    alone = tree_of(specs())
    assert path(alone) == {"type": "PathPrefix", "value": "/users"}
    both = specs(one=handler("one", handlerPath="/users/:id"))
    files = {**both, "one.yaml": both.pop("one")}
    files = {name: text for name, text in files.items() if name.endswith(".yaml")}
    tree = tree_of(files, alone)
    assert path(tree)["type"] == "RegularExpression"
    stored = plan_from(objects(tree, f"{UNIT}/unit.yaml")[0], "unit.yaml")
    assert stored.route is not None and stored.route.beside == ("/users/:id",)
    assert compiled(files, tree).changes == {}
    del files["one.yaml"]
    retiring = tree_of(files, tree)  # it serves until it has drained, so nothing moves yet
    assert path(retiring) == path(tree)
    assert compiled(files, retiring).changes == {}
    gone = acted(retiring, acts.retire, unit="handler-one", now=True)
    assert path(tree_of(files, gone)) == {"type": "PathPrefix", "value": "/users"}


def test_a_unit_that_waits_takes_no_requests_away():
    settings = {"staging": ["stage"], "prod": ["east"]}
    head = {"gati.yaml": project(settings, promotion={"prod": {"after": "staging"}})}
    first = {**head, "users.yaml": handler("users")}
    tree = tree_of(first)
    tree = decide(tree, moved(v1=("Active", 100)))
    files = {**first, "one.yaml": handler("one", handlerPath="/users/:id")}
    tree = tree_of(files, tree)
    assert path(tree, UNIT.replace("prod/east", "staging/stage"))["type"] == "RegularExpression"
    assert path(tree)["type"] == "PathPrefix"
    served = decide(tree, moved(v1=("Active", 100)), ONE)
    assert path(tree_of(files, served))["type"] == "RegularExpression"


@pytest.mark.parametrize("provider", ["istio", "traefik", "ingress-nginx"])
def test_another_provider_leaves_no_route_of_the_first_behind(provider):
    tree = tree_of(specs(provider), tree_of(specs()))
    kinds = {item["kind"] for item in objects(tree, f"{UNIT}/route.yaml")}
    assert kinds.isdisjoint({"HTTPRoute"})
    assert compiled(specs(provider), tree).changes == {}


@pytest.mark.parametrize("provider", ["gateway-api", "istio", "traefik", "ingress-nginx"])
def test_weights_and_tombstones_can_be_read_back(provider):
    entries = (
        ("v1", Phase.ACTIVE, 70),
        ("v2", Phase.CANARY, 30),
        ("v0", Phase.REMOVED, 0),
        ("v00", Phase.REMOVED, 0),
    )
    found = routes_of([Unit("/users", entries)], provider)[0]
    assert split_weights(found) == {"handler-users-v1": 70, "handler-users-v2": 30}
    assert tombstones(found) == ("v0", "v00")


@pytest.mark.parametrize("provider", ["gateway-api", "istio", "traefik", "ingress-nginx"])
def test_a_lost_ledger_comes_back_from_the_route(provider):
    files = specs(provider, **{"users.yaml": handler("users", weight=70)})
    files["v2.yaml"] = version("users", "v2", 30, image="ghcr.io/acme/users:v2")
    tree = tree_of(files)
    before = tree[f"{UNIT}/route.yaml"]
    del tree[f"{UNIT}/rollout.yaml"]
    again = tree_of(files, tree)
    assert again[f"{UNIT}/route.yaml"] == before
    assert b"hold: " in again[f"{UNIT}/rollout.yaml"]


def test_ids_that_look_alike_get_rules_of_their_own():
    entries = (("v1.0", Phase.REMOVED, 0), ("v1-0", Phase.REMOVED, 0), ("v2", Phase.ACTIVE, 100))
    for provider, rules in (("gateway-api", "rules"), ("istio", "http")):
        (route,) = routes_of([Unit("/users", entries)], provider)[0]
        names = [rule["name"] for rule in route["spec"][rules]]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "routing, said",
    [
        (
            {"provider": "traefik", "gateway": {"name": "edge"}},
            "routing.gateway is for gateway-api or istio",
        ),
        (
            {"provider": "istio", "traefik": {"entryPoints": ["web"]}},
            "routing.traefik is for traefik",
        ),
        ({"traefik": {}}, "routing.traefik is for traefik, and the provider is gateway-api"),
        ({"provider": "ingress-nginx", "routeNamespace": "edge"}, "routing.routeNamespace is for"),
        (
            {"provider": "istio", "gateway": {"name": "a"}, "istio": {"gateways": ["b/c"]}},
            "name the same thing",
        ),
        ({"provider": "istio", "istio": {"gateways": ["mesh"]}}, "mesh"),
        ({"provider": "nginx"}, "nginx"),
    ],
)
@pytest.mark.parametrize("where", ["environment", "cluster"])
def test_settings_that_do_not_fit_their_provider_are_errors(routing, said, where):
    settings = {"clusters": {"east": {}}, "routing": routing}
    if where == "cluster":
        settings = {"clusters": {"east": {"routing": routing}}}
    with pytest.raises(SpecsInvalid) as caught:
        compiled({"gati.yaml": project({"prod": settings}), "users.yaml": handler()})
    (problem,) = caught.value.problems
    assert said in problem.message
    assert problem.place.file == "gati.yaml" and problem.place.line


def test_a_cluster_says_only_what_differs():
    settings = {
        "clusters": {"east": {"routing": {"traefik": {"entryPoints": ["web"]}}}, "west": {}},
        "routing": {"provider": "traefik", "traefik": {"entryPoints": ["websecure"]}},
    }
    tree = tree_of({"gati.yaml": project({"prod": settings}), "users.yaml": handler()})
    for cluster, entry in (("east", "web"), ("west", "websecure")):
        route = objects(tree, UNIT.replace("east", cluster) + "/route.yaml")[0]
        assert route["spec"]["entryPoints"] == [entry]


def test_routes_may_live_with_their_gateway():
    settings = {"clusters": {"east": {}}, "routing": {"routeNamespace": "edge"}}
    files = {"gati.yaml": project({"prod": settings}), "users.yaml": handler()}
    tree = tree_of(files)
    route, grant = objects(tree, f"{UNIT}/route.yaml")
    assert route["metadata"]["namespace"] == "edge"
    assert grant["metadata"]["namespace"] == "shop"
    assert compiled(files, tree).changes == {}
