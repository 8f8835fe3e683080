"""Traefik, by its own kinds and by Gateway API.

It counts by service, in the balancer of each server: a request for a service without servers is
answered 503 and not counted there. Routers do count it, where ``addRoutersLabels`` is on, so for
versions on their way out the routers of their pins are asked too. Of its own kinds, the shares of a
TraefikService are named after namespace, Service and port, but a rule with one Service after the
IngressRoute and a digest of the rule. Open requests are counted by entry point only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from gati_gitops.decide.observation import Gap, Missing
from gati_gitops.emit.routes.gateway_api import http_routes
from gati_gitops.emit.routes.table import RouteTable, route_table
from gati_gitops.emit.routes.traefik import ingress_routes
from gati_gitops.ledger.stored import recovered
from gati_gitops.observe.profiles_model import Counts, Profile, label, service_name
from gati_gitops.observe.prometheus_query import literal
from gati_gitops.observe.wanted import Deployed
from gati_gitops.plan.model import Route

_ACTIVE = Missing(
    Gap.UNSUPPORTED,
    "Traefik counts open connections by entry point, not by version;"
    " name a gauge of the pods in metrics.evidence.inFlight",
)
_HINT = (
    "Traefik counts requests for a version without pods by router only, and shows none;"
    " set metrics.prometheus.addRoutersLabels"
)
_ROUTER = re.compile(r"(httproute-.+)-ep-.+-([0-9]+)-[0-9a-f]{20}@kubernetesgateway")


def _crd_services(deployed: Deployed) -> frozenset[str]:
    share = service_name("{namespace}-{service}-{port}@kubernetescrd", deployed)
    return frozenset((_normal(share), *_crd_pins(deployed)))


def _crd_pins(deployed: Deployed) -> frozenset[str]:
    """Routers and services that Traefik makes of rules with this one Service."""
    found = _emitted(deployed)
    if found is None:
        return frozenset()
    route, table = found
    made = ingress_routes(deployed.stored.plan, route, table)[0]
    place = f"{made['metadata']['namespace']}-{made['metadata']['name']}"
    return frozenset(
        f"{_normal(place)}-{sha256(rule['match'].encode()).hexdigest()[:20]}@kubernetescrd"
        for rule in made["spec"]["routes"]
        if _only(rule["services"], deployed)
    )


def _gateway_services(deployed: Deployed) -> frozenset[str]:
    # until 3.1 without the protocol
    patterns = ("{namespace}-{service}-http-{port}", "{namespace}-{service}-{port}")
    return frozenset(
        f"{_normal(service_name(pattern, deployed))}@kubernetesgateway" for pattern in patterns
    )


def _gateway_pins(deployed: Deployed) -> frozenset[str]:
    """Rules of pins, by route and number; Traefik adds the entry point and a digest."""
    found = _emitted(deployed)
    if found is None:
        return frozenset()
    route, table = found
    made = http_routes(deployed.stored.plan, route, table)
    return frozenset(
        f"{_normal(f'httproute-{name}-gw-{route.gateway_namespace}-{route.gateway}')}#{number}"
        for name, number, rule in _rules(made)
        if _only(rule.get("backendRefs", ()), deployed)
    )


def _rules(routes: list[Any]) -> Iterator[tuple[str, int, Any]]:
    for made in routes:
        if made["kind"] == "HTTPRoute":
            name = f"{made['metadata']['namespace']}-{made['metadata']['name']}"
            for number, rule in enumerate(made["spec"]["rules"]):
                yield name, number, rule


def _gateway_router(labels: Mapping[str, str]) -> str:
    found = _ROUTER.fullmatch(labels.get("router", ""))
    return f"{found[1]}#{found[2]}" if found else ""


def _only(services: Any, deployed: Deployed) -> bool:
    return len(services) == 1 and services[0]["name"] == deployed.version.name


def _emitted(deployed: Deployed) -> tuple[Route, RouteTable] | None:
    plan = deployed.stored.plan
    ledger = deployed.stored.ledger or recovered(deployed.stored)
    table = route_table(plan, ledger)
    return (plan.route, table) if plan.route is not None and table is not None else None


def _normal(name: str) -> str:
    """As Traefik does: what is no letter or digit becomes one hyphen, but for the provider."""
    name, at, provider = name.partition("@")
    return "-".join(filter(None, re.split(r"[^A-Za-z0-9]+", name))) + at + provider


def _gateway_asked(deployed: Deployed) -> frozenset[str]:
    return frozenset(f"{literal(name.partition('#')[0])}-ep-.+" for name in _gateway_pins(deployed))


_OURS = ".+-(handler|module)-.+"
TRAEFIK_CRD = Profile(
    "Traefik",
    Counts(
        metric="traefik_service_requests_total",
        label="service",
        names=_crd_services,
        read=label("service"),
        code="code",
        ours=f"{_OURS}@kubernetescrd",
    ),
    _ACTIVE,
    Counts(
        metric="traefik_router_requests_total",
        label="router",
        names=_crd_pins,
        read=label("router"),
        code="code",
        ours=f"{_OURS}@kubernetescrd",
    ),
    _HINT,
)
TRAEFIK_GATEWAY = Profile(
    "Traefik by Gateway API",
    Counts(
        metric="traefik_service_requests_total",
        label="service",
        names=_gateway_services,
        read=label("service"),
        code="code",
        ours=f"{_OURS}@kubernetesgateway",
    ),
    _ACTIVE,
    Counts(
        metric="traefik_router_requests_total",
        label="router",
        names=_gateway_pins,
        read=_gateway_router,
        code="code",
        ours=f"httproute-{_OURS}@kubernetesgateway",
        asked=_gateway_asked,
    ),
    _HINT,
)
