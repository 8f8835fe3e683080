"""What runs the job: a Deployment that stays, or a CronJob that comes back; and what goes with it.

Both may be there twice for a moment, and both may be stopped at any time: who may write is decided
by the repository, not here. ``Forbid`` and the Lease only save the work of being refused.

What answers drift is a CronJob of its own. It takes minutes where a look at everything does, and a
rollback must not wait for it.
"""

from __future__ import annotations

from gati_gitops.emit.job.pod import template
from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.plan.job import PORT, JobPlan
from gati_gitops.spec.common import seconds

STARTING_DEADLINE = 60
"""A run that could not begin for so long is left out; the next one sees all that it would."""


def head(plan: JobPlan, api_version: str, kind: str, namespace: str | None = None) -> Object:
    """The head of an object of the job."""
    where = plan.namespace if namespace is None else namespace
    return named(api_version, kind, plan.name, where, plan.labels)


def workload(plan: JobPlan) -> Object:
    return _deployment(plan) if plan.watches else _cron_job(plan)


def drift_workload(plan: JobPlan) -> Object | None:
    """What answers drift; None where the environment only wants to be told."""
    return None if plan.answering is None else _cron_job(plan.answering)


def _deployment(plan: JobPlan) -> Object:
    found = head(plan, "apps/v1", "Deployment")
    found["spec"] = {
        **({"replicas": plan.settings.replicas} if plan.cluster else {}),
        "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10,
        "selector": {"matchLabels": plan.selector},
        # the new pod is ready before the old one lets go of the Lease
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
        },
        "template": template(plan, "Always"),
    }
    return found


def _cron_job(plan: JobPlan) -> Object:
    found = head(plan, "batch/v1", "CronJob")
    settings = plan.settings
    found["spec"] = {
        "concurrencyPolicy": "Forbid",
        "failedJobsHistoryLimit": 3,
        "jobTemplate": {
            "metadata": {"labels": plan.labels},
            "spec": {
                "activeDeadlineSeconds": int(seconds(settings.deadline)),
                # the next run is another try, and sees what this one left
                "backoffLimit": 0,
                "template": template(plan, "Never"),
                "ttlSecondsAfterFinished": 86400,
            },
        },
        "schedule": settings.schedule,
        "startingDeadlineSeconds": STARTING_DEADLINE,
        "successfulJobsHistoryLimit": 3,
        "suspend": False,
        "timeZone": settings.time_zone,
    }
    return found


def service_account(plan: JobPlan) -> Object:
    found = head(plan, "v1", "ServiceAccount")
    if plan.settings.service_account_annotations:
        annotations = sorted(plan.settings.service_account_annotations.items())
        found["metadata"]["annotations"] = dict(annotations)
    found["automountServiceAccountToken"] = False
    return found


def service(plan: JobPlan) -> Object | None:
    """Where its metrics are read; a CronJob is gone before anybody asks."""
    if not plan.watches:
        return None
    found = head(plan, "v1", "Service")
    found["spec"] = {
        "internalTrafficPolicy": "Cluster",
        "ports": [{"name": "http", "port": PORT, "protocol": "TCP", "targetPort": PORT}],
        "selector": plan.selector,
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    return found


def disruption_budget(plan: JobPlan) -> Object | None:
    """None below two pods: a budget there would only block node drains."""
    if not plan.watches or plan.settings.replicas < 2:
        return None
    found = head(plan, "policy/v1", "PodDisruptionBudget")
    found["spec"] = {
        "maxUnavailable": 1,
        "selector": {"matchLabels": plan.selector},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return found
