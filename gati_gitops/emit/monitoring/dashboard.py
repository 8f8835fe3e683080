"""A Grafana dashboard per project, as the ConfigMap that Grafana's sidecar picks up."""

from __future__ import annotations

import json
from typing import Any

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.plan.naming import MANAGER, shorten

_LEGEND = "{{gati_unit}} {{gati_version}}"
_PANELS = (
    ("Requests by version", "gati:requests:rate5m", "reqps"),
    ("Error ratio", "gati:error_ratio:rate5m", "percentunit"),
    ("99th percentile", "gati:latency_seconds:p99", "s"),
    ("In flight", "gati:inflight", "short"),
    ("Scraped pods", "gati:targets:up", "short"),
    ("Pods that should be scraped", "gati:targets:all", "short"),
)


def dashboard(project: str, namespace: str, units_in: list[str]) -> Object:
    """The dashboard of a project on one cluster, in Grafana's namespace."""
    found = named(
        "v1",
        "ConfigMap",
        shorten(f"gati-dashboard-{project}"),
        namespace,
        {
            "app.kubernetes.io/managed-by": MANAGER,
            "app.kubernetes.io/part-of": project,
            "grafana_dashboard": "1",
        },
    )
    text = json.dumps(_content(project, units_in), indent=2, sort_keys=True)
    found["data"] = {f"gati-{project}.json": text + "\n"}
    return found


def _content(project: str, namespaces: list[str]) -> dict[str, Any]:
    only = "|".join(namespaces)
    return {
        "uid": shorten(f"gati-{project}", 40),
        "title": f"Gati: {project}",
        "tags": ["gati"],
        "schemaVersion": 39,
        "editable": False,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "templating": {
            "list": [
                _variable("namespace", f'namespace=~"{only}"', "namespace"),
                _variable("unit", 'namespace=~"$namespace"', "gati_unit"),
            ]
        },
        "panels": [_panel(number, *panel) for number, panel in enumerate(_PANELS)],
    }


def _variable(name: str, where: str, label: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "query": f"label_values(gati:targets:all{{{where}}}, {label})",
        "datasource": {"type": "prometheus", "uid": "prometheus"},
        "includeAll": True,
        "multi": True,
        "refresh": 2,
        "sort": 1,
    }


def _panel(number: int, title: str, series: str, unit: str) -> dict[str, Any]:
    where = 'namespace=~"$namespace", gati_unit=~"$unit"'
    return {
        "id": number + 1,
        "title": title,
        "type": "timeseries",
        "datasource": {"type": "prometheus", "uid": "prometheus"},
        "gridPos": {"h": 8, "w": 12, "x": 12 * (number % 2), "y": 8 * (number // 2)},
        "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
        "targets": [{"expr": f"{series}{{{where}}}", "legendFormat": _LEGEND, "refId": "A"}],
    }
