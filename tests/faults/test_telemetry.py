"""Faults of telemetry, as far as they are about reading: named, and never taken for zero.

What is decided when they happen is told in test_telemetry_decisions.py. Where a fault can be made on a
real Prometheus it is; the rest are lies that a server tells.
"""

import json
import time
from itertools import pairwise

import pytest

from gati_gitops.decide.observation import Gap, Missing, Telemetry
from gati_gitops.spec.metrics import Evidence
from tests.faults.telemetry import TOKEN, Login, missing
from tests.observe.fake_prometheus import (
    FIRST,
    SECOND,
    look,
    matrix,
    said,
    scalar,
    series,
    vector,
)
from tests.observe.kit import USERS, labels
from tests.servers.contract import Reply
from tests.servers.process import free_port

# -- T01 -----------------------------------------------------------------------------------------


def test_T01_prometheus_is_down(fake):
    url = f"http://127.0.0.1:{free_port()}"
    missing(look(fake, url=url), Gap.ERROR, "no way to its address", url)


def test_T01_prometheus_accepts_and_never_answers(fake):
    fake.fail("POST", "/api/v1/query", stall=5, times=100)
    start = time.monotonic()
    missing(look(fake), Gap.ERROR, "too long to answer")
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("cut", ["before", "inside"])
def test_T01_the_connection_breaks_again_and_again(fake, cut):
    fake.fail("POST", "/api/v1/query", cut=cut, times=100)
    missing(look(fake), Gap.ERROR, "the connection broke")


def test_T01_a_connection_that_breaks_once_is_made_again(fake):
    fake.fail("POST", "/api/v1/query", cut="before")
    assert isinstance(look(fake), dict)


@pytest.mark.parametrize("status", [500, 502, 503, 401, 403, 404, 429])
def test_T01_prometheus_answers_with_an_error(fake, status):
    body = {"status": "error", "errorType": "timeout", "error": "query timed out"}
    fake.fail("POST", "/api/v1/query", status=status, body=body, times=100)
    missing(look(fake), Gap.ERROR, str(status), "query timed out")


def test_T01_an_error_half_way_leaves_nothing(fake):
    fake.told["gati_http_request_duration"] = Reply(422, {"status": "error", "error": "too many"})
    missing(look(fake), Gap.ERROR, "422", "too many")


@pytest.mark.slow
def test_T01_a_real_prometheus_that_dies_and_comes_back(own):
    own.pod("users-v1-a", **labels("v1")).request()
    own.publish()
    own.scraped(2)
    assert isinstance(look(own), dict)
    own.stop()
    missing(look(own), Gap.ERROR)
    own.start()
    own.scraped(1)
    assert isinstance(look(own)[USERS][FIRST], Telemetry)


# -- T02 to T08: answers that are none -----------------------------------------------------------


def test_T02_nothing_comes(fake):
    fake.series = {}
    found = look(fake)[USERS]
    missing(found[FIRST], Gap.NO_DATA, "handler-users v1", "shop")
    missing(found[SECOND], Gap.NO_DATA)


def test_T02_nothing_comes_of_one_version(real):
    real.pod("v1").request()
    real.scraped()
    found = real.look()
    assert isinstance(found[real.first], Telemetry)
    missing(found[real.second], Gap.NO_DATA)


def test_T02_prometheus_scrapes_nothing_at_all(own):
    missing(look(own), Gap.NO_DATA, "it scrapes nothing at all")


@pytest.mark.parametrize("kind", ["requests", "bucket", "gauge", "up"])
@pytest.mark.parametrize("value", ["NaN", "nan"])
def test_T03_not_a_number(fake, kind, value):
    fake.series[kind][0]["values"][7][1] = value
    found = look(fake)[USERS]
    missing(found[FIRST], Gap.NOT_A_NUMBER, "users-v1-a")
    assert isinstance(found[SECOND], Telemetry)


def test_T03_stale_markers_are_no_samples(real):
    """Prometheus marks the end of a series with a NaN, and leaves it out of what is asked for raw."""
    pod = real.pod("v1")
    pod.request()
    other = real.pod("v1", 1)
    other.request()
    real.scraped()
    pod.behaviour = "status 500"
    real.scraped(3)
    found = real.look()[real.first]
    assert isinstance(found, Telemetry)
    first, second = (found.pods[f"{real.name}-v1-{n}"] for n in (0, 1))
    assert first.requests[0].times[-1] < second.requests[0].times[-1] - 1
    assert first.up.values[-1] == 0 and second.up.values[-1] == 1


