"""Guards removed one at a time: a guard that nobody misses is none, or the world is too kind.

A guard of ``decide`` is a function that says what stands in the way, or nothing. Without it, it always
says nothing. Beside the guards there are the habits that they rest on: how counters are read, what
clocks remember, and what the job asks before it writes.

Some guards stand behind others: what one of them lets pass, another one stops. Such a guard is
removed together with those before it, and only counts if those alone are not missed.
"""

from __future__ import annotations

import importlib
from bisect import bisect_right
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import isfinite

from gati_gitops.decide.counters import Uncountable
from gati_gitops.decide.observation import Gap
from tests.simulator.scraped import DEAD, MUTE, NAN, RENAMED
from tests.simulator.stories import TO_ZERO

COMING = frozenset(("canary", "step", "blue-green", "direct", "manual", "many", "return"))
LEAVING = frozenset(("drain", "kept", "rejected", "parked", "retire", "many"))


@dataclass(frozen=True, slots=True)
class Mutant:
    """One guard, where it stands, and what it does when it is gone."""

    name: str
    where: str
    """Module and attribute; more than one where a module has taken it over by name."""
    without: object = ""
    """What it says then; or a function, to be called in its place."""
    stories: frozenset[str] = COMING | LEAVING
    behind: tuple[str, ...] = ()
    """Guards that stop most of what it stops."""


def mutants() -> dict[str, Mutant]:
    """All guards by name."""
    found: list[Mutant] = []
    for module, lists, stories in GUARDS:
        known = importlib.import_module(f"gati_gitops.decide.{module}")
        for name in [name for one in lists for name in getattr(known, one)]:
            where = f"gati_gitops.decide.{module}.{name}"
            found.append(Mutant(name, where, "", stories, BEHIND.get(name, ())))
    return {mutant.name: mutant for mutant in (*found, *HABITS)}


GUARDS = (
    ("before_traffic", ("__all__",), COMING),
    ("called", ("CALLS", "NEVER"), LEAVING),
    ("unproved", ("GAPS",), LEAVING),
    ("still_needed", ("BLOCKS", "TIMES"), LEAVING),
)
"""Modules, the names in them under which their guards are listed, and where those are asked."""

