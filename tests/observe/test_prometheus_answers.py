"""Answers that are none: every one of them has a name, and none of them is zero."""

import time
from dataclasses import replace

import pytest

from gati_gitops.decide.observation import EdgeSeries, Gap, Missing, Telemetry
from gati_gitops.ledger.model import Phase
from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.observe.wanted import MARGIN
from gati_gitops.spec.metrics import Basic, Edge, Evidence, MetricSource
from tests.observe.fake_prometheus import FakePrometheus, matrix, series, vector
from tests.observe.kit import USERS, phased, units, wanted

FIRST, SECOND = "handler-users-v1", "handler-users-v2"
GATEWAY = "10.0.0.9:80"


@pytest.fixture
def fake():
    with FakePrometheus() as server:
        yield server


def look(fake, found=None, clock=time.time, **source):
    evidence = source.pop("evidence", Evidence(in_flight="open_requests"))
    settings = MetricSource(url=fake.url, evidence=evidence, timeout_seconds=1, **source)
    return Prometheus(settings, environ={}, clock=clock).look(wanted(found or units()))


def seen(fake, name=FIRST, **source):
    return look(fake, **source)[USERS][name]


def test_what_is_well_is_seen(fake):
    for name in (FIRST, SECOND):
        said = seen(fake, name)
        assert isinstance(said, Telemetry), said
        (pod,) = said.pods.values()
        assert pod.up is not None and pod.in_flight is not None
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


# -- gateways ------------------------------------------------------------------------------------

TRAEFIK = Evidence(gateway="traefik")


def traefik(version="v1", value="7", *, metric="traefik_service_requests_total", **own):
    backend = {"service": f"shop-handler-users-{version}-http-3000@kubernetesgateway"}
    return {
        **series(metric, value),
        "metric": {
            "__name__": metric, "job": "traefik", "namespace": "gateway", "pod": "t-0",
            "instance": GATEWAY, "code": "200", **backend, **own,
        },
    }  # fmt: skip


def gateway(fake, *found, up=True, shown=True):
    """The fake with a gateway that shows these series."""
    ours = list(found)

    def answer(query):
        at_label = "exported_service" if "exported_service" in query else "service"
        return matrix([item for item in ours if at_label in item["metric"]])

    fake.told["traefik_service_requests_total{"] = answer
    fake.told['up{job="traefik"}'] = matrix(
        [{**series("up"), "metric": {"job": "traefik", "namespace": "gateway", "pod": "t-0"}}]
        if up
        else []
    )
    fake.told["group by (job, namespace) "] = said_places() if shown else vector()


def said_places():
    reply = vector(1.0)
    reply.body = reply.body.replace(
        '"metric":{}', '"metric":{"job":"traefik","namespace":"gateway"}'
    )
    return reply


def test_a_gateway_is_read_by_version(fake):
    gateway(fake, traefik("v1"), traefik("v1", "2", code="500"), traefik("v2", "5"))
    edge = seen(fake, evidence=TRAEFIK).edge
    assert isinstance(edge, EdgeSeries), edge
    assert {dict(s.labels)["code"]: s.values[-1] for s in edge.requests} == {"200": 7, "500": 2}
    assert isinstance(edge.active, Missing) and edge.active.gap is Gap.UNSUPPORTED
    assert len(edge.up) == 1


def test_a_gateway_that_is_read_more_rarely_makes_the_window_longer(fake):
    gateway(fake, traefik("v1"))
    slow = {**series("up"), "metric": {"job": "traefik", "namespace": "gateway", "pod": "t-0"}}
    slow["values"] = [[at - 3 * (20 - n), "1"] for n, (at, _) in enumerate(slow["values"])]
    fake.told['up{job="traefik"}'] = matrix([slow])
    source = Prometheus(MetricSource(url=fake.url, evidence=TRAEFIK), environ={})
    for edges_asked in (2, 1):  # once it is known it is asked for
        fake.seen.clear()
        said = source.look(wanted(units()))[USERS][FIRST]
        assert said.edge.scrape == pytest.approx(4, abs=0.1)
        assert said.window.scrape == pytest.approx(1, abs=0.1)
        assert said.window.span == pytest.approx(20 + MARGIN * 3, abs=2)
        assert said.window.span >= 20 + MARGIN * (said.edge.scrape - 1)
        asked = [query for query in fake.queries if query.startswith("up{job")]
        assert len(asked) == edges_asked
        assert f"[{round(said.window.span * 1000)}ms]" in fake.queries[-1]


def test_nobody_named_the_gateway(fake):
    edge = seen(fake, evidence=Evidence()).edge
    assert isinstance(edge, Missing) and edge.gap is Gap.UNSUPPORTED
    assert "metrics.evidence.gateway" in edge.why


