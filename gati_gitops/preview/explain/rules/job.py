"""What watches the cluster: the job, and what it runs in."""

from __future__ import annotations

from typing import Any

from gati_gitops.plan.job import RESOURCES
from gati_gitops.preview.explain.rule import Rule, Sources, chosen, rule
from gati_gitops.preview.explain.rules.head import API_DEFAULT, KIND, below
from gati_gitops.preview.explain.scope import RELEASED, Scope

_RESTRICTED = "the restricted Pod Security standard asks for it"
HOME = "the job lives in gati-system"
SYNC = "project:spec.sync"
WATCHING = "project:spec.monitoring"
_MODE_DEFAULT = "a job stays and watches, unless it is a cronjob"
NAME = rule("metadata.name", "gati-reconciler-<project>: two projects may share a cluster",
             "project:metadata.name")  # fmt: skip
NAMESPACE = rule("metadata.namespace", "where the job lives", "job:namespace", default=HOME)

LABELS = (
    rule('metadata.labels["app.kubernetes.io/component"]', "what part of gati-gitops it is"),
    rule('metadata.labels["app.kubernetes.io/instance"]', "the job of this project",
         "project:metadata.name"),
    rule('metadata.labels["app.kubernetes.io/managed-by"]', "who writes these manifests"),
    rule('metadata.labels["app.kubernetes.io/name"]', "what runs in it"),
    rule('metadata.labels["app.kubernetes.io/part-of"]', "the project's name",
         "project:metadata.name"),
    rule('metadata.labels["app.kubernetes.io/version"]', "the image's tag, fit for a label",
         "job:image"),
    rule("metadata.labels.$k", "a label of the team's own, or one that Prometheus selects by",
         "job:labels.$k", f"{WATCHING}.labels.$k"),
)  # fmt: skip
SELECTOR = (
    rule('["app.kubernetes.io/component"]', "selects the job's own pods"),
    rule('["app.kubernetes.io/instance"]', "selects the job's own pods", "project:metadata.name"),
)
HEAD = (*KIND, NAME, NAMESPACE, *LABELS)


# -- what runs -----------------------------------------------------------------------------------

_ARGUMENTS = {
    "--deadline": ("job:deadline",),
    "--watch": ("job:mode",),
    "--listen": ("job:mode",),
    "--cache": ("job:mode",),
    "--interval": ("job:interval",),
    "--lease": ("job:namespace", "project:metadata.name"),
    "--clocks": ("job:namespace", "project:metadata.name"),
    "--events": ("job:events",),
    "--status": ("job:status",),
    "--kubeconfig": ("job:secrets.engine",),
    "--context": ("cluster:sync.hub",),
    "--repo": ("job:repository", f"{SYNC}.repository"),
    "--branch": (f"{SYNC}.branch",),
    "--root": ("project:spec.output.root",),
    "--fix": ("env:drift",),
    "--unattended": ("env:drift",),
    "--env": ("env:",),
    "--cluster": ("cluster:",),
}
_VARIABLES = {
    "GATI_GIT_TOKEN_FILE": ("job:secrets.git",),
    "GATI_GIT_USERNAME": ("job:secrets.git",),
    "GATI_SSH_KEY": ("job:secrets.git",),
    "GATI_SSH_KNOWN_HOSTS": ("job:secrets.git",),
    "GATI_FORGE_TOKEN_FILE": ("job:secrets.forge",),
    "GATI_SIGNING_KEY": ("job:secrets.signing",),
    "GATI_NUDGE_SECRET_FILE": ("job:secrets.nudge",),
}


def _argument(scope: Scope, value: Any) -> Sources:
    return _ARGUMENTS.get(str(value).partition("=")[0], ())


def _variable(scope: Scope, value: Any) -> Sources:
    name = str(scope.bound.get("n", ""))
    return ("job:env.$n", *_VARIABLES.get(name, ()))


def _mirrored(scope: Scope, value: Any) -> Sources:
    return () if RELEASED in scope.bound else ("env:registries",)


def _mounted(scope: Scope, value: Any) -> Sources:
    """The Secret that a volume is for; scratch folders are for none."""
    name = str(scope.bound.get("v", ""))
    return (f"job:secrets.{name}",) if name not in ("cache", "tmp") else ()


def _resources(box: str) -> tuple[Rule, ...]:
    found = []
    for part in ("requests", "limits"):
        listed = ", ".join(f"{name} {amount}" for name, amount in RESOURCES[part].items())
        found.append(
            rule(f"{box}.resources.{part}.$k", "what its pod asks for and may use",
                 f"job:resources.{part}.$k", default=f"{part} of a job: {listed}")
        )  # fmt: skip
    return tuple(found)


