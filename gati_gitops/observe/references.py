"""Who else names a version: routes and Services of any namespace that are not the unit's own.

A version may go only when nobody leads to it. Our own route is known by its name; whatever else
names the version's Service was made by somebody who may not have heard of its end. What is looked
at is what Kubernetes, the Gateway API, Istio and Traefik route by; other products are not known
here, and their traffic shows in the version's own counters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from gati_gitops.emit.routes.gateway_api import GROUP as GATEWAY
from gati_gitops.observe.kube_shapes import Head
from gati_gitops.plan.naming import UNIT_LABEL, VERSION_LABEL

Object = dict[str, Any]
Service = tuple[str, str]
"""Namespace and name."""

KINDS: tuple[tuple[str, str], ...] = (
    (GATEWAY, "HTTPRoute"),
    (GATEWAY, "GRPCRoute"),
    (GATEWAY, "TCPRoute"),
    (GATEWAY, "TLSRoute"),
    (GATEWAY, "UDPRoute"),
    ("networking.istio.io", "VirtualService"),
    ("networking.k8s.io", "Ingress"),
    ("traefik.io", "IngressRoute"),
    ("traefik.io", "IngressRouteTCP"),
    ("traefik.io", "IngressRouteUDP"),
    ("traefik.io", "TraefikService"),
)
"""Group and kind of what may name a Service; those that a cluster does not have name nothing."""


class Shape(TypedDict, total=False):
    """What is read of a route or a Service."""

    metadata: Head
    spec: Any
    status: Any


_OF_VERSION = (VERSION_LABEL, "app.kubernetes.io/version")


@dataclass(frozen=True, slots=True)
class Naming:
    """An object that names Services, or selects the pods of one version."""

    kind: str
    namespace: str
    name: str
    services: frozenset[Service] = frozenset()
    selects: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[str, str, str]:
        return (self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Target:
    """A version that may be named."""

    service: Service
    labels: Mapping[str, str]
    """Of its pods."""
    own: frozenset[tuple[str, str, str]]
    """Objects of its unit's own, which do not count."""


def naming(item: Object) -> Naming | None:
    """What an object names; None if it names nobody."""
    kind, head = str(item["kind"]), item["metadata"]
    namespace, name = str(head.get("namespace", "")), str(head["name"])
    spec = item.get("spec") or {}
    if kind == "Service":
        return _of_service(spec, namespace, name)
    services = frozenset(_NAMED[kind](spec, namespace))
    return Naming(kind, namespace, name, services) if services else None


def references(
    targets: Iterable[Target], namings: Iterable[Naming]
) -> dict[Service, tuple[str, ...]]:
    """By Service of a version: who else names it, in order."""
    versions = {target.service: target for target in targets}
    labelled = _Labelled(versions.values())
    found: dict[Service, set[str]] = {}
    for one in namings:
        named = [versions[service] for service in one.services if service in versions]
        for target in (*named, *labelled.selected(one)):
            if one.identity not in target.own:
                found.setdefault(target.service, set()).add(str(one))
    return {service: tuple(sorted(names)) for service, names in found.items()}


class _Labelled:
    """Versions by the labels of their pods: by unit and version, or by version alone."""

    def __init__(self, targets: Iterable[Target]) -> None:
        self._found: dict[tuple[str, str, str, str], list[Target]] = {}
        for target in targets:
            namespace, unit = target.service[0], target.labels.get(UNIT_LABEL, "")
            for label in _OF_VERSION:
                value = target.labels.get(label)
                if value is not None:
                    for name in {unit, ""}:
                        at = (namespace, name, label, value)
                        self._found.setdefault(at, []).append(target)

    def selected(self, one: Naming) -> Iterator[Target]:
        """Versions whose pods a Service reaches, if it selects by version."""
        label = next((label for label in _OF_VERSION if label in one.selects), None)
        if label is None:
            return
        at = (one.namespace, one.selects.get(UNIT_LABEL, ""), label, one.selects[label])
        for target in self._found.get(at, ()):
            if one.selects.items() <= target.labels.items():
                yield target


