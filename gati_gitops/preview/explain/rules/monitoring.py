"""What Prometheus and Grafana read."""

from __future__ import annotations

from typing import Any

from gati_gitops.preview.explain.rule import Rule, Sources, chosen, rule
from gati_gitops.preview.explain.rules.head import KIND, NAMESPACE, UNIT, UNIT_NAME
from gati_gitops.preview.explain.scope import Scope

_OWN = "project:spec.monitoring"
_RELABELLED = "gives every series its unit and version, which the runtime's own metrics lack"


def _port(scope: Scope, value: Any) -> Sources:
    return ("unit:spec.metrics.port", "unit:spec.port")


def _namespaces(scope: Scope, value: Any) -> Sources:
    """Those that have units on the cluster."""
    place = (scope.environment, scope.cluster)
    return tuple(f"namespace/{name}:" for name in scope.explainer.namespaces(place))


_LABELS = (
    rule(
        "metadata.labels.$k", "a label by which Prometheus finds it, or one of the unit's document",
        f"{_OWN}.labels.$k", "unit:metadata.labels.$k",
    ),
)  # fmt: skip


def _monitor(endpoints: str) -> tuple[Rule, ...]:
    at = f"spec.{endpoints}[]"
    return (
        *(
            rule(
                name, "whether Services or pods are scraped", f"{_OWN}.kind",
                default="Services are scraped",
            )
            for name in ("apiVersion", "kind")
        ),
        rule("metadata.name", UNIT_NAME, "unit:metadata.name"),
        NAMESPACE,
        *(one for one in UNIT if one.steps[:2] == ("metadata", "labels") and one.steps[2] != "$k"),
        *_LABELS,
        rule(
            f"{at}.port", "the port's name: http for handlers, rpc for modules",
        ),
        chosen(f"{at}.targetPort", "where metrics are read", _port),
        chosen(f"{at}.portNumber", "where metrics are read", _port),
        rule(
            f"{at}.path", "where metrics are read", "unit:spec.metrics.path",
            default="the runtime serves them at /metrics",
        ),
        rule(
            f"{at}.interval", "how often metrics are read", f"{_OWN}.intervalSeconds",
            default="every 15 seconds",
        ),
        rule(
            f"{at}.scrapeTimeout", "the interval, and 10 seconds at most",
            f"{_OWN}.intervalSeconds", default="the interval, and 10 seconds at most",
        ),
        rule(f"{at}.relabelings[].**", _RELABELLED),
        rule(f"{at}.relabelings[].sourceLabels[]", _RELABELLED),
        rule(f"{at}.$k", "the same for every unit"),
        rule("spec.namespaceSelector.matchNames[]", "the unit's own namespace",
             "unit:metadata.namespace", default="a document without a namespace is in default"),
        rule('spec.selector.matchLabels["gati.dev/unit"]', "the unit's own name",
             "unit:metadata.name"),
        rule("spec.selector.matchExpressions[].$k",
             "a Service of the unit as a whole would be scraped a second time"),
    )  # fmt: skip


_HEAD = (
    *KIND,
    rule('metadata.labels["app.kubernetes.io/managed-by"]', "who writes these manifests"),
    rule(
        'metadata.labels["app.kubernetes.io/part-of"]', "the project's name",
        "project:metadata.name", default="without gati.yaml the project is called default",
    ),
)  # fmt: skip

_ALERT = "spec.groups[name=gati.alerts].rules"
_RULES = (
    *_HEAD,
    rule("metadata.name", "one for each namespace: rules are about labels"),
    rule("metadata.namespace", "the namespace whose units it watches", "namespace:"),
    rule("metadata.labels.$k", "a label by which Prometheus finds it", f"{_OWN}.labels.$k"),
    rule(
        f"{_ALERT}[alert=GatiErrorBudgetBurn].expr",
        "fires when the error budget that the objective leaves is used up too fast",
        f"{_OWN}.objectives.successPercent", default="99 percent of requests succeed",
        also=("namespace:",),
    ),
    *(
        rule(
            f"{_ALERT}[alert=GatiLatencyHigh].{name}",
            "fires when the 99th percentile is above the objective",
            f"{_OWN}.objectives.latencyMilliseconds", default="requests take 500 ms at most",
        )
        for name in ("expr", "annotations.summary")
    ),
    rule("spec.groups[].rules[].expr", "a signal or alert of the units of this namespace",
         "namespace:"),
    rule(f"{_ALERT}[alert=GatiNoData].annotations.summary",
         "what the person on call reads", "namespace:"),
    rule("spec.groups[].**", "the signals that rollouts read, and alerts for the person on call"),
)  # fmt: skip

_DASHBOARD = (
    *_HEAD,
    rule("metadata.name", "gati-dashboard-<project>", "project:metadata.name"),
    rule(
        "metadata.namespace", "where Grafana runs", f"{_OWN}.namespace",
        default="Prometheus and Grafana run in monitoring",
    ),
    rule("metadata.labels.grafana_dashboard", "by this label Grafana's sidecar finds it"),
    rule("data.$f", "a dashboard of all units of the project on this cluster",
         "project:metadata.name", also=_namespaces),
)  # fmt: skip

RULES = {
    "ServiceMonitor": _monitor("endpoints"),
    "PodMonitor": _monitor("podMetricsEndpoints"),
    "PrometheusRule": _RULES,
    "dashboard": _DASHBOARD,
}
