"""The route of a unit as the cluster has it: shares, pins, and whether its controller took it.

What cannot be read as one split is said to be ambiguous, never guessed at: people edit routes, and
a half-understood one must not look like a step. Only the Gateway API tells what a gateway has
taken; for the other providers the object as it stands is all there is, and that is said, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gati_gitops.decide.absorb import ANNOTATION as BREAK_GLASS
from gati_gitops.decide.observation import Gap, LiveRoute, Missing
from gati_gitops.emit.routes.gateway_api import GROUP
from gati_gitops.emit.routes.ingress_nginx import PREFIX, TOTAL, canary_name
from gati_gitops.emit.routes.istio import LATER
from gati_gitops.emit.routes.naming import numbered, route_name
from gati_gitops.emit.routes.stored import split_weights
from gati_gitops.emit.routes.table import HEADERS
from gati_gitops.plan.model import UnitPlan
from gati_gitops.plan.naming import selector

Object = dict[str, Any]
Identity = tuple[str, str, str]
"""Kind, namespace and name."""

KINDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "gateway-api": ((f"{GROUP}/v1", "HTTPRoute"),),
    "istio": (("networking.istio.io/v1", "VirtualService"),),
    "traefik": (("traefik.io/v1alpha1", "IngressRoute"), ("traefik.io/v1alpha1", "TraefikService")),
    "ingress-nginx": (("networking.k8s.io/v1", "Ingress"),),
}
"""What a route is made of, by provider."""

_SILENT = {
    "istio": "Istio does not tell what its gateways have taken",
    "traefik": "Traefik does not tell what it has taken of an IngressRoute",
    "ingress-nginx": "ingress-nginx does not tell what it has taken of an Ingress",
}
_PINNED = re.compile(rf"Header\(`{HEADERS[0]}`, (?:`([^`]*)`|\"((?:[^\"\\]|\\.)*)\")\)")
_MOST = 64
"""Route objects that one unit can have."""


def own_routes(plan: UnitPlan, objects: Mapping[Identity, Object]) -> list[Object]:
    """The route objects of a unit, by the names that we give them."""
    return [objects[one] for one in _identities(plan, objects)]


def _identities(plan: UnitPlan, objects: Mapping[Identity, Object]) -> Iterator[Identity]:
    unit, route = plan.unit, plan.route
    if route is None:
        if unit.kind == "module":
            yield from _there(objects, [("Service", unit.namespace, unit.object_name)])
        return
    away = route.namespace or unit.namespace
    if route.provider == "gateway-api":
        for number in range(1, _MOST + 1):
            one = ("HTTPRoute", away, route_name(plan, route, number))
            if one in objects:
                yield one
            elif number > 1:
                return
    elif route.provider == "istio":
        yield from _there(objects, [("VirtualService", away, route_name(plan, route))])
    else:
        names = [numbered(plan, 1)]
        kinds = [kind for _, kind in KINDS[route.provider]]
        if route.provider == "ingress-nginx":
            names.append(canary_name(plan))
        known = [(kind, unit.namespace, name) for kind in kinds for name in names]
        yield from _there(objects, known)


def _there(objects: Mapping[Identity, Object], known: list[Identity]) -> Iterator[Identity]:
    return (one for one in known if one in objects)


def live_route(plan: UnitPlan, found: Sequence[Object]) -> LiveRoute | Missing | None:
    """What stands on the cluster; None if nothing does."""
    if not found:
        return None
    if plan.route is None:
        return _of_module(plan, found[0])
    provider = plan.route.provider
    try:
        _must_be_plain(provider, plan.unit.namespace, found)
        weights = split_weights(found)
        pins = frozenset(_pins(provider, found))
        trouble = next(filter(None, (_trouble(provider, item) for item in found)), "")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        told = str(error) if isinstance(error, _OddError) else "it is not as it was written"
        names = ", ".join(_name(item) for item in found)
        return Missing(Gap.AMBIGUOUS, f"the split of {names} can't be read: {told}", "the cluster")
    return LiveRoute(
        weights=weights,
        current=not trouble,
        why=trouble or _SILENT.get(provider, ""),
        pins=pins,
        break_glass=_broken_glass(found),
        edition=" ".join(filter(None, map(_edition, found))),
    )


def _edition(item: Object) -> str:
    """API servers count the changes of what an object asks for, and a new one has another uid."""
    head = item["metadata"]
    generation = head.get("generation")
    return f"{str(head.get('uid', ''))[:8]}/{generation}" if generation else ""


def _broken_glass(found: Sequence[Object]) -> str:
    for item in found:
        said = (item["metadata"].get("annotations") or {}).get(BREAK_GLASS)
        if said is not None:
            return " ".join(str(said).split()) or "no reason given"
    return ""


def _name(item: Object) -> str:
    head = item["metadata"]
    return f"{item['kind']} {head.get('namespace', '')}/{head['name']}"


def _of_module(plan: UnitPlan, service: Object) -> LiveRoute | Missing:
    """A module's one Service has a single version behind it, whole."""
    asked = service["spec"].get("selector") or {}
    for version in plan.versions:
        if asked == selector(plan.unit, version.id):
            return LiveRoute(
                {version.name: 100}, current=True, break_glass=_broken_glass([service])
            )
    told = f"{_name(service)} selects no version of {plan.unit}"
    return Missing(Gap.AMBIGUOUS, told, "the cluster")


# -- is it one split? ----------------------------------------------------------------------------


class _OddError(ValueError):
    """Something that we never write."""


