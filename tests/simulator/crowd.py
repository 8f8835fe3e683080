"""Many schedules on all cores; the sum does not depend on how many there are."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import time

from tests.simulator.rules import OURS, rules_named
from tests.simulator.schedule import run
from tests.simulator.tally import Sum

PART = 250


def prepare():
    """A world is dropped as a whole: looking for its loops all the time would cost a tenth."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)


def some(task):
    """Play a part of the schedules."""
    seed, first, last, name = task
    found = Sum()
    with rules_named(name) as decide:
        for number in range(first, last):
            found.add(run(seed, number, decide))
    return found


def all_of(seed, schedules, name, processes, *, quiet=False):
    """Play schedules 0 to ``schedules``."""
    tasks = [
        (seed, first, min(first + PART, schedules), name) for first in range(0, schedules, PART)
    ]
    total, began = Sum(), time.monotonic()
    if processes == 1:
        prepare()
        for task in tasks:
            part = some(task)
            total += part
            warn(name, part, quiet)
            tell(name, total, schedules, began, quiet)
    else:
        with multiprocessing.get_context("fork").Pool(processes, prepare) as pool:
            for part in pool.imap_unordered(some, tasks):
                total += part
                warn(name, part, quiet)
                tell(name, total, schedules, began, quiet)
    if not quiet:
        print(file=sys.stderr)
    return total


def warn(name, part, quiet):
    """Say at once what is unsafe by our own rules: whoever waits an hour for the report can begin."""
    if quiet or name != OURS:
        return
    for number, kind, text in part.named:
        print(f"{name}: schedule {number}: {kind}: {text}", file=sys.stderr, flush=True)


def tell(name, total, schedules, began, quiet):
    if quiet:
        return
    past = time.monotonic() - began
    left = past / total.schedules * (schedules - total.schedules)
    line = (
        f"{name}: {total.schedules:,} of {schedules:,}, {total.unsafe:,} unsafe,"
        f" {past:.0f} s, {left:.0f} s left"
    )
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
    elif total.schedules % (schedules // 10 or 1) < PART:
        print(line, file=sys.stderr, flush=True)
