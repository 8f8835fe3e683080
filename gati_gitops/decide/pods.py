"""Pods come before traffic: how many a version needs for its next step.

A scaler sees load only when it is there. So a version is given the pods that its next share of the
traffic will need while it still has the last one, measured by what the Active version needs now.
"""

from __future__ import annotations

from math import ceil

from gati_gitops.decide.view import Sight, Unit


def needed(unit: Unit, sight: Sight, weight: int) -> int:
    """The fewest pods with which it can take ``weight`` percent; 0: its own number is enough."""
    planned, active = sight.planned, unit.beside(sight)
    if planned is None or active is None or not planned.scaling.owned:
        return 0
    whole = max(active.entry.floor, active.ready)
    wanted = min(ceil(whole * weight / 100), planned.scaling.max)
    return wanted if wanted > planned.scaling.floor else 0


def can_be_woken(sight: Sight) -> bool:
    """A version that its scaler has taken to no pods, and that Git has not told otherwise yet."""
    workload, planned = sight.workload, sight.planned
    if workload is None or planned is None or not planned.scaling.owned:
        return False
    return workload.settled and not workload.desired and not sight.entry.floor
