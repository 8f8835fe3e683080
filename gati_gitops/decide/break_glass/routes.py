"""Moving the traffic of a live route, provider by provider.

Each is a JSON patch that first tests what stands at the places it changes: where the live route is
not what was read from Git, it is refused as a whole, and nothing has moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gati_gitops.emit.objects.meta import Object
from gati_gitops.emit.overlay import overlay_objects
from gati_gitops.emit.routes import routes
from gati_gitops.emit.routes.ingress_nginx import PREFIX
from gati_gitops.ledger.model import Ledger
from gati_gitops.plan.model import UnitPlan
from gati_gitops.plan.naming import UNIT_LABEL, VERSION_LABEL

Operations = list[dict[str, Any]]
_CANARY_WEIGHT = f"{PREFIX}canary-weight"


@dataclass(frozen=True, slots=True)
class Patch:
    """What changes in one live object, and how its traffic is read back."""

    resource: str
    """As kubectl names the kind."""
    name: str
    namespace: str
    operations: Operations
    shows: str
    """A JSONPath to what its traffic is."""


def patches(plan: UnitPlan, before: Ledger, after: Ledger) -> list[Patch]:
    """What turns the route of one ledger into the traffic of another; only that."""
    if plan.route is None:
        return list(_module(plan, before, after))
    there = routes(plan, before)
    provider = plan.route.provider
    if provider == "ingress-nginx":
        return list(_nginx(there, weights_of(plan, after)))
    split = {"gateway-api": _http_route, "istio": _virtual_service, "traefik": _traefik_service}
    wanted = routes(plan, after)
    return [patch for item in there for patch in split[provider](item, wanted)]


def weights_of(plan: UnitPlan, ledger: Ledger) -> dict[str, int]:
    """Percent by name of Service."""
    found = {}
    for entry in ledger.entries:
        version = plan.version(*entry.key)
        if version is not None and entry.weight:
            found[version.name] = entry.weight
    return found


# -- splits in one list ----------------------------------------------------------------------------


def _http_route(item: Object, wanted: list[Object]) -> Iterator[Patch]:
    for index, rule in enumerate(item["spec"].get("rules", ())):
        if item["kind"] == "HTTPRoute" and rule.get("name") == "split":
            at = f"/spec/rules/{index}"
            new = next(r for w in _like(item, wanted) for r in w["spec"]["rules"] if _is_split(r))
            changes = _weights(f"{at}/backendRefs", rule["backendRefs"], new["backendRefs"], "name")
            yield _patch(
                item,
                "httproutes.gateway.networking.k8s.io",
                [_test(f"{at}/name", "split"), *changes],
                '{range .spec.rules[?(@.name=="split")].backendRefs[*]}'
                '{.name} {.weight}{"\\n"}{end}',
            )


def _virtual_service(item: Object, wanted: list[Object]) -> Iterator[Patch]:
    for index, rule in enumerate(item["spec"]["http"]):
        if rule["name"] == "split":
            at = f"/spec/http/{index}"
            new = next(r for w in _like(item, wanted) for r in w["spec"]["http"] if _is_split(r))
            changes = _weights(f"{at}/route", rule["route"], new["route"], "destination")
            yield _patch(
                item,
                "virtualservices.networking.istio.io",
                [_test(f"{at}/name", "split"), *changes],
                '{range .spec.http[?(@.name=="split")].route[*]}'
                '{.destination.host} {.weight}{"\\n"}{end}',
            )


def _traefik_service(item: Object, wanted: list[Object]) -> Iterator[Patch]:
    if item["kind"] == "TraefikService":
        (new,) = _like(item, wanted)
        there, then = (side["spec"]["weighted"]["services"] for side in (item, new))
        yield _patch(
            item,
            "traefikservices.traefik.io",
            _weights("/spec/weighted/services", there, then, "name"),
            '{range .spec.weighted.services[*]}{.name} {.weight}{"\\n"}{end}',
        )


def _weights(at: str, there: list[Object], then: list[Object], key: str) -> Operations:
    """Every weight that stands there, and elements for who is not among them."""
    wanted = {str(element[key]): element for element in then}
    found: Operations = []
    for index, element in enumerate(there):
        new = wanted.pop(str(element[key]), None)
        found.append(_test(f"{at}/{index}/{key}", element[key]))
        weight = new["weight"] if new is not None else 0
        found.append({"op": "replace", "path": f"{at}/{index}/weight", "value": weight})
    more = (element for element in wanted.values() if element["weight"])
    return [*found, *({"op": "add", "path": f"{at}/-", "value": element} for element in more)]


def _like(item: Object, wanted: list[Object]) -> list[Object]:
    name = item["metadata"]["name"]
    return [w for w in wanted if w["kind"] == item["kind"] and w["metadata"]["name"] == name]


def _is_split(rule: Object) -> bool:
    return bool(rule.get("name") == "split")


# -- splits of two objects -------------------------------------------------------------------------


def _nginx(there: list[Object], weights: Mapping[str, int]) -> Iterator[Patch]:
    """The canary gets its share; the other Ingress gets the rest, and may need another backend."""
    first, *beside = there
    canary = _backend(beside[0]) if beside else ""
    share = weights.get(canary, 0)
    serves = next((name for name in weights if name != canary), "")
    shows = '{.spec.rules[0].http.paths[0].backend.service.name} {.metadata.annotations}{"\\n"}'
    if serves and serves != _backend(first):
        changes: Operations = []
        for index, _ in enumerate(first["spec"]["rules"]):
            at = f"/spec/rules/{index}/http/paths/0/backend/service/name"
            changes += [_test(at, _backend(first)), {"op": "replace", "path": at, "value": serves}]
        yield _patch(first, "ingresses.networking.k8s.io", changes, shows)
    if beside:
        at = f"/metadata/annotations/{_escaped(_CANARY_WEIGHT)}"
        backend = "/spec/rules/0/http/paths/0/backend/service/name"
        changes = [
            _test(backend, canary),
            {"op": "replace", "path": at, "value": str(share)},
        ]
        yield _patch(beside[0], "ingresses.networking.k8s.io", changes, shows)


def _backend(item: Object) -> str:
    return str(item["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"])


# -- modules -------------------------------------------------------------------------------------


def _module(plan: UnitPlan, before: Ledger, after: Ledger) -> Iterator[Patch]:
    """One Service stands for a module; it chooses the version."""
    sides = [
        next((o for o in overlay_objects(plan, ledger) if _is_whole(plan, o)), None)
        for ledger in (before, after)
    ]
    there, then = sides
    if there is None or then is None:
        return
    unit, version = (f"/spec/selector/{_escaped(name)}" for name in (UNIT_LABEL, VERSION_LABEL))
    new = then["spec"]["selector"][VERSION_LABEL]
    changes = [
        _test(unit, there["spec"]["selector"][UNIT_LABEL]),
        {"op": "replace", "path": version, "value": new},
    ]
    shows = '{.spec.selector.gati\\.dev/version}{"\\n"}'
    yield _patch(there, "services", changes, shows)


def _is_whole(plan: UnitPlan, item: Object) -> bool:
    name = str(item["metadata"]["name"])
    return item["kind"] == "Service" and name == plan.unit.object_name


# -- helpers -------------------------------------------------------------------------------------


def _patch(item: Object, resource: str, operations: Operations, shows: str) -> Patch:
    metadata = item["metadata"]
    return Patch(resource, metadata["name"], metadata["namespace"], operations, shows)


def _test(path: str, value: Any) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}


def _escaped(name: str) -> str:
    """As JSON Pointer has it."""
    return name.replace("~", "~0").replace("/", "~1")
