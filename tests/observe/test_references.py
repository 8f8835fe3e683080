"""Who else names a version: every way that routes and Services have for it, and no other."""

import pytest

from gati_gitops.observe.references import Target, host, naming, references

SERVICE = ("shop", "users-v1")
LABELS = {"gati.dev/unit": "users", "gati.dev/version": "v1", "app.kubernetes.io/version": "v1"}
OWN = frozenset({("HTTPRoute", "shop", "users"), ("Service", "shop", "users-v1")})
TARGET = Target(SERVICE, LABELS, OWN)


def item(kind: str, spec: dict, namespace: str = "shop", name: str = "theirs") -> dict:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def found(*items: dict) -> tuple[str, ...]:
    namings = [one for one in map(naming, items) if one is not None]
    return references([TARGET], namings).get(SERVICE, ())


BACKEND = {"name": "users-v1", "port": 80}
FAR = {**BACKEND, "namespace": "shop"}
MIRROR = {"type": "RequestMirror", "requestMirror": {"backendRef": FAR}}
NAMED = {
    "a backend": ("HTTPRoute", {"rules": [{"backendRefs": [BACKEND]}]}, "shop"),
    "a backend from elsewhere": ("HTTPRoute", {"rules": [{"backendRefs": [FAR]}]}, "far"),
    "a weight of nothing": (
        "HTTPRoute",
        {"rules": [{"backendRefs": [{**FAR, "weight": 0}]}]},
        "far",
    ),
    "a mirror": ("HTTPRoute", {"rules": [{"filters": [MIRROR]}]}, "far"),
    "a backend's mirror": (
        "HTTPRoute",
        {"rules": [{"backendRefs": [{"name": "other", "filters": [MIRROR]}]}]},
        "far",
    ),
    "gRPC": ("GRPCRoute", {"rules": [{"backendRefs": [FAR]}]}, "far"),
    "TCP": ("TCPRoute", {"rules": [{"backendRefs": [FAR]}]}, "far"),
    "TLS": ("TLSRoute", {"rules": [{"backendRefs": [FAR]}]}, "far"),
    "UDP": ("UDPRoute", {"rules": [{"backendRefs": [FAR]}]}, "far"),
    "a short host": (
        "VirtualService",
        {"http": [{"route": [{"destination": {"host": "users-v1"}}]}]},
        "shop",
    ),
    "a full host": (
        "VirtualService",
        {"http": [{"route": [{"destination": {"host": "users-v1.shop.svc.cluster.local"}}]}]},
        "far",
    ),
    "Istio's TCP": (
        "VirtualService",
        {"tcp": [{"route": [{"destination": {"host": "users-v1.shop"}}]}]},
        "far",
    ),
    "Istio's TLS": (
        "VirtualService",
        {"tls": [{"route": [{"destination": {"host": "users-v1.shop.svc"}}]}]},
        "far",
    ),
    "Istio's mirror": (
        "VirtualService",
        {"http": [{"route": [], "mirror": {"host": "users-v1.shop"}}]},
        "far",
    ),
    "Istio's mirrors": (
        "VirtualService",
        {"http": [{"mirrors": [{"destination": {"host": "users-v1.shop"}}]}]},
        "far",
    ),
    "an Ingress": (
        "Ingress",
        {"rules": [{"http": {"paths": [{"backend": {"service": {"name": "users-v1"}}}]}}]},
        "shop",
    ),
    "an Ingress for the rest": (
        "Ingress",
        {"defaultBackend": {"service": {"name": "users-v1"}}},
        "shop",
    ),
    "Traefik": ("IngressRoute", {"routes": [{"services": [BACKEND]}]}, "shop"),
    "Traefik's TCP": ("IngressRouteTCP", {"routes": [{"services": [FAR]}]}, "far"),
    "Traefik's UDP": ("IngressRouteUDP", {"routes": [{"services": [FAR]}]}, "far"),
    "Traefik's weights": ("TraefikService", {"weighted": {"services": [FAR]}}, "far"),
    "Traefik's hash": ("TraefikService", {"highestRandomWeight": {"services": [FAR]}}, "far"),
    "Traefik's mirroring": ("TraefikService", {"mirroring": {**FAR, "mirrors": []}}, "far"),
    "Traefik's mirror": (
        "TraefikService",
        {"mirroring": {"name": "other", "mirrors": [{**FAR, "percent": 5}]}},
        "far",
    ),
    "Traefik's failover": (
        "TraefikService",
        {"failover": {"service": {"name": "other"}, "fallback": FAR}},
        "far",
    ),
    "another name for it": (
        "Service",
        {"type": "ExternalName", "externalName": "users-v1.shop.svc.cluster.local"},
        "far",
    ),
    "another Service of the same version": ("Service", {"selector": LABELS}, "shop"),
    "one that selects by version alone": (
        "Service",
        {"selector": {"app.kubernetes.io/version": "v1"}},
        "shop",
    ),
}


