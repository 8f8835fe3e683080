"""NetworkPolicies let through what the specs declare, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gati_gitops.emit.overlay import manifests
from gati_gitops.errors import SpecsInvalid
from gati_gitops.ledger.model import Phase
from gati_gitops.ledger.store import plan_from
from tests.compile.kit import (
    canary,
    compiled,
    decide,
    document,
    handler,
    ledger,
    module,
    moved,
    objects,
    project,
    tree_of,
    version,
)
from tests.network.evaluator import Network, Peer
from tests.network.world import (
    DNS,
    GATEWAY,
    INTERNET,
    METADATA,
    OFFICE,
    PROMETHEUS,
    STRANGER,
    pods,
    policies,
    world,
)

UNIT = "overlays/prod/east/shop/handler-users"


def named(name: str, namespace: str, kind: str = "GatiModule", **spec: Any) -> str:
    common = {"replicas": 1, "image": f"r.example/{name}:1", "port": 4000}
    if kind == "GatiModule":
        common |= {"moduleName": name, "moduleType": "oci", "runtime": "oci"}
    else:
        common |= {"handlerPath": f"/{namespace}/{name}", "version": "1"}
    return document(kind, name, common | spec, namespace)


# -- routes, DNS, metrics --------------------------------------------------------------------------


def test_a_handler_is_reached_from_the_gateway_on_its_port_only():
    net, pod = world({"gati.yaml": project(), "users.yaml": handler()})
    users = pod["shop/handler-users-v1"]
    assert net.may(GATEWAY, users, 3000)
    assert not net.may(GATEWAY, users, 3001)
    assert not net.may(GATEWAY, users, 3000, "UDP")
    for other in (STRANGER, PROMETHEUS, DNS, INTERNET, OFFICE):
        assert not net.may(other, users, 3000)


def test_names_are_looked_up_and_nothing_else_is_called():
    net, pod = world({"gati.yaml": project(), "users.yaml": handler()})
    users = pod["shop/handler-users-v1"]
    assert net.may(users, DNS, 53, "UDP") and net.may(users, DNS, 53)
    for other in (STRANGER, GATEWAY, PROMETHEUS, INTERNET, METADATA, OFFICE):
        assert not net.may(users, other, 443)
    assert not net.may(users, DNS, 443)


@pytest.mark.parametrize(
    ("routing", "namespaces"),
    [
        ({"gateway": {"namespace": "edge"}}, ["edge"]),
        ({"provider": "istio"}, ["gati-system", "istio-system"]),
        ({"provider": "istio", "istio": {"gateways": ["edge/public"]}}, ["edge", "istio-system"]),
        ({"provider": "traefik"}, ["traefik"]),
        ({"provider": "ingress-nginx"}, ["ingress-nginx"]),
    ],
)
def test_requests_come_from_where_the_provider_has_its_pods(routing, namespaces):
    env = {"prod": {"clusters": {"east": {}}, "routing": routing}}
    net, pod = world({"gati.yaml": project(env), "users.yaml": handler()})
    users = pod["shop/handler-users-v1"]
    every = ["edge", "gati-system", "istio-system", "traefik", "ingress-nginx"]
    assert [n for n in every if net.may(Peer("10.9.0.9", n), users, 3000)] == namespaces


def test_namespaces_of_gateways_can_be_said():
    net, pod = world(
        {
            "gati.yaml": project(network={"gatewayNamespaces": ["envoy-gateway-system"]}),
            "users.yaml": handler(),
        }
    )
    users = pod["shop/handler-users-v1"]
    assert net.may(Peer("10.9.0.9", "envoy-gateway-system"), users, 3000)
    assert not net.may(GATEWAY, users, 3000)


def test_metrics_are_read_where_there_is_monitoring():
    files = {"users.yaml": handler(metrics={"port": 9464}), "db.yaml": module()}
    net, pod = world({**files, "gati.yaml": project(monitoring={"namespace": "monitoring"})})
    assert net.may(PROMETHEUS, pod["shop/handler-users-v1"], 9464)
    assert not net.may(PROMETHEUS, pod["shop/handler-users-v1"], 3000)
    assert net.may(PROMETHEUS, pod["shop/module-db-1-0-0"], 50051)
    assert not net.may(STRANGER, pod["shop/handler-users-v1"], 9464)


def test_metrics_are_read_on_the_port_of_each_version():
    files = {
        "users.yaml": handler(version="v2", port=4000, weight=10),
        "v1.yaml": version("users", "v1", 90, port=3000, image="ghcr.io/acme/users:1"),
        "gati.yaml": project(monitoring={"namespace": "monitoring"}),
    }
    net, pod = world(files)
    assert net.may(PROMETHEUS, pod["shop/handler-users-v1"], 3000)
    assert net.may(PROMETHEUS, pod["shop/handler-users-v2"], 4000)


def test_metrics_are_not_read_where_a_unit_says_no():
    files = {"users.yaml": handler(metrics={"scrape": False})}
    net, pod = world({**files, "gati.yaml": project(monitoring={})})
    assert not net.may(PROMETHEUS, pod["shop/handler-users-v1"], 3000)


def test_who_reads_metrics_can_be_said_without_monitoring_of_ours():
    gati = project(network={"monitoringNamespace": "observability"})
    net, pod = world({"gati.yaml": gati, "users.yaml": handler()})
    assert net.may(Peer("10.9.0.9", "observability"), pod["shop/handler-users-v1"], 3000)


def test_a_node_local_cache_and_another_dns_port():
    dns = {"namespace": "openshift-dns", "port": 5353, "cidr": "169.254.20.10/32"}
    net, pod = world({"gati.yaml": project(network={"dns": dns}), "users.yaml": handler()})
    users = pod["shop/handler-users-v1"]
    assert net.may(users, Peer("169.254.20.10"), 5353, "UDP")
    assert net.may(users, Peer("10.9.0.9", "openshift-dns"), 5353)
    assert not net.may(users, DNS, 53, "UDP") and not net.may(users, METADATA, 5353)


# -- egress ----------------------------------------------------------------------------------------


def test_egress_opens_what_it_lists():
    egress = [
        {"cidr": "192.168.7.0/24", "ports": [5432]},
        {"namespace": "elsewhere", "ports": [9200], "protocol": "UDP"},
        {"to": "internet", "ports": [443]},
    ]
    net, pod = world({"gati.yaml": project(), "users.yaml": handler(egress=egress)})
    users = pod["shop/handler-users-v1"]
    assert net.may(users, OFFICE, 5432) and not net.may(users, OFFICE, 5433)
    assert not net.may(users, Peer("192.168.8.1"), 5432)
    assert net.may(users, STRANGER, 9200, "UDP") and not net.may(users, STRANGER, 9200)
    assert net.may(users, INTERNET, 443) and not net.may(users, INTERNET, 80)
    assert net.may(users, Peer("2606:2800:220:1::1"), 443)
    for private in (METADATA, OFFICE, Peer("10.1.1.1"), Peer("172.20.1.1"), Peer("fd00::1")):
        assert not net.may(users, private, 443)


def test_egress_to_one_unit():
    files = {
        "gati.yaml": project(),
        "users.yaml": handler(egress=[{"namespace": "other", "unit": "module-pool"}]),
        "pool.yaml": named("pool", "other", capabilities=["network:ingress"]),
        "hole.yaml": named("hole", "other", capabilities=["network:ingress"]),
    }
    net, pod = world(files)
    users = pod["shop/handler-users-v1"]
    assert net.may(users, pod["other/module-pool-1"], 4000)
    assert not net.may(users, pod["other/module-hole-1"], 4000)


def test_what_every_unit_may_call():
    gati = project(network={"egress": [{"namespace": "elsewhere", "ports": [4317]}]})
    net, pod = world({"gati.yaml": gati, "users.yaml": handler(), "db.yaml": module()})
    for unit in pod.values():
        assert net.may(unit, STRANGER, 4317) and not net.may(unit, STRANGER, 4318)


def test_an_environment_overrides_the_project_field_by_field():
    environments = {
        "dev": {"clusters": {"d": {}}, "network": {"policies": False}},
        "prod": {"clusters": {"east": {}}, "network": {"gatewayNamespaces": ["edge"]}},
    }
    gati = project(environments, network={"egress": [{"to": "internet"}]})
    tree = tree_of({"gati.yaml": gati, "users.yaml": handler(), "db.yaml": module()})
    assert policies(tree, "overlays/dev/d") == ()
    net, pod = Network(policies(tree)), pods(tree)
    assert net.may(Peer("10.9.0.9", "edge"), pod["shop/handler-users-v1"], 3000)
    assert net.may(pod["shop/handler-users-v1"], INTERNET, 443)


def test_changing_egress_changes_no_pod():
    files = {"gati.yaml": project(), "users.yaml": handler()}
    tree = tree_of(files)
    files["users.yaml"] = handler(egress=[{"to": "internet"}])
    changed = compiled(files, tree).changes
    assert not [path for path in changed if path.startswith("base/")]
    assert f"{UNIT}/network.yaml" in changed


# -- modules ---------------------------------------------------------------------------------------


def test_a_module_is_called_by_those_who_declare_it_across_namespaces():
    files = {
        "gati.yaml": project(),
        "users.yaml": handler(modules=["other/pool"]),
        "carts.yaml": handler("carts"),
        "twin.yaml": named("users", "other", "GatiHandler"),
        "pool.yaml": named("pool", "other"),
    }
    net, pod = world(files)
    pool = pod["other/module-pool-1"]
    assert net.may(pod["shop/handler-users-v1"], pool, 4000)
    assert not net.may(pod["shop/handler-users-v1"], pool, 4001)
    assert not net.may(pod["shop/handler-carts-v1"], pool, 4000)
    assert not net.may(pod["other/handler-users-1"], pool, 4000), "the namesake next door"
    for other in (GATEWAY, STRANGER, INTERNET):
        assert not net.may(other, pool, 4000)
    assert not net.may(pool, pod["shop/handler-users-v1"], 3000), "calls go one way"
    beside = Peer("10.9.0.9", "other", {"app": "beside the module"})
    assert not net.may(pod["shop/handler-users-v1"], beside, 4000)


def test_a_caller_that_drains_can_still_call():
    files = {
        "gati.yaml": canary(),
        "users.yaml": handler(modules=["db"]),
        "db.yaml": module(),
    }
    tree = tree_of(files)
    files["users.yaml"] = handler(version="v2")  # the new version no longer calls it
    tree = tree_of(files, tree)
    tree = tree_of(files, decide(tree, moved(v1=("Draining", 0), v2=("Active", 100))))
    net, pod = Network(policies(tree)), pods(tree)
    assert net.may(pod["shop/handler-users-v1"], pod["shop/module-db-1-0-0"], 50051)
    tree = tree_of(files, decide(tree, moved(v1=("Removed", 0))))
    assert [p["metadata"]["name"] for p in policies(tree)] == ["handler-users", "module-db"]


def test_a_caller_that_retires_can_call_until_it_is_gone():
    files = {"gati.yaml": project(), "users.yaml": handler(modules=["db"]), "db.yaml": module()}
    tree = tree_of(files)
    del files["users.yaml"]
    tree = tree_of(files, tree)
    net, pod = Network(policies(tree)), pods(tree)
    assert net.may(pod["shop/handler-users-v1"], pod["shop/module-db-1-0-0"], 50051)


def test_a_version_that_waits_opens_nothing():
    prod = {"staging": ["west"], "prod": ["east"]}
    files = {
        "gati.yaml": canary(prod, promotion={"prod": {"after": "staging"}}),
        "users.yaml": handler(modules=["db"]),
        "db.yaml": module(),
    }
    tree = tree_of(files)
    assert {e.phase for e in ledger(tree).entries} == {Phase.PENDING}
    assert policies(tree) == ()


def test_plan_and_ledger_alone_give_the_policies():
    files = {
        "gati.yaml": project(
            monitoring={},
            network={"dns": {"cidr": "169.254.20.10/32"}, "egress": [{"to": "anywhere"}]},
        ),
        "users.yaml": handler(modules=["db"], egress=[{"cidr": "fd00::/8", "ports": [1, 2]}]),
        "db.yaml": module(capabilities=["network:ingress", "database.read"]),
    }
    tree = tree_of(files)
    for folder in (UNIT, "overlays/prod/east/shop/module-db"):
        plan = plan_from(yaml.safe_load(tree[f"{folder}/unit.yaml"]), "unit.yaml")
        again = manifests(plan, ledger(tree, folder))
        for file in ("network.yaml", "kustomization.yaml"):
            assert again[file] == tree[f"{folder}/{file}"]


def test_what_the_api_server_would_add_is_written():
    files = {
        "gati.yaml": project(),
        "users.yaml": handler(modules=["db"], egress=[{"to": "internet", "ports": [443]}]),
        "db.yaml": module(),
    }
    for policy in policies(tree_of(files)):
        spec = policy["spec"]
        assert spec["policyTypes"]
        for way in ("ingress", "egress"):
            assert spec.get(way, True), "an empty list is dropped by the API server"
            for rule in spec.get(way, ()):
                assert all(port.keys() == {"port", "protocol"} for port in rule["ports"])


def test_policies_carry_short_names_and_the_labels_of_their_unit():
    long = "m" * 60
    files = {
        "gati.yaml": project(),
        "h.yaml": named("h" * 60, "shop", "GatiHandler", modules=[long]),
        "m.yaml": named(long, "shop"),
    }
    found = policies(tree_of(files))
    names = [policy["metadata"]["name"] for policy in found]
    assert len(set(names)) == 3 and max(map(len, names)) <= 46
    assert all(policy["metadata"]["labels"]["gati.dev/unit"] for policy in found)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("egress", "words"),
    [
        ({}, "exactly one of cidr, namespace and to"),
        ({"cidr": "10.0.0.0/8", "to": "internet"}, "exactly one of"),
        ({"to": "internet", "unit": "module-db"}, "add namespace"),
        ({"cidr": "10.0.0.1/8"}, "write 10.0.0.0/8"),
        ({"cidr": "::1::/8"}, "is no network"),
    ],
)
def test_bad_egress_is_refused_with_a_remedy(egress, words):
    with pytest.raises(SpecsInvalid) as caught:
        compiled({"gati.yaml": project(), "users.yaml": handler(egress=[egress])})
    (problem,) = caught.value.problems
    assert words in f"{problem.message} {problem.remedy}"
    assert problem.place.line


# -- exactly declared pairs ------------------------------------------------------------------------

NAMESPACES = ("a", "b")
NAMES = ("x", "y")


@st.composite
def projects(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Units of both kinds that declare each other at random."""
    modules = [(ns, name) for ns in NAMESPACES for name in NAMES if draw(st.booleans())]
    units = [{"kind": "module", "namespace": ns, "name": name} for ns, name in modules]
    units += [
        {"kind": "handler", "namespace": ns, "name": name}
        for ns in NAMESPACES
        for name in NAMES
        if draw(st.booleans())
    ]
    for unit in units:
        unit["port"] = draw(st.sampled_from([4000, 4001]))
        chosen = (
            draw(st.lists(st.sampled_from(modules), max_size=2, unique_by=lambda m: m[1]))
            if modules
            else []
        )
        unit["calls"] = chosen
        granted = st.lists(st.sampled_from(["network", "network:ingress", "storage"]), unique=True)
        unit["capabilities"] = draw(granted) if unit["kind"] == "module" else []
    return units


