"""Guards: why a version may not get more traffic now, or why traffic may not go back.

Each says one thing that stands in the way, or nothing. They are called by the name of this module,
so that a test can take one away and see what happens then.
"""

from __future__ import annotations

from gati_gitops.decide.observation import Engine, EngineState, Gap, Missing
from gati_gitops.decide.ready import unready
from gati_gitops.decide.shown import version_differs
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import some, span
from gati_gitops.plan.timescape import MAX_HOPS, hops

__all__ = [
    "engine_does_not_sync", "evidence_is_old", "job_cannot_write", "nobody_could_take_it",
    "others_are_unread", "pods_are_missing", "pods_began_again", "route_was_changed",
    "stable_cannot_carry", "step_is_not_shown", "they_cannot_share",
]  # fmt: skip

SCRAPE = 15.0
"""Seconds between scrapes where nothing is scraped."""


def step_is_not_shown(unit: Unit, sight: Sight) -> str:
    """The cluster must show the step that the ledger has before there is a next one."""
    return unit.differs or version_differs(unit, sight)


def pods_are_missing(unit: Unit, sight: Sight) -> str:
    """A version that gets traffic has all of its pods."""
    return unready(sight)


def pods_began_again(unit: Unit, sight: Sight) -> str:
    """Who falls over is judged from when it stood up: the step lasts as long from there."""
    since = unit.now - sight.clock.fell
    if not sight.clock.fell or since >= unit.rules.step_for:
        return ""
    return f"a pod of it began again {span(since)} ago"


def route_was_changed(unit: Unit, sight: Sight) -> str:
    """A step lasts in one piece; what looks as it did may have been otherwise in between."""
    since = unit.now - sight.clock.stirred
    if not sight.clock.stirred or since >= unit.rules.step_for:
        return ""
    return f"its route was changed {span(since)} ago"


def job_cannot_write(unit: Unit, sight: Sight) -> str:
    """Who cannot take a step back takes none forward."""
    why = unit.around.cannot_write
    return f"a rollback could not be written: {why}" if why else ""


def engine_does_not_sync(unit: Unit, sight: Sight) -> str:
    """Nor does one whose rollback nobody would apply."""
    engine = unit.live.engine
    if isinstance(engine, Engine):
        if engine.state in (EngineState.SUSPENDED, EngineState.STUCK):
            return f"the sync engine is {engine.state}: {engine.why or 'it does not say why'}"
        return ""
    if engine.gap is Gap.UNSUPPORTED:  # none is configured here
        return ""
    return f"the sync engine's state is not known: {engine}"


def others_are_unread(unit: Unit, sight: Sight) -> str:
    """It may have been rejected where the ledger cannot be read."""
    why = unit.around.unread
    return f"what was rejected elsewhere is not known: {why}" if why else ""


def stable_cannot_carry(unit: Unit, sight: Sight) -> str:
    """The Active version could take all of the traffic back at any moment."""
    active = unit.beside(sight)
    if active is None:
        return ""
    workload = active.workload
    wanted = max(1, active.entry.floor, active.fewest)
    if workload is None or workload.ready < wanted:
        return f"{active.id} has {active.ready} of the {some(wanted, 'pod')} that it needs"
    if workload.ready_endpoints < 1:
        return f"no address of {active.id} takes requests"
    return ""


def they_cannot_share(unit: Unit, sight: Sight) -> str:
    """A version that breaks with the Active one shares traffic only with a translation."""
    active, planned = unit.beside(sight), sight.planned
    if active is None or planned is None or not planned.breaking:
        return ""
    known = [name for version in unit.plan.versions for name in version.transformers]
    between = hops(known, active.id, sight.id)
    if between is not None and between <= MAX_HOPS:
        return ""
    return (
        f"it breaks with {active.id}, and no chain of transformers leads from there to it;"
        " it can have all of the traffic at once, by strategy blue-green, but no share of it"
    )


def evidence_is_old(unit: Unit, sight: Sight) -> str:
    """What was seen too long ago says nothing of now."""
    said, seen_at, scrape = sight.telemetry, unit.live.at, SCRAPE
    if not isinstance(said, Missing):
        seen_at, scrape = min(seen_at, said.window.at), said.window.scrape
    age = unit.judged - seen_at
    return f"what was seen is {span(age)} old" if age > 2 * scrape + 30 else ""


def nobody_could_take_it(unit: Unit, to: Sight) -> str:
    """Traffic never goes back to a version that has nobody to answer it.

    It should have its fewest pods. One that has been short of them for long takes what it can: the
    version that fails may be what keeps it from getting more.
    """
    workload = to.workload
    if workload is None or workload.ready < 1 or workload.ready_endpoints < 1:
        return f"{to.id} has no pod that takes requests"
    unready = to.clock.unready
    short = unready and unit.now - unready >= unit.rules.progress_deadline
    if workload.ready < to.fewest and not short:
        return f"{to.id} has {workload.ready} of its {some(to.fewest, 'pod')}"
    return ""
