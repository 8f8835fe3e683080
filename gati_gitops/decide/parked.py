"""A version without pods, and a name that only a tombstone answers for.

Whoever calls what is parked gets an error from the gateway, once: the gateway counts it, and that
brings the pods back. Only what nobody asked for, without a moment unseen, is removed.
"""

from __future__ import annotations

from gati_gitops.decide import called, still_needed, unproved
from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.judged import Judged
from gati_gitops.decide.look import look_back, told
from gati_gitops.decide.observation import Telemetry
from gati_gitops.decide.quiet import agreed, passed
from gati_gitops.decide.verdict import Fact, Move, Verdict
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import span

GAPS = (
    "metrics_are_missing", "look_is_too_short", "cluster_look_is_old", "state_is_too_young",
    "gateway_is_unread", "gateway_names_are_unproved",
)  # fmt: skip
"""Of what is asked of a version that drains, what there is to ask of one without pods."""


def parked(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """Judge a version without pods: it comes back, stays, or is removed."""
    sight = sight.at(clock)
    if calls := called.gateway_counted_requests(unit, sight):
        why = f"{sight.id} is parked, and {calls}: its pods come back"
        clock = clock._replace(quiet=0.0, passes=0, passed=0.0, pinned=unit.now)
        move = Move(Verdict.REVIVE, *sight.entry.key, reason=why)
        return Judged(Verdict.REVIVE, why, clock, (_fact("calls", calls),), move)
    never = called.gateway_counts_nothing(unit, sight)
    gap = next((why for why in _gaps(unit, sight) if why), "")
    said = told(sight)
    unread = bool(never or unproved.gateway_is_unread(unit, sight))
    clock = _unbroken(unit, clock, said, complete=not (gap or never), unread=unread)
    sight = sight.at(clock)
    facts = (
        _fact("calls", ""),
        _fact("unseen", gap or never),
        _fact("needed", still_needed.somebody_refers_to_it(unit, sight)),
        Fact("quiet for", _quiet(unit, clock), f">= {span(unit.rules.park_for)}"),
    )
    name = f"{sight.id} is parked"
    if never:
        retire = f"retire {unit.name} {sight.id} --env {unit.plan.environment}"
        why = f"{name}, and only a person can say when it may go ({never}): {retire}"
        return Judged(Verdict.WAIT, why, clock, facts)
    if why := ("" if clock.shown else gap) or _stays(unit, sight, clock) or gap:
        verdict = Verdict.INCONCLUSIVE if gap and clock.shown else Verdict.WAIT
        return Judged(verdict, f"{name}: {why}", clock, facts)
    why = f"{name}, and nobody called it for {_quiet(unit, clock)}"
    if not unit.rules.automatic:
        return Judged(Verdict.WAIT, f"{why}: a person may remove it", clock, facts)
    if unit.ledger.retiring:
        return Judged(Verdict.RETIRE, why, clock, facts)
    why = f"{why}: it goes, and its name fails loudly for {span(unit.rules.tombstone_for)}"
    return Judged(
        Verdict.REMOVE, why, clock, facts, Move(Verdict.REMOVE, *sight.entry.key, reason=why)
    )


def _gaps(unit: Unit, sight: Sight) -> list[str]:
    return [getattr(unproved, name)(unit, sight) for name in GAPS]


def _unbroken(
    unit: Unit, clock: VersionClock, said: Telemetry | None, *, complete: bool, unread: bool
) -> VersionClock:
    """Without pods only the gateway can tell: a moment in which nobody read it starts anew."""
    longest = look_back(unit, said) if said is not None else unit.rules.grace
    before = clock.quiet
    clock = passed(unit, clock, calls="", complete=complete, longest=longest)
    if said is None:
        return clock._replace(quiet=before)
    if unread or not clock.shown:
        return clock._replace(quiet=0.0, marked=said.window.at)
    hole = said.window.at - longest > clock.marked
    return clock._replace(
        quiet=unit.now if hole or not before else before,
        marked=said.window.at,
    )


def _stays(unit: Unit, sight: Sight, clock: VersionClock) -> str:
    """Why a version that nobody calls is not removed yet."""
    planned = sight.planned
    quiet = unit.now - clock.quiet if clock.quiet else 0.0
    if why := still_needed.somebody_refers_to_it(unit, sight):
        return why
    if planned is not None and not planned.gone and not unit.ledger.retiring:
        return "the specs still have it"
    if quiet < unit.rules.park_for:
        return f"nobody called it for {span(quiet)} of {span(unit.rules.park_for)}"
    return agreed(unit, clock)


def _quiet(unit: Unit, clock: VersionClock) -> str:
    return span(unit.now - clock.quiet) if clock.quiet else "0s"


def _fact(name: str, why: str) -> Fact:
    return Fact(name, why or "none", "none", ok=not why)


# -- what is left of a name ------------------------------------------------------------------------


def removed(unit: Unit, sight: Sight, clock: VersionClock) -> Judged:
    """A tombstone goes when its time is over; what was judged bad is never forgotten."""
    entry, rules = sight.entry, unit.rules
    stood = unit.now - clock.since if clock.since else 0.0
    if entry.barred or entry.revoked:
        return Judged(Verdict.STEADY, f"{sight.id} was removed, and is remembered as bad", clock)
    wanted = unit.plan.wanted
    if wanted is not None and any(version.id == sight.id for version in wanted.versions):
        return Judged(Verdict.STEADY, f"{sight.id} was removed, and the specs have it", clock)
    if stood < rules.tombstone_for:
        why = f"{sight.id} was removed; its name fails loudly for {span(rules.tombstone_for)}"
        return Judged(Verdict.STEADY, why, clock)
    why = f"{sight.id} was removed {span(stood)} ago: its name is free"
    return Judged(Verdict.REMOVE, why, clock, (), Move(Verdict.REMOVE, *entry.key, reason=why))
