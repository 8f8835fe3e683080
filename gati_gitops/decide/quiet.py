"""Whether nobody calls a version: one look, and what it does to the clocks.

All pieces of evidence must be there in one look, and several looks in a row must agree. Whoever is
found to call starts the time anew; what could not be seen only makes the look count for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType

from gati_gitops.decide import called, still_needed, unproved
from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.look import look_back, told
from gati_gitops.decide.named import heard
from gati_gitops.decide.verdict import Fact
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import span

EARLY = 0.9
ASKED = {
    "requests_were_counted": ("requests to its pods", "none"),
    "requests_are_open": ("requests in progress", "none"),
    "gateway_counted_requests": ("requests at the gateway", "none"),
    "gateway_has_open_requests": ("requests in progress at the gateway", "none"),
    "metrics_are_missing": ("metrics", "there"),
    "look_is_too_short": ("how far back samples go", "the grace and more"),
    "cluster_look_is_old": ("look at the cluster", "of this moment"),
    "state_is_too_young": ("weight 0 in the cluster", "for as long as samples go back"),
    "pods_changed": ("pods", "the same all the time"),
    "outage_is_too_young": ("without anybody to answer", "never, or longer than the grace"),
    "pods_are_unread": ("scrapes of its pods", "every one succeeded"),
    "counters_are_unread": ("counters", "complete"),
    "gauges_are_unread": ("gauges of requests in progress", "complete"),
    "gateway_is_unread": ("scrapes of the gateway", "every one succeeded"),
    "names_are_unproved": ("counters of its pods or its successor's", "seen to count"),
    "gateway_names_are_unproved": ("the gateway's counters", "seen to count"),
    "gateway_counts_nothing": ("counters of the gateway", "one for each version"),
    "open_requests_are_unknown": ("requests in progress", "measured"),
    "it_is_the_way_back": ("way back", "not needed"),
    "somebody_named_it": ("calls by name", "none lately"),
    "specs_have_it": ("specs", "without it, or it is idle for long"),
    "somebody_refers_to_it": ("references to it", "none"),
    "nobody_else_serves": ("another version", "serves"),
    "successor_is_in_doubt": ("its successor", "not rejected anywhere"),
}
"""What each guard asks for, and what it wants to hear."""
FINE = {name: Fact(asked, fine, fine, ok=True) for name, (asked, fine) in ASKED.items()}


@dataclass(frozen=True, slots=True)
class Quiet:
    """What a look found."""

    clock: VersionClock
    facts: tuple[Fact, ...]
    calls: str = ""
    """Who calls."""
    gap: str = ""
    """What could not be seen."""
    never: str = ""
    """What nothing here can tell."""
    block: str = ""
    """What needs it though nobody calls."""


def quiet(unit: Unit, sight: Sight, clock: VersionClock) -> Quiet:
    """Look once at a version that is to lose its pods."""
    if not sight.entry.weight:  # the last version of a unit that retires is called without a name
        clock = heard(unit, sight, clock)
    sight = sight.at(clock)
    calls, called_facts = _asked(called, called.CALLS, unit, sight)
    gap, gap_facts = _asked(unproved, unproved.GAPS, unit, sight)
    never, never_facts = _asked(called, called.NEVER, unit, sight)
    said = told(sight)
    longest = look_back(unit, said) if said is not None else unit.rules.grace
    block, block_facts = _asked(still_needed, still_needed.BLOCKS, unit, sight)
    complete = not (calls or gap or never or block)
    clock = passed(unit, clock, calls=calls, complete=complete, longest=longest)
    sight = sight.at(clock)
    time, time_facts = _asked(still_needed, still_needed.TIMES, unit, sight)
    told_facts = called_facts + gap_facts + never_facts + block_facts + time_facts
    return Quiet(clock, (*told_facts, _passes(unit, clock)), calls, gap, never, block or time)


def passed(
    unit: Unit, clock: VersionClock, *, calls: str, complete: bool, longest: float
) -> VersionClock:
    """What a look does to the count of those that agree."""
    if calls:
        return clock._replace(quiet=0.0, passes=0, passed=0.0)
    if not complete:
        return clock._replace(passes=0, passed=0.0)
    waited = unit.now - clock.passed
    if clock.passes and 0 <= waited < EARLY * unit.rules.pass_interval:
        return clock
    in_a_row = clock.passes if 0 <= waited <= longest else 0
    return clock._replace(quiet=clock.quiet or unit.now, passes=in_a_row + 1, passed=unit.now)


def agreed(unit: Unit, clock: VersionClock) -> str:
    """Why looks do not agree for long enough yet; empty: they do."""
    if clock.passes >= unit.rules.passes:
        return ""
    return f"look {clock.passes} of {unit.rules.passes} that agree"


def _asked(
    module: ModuleType, names: tuple[str, ...], unit: Unit, sight: Sight
) -> tuple[str, tuple[Fact, ...]]:
    """The first thing that a group of guards says, and all of them as facts."""
    first, facts = "", []
    for name in names:
        why: str = getattr(module, name)(unit, sight)
        facts.append(replace(FINE[name], value=why, ok=False) if why else FINE[name])
        first = first or why
    return first, tuple(facts)


def _passes(unit: Unit, clock: VersionClock) -> Fact:
    since = f", quiet for {span(unit.now - clock.quiet)}" if clock.quiet else ""
    enough = clock.passes >= unit.rules.passes
    return Fact("looks that agree", f"{clock.passes}{since}", f">= {unit.rules.passes}", ok=enough)
