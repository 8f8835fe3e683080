"""Evidence profiles: which series of a gateway tell what one version got, and by which name.

A gateway counts by its own names. A profile gives, for a version, the names that its Service has
there, and reads from a series whose it is. Where a gateway does not count by backend its profile
says so, and what hangs on it waits for a person.
"""

from __future__ import annotations

from gati_gitops.decide.observation import Gap, Missing
from gati_gitops.observe.profiles_istio import ISTIO
from gati_gitops.observe.profiles_model import Counts, Profile, label, named
from gati_gitops.observe.profiles_nginx import INGRESS_NGINX
from gati_gitops.observe.profiles_traefik import TRAEFIK_CRD, TRAEFIK_GATEWAY
from gati_gitops.observe.prometheus_query import literal
from gati_gitops.observe.wanted import Deployed
from gati_gitops.spec.metrics import Edge, Evidence


def profile_of(deployed: Deployed, evidence: Evidence) -> Profile | Missing:
    """The profile of the gateway that a version is behind, or why there is none."""
    route = deployed.stored.plan.route
    if route is None:
        return Missing(Gap.UNSUPPORTED, "it has no route, so that no gateway counts its requests")
    if evidence.edge is not None:
        return _configured(evidence.edge)
    gateway = route.provider if route.provider != "gateway-api" else evidence.gateway
    match gateway:
        case "traefik":
            return TRAEFIK_CRD if route.provider == "traefik" else TRAEFIK_GATEWAY
        case "istio":
            return ISTIO
        case "ingress-nginx":
            return INGRESS_NGINX
        case None | "none":
            return Missing(
                Gap.UNSUPPORTED,
                "which gateway implements Gateway API is not known, so that nobody counts requests"
                " by version; name it in metrics.evidence.gateway",
            )
        case _:
            return Missing(
                Gap.UNSUPPORTED,
                f"{gateway} does not count requests by backend, so that a person has to judge;"
                " if yours does, name its counters in metrics.evidence.edge",
            )


def _configured(edge: Edge) -> Profile:
    names, read = named(edge.backend), label(edge.label)
    wide = {"namespace": ".+", "service": "(handler|module)-.+", "port": "[0-9]+"}
    ours = literal(edge.backend)
    for part, expression in wide.items():
        ours = ours.replace(f"\\{{{part}\\}}", expression)
    active: Counts | Missing = Missing(
        Gap.UNSUPPORTED, "metrics.evidence.edge names no gauge of open requests"
    )
    if edge.active is not None:
        active = Counts(edge.active, edge.label, names, read, ours=ours)
    counts = Counts(edge.requests, edge.label, names, read, edge.code, ours)
    return Profile(f"{edge.requests} by {edge.label}", counts, active)
