"""What NetworkPolicies come to: may these pods talk?

As the API describes it: a pod that no policy of a direction selects is open in that direction, policies
add up, selectors in one item must both fit. Whether an ``ipBlock`` also means pods is left open there,
and networks differ, so the caller chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

NAME = "kubernetes.io/metadata.name"
Policy = Mapping[str, Any]


@dataclass(frozen=True)
class Peer:
    """A pod, or an address outside of the cluster when it has no namespace."""

    address: str
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Network:
    policies: tuple[Policy, ...]
    addresses_mean_pods: bool = False

    def may(self, source: Peer, target: Peer, port: int, protocol: str = "TCP") -> bool:
        """Whether ``source`` may open a connection to a port of ``target``."""
        return self._passes("Egress", source, target, port, protocol) and self._passes(
            "Ingress", target, source, port, protocol
        )

    def _passes(self, way: str, own: Peer, other: Peer, port: int, protocol: str) -> bool:
        if not own.namespace:
            return True
        chosen = [
            policy["spec"]
            for policy in self.policies
            if policy["metadata"]["namespace"] == own.namespace
            and way in policy["spec"]["policyTypes"]
            and _selects(policy["spec"]["podSelector"], own.labels)
        ]
        peers = "to" if way == "Egress" else "from"
        return not chosen or any(
            self._reaches(rule.get(peers), other, own.namespace)
            and _covers(rule.get("ports"), port, protocol)
            for spec in chosen
            for rule in spec.get(way.lower()) or ()
        )

    def _reaches(self, peers: Iterable[Any] | None, other: Peer, own_namespace: str) -> bool:
        return peers is None or any(self._is(peer, other, own_namespace) for peer in peers)

    def _is(self, peer: Mapping[str, Any], other: Peer, own_namespace: str) -> bool:
        assert peer, "an empty peer is invalid"
        if "ipBlock" in peer:
            assert len(peer) == 1, "an ipBlock stands alone"
            if other.namespace and not self.addresses_mean_pods:
                return False
            block = peer["ipBlock"]
            address = ip_address(other.address)
            return address in ip_network(block["cidr"]) and not any(
                address in ip_network(less) for less in block.get("except") or ()
            )
        if not other.namespace:
            return False
        if "namespaceSelector" in peer:
            fits = _selects(peer["namespaceSelector"], {NAME: other.namespace})
        else:
            fits = other.namespace == own_namespace
        return fits and _selects(peer.get("podSelector", {}), other.labels)


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    assert selector.keys() <= {"matchLabels"}, "the evaluator knows no other selectors"
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def _covers(ports: Iterable[Any] | None, port: int, protocol: str) -> bool:
    return not ports or any(p["port"] == port and p["protocol"] == protocol for p in ports)
