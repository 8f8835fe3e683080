"""The job's own metrics, for Prometheus.

Labels have as many values as there are environments, clusters, verdicts and parts of the job; no
unit and no version is one, so a thousand units cost no more series than one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gati_gitops import __version__
from gati_gitops.compiler.stored import Where
from gati_gitops.decide.observation import Observation
from gati_gitops.decide.verdict import Decision, Verdict
from gati_gitops.ledger.stored import Stored
from gati_gitops.reconcile.announce import Commit, Listener, Pass

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge

SOURCES = frozenset(
    (
        "clocks", "cluster", "engine", "events", "forge", "git", "lease", "logs", "metrics",
        "pass", "status", "traces",
    )
)  # fmt: skip
"""What may fail; anything else is counted as ``other``."""
_PREFIX = "gati_gitops_"
Place = tuple[str, str]
"""Environment and cluster."""
_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


class Meters(Listener):
    """Counters and gauges in a registry of their own."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        import prometheus_client as client

        # a second series for each counter, of when it began, that nobody here asks for
        client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._clock = clock
        self.registry: CollectorRegistry = client.CollectorRegistry()

        def counter(name: str, words: str, *labels: str) -> Counter:
            return client.Counter(f"{_PREFIX}{name}", words, labels, registry=self.registry)

        def gauge(name: str, words: str, *labels: str) -> Gauge:
            return client.Gauge(f"{_PREFIX}{name}", words, labels, registry=self.registry)

        client.ProcessCollector(registry=self.registry)
        gauge("build_info", "What runs; always 1.", "version").labels(__version__).set(1)
        self._seconds = client.Histogram(
            f"{_PREFIX}pass_duration_seconds",
            "How long passes took.",
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._decisions = counter(
            "decisions", "Decisions about units, pass by pass.", "env", "cluster", "verdict"
        )
        self._commits = counter("commits", "Commits that were made.", "env")
        self._retries = counter("push_retries", "Pushes that another writer was faster than.")
        self._errors = counter("errors", "What could not be done or seen.", "source")
        for source in sorted(SOURCES):
            self._errors.labels(source)
        self._held = gauge("held_units", "Units that wait for a person.", "env", "cluster")
        self._age = gauge(
            "evidence_age_seconds",
            "Age of the oldest evidence that the last pass judged by.",
            "env",
            "cluster",
        )
        self._queue = gauge("queue_length", "Moves that wait for a commit or an approval.")
        self._leader = gauge("leader", "Whether this process leads.")
        self._breaker = gauge("breaker_open", "Whether an environment stands still.", "env")
        # not registered before there is one: zero would be a pass in 1970
        self._last = client.Gauge(
            f"{_PREFIX}last_pass_timestamp_seconds", "When the last pass ended.", registry=None
        )
        self._passes = 0
        self._seen: dict[Place, _Place] = {}
        self._shown: set[Place] = set()
        self._aged: set[Place] = set()

    def started(self, this: Pass) -> None:
        self._seen = {}

    def decided(
        self, where: Where, decision: Decision, stored: Stored | None, seen: Observation | None
    ) -> None:
        env, cluster, _ = where
        self._decisions.labels(env, cluster, str(decision.verdict)).inc()
        place = self._seen.setdefault((env, cluster), _Place())
        place.held += decision.verdict in (Verdict.HELD, Verdict.HOLD)
        if decision.seen_at:
            place.oldest = min(place.oldest or decision.seen_at, decision.seen_at)

    def breaker(self, env: str, why: str) -> None:
        self._breaker.labels(env).set(bool(why))

    def written(self, commit: Commit) -> None:
        self._commits.labels(commit.env).inc()
        self._retries.inc(commit.retries)

    def failed(self, source: str, error: str, env: str, cluster: str) -> None:
        self._errors.labels(source if source in SOURCES else "other").inc()

    def leads(self, leader: str, ours: bool) -> None:
        self._leader.set(ours)

    def ended(self, this: Pass, now: float, waiting: int) -> None:
        self._seconds.observe(max(0.0, now - this.began))
        self._queue.set(waiting)
        if not self._passes:
            self.registry.register(self._last)
        self._passes += 1
        self._last.set(now)
        for place, found in self._seen.items():
            self._held.labels(*place).set(found.held)
            if found.oldest:
                self._age.labels(*place).set_function(self._since(found.oldest))
        aged = {place for place, found in self._seen.items() if found.oldest}
        for place in self._aged - aged:
            self._age.remove(*place)
        for place in self._shown - self._seen.keys():
            self._held.remove(*place)
        self._aged, self._shown = aged, set(self._seen)

    def _since(self, moment: float) -> Callable[[], float]:
        """It grows old while nobody looks, too."""
        return lambda: max(0.0, self._clock() - moment)


@dataclass(slots=True)
class _Place:
    """What one pass found on one cluster."""

    held: int = 0
    oldest: float = 0.0
