"""What tests of observing share: units as they are stored, and the pods that they have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.ledger.stored import Stored
from gati_gitops.observe.wanted import Wanted
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.naming import slug
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import handler, project, tree_of, version

USERS: UnitKey = ("shop", "handler-users")


def units(
    *documents: str, provider: str = "gateway-api", scrape: int = 1, **settings: Any
) -> Mapping[UnitKey, Stored]:
    """Units of one cluster, as a compile stores them, scraped every second."""
    routing = {"provider": provider, "hosts": ["shop.example.com"]}
    env = {"prod": {"clusters": {"east": {}}, "routing": routing, **settings}}
    files = {
        "gati.yaml": project(env, monitoring={}, rollout={"strategy": "canary"}),
        "units.yaml": "\n---\n".join(documents or users()),
    }
    found = Output(MemorySnapshot(tree_of(files))).units("prod", "east")
    return {key: replace(stored, plan=_scraped(stored, scrape)) for key, stored in found.items()}


def users(*versions: str, weights: tuple[int, ...] = (90, 10)) -> tuple[str, ...]:
    """A handler with two versions: 90 and 10."""
    return (handler(weight=weights[0]), version("users", "v2", weights[1], image="shop/users:2"))


def phased(stored: Stored, **phases: tuple[Phase, int]) -> Stored:
    """The same unit with other phases and weights by version id."""
    assert stored.ledger is not None

    def changed(entry: Entry) -> Entry:
        phase, weight = phases.get(entry.id, (entry.phase, entry.weight))
        return replace(entry, phase=phase, weight=weight)

    ledger: Ledger = stored.ledger.with_entries(changed(entry) for entry in stored.ledger.entries)
    return replace(stored, ledger=ledger)


def wanted(found: Mapping[UnitKey, Stored], window: float = 20.0) -> Wanted:
    return Wanted("east", found, window, (0.5,))


def labels(version_id: str = "v1", unit: str = "handler-users") -> dict[str, str]:
    """What the monitor of a unit gives to the series of a version."""
    return {"namespace": "shop", "gati_unit": unit, "gati_version": slug(version_id)}


def _scraped(stored: Stored, interval: int) -> Any:
    plan = stored.plan
    assert plan.scraped is not None
    return replace(plan, scraped=replace(plan.scraped, interval=interval))
