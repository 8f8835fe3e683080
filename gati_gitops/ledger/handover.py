"""From a fixed number of pods to a scaler, without losing pods on the way."""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.ledger.model import SCALED, Entry, Ledger
from gati_gitops.ledger.stored import Stored
from gati_gitops.plan.model import PlannedVersion, UnitPlan

HOLDER = "gati-gitops-handover"
"""Whose name the live replica count is held under until a scaler first changes it."""


def hand_over(
    ledger: Ledger, versions: tuple[PlannedVersion, ...], stored: Stored
) -> tuple[Ledger, tuple[PlannedVersion, ...], tuple[str, ...]]:
    """A live Deployment gets its first scaler only when its replica count has another holder.

    Taking ``replicas`` out of Git while nobody else holds the field sets it to 1. So the fixed
    count stays until the ledger says that it was handed over; then, in one commit, the scaler
    comes and the count goes.
    """
    old = stored.ledger or ledger
    fixed: dict[str, PlannedVersion] = {}
    for entry in old.entries:
        before = stored.plan.version(*entry.key)
        live = entry.phase in SCALED and before is not None and not before.scaling.owned
        if live and before is not None and before.scaling.replicas > 1:
            fixed[entry.id] = before
    done = {entry.id for entry in ledger.entries if entry.handed_over}
    waits = {v.id for v in versions if v.scaling.owned and v.id in fixed and v.id not in done}
    notes = tuple(
        f"{id}: the scaler waits until the replica count is handed over" for id in sorted(waits)
    )
    kept = tuple(
        replace(v, scaling=fixed[v.id].scaling) if v.id in waits and v.scaling.owned else v
        for v in versions
    )
    over = done - fixed.keys()  # the scaler has been there since an earlier compile
    entries = (replace(e, handed_over=False) if e.id in over else e for e in ledger.entries)
    return ledger.with_entries(entries) if over else ledger, kept, notes


def awaits_hand_over(plan: UnitPlan, entry: Entry) -> bool:
    """Whether a version's scaler waits until somebody else holds the number of its pods."""
    if plan.next is None:  # the specs have what is stored
        return False
    planned = plan.version(*entry.key)
    if planned is None or entry.phase not in SCALED or entry.handed_over:
        return False
    if planned.scaling.owned or planned.scaling.replicas < 2:
        return False
    said = plan.next.version(*entry.key)
    return said is not None and said.scaling.owned
