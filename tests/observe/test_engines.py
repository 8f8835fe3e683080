"""The engine's word: whether it follows us, may sync, and has."""

import json
from datetime import datetime
from types import SimpleNamespace

import pytest

from gati_gitops.decide.observation import Engine, EngineState, Gap, Missing
from gati_gitops.observe.engines_flux import commit
from gati_gitops.observe.engines_windows import closed_by
from gati_gitops.observe.wanted import Wanted
from gati_gitops.reconcile.sources import Sources
from gati_gitops.spec.project import Cluster
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import handler
from tests.observe.kube_api import KubeApi, status
from tests.observe.world import DB, NOW, USERS, World, files, look, seen

SYNCED, BEHIND = EngineState.SYNCED, EngineState.BEHIND
SUSPENDED, STUCK = EngineState.SUSPENDED, EngineState.STUCK
APPLICATION = "prod.east.shop"

BAD = {"conditions": [{"type": "Ready", "status": "False", "reason": "R", "message": "m"}]}

STALLED = {"conditions": [{"type": "Stalled", "status": "True", "reason": "R", "message": "m"}]}

WORKING = {"conditions": [{"type": "Ready", "status": "Unknown"}]}

REMOTE = {"sync": {"server": "https://east.example.com"}}


@pytest.fixture
def api():
    server = KubeApi()
    yield server
    server.end()


def merged(item: dict, change: dict) -> None:
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(item.get(key), dict):
            merged(item[key], value)
        elif value is None:
            item.pop(key, None)
        else:
            item[key] = value