def test_T03_a_gauge_that_really_says_nan(real):
    pod = real.pod("v1")
    pod.request()
    pod.counters["open_requests"] = float("nan")
    real.scraped()
    found = real.look(evidence=Evidence(in_flight="open_requests"))
    missing(found[real.first], Gap.NOT_A_NUMBER, "open_requests")


@pytest.mark.parametrize("value", ["+Inf", "-Inf", "Inf"])
@pytest.mark.parametrize("kind", ["requests", "gauge"])
def test_T04_infinities(fake, kind, value):
    fake.series[kind][0]["values"][-1][1] = value
    missing(look(fake)[USERS][FIRST], Gap.NOT_A_NUMBER)


def test_T04_a_clock_that_says_infinity(fake):
    fake.told["time()"] = said("scalar", [1.0, "+Inf"])
    missing(look(fake), Gap.ERROR)


def test_T05_several_gauges_where_one_is_expected(fake):
    twin = series("open_requests", "0", pod="users-v1-a", route="/other")
    fake.series["gauge"].append(twin)
    found = look(fake)[USERS]
    missing(found[FIRST], Gap.AMBIGUOUS, "users-v1-a", "several gauges")
    assert isinstance(found[SECOND], Telemetry)


def test_T05_several_elements_where_one_is_expected(fake):
    fake.told["max(timestamp("] = vector(time.time(), time.time())
    missing(look(fake), Gap.AMBIGUOUS, "2 series")


@pytest.mark.parametrize("part", ["time()", "max(", "up{", "gati_http_requests", "open_requests"])
@pytest.mark.parametrize("field", ["warnings", "infos"])
def test_T06_an_answer_with_warnings_is_partial(fake, part, field):
    words = {field: ["receive: store 10.0.0.7 is away", f"http://u:{TOKEN}@host"]}
    whole = {"time()": scalar(time.time()), "max(": vector(time.time())}.get(part, matrix([]))
    fake.told[part] = Reply(200, json.dumps(json.loads(whole.body) | words))
    found = missing(look(fake), Gap.PARTIAL, "store 10.0.0.7 is away")
    assert TOKEN not in str(found)


def test_T06_an_answer_that_was_cut_off_at_a_limit(fake):
    cut = ["results truncated due to limit"]
    fake.told["gati_http_requests"] = matrix(fake.series["requests"][:1], warnings=cut)
    missing(look(fake), Gap.PARTIAL, "truncated")


@pytest.mark.parametrize(
    "body",
    [
        f"<html><title>Sign in</title>{TOKEN}" + "x" * 5000,
        "",
        "[]",
        '"success"',
        '{"status":"success","data":{"resultType":"scalar","result":[1,"2"',
        "\x00\x01",
        "[" * 100_000,
    ],
    ids=["html", "empty", "list", "text", "torn", "binary", "deep"],
)
def test_T07_something_else_than_json(fake, tmp_path, body):
    (tmp_path / "token").write_text(TOKEN)
    fake.fail("POST", "/api/v1/query", status=200, body=body, times=100)
    found = look(fake, bearer_file=str(tmp_path / "token"))
    missing(found, Gap.ERROR, "200", "something else than JSON")
    assert TOKEN not in str(found)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_T07_a_redirect_to_a_login_page_is_not_followed(fake, tmp_path, status):
    (tmp_path / "token").write_text(TOKEN)
    with Login() as login:
        there = {"Location": f"{login.url}/sso?from={TOKEN}"}
        fake.fail("POST", "/api/v1/query", status=status, headers=there, times=100)
        found = look(fake, bearer_file=str(tmp_path / "token"))
        assert login.seen == []
    missing(found, Gap.ERROR, str(status), "points to another place")
    assert TOKEN not in str(found)


@pytest.mark.parametrize(
    "answer",
    [
        scalar(1.0),
        vector(1.0),
        said("string", [1.0, "x"]),
        said("matrix", None),
        said("matrix", {}),
        said("matrix", [{"metric": {}, "histograms": [[1, {}]]}]),
        said("matrix", [{"metric": {}, "values": [[1, "1"]], "histograms": []}]),
        said("matrix", [{"metric": [], "values": [[1, "1"]]}]),
        said("matrix", [{"metric": {}, "values": [[1, "one"]]}]),
        said("matrix", [{"metric": {}, "values": [[2, "1"], [1, "1"]]}]),
        said("matrix", [{"metric": {}, "values": [[1, "1"], [1, "1"]]}]),
        said("matrix", [{"metric": {}, "values": [1, 2]}]),
        said("matrix", [{"metric": {}, "values": 7}]),
        said("matrix", ["series"]),
        Reply(200, {"status": "success"}),
        Reply(200, {"status": "success", "data": []}),
        Reply(200, {"status": "success", "data": {"result": []}}),
    ],
)
def test_T08_an_answer_of_another_kind(fake, answer):
    fake.told["gati_http_requests"] = answer
    missing(look(fake), Gap.ERROR)


