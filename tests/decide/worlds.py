"""Small worlds to judge in: plans, ledgers and observations with sane defaults.

A World is one unit with versions v1, v2, …; time passes by ``look(seconds)``, which adds traffic as
each version is said to serve it, and gives what would be seen then: raw samples, pods, the route as
the ledger wants it. What is seen can be changed before it is judged, so a fault is one line.

    world = World(canary(v1=90, v2=10))
    world.traffic(v1=60, v2=7)            # requests a second; failing=, slow= as shares
    decision = world.passes(400)          # looks every 30 s, judged each time; the last decision
    assert decision.verdict is Verdict.ADVANCE
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gati_gitops.decide.around import Around
from gati_gitops.decide.clocks import UnitClock, clock_data, clock_from
from gati_gitops.decide.decide import decide
from gati_gitops.decide.moves import moved
from gati_gitops.decide.observation import (
    EdgeSeries,
    Engine,
    EngineState,
    Gap,
    Labels,
    Live,
    LiveRoute,
    Missing,
    Observation,
    Pod,
    PodSeries,
    Sent,
    Series,
    Telemetry,
    Window,
    Workload,
)
from gati_gitops.decide.rules import Rules, rules_from
from gati_gitops.decide.verdict import Decision, Verdict
from gati_gitops.emit.routes.table import route_table
from gati_gitops.ledger.model import DEPLOYED, Entry, Ledger, Phase
from gati_gitops.ledger.policy import Policy
from gati_gitops.ledger.stored import Stored
from gati_gitops.plan.model import PlannedVersion, Route, Scaling, UnitPlan
from gati_gitops.plan.naming import UnitId

UNIT = UnitId("shop", "handler", "users")
START = 1_800_000_000.0
SCRAPE = 15.0
SPAN = 420.0
LOOK = 30.0
BOUNDS = ("0.5", "+Inf")


# -- what is stored ------------------------------------------------------------------------------


def rules(strategy: str = "canary", **settings: Any) -> Rules:
    """Rules by the defaults of gati.yaml; ``analysis=``, ``decommission=`` etc. as people write."""
    rollout = {"strategy": strategy}
    for name in ("steps", "analysis", "breaker"):
        if name in settings:
            rollout[name] = settings.pop(name)
    stored = {"rollout": rollout, **settings}
    return rules_from(stored, "prod")


def name_of(id: str, unit: UnitId = UNIT) -> str:
    return unit.version_name(id)


def planned(id: str, *, digest: str = "", **fields: Any) -> PlannedVersion:
    digest = digest or f"d-{id}"
    values: dict[str, Any] = {
        "id": id, "name": name_of(id), "digest": digest, "release": f"{id}-{digest}",
        "image": f"registry.example/users:{id}", "port": 3000, "weight": None, "breaking": False,
        "scaling": Scaling(replicas=2), "files": ("users.yaml",),
    }  # fmt: skip
    return PlannedVersion(**{**values, **fields})


def entry(id: str, phase: Phase, weight: int = 0, **fields: Any) -> Entry:
    return Entry(id, fields.pop("digest", f"d-{id}"), phase, weight, **fields)


def stored(*entries: Entry, target: str = "", wants: str = "", **ledger: Any) -> Stored:
    """A unit whose ledger has these entries; what rolls or else serves is its target.

    ``wants``: what the specs want by now; other versions have left them.
    """
    target = target or _target(entries)
    wants = wants or target
    versions = [
        planned(e.id, digest=e.digest, gone=e.id != wants, weight=100 if e.id == wants else None)
        for e in entries
    ]
    versions += [planned(e.id, digest=e.previous, gone=True) for e in entries if e.previous]
    route = Route("/users", (), "gateway-api", "web", "gateways")
    plan = UnitPlan(UNIT, "prod", "east", "shop", "specs", wants, route, tuple(versions))
    found = Ledger(seq=1, key="k1", target=target, **ledger).with_entries(entries)
    return Stored(plan, found)


def _target(entries: Iterable[Entry]) -> str:
    order = (Phase.CANARY, Phase.STARTING, Phase.ACTIVE)
    ranked = sorted((e for e in entries if e.phase in order), key=lambda e: order.index(e.phase))
    return ranked[0].id if ranked else next(e.id for e in entries)


def canary(weight: int = 10) -> Stored:
    """v1 Active, v2 at a step; at 0 it starts."""
    phase = Phase.CANARY if weight else Phase.STARTING
    return stored(entry("v1", Phase.ACTIVE, 100 - weight), entry("v2", phase, weight))


def draining() -> Stored:
    """v2 Active, v1 on its way out."""
    return stored(entry("v1", Phase.DRAINING), entry("v2", Phase.ACTIVE, 100))


# -- what is seen --------------------------------------------------------------------------------


@dataclass
class Serving:
    """What one version answers, and how."""

    rate: float = 0.0
    """Requests a second, over all of its pods."""
    failing: float = 0.0
    slow: float = 0.0
    open: int = 0
    """Requests in flight, in each of its pods."""
    pods: int = 2
    ready: int | None = None
    """None: all."""
    waiting: str = ""
    created: float = START - 86400
    counts: dict[str, float] = field(default_factory=dict)
    """Of each counter, so far."""


@dataclass
class World:
    """One unit, its traffic and a clock."""

    place: Stored
    rules: Rules = field(default_factory=rules)
    now: float = START
    around: Around = field(default_factory=Around)
    clock: UnitClock = field(default_factory=UnitClock)
    serving: dict[str, Serving] = field(default_factory=dict)
    bend: Callable[[Observation], Observation] = lambda seen: seen
    """A fault: what is made of what would be seen."""
    samples: dict[str, list[tuple[float, dict[str, float]]]] = field(default_factory=dict)
    sent: dict[str, list[Sent]] = field(default_factory=dict)
    engine: Engine | Missing = field(default_factory=lambda: Engine(EngineState.SYNCED))
    decisions: list[Decision] = field(default_factory=list)
    scraped: float = 0.0

    def __post_init__(self) -> None:
        for found in self.ledger.deployed:
            pods = 0 if found.phase is Phase.PARKED else 2
            self.serving.setdefault(found.id, Serving(pods=pods))
        self._scrape_since(self.now - SPAN)

    @property
    def ledger(self) -> Ledger:
        assert self.place.ledger is not None
        return self.place.ledger

    def traffic(self, **rates: float) -> World:
        for id, rate in rates.items():
            self.serving[id].rate = rate
        return self

    def say(self, id: str, **values: Any) -> World:
        """Change how a version serves: failing=0.1, pods=0, open=3."""
        for name, value in values.items():
            setattr(self.serving[id], name, value)
        return self

    def becomes(self, place: Stored) -> World:
        """Another ledger, as after a commit; the cluster shows it at the next look."""
        self.place = place
        for found in self.ledger.deployed:
            self.serving.setdefault(found.id, Serving(created=self.now))
            if found.phase is Phase.PARKED:
                self.serving[found.id].pods = 0
        return self

    def acts(self, made: Decision) -> World:
        """What was decided is written, and the cluster shows it at the next look."""
        assert made.move is not None, made.reason
        policy = Policy(self.rules.strategy, promoted=bool(self.rules.promoted_after))
        outcome = moved(policy, self.place, made.move)
        assert outcome.plan is not None
        return self.becomes(Stored(outcome.plan, outcome.ledger))

    # -- time

    def wait(self, seconds: float) -> World:
        """Let time pass, with its traffic, unseen."""
        self._scrape_since(self.now, seconds)
        self.now += seconds
        return self

    def look(self, seconds: float = LOOK) -> Decision:
        """Let time pass and judge once."""
        self.wait(seconds)
        seen = self.bend(self.seen())
        made, clock = decide(self.rules, self.place, seen, self.clock, self.now, self.around)
        self.clock = clock_from(clock_data(clock))  # as it is stored between two passes
        assert self.clock == clock
        self.decisions.append(made)
        return made

    def passes(self, seconds: float, every: float = LOOK) -> Decision:
        """Judge every so often until something is to be done or the time is over."""
        made = self.look(every)
        for _ in range(int(seconds / every) - 1):
            if made.move is not None:
                return made
            made = self.look(every)
        return made

    def _scrape_since(self, since: float, seconds: float | None = None) -> None:
        end = since + seconds if seconds is not None else self.now
        self.scraped = self.scraped or since
        at = self.scraped
        skipped = SCRAPE * int(max(end - at - 2 * SPAN, 0) / SCRAPE)  # nobody will ask for these
        for served in self.serving.values():
            self._count(served, skipped)
        at += skipped
        while at + SCRAPE <= end:
            at += SCRAPE
            for id, served in self.serving.items():
                self._count(served, SCRAPE)
                snapshot = dict(served.counts)
                snapshot["open"] = float(served.open)
                snapshot["pods"] = float(served.pods)
                kept = self.samples.setdefault(id, [])
                kept.append((at, snapshot))
                del kept[: max(0, len(kept) - int(SPAN / SCRAPE) - 2)]
        self.scraped = at

    @staticmethod
    def _count(served: Serving, seconds: float) -> None:
        """Counters grow as counters do: in whole requests, from none."""
        total = served.counts.get("exact", 0.0) + served.rate * seconds
        served.counts["exact"] = total
        wrong = served.counts.get("wrong", 0.0) + served.rate * seconds * served.failing
        served.counts["wrong"] = wrong
        late = served.counts.get("late", 0.0) + served.rate * seconds * served.slow
        served.counts["late"] = late

    # -- observations

    def seen(self) -> Observation:
        live = Live(
            at=self.now,
            workloads={name_of(e.id): self.workload(e) for e in self.ledger.deployed},
            route=self.route(),
            references={},
            engine=self.engine,
        )
        telemetry = {name_of(e.id): self.telemetry(e.id) for e in self.ledger.deployed}
        return Observation(live, telemetry)

    def route(self) -> LiveRoute | None:
        table = route_table(self.place.plan, self.ledger)
        if table is None:
            return None
        weights = {backend.name: backend.weight for backend in table.split}
        return LiveRoute(weights, current=True, pins=frozenset(p.version for p in table.pins))

    def pods(self, id: str) -> list[str]:
        return [f"{name_of(id)}-{number}" for number in range(self.serving[id].pods)]

    def workload(self, found: Entry) -> Workload:
        served = self.serving[found.id]
        ready = served.pods if served.ready is None else served.ready
        pods = tuple(
            Pod(name, ready=number < ready, created=served.created, restarted=served.created,
                waiting=served.waiting if number >= ready else "")
            for number, name in enumerate(self.pods(found.id))
        )  # fmt: skip
        return Workload(
            served.pods,
            ready,
            settled=True,
            pods=pods,
            endpoints=len(pods),
            ready_endpoints=ready,
            release=f"{found.id}-{found.digest}" if found.previous else "",
        )

    def telemetry(self, id: str) -> Telemetry:
        window = Window(self.now, SPAN, SCRAPE, "http://prometheus.example")
        taken = [one for one in self.samples.get(id, []) if one[0] > window.start]
        pods = {
            name: self._pod(taken, number, len(self.pods(id)))
            for number, name in enumerate(self.pods(id))
        }
        return Telemetry(window, pods, self._edge(id, taken), tuple(self.sent.get(id, ())))

    def _pod(self, taken: list[tuple[float, dict[str, float]]], number: int, of: int) -> PodSeries:
        times = tuple(at for at, _ in taken)

        def share(counts: Mapping[str, float], name: str) -> int:
            whole = int(counts.get(name, 0.0))
            return whole // of + (1 if number < whole % of else 0)

        def counter(labels: Labels, value: Callable[[Mapping[str, float]], float]) -> Series | None:
            found = [(at, float(value(counts))) for at, counts in taken]
            found = [pair for pair in found if pair[1] > 0]  # born with its first request
            if not found:
                return None
            return Series(labels, tuple(at for at, _ in found), tuple(v for _, v in found))

        made = (
            counter(_labels("200"), lambda c: share(c, "exact") - share(c, "wrong")),
            counter(_labels("500"), lambda c: share(c, "wrong")),
        )
        timed = (
            counter(_labels("200", "0.5"), lambda c: share(c, "exact") - share(c, "late")),
            counter(_labels("200", "+Inf"), lambda c: share(c, "exact")),
        )
        return PodSeries(
            up=Series((), times, (1.0,) * len(times)),
            requests=tuple(s for s in made if s is not None),
            faster=tuple(s for s in timed if s is not None),
            in_flight=Series((), times, tuple(counts["open"] for _, counts in taken)),
        )

    def _edge(self, id: str, taken: list[tuple[float, dict[str, float]]]) -> EdgeSeries | Missing:
        times = tuple(at for at, _ in taken)
        gateway = ("instance", "gateway-0")
        found: list[Series] = []
        for code, name in (("200", "good"), ("503", "wrong")):
            values = [
                int(c.get("exact", 0)) - int(c.get("wrong", 0)) if name == "good"
                else int(c.get("wrong", 0))
                for _, c in taken
            ]  # fmt: skip
            born = [(at, float(v)) for at, v in zip(times, values, strict=True) if v]
            if born:
                labels = (("code", code), gateway)
                found.append(Series(labels, tuple(a for a, _ in born), tuple(v for _, v in born)))
        up = Series((gateway,), times, (1.0,) * len(times))
        open_now = Series((gateway,), times, tuple(c["open"] * c["pods"] for _, c in taken))
        return EdgeSeries(tuple(found), (open_now,), (up,))


def _labels(code: str, le: str = "") -> Labels:
    found = {"method": "GET", "route": "/users", "status_code": code}
    return tuple(sorted((found | ({"le": le} if le else {})).items()))


# -- faults --------------------------------------------------------------------------------------


def blind(
    gap: Gap = Gap.ERROR, why: str = "connection refused"
) -> Callable[[Observation], Observation]:
    """No metrics at all."""
    return lambda seen: replace(seen, telemetry=Missing(gap, why))


def unseen(gap: Gap = Gap.ERROR, why: str = "timed out") -> Callable[[Observation], Observation]:
    """No cluster."""
    return lambda seen: replace(seen, live=Missing(gap, why))


def with_telemetry(
    id: str, change: Callable[[Telemetry], Telemetry | Missing]
) -> Callable[[Observation], Observation]:
    """Something else in the metrics of one version."""

    def bent(seen: Observation) -> Observation:
        assert not isinstance(seen.telemetry, Missing)
        told = seen.telemetry[name_of(id)]
        assert isinstance(told, Telemetry)
        return replace(seen, telemetry={**seen.telemetry, name_of(id): change(told)})

    return bent


def with_live(**changes: Any) -> Callable[[Observation], Observation]:
    """Something else in the cluster."""

    def bent(seen: Observation) -> Observation:
        assert isinstance(seen.live, Live)
        return replace(seen, live=replace(seen.live, **changes))

    return bent


def late(seconds: float) -> Callable[[Observation], Observation]:
    """The cluster as it was so long ago."""
    return lambda seen: with_live(at=getattr(seen.live, "at", 0.0) - seconds)(seen)


def with_workload(id: str, **changes: Any) -> Callable[[Observation], Observation]:
    """Another Deployment of one version; ``gone=True``: none."""

    def bent(seen: Observation) -> Observation:
        assert isinstance(seen.live, Live)
        workloads = dict(seen.live.workloads)
        if changes.get("gone"):
            del workloads[name_of(id)]
        else:
            workloads[name_of(id)] = replace(workloads[name_of(id)], **changes)
        return replace(seen, live=replace(seen.live, workloads=workloads))

    return bent


def both(*bends: Callable[[Observation], Observation]) -> Callable[[Observation], Observation]:
    def bent(seen: Observation) -> Observation:
        for bend in bends:
            seen = bend(seen)
        return seen

    return bent


__all__ = [
    "DEPLOYED", "LOOK", "SCRAPE", "SPAN", "START", "UNIT", "Decision", "Serving", "Verdict",
    "World", "blind", "both", "canary", "draining", "entry", "late", "name_of", "planned", "rules",
    "stored", "unseen", "with_live", "with_telemetry", "with_workload",
]  # fmt: skip