@pytest.mark.parametrize("kind", ["envoy-gateway", "nginx-gateway-fabric", "none"])
def test_gateways_that_do_not_count_by_backend_say_so(fake, kind):
    edge = seen(fake, evidence=Evidence(gateway=kind)).edge
    assert isinstance(edge, Missing) and edge.gap is Gap.UNSUPPORTED


def test_a_version_that_comes_may_have_no_series_yet(fake):
    gateway(fake, traefik("v1"))
    edge = seen(fake, SECOND, evidence=TRAEFIK).edge
    assert isinstance(edge, EdgeSeries) and edge.requests == ()


def test_a_gateway_that_counted_nothing_of_ours_counts_if_it_counts_at_all(fake):
    gateway(fake)
    edge = seen(fake, evidence=TRAEFIK).edge
    assert isinstance(edge, EdgeSeries) and edge.requests == () and len(edge.up) == 1
    gateway(fake, shown=False)
    edge = seen(fake, evidence=TRAEFIK).edge
    assert isinstance(edge, Missing) and edge.gap is Gap.NO_DATA


@pytest.mark.parametrize("phase", [Phase.DRAINING, Phase.PARKED, Phase.REJECTED])
def test_silence_about_a_version_that_goes_counts_only_where_names_are_proved(fake, phase):
    found = {USERS: phased(units()[USERS], v2=(phase, 0))}
    gateway(fake)
    fake.told["traefik_router_requests_total"] = matrix(
        [traefik(metric="traefik_router_requests_total", router=ROUTER)]
    )
    edge = look(fake, found, evidence=TRAEFIK)[USERS][SECOND].edge
    assert isinstance(edge, Missing) and edge.gap is Gap.NO_DATA
    gateway(fake, traefik("v1"))
    edge = look(fake, found, evidence=TRAEFIK)[USERS][SECOND].edge
    assert isinstance(edge, EdgeSeries)


ROUTER = (
    "httproute-shop-handler-users-gw-gati-system-gati-ep-web-1-0123456789abcdef0123"
    "@kubernetesgateway"
)


def test_a_parked_version_is_known_by_its_routers_alone(fake):
    found = {USERS: phased(units()[USERS], v1=(Phase.ACTIVE, 100), v2=(Phase.PARKED, 0))}
    gateway(fake, traefik("v1"))
    edge = look(fake, found, evidence=TRAEFIK)[USERS][SECOND].edge
    assert isinstance(edge, Missing) and "addRoutersLabels" in edge.why
    called = traefik(metric="traefik_router_requests_total", router=ROUTER, code="503")
    fake.told["traefik_router_requests_total"] = matrix([called])
    said = look(fake, found, evidence=TRAEFIK)[USERS]
    (one,) = said[SECOND].edge.requests
    assert dict(one.labels)["code"] == "503"
    assert [dict(s.labels)["code"] for s in said[FIRST].edge.requests] == ["200"]


@pytest.mark.parametrize("up", [True, False])
def test_whether_the_gateway_itself_is_scraped_must_be_known(fake, up):
    gateway(fake, traefik("v1"), up=up)
    edge = seen(fake, evidence=TRAEFIK).edge
    assert isinstance(edge, EdgeSeries) == up
    assert up or edge.gap is Gap.NO_DATA


@pytest.mark.parametrize(
    "value, address, gap",
    [("NaN", GATEWAY, Gap.NOT_A_NUMBER), ("9", "10.0.0.8:80", Gap.AMBIGUOUS)],
)
def test_a_gateway_that_says_two_things_or_nonsense_says_nothing(fake, value, address, gap):
    twin = traefik("v1", value, instance=address)
    gateway(fake, traefik("v1"), twin)
    said = look(fake, evidence=TRAEFIK)[USERS]
    assert isinstance(said[FIRST].edge, Missing) and said[FIRST].edge.gap is gap
    assert isinstance(said[SECOND].edge, EdgeSeries)


def test_an_error_about_the_gateway_leaves_the_pods(fake):
    fake.told["traefik_service_requests_total{"] = matrix([], warnings=["a store is away"])
    said = seen(fake, evidence=TRAEFIK)
    assert isinstance(said, Telemetry) and said.pods
    assert isinstance(said.edge, Missing) and said.edge.gap is Gap.PARTIAL


def test_a_version_without_pods_has_what_the_gateway_says(fake):
    fake.series = {}
    gateway(fake, traefik("v1"))
    said = seen(fake, evidence=TRAEFIK)
    assert isinstance(said, Telemetry)
    assert said.pods == {} and isinstance(said.edge, EdgeSeries)


