"""Pass after pass, until somebody says stop.

There is one pass at a time. Between two of them is an interval, a little more or less of it, so
that jobs that began together do not go on together; while Git fails it grows. Whoever is told to
stop finishes the pass that is under way, and one that is killed leaves nothing that the next would
not put right. A pass that never ends is ended, with the process.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Timer
from typing import TypeVar

from gati_gitops.errors import GatiError, Outside
from gati_gitops.reconcile.fence import LostFence
from gati_gitops.reconcile.run import Job, Passed, run_pass

T = TypeVar("T")
JITTER = 0.1
LONGEST = 300.0
"""Seconds to which the interval grows while Git fails."""


def ended(seconds: float) -> None:
    """End a process whose pass does not."""
    print(  # noqa: T201 - nobody is left to print for us
        f"error: a pass took longer than {seconds:.0f} s; the process ends, and the next goes on",
        file=sys.stderr,
        flush=True,
    )
    os._exit(4)


def pause_after(failed: int, interval: float, random: Callable[[], float]) -> float:
    """Seconds until the next try, after so many in a row that Git failed."""
    spread = 1 + JITTER * (2 * random() - 1)
    grown = interval * 2.0 ** min(max(failed - 1, 0), 8)
    return max(interval, min(LONGEST, grown)) * spread


def insist(
    make: Callable[[], T],
    tell: Callable[[Outside], None],
    interval: float,
    stop: Event,
    random: Callable[[], float] = random.random,
) -> T | None:
    """What is needed to begin, tried until it can be had; None if told to stop before.

    An outage is no reason to end: whoever starts the process again could do no more than this.
    """
    for tries in count(1):
        try:
            return make()
        except Outside as error:
            tell(error)
        if stop.wait(pause_after(tries, interval, random)):
            break
    return None


@dataclass(slots=True)
class Watch:
    """How passes follow one another."""

    job: Job
    interval: float = 60.0
    deadline: float = 600.0
    """Seconds that a pass may take."""
    leader: Callable[[float], bool] | None = None
    """Waits so many seconds to lead; None: nobody else contends."""
    tell: Callable[[Passed | GatiError], None] = lambda _: None
    stop: Event = field(default_factory=Event)
    overdue: Callable[[float], None] = ended
    random: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], object] | None = None
    """Waits, or until told to stop."""

    def run(self) -> int:
        """Watch until stopped; how many passes were made. Raises LostFence."""
        number = failed = 0
        led = False
        while not self.stop.is_set():
            if not self._leads():
                led = False
                continue
            if not led:  # others may have led meanwhile
                self.job.fence.renew()
                led = True
            number += 1
            began = self.clock()
            failed = 0 if self._pass(number) else failed + 1
            if not self.stop.is_set():
                self._pause(self.clock() - began, failed)
        return number

    def _pass(self, number: int) -> bool:
        """Whether Git answered; a cluster that does not is no reason to leave the others alone."""
        try:
            with self._limited():
                passed = run_pass(self.job, number)
        except LostFence as error:
            if error.foreign or self.leader is None:
                raise
            self.tell(error)
            self.job.fence.renew()
            return False
        except GatiError as error:
            self.tell(error)
            return False
        self.tell(passed)
        return passed.error is None

    def _leads(self) -> bool:
        return self.leader is None or self.leader(self.interval)

    def _pause(self, took: float, failed: int) -> None:
        pause = pause_after(failed, self.interval, self.random)
        (self.wait or self.stop.wait)(max(0.0, pause - took))

    @contextmanager
    def _limited(self) -> Iterator[None]:
        timer = Timer(self.deadline, self.overdue, (self.deadline,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
