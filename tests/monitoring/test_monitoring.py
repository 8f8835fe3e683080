"""Monitors, rules and the dashboard of a project with monitoring."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gati_gitops.check.custom import read_crds
from gati_gitops.check.objects import check_objects
from gati_gitops.tree import Tree
from tests.compile.kit import compiled, handler, module, version
from tests.tools import crds_dir, tool

PROJECT = """
apiVersion: gati.dev/v1alpha1
kind: GatiProject
metadata: {name: shop}
spec:
  environments: {prod: {clusters: {eu: {}}}}
  monitoring: MONITORING
"""
UNIT = "overlays/prod/eu/shop/handler-users"


def tree(monitoring: str = "{}", *documents: str) -> Tree:
    specs = "\n---\n".join(documents or (handler(),))
    return compiled({"gati.yaml": PROJECT.replace("MONITORING", monitoring), "s.yaml": specs}).tree


def only(found: Tree, path: str) -> dict[str, Any]:
    (item,) = yaml.safe_load_all(found[path])
    return item  # type: ignore[no-any-return]


def test_without_the_section_nothing_is_written_for_prometheus() -> None:
    found = compiled({"s.yaml": handler()}).tree
    assert not [path for path in found if "monitoring" in path or "rules.yaml" in path]


def test_every_series_gets_its_unit_and_version() -> None:
    monitor = only(tree(), f"{UNIT}/monitoring.yaml")
    (endpoint,) = monitor["spec"]["endpoints"]
    assert {r["targetLabel"]: r["sourceLabels"] for r in endpoint["relabelings"]} == {
        "gati_unit": ["__meta_kubernetes_service_label_gati_dev_unit"],
        "gati_version": ["__meta_kubernetes_service_label_gati_dev_version"],
    }


def test_one_monitor_watches_all_versions_and_each_pod_once() -> None:
    found = tree("{}", handler(weight=90), version("users", "v0", 10, image="shop/users:0"))
    selector = only(found, f"{UNIT}/monitoring.yaml")["spec"]["selector"]
    services = [only(found, p) for p in found if p.endswith("/service.yaml") and "base" in p]
    assert len(services) == 2
    for service in services:
        labels = service["metadata"]["labels"]
        assert selector["matchLabels"].items() <= labels.items()
        assert all(item["key"] in labels for item in selector["matchExpressions"])


def test_pods_can_be_scraped_instead_of_services() -> None:
    monitor = only(tree("{kind: pod}"), f"{UNIT}/monitoring.yaml")
    assert monitor["kind"] == "PodMonitor"
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["relabelings"][1]["sourceLabels"] == [
        "__meta_kubernetes_pod_label_gati_dev_version"
    ]


def test_labels_by_which_prometheus_selects() -> None:
    found = tree("{labels: {release: prom}}")
    for path in (f"{UNIT}/monitoring.yaml", "overlays/prod/eu/shop/_namespace/rules.yaml"):
        assert only(found, path)["metadata"]["labels"]["release"] == "prom"


def test_a_unit_says_where_its_metrics_are_or_that_it_has_none() -> None:
    found = tree("{}", handler(metrics={"path": "/m", "port": 9100}))
    (endpoint,) = only(found, f"{UNIT}/monitoring.yaml")["spec"]["endpoints"]
    assert (endpoint["path"], endpoint["targetPort"]) == ("/m", 9100)
    assert f"{UNIT}/monitoring.yaml" not in tree("{}", handler(metrics={"scrape": False}))


def test_a_port_for_metrics_alone_is_declared_because_prometheus_finds_no_other() -> None:
    def ports(**spec: Any) -> dict[str, int]:
        found = tree("{}", handler(**spec))
        (path,) = [path for path in found if path.endswith("/deployment.yaml")]
        (container,) = only(found, path)["spec"]["template"]["spec"]["containers"]
        return {port["name"]: port["containerPort"] for port in container["ports"]}

    assert ports(metrics={"port": 9100}) == {"http": 3000, "metrics": 9100}
    assert ports(metrics={"port": 3000}) == {"http": 3000}
    assert ports(metrics={"path": "/m"}) == {"http": 3000}
    assert ports(metrics={"port": 9100, "scrape": False}) == {"http": 3000}


def test_of_metrics_only_a_port_of_their_own_is_part_of_the_pods() -> None:
    def digest(**spec: Any) -> str:
        plan = compiled({"s.yaml": handler(**spec)}).units[0].outcome.plan
        assert plan is not None
        return plan.versions[0].digest

    assert digest() == digest(metrics={"path": "/m"}) == digest(metrics={"port": 3000})
    assert digest() != digest(metrics={"port": 9100})


def test_objectives_reach_the_alerts() -> None:
    rules = only(
        tree("{objectives: {successPercent: 99.9, latencyMilliseconds: 250}}"),
        "overlays/prod/eu/shop/_namespace/rules.yaml",
    )
    alerts = {
        r["alert"]: r["expr"] for g in rules["spec"]["groups"] for r in g["rules"] if "alert" in r
    }
    assert "> 14.4 * 0.001" in alerts["GatiErrorBudgetBurn"]
    assert "> 0.25" in alerts["GatiLatencyHigh"]
    assert {"GatiRolloutStuck", "GatiNoData", "GatiTargetDown"} <= alerts.keys()


def test_no_failures_are_a_ratio_of_zero_and_no_data_is_no_ratio(tmp_path: Path) -> None:
    rules = only(tree(), "overlays/prod/eu/shop/_namespace/rules.yaml")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rules["spec"]["groups"]}))
    labels = 'namespace="shop", gati_unit="handler-users", gati_version='
    requests = f"gati_http_requests_total{{{labels}"
    ratio = f"gati:error_ratio:rate5m{{{labels}"
    test = {
        "interval": "30s",
        "input_series": [
            {"series": f'{requests}"fine", status_code="200"}}', "values": "0+30x40"},
            {"series": f'{requests}"bad", status_code="200"}}', "values": "0+30x40"},
            {"series": f'{requests}"bad", status_code="500"}}', "values": "0+10x40"},
            {"series": f'up{{{labels}"silent"}}', "values": "1x40"},
        ],
        "promql_expr_test": [
            {
                "expr": "gati:error_ratio:rate5m",
                "eval_time": "15m",
                "exp_samples": [
                    {"labels": f'{ratio}"bad"}}', "value": 0.25},
                    {"labels": f'{ratio}"fine"}}', "value": 0},
                ],
            }
        ],
    }
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": [test]}))
    result = subprocess.run(
        [tool("promtool"), "test", "rules", file], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("series", "fires"),
    [
        ({}, True),
        ({'up{namespace="shop", gati_unit="handler-users"}': "1x60"}, False),
        (
            {'kube_deployment_spec_replicas{namespace="shop", deployment="handler-a-v1"}': "2x60"},
            True,
        ),
        (
            {'kube_deployment_spec_replicas{namespace="shop", deployment="handler-a-v1"}': "0x60"},
            False,
        ),
        (
            {'kube_deployment_spec_replicas{namespace="kube-system", deployment="dns"}': "2x60"},
            False,
        ),
    ],
)
def test_no_data_is_an_alert_where_pods_should_run(
    tmp_path: Path, series: dict[str, str], fires: bool
) -> None:
    rules = only(tree(), "overlays/prod/eu/shop/_namespace/rules.yaml")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rules["spec"]["groups"]}))
    (alert,) = [
        r for g in rules["spec"]["groups"] for r in g["rules"] if r.get("alert") == "GatiNoData"
    ]
    labels = {"severity": "warning", "namespace": "shop"}
    expected = [{"exp_labels": labels, "exp_annotations": alert["annotations"]}] if fires else []
    test = {
        "interval": "30s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [
            {"alertname": "GatiNoData", "eval_time": "25m", "exp_alerts": expected}
        ],
    }
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": ["rules.yaml"], "tests": [test]}))
    result = subprocess.run(
        [tool("promtool"), "test", "rules", file], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_rule_makes_up_data() -> None:
    assert b"vector(0)" not in tree()["overlays/prod/eu/shop/_namespace/rules.yaml"]


def test_one_dashboard_for_the_project() -> None:
    found = tree("{}", handler(), handler("cart", namespace="basket"), module())
    paths = [path for path in found if path.endswith("dashboard.yaml")]
    assert paths == ["overlays/prod/eu/monitoring/_namespace/dashboard.yaml"]
    item = only(found, paths[0])
    content = json.loads(item["data"]["gati-shop.json"])
    assert content["title"] == "Gati: shop"
    assert "basket|shop" in content["templating"]["list"][0]["query"]
    root = only(found, "overlays/prod/eu/kustomization.yaml")
    assert "monitoring/_namespace" in root["resources"]


def test_rules_and_dashboard_can_be_left_out() -> None:
    found = tree("{rules: false, dashboard: false}")
    assert not [path for path in found if path.endswith(("rules.yaml", "dashboard.yaml"))]


def test_all_of_it_fits_its_schema() -> None:
    crds = read_crds({str(path): path.read_bytes() for path in crds_dir().glob("monitoring*.yaml")})
    for monitoring in ("{}", "{kind: pod}"):
        found = tree(monitoring, handler(), module())
        objects = [
            (path, item)
            for path, content in found.items()
            if path.endswith(("monitoring.yaml", "rules.yaml", "dashboard.yaml"))
            for item in yaml.safe_load_all(content)
        ]
        assert len(objects) >= 4
        assert [p for p in check_objects(objects, crds) if p.is_error] == []


def test_prometheus_itself_accepts_the_rules(tmp_path: Path) -> None:
    rules = only(tree(), "overlays/prod/eu/shop/_namespace/rules.yaml")
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": rules["spec"]["groups"]}))
    result = subprocess.run(
        [tool("promtool"), "check", "rules", file], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "monitoring", ["{intervalSeconds: 1}", "{objectives: {successPercent: 100}}", "{lables: {}}"]
)
def test_wrong_settings_are_told(monitoring: str) -> None:
    from gati_gitops.errors import SpecsInvalid

    with pytest.raises(SpecsInvalid):
        tree(monitoring)


@pytest.mark.parametrize(
    ("kind", "spec", "scraped"),
    [("node", {}, True), ("oci", {}, False), ("wasm", {}, False), ("oci", {"metrics": {}}, True)],
)
def test_a_module_without_the_runtime_is_scraped_only_where_it_says(
    kind: str, spec: dict[str, Any], scraped: bool
) -> None:
    found = tree("{}", handler(), module(moduleType=kind, **spec))
    assert ("overlays/prod/eu/shop/module-db/monitoring.yaml" in found) == scraped
