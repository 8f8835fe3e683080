"""What gateways count, by version; and when their silence is no proof."""

import time
from dataclasses import replace

import pytest

from gati_gitops.decide.observation import EdgeSeries, Gap, Missing, Telemetry
from gati_gitops.ledger.model import Phase
from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.observe.wanted import MARGIN
from gati_gitops.spec.metrics import Edge, Evidence, MetricSource
from tests.observe.fake_prometheus import FIRST, SECOND, look, matrix, series, vector
from tests.observe.kit import USERS, phased, units, wanted

GATEWAY = "10.0.0.9:80"


def seen(fake, name=FIRST, **source):
    return look(fake, **source)[USERS][name]


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


def test_a_scrape_that_ends_between_two_questions_is_not_told_in_part(fake):
    """Counters are asked first. What is in ``up`` and not in them was not lost."""
    gateway(fake, traefik("v1"))
    at = time.time()
    times = [at - 45.0 * 5 - 1.0 + 45.0 * n for n in range(6)]  # the last is a second old
    labels = {"job": "traefik", "namespace": "gateway", "pod": "t-0"}
    up = {"metric": labels, "values": [[one, "1"] for one in times]}
    fake.told['up{job="traefik"}'] = matrix([up])
    edge = seen(fake, evidence=TRAEFIK).edge
    assert isinstance(edge, EdgeSeries), edge
    assert edge.scrape == pytest.approx(45)
    assert edge.up[0].times == pytest.approx(times[:-1])
    times[-1] -= 20
    up["values"] = [[one, "1"] for one in times]
    fake.told['up{job="traefik"}'] = matrix([up])
    edge = seen(fake, evidence=TRAEFIK).edge
    assert isinstance(edge, EdgeSeries), edge
    assert edge.up[0].times == pytest.approx(times)


def test_another_gateway_of_that_name_elsewhere_is_none_of_ours(fake):
    gateway(fake, traefik("v1"))
    here = {"job": "traefik", "namespace": "gateway", "pod": "t-0"}
    there = {"job": "traefik", "namespace": "elsewhere", "pod": "t-1"}
    fake.told['up{job="traefik"}'] = matrix(
        [{**series("up"), "metric": here}, {**series("up", "0"), "metric": there}]
    )
    (up,) = seen(fake, evidence=TRAEFIK).edge.up
    assert dict(up.labels) == {"pod": "t-0"}


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
    gateway(fake, traefik("v1"), shown=False)
    edge = look(fake, found, evidence=TRAEFIK)[USERS][SECOND].edge
    assert isinstance(edge, Missing) and "addRoutersLabels" in edge.why
    gateway(fake, traefik("v1"))  # its routers count, and nobody has named this version
    edge = look(fake, found, evidence=TRAEFIK)[USERS][SECOND].edge
    assert isinstance(edge, EdgeSeries) and edge.requests == ()
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
