"""What stands around the job: its rights, its network, its alerts."""

from __future__ import annotations

from typing import Any

from gati_gitops.emit.job.network import reached
from gati_gitops.plan.job import TRACES, JobPlan, job_plan
from gati_gitops.preview.explain.rule import Sources, chosen, rule
from gati_gitops.preview.explain.rules.head import API_DEFAULT, KIND, below
from gati_gitops.preview.explain.rules.job import (
    HEAD,
    HOME,
    LABELS,
    NAME,
    SELECTOR,
    SYNC,
    WATCHING,
)
from gati_gitops.preview.explain.scope import Scope
from gati_gitops.spec.job import Job


def _plan(scope: Scope) -> JobPlan | None:
    specs = scope.explainer.specs
    return job_plan(specs.project, scope.environment, scope.cluster) if specs else None


# -- what it may do ------------------------------------------------------------------------------


def _at(scope: Scope, value: Any) -> Sources:
    """Its own namespace, or that of the sync engine."""
    plan = _plan(scope)
    if plan is None or plan.engine is None or value == plan.namespace:
        return ("job:namespace",)
    return (f"{SYNC}.{plan.engine.kind}.namespace",)


def _resource(scope: Scope, value: Any) -> Sources:
    """What is written depends on what is wanted."""
    text = str(value)
    return ("job:status",) if text.endswith("/status") else ()


_AT = "the job lives in gati-system; engines where they live by default"
_WANTED = ("job:status", "job:events", "job:mode", "cluster:sync.nudge", "env:drift")
_ROLE = (
    *KIND,
    NAME,
    chosen("metadata.namespace", "where the job lives, or the engine that it reads", _at, _AT),
    *LABELS,
    rule("rules[].resourceNames[]", "its own Lease and its own clocks, and no other",
         "project:metadata.name"),
    rule("rules[].apiGroups[]", "what it reads or writes", also=_WANTED),
    chosen("rules[].resources[]", "what it reads or writes", _resource, "it tells what it decides",
           also=_WANTED),
    rule("rules[].verbs[]", "what it does with it, and nothing else", also=_WANTED),
)  # fmt: skip

_BINDING = (
    *KIND,
    NAME,
    chosen("metadata.namespace", "where the job lives, or the engine that it reads", _at, _AT),
    *LABELS,
    rule("roleRef.name", "the job's own role", "project:metadata.name"),
    rule("roleRef.$k", "the job's own role"),
    rule("subjects[].name", "the account that the job runs as", "project:metadata.name"),
    rule("subjects[].namespace", "where the job lives", "job:namespace", default=HOME),
    rule("subjects[].kind", "the account that the job runs as"),
)


# -- whom it may talk to -------------------------------------------------------------------------


_FOR = {
    "metrics": "cluster:metrics.url",
    "synthetic": "laid:rollout.analysis.synthetic.url",
    "nudge": "cluster:sync.nudgeUrl",
    "traces": f"job:env.{TRACES}",
}
"""Where the addresses stand that it calls."""


def _port(scope: Scope, value: Any) -> Sources:
    """Of the API server, of what the settings list, of the repository, or of what it asks."""
    plan = _plan(scope)
    if plan is None or value in plan.settings.api_server.ports:
        return ("job:apiServer.ports",)
    if plan.settings.egress:
        return ("job:egress",)
    if value == plan.repository_port:
        return ("job:repository", f"{SYNC}.repository")
    return tuple(_FOR[what] for what, address in plan.called if reached(address)[1] == value)


def _address(scope: Scope, value: Any) -> Sources:
    """What somebody lists, or calls; else any address is as good as another."""
    plan = _plan(scope)
    job = plan.settings if plan else Job()
    if value in job.api_server.cidrs:
        return ("job:apiServer.cidrs",)
    if any(value in (rule.cidr, rule.namespace) for rule in job.egress):
        return ("job:egress",)
    called = plan.called if plan else ()
    return tuple(_FOR[what] for what, address in called if reached(address)[0] == value)


