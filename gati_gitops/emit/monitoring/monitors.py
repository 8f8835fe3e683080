"""The monitor of one unit: all its versions, each series with its unit and version."""

from __future__ import annotations

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.plan.model import Scraped, UnitPlan
from gati_gitops.plan.naming import UNIT_LABEL, VERSION_LABEL, unit_labels
from gati_gitops.yamlio.emit import Shared

_API = "monitoring.coreos.com/v1"


def monitor(plan: UnitPlan) -> Object | None:
    """None when the unit is not scraped."""
    scraped = plan.scraped
    if scraped is None:
        return None
    by_service = scraped.kind == "service"
    labels = {**unit_labels(plan.unit, plan.project, plan.labels), **scraped.labels}
    found = named(
        _API,
        "ServiceMonitor" if by_service else "PodMonitor",
        plan.unit.object_name,
        plan.unit.namespace,
        dict(sorted(labels.items())),
    )
    endpoints = "endpoints" if by_service else "podMetricsEndpoints"
    found["spec"] = {
        endpoints: [_endpoint(scraped, by_service)],
        "namespaceSelector": {"matchNames": [plan.unit.namespace]},
        "selector": {
            "matchLabels": {UNIT_LABEL: plan.unit.object_name},
            # a Service of the unit as a whole would be scraped a second time
            "matchExpressions": [{"key": VERSION_LABEL, "operator": "Exists"}],
        },
    }
    return found


def _endpoint(scraped: Scraped, by_service: bool) -> Object:
    if scraped.port_name:
        port: Object = {"port": scraped.port_name}
    else:
        port = {"targetPort" if by_service else "portNumber": scraped.port}
    return {
        **port,
        "path": scraped.path,
        "scheme": "http",
        "interval": f"{scraped.interval}s",
        "scrapeTimeout": f"{min(scraped.interval, 10)}s",
        "honorLabels": False,
        "relabelings": _SERVICE_LABELS if by_service else _POD_LABELS,
    }


def _relabelings(source: str) -> list[Object]:
    return [
        Shared(
            {
                "action": "replace",
                "sourceLabels": [f"__meta_kubernetes_{source}_label_gati_dev_{name}"],
                "targetLabel": f"gati_{name}",
            }
        )
        for name in ("unit", "version")
    ]


_SERVICE_LABELS = _relabelings("service")
_POD_LABELS = _relabelings("pod")
