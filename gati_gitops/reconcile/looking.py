"""One look at every cluster at once: what it runs, and what is measured there.

A cluster or a metric source that fails is a gap in what was seen there, and nowhere else. What was
seen belongs to the ledgers it was looked at for: a unit whose ledger has changed since waits for
the next look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.observation import Gap, Missing, Observation
from gati_gitops.decide.rules import Rules
from gati_gitops.errors import GatiError
from gati_gitops.ledger.stored import Stored
from gati_gitops.observe.recording import Look, Recorder
from gati_gitops.observe.wanted import Lives, LiveSource, MetricsSource, Telemetries, Wanted
from gati_gitops.output import UnitKey
from gati_gitops.reconcile.announce import Announcer
from gati_gitops.reconcile.places import At, Scene

T = TypeVar("T")
AT_ONCE = 16
"""So many sources are asked side by side."""


@dataclass(frozen=True, slots=True)
class Eyes:
    """Through what one cluster is seen."""

    live: LiveSource
    metrics: MetricsSource | None = None
    """None: nothing is measured there."""


Open = Callable[[Scene, At], Eyes]
"""How eyes are opened. What raises a GatiError leaves the cluster unseen."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Something outside that did not answer."""

    source: str
    why: str
    environment: str = ""
    cluster: str = ""

    def __str__(self) -> str:
        place = f"{self.environment} on {self.cluster}: " if self.cluster else ""
        return f"{place}{self.source}: {self.why}"


@dataclass(frozen=True, slots=True)
class Looked:
    """What was seen, and of which state of each ledger."""

    observations: Mapping[Where, Observation] = field(default_factory=dict)
    stamps: Mapping[Where, tuple[int, str]] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()

    def is_of(self, where: Where, stored: Stored) -> bool:
        """Whether a unit stands as it stood when it was looked at."""
        return self.stamps.get(where) == stamp(stored)


def stamp(stored: Stored) -> tuple[int, str]:
    """The state of a ledger; one that is lost has none."""
    ledger = stored.ledger
    return (ledger.seq, ledger.key) if ledger is not None else (-1, "")


def look(
    scene: Scene, open_eyes: Open, announce: Announcer, now: float, recorder: Recorder | None = None
) -> Looked:
    """Look at all that a scene is about; a recorder takes notes. Raises Outside if it cannot."""
    looking = _Looking(scene, open_eyes, announce)
    places = [
        (at, rules) for at in sorted(scene.units) if isinstance(rules := scene.rules[at[0]], Rules)
    ]
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="look") as pool:
        asked = [looking.ask(pool, at, rules) for at, rules in places]
        for at, units, live, metrics in asked:
            seen, measured = live.result(), metrics.result()
            looking.answered(at, units, seen, measured)
            if recorder is not None:
                recorder.write(Look(at[1], now, seen, measured))
    return Looked(looking.observations, looking.stamps, tuple(looking.failures))


Asked = tuple[
    At,
    Mapping[UnitKey, Stored],
    "Future[Lives | Missing]",
    "Future[Telemetries | Missing]",
]


@dataclass(slots=True)
class _Looking:
    scene: Scene
    open_eyes: Open
    announce: Announcer
    observations: dict[Where, Observation] = field(default_factory=dict)
    stamps: dict[Where, tuple[int, str]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def ask(self, pool: ThreadPoolExecutor, at: At, rules: Rules) -> Asked:
        units = self.scene.units[at]
        wanted = Wanted.by(rules, at[1], units)
        try:
            eyes = self.open_eyes(self.scene, at)
        except GatiError as error:
            unseen = Missing(Gap.ERROR, error.message, "the cluster")
            return at, units, pool.submit(lambda: unseen), pool.submit(lambda: unseen)
        metrics = eyes.metrics
        return (
            at,
            units,
            pool.submit(self._tried, at, "the cluster", lambda: eyes.live.look(wanted)),
            pool.submit(self._tried, at, "metrics", lambda: metrics.look(wanted))
            if metrics is not None
            else pool.submit(lambda: UNMEASURED),
        )

    def _tried(self, at: At, source: str, ask: Callable[[], T]) -> T | Missing:
        env, cluster = at
        with self.announce.span("observe", env=env, cluster=cluster, source=source):
            try:
                return ask()
            except GatiError as error:
                return Missing(Gap.ERROR, error.message, source)
            except Exception as error:  # noqa: BLE001 - one cluster must not stop the others
                return Missing(Gap.ERROR, f"{type(error).__name__}: {error}", source)

    def answered(
        self,
        at: At,
        units: Mapping[UnitKey, Stored],
        seen: Lives | Missing,
        measured: Telemetries | Missing,
    ) -> None:
        for key, stored in units.items():
            where = (*at, key)
            here = seen if isinstance(seen, Missing) else seen.get(key, NOT_SEEN)
            told = measured if isinstance(measured, Missing) else measured.get(key, NOT_SEEN)
            self.observations[where] = Observation(here, told)
            self.stamps[where] = stamp(stored)
        for failure in _failures(at, seen, measured):
            self.failures.append(failure)
            self.announce.failed(failure.source, failure.why, *at)


NOT_SEEN = Missing(Gap.NO_DATA, "it was not looked at")
UNMEASURED = Missing(Gap.UNSUPPORTED, "no metrics are configured for this cluster", "metrics")


def _failures(at: At, *answers: object) -> Iterator[Failure]:
    """What could not be asked at all. What a source says of single units is theirs to judge."""
    for name, answer in zip(("cluster", "metrics"), answers, strict=True):
        if isinstance(answer, Missing) and answer.gap is not Gap.UNSUPPORTED:
            yield Failure(name, str(answer), *at)
