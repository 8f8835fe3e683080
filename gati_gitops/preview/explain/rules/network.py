"""NetworkPolicies. Rules stand in a fixed order, so their number tells where each comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gati_gitops.ledger.model import DEPLOYED
from gati_gitops.plan.calls import rules as outbound_rules
from gati_gitops.plan.model import PlannedVersion
from gati_gitops.plan.naming import UNIT_LABEL, UnitId
from gati_gitops.plan.reach import Outbound
from gati_gitops.preview.explain.rule import Choose, Sources, chosen, rule
from gati_gitops.preview.explain.rules.head import API_DEFAULT, KIND, LABELS
from gati_gitops.preview.explain.scope import Scope

_DNS_DEFAULT = "names are looked up in kube-system on port 53"
_GATEWAYS_DEFAULT = "requests come from where the routing provider has its gateway"


def _deployed(scope: Scope) -> Iterator[PlannedVersion]:
    if scope.plan is None or scope.ledger is None:
        return
    for entry in scope.ledger.entries:
        version = scope.plan.version(*entry.key)
        if entry.phase in DEPLOYED and version is not None:
            yield version


def _called(scope: Scope) -> list[tuple[str, str]]:
    """Modules, by namespace and as their pods are labelled, in the order of their rules."""
    return sorted({(c.namespace, c.unit.object_name) for v in _deployed(scope) for c in v.calls})


def _reference(scope: Scope, namespace: str, name: str) -> Sources:
    """The entry of ``modules`` by which a version calls a module."""
    for version in scope.linked.versions if scope.linked else ():
        for number, entry in enumerate(version.workload.modules if version.workload else ()):
            where, slash, called = entry.rpartition("/")
            home = where if slash else scope.unit.namespace if scope.unit else ""
            if (home, UnitId(home, "module", called).object_name) == (namespace, name):
                return (f"@{version.id}|.modules[{number}]",)
    return ()


# -- out -----------------------------------------------------------------------------------------


def _egress(part: str) -> Choose:
    """DNS first, then the modules that are called, then what the project and the unit allow."""

    def choose(scope: Scope, value: Any) -> Sources:
        number = scope.bound["indexes"][0]
        if number == 0:
            return () if part == "protocol" else (f"network:dns.{part}",)
        called = _called(scope)
        if number <= len(called):
            if part == "protocol":
                return ()
            if part == "port":
                return (f"module/{called[number - 1][1]}:spec.port",)
            return _reference(scope, *called[number - 1])
        fence = scope.plan.fence.egress if scope.plan and scope.plan.fence else ()
        own = [rule_ for version in _deployed(scope) for rule_ in version.egress]
        rules_ = list(dict.fromkeys((*fence, *own)))
        number -= 1 + len(called)
        if number >= len(rules_):
            return ()
        found = rules_[number]
        if found in fence:
            return (f"network:egress[{fence.index(found)}].{_word(found, part)}",)
        return _own(scope, found, part)

    return choose


def _word(rule_: Outbound, part: str) -> str:
    """The word of a rule in a spec that a part of a policy is made from."""
    if rule_.to and part in ("cidr", "namespace"):
        return "to"
    return {"port": "ports"}.get(part, part)


def _own(scope: Scope, wanted: Outbound, part: str) -> Sources:
    """A rule of the spec, else what the module's capabilities come to."""
    for version in scope.linked.versions if scope.linked else ():
        declared = version.workload.egress if version.workload else []
        for number, rule_ in enumerate(declared):
            if outbound_rules([rule_]) == (wanted,):
                return (f"@{version.id}|.egress[{number}].{_word(wanted, part)}",)
    return () if part == "protocol" else ("unit:spec.capabilities",)


# -- in ------------------------------------------------------------------------------------------


def _caller(scope: Scope) -> str:
    """What an ingress rule of the unit's own policy is for: gateway, anybody or metrics."""
    plan, number = scope.plan, scope.bound["indexes"][0]
    kinds = []
    if plan is not None and plan.fence is not None:
        if plan.route is not None and plan.fence.gateways:
            kinds.append("gateway")
        if any(version.open for version in _deployed(scope)):
            kinds.append("open")
        if plan.fence.monitoring:
            kinds.append("metrics")
    return kinds[number] if number < len(kinds) else "gateway"