KINDER = {
    "quick pushes": Mutant("", "tests.simulator.job.push_takes", 2.0),
    "fine scrapes": Mutant("", "tests.simulator.setup.Setup.scraping", None),
    "short memory": Mutant("", "tests.simulator.schedule.idle_for", 1),
    "somebody": Mutant("", "tests.simulator.trouble.somebody_acts", without=True),
    "edits": Mutant("", "tests.simulator.people.drawn_act", "edit"),
    "short edits": Mutant("", "tests.simulator.people.drawn_patience", 28.0),
    "trouble elsewhere": Mutant("", "tests.simulator.trouble.fails_elsewhere", without=True),
    "mute gateway": Mutant("", "tests.simulator.setup.drawn_gateway", without=False),
    "sleepers": Mutant("", "tests.simulator.schedule.drawn_scaling", TO_ZERO),
    "dead scrapes": Mutant("", "tests.simulator.setup.drawn_fault", DEAD),
    "its own scrapes": Mutant("", "tests.simulator.setup.drawn_target", "subject"),
    "long grace": Mutant("", "tests.simulator.schedule.drawn_grace", 150),
    "short looks": Mutant("", "tests.simulator.setup.drawn_memory", 0.2),
    "other roads": Mutant("", "tests.simulator.clients.drawn_client", "direct"),
    "long calls": Mutant("", "tests.simulator.clients.drawn_length", 240.0),
    "no numbers": Mutant("", "tests.simulator.setup.drawn_fault", NAN),
    "mute gauges": Mutant("", "tests.simulator.setup.drawn_fault", MUTE),
    "lost names": Mutant("", "tests.simulator.setup.drawn_fault", RENAMED),
    "bad gateway": Mutant("", "tests.simulator.setup.drawn_target", "gateway"),
}
"""Worlds that lack a fault, so that the one before a guard has nothing to stop; or where whoever was
named is not kept for long, so that nothing but what a look shows stands between it and its end; or
where what a guard is for is no longer rare."""
FORGETFUL = (
    "requests_were_counted", "requests_are_open", "gateway_has_open_requests",
    "open_requests_are_unknown", "pods_changed",
)  # fmt: skip
BEHIND: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(FORGETFUL, ("short memory",)),
    "outage_is_too_young": ("short memory", "other roads", "sleepers"),
    "pods_are_unread": (
        "short memory",
        "other roads",
        "dead scrapes",
        "its own scrapes",
        "gauges_are_unread",
        "counters_are_unread",
    ),
    "route_was_changed": ("somebody", "edits", "short edits"),
    "names_are_unproved": (
        "short memory",
        "lost names",
        "other roads",
        "its own scrapes",
        "gauges_are_unread",
    ),
    "others_are_unread": ("trouble elsewhere",),
    "counters_are_unread": ("short memory", "other roads", "no numbers"),
    "gateway_is_unread": ("dead scrapes", "bad gateway"),
    "gauges_are_unread": ("short memory", "other roads", "long calls", "mute gauges"),
    "gateway_names_are_unproved": ("short memory", "lost names", "bad gateway"),
    "evidence_is_old": ("evidence_may_be_late", "quick pushes"),
    "cluster_look_is_old": ("evidence_may_be_late", "quick pushes"),
    "look_is_too_short": (
        "pods_are_unread",
        "gauges_are_unread",
        "gateway_is_unread",
        "fine scrapes",
        "short memory",
        "short looks",
        "long grace",
    ),
}


def _range(series, since, until, *, stale):
    """How far a counter got, whether or not it began again on the way."""
    times, values = series.times, series.values
    first, last = bisect_right(times, since), bisect_right(times, until)
    part = [value for value in values[max(first - 1, 0) : last] if isfinite(value)]
    if not part or until - times[last - 1] > stale:
        raise Uncountable(Gap.STALE, f"{series.labels} has gone")
    return max(part) - min(part), 0.0 if first else part[0]


_D = "gati_gitops.decide."
HABITS = (
    Mutant("counters_may_fall", f"{_D}traffic.grown", _range, COMING, ("mute gateway",)),
    Mutant("looks_may_disagree", f"{_D}drain.agreed {_D}parked.agreed", "", LEAVING),
    Mutant("names_are_forgotten", f"{_D}quiet.heard", lambda *seen: seen[-1], LEAVING),
    Mutant("chance_is_proof", f"{_D}checks.proves_more", lambda wrong, *_: wrong > 0, COMING),
    Mutant("held_may_move", f"{_D}decide._held", None),
    Mutant("glass_is_no_word", f"{_D}decide._by_hand", None),
    Mutant("windows_are_open", f"{_D}decide._closed"),
    Mutant("ledger_may_have_moved", "tests.simulator.job.has_moved", without=False),
    Mutant("evidence_may_be_late", "tests.simulator.job.is_late", without=False),
)


@contextmanager
def without(*names):
    """While this lasts, these guards say nothing."""
    known = mutants()
    with ExitStack() as stack:
        for name in names:
            mutant = known.get(name) or KINDER[name]
            for place in mutant.where.split():
                owner, _, attribute = place.rpartition(".")
                _replace(stack, _found(owner), attribute, mutant.without)
        yield


def _found(owner):
    """A module, or a class in one."""
    module, _, last = owner.rpartition(".")
    if last[:1].isupper():
        return getattr(importlib.import_module(module), last)
    return importlib.import_module(owner)


def _replace(stack, module, attribute, instead):
    kept = getattr(module, attribute)
    stack.callback(setattr, module, attribute, kept)
    setattr(module, attribute, instead if callable(instead) else lambda *_, **__: instead)
