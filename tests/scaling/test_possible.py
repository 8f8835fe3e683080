"""A scaler that a cluster would refuse, or that would sleep for ever, is told before."""

from __future__ import annotations

from typing import Any

import pytest

from gati_gitops.plan.check import check
from gati_gitops.spec.load import load
from tests.compile.kit import handler, objects, project, tree_of, version

UNIT = "overlays/prod/east/shop/handler-users"
PROD = {"prod": {"clusters": {"east": {}}}}


def keda(query: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "keda",
        "metrics": [{"type": "prometheus", "query": query, "target": "5"}],
    } | more


def problems(*documents: str) -> list[tuple[str, str]]:
    specs = load([("s.yaml", "\n---\n".join(documents).encode())])
    return [(p.code, p.field) for p in check(specs) if p.is_error]


def old(**spec: Any) -> tuple[str, str]:
    """A handler, and a version that few still name."""
    return handler(weight=100), version("users", "v0", 0, image="shop/users:0", **spec)


@pytest.mark.parametrize(
    "autoscaling",
    [
        {"type": "hpa", "min": 2},
        {"type": "keda", "metrics": [{"type": "cpu", "utilization": 50}]},
        keda("sum(gati:requests:rate5m)"),
    ],
)
def test_a_cold_version_needs_a_scaler_that_comes_back_from_zero(
    autoscaling: dict[str, Any],
) -> None:
    assert problems(*old(tier="cold", autoscaling=autoscaling)) == [("cold-scaler", "spec.tier")]
    assert problems(*old(tier="warm", autoscaling=autoscaling)) == []
    assert problems(*old(tier="cold", autoscaling=autoscaling | {"warmFloor": 1})) == []
    assert problems(*old(tier="cold", autoscaling={"type": "none"})) == []


def test_a_cold_version_may_sleep_where_the_gateway_wakes_it() -> None:
    assert problems(*old(tier="cold", autoscaling=keda("sum(envoy_requests)"))) == []


@pytest.mark.parametrize("kind", ["hpa", "keda"])
def test_a_share_of_a_request_needs_the_request(kind: str) -> None:
    def found(metric: str, **resources: Any) -> list[tuple[str, str]]:
        metrics = [{"type": metric, "utilization": 60}]
        scaler = {"type": kind, "min": 2, "metrics": metrics}
        return problems(handler(autoscaling=scaler, resources=resources))

    told = [("metric-without-request", "spec.resources")]
    assert found("cpu", limits={"memory": "1Gi"}) == told
    assert found("memory", requests={"cpu": "1"}) == told
    assert found("cpu", requests={"cpu": "1"}) == []
    assert found("cpu", limits={"cpu": "1"}) == []  # the API server makes it the request, too
    assert found("cpu") == []  # the compiler's own
    assert (
        problems(handler(autoscaling={"type": kind}, resources={"limits": {"memory": "1Gi"}}))
        == told
    )


def test_metrics_are_asked_of_the_prometheus_that_the_project_has() -> None:
    def address(monitoring: dict[str, Any] | None, **metric: Any) -> str:
        scaler = keda("sum(envoy_requests)", min=2)
        scaler["metrics"][0] |= metric
        more = {} if monitoring is None else {"monitoring": monitoring}
        files = {"gati.yaml": project(PROD, **more), "s.yaml": handler(autoscaling=scaler)}
        found = objects(tree_of(files), f"{UNIT}/scaling.yaml")
        (scaled,) = [item for item in found if item["kind"] == "ScaledObject"]
        return str(scaled["spec"]["triggers"][0]["metadata"]["serverAddress"])

    assert address(None) == "http://prometheus-operated.monitoring.svc:9090"
    assert address({"namespace": "watch"}) == "http://prometheus-operated.watch.svc:9090"
    assert (
        address({"namespace": "watch"}, serverAddress="http://thanos:9090") == "http://thanos:9090"
    )
