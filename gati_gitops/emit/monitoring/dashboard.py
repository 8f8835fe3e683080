"""A Grafana dashboard per project, as the ConfigMap that Grafana's sidecar picks up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.plan.naming import MANAGER, shorten

_LEGEND = "{{gati_unit}} {{gati_version}}"
_SOURCE = {"type": "prometheus", "uid": "prometheus"}
_SERIES = (
    ("Requests by version", "gati:requests:rate5m", "reqps"),
    ("Error ratio", "gati:error_ratio:rate5m", "percentunit"),
    ("99th percentile", "gati:latency_seconds:p99", "s"),
    ("In flight", "gati:inflight", "short"),
    ("Scraped pods", "gati:targets:up", "short"),
    ("Pods that should be scraped", "gati:targets:all", "short"),
)


class Panel(NamedTuple):
    """One graph."""

    title: str
    expression: str
    unit: str
    legend: str


def dashboard(project: str, namespace: str, units_in: list[str]) -> Object:
    """The dashboard of a project on one cluster, in Grafana's namespace."""
    only = "|".join(units_in)
    variables = [
        _variable("namespace", f'namespace=~"{only}"', "namespace"),
        _variable("unit", 'namespace=~"$namespace"', "gati_unit"),
    ]
    where = 'namespace=~"$namespace", gati_unit=~"$unit"'
    panels = [
        Panel(title, f"{series}{{{where}}}", unit, _LEGEND) for title, series, unit in _SERIES
    ]
    content = board(shorten(f"gati-{project}", 40), f"Gati: {project}", variables, panels)
    return board_map(f"gati-dashboard-{project}", f"gati-{project}", project, namespace, content)


def board_map(
    name: str, file: str, project: str, namespace: str, content: dict[str, Any]
) -> Object:
    """A dashboard as Grafana's sidecar wants it."""
    found = named(
        "v1",
        "ConfigMap",
        shorten(name),
        namespace,
        {
            "app.kubernetes.io/managed-by": MANAGER,
            "app.kubernetes.io/part-of": project,
            "grafana_dashboard": "1",
        },
    )
    text = json.dumps(content, indent=2, sort_keys=True)
    found["data"] = {f"{file}.json": text + "\n"}
    return found


def board(
    uid: str, title: str, variables: list[dict[str, Any]], panels: Sequence[Panel]
) -> dict[str, Any]:
    """A dashboard as Grafana reads it."""
    return {
        "uid": uid,
        "title": title,
        "tags": ["gati"],
        "schemaVersion": 39,
        "editable": False,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": variables},
        "panels": [_panel(number, panel) for number, panel in enumerate(panels)],
    }


def _variable(name: str, where: str, label: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "query": f"label_values(gati:targets:all{{{where}}}, {label})",
        "datasource": _SOURCE,
        "includeAll": True,
        "multi": True,
        "refresh": 2,
        "sort": 1,
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    return {
        "id": number + 1,
        "title": panel.title,
        "type": "timeseries",
        "datasource": _SOURCE,
        "gridPos": {"h": 8, "w": 12, "x": 12 * (number % 2), "y": 8 * (number // 2)},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [{"expr": panel.expression, "legendFormat": panel.legend, "refId": "A"}],
    }
