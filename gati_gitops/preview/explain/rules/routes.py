"""Routes of all providers: hosts, paths, weights, pins and tombstones."""

from __future__ import annotations

from typing import Any

from gati_gitops.preview.explain.rule import Rule, Sources, chosen, rule
from gati_gitops.preview.explain.rules.head import API_DEFAULT, LABELS, NAMESPACE, UNIT, UNIT_NAME
from gati_gitops.preview.explain.scope import Scope

_PATH = "the path that the handler answers on"
_WHY_WEIGHT = "the version's share of the traffic"
_BACKEND = "the Service of the version"
_PIN = "clients choose a version by this header or query parameter"
_GONE = "a version that is gone answers with an error, never with another version"


def weight(scope: Scope, value: Any) -> Sources:
    """Under manual the spec's weight, once the ledger has taken it over; else the ledger's."""
    entry, planned = scope.entry, scope.planned
    if entry is None or planned is None or scope.ledger is None:
        return ("weight",)
    manual = scope.strategy == "manual"
    if manual and not scope.ledger.hold and entry.weight == planned.weight:
        return ("weight", "ledger:weight")
    return ("ledger:weight",)


def _pinned(scope: Scope, value: Any) -> Sources:
    """The id of a version: in the specs, or only in the ledger any more."""
    return ("id", "ledger:id")


def _beside(scope: Scope, value: Any) -> Sources:
    """Paths of other units that are more specific, where the provider would not let them win."""
    route = scope.plan.route if scope.plan else None
    return tuple(f"beside:{number}" for number in range(len(route.beside) if route else 0))


_WEIGHT_DEFAULT = "the version without a weight gets what the others leave"

_BY_PROVIDER = (
    rule(
        "apiVersion", "the routing provider of the cluster", "routing:provider",
        default="routes are those of Gateway API",
    ),
    rule(
        "kind", "the routing provider of the cluster", "routing:provider",
        default="routes are those of Gateway API",
    ),
)  # fmt: skip

_AWAY = (
    *_BY_PROVIDER,
    rule(
        "metadata.name", UNIT_NAME + "; with a hash where units of several namespaces meet",
        "unit:metadata.name",
    ),
    rule(
        "metadata.namespace", "where routes live: beside their Services, unless gati.yaml says",
        "routing:routeNamespace", "unit:metadata.namespace",
        default="a document without a namespace is in default",
    ),
    *LABELS,
    rule('metadata.annotations["gati.dev/gone"]', _GONE, "ledger:phase"),
)  # fmt: skip
_HOME = (*_BY_PROVIDER, *_AWAY[2:3], NAMESPACE, *LABELS, _AWAY[-1])


def _hosts(where: str) -> Rule:
    return rule(
        where, "the host names of the unit, else those of the cluster",
        "unit:spec.hosts[$0]", "routing:hosts[$0]",
        default="without hosts every name is answered",
    )  # fmt: skip


# -- Gateway API ---------------------------------------------------------------------------------

_RULE = "spec.rules[name=$pin]"
_MATCH = f"{_RULE}.matches[]"
_REFS = f"{_RULE}.backendRefs[name=$version]"
_HTTP_ROUTE = (
    *_AWAY,
    rule("spec.parentRefs[].group", API_DEFAULT),
    rule("spec.parentRefs[].kind", API_DEFAULT),
    rule(
        "spec.parentRefs[].name", "the Gateway that routes attach to",
        "routing:gateway.name", default="the Gateway is called gati",
    ),
    rule(
        "spec.parentRefs[].namespace", "where the Gateway is",
        "routing:gateway.namespace", default="the Gateway is in gati-system",
    ),
    rule("spec.parentRefs[].sectionName", "one listener of the Gateway", "routing:gateway.section"),
    _hosts("spec.hostnames[]"),
    rule("spec.rules[name=split].name", "the rule for requests that name no version"),
    chosen(f"{_RULE}.name", "the rule for requests that name this version", _pinned),
    rule(f"{_MATCH}.path.$k", _PATH, "unit:spec.handlerPath", also=_beside),
    chosen(f"{_MATCH}.headers[].value", _PIN, _pinned),
    chosen(f"{_MATCH}.queryParams[].value", _PIN, _pinned),
    rule(f"{_MATCH}.headers[].$k", _PIN),
    rule(f"{_MATCH}.queryParams[].$k", _PIN),
    rule(f"{_REFS}.name", _BACKEND, "unit:metadata.name", also=("id",)),
    rule(
        f"{_REFS}.namespace", "the Service is where the unit is", "unit:metadata.namespace",
        also=("routing:routeNamespace",),
    ),
    rule(f"{_REFS}.port", "the port of the version", ".port"),
    chosen(
        "spec.rules[name=split].backendRefs[name=$version].weight", _WHY_WEIGHT, weight,
        _WEIGHT_DEFAULT,
    ),
    rule(f"{_REFS}.weight", "a pin has one backend, which gets all of it"),
    rule(f"{_REFS}.$k", API_DEFAULT),
)  # fmt: skip

_GRANT = (
    rule("apiVersion", "every bundle of Gateway API serves it"),
    rule("kind", "lets routes of another namespace name the Services", "routing:routeNamespace"),
    *UNIT[2:],
    rule("spec.from[].namespace", "where routes live", "routing:routeNamespace"),
    rule("spec.from[].**", "HTTPRoutes, and nothing else"),
    rule("spec.to[name=$version].name", _BACKEND, "unit:metadata.name", also=("id",)),
    rule("spec.to[].**", "Services, and nothing else"),
)