def _must_be_plain(provider: str, namespace: str, found: Sequence[Object]) -> None:
    """Two splits, a backend twice or one of another namespace: no such numbers are shares."""
    names: list[str] = []
    splits = 0
    for item in found:
        spec = item["spec"]
        if item["kind"] == "HTTPRoute" and not any(rule.get("name") for rule in spec["rules"]):
            raise _OddError("its rules have no names; that takes Gateway API v1.4 or newer")
        for rule in (*(spec.get("rules") or ()), *(spec.get("http") or ())):
            if isinstance(rule, dict) and rule.get("name") == "split":
                splits += 1
                names += [_backend(provider, b, item, namespace) for b in _backends(rule)]
        for service in (spec.get("weighted") or {}).get("services") or ():
            names.append(_backend(provider, service, item, namespace))
    if splits > 1:
        raise _OddError("there is more than one split")
    if len(names) != len(set(names)):
        raise _OddError("a Service stands there twice")
    if provider == "ingress-nginx":
        for item in found:
            notes = item["metadata"].get("annotations") or {}
            if notes.get(f"{PREFIX}canary-weight-total", str(TOTAL)) != str(TOTAL):
                raise _OddError("its weights are not of 100")


def _backends(rule: Object) -> list[Object]:
    return [*(rule.get("backendRefs") or ()), *(rule.get("route") or ())]


def _backend(provider: str, backend: Object, item: Object, namespace: str) -> str:
    if provider == "istio":
        name, _, rest = str(backend["destination"]["host"]).partition(".")
        where = rest.partition(".")[0] or item["metadata"].get("namespace")
    else:
        name = str(backend["name"])
        where = backend.get("namespace") or item["metadata"].get("namespace")
        if backend.get("kind", "Service") != "Service":
            raise _OddError(f"{name} is no Service")
    if where != namespace:
        raise _OddError(f"it leads to {where}/{name}, which is another namespace's")
    return name


# -- pins ----------------------------------------------------------------------------------------


def _pins(provider: str, found: Sequence[Object]) -> Iterator[str]:
    """Version ids that have a rule which leads to them."""
    header = HEADERS[0]
    for item in found:
        spec = item["spec"]
        if provider == "gateway-api":
            for rule in spec.get("rules") or ():
                if str(rule.get("name", "")).startswith("pin-") and rule.get("backendRefs"):
                    yield str(rule["matches"][0]["headers"][0]["value"])
        elif provider == "istio":
            for rule in spec.get("http") or ():
                name = str(rule.get("name", ""))
                if name.startswith("pin-") and not name.endswith(LATER):
                    yield str(rule["match"][0]["headers"][header.lower()]["exact"])
        elif provider == "traefik":
            for rule in spec.get("routes") or ():
                asked = _PINNED.search(str(rule.get("match", "")))
                if asked and rule["services"][0].get("kind", "Service") == "Service":
                    yield asked[1] if asked[1] is not None else re.sub(r"\\(.)", r"\1", asked[2])
        else:
            notes = item["metadata"].get("annotations") or {}
            if notes.get(f"{PREFIX}canary-by-header") == header:
                yield str(notes[f"{PREFIX}canary-by-header-value"])


# -- has its controller taken it? ----------------------------------------------------------------


def _trouble(provider: str, item: Object) -> str:
    """Why a route is not in force; empty if it is, or if nobody would tell."""
    if "deletionTimestamp" in item["metadata"]:
        return f"{_name(item)} is being deleted"
    if provider == "gateway-api":
        return _of_parents(item)
    status = item.get("status") or {}
    if provider == "istio" and status:
        seen = status.get("observedGeneration")
        if seen is not None and int(seen) != item["metadata"].get("generation"):
            return f"{_name(item)}: istiod has not looked at its last change"
        for message in status.get("validationMessages") or ():
            if str(message.get("level", "")).upper() in ("ERROR", "3"):
                return f"{_name(item)}: istiod found {(message.get('type') or {}).get('code')}"
    return ""


def _of_parents(item: Object) -> str:
    head, spec = item["metadata"], item["spec"]
    parents = (item.get("status") or {}).get("parents") or ()
    asked = spec.get("parentRefs") or ()
    if not asked:
        return f"{_name(item)} names no Gateway"
    for parent in asked:
        wanted = _parent(parent, head)
        told = [one for one in parents if _parent(one.get("parentRef") or {}, head) == wanted]
        where = f"{_name(item)}: {wanted[1]} {wanted[2]}/{wanted[3]}"
        if not told:
            return f"{where} has not taken it"
        troubles = [_of_parent(one, head.get("generation")) for one in told]
        if all(troubles):
            return f"{where} {troubles[0]}"
    return ""


def _parent(ref: Object, head: Object) -> tuple[str, str, str, str, str, str]:
    return (
        str(ref.get("group", GROUP)),
        str(ref.get("kind", "Gateway")),
        str(ref.get("namespace") or head.get("namespace", "")),
        str(ref.get("name", "")),
        str(ref.get("sectionName") or ""),
        str(ref.get("port") or ""),
    )


def _of_parent(told: Object, generation: object) -> str:
    conditions = {c.get("type"): c for c in told.get("conditions") or ()}
    for name in ("Accepted", "ResolvedRefs"):
        condition = conditions.get(name)
        if condition is None:
            return f"does not say {name}"
        if condition.get("observedGeneration") != generation:
            return "has not looked at its last change"
        if condition.get("status") != "True":
            words = " ".join(str(condition.get("message", "")).split())
            return f"says {name} {condition.get('status')}, {condition.get('reason')}: {words}"
    partly = conditions.get("PartiallyInvalid")
    if partly is not None and partly.get("status") == "True":
        return f"takes only a part of it: {' '.join(str(partly.get('message', '')).split())}"
    return ""
