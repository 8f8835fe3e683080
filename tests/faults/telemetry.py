"""What the tests of telemetry's faults share."""

from __future__ import annotations

from typing import Any

from gati_gitops.decide.observation import Missing
from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.spec.metrics import MetricSource
from tests.observe.kit import labels, units, wanted
from tests.servers.contract import ContractServer, Reply, endpoint

TOKEN = "not-a-real-token-4711"


class Corner:
    """A unit of one's own on a shared Prometheus."""

    def __init__(self, server: Any, name: str) -> None:
        self.server = server
        self.name = name
        self.key = ("shop", f"handler-{name}")
        self.first, self.second = f"handler-{name}-v1", f"handler-{name}-v2"

    def pod(self, version="v1", number=0, **more):
        found = labels(version, f"handler-{self.name}")
        return self.server.pod(f"{self.name}-{version}-{number}", **found, **more)

    def units(self):
        from tests.compile.kit import handler, version

        return units(handler(self.name, weight=90), version(self.name, "v2", 10, image="shop/x:2"))

    def scraped(self, times=3, version="v1"):
        self.server.publish()
        self.server.scraped(times, f"{self.name}-{version}-0")

    def look(self, window=30.0, **source):
        settings = MetricSource(url=self.server.url, **source)
        found = Prometheus(settings, environ={}).look(wanted(self.units(), window))
        return found if isinstance(found, Missing) else found[self.key]


def missing(found, gap, *words):
    """It is known why nothing is known."""
    assert isinstance(found, Missing), found
    assert found.gap is gap, found
    for word in words:
        assert word in str(found), found
    assert len(str(found)) < 500
    return found


class Login(ContractServer):
    """Where people sign in."""

    @endpoint("POST", "/.*")
    def form(self, seen):
        return Reply(200, "<html>sign in</html>")

    @endpoint("GET", "/.*")
    def page(self, seen):
        return Reply(200, "<html>sign in</html>")