# -- Istio ---------------------------------------------------------------------------------------

_HTTP = "spec.http[name=$pin]"
_TO = "route[destination.host=$address]"
_VIRTUAL = (
    *_AWAY,
    _hosts("spec.hosts[]"),
    rule(
        "spec.gateways[]", "the Gateways that the route is bound to",
        "routing:istio.gateways[$0]", "routing:gateway.name", "routing:gateway.namespace",
        default="the Gateway gati in gati-system", also=("routing:gateway.namespace",),
    ),
    rule("spec.http[name=split].name", "the rule for requests that name no version"),
    chosen(f"{_HTTP}.name", "the rule for requests that name this version", _pinned),
    rule(f"{_HTTP}.match[].uri.$k", _PATH, "unit:spec.handlerPath", also=_beside),
    chosen(f"{_HTTP}.match[].headers.$k.exact", _PIN, _pinned),
    chosen(f"{_HTTP}.match[].queryParams.$k.exact", _PIN, _pinned),
    rule(f"{_HTTP}.directResponse.status", _GONE, "ledger:phase"),
    rule(f"{_HTTP}.directResponse.**", _GONE, "ledger:id"),
    rule(
        f"{_HTTP}.{_TO}.destination.host", _BACKEND, "unit:metadata.name",
        also=("id", "unit:metadata.namespace"),
    ),
    rule(f"{_HTTP}.{_TO}.destination.port.number", "the port of the version", ".port"),
    chosen(f"spec.http[name=split].{_TO}.weight", _WHY_WEIGHT, weight, _WEIGHT_DEFAULT),
    rule(f"{_HTTP}.{_TO}.weight", "a pin has one destination, which gets all of it"),
)  # fmt: skip

# -- Traefik -------------------------------------------------------------------------------------

_ROUTES = "spec.routes[services.0.name=$version]"
_INGRESS_ROUTE = (
    *_HOME,
    rule("spec.entryPoints[]", "where Traefik listens", "routing:traefik.entryPoints[$0]"),
    rule("spec.tls.secretName", "the certificate", "routing:traefik.tlsSecret"),
    rule(
        f"{_ROUTES}.match", "host, path and pin of a rule, in Traefik's words",
        "unit:spec.handlerPath", also=("unit:spec.hosts", "routing:hosts", "id"),
    ),
    rule(
        f"{_ROUTES}.priority", "exact hosts before others, longer paths before shorter, pins first",
        "unit:spec.handlerPath", also=("unit:spec.hosts", "routing:hosts"),
    ),
    rule(f"{_ROUTES}.kind", "Traefik knows no other kind of rule"),
    rule(f"{_ROUTES}.services[name=noop@internal].$k", _GONE, "ledger:phase"),
    rule(
        f"{_ROUTES}.services[name=$version].name",
        "the Service of a pinned version, or the split of the unit", "unit:metadata.name",
        also=("id",),
    ),
    rule(f"{_ROUTES}.services[name=$version].port", "the port of the version", ".port"),
    rule(f"{_ROUTES}.services[].kind", "a Service, or the TraefikService with the split"),
)  # fmt: skip

_WEIGHTED = "spec.weighted.services[name=$version]"
_TRAEFIK_SERVICE = (
    *_HOME,
    rule(f"{_WEIGHTED}.name", _BACKEND, "unit:metadata.name", also=("id",)),
    rule(f"{_WEIGHTED}.port", "the port of the version", ".port"),
    chosen(f"{_WEIGHTED}.weight", _WHY_WEIGHT, weight, _WEIGHT_DEFAULT),
    rule(f"{_WEIGHTED}.kind", "versions have Services"),
)

# -- ingress-nginx -------------------------------------------------------------------------------

_NGINX = 'metadata.annotations["nginx.ingress.kubernetes.io/'
_PATHS = "spec.rules[].http.paths[backend.service.name=$version]"
_INGRESS = (
    *_HOME,
    chosen(f'{_NGINX}canary-weight"]', _WHY_WEIGHT, weight, _WEIGHT_DEFAULT),
    chosen(f'{_NGINX}canary-by-header-value"]', _PIN, _pinned),
    rule(f'{_NGINX}canary-by-header"]', _PIN),
    rule(f'{_NGINX}canary-weight-total"]', "weights are percentages"),
    rule(f'{_NGINX}canary"]', "a second version stands beside the Active one", "ledger:phase"),
    rule(
        "spec.ingressClassName", "who serves the Ingress",
        "routing:ingressNginx.ingressClass", default="the class is called nginx",
    ),
    rule("spec.tls[].secretName", "the certificate", "routing:ingressNginx.tlsSecret"),
    rule(
        "spec.tls[].hosts[]", "the host names of the unit, else those of the cluster",
        "unit:spec.hosts[$1]", "routing:hosts[$1]",
    ),
    _hosts("spec.rules[].host"),
    rule(f"{_PATHS}.path", _PATH, "unit:spec.handlerPath"),
    rule(f"{_PATHS}.pathType", "the path itself and what lies below it"),
    rule(f"{_PATHS}.backend.service.name", _BACKEND, "unit:metadata.name", also=("id",)),
    rule(f"{_PATHS}.backend.service.port.number", "the port of the version", ".port"),
)  # fmt: skip

RULES = {
    "HTTPRoute": _HTTP_ROUTE,
    "ReferenceGrant": _GRANT,
    "VirtualService": _VIRTUAL,
    "IngressRoute": _INGRESS_ROUTE,
    "TraefikService": _TRAEFIK_SERVICE,
    "Ingress": _INGRESS,
}
