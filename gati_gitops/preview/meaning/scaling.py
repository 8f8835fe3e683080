"""How many pods run, and who decides it."""

from __future__ import annotations

from collections.abc import Iterator

from gati_gitops.ledger.model import SCALED
from gati_gitops.preview.meaning.scene import UnitScene
from gati_gitops.preview.model import Action, Finding, Level, State

_RUNNING = frozenset(str(phase) for phase in SCALED)


def scaling(unit: UnitScene) -> Iterator[Finding]:
    for version in unit.review.versions:
        before, after = version.before, version.after
        if before is None or after is None or not _runs(before) or not _runs(after):
            continue
        at = ("spec", "autoscaling") if after.scaler != "none" else ("spec", "replicas")
        if before.scaler != after.scaler:
            yield unit.finding(
                "scaler-changed",
                Level.WARNING,
                f"the pods of version {version.id} are counted by {_owner(after)} instead of"
                f" {_owner(before)}",
                version=version.id,
                at=at,
                before=before.scaler,
                after=after.scaler,
            )
        if (before.min, before.max) == (after.min, after.max):
            continue
        lost = before.min > 0 and after.min == 0
        yield unit.finding(
            "scaled-to-zero" if lost else "scaling-bounds",
            Level.WARNING if lost else Level.NOTE,
            f"version {version.id} may be without pods: {_bounds(before)} → {_bounds(after)} pods"
            if lost
            else f"version {version.id}: {_bounds(before)} → {_bounds(after)} pods",
            version=version.id,
            at=at,
            before=_bounds(before),
            after=_bounds(after),
        )


def budgets(unit: UnitScene) -> Iterator[Finding]:
    """Disruption budgets of versions that go on running."""
    for version, change in unit.changes("PodDisruptionBudget"):
        found = unit.version(version)
        runs = found is None or (found.after is not None and _runs(found.after))
        if change.action is Action.DELETE and runs and unit.after is not None:
            yield unit.finding(
                "disruption-budget",
                Level.WARNING,
                f"version {version} has no disruption budget any more: a drained node may take all"
                " of its pods at once",
                version=version,
                at=("spec", "replicas"),
                change=change,
            )
        elif change.action is Action.CHANGE and change.fields:
            yield unit.finding(
                "disruption-budget",
                Level.NOTE,
                f"the disruption budget of version {version} changes",
                version=version,
                at=("spec", "replicas"),
                change=change,
            )


def _runs(state: State) -> bool:
    return state.phase in _RUNNING


def _bounds(state: State) -> str:
    return str(state.min) if state.min == state.max else f"{state.min} to {state.max}"


def _owner(state: State) -> str:
    names = {"none": "Git", "hpa": "a HorizontalPodAutoscaler", "keda": "KEDA"}
    return names.get(state.scaler, state.scaler)
