"""Whether the job lives, and whether it does its work: what the kubelet asks.

It lives while its passes end within their deadline; one that hangs is better begun again. It is
ready when it has made a pass that saw everything, or knows who makes them instead; an outage later
on is told in other ways.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock

from gati_gitops.reconcile.announce import Listener, Pass
from gati_gitops.redact import redact

NEEDED = frozenset(("git", "cluster", "metrics"))
"""What a pass works with; without one of them it can decide little or nothing."""


class Health(Listener):
    """What is known of the passes of this process."""

    def __init__(
        self,
        deadline: float,
        interval: float,
        *,
        contends: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._deadline, self._interval = deadline, interval
        self._contends = contends
        self._clock = clock
        self._lock = Lock()
        self._began: float | None = None
        self._since = clock()
        """When the last pass ended, or it became our turn to make one."""
        self._passes = 0
        self._saw = False
        """Whether a pass has seen everything."""
        self._whole = True
        """Whether the pass under way has, so far."""
        self._missed = ""
        """What could not be seen last."""
        self._leader, self._ours = "", False

    def started(self, this: Pass) -> None:
        with self._lock:
            self._began = self._clock()
            self._whole = True

    def failed(self, source: str, error: str, env: str, cluster: str) -> None:
        if source in NEEDED:
            with self._lock:
                self._whole = False
                self._missed = f"{source}: {error}"

    def ended(self, this: Pass, now: float, waiting: int) -> None:
        with self._lock:
            self._began = None
            self._passes += 1
            self._saw = self._saw or self._whole
            self._since = self._clock()

    def leads(self, leader: str, ours: bool) -> None:
        with self._lock:
            if ours and not self._ours:
                self._since = self._clock()
            self._leader, self._ours = leader, ours

    def alive(self) -> tuple[bool, str]:
        """Whether it should go on living, and why."""
        if not self._contends():
            return False, "nobody contends for the lease any more"
        with self._lock:
            now = self._clock()
            if self._began is not None:
                took = now - self._began
                return took <= self._deadline, f"a pass has been under way for {took:.0f} s"
            if not self._ours:
                return True, f"{self._leader or 'nobody'} leads"
            rest = now - self._since
            return (
                rest <= self._interval + self._deadline,
                f"{self._passes} passes, {rest:.0f} s ago",
            )

    def ready(self) -> tuple[bool, str]:
        """Whether it does what it is there for, and why."""
        with self._lock:
            if not self._ours and self._leader:
                return True, f"{self._leader} leads"
            if self._ours and self._saw:
                return True, f"leads, {self._passes} passes made"
            who = f"leads, {self._passes} passes made" if self._ours else "nobody leads"
            return False, f"{who}; {redact(self._missed)}" if self._missed else who
