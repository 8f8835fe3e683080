"""Who leads: a Lease in the cluster, as client-go holds it.

One process of several works, and another takes over when it is gone. That saves work; it guarantees
nothing. A process that was stopped for a minute learns too late that it leads no more, so whoever
writes is held to the number in the tree that it writes to, and asks here once more before it does.

Clocks of machines differ. So nobody compares the times in a Lease with a clock: a Lease has ended
when it has not changed for its duration, by the clock of who looks at it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from typing import Any, Protocol

from gati_gitops.errors import GatiError
from gati_gitops.observe.kube_errors import KubeConflict

_API, _KIND = "coordination.k8s.io/v1", "Lease"


class Leases(Protocol):
    """As much of the Kubernetes API as this needs."""

    def get(
        self, api_version: str, kind: str, name: str, namespace: str = ""
    ) -> dict[str, Any] | None: ...

    def create(self, item: Mapping[str, Any]) -> dict[str, Any]: ...

    def replace(self, item: Mapping[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, as client-go has them."""

    lease: float = 15
    """How long others wait for one that is silent."""
    renew: float = 10
    """How long a leader goes on without having been able to say so."""
    retry: float = 2


def passed() -> float:
    """Seconds that go on while a process is stopped, or its machine asleep."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(slots=True)
class _Seen:
    """The last state of the Lease that was another one than before."""

    spec: Mapping[str, Any] = field(default_factory=dict)
    at: float = 0.0


class Lease:
    """One contender for one Lease. Threads may share it."""

    def __init__(
        self,
        kube: Leases,
        namespace: str,
        name: str,
        identity: str,
        *,
        timing: Timing | None = None,
        clock: Callable[[], float] = passed,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._kube = kube
        self._namespace, self._name = namespace, name
        self.identity = identity
        self.timing = timing or Timing()
        self._clock, self._wall = clock, wall
        self._lock = Lock()
        self._seen = _Seen()
        self._held_since: float | None = None
        """When we last were the leader beyond doubt: before the request that said so was sent."""

    @property
    def leader(self) -> str:
        """Who leads, as far as we know; empty if nobody does."""
        with self._lock:
            return str(self._seen.spec.get("holderIdentity") or "") if self._lasts() else ""

    @property
    def term(self) -> int:
        """How often the Lease has changed hands, counted from 1; it rises with every leader."""
        with self._lock:
            return _number(self._seen.spec, "leaseTransitions") + 1

    def leads(self) -> bool:
        """Whether we lead at this moment, by our own clock alone."""
        with self._lock:
            since = self._held_since
            return since is not None and self._clock() < since + self.timing.renew

    def attempt(self) -> bool:
        """Take the Lease or hold it, if that can be done. Raises what the API server says."""
        began = self._clock()
        found = self._kube.get(_API, _KIND, self._name, self._namespace)
        spec = (found or {}).get("spec") or {}
        self._see(spec)
        held = str(spec.get("holderIdentity") or "")
        if held not in ("", self.identity) and self._lasts():
            with self._lock:
                self._held_since = None
            return False
        try:
            if found is None:
                made = self._kube.create(self._lease(self._spec({}), {}))
            else:
                made = self._kube.replace(self._lease(self._spec(spec), found["metadata"]))
        except KubeConflict:  # another was faster; the next try sees who
            return False
        self._keep(made, began)
        return True

    def release(self) -> None:
        """Let go at once, so that nobody waits for us. Raises what the API server says."""
        if not self.leads():
            return
        found = self._kube.get(_API, _KIND, self._name, self._namespace)
        with self._lock:
            self._held_since = None
        spec = (found or {}).get("spec") or {}
        if found is None or spec.get("holderIdentity") != self.identity:
            return
        now = self._now()
        gone = {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": _number(spec, "leaseTransitions"),
        }
        self._kube.replace(self._lease(gone, found["metadata"]))

    # -- what is seen ----------------------------------------------------------------------------

    def _see(self, spec: Mapping[str, Any]) -> None:
        with self._lock:
            if dict(spec) != dict(self._seen.spec) or not self._seen.at:
                self._seen = _Seen(dict(spec), self._clock())

    def _lasts(self) -> bool:
        """Whether who holds the Lease may still be there."""
        if not self._seen.at:
            return False
        duration = _number(self._seen.spec, "leaseDurationSeconds") or self.timing.lease
        return self._clock() < self._seen.at + duration

    def _keep(self, made: Mapping[str, Any], began: float) -> None:
        with self._lock:
            self._seen = _Seen(dict(made.get("spec") or {}), self._clock())
            self._held_since = began

    # -- what is written -------------------------------------------------------------------------

    def _spec(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """The Lease as ours; whoever takes it from another counts one more."""
        now = self._now()
        mine = found.get("holderIdentity") == self.identity
        taken = _number(found, "leaseTransitions") + (0 if mine or not found else 1)
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self.timing.lease),
            "acquireTime": found["acquireTime"] if mine and "acquireTime" in found else now,
            "renewTime": now,
            "leaseTransitions": taken,
        }

    def _lease(self, spec: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
        head = {**metadata, "name": self._name, "namespace": self._namespace}
        head.pop("managedFields", None)
        return {"apiVersion": _API, "kind": _KIND, "metadata": head, "spec": dict(spec)}

    def _now(self) -> str:
        return datetime.fromtimestamp(self._wall(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _number(spec: Mapping[str, Any], name: str) -> int:
    value = spec.get(name)
    return value if isinstance(value, int) else 0


class Election:
    """Contends for a Lease until it is stopped, and tells when the leader changes."""

    def __init__(
        self,
        lease: Lease,
        told: Callable[[str, bool], None],
        failed: Callable[[str], None],
    ) -> None:
        self._lease = lease
        self._told, self._failed = told, failed
        self._stop = Event()
        self._changed = Event()
        self._last: tuple[str, bool] | None = None
        self._thread = Thread(target=self._run, name="lease", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Whether we lead; waits so long for it."""
        if not self._lease.leads():
            self._changed.wait(seconds)
            self._changed.clear()
        return self._lease.leads()

    @property
    def alive(self) -> bool:
        """Whether it goes on, or has not begun."""
        return self._thread.ident is None or self._thread.is_alive()

    def stop(self) -> None:
        """End, and let go of the Lease; whoever waits is woken."""
        self._stop.set()
        self._changed.set()
        if self._thread.ident is not None:
            self._thread.join(self._lease.timing.renew)
        try:
            self._lease.release()
        except GatiError as error:  # it ends by itself
            self._failed(error.message)

    def turn(self) -> None:
        """One try."""
        try:
            self._lease.attempt()
        except Exception as error:  # noqa: BLE001 - who contends goes on, and stops leading in time
            self._failed(error.message if isinstance(error, GatiError) else repr(error))
        state = (self._lease.leader, self._lease.leads())
        if state != self._last:
            self._last = state
            self._changed.set()
            self._told(*state)

    def _run(self) -> None:
        while not self._stop.is_set():
            self.turn()
            # contenders that began together must not go on together
            spread = 1.0 if self._lease.leads() else 1 + 0.2 * random.random()  # noqa: S311
            self._stop.wait(self._lease.timing.retry * spread)
