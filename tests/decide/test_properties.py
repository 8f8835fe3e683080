"""What holds for every observation, however strange."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gati_gitops.decide.around import Around
from gati_gitops.decide.clocks import UnitClock, clock_data, clock_from
from gati_gitops.decide.decide import decide
from gati_gitops.decide.moves import moved
from gati_gitops.decide.observation import (
    EdgeSeries,
    Engine,
    EngineState,
    Gap,
    Live,
    LiveRoute,
    Missing,
    Observation,
    Pod,
    PodSeries,
    Series,
    Telemetry,
    Window,
    Workload,
)
from gati_gitops.decide.verdict import ACTS, Verdict
from gati_gitops.errors import Refused
from gati_gitops.ledger.model import WEIGHTED, Phase
from gati_gitops.ledger.policy import Policy
from tests.decide.worlds import (
    START,
    World,
    canary,
    draining,
    entry,
    name_of,
    rules,
    stored,
)

FORWARD = frozenset(
    (Verdict.ADVANCE, Verdict.ACTIVATE, Verdict.PARK, Verdict.REMOVE, Verdict.RETIRE)
)
SLOW = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
RULES = rules(decommission={"rollbackFor": "1s", "parkFor": "10m", "idleFor": "30m"})


# -- on the brink --------------------------------------------------------------------------------


def advancing():
    return World(canary(10), RULES).traffic(v1=54, v2=6), Verdict.ADVANCE


def activating():
    return World(canary(50), RULES).traffic(v1=30, v2=30), Verdict.ACTIVATE


def parking():
    world = World(canary(50), RULES).traffic(v1=30, v2=30)
    for _ in range(3):
        world.look()
    return world.becomes(draining()).traffic(v1=0, v2=60), Verdict.PARK


def removing():
    world, _ = parking()
    for _ in range(16):
        world.look()
    place = stored(entry("v1", Phase.PARKED), entry("v2", Phase.ACTIVE, 100))
    return world.becomes(place), Verdict.REMOVE


def retiring():
    world = World(stored(entry("v1", Phase.ACTIVE, 100)), RULES).traffic(v1=30)
    for _ in range(3):
        world.look()
    world.traffic(v1=0)
    for phase, weight in ((Phase.ACTIVE, 100), (Phase.PARKED, 0)):
        place = stored(entry("v1", phase, weight), retiring=True)
        plan = replace(
            place.plan, versions=tuple(replace(v, gone=True) for v in place.plan.versions)
        )
        world.becomes(replace(place, plan=plan))
        for _ in range(18 if weight else 0):
            world.look()
    return world, Verdict.RETIRE


def brink(make):
    """The world as it stands right before it acts."""
    world, verdict = make()
    while True:
        clock, now = world.clock, world.now
        made = world.look()
        assert made.move is None or made.verdict is verdict, made.reason
        if made.verdict is verdict:
            return replace(world, clock=clock, now=now), world.seen(), world.now


BRINKS = {
    make.__name__: brink(make) for make in (advancing, activating, parking, removing, retiring)
}


def judge(name, seen, clock=None):
    world, _, now = BRINKS[name]
    return decide(world.rules, world.place, seen, clock or world.clock, now, world.around)


@pytest.mark.parametrize("name", BRINKS)
def test_what_stands_on_the_brink_acts(name):
    assert judge(name, BRINKS[name][1])[0].verdict in FORWARD


# -- something is missing ------------------------------------------------------------------------

GAPS = st.sampled_from([gap for gap in Gap if gap is not Gap.UNSUPPORTED])


def told(seen, id, change):
    name = name_of(id)
    return replace(seen, telemetry={**seen.telemetry, name: change(seen.telemetry[name])})


def without(seen, place, gap):
    """The observation with a Missing in one place."""
    missing = Missing(gap, "it is not known")
    match place:
        case "live":
            return replace(seen, live=missing)
        case "route":
            return replace(seen, live=replace(seen.live, route=missing))
        case "engine":
            return replace(seen, live=replace(seen.live, engine=missing))
        case "references":
            return replace(seen, live=replace(seen.live, references=missing))
        case "telemetry":
            return replace(seen, telemetry=missing)
        case "own":
            return told(seen, _subject(seen), lambda _: missing)
        case "edge":
            return told(seen, _subject(seen), lambda t: replace(t, edge=missing))
        case _:
            return told(seen, "v1", lambda _: missing)


def _subject(seen):
    return (
        "v2"
        if name_of("v2") in seen.live.workloads and seen.live.route.weights.get(name_of("v1"), 0)
        else "v1"
    )


NEEDS = {
    "advancing": ("live", "route", "engine", "telemetry", "own", "edge", "beside"),
    "activating": ("live", "route", "engine", "telemetry", "own", "edge", "beside"),
    "parking": ("live", "route", "references", "telemetry", "own", "edge"),
    "removing": ("live", "references", "telemetry", "own", "edge"),
    "retiring": ("live", "references", "telemetry", "own", "edge"),
}


@given(st.sampled_from(sorted(NEEDS)), st.data(), GAPS)
@settings(max_examples=300, deadline=None)
def test_nothing_rests_on_what_is_missing(name, data, gap):
    place = data.draw(st.sampled_from(NEEDS[name]))
    made, _ = judge(name, without(BRINKS[name][1], place, gap))
    assert made.verdict not in FORWARD, (name, place, made.reason)
    assert made.verdict is not Verdict.ROLLBACK


def spoiled(series, data):
    """Samples that nothing follows from: the last one is no number, or they stop, or are none."""
    kind = data.draw(st.sampled_from(["nan", "inf", "stops", "empty", "backwards"]))
    if kind == "nan":
        return replace(series, values=(*series.values[:-1], float("nan")))
    if kind == "inf":
        return replace(series, values=(*series.values[:-1], float("inf")))
    if kind == "stops":
        return replace(series, times=series.times[:-4], values=series.values[:-4])
    if kind == "empty":
        return replace(series, times=(), values=())
    return replace(series, times=series.times[::-1])


@given(st.sampled_from(["advancing", "activating", "parking"]), st.data())
@settings(max_examples=200, deadline=None)
def test_nothing_rests_on_spoiled_samples(name, data):
    def one_pod(telemetry):
        pod = data.draw(st.sampled_from(sorted(telemetry.pods)))
        said = telemetry.pods[pod]
        which = data.draw(st.sampled_from(["up", "requests"]))
        if which == "up":
            bad = replace(said, up=spoiled(said.up, data))
        else:
            assume(said.requests)
            bad = replace(said, requests=(spoiled(said.requests[0], data), *said.requests[1:]))
        return replace(telemetry, pods={**telemetry.pods, pod: bad})

    seen = BRINKS[name][1]
    made, _ = judge(name, told(seen, _subject(seen), one_pod))
    assert made.verdict not in FORWARD, made.reason


# -- anything at all -----------------------------------------------------------------------------

wild = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-5, 5).map(float)
moments = st.floats(START - 600, START + 60)
labels = st.sampled_from(
    [(), (("status_code", "200"),), (("status_code", "500"),), (("le", "0.5"),), (("le", "x"),)]
)
series = st.lists(st.tuples(moments, wild), max_size=6).flatmap(
    lambda pairs: st.builds(
        Series, labels, st.just(tuple(t for t, _ in pairs)), st.just(tuple(v for _, v in pairs))
    )
)
several = st.lists(series, max_size=3).map(tuple)
missing = st.builds(Missing, st.sampled_from(Gap), st.just("why"))
pod_series = st.builds(PodSeries, st.none() | series, several, several, st.none() | series)
edge = st.builds(EdgeSeries, several, missing | several, several, st.sampled_from([0.0, 30.0]))
windows = st.builds(
    Window, moments, st.sampled_from([60.0, 420.0]), st.sampled_from([15.0, 60.0]), st.just("")
)
telemetries = st.builds(
    Telemetry,
    windows,
    st.dictionaries(st.sampled_from(["p0", "p1", "gone"]), pod_series, max_size=3),
    missing | edge,
)
pods = st.builds(
    Pod,
    st.sampled_from(["p0", "p1", "p2"]),
    ready=st.booleans(),
    terminating=st.booleans(),
    created=moments | st.just(0.0),
    waiting=st.sampled_from(["", "CrashLoopBackOff"]),
)
workloads = st.builds(
    Workload,
    st.integers(0, 3),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from(["", "stalled"]),
    st.lists(pods, max_size=3, unique_by=lambda pod: pod.name).map(tuple),
    st.integers(0, 3),
    st.integers(0, 3),
)
names = st.sampled_from([name_of("v1"), name_of("v2"), name_of("v3")])
routes = (
    st.none()
    | missing
    | st.builds(LiveRoute, st.dictionaries(names, st.integers(0, 100), max_size=3), st.booleans())
)
engines = missing | st.builds(Engine, st.sampled_from(EngineState))
lives = missing | st.builds(
    Live,
    moments,
    st.dictionaries(names, workloads, max_size=3),
    routes,
    missing | st.just({}),
    engines,
    st.sampled_from(["", "", "", "stop"]),
)
observations = st.builds(
    Observation, lives, missing | st.dictionaries(names, missing | telemetries, max_size=3)
)
LEDGERS = [
    canary(0),
    canary(10),
    canary(50),
    draining(),
    stored(entry("v1", Phase.PARKED), entry("v2", Phase.ACTIVE, 100)),
    stored(entry("v1", Phase.REJECTED), entry("v2", Phase.ACTIVE, 100)),
    stored(entry("v1", Phase.REMOVED), entry("v2", Phase.ACTIVE, 100, previous="old")),
    stored(entry("v1", Phase.STARTING), entry("v2", Phase.ACTIVE, 100, rejected=True), target="v1"),
    stored(entry("v1", Phase.ACTIVE, 100), entry("v2", Phase.PENDING), wants="v2"),
    stored(
        entry("v1", Phase.ACTIVE, 60),
        entry("v2", Phase.CANARY, 30),
        entry("v3", Phase.CANARY, 10),
        target="v2",
    ),
    stored(entry("v1", Phase.ACTIVE, 100), retiring=True),
]
STRATEGIES = ["canary", "blue-green", "direct", "manual"]


@given(
    st.sampled_from(LEDGERS),
    st.sampled_from(STRATEGIES),
    st.lists(observations, min_size=1, max_size=4),
    st.booleans(),
)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_seen_is_judged(place, strategy, sights, standby):
    """No observation is an accident; the same one gives the same; what is decided can be written."""
    judged_by, around = rules(strategy), Around(standby=standby, dwells=(60.0,))
    clock, now = UnitClock(), START
    for seen in sights:
        made, after = decide(judged_by, place, seen, clock, now, around)
        assert decide(judged_by, place, seen, clock, now, around) == (made, after)
        assert clock_from(clock_data(after)) == after
        assert made.reason
        assert (made.move is not None) == (made.verdict in ACTS)
        if made.move is not None:
            assert made.move.verdict is made.verdict and made.move.reason
            _writes(place, strategy, made)
        clock, now = after, now + 60


def _writes(place, strategy, made):
    """A move leaves a ledger whose weights sum to 100, with one Active version at most."""
    try:
        outcome = moved(Policy(strategy), place, made.move)
    except Refused as refused:
        pytest.fail(f"{made.verdict} was refused: {refused.message}")
    if outcome.plan is None:
        return
    entries = outcome.ledger.entries
    weights = sum(e.weight for e in entries)
    assert weights == 100 or outcome.ledger.retiring or not outcome.ledger.deployed
    assert all(not e.weight or e.phase in WEIGHTED for e in entries)
    assert sum(1 for e in entries if e.phase is Phase.ACTIVE) <= 1
    assert outcome.ledger.seq > place.ledger.seq


# -- time ----------------------------------------------------------------------------------------


def decided_after(make, *, lose=frozenset(), faults=None, looks=90):
    """How many looks it takes until something goes forward; None if it never does."""
    world, verdict = make()
    for number in range(looks):
        if number in lose:
            world.clock = UnitClock()
        world.bend = (faults or {}).get(number, lambda seen: seen)
        made = world.look()
        if made.verdict is verdict:
            return number
        if made.verdict is Verdict.HOLD:
            return None
        assert made.move is None, made.reason
    return None


@pytest.mark.parametrize("make", [advancing, parking, removing])
@given(lose=st.frozensets(st.integers(0, 40), max_size=3))
@SLOW
def test_losing_clocks_makes_nothing_faster(make, lose):
    fair = decided_after(make)
    late = decided_after(make, lose=lose)
    assert fair is not None
    assert late is None or late >= fair


FAULTS = [
    lambda seen: replace(seen, telemetry=Missing(Gap.ERROR, "down")),
    lambda seen: replace(seen, telemetry=Missing(Gap.NO_DATA, "empty")),
    lambda seen: replace(seen, live=Missing(Gap.ERROR, "down")),
    lambda seen: replace(seen, live=replace(seen.live, route=Missing(Gap.ERROR, "403"))),
    lambda seen: replace(seen, live=replace(seen.live, engine=Missing(Gap.ERROR, "403"))),
    lambda seen: told(seen, "v2", lambda t: replace(t, pods={})),
    lambda seen: told(seen, "v1", lambda t: replace(t, edge=Missing(Gap.STALE, "old"))),
    lambda seen: told(
        seen,
        "v2",
        lambda t: replace(
            t, pods={n: replace(p, requests=p.requests * 2) for n, p in t.pods.items()}
        ),
    ),
]


@pytest.mark.parametrize("make", [advancing, parking, removing])
@given(faults=st.dictionaries(st.integers(0, 40), st.sampled_from(FAULTS), max_size=12))
@SLOW
def test_faults_make_nothing_faster_and_take_nothing_back(make, faults):
    fair = decided_after(make)
    late = decided_after(make, faults=faults)
    assert fair is not None
    assert late is None or late >= fair


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.0, 0.001, 0.3]), st.sampled_from([0.5, 6.0, 60.0])),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["canary", "blue-green", "direct"]),
)
@SLOW
def test_any_story_keeps_its_weights(episodes, strategy):
    """However a version does, what is written always serves everybody."""
    world = World(canary(0), rules(strategy, decommission={"rollbackFor": "10m", "parkFor": "15m"}))
    for failing, rate in episodes:
        for _ in range(20):
            for e in world.ledger.deployed:
                if e.id in world.serving:
                    world.say(e.id, rate=rate * e.weight / 100, failing=failing * (e.id == "v2"))
            made = world.look(60)
            if made.move is None:
                continue
            if made.verdict is Verdict.HOLD:
                return
            before = world.ledger
            world.acts(made)
            entries = world.ledger.entries
            assert sum(e.weight for e in entries) == 100
            assert world.ledger.active is not None
            assert world.ledger.seq > before.seq
            gained = [
                e
                for e in entries
                if e.weight > next((b.weight for b in before.entries if b.id == e.id), 0)
            ]
            assert all(world.serving[e.id].pods > 0 for e in gained)
