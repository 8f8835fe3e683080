"""Requests of our own: to whom they go, how many there are, and what comes of each."""

import time
from dataclasses import replace

import pytest

from gati_gitops.decide.observation import Gap, Missing, Telemetry, Window
from gati_gitops.ledger.model import Phase
from gati_gitops.observe import synthetic
from gati_gitops.observe.synthetic import Synthetic
from gati_gitops.spec.rollout import Synthetic as Settings
from tests.compile.kit import handler, module, version
from tests.observe.kit import USERS, phased, units, wanted
from tests.servers.contract import ContractServer, Reply, endpoint

AT = 1_700_000_000.0


class Gateway(ContractServer):
    """Answers for all paths."""

    status = 200

    @endpoint("GET", "/.*")
    def anything(self, seen):
        return Reply(self.status, "x" * 50_000, {"Location": "http://127.0.0.1:1/elsewhere"})


class Metrics:
    """Saw every version, or could not look."""

    def __init__(self, seen=None):
        self.seen = seen

    def look(self, wanted):
        if self.seen is not None:
            return self.seen
        said = Telemetry(Window(AT, 60.0, 1.0))
        return {
            key: {v.name: said for v in stored.plan.versions}
            for key, stored in wanted.units.items()
        }


@pytest.fixture
def gateway():
    with Gateway() as server:
        yield server


def look(url, found=None, metrics=None, clock=lambda: AT, **settings):
    source = Synthetic(Settings(url=url, **settings), metrics or Metrics(), environ={}, clock=clock)
    return source.look(wanted(found or units()))


def sent(seen, name="handler-users-v2", key=USERS):
    return seen[key][name].sent


def test_versions_that_are_rolled_out_are_asked_by_name_and_no_others(gateway):
    seen = look(gateway.url, requests=3)
    assert [one.status for one in sent(seen)] == [200] * 3
    assert sent(seen, "handler-users-v1") == ()
    for call in gateway.seen:
        assert call.path == "/users"
        assert call.headers["x-gati-version"] == "v2"
        assert call.headers["host"] == "shop.example.com"
        assert "synthetic" in call.headers["user-agent"]


@pytest.mark.parametrize("phase", [Phase.ACTIVE, Phase.DRAINING, Phase.PARKED, Phase.REJECTED])
def test_what_serves_or_goes_is_left_alone(gateway, phase):
    found = {USERS: phased(units()[USERS], v2=(phase, 0))}
    assert sent(look(gateway.url, found)) == ()
    assert gateway.seen == []


def test_a_version_without_weight_is_asked(gateway):
    found = {USERS: phased(units()[USERS], v2=(Phase.STARTING, 0))}
    assert len(sent(look(gateway.url, found))) == 10


@pytest.mark.parametrize("status", [500, 503, 404, 302, 307])
def test_each_answer_is_told_as_it_came_and_no_redirect_is_followed(gateway, status):
    gateway.status = status
    seen = look(gateway.url, requests=2)
    assert [one.status for one in sent(seen)] == [status] * 2
    assert len(gateway.seen) == 2


def test_an_answer_that_breaks_off_is_none(gateway):
    gateway.fail("GET", "/", cut="inside", times=1)
    gateway.fail("GET", "/", cut="before", times=1)
    assert [one.status for one in sent(look(gateway.url, requests=3))] == [0, 0, 200]


def test_who_does_not_answer_costs_three_requests():
    seen = look("http://127.0.0.1:1", requests=100)
    assert [one.status for one in sent(seen)] == [0, 0, 0]


def test_who_hangs_costs_the_time_out(gateway):
    gateway.fail("GET", "/", stall=2.5, times=100)
    start = time.monotonic()
    seen = look(gateway.url, requests=50, timeout_seconds=1)
    assert [one.status for one in sent(seen)] == [0, 0, 0]
    assert 3 <= time.monotonic() - start < 8


def test_all_of_them_together_have_a_limit(gateway, monkeypatch):
    monkeypatch.setattr(synthetic, "BUDGET", 0.3)
    gateway.fail("GET", "/", stall=0.2, times=100)
    assert 1 <= len(sent(look(gateway.url, requests=50))) <= 4


def test_times_are_of_the_clock_that_metrics_have(gateway):
    (one,) = sent(look(gateway.url, requests=1, clock=lambda: AT + 20))
    assert one.at == AT
    assert 0 < one.seconds < 5


def test_where_metrics_are_missing_nothing_is_sent(gateway):
    missing = Missing(Gap.ERROR, "down")
    assert look(gateway.url, metrics=Metrics(missing)) is missing
    seen = look(gateway.url, metrics=Metrics({USERS: {"handler-users-v2": missing}}))
    assert seen[USERS]["handler-users-v2"] is missing
    assert gateway.seen == []


def test_modules_and_paths_with_parameters_are_asked_only_where_that_is_possible(gateway):
    documents = (
        handler(handlerPath="/users/:id", weight=90),
        version("users", "v2", 10, image="shop/users:2"),
        module(),
    )
    found = units(*documents)
    assert sent(look(gateway.url, found)) == ()
    assert len(sent(look(gateway.url, found, path="/7", requests=1))) == 1
    assert [call.path for call in gateway.seen] == ["/users/7"]


def test_a_link_local_address_behind_a_name_is_not_asked(gateway, monkeypatch):
    from gati_gitops.web import connect

    monkeypatch.setattr(connect, "forbidden", lambda host: host == "127.0.0.1")
    seen = look(gateway.url)
    assert [one.status for one in sent(seen)] == [0, 0, 0]
    assert gateway.seen == []


def test_hosts_of_the_unit_are_not_repeated(gateway):
    found = units()
    stored = found[USERS]
    route = replace(stored.plan.route, hosts=("127.0.0.1",))
    own = {USERS: replace(stored, plan=replace(stored.plan, route=route))}
    look(gateway.url, own, requests=1)
    assert gateway.seen[0].headers["host"].startswith("127.0.0.1:")
