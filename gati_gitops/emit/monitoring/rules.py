"""Recording rules for the signals that a rollout reads, and alerts for the person on call.

One PrometheusRule per namespace: the rules are about labels, so a thousand units need no more of
them than one. Nothing turns missing data into zero; missing data has an alert of its own.
"""

from __future__ import annotations

from typing import Any

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.plan.naming import MANAGER
from gati_gitops.spec.monitoring import Monitoring

_BY = "namespace, gati_unit, gati_version"
FAST_BURN = 14.4
"""Two percent of a month's error budget gone in one hour."""


def rules(namespace: str, project: str, monitoring: Monitoring) -> Object:
    """The PrometheusRule of one namespace."""
    labels = {
        "app.kubernetes.io/managed-by": MANAGER,
        "app.kubernetes.io/part-of": project,
        **monitoring.labels,
    }
    found = named(
        "monitoring.coreos.com/v1",
        "PrometheusRule",
        "gati-signals",
        namespace,
        dict(sorted(labels.items())),
    )
    groups = [
        {"name": "gati.signals", "interval": "30s", "rules": _signals(namespace)},
        {"name": "gati.alerts", "interval": "30s", "rules": _alerts(namespace, monitoring)},
    ]
    found["spec"] = {"groups": groups}
    return found


def _signals(namespace: str) -> list[Object]:
    mine = f'namespace="{namespace}", gati_unit!=""'
    duration = "gati_http_request_duration_seconds_bucket"
    return [
        _record("gati:requests:rate5m", _requests(mine, "5m")),
        _record("gati:errors:rate5m", _errors(mine, "5m")),
        _record("gati:error_ratio:rate5m", f"({_errors(mine, '5m')}) / {_requests(mine, '5m')}"),
        _record("gati:error_ratio:rate1h", f"({_errors(mine, '1h')}) / {_requests(mine, '1h')}"),
        _record(
            "gati:latency_seconds:p99",
            f"histogram_quantile(0.99, sum by (le, {_BY}) (rate({duration}{{{mine}}}[5m])))",
        ),
        _record("gati:inflight", f"sum by ({_BY}) (gati_active_connections{{{mine}}})"),
        _record("gati:targets:up", f"sum by ({_BY}) (up{{{mine}}})"),
        _record("gati:targets:all", f"count by ({_BY}) (up{{{mine}}})"),
    ]


def _requests(mine: str, window: str) -> str:
    return f"sum by ({_BY}) (rate(gati_http_requests_total{{{mine}}}[{window}]))"


def _errors(mine: str, window: str) -> str:
    """A version that has never failed has no series of failures; while it answers, that is none."""
    failed = _requests(f'{mine}, status_code=~"5.."', window)
    return f"{failed} or 0 * {_requests(mine, window)}"


def _alerts(namespace: str, monitoring: Monitoring) -> list[Object]:
    mine = f'namespace="{namespace}"'
    objectives = monitoring.objectives
    budget = round(1 - objectives.success_percent / 100, 6)
    limit = f"{FAST_BURN} * {budget}"
    seconds = objectives.latency_milliseconds / 1000
    who = "{{ $labels.gati_unit }} {{ $labels.gati_version }} in {{ $labels.namespace }}"
    return [
        _alert(
            "GatiErrorBudgetBurn",
            f"gati:error_ratio:rate5m{{{mine}}} > {limit}"
            f" and gati:error_ratio:rate1h{{{mine}}} > {limit}",
            "2m",
            "critical",
            f"{who} burns its error budget {FAST_BURN} times too fast",
        ),
        _alert(
            "GatiLatencyHigh",
            f"gati:latency_seconds:p99{{{mine}}} > {seconds:g}",
            "10m",
            "warning",
            f"{who}: the 99th percentile is above {objectives.latency_milliseconds} ms",
        ),
        _alert(
            "GatiRolloutStuck",
            'kube_deployment_status_condition{condition="Progressing", status="false",'
            f' {mine}, deployment=~"(handler|module)-.*"}} == 1',
            "5m",
            "warning",
            "{{ $labels.deployment }} in {{ $labels.namespace }} does not get ready",
        ),
        _alert(
            "GatiTargetDown",
            f"gati:targets:up{{{mine}}} < gati:targets:all{{{mine}}}",
            "10m",
            "warning",
            f"{who}: some pods are not scraped, so nothing is decided about it",
        ),
        _alert(
            "GatiNoData",
            f'absent_over_time(up{{{mine}, gati_unit!=""}}[15m]){_unless_none_run(mine)}',
            "5m",
            "warning",
            f"no unit of {namespace} is scraped; rollouts there hold",
        ),
    ]


def _unless_none_run(mine: str) -> str:
    """Where no pods are wanted none can be scraped; without kube-state-metrics nobody knows."""
    wanted = f'kube_deployment_spec_replicas{{{mine}, deployment=~"(handler|module)-.*"}} > 0'
    return f" unless on () (absent({wanted}) and on () count(kube_deployment_spec_replicas) > 0)"


def _record(name: str, expression: str) -> Object:
    return {"record": name, "expr": expression}


def _alert(name: str, expression: str, wait: str, severity: str, summary: str) -> Object:
    annotations: dict[str, Any] = {"summary": summary}
    return {
        "alert": name,
        "expr": expression,
        "for": wait,
        "labels": {"severity": severity},
        "annotations": annotations,
    }
