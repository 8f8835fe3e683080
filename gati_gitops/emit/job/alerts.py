"""Alerts about the job itself: when nobody watches, people must know.

Of a Deployment its own metrics tell, of a CronJob what kube-state-metrics knows of it, and so it is
with what answers drift. Each alert names the section of the runbook that is about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gati_gitops.emit.job.workload import head
from gati_gitops.emit.objects.meta import Object
from gati_gitops.plan.job import JobPlan
from gati_gitops.spec.common import seconds

EVIDENCE_AGE = 600
"""Seconds; what rests on older evidence holds, and somebody should know why there is no newer."""
RETRIES = 10
ERRORS = 5
CRON_SILENCE = 1800
"""Seconds in which runs of a CronJob are due, and none goes well."""
FAILED_RUNS = 2
"""So many in a row: one alone may have met a restart of the API server."""
_PASSES = 3


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert."""

    name: str
    expression: str
    wait: str
    severity: str
    summary: str
    """What the person on call reads."""

    @property
    def anchor(self) -> str:
        """Its section in the runbook, as Markdown names it."""
        return self.name.lower()


def rule(plan: JobPlan) -> Object | None:
    """The PrometheusRule; None where there is no Prometheus operator, or none is wanted."""
    monitoring = plan.monitoring
    if monitoring is None or not monitoring.rules:
        return None
    found = head(plan, "monitoring.coreos.com/v1", "PrometheusRule")
    found["metadata"]["labels"] = dict(sorted({**plan.labels, **monitoring.labels}.items()))
    rules = [_rule(plan, alert) for alert in alerts(plan)]
    found["spec"] = {"groups": [{"name": "gati.reconciler", "interval": "30s", "rules": rules}]}
    return found


def alerts(plan: JobPlan) -> list[Alert]:
    found = list(_of_deployment(plan) if plan.watches else _of_cron_job(plan))
    return found if plan.answering is None else [*found, _of_drift(plan.answering)]


def _of_deployment(plan: JobPlan) -> Iterator[Alert]:
    mine = f'namespace="{plan.namespace}", job="{plan.name}"'
    settings = plan.settings
    silence = int(seconds(settings.deadline) + _PASSES * seconds(settings.interval))
    where = "{{ $labels.env }}/{{ $labels.cluster }}"
    yield Alert(
        "GatiReconcilerStuck",
        # of who leads; before its first pass has ended, since the process began
        f"time() - max((gati_gitops_last_pass_timestamp_seconds{{{mine}}}"
        f" or process_start_time_seconds{{{mine}}})"
        f" and gati_gitops_leader{{{mine}}} == 1) > {silence}",
        "1m",
        "critical",
        f"no pass of the job on {plan.cluster} has ended for {silence} s; nothing is rolled back",
    )
    yield Alert(
        "GatiReconcilerNoLeader",
        f"absent(gati_gitops_leader{{{mine}}} == 1)",
        "5m",
        "critical",
        f"no pod of the job leads on {plan.cluster}; nothing is decided there",
    )
    yield Alert(
        "GatiReconcilerBreakerOpen",
        f"max by (env) (gati_gitops_breaker_open{{{mine}}}) == 1",
        "1m",
        "critical",
        "too much would happen at once in {{ $labels.env }}, so nothing does: suspect the metrics",
    )
    yield Alert(
        "GatiReconcilerEvidenceOld",
        f"max by (env, cluster) (gati_gitops_evidence_age_seconds{{{mine}}}) > {EVIDENCE_AGE}",
        "5m",
        "warning",
        f"the evidence of {where} is older than {EVIDENCE_AGE} s; rollouts there hold",
    )
    yield Alert(
        "GatiReconcilerErrors",
        f"sum by (source) (increase(gati_gitops_errors_total{{{mine}}}[15m])) > {ERRORS}",
        "5m",
        "warning",
        f"the job on {plan.cluster} fails again and again: {{{{ $labels.source }}}}",
    )
    yield Alert(
        "GatiReconcilerPushRetries",
        f"sum(increase(gati_gitops_push_retries_total{{{mine}}}[15m])) > {RETRIES}",
        "5m",
        "warning",
        f"the job on {plan.cluster} loses the race for the branch again and again",
    )
    yield Alert(
        "GatiReconcilerUnitsHeld",
        f"sum by (env, cluster) (gati_gitops_held_units{{{mine}}}) > 0",
        "30m",
        "warning",
        f"{{{{ $value }}}} units of {where} are held, and wait for a person",
    )


def _of_cron_job(plan: JobPlan) -> Iterator[Alert]:
    mine = f'namespace="{plan.namespace}", cronjob="{plan.name}"'
    yield Alert(
        "GatiReconcilerStuck",
        # runs that are due and do not begin, or begin and do not end well
        f"time() - max(kube_cronjob_next_schedule_time{{{mine}}}) > {CRON_SILENCE}"
        f" or max(kube_cronjob_status_last_schedule_time{{{mine}}})"
        f" - max(kube_cronjob_status_last_successful_time{{{mine}}}) > {CRON_SILENCE}",
        "1m",
        "critical",
        f"no run of the job on {plan.cluster} went well for {CRON_SILENCE} s;"
        " nothing is rolled back",
    )
    runs = f'namespace="{plan.namespace}", job_name=~"{plan.name}-[0-9]+"'
    yield Alert(
        "GatiReconcilerErrors",
        f"count((time() - kube_job_created{{{runs}}} < {CRON_SILENCE})"
        f" and on (job_name) kube_job_status_failed{{{runs}}} > 0) >= 2",
        "1m",
        "warning",
        f"{{{{ $value }}}} runs of the job on {plan.cluster} have failed of late",
    )


def _of_drift(plan: JobPlan) -> Alert:
    """By counting runs: how much time lies between two of them is for the schedule to say."""
    mine = f'namespace="{plan.namespace}", cronjob="{plan.name}"'
    runs = f'namespace="{plan.namespace}", job_name=~"{plan.name}-[0-9]+"'
    well = f"scalar(max(kube_cronjob_status_last_successful_time{{{mine}}}) or vector(0))"
    return Alert(
        "GatiReconcilerDriftUnanswered",
        # runs that are due and do not begin, or fail one after the other
        f"time() - max(kube_cronjob_next_schedule_time{{{mine}}}) > {CRON_SILENCE}"
        f" or count((kube_job_created{{{runs}}} > {well})"
        f" and on (job_name) kube_job_status_failed{{{runs}}} > 0) >= {FAILED_RUNS}",
        "1m",
        "warning",
        f"nobody answers drift on {plan.cluster}: runs fail, or do not begin",
    )


def _rule(plan: JobPlan, alert: Alert) -> Object:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.wait,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "runbook_url": f"{plan.settings.runbooks}#{alert.anchor}",
        },
    }
