"""The order in which resources are printed."""

from __future__ import annotations

from typing import Any

from gati_gitops.render.config import ORDER
from gati_gitops.render.errors import Broken
from gati_gitops.render.resource import Resource, split_api_version


def sorted_resources(resources: list[Resource], options: dict[str, Any] | None) -> list[Resource]:
    """By kind and name, or as they came when the kustomization says so."""
    order = "legacy" if options is None else options.get("order", "")
    legacy = (options or {}).get("legacySortOptions")
    if order not in ("legacy", "fifo"):
        raise Broken("the field must be one of [fifo, legacy]", field="sortOptions.order")
    if order == "fifo":
        if legacy is not None:
            raise Broken(
                "set, but the order is not 'legacy'", field="sortOptions.legacySortOptions"
            )
        return resources
    ranks = ORDER if legacy is None else _ranks(legacy)
    return sorted(resources, key=lambda resource: _key(resource, ranks))


def _ranks(legacy: dict[str, list[str]]) -> dict[str, int]:
    first, last = legacy.get("orderFirst", []), legacy.get("orderLast", [])
    ranks = {kind: index - len(first) for index, kind in enumerate(first)}
    return {**ranks, **{kind: index + 1 for index, kind in enumerate(last)}}


def _key(resource: Resource, ranks: dict[str, int]) -> tuple[Any, ...]:
    kind = resource.kind
    group, version = split_api_version(resource.api_version)
    # Kubernetes' own Namespace comes before other kinds of that name.
    foreign = kind == "Namespace" and group != ""
    return (
        ranks.get(kind, 0),
        foreign,
        f"{group or '~G'}_{version or '~V'}_{kind or '~K'}",
        f"{resource.namespace or '~X'}|{resource.name or '~N'}",
    )
