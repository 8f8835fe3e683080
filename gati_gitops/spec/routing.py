"""How traffic reaches the units of a cluster: the routing part of gati.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from pydantic.alias_generators import to_camel

from gati_gitops.spec.common import DnsLabel, DnsSubdomain, Hostname, Model

Provider = Literal["gateway-api", "istio", "traefik", "ingress-nginx"]
# "mesh" is no Gateway: several units of one host would not be merged there.
GatewayName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][-a-z0-9]*/[a-z0-9][-a-z0-9.]*$", max_length=317)
]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][-A-Za-z0-9_]*$", max_length=63)]
_FOR = {
    "gateway": ["gateway-api", "istio"],
    "route_namespace": ["gateway-api", "istio"],
    "istio": ["istio"],
    "traefik": ["traefik"],
    "ingress_nginx": ["ingress-nginx"],
}


class Gateway(Model):
    """The Gateway that routes attach to."""

    name: DnsSubdomain = "gati"
    namespace: DnsLabel = "gati-system"
    section: DnsSubdomain | None = Field(None, description="one listener of the Gateway")


class Istio(Model):
    """What VirtualServices are bound to."""

    gateways: list[GatewayName] = Field(
        default_factory=list, max_length=16, description="default: routing.gateway"
    )


class Traefik(Model):
    """What IngressRoutes say beside their rules."""

    entry_points: list[Name] = Field(
        default_factory=list, max_length=16, description="default: those Traefik itself calls so"
    )
    tls_secret: DnsSubdomain | None = Field(None, description="in the namespace of the unit")


class IngressNginx(Model):
    """What Ingresses say beside their rules."""

    ingress_class: DnsSubdomain = "nginx"
    tls_secret: DnsSubdomain | None = Field(None, description="in the namespace of the unit")


class Routing(Model):
    """How traffic reaches the units of a cluster."""

    provider: Provider = "gateway-api"
    gateway: Gateway = Field(default_factory=Gateway)
    hosts: list[Hostname] = Field(
        default_factory=list, max_length=16, description="for units that name none themselves"
    )
    route_namespace: DnsLabel | None = Field(
        None, description="where routes live; default: beside their Services"
    )
    istio: Istio | None = None
    traefik: Traefik | None = None
    ingress_nginx: IngressNginx | None = None


def misfit(said: Routing, provider: str) -> str:
    """Why settings don't go with a provider; empty when they do."""
    given = said.model_fields_set
    for field, providers in _FOR.items():
        if field in given and provider not in providers:
            whose = " or ".join(providers)
            return f"routing.{to_camel(field)} is for {whose}, and the provider is {provider}"
    if said.istio and said.istio.gateways and "gateway" in given:
        return "routing.gateway and routing.istio.gateways name the same thing"
    return ""
