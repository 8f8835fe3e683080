"""Whom the pods of a unit may talk to, with every default decided; part of the stored plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gati_gitops.plan.naming import UnitId
from gati_gitops.yamlio.emit import Shared


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """A module that a version calls, and where it finds it."""

    namespace: str
    name: str
    port: int
    scheme: str

    @property
    def unit(self) -> UnitId:
        return UnitId(self.namespace, "module", self.name)

    @property
    def variables(self) -> dict[str, str]:
        """What the caller's containers know it by."""
        host = f"{self.unit.object_name}.{self.namespace}.svc"
        prefix = f"GATI_MODULE_{self.name.upper().replace('-', '_')}"
        return {
            f"{prefix}_HOST": host,
            f"{prefix}_PORT": str(self.port),
            f"{prefix}_URL": f"{self.scheme}://{host}:{self.port}",
        }


@dataclass(frozen=True, slots=True)
class Outbound:
    """Something that pods may call; as ``egress`` in the specs."""

    cidr: str = ""
    namespace: str = ""
    unit: str = ""
    to: str = ""
    ports: tuple[int, ...] = ()
    protocol: str = "TCP"


@dataclass(frozen=True, slots=True)
class Fence:
    """What holds for all pods of one cluster: who comes in from outside, and what all may call."""

    gateways: tuple[str, ...] = ()
    """Namespaces that requests to handlers come from."""
    monitoring: str = ""
    """Namespace that metrics are read from; empty: they are not."""
    dns_namespace: str = "kube-system"
    dns_port: int = 53
    dns_cidr: str = ""
    egress: tuple[Outbound, ...] = ()


def outbound(data: Mapping[str, Any]) -> Outbound:
    """From the words of a spec or of a stored plan."""
    return Outbound(**{**data, "ports": tuple(data.get("ports", ()))})


@lru_cache(maxsize=1024)
def outbound_data(rule: Outbound) -> Shared:
    data: dict[str, Any] = {"cidr": rule.cidr, "namespace": rule.namespace, "unit": rule.unit}
    data |= {"to": rule.to, "ports": list(rule.ports)}
    data["protocol"] = "" if rule.protocol == "TCP" else rule.protocol
    return Shared((name, value) for name, value in data.items() if value)


@lru_cache(maxsize=1024)
def call_data(call: Call) -> Shared:
    return Shared(
        namespace=call.namespace, name=call.name, port=call.port, scheme=call.scheme
    )  # fmt: skip


@lru_cache(maxsize=256)
def fence_data(fence: Fence) -> Shared:
    data: dict[str, Any] = {
        "gateways": list(fence.gateways),
        "monitoring": fence.monitoring,
        "dns": {"namespace": fence.dns_namespace, "port": fence.dns_port},
        "egress": [outbound_data(rule) for rule in fence.egress],
    }
    if fence.dns_cidr:
        data["dns"]["cidr"] = fence.dns_cidr
    return Shared((name, value) for name, value in data.items() if value)


def fence_from(data: Mapping[str, Any]) -> Fence:
    dns = data["dns"]
    return Fence(
        tuple(data.get("gateways", ())),
        data.get("monitoring", ""),
        dns["namespace"],
        dns["port"],
        dns.get("cidr", ""),
        tuple(outbound(rule) for rule in data.get("egress", ())),
    )