def _from(scope: Scope, value: Any) -> Sources:
    if _is_grant(scope):
        return ("unit:metadata.namespace",)
    kind = _caller(scope)
    if kind == "metrics":
        return ("network:monitoringNamespace", "project:spec.monitoring.namespace")
    if kind == "open":
        return ("unit:spec.capabilities",)
    return ("network:gatewayNamespaces", "routing:istio.gateways", "routing:gateway.namespace")


def _in_port(scope: Scope, value: Any) -> Sources:
    if _is_grant(scope):
        return (f"module/{_protected(scope)}:spec.port",)
    scraped = scope.plan.scraped if scope.plan else None
    if _caller(scope) == "metrics" and scraped and not scraped.port_name:
        return ("unit:spec.metrics.port",)
    return _ports(scope, value)


def _ports(scope: Scope, value: Any) -> Sources:
    """The version that has a port; several may share one."""
    ids = [version.id for version in _deployed(scope) if version.port == value]
    return tuple(f"@{id_}|.port" for id_ in ids)


def _is_grant(scope: Scope) -> bool:
    """Whether it lets the unit in at a module, and does not stand around the unit's own pods."""
    made = scope.bound.get("object") or {}
    return bool(made.get("spec", {}).get("policyTypes") == ["Ingress"])


def _protected(scope: Scope) -> str:
    """The unit whose pods a policy stands around."""
    made = scope.bound.get("object") or {}
    labels = made.get("spec", {}).get("podSelector", {}).get("matchLabels", {})
    return str(labels.get(UNIT_LABEL, ""))


def _of_protected(field: str) -> Choose:
    def choose(scope: Scope, value: Any) -> Sources:
        whose = f"module/{_protected(scope)}" if _is_grant(scope) else "unit"
        return (f"{whose}:metadata.{field}",)

    return choose


_LABEL = '["kubernetes.io/metadata.name"]'
_UNIT = '["gati.dev/unit"]'
_POLICY = (
    *KIND,
    rule("metadata.name", "the unit's name; at a module, that of its caller with it",
         "unit:metadata.name"),
    chosen(
        "metadata.namespace", "where the pods are that it protects", _of_protected("namespace"),
        "a document without a namespace is in default",
    ),
    *LABELS,
    chosen(
        f"spec.podSelector.matchLabels{_UNIT}", "the pods that it protects", _of_protected("name")
    ),
    rule("spec.policyTypes[]", "what is not declared is closed"),
    chosen(
        "spec.egress[].ports[].port", "what the unit may call, and on which port",
        _egress("port"), _DNS_DEFAULT,
    ),
    chosen(
        "spec.egress[].ports[].protocol", "what the unit may call: TCP unless its rule says UDP",
        _egress("protocol"), API_DEFAULT,
    ),
    chosen(
        "spec.egress[].to[].ipBlock.cidr", "a network that the unit may call", _egress("cidr")
    ),
    rule(
        "spec.egress[].to[].ipBlock.except[]",
        "addresses that mean something else in every network, the cloud's own among them",
        also=_egress("cidr"),
    ),
    chosen("spec.egress[].to[].namespaceSelector", "pods of the cluster", _egress("namespace")),
    chosen(
        f"spec.egress[].to[].namespaceSelector.matchLabels{_LABEL}",
        "a namespace whose pods the unit may call", _egress("namespace"), _DNS_DEFAULT,
    ),
    chosen(
        f"spec.egress[].to[].podSelector.matchLabels{_UNIT}", "the unit that may be called",
        _egress("unit"),
    ),
    chosen("spec.ingress[].from[].namespaceSelector", "every pod of the cluster may call", _from),
    chosen(
        f"spec.ingress[].from[].namespaceSelector.matchLabels{_LABEL}",
        "a namespace whose pods may call: gateways, and who reads metrics",
        _from, _GATEWAYS_DEFAULT, also=("routing:provider",),
    ),
    rule(
        f"spec.ingress[].from[].podSelector.matchLabels{_UNIT}", "the unit that may call",
        "unit:metadata.name",
    ),
    chosen("spec.ingress[].ports[].port", "the port that may be called", _in_port),
    rule("spec.ingress[].ports[].protocol", API_DEFAULT),
)  # fmt: skip

RULES = {"NetworkPolicy": _POLICY}