class TestArgoCd:
    @pytest.fixture
    def engine(self, api, tmp_path):
        def engine(**change) -> Engine | Missing:
            world = World()
            merged(world.find("Application", APPLICATION), change)
            return seen(look(world, api, tmp_path)).engine

        return engine

    def test_synced(self, engine):
        assert engine() == Engine(SYNCED, "", "c0ffee")

    def test_a_commit_that_changes_nothing_of_it(self, engine):
        found = engine(status={"sync": {"revision": "beef"}})
        assert found == Engine(SYNCED, "", "beef")

    @pytest.mark.parametrize(
        "change, why",
        [
            ({"spec": {"syncPolicy": {"automated": None}}}, "automatic sync is switched off"),
            ({"spec": {"syncPolicy": None}}, "automatic sync is switched off"),
            (
                {"spec": {"syncPolicy": {"automated": {"enabled": False}}}},
                "automatic sync is switched off",
            ),
            (
                {"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": "true"}}},
                "skip-reconcile",
            ),
            ({"metadata": {"deletionTimestamp": "2026-11-01T00:00:00Z"}}, "is being deleted"),
            ({"spec": {"source": {"targetRevision": "v1.2"}}}, "its targetRevision is 'v1.2'"),
            ({"spec": {"source": {"path": "other"}}}, "its path is 'other'"),
            ({"spec": {"source": {"repoURL": "https://x/y"}}}, "its repoURL is 'https://x/y'"),
        ],
    )
    def test_a_person_has_stopped_it(self, engine, change, why):
        found = engine(**change)
        assert found.state is SUSPENDED and why in found.why

    @pytest.mark.parametrize(
        "change, why",
        [
            (
                {"sync": {"status": "OutOfSync"}, "operationState": {"phase": "Failed"}},
                "its last sync ended as Failed",
            ),
            (
                {"sync": {"status": "OutOfSync"}, "operationState": {"phase": "Error"}},
                "its last sync ended as Error",
            ),
            (
                {"operationState": {"phase": "Running", "retryCount": 2, "message": "denied"}},
                "it tries for the 3. time: denied",
            ),
            (
                {"conditions": [{"type": "ComparisonError", "message": "no such path"}]},
                "no such path",
            ),
            ({"sync": {"status": "Unknown"}}, "does not know"),
            ({"sync": None}, "does not know"),
        ],
    )
    def test_it_fails(self, engine, change, why):
        found = engine(status=change)
        assert found.state is STUCK and why in found.why

    def test_a_failure_that_is_over(self, engine):
        assert engine(status={"operationState": {"phase": "Failed"}}).state is SYNCED

    def test_it_is_on_its_way(self, engine):
        found = engine(status={"sync": {"status": "OutOfSync", "revision": "beef"}})
        # what it has applied, not what it compares with
        assert found == Engine(BEHIND, "OutOfSync", "c0ffee")
        assert engine(status={"operationState": {"phase": "Running"}}).state is BEHIND

    def test_health_is_told_and_is_no_fault_of_the_engine(self, engine):
        found = engine(status={"health": {"status": "Degraded"}})
        assert found == Engine(SYNCED, "health Degraded", "c0ffee")

    def test_a_window_keeps_it_from_syncing(self, api, tmp_path):
        world = World()
        window = {"kind": "deny", "schedule": "* * * * *", "duration": "1h", "applications": ["*"]}
        world.find("AppProject", "prod.east.units")["spec"]["syncWindows"] = [window]
        found = seen(look(world, api, tmp_path)).engine
        assert found.state is SUSPENDED and "a sync window denies it" in found.why

    def test_an_application_that_is_not_there(self, api, tmp_path):
        world = World()
        world.objects.remove(world.find("Application", APPLICATION))
        found = seen(look(world, api, tmp_path)).engine
        assert isinstance(found, Missing) and found.gap is Gap.NO_DATA
        assert f"no Application {APPLICATION}" in found.why

    @pytest.mark.parametrize("code", [401, 403, 500])
    def test_it_may_not_be_seen(self, api, tmp_path, code):
        api.rule = lambda r: status(code, "no") if "argoproj.io" in r.path else None
        live = seen(look(World(), api, tmp_path))
        assert isinstance(live.engine, Missing) and live.engine.gap is Gap.ERROR
        assert str(code) in live.engine.why
        assert live.route.weights  # nothing else is lost

    def test_argo_cd_is_not_installed(self, api, tmp_path):
        del api.served["argoproj.io/v1alpha1", "Application"]
        found = seen(look(World(), api, tmp_path)).engine
        assert isinstance(found, Missing) and "no kind Application" in found.why

    def test_objects_that_are_odd(self, api, tmp_path):
        world = World()
        world.find("Application", APPLICATION)["status"] = {"conditions": "x"}
        found = seen(look(world, api, tmp_path)).engine
        assert isinstance(found, Missing) and "not as it writes them" in found.why

    def test_a_large_namespace_has_one_for_each_unit(self, api, tmp_path):
        more = [handler(f"unit{n:02}", handlerPath=f"/u{n}") for n in range(60)]
        world = World(files("gateway-api", *more))
        off = world.find("Application", "prod.east.shop.handler-unit07")
        off["spec"]["syncPolicy"]["automated"] = None
        found = look(world, api, tmp_path)
        assert seen(found, ("shop", "handler-unit07")).engine.state is SUSPENDED
        assert seen(found, ("shop", "handler-unit08")).engine.state is SYNCED


class TestFlux:
    @pytest.fixture
    def engine(self, api, tmp_path):
        def engine(source: dict | None = None, **change) -> Engine | Missing:
            world = World(files(cluster={"sync": {"engine": "flux"}}))
            merged(world.find("Kustomization", APPLICATION), change)
            merged(world.find("GitRepository", "prod.east"), source or {})
            return seen(look(world, api, tmp_path)).engine

        return engine

    def test_synced(self, engine):
        assert engine() == Engine(SYNCED, "", "c0ffee")

    @pytest.mark.parametrize(
        "source, change, why",
        [
            ({}, {"spec": {"suspend": True}}, "the Kustomization is suspended"),
            ({"spec": {"suspend": True}}, {}, "the GitRepository is suspended"),
            ({}, {"metadata": {"deletionTimestamp": "x"}}, "is being deleted"),
            ({}, {"spec": {"path": "./other"}}, "its path is 'other'"),
            ({"spec": {"ref": {"tag": "v1"}}}, {}, "it follows"),
            ({"spec": {"ref": {"commit": "abc"}}}, {}, "it follows"),
            ({"spec": {"url": "https://x/y"}}, {}, "its repository is 'https://x/y'"),
        ],
    )
    def test_a_person_has_stopped_it(self, engine, source, change, why):
        found = engine(source, **change)
        assert found.state is SUSPENDED and why in found.why

    @pytest.mark.parametrize(
        "source, change, why",
        [
            ({}, {"status": BAD}, "R: m"),
            ({}, {"status": STALLED}, "R: m"),
            ({"status": BAD}, {}, "GitRepository prod.east: R: m"),
            ({}, {"spec": {"sourceRef": {"name": "gone"}}}, "there is no GitRepository gone"),
        ],
    )
    def test_it_fails(self, engine, source, change, why):
        found = engine(source, **change)
        assert found.state is STUCK and why in found.why

    @pytest.mark.parametrize(
        "source, change",
        [
            ({}, {"status": WORKING}),
            ({}, {"metadata": {"generation": 2}}),
            ({"status": {"artifact": {"revision": "main@sha1:beef"}}}, {}),
            ({}, {"status": {"lastAppliedRevision": None}}),
            ({"status": {"artifact": None}}, {}),
        ],
    )
    def test_it_is_on_its_way(self, engine, source, change):
        assert engine(source, **change).state is BEHIND

    @pytest.mark.parametrize(
        "revision, found",
        [("main@sha1:abc", "abc"), ("main/abc", "abc"), ("env/prod@sha1:abc", "abc"), ("", "")],
    )
    def test_commits(self, revision, found):
        assert commit(revision) == found


