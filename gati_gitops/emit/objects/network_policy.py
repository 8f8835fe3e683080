"""NetworkPolicies of a unit: what its spec declares may pass, and nothing else.

One stands around the unit's own pods. For each module that it calls another stands at the module's
pods and lets this unit in. So the way to a module opens and closes with the caller's own folder,
and nobody has to write the module again when its callers change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.plan.model import PlannedVersion, UnitPlan
from gati_gitops.plan.naming import UNIT_LABEL, hashed, unit_labels
from gati_gitops.plan.reach import Fence, Outbound
from gati_gitops.yamlio.emit import Shared

API = "networking.k8s.io/v1"
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
# Addresses that mean something else in every network, the cloud's metadata service among them.
LINK_LOCAL = ("169.254.0.0/16",)
PRIVATE = ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")


def network_policies(plan: UnitPlan, versions: Sequence[PlannedVersion]) -> list[Object]:
    """The unit's own policy, and one per module that it calls; none where none are wanted."""
    if plan.fence is None or not versions:
        return []
    return [_around(plan, plan.fence, versions), *_grants(plan, versions)]


def _around(plan: UnitPlan, fence: Fence, versions: Sequence[PlannedVersion]) -> Object:
    unit = plan.unit
    spec: Object = {"podSelector": _pods(unit.object_name), "policyTypes": ["Ingress", "Egress"]}
    ingress = _ingress(plan, fence, versions)
    if ingress:  # an empty list would not survive the API server
        spec["ingress"] = ingress
    rules = [dns_rule(fence.dns_namespace, fence.dns_port, fence.dns_cidr)]
    for (namespace, name), ports in _called(versions).items():
        peer = {"namespaceSelector": _namespace(namespace), "podSelector": _pods(name)}
        rules.append(Shared({"to": [peer], "ports": [_port(port) for port in ports]}))
    own = (rule for version in versions for rule in version.egress)
    rules += [outbound_rule(rule) for rule in dict.fromkeys((*fence.egress, *own))]
    spec["egress"] = rules
    found = named(API, "NetworkPolicy", unit.object_name, unit.namespace, _labels(plan))
    found["spec"] = spec
    return found


def _ingress(plan: UnitPlan, fence: Fence, versions: Sequence[PlannedVersion]) -> list[Object]:
    ports = tuple(sorted({version.port for version in versions}))
    rules: list[Object] = []
    if plan.route is not None and fence.gateways:
        rules.append(from_rule(fence.gateways, ports))
    if any(version.open for version in versions):
        rules.append({"from": [{"namespaceSelector": {}}], "ports": [_port(p) for p in ports]})
    if fence.monitoring:
        # without a port of their own metrics are read on that of each version
        scraped = (plan.scraped.port,) if plan.scraped and not plan.scraped.port_name else ports
        rules.append(from_rule((fence.monitoring,), scraped))
    return rules


def _grants(plan: UnitPlan, versions: Sequence[PlannedVersion]) -> Iterable[Object]:
    unit = plan.unit
    caller = {
        "namespaceSelector": _namespace(unit.namespace),
        "podSelector": _pods(unit.object_name),
    }
    for (namespace, module), ports in _called(versions).items():
        name = hashed(f"{module}-from-{unit.name}", f"{namespace}/{module} {unit}")
        found = named(API, "NetworkPolicy", name, namespace, _labels(plan))
        found["spec"] = {
            "podSelector": _pods(module),
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [caller], "ports": [_port(port) for port in ports]}],
        }
        yield found


def _called(versions: Sequence[PlannedVersion]) -> dict[tuple[str, str], list[int]]:
    """Modules by namespace and label, with their ports."""
    found: dict[tuple[str, str], set[int]] = {}
    for version in versions:
        for call in version.calls:
            found.setdefault((call.namespace, call.unit.object_name), set()).add(call.port)
    return {key: sorted(ports) for key, ports in sorted(found.items())}


def _labels(plan: UnitPlan) -> Shared:
    return unit_labels(plan.unit, plan.project, plan.labels)


# -- parts that many policies have ---------------------------------------------------------------


@lru_cache(maxsize=4096)
def _pods(unit: str) -> Shared:
    return Shared({"matchLabels": {UNIT_LABEL: unit}})


@lru_cache(maxsize=4096)
def _namespace(name: str) -> Shared:
    return Shared({"matchLabels": {NAMESPACE_LABEL: name}})


@lru_cache(maxsize=1024)
def _port(port: int, protocol: str = "TCP") -> Shared:
    return Shared({"port": port, "protocol": protocol})


@lru_cache(maxsize=1024)
def from_rule(namespaces: tuple[str, ...], ports: tuple[int, ...]) -> Shared:
    peers = [{"namespaceSelector": _namespace(name)} for name in namespaces]
    return Shared({"from": peers, "ports": [_port(port) for port in ports]})


@lru_cache(maxsize=64)
def dns_rule(namespace: str, port: int, cidr: str) -> Shared:
    to: list[Object] = [{"namespaceSelector": _namespace(namespace)}]
    if cidr:
        to.append({"ipBlock": {"cidr": cidr}})
    return Shared({"to": to, "ports": [_port(port, "UDP"), _port(port)]})


@lru_cache(maxsize=1024)
def outbound_rule(rule: Outbound) -> Shared:
    to: list[Object]
    if rule.cidr:
        to = [{"ipBlock": {"cidr": rule.cidr}}]
    elif rule.namespace:
        to = [{"namespaceSelector": _namespace(rule.namespace)}]
        if rule.unit:
            to[0]["podSelector"] = _pods(rule.unit)
    elif rule.to == "internet":
        to = _everything(PRIVATE, ("fc00::/7", "fe80::/10"))
    else:  # addresses alone would not do: some networks never match pods by address
        to = [{"namespaceSelector": {}}, *_everything(LINK_LOCAL, ("fe80::/10",))]
    found: Object = {"to": to}
    if rule.ports:
        found["ports"] = [_port(port, rule.protocol) for port in rule.ports]
    return Shared(found)


def _everything(but: Sequence[str], but_six: Sequence[str]) -> list[Object]:
    return [
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": list(but)}},
        {"ipBlock": {"cidr": "::/0", "except": list(but_six)}},
    ]