def test_names_that_two_versions_share_tell_nothing(fake):
    edge = Edge(requests="hits_total", label="backend", backend="{service}", code="status")
    found = dict(units())
    other = found[USERS]
    elsewhere = replace(other.plan, unit=replace(other.plan.unit, namespace="else"))
    found["else", "handler-users"] = replace(other, plan=elsewhere)
    hit = series("hits_total", job="edge", backend=FIRST, status="200")
    fake.told["hits_total"] = matrix([hit])
    fake.told['up{job="edge"}'] = matrix([series("up", job="edge")])
    said = look(fake, found, evidence=Evidence(edge=edge))[USERS][FIRST].edge
    assert isinstance(said, Missing) and said.gap is Gap.AMBIGUOUS


def test_counters_of_another_gateway(fake):
    edge = Edge(
        requests="haproxy_hits",
        active="haproxy_open",
        label="proxy",
        backend="{namespace}_svc_{service}_{port}",
        code="status",
    )
    backend = f"shop_svc_{FIRST}_3000"
    hit = series("haproxy_hits", "4", job="edge", proxy=backend, status="502")
    opened = series("haproxy_open", "3", job="edge", proxy=backend)
    fake.told["haproxy_hits"] = matrix([hit])
    fake.told["haproxy_open"] = matrix([opened])
    fake.told['up{job="edge"}'] = matrix([series("up", job="edge")])
    said = look(fake, evidence=Evidence(edge=edge))[USERS]
    got = said[FIRST].edge
    assert dict(got.requests[0].labels)["code"] == "502"
    assert got.active[0].values[-1] == 3
    other = said[SECOND].edge
    assert other.requests == () and other.active.gap is Gap.NO_DATA


def test_istio(fake):
    def hit(code, **own):
        return series(
            "istio_requests_total", "4", job="envoy", reporter="source",
            destination_service_name=FIRST, destination_service_namespace="shop",
            response_code=code, **own,
        )  # fmt: skip

    cluster = f"outbound|3000||{FIRST}.shop.svc.cluster.local"
    elsewhere = {"destination_service_namespace": "else"}
    other = hit("200")
    other["metric"] |= elsewhere
    fake.told["istio_requests_total"] = matrix([hit("200"), hit("503"), other])
    fake.told["envoy_cluster_upstream_rq_active"] = matrix(
        [series("envoy_cluster_upstream_rq_active", "2", job="envoy", cluster_name=cluster)]
    )
    fake.told['up{job="envoy"}'] = matrix([series("up", job="envoy")])
    for provider, evidence in (("istio", Evidence()), ("gateway-api", Evidence(gateway="istio"))):
        edge = look(fake, units(provider=provider), evidence=evidence)[USERS][FIRST].edge
        assert [dict(s.labels)["code"] for s in edge.requests] == ["200", "503"]
        assert edge.active[0].values[-1] == 2
    (query, *_) = [query for query in fake.queries if query.startswith("istio")]
    assert 'reporter="source"' in query and FIRST in query


def test_ingress_nginx_tells_the_canary_by_its_own_label(fake):
    def hit(canary, status="200"):
        return series(
            "nginx_ingress_controller_requests", "4", job="nginx", namespace="ingress",
            exported_namespace="shop", exported_service=FIRST, ingress="handler-users",
            canary=canary, status=status,
        )  # fmt: skip

    canary = f"shop-{SECOND}-3000"
    fake.told["nginx_ingress_controller_requests"] = matrix(
        [hit(""), hit(canary), hit(canary, "500")]
    )
    fake.told['up{job="nginx"}'] = matrix([series("up", job="nginx", namespace="ingress")])
    said = look(fake, units(provider="ingress-nginx"), evidence=Evidence())[USERS]
    codes = {
        name: sorted(dict(s.labels)["code"] for s in said[name].edge.requests)
        for name in (FIRST, SECOND)
    }
    assert codes == {FIRST: ["200"], SECOND: ["200", "500"]}
    assert said[FIRST].edge.active.gap is Gap.UNSUPPORTED
    parked = phased(units(provider="ingress-nginx")[USERS], v2=(Phase.PARKED, 0))
    edge = look(fake, {USERS: parked}, evidence=Evidence())[USERS][SECOND].edge
    assert isinstance(edge, Missing) and edge.gap is Gap.UNSUPPORTED


def test_a_module_has_no_gateway(fake):
    from tests.compile.kit import handler, module

    found = units(handler(), module())
    said = look(fake, found)
    assert isinstance(said[USERS][FIRST], Telemetry)
    (missing,) = said["shop", "module-db"].values()
    assert isinstance(missing, Missing) and missing.gap is Gap.NO_DATA