class TestElsewhere:
    """The engine's objects on another cluster."""

    def test_nobody_says_where(self, api, tmp_path):
        found = seen(look(World(files(cluster=REMOTE)), api, tmp_path)).engine
        assert isinstance(found, Missing) and found.gap is Gap.ERROR
        assert "sync.hub does not say on which" in found.why

    def test_nobody_says_how_it_is_reached(self, api, tmp_path):
        world = World(files(cluster={"sync": {**REMOTE["sync"], "hub": "hub"}}))
        api.objects = world.objects
        scene = SimpleNamespace(
            output=world.output, before=MemorySnapshot(world.tree), cluster=lambda *_: Cluster()
        )
        with Sources({"east": api.access(tmp_path)}, {}) as sources:
            live = sources.eyes(scene, ("prod", "east")).live.look(Wanted("east", world.units))
        found = seen(live).engine
        assert isinstance(found, Missing) and found.gap is Gap.ERROR
        assert "--context hub=NAME" in found.why and "sync.unseen" in found.why

    def test_it_is_asked_there(self, api, tmp_path):
        world = World(files(cluster={"sync": {**REMOTE["sync"], "hub": "hub"}}))
        hub = KubeApi([item for item in world.objects if "argoproj.io" in item["apiVersion"]])
        world.objects = [i for i in world.objects if "argoproj.io" not in i["apiVersion"]]
        (tmp_path / "hub").mkdir()
        there = hub.kube(tmp_path / "hub")
        assert seen(look(world, api, tmp_path, hub=there)).engine.state is SYNCED
        assert not [r for r in api.requests if "argoproj.io" in r.path]
        there.close()
        hub.end()

    def test_it_is_left_unasked(self, api, tmp_path):
        cluster = {"sync": {**REMOTE["sync"], "unseen": True}}
        found = seen(look(World(files(cluster=cluster)), api, tmp_path)).engine
        assert isinstance(found, Missing) and found.gap is Gap.UNSUPPORTED

    def test_flux_from_afar(self, api, tmp_path):
        cluster = {"sync": {"engine": "flux", "kubeConfig": {"name": "east"}}}
        found = seen(look(World(files(cluster=cluster)), api, tmp_path)).engine
        assert isinstance(found, Missing) and found.gap is Gap.ERROR

    def test_the_record_remembers_it(self):
        sync = {
            "hub": "hub",
            "nudge": "webhook",
            "nudgeUrl": "https://argocd.example.com/api/webhook",
        }
        world = World(files(cluster={"sync": {"server": "https://e.example.com", **sync}}))
        record = world.output.record("clusters/east/sync.yaml")["cluster"]
        assert {key: record[key] for key in sync} == sync
        plain = json.dumps(dict(World().output.record("clusters/east/sync.yaml")))
        assert not any(word in plain for word in ("hub", "nudge", "unseen"))


