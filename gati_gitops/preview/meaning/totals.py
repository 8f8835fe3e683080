"""What the pods of an environment ask for, summed up: before and after, at least and at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gati_gitops.ledger.model import SCALED
from gati_gitops.preview.drafts import ClusterDraft, UnitDraft
from gati_gitops.preview.model import Amount, Totals
from gati_gitops.preview.objects import Item
from gati_gitops.preview.quantities import cpu, memory
from gati_gitops.preview.side import UnitSide

HOURS = 730
"""Hours of a month, as clouds count them."""
GIBIBYTE = 1024**3


@dataclass(frozen=True, slots=True)
class Prices:
    """What one core and one GiB cost for an hour."""

    cpu: float
    memory: float

    def month(self, amount: Amount) -> float:
        cores, gibibytes = amount.cpu_requests / 1000, amount.memory_requests / GIBIBYTE
        return round((cores * self.cpu + gibibytes * self.memory) * HOURS, 2)


def totals(clusters: Iterable[ClusterDraft], prices: Prices | None) -> dict[str, Totals]:
    """The sums of each environment, over the units that differ."""
    sums: dict[str, Sums] = {}
    for cluster in clusters:
        for unit in cluster.units:
            here = sums.get(cluster.environment, (Amount(),) * 4)
            one, two, three, four = map(_plus, here, _unit(unit))
            sums[cluster.environment] = (one, two, three, four)
    found: dict[str, Totals] = {}
    for env, amounts in sums.items():
        if any(amount.pods for amount in amounts):
            one, two, three, four = (_priced(amount, prices) for amount in amounts)
            found[env] = Totals(one, two, three, four)
    return found


Sums = tuple[Amount, Amount, Amount, Amount]
"""The least before and after, the most before and after."""


def _unit(unit: UnitDraft) -> Sums:
    (least, most), (least_after, most_after) = (
        _side(side, pods) for side, pods in zip((unit.before, unit.after), unit.pods, strict=True)
    )
    return least, least_after, most, most_after


def _side(side: UnitSide | None, pods: Mapping[str, Item]) -> tuple[Amount, Amount]:
    least, most = Amount(), Amount()
    for entry in side.ledger.entries if side is not None else ():
        assert side is not None
        version = side.plan.version(*entry.key)
        if version is None or entry.phase not in SCALED or entry.id not in pods:
            continue
        each = _pod(pods[entry.id].asks_for())
        scaling = version.scaling.at_least(entry.floor)
        least = _plus(least, _times(each, scaling.floor))
        most = _plus(most, _times(each, scaling.max if scaling.owned else scaling.replicas))
    return least, most


def _pod(containers: Iterable[Mapping[str, Any]]) -> Amount:
    found = Amount(pods=1)
    for resources in containers:
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        found = _plus(
            found,
            Amount(
                0,
                cpu(requests.get("cpu")),
                memory(requests.get("memory")),
                cpu(limits.get("cpu")),
                memory(limits.get("memory")),
            ),
        )
    return found


def _plus(one: Amount, two: Amount) -> Amount:
    return Amount(
        one.pods + two.pods,
        one.cpu_requests + two.cpu_requests,
        one.memory_requests + two.memory_requests,
        one.cpu_limits + two.cpu_limits,
        one.memory_limits + two.memory_limits,
    )


def _times(one: Amount, count: int) -> Amount:
    return Amount(
        one.pods * count,
        one.cpu_requests * count,
        one.memory_requests * count,
        one.cpu_limits * count,
        one.memory_limits * count,
    )


def _priced(amount: Amount, prices: Prices | None) -> Amount:
    return replace(amount, cost=prices.month(amount)) if prices is not None else amount
