"""Whom pods may talk to: what units declare, and the settings that gati.yaml has for it."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from gati_gitops.spec.common import DnsLabel, Model, Port

_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
CIDR = (
    rf"^(({_OCTET}\.){{3}}{_OCTET}/(3[0-2]|[12]?[0-9])"
    r"|[0-9a-f:]*:[0-9a-f:]*/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$"
)
MODULE_REF = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


def _network(value: str) -> str:
    try:
        found = ip_network(value, strict=False)
    except ValueError:
        raise ValueError(f"{value} is no network; write one such as 10.20.0.0/16") from None
    if str(found) != value:
        raise ValueError(f"{value} names a host, not a network; write {found}")
    return value


Cidr = Annotated[str, StringConstraints(pattern=CIDR, max_length=43), AfterValidator(_network)]
ModuleRef = Annotated[str, StringConstraints(pattern=MODULE_REF, max_length=127)]


class Egress(Model):
    """Something that pods call; exactly one of cidr, namespace and to."""

    cidr: Cidr | None = Field(None, description="a network, such as 10.20.0.0/16")
    namespace: DnsLabel | None = Field(None, description="pods of a namespace of the same cluster")
    unit: DnsLabel | None = Field(None, description="only one unit's, such as module-pool")
    to: Literal["internet", "anywhere"] | None = Field(
        None, description="internet: public addresses; anywhere: all, the cluster's own included"
    )
    ports: list[Port] = Field(
        default_factory=list, max_length=32, description="of the pods; default: every port"
    )
    protocol: Literal["TCP", "UDP"] = "TCP"

    @model_validator(mode="after")
    def _one_peer(self) -> Self:
        if [self.cidr, self.namespace, self.to].count(None) != 2:
            raise ValueError("name exactly one of cidr, namespace and to; keep one")
        if self.unit is not None and self.namespace is None:
            raise ValueError("a unit needs the namespace that it is in; add namespace")
        return self


class Dns(Model):
    """Where names are looked up."""

    namespace: DnsLabel = "kube-system"
    port: Port = 53
    cidr: Cidr | None = Field(None, description="of a cache on the node, such as 169.254.20.10/32")


class Network(Model):
    """NetworkPolicies: one for the pods of each unit."""

    policies: bool = Field(True, description="false: none is written")
    gateway_namespaces: list[DnsLabel] = Field(
        default_factory=list, max_length=16, description="default: where routing has its gateway"
    )
    monitoring_namespace: DnsLabel | None = Field(
        None, description="who reads metrics; default: monitoring.namespace"
    )
    dns: Dns = Field(default_factory=Dns)
    egress: list[Egress] = Field(
        default_factory=list, max_length=32, description="what every unit may call"
    )
