"""Guards removed one at a time: a guard that nobody misses is none, or the world is too kind.

A guard of ``decide`` is a function that says what stands in the way, or nothing. Without it, it always
says nothing. Beside the guards there are the habits that they rest on: how counters are read, what
clocks forget, and what the job asks before it writes.
"""

from __future__ import annotations

import importlib
import multiprocessing
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.simulator.schedule import run

ENOUGH = 40_000
"""Schedules in which a missing guard must show."""
PART = 500


@dataclass(frozen=True, slots=True)
class Mutant:
    """One guard, where it stands, and what it says when it is gone."""

    name: str
    module: str
    attribute: str
    says: Any


def _guards(module, lists):
    found = importlib.import_module(module)
    names = [name for one in lists for name in getattr(found, one)]
    return [Mutant(name, module, name, "") for name in names]


def mutants() -> dict[str, Mutant]:
    """All guards by name."""
    found = [mutant for row in GUARDS for mutant in _guards(*row)]
    found += [Mutant(*row) for row in HABITS]
    return {mutant.name: mutant for mutant in found}


GUARDS = (
    ("gati_gitops.decide.before_traffic", ("__all__",)),
    ("gati_gitops.decide.called", ("CALLS", "NEVER")),
    ("gati_gitops.decide.unproved", ("GAPS",)),
    ("gati_gitops.decide.still_needed", ("BLOCKS",)),
)
"""Modules, and the names in them under which their guards are listed."""
HABITS = (
    ("counters_may_fall", "gati_gitops.decide.counters", "checked", None),
    ("series_may_be_twice", "gati_gitops.decide.traffic", "alike", None),
    ("samples_may_be_missing", "gati_gitops.decide.traffic", "unscraped", ""),
    ("ledger_may_have_moved", "tests.simulator.job", "has_moved", False),
    ("evidence_may_be_late", "tests.simulator.job", "is_late", False),
)


@contextmanager
def without(name):
    """While this lasts, a guard says nothing."""
    mutant = mutants()[name]
    module = importlib.import_module(mutant.module)
    kept = getattr(module, mutant.attribute)
    setattr(module, mutant.attribute, lambda *_, **__: mutant.says)
    try:
        yield
    finally:
        setattr(module, mutant.attribute, kept)


def first_caught(seed, name, most=ENOUGH):
    """How many schedules it takes until a missing guard does harm, and what harm; 0: none."""
    from gati_gitops.decide.decide import decide

    with without(name):
        for number in range(most):
            result = run(seed, number, decide)
            if result.unsafe:
                return number + 1, result.unsafe[0]
    return 0, ("", "")


def _one(task):
    seed, name, most = task
    began = time.monotonic()
    return name, *first_caught(seed, name, most), time.monotonic() - began


def mutations(seed, processes, most=ENOUGH) -> int:
    """Remove each guard in turn, and say how soon that is seen."""
    tasks = [(seed, name, most) for name in mutants()]
    missed = 0
    print(f"{'without':28} {'seen after':>12}  harm")
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for name, after, (kind, text), _ in pool.imap(_one, tasks, chunksize=1):
            missed += not after
            seen = f"{after:,}" if after else "never"
            print(f"{name:28} {seen:>12}  {kind}{': ' if text else ''}{text}", flush=True)
    print(f"{len(tasks) - missed} of {len(tasks)} guards are missed when they are gone")
    return 1 if missed else 0