@pytest.mark.parametrize("part", ["time()", "max("])
@pytest.mark.parametrize("answer", [matrix([]), said("scalar", []), said("vector", [{}])])
def test_T08_a_moment_of_another_kind(fake, part, answer):
    fake.told[part] = answer
    missing(look(fake), Gap.ERROR)


# -- T09 to T12: who was looking -----------------------------------------------------------------


@pytest.mark.parametrize("behaviour", ["status 500", "hang", "garbage"])
def test_T09_a_scrape_of_one_pod_fails_and_shows(real, behaviour):
    bad, good = real.pod("v1"), real.pod("v1", 1)
    for pod in (bad, good):
        pod.request()
    real.scraped()
    bad.behaviour = behaviour
    real.scraped(4)
    found = real.look()[real.first]
    assert isinstance(found, Telemetry)
    ups = {name.rpartition("-")[2]: pod.up.values[-1] for name, pod in found.pods.items()}
    assert ups == {"0": 0, "1": 1}


def test_T10_a_target_that_discovery_lost_has_no_fresh_samples(real):
    pod, other = real.pod("v1"), real.pod("v1", 1)
    for one in (pod, other):
        one.request()
    real.scraped()
    path = next(path for path, found in real.server.pods.pods.items() if found is pod)
    del real.server.pods.pods[path]
    real.server.publish()
    real.server.scraped(5, f"{real.name}-v1-1")
    found = real.look()[real.first]
    assert isinstance(found, Telemetry)
    lost, kept = (found.pods[f"{real.name}-v1-{n}"] for n in (0, 1))
    assert found.window.at - lost.up.times[-1] > 2 * found.window.scrape
    assert found.window.at - kept.up.times[-1] <= 2 * found.window.scrape


def test_T10_when_all_targets_are_lost_it_is_stale(real):
    pod = real.pod("v1")
    pod.request()
    keeper = real.server.pod("keeper")
    real.scraped()
    path = next(path for path, found in real.server.pods.pods.items() if found is pod)
    del real.server.pods.pods[path]
    real.server.publish()
    real.server.scraped(5, keeper.name)
    missing(real.look()[real.first], Gap.STALE)


@pytest.mark.slow
def test_T11_a_gap_stays_a_gap(own):
    pod = own.pod("users-v1-a", **labels("v1"))
    pod.request()
    own.publish()
    own.scraped(3)
    own.stop()
    pod.request(times=50)
    time.sleep(4)
    own.start()
    own.scraped(3)
    found = look(own, window=60.0)[USERS][FIRST]
    assert isinstance(found, Telemetry)
    times = found.pods["users-v1-a"].requests[0].times
    assert max(later - sooner for sooner, later in pairwise(times)) > 3


@pytest.mark.slow
def test_T12_a_prometheus_that_takes_in_nothing_new(own):
    own.pod("users-v1-a", **labels("v1")).request()
    own.publish()
    own.scraped(3)
    assert isinstance(look(own), dict)
    own.stop()
    own.start("global: {{scrape_interval: 1s}}\n# {folder}\n")
    own.wait(lambda: isinstance(look(own), Missing))
    missing(look(own), Gap.STALE, "newest sample of anything")


def test_T12_samples_that_a_pod_stamps_itself_are_as_old_as_it_says(real):
    pod = real.pod("v1")
    pod.request()
    pod.stamped = 20
    real.scraped(5)
    found = real.look(60.0)[real.first]
    assert isinstance(found, Telemetry)
    (counter,) = found.pods[f"{real.name}-v1-0"].requests
    assert found.window.at - counter.times[-1] > 15


# -- T13 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("skew", [31, -31, 300, -300])
def test_T13_clocks_that_differ(fake, skew):
    here = time.time()
    fake.clock = lambda: here + skew
    missing(look(fake, clock=lambda: here), Gap.ERROR, f"{here:.0f}", f"{here + skew:.0f}")


def test_T13_clocks_that_differ_a_little_go_by_the_servers(fake):
    here = time.time() + 25
    found = look(fake, clock=lambda: here)
    assert isinstance(found, dict)
    assert abs(found[USERS][FIRST].window.at - time.time()) < 5


def test_T13_a_slow_answer_is_no_skew(fake):
    ticks = iter((1000.0, 1100.0))
    fake.clock = lambda: 1050.0
    found = look(fake, clock=lambda: next(ticks))
    assert not isinstance(found, Missing) or "differ by" not in found.why
