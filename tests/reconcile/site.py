"""A cluster that syncs what Git says, has traffic, and is scraped every 15 seconds.

It is no fake of what judges: it makes raw samples and objects as a scrape and a list would, and the
real code reads them. What goes wrong in it is said by the test.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from gati_gitops.decide.observation import (
    EdgeSeries,
    Engine,
    EngineState,
    Gap,
    Live,
    LiveRoute,
    Missing,
    Pod,
    PodSeries,
    Series,
    Telemetry,
    Window,
    Workload,
)
from gati_gitops.emit.routes.table import route_table
from gati_gitops.ledger.model import SCALED
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.observe.wanted import Lives, Telemetries, Wanted
from gati_gitops.output import UnitKey

SCRAPE = 15.0
KEPT = 60
"""Scrapes that are kept."""
GATEWAY = (("instance", "gateway-0"),)


@dataclass
class Behaviour:
    """What requests find at one version."""

    errors: float = 0.0
    """Share of requests that fail."""
    slow: float = 0.0
    ready: bool = True
    waiting: str = ""
    pinned: float = 0.0
    """Requests a second that name it."""


@dataclass
class Running:
    """One version on the cluster: its pods, and what they and the gateway have counted."""

    pods: int
    created: float
    counts: dict[str, list[float]] = field(default_factory=dict)
    """By pod: answered, failed, fast."""
    edge: dict[str, float] = field(default_factory=dict)
    """By code, as the gateway counted."""
    samples: deque[tuple[float, dict[str, tuple[float, ...]], dict[str, float]]] = field(
        default_factory=lambda: deque(maxlen=KEPT)
    )


@dataclass
class Site:
    """One cluster."""

    now: float
    rate: float = 40.0
    """Requests a second of every unit."""
    boot: float = 20.0
    synced: bool = True
    """Whether the engine takes over what Git says."""
    unreachable: str = ""
    unmeasured: str = ""
    behaviours: dict[tuple[str, str], Behaviour] = field(default_factory=dict)
    """By folder of the unit and version id."""
    units: dict[UnitKey, Stored] = field(default_factory=dict)
    running: dict[tuple[UnitKey, str], Running] = field(default_factory=dict)
    up: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    glass: dict[UnitKey, tuple[str, dict[str, int]]] = field(default_factory=dict)
    """Traffic that a person moved by hand: why, and weights by version id."""
    engine: Engine | Missing = field(default_factory=lambda: Engine(EngineState.SYNCED))

    def behaves(self, id: str, unit: str = "handler-users", **how: object) -> None:
        for name, value in how.items():
            setattr(self.behaviours.setdefault((unit, id), Behaviour()), name, value)

    def of(self, key: UnitKey, id: str) -> Behaviour:
        return self.behaviours.get((key[1], id), Behaviour())

    # -- time ------------------------------------------------------------------------------------

    def sync(self, units: Mapping[UnitKey, Stored]) -> None:
        """The engine applies what stands in Git."""
        if not self.synced:
            return
        self.units = dict(units)
        wanted: dict[tuple[UnitKey, str], int] = {}
        for key, stored in units.items():
            ledger = stored.ledger or recovered(stored)
            for entry in ledger.deployed:
                version = stored.plan.version(*entry.key)
                if version is not None:
                    pods = version.scaling.at_least(entry.floor).floor
                    wanted[key, version.name] = pods if entry.phase in SCALED else 0
        for at, pods in wanted.items():
            if at not in self.running:
                self.running[at] = Running(pods, self.now)
            elif self.running[at].pods != pods:
                self.running[at].pods = pods
                self.running[at].created = self.now if pods else self.running[at].created
                if not pods:
                    self.running[at].counts.clear()
        for at in [at for at in self.running if at not in wanted]:
            del self.running[at]

    def tick(self) -> None:
        """Fifteen seconds of traffic, and a scrape at the end of them."""
        self.now += SCRAPE
        for key, stored in self.units.items():
            weights = self._weights(key, stored)
            total = sum(weights.values())
            for entry in (stored.ledger or recovered(stored)).deployed:
                version = stored.plan.version(*entry.key)
                if version is None or (key, version.name) not in self.running:
                    continue
                share = weights.get(version.name, 0) / total if total else 0.0
                behaviour = self.of(key, entry.id)
                requests = SCRAPE * (self.rate * share + behaviour.pinned)
                self._serve(self.running[key, version.name], version.name, behaviour, requests)
        self.up.append(self.now)

    def _serve(self, run: Running, name: str, how: Behaviour, requests: float) -> None:
        names = self.pod_names(run, name)
        served = how.ready and bool(names) and self.now - run.created >= self.boot
        failed = requests * how.errors
        if requests:
            codes = {"200": requests - failed, "500": failed} if served else {"503": requests}
            for code, number in codes.items():
                if number:
                    run.edge[code] = run.edge.get(code, 0.0) + number
        if served:
            for pod in names:
                counts = run.counts.setdefault(pod, [0.0, 0.0, 0.0])
                share = requests / len(names)
                counts[0] += share - failed / len(names)
                counts[1] += failed / len(names)
                counts[2] += share * (1 - how.slow)
        seen = {pod: tuple(run.counts.get(pod, (0.0, 0.0, 0.0))) for pod in names}
        run.samples.append((self.now, seen, dict(run.edge)))

    def _weights(self, key: UnitKey, stored: Stored) -> dict[str, int]:
        ledger = stored.ledger or recovered(stored)
        if key in self.glass:
            names = {v.id: v.name for v in stored.plan.versions}
            return {names[id]: weight for id, weight in self.glass[key][1].items()}
        table = route_table(stored.plan, ledger)
        return {b.name: b.weight for b in table.split} if table is not None else {}

    def pod_names(self, run: Running, name: str) -> list[str]:
        return [f"{name}-{int(run.created) % 100_000}-{number}" for number in range(run.pods)]

    # -- what is seen ----------------------------------------------------------------------------

    def look(self, wanted: Wanted, /) -> Lives | Missing:
        if self.unreachable:
            return Missing(Gap.ERROR, self.unreachable, "the cluster")
        return {key: self._live(key) for key in wanted.units}

    def _live(self, key: UnitKey) -> Live | Missing:
        stored = self.units.get(key)
        if stored is None:
            return Live(self.now, {}, None, {}, self.engine)
        workloads = {}
        for entry in (stored.ledger or recovered(stored)).deployed:
            version = stored.plan.version(*entry.key)
            if version is not None and (run := self.running.get((key, version.name))) is not None:
                workloads[version.name] = self._workload(key, entry.id, version.name, run)
        weights = self._weights(key, stored)
        route = None
        if stored.plan.route is not None and weights:
            glass = self.glass[key][0] if key in self.glass else ""
            route = LiveRoute(weights, current=True, break_glass=glass)
        references: dict[str, tuple[str, ...]] = {v.name: () for v in stored.plan.versions}
        return Live(self.now, workloads, route, references, self.engine)

    def _workload(self, key: UnitKey, id: str, name: str, run: Running) -> Workload:
        how = self.of(key, id)
        up = how.ready and self.now - run.created >= self.boot
        pods = tuple(
            Pod(pod, ready=up, created=run.created, restarted=run.created, waiting=how.waiting)
            for pod in self.pod_names(run, name)
        )
        ready = run.pods if up else 0
        stored = self.units[key]
        entry = (stored.ledger or recovered(stored)).live(id)
        applied = stored.plan.version(*entry.key) if entry is not None else None
        return Workload(
            run.pods,
            ready,
            settled=True,
            pods=pods,
            endpoints=run.pods,
            ready_endpoints=ready,
            release=applied.release if applied is not None else "",
        )

    @property
    def metrics(self) -> Metrics:
        return Metrics(self)


@dataclass(frozen=True)
class Metrics:
    """The same cluster, seen through its metrics."""

    site: Site

    def look(self, wanted: Wanted, /) -> Telemetries | Missing:
        site = self.site
        if site.unmeasured:
            return Missing(Gap.ERROR, site.unmeasured, "prometheus")
        window = Window(site.now, wanted.window, SCRAPE, "prometheus")
        since = window.start
        ups = tuple(time for time in site.up if time > since)
        gateway = Series(GATEWAY, ups, (1.0,) * len(ups))
        found: dict[UnitKey, dict[str, Telemetry | Missing]] = {key: {} for key in wanted.units}
        for (key, name), run in site.running.items():
            if key in found:
                found[key][name] = self._telemetry(run, name, window, gateway)
        return found

    def _telemetry(self, run: Running, name: str, window: Window, gateway: Series) -> Telemetry:
        samples = [one for one in run.samples if one[0] > window.start]
        pods = {pod: self._pod(pod, samples) for pod in self.site.pod_names(run, name)}
        edge = []
        for code in run.edge:
            points = [(at, counted[code]) for at, _, counted in samples if code in counted]
            if points:
                labels = (("code", code), *GATEWAY)
                edge.append(Series(labels, *zip(*points, strict=True)))
        active = Series(GATEWAY, gateway.times, (0.0,) * len(gateway.times))
        return Telemetry(window, pods, EdgeSeries(tuple(edge), (active,), (gateway,)))

    def _pod(self, pod: str, samples: list[tuple[float, dict[str, tuple[float, ...]], object]]):
        points = [(at, seen[pod]) for at, seen, _ in samples if pod in seen]
        times = tuple(at for at, _ in points)

        def series(label: tuple[str, str], values: list[float]) -> Series:
            return Series((label,), times, tuple(values))

        answered = [a for _, (a, _, _) in points]
        failed = [f for _, (_, f, _) in points]
        fast = [f for _, (_, _, f) in points]
        every = [a + f for a, f in zip(answered, failed, strict=True)]
        return PodSeries(
            up=series(("instance", pod), [1.0] * len(points)),
            requests=(
                series(("status_code", "200"), answered),
                series(("status_code", "500"), failed),
            ),
            faster=(series(("le", "0.5"), fast), series(("le", "+Inf"), every)),
            in_flight=series(("pod", pod), [0.0] * len(points)),
        )
