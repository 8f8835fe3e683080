"""The plan as data that can be printed, and as a table that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gati_gitops.ledger.model import DEPLOYED, Entry, Ledger, Phase
from gati_gitops.ledger.store import ledger_data, plan_data
from gati_gitops.plan.model import PlannedVersion, UnitPlan

Row = tuple[str, ...]
HEADINGS: Row = ("UNIT", "VERSION", "PHASE", "WEIGHT", "PODS", "IMAGE")


def shown_data(units: Iterable[tuple[UnitPlan, Ledger]]) -> dict[str, Any]:
    """Environment → cluster → units, each with its plan and its ledger."""
    found: dict[str, Any] = {}
    for plan, ledger in units:
        clusters = found.setdefault(plan.environment, {})
        clusters.setdefault(plan.cluster, []).append(
            {**plan_data(plan), "rollout": ledger_data(ledger)}
        )
    return {"format": 1, "environments": found}


def tables(units: Iterable[tuple[UnitPlan, Ledger]]) -> dict[tuple[str, str], list[Row]]:
    """Rows by environment and cluster."""
    found: dict[tuple[str, str], list[Row]] = {}
    for plan, ledger in units:
        rows = found.setdefault((plan.environment, plan.cluster), [])
        name = str(plan.unit)
        for entry in ledger.entries:
            rows.append((name, *_cells(plan, ledger, entry)))
            name = ""
    return found


def _cells(plan: UnitPlan, ledger: Ledger, entry: Entry) -> Row:
    version = plan.version(*entry.key)
    phase = str(entry.phase)
    if ledger.hold:
        phase += " (held)"
    elif ledger.retiring:
        phase += " (retiring)"
    return (
        entry.id,
        phase,
        str(entry.weight) if plan.route else "-",
        _pods(version, entry),
        pulled_image(version) if version else entry.image,
    )


def pulled_image(version: PlannedVersion) -> str:
    """The image as this environment pulls it."""
    for change in version.images:
        return version.image.replace(change["name"], change["newName"], 1)
    return version.image


def _pods(version: PlannedVersion | None, entry: Entry) -> str:
    if version is None or entry.phase not in DEPLOYED:
        return "-"
    if entry.phase is Phase.PARKED:
        return "0"
    scaling = version.scaling.at_least(entry.floor)
    if scaling.owned:
        return f"{scaling.min}-{scaling.max} {scaling.type}"
    return str(scaling.replicas)


def aligned(rows: Sequence[Row]) -> list[str]:
    """Rows as lines of equal columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
