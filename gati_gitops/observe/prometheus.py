"""Prometheus, or what speaks like it: one look at all that is wanted of a cluster.

The number of questions does not grow with the number of units. All of them are about the same
moment, which the server itself names: its clock counts, and one that is not ours to within half a
minute is an error. Whatever is wrong with an answer makes it no answer; there is no half of one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gati_gitops.decide.observation import Gap, Missing, Telemetry, Window
from gati_gitops.ledger.model import Phase
from gati_gitops.observe.http import Client, NotAnswered
from gati_gitops.observe.prometheus_answer import Gapped, Raw, Said, groups, matrix, number, read
from gati_gitops.observe.prometheus_edge import Edges
from gati_gitops.observe.prometheus_pods import Answers, Found, Pods, place_of
from gati_gitops.observe.prometheus_query import (
    NAMED,
    bounds,
    exactly,
    one_of,
    present,
    samples,
    selector,
)
from gati_gitops.observe.wanted import MARGIN, Deployed, Telemetries, Wanted, deployed, scrape_of
from gati_gitops.output import UnitKey
from gati_gitops.spec.metrics import MetricSource

SKEW = 30.0
"""Seconds by which clocks may differ."""
SLOWEST = 120.0
"""Seconds between two scrapes of a gateway that a window is still made longer for."""
REQUESTS = "gati_http_requests_total"
DURATIONS = "gati_http_request_duration_seconds_bucket"


@dataclass(frozen=True, slots=True)
class Effort:
    """What a look took."""

    queries: int = 0
    series: int = 0
    bytes: int = 0
    seconds: float = 0.0


class Prometheus:
    """One metric source."""

    def __init__(
        self,
        source: MetricSource,
        *,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._source = source
        self._client = Client(source, os.environ if environ is None else environ)
        self._clock = clock
        self._longer = 0.0
        self.effort = Effort()
        """What the last look took."""

    @property
    def name(self) -> str:
        return self._client.name

    def look(self, wanted: Wanted) -> Telemetries | Missing:
        """What metrics say of every version that is wanted, or why nothing is known."""
        versions = list(deployed(wanted))
        started, received = time.monotonic(), self._client.received
        look = _Look(self._source, self._client, self._clock, wanted, versions, self._longer)
        try:
            return look.all() if versions else {key: {} for key in wanted.units}
        except Gapped as gap:
            return gap.missing(self.name)
        finally:
            self._longer = look.longer
            self.effort = Effort(
                look.queries,
                look.series,
                self._client.received - received,
                time.monotonic() - started,
            )


class _Look:
    """One look, question by question."""

    def __init__(
        self,
        source: MetricSource,
        client: Client,
        clock: Callable[[], float],
        wanted: Wanted,
        versions: list[Deployed],
        longer: float,
    ) -> None:
        self._source = source
        self._client = client
        self._clock = clock
        self._wanted = wanted
        self._versions = versions
        self._at = 0.0
        self.longer = longer
        """Seconds that the window is longer than wanted, because a gateway is read more rarely."""
        self.queries = 0
        self.series = 0

    def all(self) -> Telemetries:
        try:
            self._client.refresh()
        except NotAnswered as error:
            raise Gapped(Gap.ERROR, str(error)) from None
        self._at = self._server_time()
        self._refuse_stale()
        edges = self._edges()
        pods = Pods(
            self._versions,
            self._of_pods(),
            self._source.replica_label or "",
            self._source.evidence.ignore_routes,
        )
        found: dict[UnitKey, dict[str, Telemetry | Missing]] = {
            key: {} for key in self._wanted.units
        }
        for version in self._versions:
            found[version.key][version.version.name] = self._telemetry(version, pods, edges)
        return found

    def _edges(self) -> Edges:
        """What gateways say, of a window that is long enough for the pace that they are read at."""
        edges = Edges(
            self._versions,
            self._source.evidence,
            self,
            self._source.replica_label or "",
            self._client.name,
        )
        slower = min(edges.scrape, SLOWEST) - self._scrape
        if MARGIN * slower <= self.longer:
            return edges
        self.longer = MARGIN * slower + 1  # no two scrapes are exactly that far apart
        return self._edges()

    @property
    def _scrape(self) -> float:
        """Seconds between two scrapes of the pods that are read most rarely."""
        return max(scrape_of(stored) for stored in self._wanted.units.values())

    @property
    def _window(self) -> float:
        return self._wanted.window + self.longer

    def _telemetry(self, version: Deployed, pods: Pods, edges: Edges) -> Telemetry | Missing:
        own = pods.of(version)
        if isinstance(own, Missing):
            return Missing(own.gap, own.why, self._client.name)
        edge = edges.of(version)
        if own is None:
            own = Found({}, scrape_of(version.stored))
            if isinstance(edge, Missing):
                if version.entry.phase is Phase.PARKED:  # without pods only the gateway can tell
                    return replace(edge, source=edge.source or self._client.name)
                return Missing(Gap.NO_DATA, _nothing(version, pods), self._client.name)
        elif isinstance(edge, Missing) and self._age(own) > 2 * own.scrape:
            return Missing(
                Gap.STALE, f"its newest sample is {self._age(own):.0f} s old", self._client.name
            )
        window = Window(self._at, self._window, own.scrape, self._client.name)
        gauged = self._source.evidence.in_flight is not None
        return Telemetry(window, own.pods, edge, gauged=gauged)

    def _age(self, own: Found) -> float:
        newest = max(
            (pod.up.times[-1] for pod in own.pods.values() if pod.up is not None), default=0
        )
        return self._at - newest

    # -- questions --------------------------------------------------------------------------------

    def _server_time(self) -> float:
        before = self._clock()
        said = number(self._query("time()"), self._client, "scalar")
        after = self._clock()
        assert said is not None
        skew = max(before - said, said - after, 0.0)
        if not skew <= SKEW:
            raise Gapped(
                Gap.ERROR,
                f"its clock says {said:.0f}, and ours {after:.0f}: they differ by {skew:.0f} s,"
                f" and more than {SKEW:.0f} s are never trusted",
            )
        return round(said, 3)

    def _refuse_stale(self) -> None:
        """A server that answers but takes in nothing new knows nothing of now."""
        labels = ",".join(exactly(self._source.labels))
        newest = number(
            self._query(f"max(timestamp(up{{{labels}}}))", self._at), self._client, "vector"
        )
        if newest is None:
            raise Gapped(Gap.NO_DATA, "it scrapes nothing at all")
        if not self._at - newest <= 2 * self._scrape:
            raise Gapped(
                Gap.STALE, f"its newest sample of anything is {self._at - newest:.0f} s old"
            )

    def _of_pods(self) -> Answers:
        units = {place_of(version)[1] for version in self._versions}
        mine = one_of("gati_unit", units) if len(units) <= NAMED else present("gati_unit")
        gauge = self._source.evidence.in_flight
        return Answers(
            self.samples("up", [mine]),
            self.samples(REQUESTS, [mine]),
            self.samples(DURATIONS, [mine, one_of("le", bounds(self._wanted.bounds))]),
            self.samples(gauge, [mine]) if gauge is not None else (),
        )

    @property
    def at(self) -> float:
        """The time that all is asked for."""
        return self._at

    def samples(self, metric: str, matchers: Sequence[str]) -> list[Raw]:
        """All samples of a metric in the window."""
        query = samples(metric, [*exactly(self._source.labels), *matchers], self._window)
        found = matrix(self._query(query, self._at), self._client, self._source.max_series)
        self.series += len(found)
        return found

    def places(self, metric: str, matchers: Sequence[str]) -> set[tuple[str, str]]:
        """Job and namespace of whoever shows a metric at all."""
        shown = selector(metric, [*exactly(self._source.labels), *matchers])
        said = self._query(f"group by (job, namespace) ({shown})", self._at)
        return {
            (found.get("job", ""), found.get("namespace", ""))
            for found in groups(said, self._client)
        }

    def _query(self, query: str, at: float | None = None) -> Said:
        form = {
            "query": query,
            "timeout": f"{self._source.timeout_seconds}s",
            "limit": str(self._source.max_series + 1),
        }
        if at is not None:
            form["time"] = f"{at:.3f}"
        self.queries += 1
        try:
            return read(self._client.post("/api/v1/query", form), self._client)
        except NotAnswered as error:
            raise Gapped(Gap.ERROR, str(error)) from None


def _nothing(version: Deployed, pods: Pods) -> str:
    namespace, unit, slug = place_of(version)
    asked = f"there are no series of {unit} {slug} in {namespace}"
    if pods.unlabelled(version):
        return f"{asked}, but some without gati_version: a rule drops that label"
    if version.stored.plan.scraped is None:
        return f"{asked}, and its plan has no monitor: add the section monitoring"
    return asked