@pytest.mark.parametrize("kind, spec, namespace", NAMED.values(), ids=NAMED.keys())
def test_each_way_to_name_it(kind, spec, namespace):
    assert found(item(kind, spec, namespace)) == (f"{kind} {namespace}/theirs",)


NOT = {
    "another name": ("HTTPRoute", {"rules": [{"backendRefs": [{"name": "users-v2"}]}]}, "shop"),
    "the same name elsewhere": ("HTTPRoute", {"rules": [{"backendRefs": [BACKEND]}]}, "far"),
    "another kind": (
        "HTTPRoute",
        {"rules": [{"backendRefs": [{**FAR, "kind": "ServiceImport", "group": "x"}]}]},
        "far",
    ),
    "a TraefikService of that name": (
        "IngressRoute",
        {"routes": [{"services": [{**BACKEND, "kind": "TraefikService"}]}]},
        "shop",
    ),
    "a host of the internet": (
        "VirtualService",
        {"http": [{"route": [{"destination": {"host": "users-v1.shop.example.com"}}]}]},
        "far",
    ),
    "a Service of all versions": ("Service", {"selector": {"gati.dev/unit": "users"}}, "shop"),
    "a Service of another unit's version": (
        "Service",
        {"selector": {"gati.dev/version": "v1", "gati.dev/unit": "orders"}},
        "shop",
    ),
    "a Service of another version": ("Service", {"selector": {"gati.dev/version": "v2"}}, "shop"),
    "one that wants more of its pods": (
        "Service",
        {"selector": {**LABELS, "track": "blue"}},
        "shop",
    ),
    "the same labels elsewhere": ("Service", {"selector": LABELS}, "far"),
    "nothing": ("HTTPRoute", {}, "shop"),
}


@pytest.mark.parametrize("kind, spec, namespace", NOT.values(), ids=NOT.keys())
def test_what_does_not_name_it(kind, spec, namespace):
    assert found(item(kind, spec, namespace)) == ()


def test_its_own_do_not_count():
    spec = {"rules": [{"backendRefs": [BACKEND]}]}
    assert found(item("HTTPRoute", spec, name="users")) == ()
    assert found(item("Service", {"selector": LABELS}, name="users-v1")) == ()
    # but one of the same name that is another's does
    assert found(item("GRPCRoute", spec, name="users")) == ("GRPCRoute shop/users",)


def test_all_are_told_once_and_in_order():
    spec = {"rules": [{"backendRefs": [BACKEND, BACKEND]}, {"backendRefs": [BACKEND]}]}
    assert found(item("HTTPRoute", spec, name="b"), item("HTTPRoute", spec, name="a")) == (
        "HTTPRoute shop/a",
        "HTTPRoute shop/b",
    )


@pytest.mark.parametrize(
    "name, namespace, service",
    [
        ("a", "shop", ("shop", "a")),
        ("a", "", None),
        ("", "shop", None),
        ("a.b", "shop", ("b", "a")),
        ("A.B.svc.cluster.local.", "shop", ("b", "a")),
        ("a.b.svc.other.domain", "", ("b", "a")),
        ("a.b.example.com", "", None),
        ("*", "shop", ("shop", "*")),
    ],
)
def test_hosts(name, namespace, service):
    assert host(name, namespace) == service
