"""Guards removed one at a time, in many schedules each, until somebody misses them.

The first schedule in which each is missed is kept beside this, so that a test can play just those.
"""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

from gati_gitops.decide.decide import decide
from tests.simulator.crowd import prepare
from tests.simulator.guards import COMING, LEAVING, mutants, without
from tests.simulator.schedule import run, story_of

ENOUGH = 40_000
"""Schedules in which a missing guard must show."""


MISSED = Path(__file__).with_name("missed.json")
"""By guard: the schedule of the default seed in which it is missed."""


def first_caught(seed, names, stories=COMING | LEAVING, most=ENOUGH):
    """How many schedules it takes until missing guards do harm, and what harm; 0: none."""
    with without(*names):
        for number in range(most):
            if story_of(seed, number) in stories:
                result = run(seed, number, decide)
                if result.unsafe:
                    return number + 1, result.unsafe[0]
    return 0, ("", "")


def _one(task):
    seed, name, most = task
    mutant = mutants()[name]
    after, harm = first_caught(seed, (name, *mutant.behind), mutant.stories, most)
    if mutant.behind and after:  # while it is there, those before it must not be missed so soon
        alone, _ = first_caught(seed, mutant.behind, mutant.stories, after)
        after = 0 if alone else after
    return name, after, harm


def mutations(seed, processes, names=(), *, write=False) -> int:
    """Remove each guard in turn, or those named, and say how soon that is seen."""
    tasks = [(seed, name, ENOUGH) for name in names or mutants()]
    unmissed = 0
    known = json.loads(MISSED.read_text()) if names and MISSED.exists() else {}
    print(f"{'without':28} {'seen after':>12}  harm")
    with multiprocessing.get_context("fork").Pool(processes, prepare) as pool:
        for name, after, (kind, text) in pool.imap(_one, tasks, chunksize=1):
            mutant = mutants()[name]
            unmissed += not after
            if after:
                known[mutant.name] = after - 1
            seen = f"{after:,}" if after else "never"
            behind = f" (behind {', '.join(mutant.behind)})" if mutant.behind else ""
            print(f"{mutant.name:28} {seen:>12}  {kind}: {text}{behind}", flush=True)
    if write:
        MISSED.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
    print(f"{len(tasks) - unmissed} of {len(tasks)} guards are missed when they are gone")
    return 1 if unmissed else 0
