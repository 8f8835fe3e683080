"""What happens after the merge: what waits for what, and in which steps traffic moves."""

from __future__ import annotations

from collections.abc import Iterator

from gati_gitops.ledger.model import Phase
from gati_gitops.preview.meaning.scene import UnitScene
from gati_gitops.preview.model import Finding, Level, State, VersionReview

Told = tuple[str, str, str]
"""A finding's code, the version, and the sentence."""


def rollout(unit: UnitScene) -> Iterator[Told]:
    """What the ledgers, and who reads them, will do with this change, in order."""
    after = unit.after
    if after is None:
        return
    if after.ledger.hold and _waits(unit):
        yield "held", "", f"held ({after.ledger.hold}): nothing moves until somebody releases it"
    if after.ledger.retiring:
        yield "unit-retires", "", "it serves until nobody calls it, then it is parked and goes"
        return
    for version in unit.review.versions:
        if version.after is not None:
            yield from _version(unit, version, version.before, version.after)
        elif unit.scene.first:
            told = "is no longer in the specs: where it runs it drains, and then goes"
            yield "rollout", version.id, f"{version.id} {told}"
    known = unit.before.notes if unit.before is not None else ()
    yield from (
        ("rollout", "", note)
        for note in after.notes
        if note not in known and not note.startswith(("held", "retiring"))
    )


def _waits(unit: UnitScene) -> bool:
    return any(
        version.after is not None
        and (version.after.phase == Phase.PENDING or version.after.waiting)
        for version in unit.review.versions
    )


def _version(
    unit: UnitScene, version: VersionReview, before: State | None, after: State
) -> Iterator[Told]:
    id = version.id
    if after.waiting and (before is None or before.waiting != after.waiting):
        yield "promotion", id, f"the change of {id} {_awaits(unit)}"
    same = before is not None and before.phase == after.phase and not version.was
    if after.phase == Phase.PENDING and (not same or (before and before.digest != after.digest)):
        yield "promotion", id, f"{id} {_awaits(unit)}{_then(unit, id)}"
    elif same:
        return
    elif after.phase == Phase.STARTING:
        yield "rollout", id, f"{id} starts without traffic{_then(unit, id)}"
    elif after.phase == Phase.CANARY:
        yield "rollout", id, f"{id} has {after.weight} % of the traffic{_then(unit, id)}"
    elif after.phase == Phase.ACTIVE and unit.scene.first and version.was:
        yield "rollout", id, _replaces(unit, id, version.was)
    elif after.phase == Phase.ACTIVE and before is None:
        yield "rollout", id, f"{id} serves at once: it is the first that is published here"
    elif after.phase == Phase.DRAINING:
        yield "rollout", id, f"{id} answers only who names it, until nobody does; then it goes"
    elif after.phase == Phase.PARKED:
        yield "rollout", id, f"{id} has no pods any more; who names it gets 503"


def _replaces(unit: UnitScene, id: str, was: str) -> str:
    return (
        f"{id} replaces {was}: where {was} runs, {id} starts without traffic{_then(unit, id)}, and"
        f" {was} serves until then"
    )


def _awaits(unit: UnitScene) -> str:
    """What a version that waits is waiting for."""
    after = unit.after
    assert after is not None
    promotion = unit.settings.get("promotion") or {}
    if after.ledger.hold:
        return "waits until somebody releases the unit"
    if promotion:
        return (
            f"waits until {promotion.get('after')} has had it Active for {promotion.get('dwell')}"
        )
    rolling = after.ledger.rolling
    if rolling is not None:
        return f"waits until the rollout of {rolling.id} has ended"
    return "waits for its turn"


def _then(unit: UnitScene, id: str) -> str:
    """How a version gets its traffic."""
    after = unit.after
    assert after is not None
    rules = unit.settings.get("rollout") or {}
    strategy = rules.get("strategy", "manual")
    if after.plan.route is None:
        return "; then callers reach it as soon as it is ready"
    if strategy == "manual":
        weight = next((v.weight for v in after.plan.versions if v.id == id), None) or 0
        return f"; it gets {weight} % when somebody releases it" if weight else ""
    if id != after.plan.target:
        return "; it is not what the rollout aims at, so it gets none"
    steps = [str(step) for step in rules.get("steps") or ()]
    if strategy == "canary":
        return f"; then {' → '.join(['0', *steps])} % as the evidence allows"
    if strategy == "blue-green":
        return "; once it is ready and proved it takes all traffic at once"
    return "; once it is ready it takes all traffic"


def findings(unit: UnitScene) -> Iterator[Finding]:
    for code, version, sentence in rollout(unit):
        if code == "unit-retires":
            continue  # told with what goes
        level = Level.WARNING if code == "held" else Level.NOTE
        at = ("spec", "version") if version else ("spec",)
        yield unit.finding(code, level, f"{unit.review.unit}: {sentence}", version=version, at=at)