# -- Services ------------------------------------------------------------------------------------


def _of_service(spec: Object, namespace: str, name: str) -> Naming | None:
    if spec.get("type") == "ExternalName":
        service = host(str(spec.get("externalName", "")), "")
        named = frozenset((service,)) if service else frozenset()
        return Naming("Service", namespace, name, named) if named else None
    selects = spec.get("selector") or {}
    if any(label in selects for label in _OF_VERSION):
        return Naming("Service", namespace, name, selects=selects)
    return None


def host(name: str, namespace: str) -> Service | None:
    """The Service that a host name means, seen from a namespace; None if it means none."""
    parts = name.lower().rstrip(".").split(".")
    if len(parts) == 1:
        return (namespace, parts[0]) if namespace and parts[0] else None
    if len(parts) == 2 or parts[2] == "svc":
        return (parts[1], parts[0])
    return None


# -- routes --------------------------------------------------------------------------------------


def _gateway(spec: Object, namespace: str) -> Iterator[Service]:
    for rule in spec.get("rules") or ():
        refs = list(rule.get("backendRefs") or ())
        filters = [*(rule.get("filters") or ())]
        for ref in refs:
            filters += ref.get("filters") or ()
        refs += [
            one["requestMirror"].get("backendRef") or {}
            for one in filters
            if "requestMirror" in one
        ]
        for ref in refs:
            if ref.get("group", "") == "" and ref.get("kind", "Service") == "Service":
                yield (str(ref.get("namespace") or namespace), str(ref.get("name", "")))


def _istio(spec: Object, namespace: str) -> Iterator[Service]:
    for kind in ("http", "tcp", "tls"):
        for rule in spec.get(kind) or ():
            targets = [one.get("destination") or {} for one in rule.get("route") or ()]
            targets += [one.get("destination") or {} for one in rule.get("mirrors") or ()]
            targets.append(rule.get("mirror") or {})
            for target in targets:
                service = host(str(target.get("host", "")), namespace)
                if service is not None:
                    yield service


def _ingress(spec: Object, namespace: str) -> Iterator[Service]:
    backends = [spec.get("defaultBackend") or {}]
    for rule in spec.get("rules") or ():
        paths = (rule.get("http") or {}).get("paths") or ()
        backends += [path.get("backend") or {} for path in paths]
    for backend in backends:
        name = (backend.get("service") or {}).get("name")
        if name:
            yield (namespace, str(name))


def _ingress_route(spec: Object, namespace: str) -> Iterator[Service]:
    for rule in spec.get("routes") or ():
        yield from _traefik(rule.get("services") or (), namespace)


def _traefik_service(spec: Object, namespace: str) -> Iterator[Service]:
    for kind in ("weighted", "highestRandomWeight"):
        yield from _traefik((spec.get(kind) or {}).get("services") or (), namespace)
    mirroring = spec.get("mirroring")
    if mirroring:
        yield from _traefik((mirroring, *(mirroring.get("mirrors") or ())), namespace)
    failover = spec.get("failover") or {}
    parts = (failover.get("service"), failover.get("fallback"))
    yield from _traefik([part for part in parts if isinstance(part, dict)], namespace)


def _traefik(services: Iterable[Object], namespace: str) -> Iterator[Service]:
    for one in services:
        if one.get("kind", "Service") == "Service" and one.get("name"):
            yield (str(one.get("namespace") or namespace), str(one["name"]))


_NAMED = {
    "HTTPRoute": _gateway,
    "GRPCRoute": _gateway,
    "TCPRoute": _gateway,
    "TLSRoute": _gateway,
    "UDPRoute": _gateway,
    "VirtualService": _istio,
    "Ingress": _ingress,
    "IngressRoute": _ingress_route,
    "IngressRouteTCP": _ingress_route,
    "IngressRouteUDP": _ingress_route,
    "TraefikService": _traefik_service,
}
