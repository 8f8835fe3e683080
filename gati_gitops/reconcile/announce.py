"""What a pass says of itself, to everybody who listens: logs, metrics, traces, Events, status.

The pass calls one object and knows none of those. Whoever listens may fail; a pass never fails by
that, and never waits for it longer than the listener's own budget. What a listener could not do is
told to the others once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from threading import RLock

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.observation import Observation
from gati_gitops.decide.verdict import Decision
from gati_gitops.errors import GatiError
from gati_gitops.ledger.stored import Stored


@dataclass(frozen=True, slots=True)
class Pass:
    """One look at everything that the job is answerable for."""

    number: int
    """Counts from 1 since the process began."""
    began: float
    """By the job's clock."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What a pass has written for one environment."""

    env: str
    id: str
    subject: str
    units: tuple[Where, ...] = ()
    retries: int = 0
    """How often another writer was faster."""
    pull_request: str = ""
    """Its address, where an approval is asked for."""


class Listener:
    """Somebody who wants to know; each hears of what it has a method for."""

    def started(self, this: Pass) -> None:
        """Tell that a pass begins."""

    def decided(
        self, where: Where, decision: Decision, stored: Stored | None, seen: Observation | None
    ) -> None:
        """Tell what happens to a unit, and what that rests on."""

    def breaker(self, env: str, why: str) -> None:
        """Tell why an environment stands still as a whole; empty: it does not."""

    def written(self, commit: Commit) -> None:
        """Tell what reached the repository."""

    def failed(self, source: str, error: str, env: str, cluster: str) -> None:
        """Tell what could not be done or seen, and with whom."""

    def ended(self, this: Pass, now: float, waiting: int) -> None:
        """Tell that a pass is over, and how many moves wait for a commit or an approval."""

    def leads(self, leader: str, ours: bool) -> None:
        """Tell who leads; empty: nobody knows."""

    @contextmanager
    def span(self, name: str, **attributes: str) -> Iterator[None]:
        """Go along with a part of a pass: observe, decide, commit."""
        yield


class Announcer(Listener):
    """All listeners as one.

    Clusters may be looked at side by side, and who leads is told from a thread of its own. So each
    listener hears one thing at a time, and nobody waits for one that does not listen to it.
    """

    def __init__(self, listeners: Sequence[Listener] = ()) -> None:
        self._listeners = tuple((one, RLock()) for one in listeners)

    def started(self, this: Pass) -> None:
        self._tell("started", this)

    def decided(
        self,
        where: Where,
        decision: Decision,
        stored: Stored | None = None,
        seen: Observation | None = None,
    ) -> None:
        self._tell("decided", where, decision, stored, seen)

    def breaker(self, env: str, why: str) -> None:
        self._tell("breaker", env, why)

    def written(self, commit: Commit) -> None:
        self._tell("written", commit)

    def failed(self, source: str, error: str, env: str = "", cluster: str = "") -> None:
        self._tell("failed", source, error, env, cluster)

    def ended(self, this: Pass, now: float, waiting: int = 0) -> None:
        self._tell("ended", this, now, waiting)

    def leads(self, leader: str, ours: bool) -> None:
        self._tell("leads", leader, ours)

    @contextmanager
    def span(self, name: str, **attributes: str) -> Iterator[None]:
        opened: list[AbstractContextManager[None]] = []
        for one in self._hearing("span"):
            with suppress(Exception):
                found = one[0].span(name, **attributes)
                found.__enter__()  # each is left on its own, whatever the others do
                opened.append(found)
        try:
            yield
        except BaseException as error:
            self._close(opened, error)
            raise
        self._close(opened, None)

    def _close(
        self, opened: Sequence[AbstractContextManager[None]], error: BaseException | None
    ) -> None:
        for one in reversed(opened):
            # A span may raise what it was given; that goes on by itself.
            with suppress(Exception):
                one.__exit__(type(error) if error else None, error, None)

    def _hearing(self, what: str) -> Iterator[tuple[Listener, RLock]]:
        own = getattr(Listener, what)
        return ((one, lock) for one, lock in self._listeners if getattr(type(one), what) is not own)

    def _tell(self, what: str, *words: object) -> None:
        for one, lock in self._hearing(what):
            try:
                with lock:
                    getattr(one, what)(*words)
            except Exception as error:  # noqa: BLE001 - who listens never stops who decides
                self._excuse(one, error)

    def _excuse(self, deaf: Listener, error: Exception) -> None:
        """Tell the others, but not by a way that leads back here."""
        source = type(deaf).__name__.lower()
        why = error.message if isinstance(error, GatiError) else f"{type(error).__name__}: {error}"
        for one, lock in self._hearing("failed"):
            if one is not deaf:
                with suppress(Exception), lock:  # nobody is left to tell
                    one.failed(source, why, "", "")
