"""Every guard alone stands between a unit and harm: with it nothing happens, without it it would."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gati_gitops.decide import before_traffic, called, still_needed, unproved
from gati_gitops.decide.around import Around
from gati_gitops.decide.observation import Engine, EngineState, Gap, LiveRoute, Missing
from gati_gitops.decide.verdict import Verdict
from gati_gitops.plan.model import Scaling
from tests.decide.test_leaving import GAPS, left
from tests.decide.worlds import (
    World,
    canary,
    draining,
    late,
    name_of,
    planned,
    rules,
    with_live,
    with_telemetry,
    with_workload,
)

HARM = frozenset((Verdict.ADVANCE, Verdict.ACTIVATE, Verdict.PARK, Verdict.ROLLBACK))
HASTY = rules(decommission={"rollbackFor": "1s", "idleFor": "1s"})


def leaving(fault=None, *, judged_by=HASTY, **around):
    world = left(judged_by=judged_by, **around)
    for _ in range(4):
        world.look(60)
    world.bend = fault or world.bend
    return world


def calling(pods=True, edge=True):
    """Requests until a minute ago, seen by one witness only."""

    def more(series):
        last = len(series.values) - 5
        values = tuple(v + min(n, last) for n, v in enumerate(series.values))
        return replace(series, values=values)

    def changed(told):
        found = {n: replace(p, requests=tuple(map(more, p.requests))) for n, p in told.pods.items()}
        at_edge = replace(told.edge, requests=tuple(map(more, told.edge.requests)))
        return replace(told, pods=found if pods else told.pods, edge=at_edge if edge else told.edge)

    return with_telemetry("v1", changed)


def busy(pods=True):
    """A request was open until a minute ago."""

    def changed(told):
        def one(series):
            values = (*(1.0 for _ in series.values[4:]), 0.0, 0.0, 0.0, 0.0)
            return replace(series, values=values)

        if pods:
            found = {n: replace(p, in_flight=one(p.in_flight)) for n, p in told.pods.items()}
            return replace(told, pods=found)
        return replace(told, edge=replace(told.edge, active=tuple(map(one, told.edge.active))))

    return with_telemetry("v1", changed)


def uncounted(told):
    pods = {n: replace(p, in_flight=None) for n, p in told.pods.items()}
    missing = Missing(Gap.UNSUPPORTED, "nothing counts them")
    return replace(told, pods=pods, edge=replace(told.edge, active=missing))


def mute(*, pods=False, edge=False):
    def changed(told):
        silent = {n: replace(p, requests=()) for n, p in told.pods.items()}
        return replace(
            told,
            pods=silent if pods else told.pods,
            edge=replace(told.edge, requests=()) if edge else told.edge,
        )

    return lambda seen: with_telemetry("v2", changed)(with_telemetry("v1", changed)(seen))


def asleep():
    place = draining()
    scaling = Scaling("keda", min=0, max=4)
    versions = tuple(planned(v.id, gone=v.gone, scaling=scaling) for v in place.plan.versions)
    world = left(replace(place, plan=replace(place.plan, versions=versions)), HASTY)
    while not world.clock.of("v1", "d-v1").passes:
        world.look()
    return world.say("v1", pods=0)


def listed():
    place = draining()
    versions = tuple(replace(v, gone=False) for v in place.plan.versions)
    plan = replace(place.plan, versions=versions)
    judged_by = rules(decommission={"rollbackFor": "1s", "idleFor": "6h"})
    return left(replace(place, plan=plan), judged_by)


def named():
    world = leaving(judged_by=rules(decommission={"rollbackFor": "1s", "idleFor": "6h"}))
    world.serving["v1"].counts["exact"] += 1
    return world


def stepping(fault=None, weight=10, **around):
    world = World(canary(weight)).traffic(v1=54, v2=6 if weight else 0)
    world.bend = fault or world.bend
    world.around = Around(**around)
    return world


def starting(fault):
    return stepping(fault, weight=0)


def failing():
    world = stepping(with_workload("v1", ready=0, ready_endpoints=0))
    return world.say("v2", failing=0.5)


def breaking():
    world = stepping(weight=0)
    versions = tuple(replace(v, breaking=v.id == "v2") for v in world.place.plan.versions)
    world.place = replace(world.place, plan=replace(world.place.plan, versions=versions))
    return world


HALF = LiveRoute({name_of("v1"): 100}, current=False, why="not accepted")


def falling():
    """A pod of the new version falls over every minute, and what it counts looks well."""

    def bent(seen):
        workload = seen.live.workloads[name_of("v2")]
        one, *rest = workload.pods
        fell = replace(one, restarts=3, restarted=seen.live.at - 40)
        return with_workload("v2", pods=(fell, *rest))(seen)

    return stepping(bent)


def stirring():
    """Somebody changes the route between any two looks, and it is changed back."""
    world = stepping()

    def bent(seen):
        edition = f"route/{seen.live.at:.0f}"
        return with_live(route=replace(seen.live.route, edition=edition))(seen)

    world.bend = bent
    return world


SCENES = {
    (called, "requests_were_counted"): lambda: leaving(calling(edge=False)),
    (called, "requests_are_open"): lambda: leaving(busy()),
    (called, "gateway_counted_requests"): lambda: leaving(calling(pods=False)),
    (called, "gateway_has_open_requests"): lambda: leaving(busy(pods=False)),
    (called, "gateway_counts_nothing"): lambda: leaving(
        with_telemetry("v1", lambda t: replace(t, edge=Missing(Gap.UNSUPPORTED, "none")))
    ),
    (called, "open_requests_are_unknown"): lambda: leaving(with_telemetry("v1", uncounted)),
    (unproved, "metrics_are_missing"): lambda: leaving(GAPS["no metrics"]),
    (unproved, "look_is_too_short"): lambda: leaving(GAPS["a short look"]),
    (unproved, "cluster_look_is_old"): lambda: leaving(GAPS["an old look at the cluster"]),
    (unproved, "state_is_too_young"): lambda: leaving(GAPS["a route that is not programmed"]),
    (unproved, "pods_changed"): lambda: leaving(GAPS["a pod that is not ready"]),
    (unproved, "outage_is_too_young"): asleep,
    (unproved, "pods_are_unread"): lambda: leaving(GAPS["a scrape that failed"]),
    (unproved, "counters_are_unread"): lambda: leaving(GAPS["a counter that vanished"]),
    (unproved, "gauges_are_unread"): lambda: leaving(GAPS["a gauge that vanished"]),
    (unproved, "gateway_is_unread"): lambda: leaving(GAPS["a gateway that is not scraped"]),
    (unproved, "names_are_unproved"): lambda: leaving(mute(pods=True)),
    (unproved, "gateway_names_are_unproved"): lambda: leaving(mute(edge=True)),
    (still_needed, "it_is_the_way_back"): lambda: leaving(judged_by=rules()),
    (still_needed, "somebody_named_it"): named,
    (still_needed, "specs_have_it"): listed,
    (still_needed, "somebody_refers_to_it"): lambda: leaving(GAPS["a route elsewhere"]),
    (still_needed, "nobody_else_serves"): lambda: leaving(GAPS["a successor that is not ready"]),
    (still_needed, "successor_is_in_doubt"): lambda: leaving(judged={("v2", "d-v2"): "prod/west"}),
    (before_traffic, "step_is_not_shown"): lambda: starting(with_live(route=HALF)),
    (before_traffic, "pods_are_missing"): lambda: starting(with_workload("v2", ready=1)),
    (before_traffic, "pods_began_again"): falling,
    (before_traffic, "route_was_changed"): stirring,
    (before_traffic, "job_cannot_write"): lambda: stepping(cannot_write="no token"),
    (before_traffic, "others_are_unread"): lambda: stepping(unread="prod/west is broken"),
    (before_traffic, "engine_does_not_sync"): lambda: stepping(
        with_live(engine=Engine(EngineState.SUSPENDED))
    ),
    (before_traffic, "stable_cannot_carry"): lambda: stepping(
        with_workload("v1", ready=0, ready_endpoints=0)
    ),
    (before_traffic, "they_cannot_share"): breaking,
    (before_traffic, "evidence_is_old"): lambda: stepping(late(600)),
    (before_traffic, "nobody_could_take_it"): failing,
}
IDS = [f"{module.__name__.rpartition('.')[2]}.{name}" for module, name in SCENES]


LOOKS = {"outage_is_too_young": 4, "pods_are_missing": 8}
"""Minutes for which a guard stands; others stand for ever."""


def harm(guard):
    """The first thing that happens in a quarter of an hour, if it is harm."""
    world = SCENES[guard]()
    for _ in range(LOOKS.get(guard[1], 15)):
        made = world.look(60)
        if made.verdict in HARM:
            return made.verdict
    return None


@pytest.mark.parametrize("ahead", [-600, 6000])
def test_a_pod_that_fell_is_young_whatever_its_node_takes_the_time_to_be(ahead):
    """By a clock that is behind ours it fell long ago, by one that is ahead it has yet to."""
    world = stepping()
    looks = []

    def bent(seen):
        looks.append(seen.live.at)
        workload = seen.live.workloads[name_of("v2")]
        if len(looks) <= 3:
            return seen
        fell = replace(workload.pods[0], restarts=1, restarted=looks[3] + ahead)
        return with_workload("v2", pods=(fell, *workload.pods[1:]))(seen)

    world.bend = bent
    step = world.rules.step_for
    while (made := world.look(60)).verdict not in HARM:
        assert len(looks) < 15
    assert "next step" in made.reason
    assert step <= looks[-1] - looks[3] < step + 120


def test_who_cannot_be_read_stops_no_way_back():
    world = stepping(unread="prod/west is broken").say("v2", failing=0.5)
    assert world.passes(600).verdict is Verdict.ROLLBACK


def test_a_version_whose_successor_may_be_rejected_elsewhere_stays():
    world = leaving(unread="prod/west is broken")
    for _ in range(15):
        made = world.look(60)
        assert made.verdict not in HARM
    assert "prod/west is broken" in made.reason


def test_every_guard_has_a_scene():
    guards = {
        called: (*called.CALLS, *called.NEVER),
        unproved: unproved.GAPS,
        still_needed: (*still_needed.BLOCKS, *still_needed.TIMES),
        before_traffic: before_traffic.__all__,
    }
    wanted = {(module, name) for module, names in guards.items() for name in names}
    assert set(SCENES) == wanted


@pytest.mark.parametrize("guard", SCENES, ids=IDS)
def test_a_guard_stands_alone(guard, monkeypatch):
    assert harm(guard) is None
    monkeypatch.setattr(*guard, lambda *_: "")
    assert harm(guard) is not None
