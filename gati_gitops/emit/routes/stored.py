"""Reading routes back: what manifests tell of weights and tombstones where a ledger is gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gati_gitops.emit.objects.meta import Object
from gati_gitops.emit.routes.ingress_nginx import PREFIX, TOTAL
from gati_gitops.emit.routes.istio import LATER
from gati_gitops.emit.routes.traefik import GONE


def split_weights(objects: Sequence[Object]) -> dict[str, int]:
    """Weights by backend as the split of stored routes has them."""
    found: dict[str, int] = {}
    for item in objects:
        spec = item.get("spec", {})
        for rule in spec.get("rules", ()):
            if rule.get("name") == "split":
                found.update({b["name"]: b["weight"] for b in rule.get("backendRefs", ())})
        for rule in spec.get("http", ()):
            if rule.get("name") == "split":
                for target in rule.get("route", ()):
                    found[target["destination"]["host"].partition(".")[0]] = target["weight"]
        for service in spec.get("weighted", {}).get("services", ()):
            found[service["name"]] = service["weight"]
    found.update(_ingresses([item for item in objects if item.get("kind") == "Ingress"]))
    return found


def _ingresses(items: Sequence[Object]) -> dict[str, int]:
    found: dict[str, int] = {}
    rest = TOTAL
    for item in items:
        path = item["spec"]["rules"][0]["http"]["paths"][0]
        weight = item["metadata"].get("annotations", {}).get(f"{PREFIX}canary-weight")
        found[path["backend"]["service"]["name"]] = -1 if weight is None else int(weight)
        rest -= int(weight or 0)
    return {name: rest if weight < 0 else weight for name, weight in found.items()}


def tombstones(objects: Sequence[Object]) -> tuple[str, ...]:
    """Version ids that stored routes answer for though nothing of them is left."""
    return tuple(version for item in objects for version in _gone(item))


def _gone(item: Object) -> Iterator[str]:
    yield from item.get("metadata", {}).get("annotations", {}).get(GONE, "").split()
    for rule in item.get("spec", {}).get("rules", ()):
        if rule.get("name", "").startswith("gone-"):
            yield rule["matches"][0]["headers"][0]["value"]
    for rule in item.get("spec", {}).get("http", ()):
        name = rule.get("name", "")
        if name.startswith("gone-") and not name.endswith(LATER):
            yield next(iter(rule["match"][0]["headers"].values()))["exact"]
