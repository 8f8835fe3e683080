"""A server that speaks like Prometheus, and lies on command."""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.spec.metrics import Evidence, MetricSource
from tests.observe.kit import labels, units, wanted
from tests.servers.contract import ContractServer, Reply, Seen, endpoint

SCRAPES = 20
FIRST, SECOND = "handler-users-v1", "handler-users-v2"


def look(server: Any, found: Any = None, clock=time.time, window: float = 20.0, **source: Any):
    """What a look at a server tells, by default of two versions of one unit."""
    evidence = source.pop("evidence", Evidence(in_flight="open_requests"))
    given = {"url": server.url, "timeout_seconds": 1, "evidence": evidence, **source}
    prometheus = Prometheus(MetricSource(**given), environ={}, clock=clock)
    return prometheus.look(wanted(found or units(), window))


def series(
    name: str, values: Any = None, *, pod: str = "a", version: str = "v1", **own: str
) -> Any:
    """A series of a pod with a sample every second until now."""
    metric = {"__name__": name, "job": "pods", "instance": "10.0.0.1:3000", "pod": pod}
    texts = values if isinstance(values, list) else [values or "1"] * SCRAPES
    now = time.time()
    times = [round(now - (len(texts) - 1 - n), 3) for n in range(len(texts))]
    return {
        "metric": {**metric, **labels(version), **own},
        "values": [[at, text] for at, text in zip(times, texts, strict=True)],
    }


def well() -> dict[str, list[Any]]:
    """Two versions with a pod each that are read every second and serve."""
    found: dict[str, list[Any]] = {"up": [], "requests": [], "bucket": [], "gauge": []}
    for version in ("v1", "v2"):
        pod = f"users-{version}-a"
        asked = {"pod": pod, "version": version, "route": "/users", "status_code": "200"}
        found["up"].append(series("up", pod=pod, version=version))
        rising = [str(number) for number in range(100, 100 + SCRAPES)]
        found["requests"].append(series("gati_http_requests_total", rising, **asked))
        for le in ("0.5", "+Inf"):
            found["bucket"].append(
                series("gati_http_request_duration_seconds_bucket", rising, le=le, **asked)
            )
        found["gauge"].append(series("open_requests", "0", pod=pod, version=version))
    return found


class FakePrometheus(ContractServer):
    """Answers as told: whole answers by how a query begins, else the series it has."""

    def __init__(self, tls: Any = None) -> None:
        self.series = well()
        self.told: dict[str, Callable[[str], Reply] | Reply] = {}
        self.clock = time.time
        self.token = ""
        super().__init__(tls)

    @property
    def queries(self) -> list[str]:
        return [form(seen)["query"] for seen in self.seen]

    @endpoint("POST", "/api/v1/query")
    def query(self, seen: Seen) -> Reply:
        if self.token and seen.headers.get("authorization") != self.token:
            return Reply(401, "unauthorized: " + seen.headers.get("authorization", "nobody"))
        asked = form(seen)
        query = asked["query"]
        for part, reply in self.told.items():
            if query.startswith(part):
                return reply(query) if callable(reply) else reply
        if query == "time()":
            return scalar(self.clock())
        if query.startswith("max(timestamp("):
            return vector(self.clock())
        assert "time" in asked, "every question is about one moment"
        name = query.partition("{")[0]
        kinds = {"up": "up", "gati_http_requests_total": "requests", "open_requests": "gauge"}
        kind = "bucket" if name.endswith("_bucket") else kinds.get(name, "")
        return matrix(self.series.get(kind, []))


def form(seen: Seen) -> dict[str, str]:
    return dict(parse_qsl(seen.raw, keep_blank_values=True))


def matrix(found: list[Any], **more: Any) -> Reply:
    return said("matrix", found, **more)


def scalar(value: float) -> Reply:
    return said("scalar", [value, str(value)])


def vector(*values: float) -> Reply:
    return said("vector", [{"metric": {}, "value": [value, str(value)]} for value in values])


def said(kind: str, result: Any, **more: Any) -> Reply:
    data = {"resultType": kind, "result": result}
    # as Go writes it, without spaces
    text = json.dumps({"status": "success", "data": data, **more}, separators=(",", ":"))
    return Reply(200, text)