_CALLED = ("job:egress", "job:apiServer", "job:repository", f"{SYNC}.repository", *_FOR.values())
_POLICY = (
    *HEAD,
    *below("spec.podSelector.matchLabels", SELECTOR),
    rule("spec.policyTypes[]", "what is not said is closed"),
    rule("spec.ingress[].from[].**", "who reads its metrics", "network:monitoringNamespace",
         f"{WATCHING}.namespace", default="Prometheus runs in monitoring"),
    rule("spec.ingress[].ports[].**", "where it shows them"),
    rule("spec.egress[0].ports[].port", "where names are looked up", "network:dns.port",
         default="port 53"),
    rule("spec.egress[0].to[].ipBlock.cidr", "a cache of names on the node", "network:dns.cidr"),
    rule("spec.egress[0].to[].**", "where names are looked up", "network:dns.namespace",
         default="DNS runs in kube-system"),
    rule("spec.egress[].ports[].protocol", API_DEFAULT),
    chosen("spec.egress[].ports[].port", "the API server, the repository and the metrics", _port,
           "443 and 6443, where API servers listen", also=_CALLED),
    chosen("spec.egress[].to[].ipBlock.cidr", "what it may call; any address if nobody says more",
           _address, also=_CALLED),
    chosen("spec.egress[].to[].namespaceSelector.matchLabels.$k",
           "where the Services are that it calls", _address, also=_CALLED),
    rule("spec.egress[].**", "the API server, the repository and the metrics", also=_CALLED),
)  # fmt: skip


# -- how it is watched ---------------------------------------------------------------------------


def _silence(scope: Scope, value: Any) -> Sources:
    """A Deployment has a deadline and an interval; when a CronJob is due its schedule says."""
    plan = _plan(scope)
    watches = plan is not None and plan.watches
    return ("job:deadline", "job:interval") if watches else ("job:mode",)


_MONITOR = (
    *HEAD,
    rule("spec.endpoints[].interval", "how often metrics are read",
         f"{WATCHING}.intervalSeconds", default="every 15 seconds"),
    rule("spec.endpoints[].scrapeTimeout", "the interval, and 10 seconds at most",
         f"{WATCHING}.intervalSeconds", default="the interval, and 10 seconds at most"),
    rule("spec.endpoints[].$k", "where its metrics are read"),
    rule("spec.namespaceSelector.matchNames[]", "where the job lives", "job:namespace",
         default=HOME),
    *below("spec.selector.matchLabels", SELECTOR),
)  # fmt: skip

_STUCK = "spec.groups[].rules[alert=GatiReconcilerStuck]"
_ALERTS = (
    *HEAD,
    *(
        chosen(f"{_STUCK}.{name}", "fires when no pass ends for the deadline and some intervals",
               _silence, "a pass may take ten minutes",
               also=("job:namespace", "project:metadata.name", "job:interval", "cluster:"))
        for name in ("expr", "annotations.summary")
    ),
    rule("spec.groups[].rules[].expr", "an alert about this job", "project:metadata.name",
         also=("job:namespace",)),
    rule("spec.groups[].rules[].annotations.runbook_url", "what to do about it", "job:runbooks",
         default="the runbooks of gati-gitops"),
    rule("spec.groups[].rules[].annotations.summary", "what the person on call reads",
         also=("cluster:",)),
    rule("spec.groups[].**", "alerts for the person on call"),
)  # fmt: skip

_DASHBOARD = (
    *KIND,
    rule("metadata.name", "gati-job-dashboard-<project>", "project:metadata.name"),
    rule("metadata.namespace", "where Grafana runs", f"{WATCHING}.namespace",
         default="Prometheus and Grafana run in monitoring"),
    rule("metadata.labels.grafana_dashboard", "by this label Grafana's sidecar finds it"),
    *LABELS,
    rule("data.$f", "a dashboard of the job", "project:metadata.name", also=("job:namespace",)),
)  # fmt: skip

RULES = {
    "job-Role": _ROLE,
    "job-ClusterRole": _ROLE,
    "job-RoleBinding": _BINDING,
    "job-ClusterRoleBinding": _BINDING,
    "job-NetworkPolicy": _POLICY,
    "job-ServiceMonitor": _MONITOR,
    "job-PrometheusRule": _ALERTS,
    "job-ConfigMap": _DASHBOARD,
}
