"""How the job is watched: the ServiceMonitor that reads its metrics, and its dashboard."""

from __future__ import annotations

from collections.abc import Iterator

from gati_gitops.emit.job.workload import head
from gati_gitops.emit.monitoring.dashboard import Panel, board, board_map
from gati_gitops.emit.objects.meta import Object
from gati_gitops.plan.job import JobPlan
from gati_gitops.plan.naming import shorten

DASHBOARD = "dashboard-reconciler.yaml"
BOARD = "gati-job-dashboard-"
"""How its ConfigMap's name begins."""


def monitor(plan: JobPlan) -> Object | None:
    """None where nothing could be read, or nobody reads."""
    monitoring = plan.monitoring
    if monitoring is None or not plan.scraped:
        return None
    found = head(plan, "monitoring.coreos.com/v1", "ServiceMonitor")
    found["metadata"]["labels"] = dict(sorted({**plan.labels, **monitoring.labels}.items()))
    interval = monitoring.interval_seconds
    found["spec"] = {
        "endpoints": [
            {
                "port": "http",
                "path": "/metrics",
                "scheme": "http",
                "interval": f"{interval}s",
                "scrapeTimeout": f"{min(interval, 10)}s",
                "honorLabels": False,
            }
        ],
        "namespaceSelector": {"matchNames": [plan.namespace]},
        "selector": {"matchLabels": plan.selector},
    }
    return found


def dashboard(plan: JobPlan) -> Object | None:
    """In Grafana's namespace; None where there is none."""
    monitoring = plan.monitoring
    if monitoring is None or not monitoring.dashboard or not plan.scraped:
        return None
    # no project has an underscore in its name, so none has a dashboard of this id
    uid = shorten(f"gati_reconciler_{plan.project}", 40)
    content = board(uid, f"Gati reconciler: {plan.project}", [], list(_panels(plan)))
    name = f"{BOARD}{plan.project}"
    return board_map(name, plan.name, plan.project, monitoring.namespace, content)


def _panels(plan: JobPlan) -> Iterator[Panel]:
    mine = f'namespace="{plan.namespace}", job="{plan.name}"'

    def series(name: str) -> str:
        return f"gati_gitops_{name}{{{mine}}}"

    def rate(name: str, by: str) -> str:
        return f"sum by ({by}) (rate({series(name)}[15m])) * 900"

    last = series("last_pass_timestamp_seconds")
    buckets = f"sum by (le) (rate({series('pass_duration_seconds_bucket')}[15m]))"
    yield Panel("Since the last pass", f"time() - max({last})", "s", "age")
    yield Panel("Leader", series("leader"), "short", "{{pod}}")
    yield Panel("95th percentile of a pass", f"histogram_quantile(0.95, {buckets})", "s", "p95")
    yield Panel("Decisions in 15 minutes", rate("decisions_total", "verdict"), "short",
                "{{verdict}}")  # fmt: skip
    held = f"sum by (env, cluster) ({series('held_units')})"
    yield Panel("Held units", held, "short", "{{env}}/{{cluster}}")
    age = f"max by (env, cluster) ({series('evidence_age_seconds')})"
    yield Panel("Age of the oldest evidence", age, "s", "{{env}}/{{cluster}}")
    yield Panel("Moves that wait", f"max({series('queue_length')})", "short", "moves")
    yield Panel("Errors in 15 minutes", rate("errors_total", "source"), "short", "{{source}}")
    yield Panel("Lost races for the branch in 15 minutes", rate("push_retries_total", "job"),
                "short", "retries")  # fmt: skip
    yield Panel("Breaker", f"max by (env) ({series('breaker_open')})", "short", "{{env}}")
