"""The evidence profiles of Traefik, on the real one: by Gateway API and by its own kinds."""

import pytest

from gati_gitops.decide.observation import EdgeSeries, Gap, Missing, Telemetry
from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.spec.metrics import Evidence, MetricSource
from tests.compile.kit import handler, version
from tests.observe.kit import labels, units, wanted

pytestmark = pytest.mark.slow

KINDS = {"gateway-api": ("users", "/users"), "traefik": ("carts", "/carts")}
UNNAMED = {"gateway-api": ("orders", "/orders"), "traefik": ("bills", "/bills")}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    from tests.observe.traefik import TraefikWorld

    world = TraefikWorld(tmp_path_factory.mktemp("traefik"))
    yield world
    world.close()


def unit(provider, kinds=KINDS):
    name, _ = kinds[provider]
    documents = (handler(name, weight=90), version(name, "v2", 10, image="shop/it:2"))
    return units(*documents, provider=provider)


def look(world, found, by="pod"):
    evidence = Evidence(gateway="traefik", gateway_labels={"by": by})
    return Prometheus(MetricSource(url=world.prometheus.url, evidence=evidence)).look(
        wanted(found, 60.0)
    )


def edge(seen, key, name):
    said = seen[key][name]
    assert isinstance(said, Telemetry), said
    return said.edge


def counted(edge, code=""):
    """Requests that an edge has counted, by code or all of them."""
    assert isinstance(edge, EdgeSeries), edge
    return sum(
        series.values[-1]
        for series in edge.requests
        if dict(series.labels)["code"].startswith(code)
    )


@pytest.mark.parametrize("provider", KINDS)
def test_requests_are_counted_by_version_shares_and_pins_alike(world, provider):
    from tests.observe.traefik import parked

    name, path = KINDS[provider]
    key, first = ("shop", f"handler-{name}"), f"handler-{name}-v1"
    second = f"handler-{name}-v2"
    found = unit(provider)
    for version_id in ("v1", "v2"):
        pod = world.prometheus.pod(f"{name}-{version_id}", **labels(version_id, key[1]))
        pod.request()
    world.prometheus.publish()
    world.apply(found)
    world.until(path, "", 200)
    world.until(path, "v1", 200)
    world.until(path, "v2", 200)

    for _ in range(40):
        assert world.get(path) == 200
    for _ in range(3):
        assert world.get(path, "v2") == 200
    assert world.get(f"{path}/fail", "v2") == 500
    world.scraped()
    served = world.backends.served
    for by in ("pod", "service"):
        seen = look(world, found, by)
        for served_name in (first, second):
            got = edge(seen, key, served_name)
            assert counted(got) == len(served[f"shop/{served_name}"])
            assert isinstance(got.active, Missing) and got.active.gap is Gap.UNSUPPORTED
            assert [dict(up.labels)["pod"] for up in got.up] == ["traefik-0"]
            assert got.scrape == pytest.approx(1, abs=0.1)
        assert counted(edge(seen, key, second), "5") == 1
        assert counted(edge(seen, key, first), "5") == 0
    assert len(served[f"shop/{second}"]) > 4  # its share came, too

    # parked: no pods, and whoever names it is answered 503 and counted
    leaving = {key: parked(found[key], "v2")}
    world.apply(leaving)
    world.until(path, "v2", 503)
    world.scraped()
    before = counted(edge(look(world, leaving), key, second), "503")
    for _ in range(5):
        assert world.get(path, "v2") == 503
        assert world.get(path) == 200
    world.scraped()
    seen = look(world, leaving)
    assert counted(edge(seen, key, second), "503") == before + 5
    assert counted(edge(seen, key, first), "503") == 0


@pytest.mark.parametrize("provider", UNNAMED)
def test_a_parked_version_that_nobody_ever_named_is_seen_to_be_quiet(world, provider):
    from tests.observe.traefik import parked

    name, path = UNNAMED[provider]
    key = ("shop", f"handler-{name}")
    found = unit(provider, UNNAMED)
    leaving = {key: parked(found[key], "v2")}
    world.apply(leaving)
    world.until(path, "", 200)
    world.scraped()
    quiet = edge(look(world, leaving), key, f"handler-{name}-v2")
    assert isinstance(quiet, EdgeSeries) and quiet.requests == (), quiet
    assert world.get(path, "v2") == 503
    world.scraped()
    (called,) = edge(look(world, leaving), key, f"handler-{name}-v2").requests
    assert dict(called.labels)["code"] == "503" and called.values[-1] == 1
