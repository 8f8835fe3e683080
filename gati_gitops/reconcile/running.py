"""What is around the passes of one process: who leads, who listens, and who may ask how it fares.

All of it may fail without a decision being another one. What must hold holds in the repository.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from secrets import token_hex
from typing import Self, TextIO

from gati_gitops.errors import Misnamed
from gati_gitops.observe.kube import Kube
from gati_gitops.observe.kube_config import Access, Timeouts
from gati_gitops.observe.kube_http import Patience
from gati_gitops.reconcile.announce import Announcer, Listener
from gati_gitops.reconcile.health import Health
from gati_gitops.reconcile.lease import Election, Lease, Timing
from gati_gitops.reconcile.logs import Format, Level, Logs
from gati_gitops.reconcile.server import Server, exposition, verdict
from gati_gitops.reconcile.traces import traces

_QUICK = Timeouts(connect=3, read=4, answer=5)
"""Of requests that nobody may wait for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for."""

    listen: str = ""
    lease: str = ""
    """``namespace/name``."""
    log_format: Format | None = None
    """None: no lines; what came of a pass is told in other ways."""
    log_level: Level = "info"
    events: bool = False
    status: bool = False


class Running:
    """One process of the job; a context manager that ends what it began."""

    def __init__(
        self,
        wanted: Wanted,
        environ: Mapping[str, str],
        stream: TextIO,
        *,
        interval: float,
        deadline: float,
        clock: Callable[[], float] = time.time,
        timing: Timing | None = None,
    ) -> None:
        self._wanted = wanted
        self._clock = clock
        self._timing = timing
        self._stack = ExitStack()
        self._announce = Announcer()
        self.identity = f"{socket.gethostname()}_{token_hex(4)}"
        self._traces = traces(environ, lambda why: self._announce.failed("traces", why))
        self._stack.callback(self._traces.close)
        self.logs: Logs | None = None
        if wanted.log_format is not None:
            ids = self._traces.current
            self.logs = Logs(stream, wanted.log_format, clock, ids, wanted.log_level)
        self._lease_name = _lease_name(wanted.lease)
        self._election: Election | None = None
        self._health = Health(deadline, interval, contends=self._contends)
        self._listeners: list[Listener] = [self._traces, self._health]
        self._listeners += [self.logs] if self.logs is not None else []
        self.server: Server | None = None
        if wanted.listen:
            self._listen(wanted.listen)
        self._announce = Announcer(self._listeners)

    def _listen(self, address: str) -> None:
        from gati_gitops.reconcile.meters import Meters

        meters = Meters(self._clock)
        self._listeners.append(meters)
        pages = {
            "/healthz": verdict(self._health.alive),
            "/readyz": verdict(self._health.ready),
            "/metrics": exposition(meters.registry),
        }
        self.server = Server(address, pages)
        self._stack.callback(self.server.close)

    def reach(self, accesses: Mapping[str, Access]) -> None:
        """Say how clusters are reached, once it is known which: where we lead, and whom we tell."""
        wanted = self._wanted
        if self._lease_name is not None:
            self._election = self._contended(accesses, *self._lease_name)
        if not (wanted.events or wanted.status):
            return
        patience = Patience(attempts=2, seconds=3)
        kubes = {
            name: Kube(access, timeouts=_QUICK, patience=patience)
            for name, access in accesses.items()
        }
        for kube in kubes.values():
            self._stack.callback(kube.close)
        # those who take time come last
        if wanted.events:
            from gati_gitops.reconcile.events import Events

            self._listeners.append(Events(kubes, self.identity, self._clock))
        if wanted.status:
            from gati_gitops.reconcile.gati_status import Status

            self._listeners.append(Status(kubes, self._clock))

    def _contended(self, accesses: Mapping[str, Access], namespace: str, name: str) -> Election:
        if len(accesses) != 1:
            raise Misnamed(
                "a Lease is of one cluster, and several are looked at",
                remedy="narrow with --cluster, or leave out --lease",
            )
        (access,) = accesses.values()
        # one try for each turn: the next turn is another
        kube = Kube(access, timeouts=_QUICK, patience=Patience(attempts=1, seconds=0))
        self._stack.callback(kube.close)
        lease = Lease(kube, namespace, name, self.identity, timing=self._timing)
        self._lease = lease
        return Election(lease, self._led, self._unled)

    def _led(self, leader: str, ours: bool) -> None:
        self._announce.leads(leader, ours)

    def _unled(self, why: str) -> None:
        self._announce.failed("lease", why)

    def _contends(self) -> bool:
        return self._election is None or self._election.alive

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._election is not None:
            self._election.stop()
        self._stack.close()

    def announcer(self, *more: Listener) -> Announcer:
        """Everybody who wants to know what a pass does; from now on, who leads is known."""
        self._announce = Announcer((*more, *self._listeners))
        if self._election is not None:
            self._election.start()
        else:
            self._announce.leads(self.identity, ours=True)
        return self._announce

    def failed(self, source: str, error: str) -> None:
        """Tell what stands in the way of the first pass."""
        self._announce.failed(source, error)

    @property
    def leader(self) -> Callable[[float], bool] | None:
        """Waits so many seconds to lead, or a moment; None: nobody else contends."""
        election = self._election
        if election is None:
            return None
        # who waits longer does not hear that it should stop
        return lambda seconds: election.wait(min(seconds, 1.0))

    def leads(self) -> bool:
        """Whether this process leads at this very moment."""
        return self._lease.leads() if self._election is not None else True


def _lease_name(text: str) -> tuple[str, str] | None:
    """Namespace and name; None where nobody contends."""
    if not text:
        return None
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name):
        raise Misnamed(f"--lease {text} is no Lease", remedy="write NAMESPACE/NAME")
    return namespace, name
