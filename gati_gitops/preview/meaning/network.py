"""Who may call whom, by NetworkPolicies and Services."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gati_gitops.preview.meaning.scene import UnitScene
from gati_gitops.preview.model import Action, Finding, Level, ObjectChange
from gati_gitops.preview.words import listed

Rule = Mapping[str, Any]
_ANYWHERE = ("0.0.0.0/0", "::/0")
_NAMESPACE = "kubernetes.io/metadata.name"
_UNIT = "gati.dev/unit"


def policies(unit: UnitScene) -> Iterator[Finding]:
    for version, change in unit.changes("NetworkPolicy"):
        if change.action is Action.DELETE:
            if unit.after is not None and _own(unit, change):
                yield unit.finding(
                    "network-policy-removed",
                    Level.DANGER,
                    f"NetworkPolicy {change.id.name} goes: what it kept out may call, and its pods"
                    " may call anything",
                    version=version,
                    change=change,
                )
            continue
        for side, field in (("ingress", "from"), ("egress", "to")):
            yield from _opened(unit, version, change, side, field)


def _own(unit: UnitScene, change: ObjectChange) -> bool:
    """Whether a policy is about the unit's pods, and not one that lets them into a module, whose
    own policy stays.
    """
    side = unit.before or unit.after
    return side is None or _about(change.before) == side.plan.unit.object_name


def _opened(
    unit: UnitScene, version: str, change: ObjectChange, side: str, field: str
) -> Iterator[Finding]:
    was, now = _rules(change.before, side), _rules(change.after, side)
    if was is None and now is None:
        return
    if now is None:
        yield unit.finding(
            "network-open",
            Level.DANGER,
            f"NetworkPolicy {change.id.name} no longer restricts {side}",
            version=version,
            change=change,
            field=f"spec.{side}",
        )
        return
    known = {_canonical(rule) for rule in was or ()}
    new = [rule for rule in now if _canonical(rule) not in known]
    if was is None and unit.before is not None and change.before is not None:
        return  # it restricts what it did not
    verb = "may be called from" if side == "ingress" else "may call"
    whose = _whose(unit, change)
    peers_before = {_peer(peer) for rule in was or () for peer in rule.get(field) or ()}
    for rule in new:
        peers = [_peer(peer) for peer in rule.get(field) or ()]
        wide = not peers or any(peer.startswith("anything") for peer in peers)
        if unit.before is None and not wide and "the internet" not in peers:
            continue  # what a new unit needs
        fresh = [peer for peer in peers if peer not in peers_before]
        what = listed(dict.fromkeys(fresh or peers)) or "anything"
        yield unit.finding(
            "network-open" if wide else f"{side}-opened",
            Level.DANGER if wide else Level.NOTE if peers_before >= {*peers} else Level.WARNING,
            f"{whose} {verb} {what}{_ports(rule)}",
            version=version,
            at=("spec", "egress" if side == "egress" else "modules"),
            setting="network" if side == "egress" else "routing",
            change=change,
            field=f"spec.{side}",
        )


def _whose(unit: UnitScene, change: ObjectChange) -> str:
    """The pods that a policy is about: the unit's own, or those of a module that it calls."""
    selected = _about(change.after)
    return "pods" if selected == unit.draft.unit.object_name else f"pods of {selected or 'all'}"


def _about(policy: Mapping[str, Any] | None) -> str:
    spec = (policy or {}).get("spec") or {}
    return _selected(spec.get("podSelector") or {}, _UNIT)


def _rules(policy: Mapping[str, Any] | None, side: str) -> list[Rule] | None:
    """The rules of one direction; None where the policy does not restrict it."""
    spec = (policy or {}).get("spec") or {}
    if policy is None:
        return None
    types = spec.get("policyTypes") or ["Ingress", *(["Egress"] if "egress" in spec else [])]
    return list(spec.get(side) or ()) if side.capitalize() in types else None


def _peer(peer: Mapping[str, Any]) -> str:
    block = peer.get("ipBlock")
    if block:
        cidr = block.get("cidr")
        if cidr in _ANYWHERE:
            private = any(str(but).startswith(("10.", "fc00")) for but in block.get("except") or ())
            return "the internet" if private else "anything"
        return str(cidr)
    namespaces, pods = peer.get("namespaceSelector"), peer.get("podSelector")
    where = _selected(namespaces, _NAMESPACE) if namespaces is not None else ""
    which = _selected(pods, _UNIT) if pods else ""
    if namespaces is not None and not where and not which:
        return "anything in the cluster"
    here = f"namespace {where}" if where else "its own namespace"
    return f"{which} in {here}" if which else here


def _selected(selector: Mapping[str, Any], known: str) -> str:
    labels = selector.get("matchLabels") or {}
    if known in labels and len(labels) == 1:
        return str(labels[known])
    said = [f"{key}={value}" for key, value in sorted(labels.items())]
    said += [json.dumps(expression, sort_keys=True) for expression in
             selector.get("matchExpressions") or ()]  # fmt: skip
    return ", ".join(said)


def _ports(rule: Rule) -> str:
    found = [str(port.get("port", "")) for port in rule.get("ports") or ()]
    return f" on port {listed(dict.fromkeys(found))}" if any(found) else ""


def _canonical(rule: Rule) -> str:
    return json.dumps(rule, sort_keys=True)


def services(unit: UnitScene) -> Iterator[Finding]:
    """Services that can be reached from outside of the cluster."""
    for version, change in unit.changes("Service"):
        was, now = _type(change.before), _type(change.after)
        if now != was and now in ("LoadBalancer", "NodePort"):
            yield unit.finding(
                "service-exposed",
                Level.DANGER,
                f"Service {change.id.name} is opened by a {now}",
                version=version,
                change=change,
                field="spec.type",
                before=was,
                after=now,
            )


def _type(service: Mapping[str, Any] | None) -> str:
    spec = (service or {}).get("spec") or {}
    return str(spec.get("type") or ("ClusterIP" if service else ""))
