"""The job's pod: restricted, without a shell, with its Secrets as files."""

from __future__ import annotations

from collections.abc import Sequence

from gati_gitops.emit.objects.meta import Object
from gati_gitops.plan.defaults import pulled
from gati_gitops.plan.job import CACHE, DRIFT, PORT, USER, JobPlan
from gati_gitops.spec.job import SECRETS

READ_ONLY = 0o440
"""Of a Secret's files: for the group that the pod runs as, and for nobody else."""
ENGINE = f"{SECRETS}/engine/kubeconfig"


def arguments(plan: JobPlan) -> list[str]:
    """What it is told: how it works, and, on a cluster, for whom."""
    if plan.part == DRIFT:
        return ["drift", "--fix=policy", "--unattended", *_place(plan)]
    settings = plan.settings
    at = f"{plan.namespace}/{plan.name}"
    found = ["reconcile", f"--deadline={settings.deadline}"]
    if plan.watches:
        found += ["--watch", f"--interval={settings.interval}", f"--listen=0.0.0.0:{PORT}"]
        found += [f"--lease={at}", f"--cache={CACHE}"]
    found += [f"--clocks=configmap/{at}", "--log-format=json"]
    wanted = (("events", settings.events), ("status", settings.status))
    found += [f"--{name}" for name, said in wanted if said]
    return [*found, *_place(plan)] if plan.cluster else found


def _place(plan: JobPlan) -> list[str]:
    branch = [f"--branch={plan.branch}"] if plan.branch else []
    where = [f"--root={plan.root}", f"--env={plan.env}", f"--cluster={plan.cluster}"]
    if plan.hub and plan.settings.secrets.engine is not None:
        where += [f"--kubeconfig={ENGINE}", f"--context={plan.hub}={plan.hub}"]
    return [f"--repo={plan.repository}", *branch, *where]


def template(plan: JobPlan, restart: str) -> Object:
    """The template of its pods."""
    return {"metadata": {"labels": _labels(plan)}, "spec": _pod(plan, restart)}


def _labels(plan: JobPlan) -> dict[str, str]:
    return dict(sorted({**plan.labels, "app.kubernetes.io/version": plan.version}.items()))


def _pod(plan: JobPlan, restart: str) -> Object:
    settings = plan.settings
    pod: Object = {
        # the API server is what it looks at and tells
        "automountServiceAccountToken": True,
        "containers": [_container(plan)],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": False,
    }
    if settings.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in settings.image_pull_secrets]
    pod["restartPolicy"] = restart
    pod["schedulerName"] = "default-scheduler"
    pod["securityContext"] = {
        "fsGroup": USER,
        "runAsGroup": USER,
        "runAsNonRoot": True,
        "runAsUser": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    pod["serviceAccountName"] = plan.account
    # what has begun is written or left: a push takes seconds, and nothing after it is lost
    pod["terminationGracePeriodSeconds"] = 60
    pod["volumes"] = [
        *({"name": name, "emptyDir": {}} for name, _ in _scratch(plan)),
        *(
            {"name": name, "secret": {"defaultMode": READ_ONLY, "secretName": secret}}
            for name, secret in _secrets(plan)
        ),
    ]
    return pod


def _container(plan: JobPlan) -> Object:
    container: Object = {
        "name": plan.part,
        "image": plan.image,
        "args": arguments(plan),
        "env": _env(plan),
        "imagePullPolicy": pulled(plan.image),
    }
    if plan.watches:
        container["ports"] = [{"name": "http", "containerPort": PORT, "protocol": "TCP"}]
        container |= {
            "startupProbe": _probe("/healthz", 5, 24),
            "readinessProbe": _probe("/readyz", 10, 3),
            "livenessProbe": _probe("/healthz", 20, 3),
        }
    container["resources"] = plan.resources
    container["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
    }
    container["terminationMessagePath"] = "/dev/termination-log"
    container["terminationMessagePolicy"] = "FallbackToLogsOnError"
    container["volumeMounts"] = [
        *({"name": name, "mountPath": path} for name, path in _scratch(plan)),
        *(
            {"name": name, "mountPath": f"{SECRETS}/{name}", "readOnly": True}
            for name, _ in _secrets(plan)
        ),
    ]
    return container


def _env(plan: JobPlan) -> list[Object]:
    """Files of Secrets by their path; a user name is none, but stands in the same Secret."""
    secrets = plan.settings.secrets
    found: dict[str, Object] = {
        name: {"name": name, "value": value} for name, value in plan.credentials.items()
    }
    if secrets.git is not None and not plan.by_ssh:
        key = {"name": secrets.git, "key": "username", "optional": True}
        found["GATI_GIT_USERNAME"] = {
            "name": "GATI_GIT_USERNAME",
            "valueFrom": {"secretKeyRef": key},
        }
    own = plan.settings.env
    found |= {name: {"name": name, "value": value} for name, value in own.items()}
    found.setdefault("HOME", {"name": "HOME", "value": "/tmp"})  # noqa: S108 - the pod's own
    return [found[name] for name in sorted(found)]


def _secrets(plan: JobPlan) -> Sequence[tuple[str, str]]:
    named = plan.settings.secrets.model_dump(exclude_none=True)
    return sorted(named.items())


def _scratch(plan: JobPlan) -> Sequence[tuple[str, str]]:
    """The root file system is read-only."""
    found = [("tmp", "/tmp")]  # noqa: S108
    return [("cache", CACHE), *found] if plan.watches else found


def _probe(path: str, period: int, failures: int) -> Object:
    return {
        "httpGet": {"path": path, "port": PORT, "scheme": "HTTP"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "successThreshold": 1,
        "failureThreshold": failures,
    }