def _pod(where: str) -> tuple[Rule, ...]:
    box = f"{where}.spec.containers[]"
    return (
        *below(where, LABELS),
        rule(f"{box}.name", "what it does"),
        rule(f"{box}.image", "the image that runs", "job:image", also=_mirrored),
        chosen(f"{box}.args[]", "how the job works, and for whom", _argument,
               "as the job works where nobody says otherwise"),
        rule(f"{box}.env[name=HOME].$k", "nothing is written outside of volumes", "job:env.HOME"),
        chosen(f"{box}.env[name=$n].valueFrom.secretKeyRef.name", "a Secret of the job's namespace",
               _variable),
        rule(f"{box}.env[name=$n].valueFrom.secretKeyRef.$k", "a user name, where it matters"),
        chosen(f"{box}.env[name=$n].$k", "where a Secret's file is, or a variable of the settings",
               _variable),
        rule(f"{box}.imagePullPolicy", "IfNotPresent for an image with a tag or digest",
             "job:image"),
        rule(f"{box}.ports[].**", "where it answers probes and shows its metrics"),
        rule(f"{box}.startupProbe.**", "until the first pass is due"),
        rule(f"{box}.readinessProbe.**", "whether it leads, or knows who does"),
        rule(f"{box}.livenessProbe.**", "whether passes end within their deadline"),
        *_resources(box),
        rule(f"{box}.resources", "what its pod asks for and may use", "job:resources"),
        rule(f"{box}.securityContext.**", _RESTRICTED),
        rule(f"{box}.terminationMessagePath", API_DEFAULT),
        rule(f"{box}.terminationMessagePolicy",
             "a crash without a message shows the end of the log"),
        rule(f"{box}.volumeMounts[].readOnly", "nobody writes to a Secret"),
        chosen(f"{box}.volumeMounts[name=$v].**", "where a Secret's files are, or room to write",
               _mounted),
        rule(f"{where}.spec.automountServiceAccountToken", "it looks at the API server"),
        rule(f"{where}.spec.dnsPolicy", API_DEFAULT),
        rule(f"{where}.spec.enableServiceLinks",
             "variables for every Service of the namespace help nobody"),
        rule(f"{where}.spec.imagePullSecrets[].name", "a Secret that opens the registry",
             "job:imagePullSecrets[$0]"),
        rule(f"{where}.spec.restartPolicy", "whether it stays, or comes back by its schedule",
             "job:mode", default=_MODE_DEFAULT),
        rule(f"{where}.spec.schedulerName", API_DEFAULT),
        rule(f"{where}.spec.securityContext.**", _RESTRICTED),
        rule(f"{where}.spec.serviceAccountName", "whose rights it has", "project:metadata.name"),
        rule(f"{where}.spec.terminationGracePeriodSeconds", "time to finish a push"),
        rule(f"{where}.spec.volumes[].secret.defaultMode", "for the pod, and for nobody else"),
        chosen(f"{where}.spec.volumes[name=$v].**", "a Secret's files, or room to write", _mounted),
    )  # fmt: skip


_DEPLOYMENT = (
    *HEAD,
    rule("spec.replicas", "its pods, of which one leads", "job:replicas", default="one is enough"),
    rule("spec.progressDeadlineSeconds", API_DEFAULT),
    rule("spec.revisionHistoryLimit", API_DEFAULT),
    *below("spec.selector.matchLabels", SELECTOR),
    rule("spec.strategy.**", "the new pod is ready before the old one lets go"),
    *_pod("spec.template"),
)

_CRON_JOB = (
    *HEAD,
    rule("spec.schedule", "when a pass is made", "job:schedule", default="every two minutes"),
    rule("spec.timeZone", "the zone of the schedule", "job:timeZone", default="Etc/UTC"),
    rule("spec.concurrencyPolicy", "one pass at a time"),
    rule("spec.startingDeadlineSeconds", "a run that comes too late is left to the next"),
    rule("spec.suspend", API_DEFAULT),
    rule("spec.jobTemplate.spec.activeDeadlineSeconds", "what takes longer is taken for stuck",
         "job:deadline", default="a pass may take ten minutes"),
    rule("spec.jobTemplate.spec.backoffLimit", "the next run is another try"),
    rule("spec.jobTemplate.spec.ttlSecondsAfterFinished", "a day to look at what failed"),
    rule("spec.successfulJobsHistoryLimit", API_DEFAULT),
    rule("spec.failedJobsHistoryLimit", "enough to see whether it fails again and again"),
    *below("spec.jobTemplate", LABELS),
    *_pod("spec.jobTemplate.spec.template"),
)  # fmt: skip

_DRIFT = (
    rule("metadata.name", "gati-drift-<project>: two projects may share a cluster",
         "project:metadata.name", also=("env:drift",)),
    rule("spec.schedule", "when drift is answered", "job:driftSchedule",
         default="every ten minutes"),
    rule("spec.jobTemplate.spec.template.spec.restartPolicy", "it comes back by its schedule"),
    *_CRON_JOB,
)  # fmt: skip

_SERVICE = (
    *HEAD,
    rule("spec.ports[].**", "where its metrics are read"),
    *below("spec.selector", SELECTOR),
    rule("spec.$k", API_DEFAULT),
)

_ACCOUNT = (
    *HEAD,
    rule("metadata.annotations.$k", "an annotation of the account, such as a cloud's role",
         "job:serviceAccountAnnotations.$k"),
    rule("automountServiceAccountToken", "only its own pod has the token"),
)  # fmt: skip

_BUDGET = (
    *HEAD,
    *below("spec.selector.matchLabels", SELECTOR),
    rule("spec.$k", "a node that is emptied takes one pod at a time"),
)

RULES = {
    "job-Deployment": _DEPLOYMENT,
    "job-CronJob": _CRON_JOB,
    "drift-CronJob": _DRIFT,
    "job-Service": _SERVICE,
    "job-ServiceAccount": _ACCOUNT,
    "job-PodDisruptionBudget": _BUDGET,
}
