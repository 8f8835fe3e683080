"""Istio, whether it is told by VirtualServices or by Gateway API.

Who sends a request counts it, the gateway above all: ``reporter="source"``. Open requests are a
series of the proxy itself, which Istio leaves out unless ``proxyStatsMatcher`` names it.
"""

from __future__ import annotations

from collections.abc import Mapping

from gati_gitops.observe.profiles_model import Counts, Profile, label, named, service_name
from gati_gitops.observe.prometheus_query import literal
from gati_gitops.observe.wanted import Deployed


def _service(labels: Mapping[str, str]) -> str:
    namespace = labels.get("destination_service_namespace", "")
    return f"{namespace}/{labels.get('destination_service_name', '')}"


def _asked(deployed: Deployed) -> frozenset[str]:
    return frozenset((literal(service_name("{service}", deployed)),))


ISTIO = Profile(
    "Istio",
    Counts(
        metric="istio_requests_total",
        label="destination_service_name",
        names=named("{namespace}/{service}"),
        read=_service,
        code="response_code",
        ours="(handler|module)-.+",
        where=(("reporter", "source"),),
        asked=_asked,
    ),
    Counts(
        metric="envoy_cluster_upstream_rq_active",
        label="cluster_name",
        names=named("outbound|{port}||{service}.{namespace}.svc.cluster.local"),
        read=label("cluster_name"),
        ours=r"outbound\|[0-9]+\|\|(handler|module)-.+",
    ),
)