# -- sync windows --------------------------------------------------------------------------------


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


MONDAY = at("2026-11-16T10:30:00+00:00")
APP = {
    "metadata": {"name": "prod.east.shop"},
    "spec": {"destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"}},
}


def window(schedule: str, duration: str = "1h", kind: str = "deny", **more) -> dict:
    where = (
        {} if more.keys() & {"applications", "namespaces", "clusters"} else {"namespaces": ["*"]}
    )
    return {"kind": kind, "schedule": schedule, "duration": duration, **where, **more}


class TestWindows:
    @pytest.mark.parametrize(
        "schedule, duration, is_open",
        [
            ("0 10 * * *", "1h", True),
            ("0 10 * * *", "30m", False),  # as Argo CD has it: over when it is
            ("0 10 * * *", "31m", True),
            ("0 9 * * *", "1h", False),
            ("0 9 * * *", "1h45m", True),
            ("30 10 * * *", "1h", False),  # not before its first moment is over
            ("0 10 * * mon", "1h", True),
            ("0 10 * * 1-5", "1h", True),
            ("0 10 * * 0,6", "1h", False),
            ("0 0 * * sat", "72h", True),
            ("0 0 * * fri", "72h", False),
            ("*/15 * * * *", "16m", True),
            ("0 10 16 * *", "1h", True),
            ("0 10 16 12 *", "1h", False),
            ("0 10 16 nov *", "1h", True),
            ("0 10 1 * mon", "1h", True),  # either of the two, where both are said
            ("0 10 1 * tue", "1h", False),
            ("@daily", "11h", True),
            ("@hourly", "31m", True),
            ("0 0 1 1 *", "8760h", True),
        ],
    )
    def test_schedules(self, schedule, duration, is_open):
        assert bool(closed_by([window(schedule, duration)], APP, MONDAY)) is is_open

    def test_its_time_zone_counts(self):
        berlin = window("0 11 * * *", timeZone="Europe/Berlin")
        assert closed_by([berlin], APP, MONDAY)
        assert not closed_by([window("0 11 * * *")], APP, MONDAY)

    def test_deny_wins(self):
        both = [window("0 10 * * *", kind="allow"), window("0 10 * * *")]
        assert "denies it" in closed_by(both, APP, MONDAY)

    def test_where_something_is_allowed_nothing_else_is(self):
        closed = [window("0 12 * * *", kind="allow"), window("0 20 * * *", kind="allow")]
        assert "no sync window is open" in closed_by(closed, APP, MONDAY)
        assert not closed_by([*closed, window("0 10 * * *", kind="allow")], APP, MONDAY)

    @pytest.mark.parametrize(
        "more, concerns",
        [
            ({"applications": ["prod.*"]}, True),
            ({"applications": ["dev.*"]}, False),
            ({"namespaces": ["shop"]}, True),
            ({"clusters": ["https://kubernetes.default.svc"]}, True),
            ({"clusters": ["in-cluster"]}, False),
            ({"applications": ["dev.*"], "namespaces": ["shop"]}, True),
            ({"applications": ["dev.*"], "namespaces": ["shop"], "andOperator": True}, False),
        ],
    )
    def test_whom_it_concerns(self, more, concerns):
        assert bool(closed_by([window("0 10 * * *", **more)], APP, MONDAY)) is concerns

    @pytest.mark.parametrize(
        "schedule, duration",
        [("", "1h"), ("61 * * * *", "1h"), ("* * * *", "1h"), ("x * * * *", "1h"), ("* * * * *", "1x"),
         ("*/0 * * * *", "1h"), ("5-1 * * * *", "1h"), ("* * * * *", "")],
    )  # fmt: skip
    def test_what_cannot_be_understood_is_taken_for_closed(self, schedule, duration):
        assert "can't be understood" in closed_by([window(schedule, duration)], APP, MONDAY)

    def test_an_unknown_zone_is_taken_for_closed(self):
        odd = window("0 10 * * *", timeZone="Mars/Olympus")
        assert "can't be understood" in closed_by([odd], APP, MONDAY)


def test_units_of_the_world_are_where_the_tests_think():
    assert {USERS, DB} <= set(World().units)
    assert NOW > 0
