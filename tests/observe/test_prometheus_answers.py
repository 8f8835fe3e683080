"""Answers that are none: every one of them has a name, and none of them is zero."""

import ssl
import time
from dataclasses import replace

import pytest

from gati_gitops.decide.observation import Gap, Missing, Telemetry
from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.spec.metrics import Basic, ClientTls, MetricSource
from tests.observe.fake_prometheus import FIRST, SECOND, FakePrometheus, look, series
from tests.observe.kit import USERS, units, wanted
from tests.servers.certificates import Authority

GATEWAY = "10.0.0.9:80"


def seen(fake, name=FIRST, **source):
    return look(fake, **source)[USERS][name]


def test_what_is_well_is_seen(fake):
    for name in (FIRST, SECOND):
        said = seen(fake, name)
        assert isinstance(said, Telemetry), said
        (pod,) = said.pods.values()
        assert said.gauged and pod.up is not None and pod.in_flight is not None
        assert len(pod.requests) == 1 and len(pod.faster) == 2
        assert said.window.scrape == pytest.approx(1, abs=0.01)


def test_every_question_is_about_one_moment_and_no_unit_costs_one(fake):
    look(fake)
    few = list(fake.queries)
    fake.seen.clear()
    (stored,) = units().values()
    many = {
        ("shop", f"handler-u{n}"): replace(
            stored, plan=replace(stored.plan, unit=replace(stored.plan.unit, name=f"u{n}"))
        )
        for n in range(300)
    }
    look(fake, many)
    assert len(fake.queries) == len(few)
    assert len({seen.raw.rpartition("time=")[2] for seen in fake.seen[1:]}) == 1
    assert 'gati_unit="handler-users"' in few[2]
    assert 'gati_unit!=""' in fake.queries[2]


def test_without_units_nobody_is_asked(fake):
    source = Prometheus(MetricSource(url=fake.url))
    assert source.look(wanted({})) == {}
    assert fake.seen == []


# -- pods ----------------------------------------------------------------------------------------


def test_a_pod_that_moved_is_one_pod_and_its_reset_shows(fake):
    now = time.time()
    for kind, name in (("up", "up"), ("requests", "gati_http_requests_total")):
        old = series(name, ["9"] * 5, pod="p", instance="10.0.0.1:3000", status_code="200")
        new = series(name, ["1"] * 5, pod="p", instance="10.0.0.2:3000", status_code="200")
        old["values"] = [[now - 10 + n, text] for n, (_, text) in enumerate(old["values"])]
        fake.series[kind] = [new, old]
    fake.series["bucket"] = []
    said = seen(fake)
    (series_,) = said.pods["p"].requests
    assert series_.values == (9.0,) * 5 + (1.0,) * 5
    assert len(said.pods["p"].up.times) == 10


def test_a_series_that_names_no_pod_is_partial(fake):
    fake.series["requests"][0]["metric"]["pod"] = ""
    said = seen(fake)
    assert isinstance(said, Missing) and said.gap is Gap.PARTIAL
    assert isinstance(seen(fake, SECOND), Telemetry)


def test_series_of_other_units_are_nobodys(fake):
    fake.series["requests"].append(series("gati_http_requests_total", gati_unit="handler-other"))
    fake.series["requests"].append(series("gati_http_requests_total", namespace="elsewhere"))
    assert len(seen(fake).pods) == 1


def test_labels_of_the_source_stand_in_every_question(fake):
    look(fake, labels={"cluster": "eu-1"})
    assert all('cluster="eu-1"' in query for query in fake.queries[1:])


def test_a_pace_that_is_not_the_planned_one(fake):
    fake.series["up"][0]["values"] = [
        [at, text]
        for number, (at, text) in enumerate(fake.series["up"][0]["values"])
        if number % 3 == 1
    ]
    slow = seen(fake)
    assert isinstance(slow, Missing) and slow.gap is Gap.PARTIAL
    assert "3 s apart, and every 1 s is planned" in slow.why
    found = {USERS: units(scrape=15)[USERS]}
    fast = look(fake, found)[USERS][SECOND]
    assert isinstance(fast, Telemetry)
    assert fast.window.scrape == pytest.approx(1, abs=0.01)


def test_a_plan_without_a_monitor_goes_by_what_samples_show(fake):
    (stored,) = units().values()
    found = {USERS: replace(stored, plan=replace(stored.plan, scraped=None))}
    said = look(fake, found)[USERS][FIRST]
    assert isinstance(said, Telemetry)
    assert said.window.scrape == pytest.approx(1, abs=0.01)
    fake.series = {}
    said = look(fake, found)[USERS][FIRST]
    assert isinstance(said, Missing) and "add the section monitoring" in said.why


def test_old_samples_of_a_version_are_stale_where_nothing_else_tells(fake):
    for item in fake.series["up"][:1] + fake.series["requests"][:1]:
        item["values"] = [[at - 10, text] for at, text in item["values"]]
    fake.series["bucket"] = []
    said = seen(fake)
    assert isinstance(said, Missing) and said.gap is Gap.STALE
    assert isinstance(seen(fake, SECOND), Telemetry)


# -- files ---------------------------------------------------------------------------------------


def test_a_rotated_token_is_used_at_once(fake, tmp_path):
    file = tmp_path / "token"
    file.write_text("first\n")
    fake.token = "Bearer first"
    source = Prometheus(MetricSource(url=fake.url, bearer_file=str(file)), environ={})
    assert isinstance(source.look(wanted(units())), dict)
    fake.token = "Bearer second"
    failed = source.look(wanted(units()))
    assert isinstance(failed, Missing) and "401" in failed.why
    assert "first" not in str(failed)
    file.write_text("second")
    assert isinstance(source.look(wanted(units())), dict)


def test_a_rotated_certificate_is_used_at_once(authority, tmp_path):
    """What the server trusts does not change; what we show it does."""
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    authority.issue("127.0.0.1", tmp_path / "server.pem", tmp_path / "server.key")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    tls.load_verify_locations(authority.file)
    tls.verify_mode = ssl.CERT_REQUIRED
    Authority(tmp_path / "foreign").issue("127.0.0.1", certificate, key)
    files = ClientTls(ca_file=str(authority.file), cert_file=str(certificate), key_file=str(key))
    with FakePrometheus(tls) as server:
        source = Prometheus(MetricSource(url=server.url, tls=files), environ={})
        failed = source.look(wanted(units()))
        assert isinstance(failed, Missing) and failed.gap is Gap.ERROR
        authority.issue("127.0.0.1", certificate, key)
        assert isinstance(source.look(wanted(units())), dict)


def test_a_user_and_a_password_from_files(fake, tmp_path):
    (tmp_path / "user").write_text("me")
    (tmp_path / "password").write_text("hunter2\n")
    fake.token = "Basic bWU6aHVudGVyMg=="
    basic = Basic(username_file=str(tmp_path / "user"), password_file=str(tmp_path / "password"))
    assert isinstance(look(fake, basic=basic), dict)
    fake.token = "Basic somebody else"
    failed = look(fake, basic=basic)
    assert "hunter2" not in str(failed) and "bWU6" not in str(failed)


@pytest.mark.parametrize("content", [None, b"", b"two\nlines", b"\xff\xfe"])
def test_a_file_that_holds_no_secret_is_an_error(fake, tmp_path, content):
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    failed = look(fake, bearer_file=str(file))
    assert isinstance(failed, Missing) and failed.gap is Gap.ERROR
    assert str(file) in failed.why
    assert fake.seen == []