def spec_of(unit: dict[str, Any]) -> str:
    own = unit["namespace"]
    spec: dict[str, Any] = {
        "port": unit["port"],
        "modules": [name if ns == own else f"{ns}/{name}" for ns, name in unit["calls"]],
    }
    if unit["kind"] == "module":
        spec["capabilities"] = unit["capabilities"]
        return named(unit["name"], own, **spec)
    return named(unit["name"], own, "GatiHandler", **spec)


@given(projects(), st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_exactly_declared_pairs_can_talk(units, addresses_mean_pods):
    files = {f"{u['kind']}-{u['namespace']}-{u['name']}.yaml": spec_of(u) for u in units}
    files["gati.yaml"] = project()
    if not units:
        return
    net, pod = world(files, addresses_mean_pods=addresses_mean_pods)
    peers = {
        (u["kind"], u["namespace"], u["name"]): pod[f"{u['namespace']}/{u['kind']}-{u['name']}-1"]
        for u in units
    }
    for caller in units:
        source = peers[caller["kind"], caller["namespace"], caller["name"]]
        free = "network" in caller["capabilities"]
        for called in units:
            target = peers[called["kind"], called["namespace"], called["name"]]
            declared = called["kind"] == "module" and (
                (called["namespace"], called["name"]) in caller["calls"]
                or (free and "network:ingress" in called["capabilities"])
            )
            for port in (4000, 4001):
                wanted = declared and port == called["port"]
                assert net.may(source, target, port) == wanted, (caller, called, port)
        assert net.may(source, INTERNET, 443) == free
        assert net.may(source, STRANGER, 443) == free
        assert not net.may(source, METADATA, 80)
        opened = "network:ingress" in caller["capabilities"]
        assert net.may(STRANGER, source, caller["port"]) == opened
        gate = opened or caller["kind"] == "handler"
        assert net.may(GATEWAY, source, caller["port"]) == gate
        assert not net.may(INTERNET, source, caller["port"])


def test_the_evaluator_knows_open_from_closed():
    assert Network(()).may(STRANGER, GATEWAY, 1)
    shut = {
        "metadata": {"namespace": "gati-system"},
        "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
    }
    assert not Network((shut,)).may(STRANGER, GATEWAY, 1)
    assert Network((shut,)).may(GATEWAY, STRANGER, 1)


def test_every_unit_has_its_policy():
    files = {"gati.yaml": project(), "users.yaml": handler(), "db.yaml": module()}
    tree = tree_of(files)
    for folder in (UNIT, "overlays/prod/east/shop/module-db"):
        assert "network.yaml" in objects(tree, f"{folder}/kustomization.yaml")[0]["resources"]
