"""Faults of telemetry that somebody may mean: floods, other places, texts that are language."""

from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gati_gitops.decide.observation import EdgeSeries, Gap, Telemetry
from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.observe.prometheus_query import exactly, literal, one_of, quoted, samples
from gati_gitops.spec.metrics import ClientTls, Evidence, MetricSource
from gati_gitops.spec.rollout import Synthetic
from gati_gitops.web import connect
from tests.faults.telemetry import TOKEN, Login, missing
from tests.observe.fake_prometheus import (
    FIRST,
    FakePrometheus,
    look,
    matrix,
    series,
)
from tests.observe.kit import USERS, units, wanted
from tests.servers.contract import Reply

# -- T24 to T26: hostile places and texts --------------------------------------------------------


def test_T24_more_series_than_anybody_wants(real):
    pod = real.pod("v1")
    for code in range(200, 230):
        pod.request(code)
    real.scraped()
    missing(real.look(max_series=20), Gap.ERROR, "more than 20 series", "maxSeries")
    assert isinstance(real.look(max_series=200)[real.first], Telemetry)


def test_T24_the_server_is_told_when_to_stop(fake):
    from tests.observe.fake_prometheus import form

    look(fake, max_series=77)
    for seen in fake.seen:
        assert form(seen)["timeout"] == "1s"
        assert form(seen)["limit"] == "78"


def test_T24_an_answer_without_end(fake, monkeypatch):
    from gati_gitops.observe import http

    monkeypatch.setattr(http, "SIZE", 10_000)
    fake.told["up{"] = Reply(200, " " * 20_000)
    missing(look(fake), Gap.ERROR, "larger than")


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://169.254.170.2",
        "http://[fe80::1]:9090",
        "http://[fd00:ec2::254]",
        "http://[::ffff:169.254.169.254]",
        "http://100.100.100.200",
        "http://metadata.google.internal",
        "http://METADATA.google.internal.",
        "file:///etc/passwd",
        "gopher://x",
        "ftp://x",
        "//x",
        "http://",
        "http://user:password@prometheus",
        "http://prometheus/?query=1",
        "http://prometheus/#x",
        "http://prometheus\n.example",
        "http://prometheus .example",
    ],
)
def test_T25_addresses_that_are_never_asked(url):
    for model in (MetricSource, Synthetic):
        with pytest.raises(ValidationError) as caught:
            model(url=url)
        assert "password@" not in str(caught.value.errors()[0]["msg"])


def test_T25_a_name_that_leads_to_a_forbidden_address(fake, monkeypatch, tmp_path):
    monkeypatch.setattr(connect, "forbidden", lambda host: host == "127.0.0.1")
    missing(look(fake), Gap.ERROR, "127.0.0.1", "never asked")
    assert fake.seen == []


