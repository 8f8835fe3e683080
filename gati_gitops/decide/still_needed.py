"""Guards: nobody calls a version, and yet something needs it.

Each says what does, or nothing. They are called by the name of this module, so that a test can take
one away and see what happens then.
"""

from __future__ import annotations

from gati_gitops.decide.look import is_asleep
from gati_gitops.decide.observation import Missing
from gati_gitops.decide.ready import unready
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import joined, span

BLOCKS = ("somebody_refers_to_it", "nobody_else_serves", "successor_is_in_doubt")
"""What must not be so in any look that counts."""
TIMES = ("it_is_the_way_back", "somebody_named_it", "specs_have_it")
"""What passes with time, while looks go on to agree."""


def it_is_the_way_back(unit: Unit, sight: Sight) -> str:
    """For a while, whoever served before can serve again at once."""
    if sight.entry.barred or unit.ledger.retiring:
        return ""
    clock = sight.clock
    stood = unit.now - max(clock.since, clock.back) if clock.since and clock.back >= 0 else 0.0
    if stood >= unit.rules.rollback_for:
        return ""
    return f"it is the way back for {span(unit.rules.rollback_for - stood)} more"


def somebody_named_it(unit: Unit, sight: Sight) -> str:
    """Who asked for it by name will ask again, perhaps next week."""
    named = sight.clock.pinned
    if not named or unit.now - named >= unit.rules.idle_for:
        return ""
    return f"it was called by name {span(unit.now - named)} ago, wanted {span(unit.rules.idle_for)}"


def specs_have_it(unit: Unit, sight: Sight) -> str:
    """What the specs still list may be asked for by name any day."""
    planned, entry = sight.planned, sight.entry
    if planned is None or planned.gone or entry.barred or unit.ledger.retiring:
        return ""
    quiet = unit.now - sight.clock.quiet if sight.clock.quiet else 0.0
    if quiet >= unit.rules.idle_for:
        return ""
    return f"the specs have it, and it is quiet for {span(quiet)} of {span(unit.rules.idle_for)}"


def somebody_refers_to_it(unit: Unit, sight: Sight) -> str:
    """Other routes, in any namespace, and other units in Git."""
    callers = unit.around.callers.get(sight.id, ())
    if callers:
        return f"{joined(callers)} names it"
    found = unit.live.references
    if isinstance(found, Missing):
        return f"who refers to it is not known: {found}"
    others = found.get(sight.planned.name, ()) if sight.planned is not None else ()
    return f"{joined(others)} still refers to it" if others else ""


def nobody_else_serves(unit: Unit, sight: Sight) -> str:
    """Unless the whole unit goes, another version answers those who name none."""
    if unit.ledger.retiring:
        return ""
    active = unit.beside(sight)
    if active is None:
        return "no other version serves"
    if is_asleep(active) and not active.fewest:
        return ""  # it wakes when it is called
    return f"{active.id} is not ready: {why}" if (why := unready(active)) else ""


def successor_is_in_doubt(unit: Unit, sight: Sight) -> str:
    """Where the Active version was rejected, the one before it is still needed."""
    active = unit.beside(sight)
    if active is None or unit.ledger.retiring or sight.entry.barred:
        return ""
    where = unit.around.judged.get(active.entry.key)
    if where is None and unit.around.unread:
        return f"whether {active.id} was rejected elsewhere is not known: {unit.around.unread}"
    if where is not None:
        return f"{active.id} was rejected in {where}, so it may be needed again"
    return f"{active.id} is being left" if active.entry.barred else ""