def test_T25_a_token_goes_to_its_server_and_nowhere_else(fake, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    port = urlsplit(fake.url).port
    with Login() as other:
        for place in (other.url, f"http://localhost:{port}", f"http://127.0.0.2:{port}"):
            fake.fail(
                "POST", "/api/v1/query", status=307, headers={"Location": f"{place}/api/v1/query"}
            )
            missing(look(fake, bearer_file=str(tmp_path / "token")), Gap.ERROR, "307")
        assert other.seen == []
    assert len(fake.seen) == 3


@pytest.mark.parametrize("secret", ["bearer_file", "basic"])
def test_T25_a_secret_is_never_sent_in_the_clear(secret):
    value = "/token" if secret == "bearer_file" else {"usernameFile": "/u", "passwordFile": "/p"}
    for url in ("http://prometheus.monitoring.svc:9090", "http://10.0.0.7"):
        with pytest.raises(ValidationError, match="in the clear"):
            MetricSource.model_validate({"url": url, secret: value})
    MetricSource.model_validate({"url": "https://prometheus", secret: value})


@pytest.mark.parametrize(
    "url, words",
    [
        ("file:///etc/passwd", "not one of http"),
        ("ftp://prometheus", "not one of http"),
        ("http://", "not one of http"),
        ("http://169.254.169.254", "never asked"),
        ("http://metadata.google.internal", "never asked"),
        ("http://prometheus.example", "in the clear"),
    ],
)
def test_T25_an_address_that_nobody_has_checked_is_checked(tmp_path, url, words):
    """A person may name another one on the command line."""
    (tmp_path / "token").write_text(TOKEN)
    checked = MetricSource(url="https://prometheus", bearer_file=str(tmp_path / "token"))
    source = Prometheus(checked.model_copy(update={"url": url}), environ={})
    found = missing(source.look(wanted(units())), Gap.ERROR, words)
    assert TOKEN not in str(found)


def test_T25_a_server_is_checked_and_checks_us(authority, tmp_path):
    import ssl

    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    authority.issue("127.0.0.1", certificate, key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    tls.load_verify_locations(authority.file)
    tls.verify_mode = ssl.CERT_REQUIRED
    files = {"ca_file": str(authority.file)}
    mine = {"cert_file": str(certificate), "key_file": str(key)}
    with FakePrometheus(tls) as server:
        missing(look(server), Gap.ERROR, "certificate")
        missing(look(server, tls=ClientTls(**files)), Gap.ERROR)
        assert isinstance(look(server, tls=ClientTls(**files, **mine)), dict)
        broken = {"cert_file": str(authority.file), "key_file": str(key)}
        found = missing(look(server, tls=ClientTls(**files, **broken)), Gap.ERROR, str(key))
        assert "PRIVATE" not in str(found)


HOSTILE = ['a"', "a\\", "a\nb", '"} or vector(0) #', "x`y", 'x",job="y', "{{x}}", "é", "a\x00"]


@pytest.mark.parametrize("value", HOSTILE)
def test_T26_values_that_could_be_promql_are_refused_in_settings(value):
    with pytest.raises(ValidationError):
        MetricSource(url="http://p", labels={"cluster": value})
    with pytest.raises(ValidationError):
        Evidence(ignore_routes=[value])
    for name in ({value: "x"}, {f"l{value}": "x"}):
        with pytest.raises(ValidationError):
            MetricSource(url="http://p", labels=name)
    with pytest.raises(ValidationError):
        Evidence(in_flight=f"up{value}")


@pytest.mark.parametrize("name", ["", "a-b", "1a", "a b", 'a"', "a{", "__name__=~"])
def test_T26_names_that_could_be_promql_are_refused_where_they_are_used(name):
    with pytest.raises(ValueError, match="no name of a label"):
        exactly({name: "x"})
    with pytest.raises(ValueError, match="no name of a label"):
        one_of(name, ["x"])
    with pytest.raises(ValueError, match="no name of a metric"):
        samples(name, [], 1.0)


@given(
    text=st.text(min_size=1, max_size=30) | st.sampled_from([h for h in HOSTILE if "\0" not in h])
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_T26_a_quoted_text_is_the_text_and_nothing_more(prometheus, text):
    """A real Prometheus reads it back: `absent` repeats what a matcher asked for."""
    if "\0" in text:
        with pytest.raises(ValueError, match="NUL"):
            quoted(text)
        return
    asked = f"absent(nobody{{x={quoted(text)}}})"
    (found,) = prometheus.ask(asked)
    assert found["metric"] == {"x": text}
    matched = f'label_replace({asked}, "y", "yes", "x", {quoted(literal(text))})'
    (found,) = prometheus.ask(matched)
    assert found["metric"] == {"x": text, "y": "yes"}


@given(text=st.text(min_size=1, max_size=8), other=st.text(min_size=1, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_T26_a_literal_matches_itself_alone(prometheus, text, other):
    if text == other or "\0" in text + other:
        return
    asked = f"absent(nobody{{x={quoted(other)}}})"
    (found,) = prometheus.ask(f'label_replace({asked}, "y", "yes", "x", {quoted(literal(text))})')
    assert found["metric"] == {"x": other}


def test_T26_version_ids_reach_no_query(fake):
    """What people call a version is slugged; queries have names that we made."""
    (stored,) = units().values()
    nasty = tuple(
        replace(version, id=f'{version.id}"}} or vector(0)') for version in stored.plan.versions
    )
    assert stored.ledger is not None
    entries = [replace(e, id=f'{e.id}"}} or vector(0)') for e in stored.ledger.entries]
    ledger = stored.ledger.with_entries(entries)
    found = {USERS: replace(stored, plan=replace(stored.plan, versions=nasty), ledger=ledger)}
    look(fake, found, evidence=Evidence(gateway="traefik"))
    assert not any("vector(0)" in query for query in fake.queries)


def test_T26_what_a_gateway_calls_its_job_is_quoted(fake):
    job = 'a"} or vector(0) #'
    hit = series(
        "traefik_service_requests_total", service=f"shop-{FIRST}-http-3000@kubernetesgateway"
    )
    hit["metric"]["job"] = job
    fake.told["traefik_service_requests_total{service"] = matrix([hit])
    fake.told["up{job="] = matrix([{**series("up"), "metric": hit["metric"]}])
    edge = look(fake, evidence=Evidence(gateway="traefik"))[USERS][FIRST].edge
    assert isinstance(edge, EdgeSeries)
    (asked,) = [query for query in fake.queries if query.startswith("up{job=")]
    assert asked.startswith('up{job="a\\"} or vector(0) #"}[')
