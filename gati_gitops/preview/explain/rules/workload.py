"""What a release folder holds: Deployment, Service, ServiceAccount, ConfigMap."""

from __future__ import annotations

from typing import Any

from gati_gitops.ledger.model import Phase
from gati_gitops.plan.defaults import RESOURCES
from gati_gitops.preview.explain.rule import Choose, Rule, Sources, chosen, rule
from gati_gitops.preview.explain.rules import variables, volumes
from gati_gitops.preview.explain.rules.head import (
    API_DEFAULT,
    BOX,
    LABELS,
    POD,
    UNIT,
    VERSION,
    below,
    selector,
)
from gati_gitops.preview.explain.rules.scaling import is_kept
from gati_gitops.preview.explain.scope import Scope

_RESTRICTED = "the restricted Pod Security standard asks for it"

# -- values that depend on more than one field ---------------------------------------------------


def replicas(scope: Scope, value: Any) -> Sources:
    """A tier lowers the number of pods, a parked version has none."""
    if scope.entry is not None and scope.entry.phase is Phase.PARKED:
        return ("ledger:phase",)
    if is_kept(scope, value):
        return ("ledger:floor",)
    version = scope.version
    if version is not None and version.workload is not None and version.tier != "hot":
        fewest = {"warm": 1, "cold": 0}[version.tier]
        if fewest < version.workload.replicas:
            return ("tier", ".replicas")
    return (".replicas",)


def _resource(part: str) -> Choose:
    """The spec's as a whole, else the project's as a whole."""

    def choose(scope: Scope, value: Any) -> Sources:
        workload = scope.version.workload if scope.version else None
        given = workload.resources if workload else None
        own = (f".resources.{part}.$k",)
        if given is not None and (given.requests is not None or given.limits is not None):
            return own
        return (*own, f"project:spec.defaults.resources.{part}.$k")

    return choose


def _resource_default(part: str) -> str:
    listed = ", ".join(f"{name} {amount}" for name, amount in RESOURCES[part].items())
    return f"{part} where neither spec nor gati.yaml has resources: {listed}"


# -- Deployment ----------------------------------------------------------------------------------


def _probe(kind: str, *timing: int) -> tuple[Rule, ...]:
    where, own, common = f"{BOX}.{kind}Probe", f".probes.{kind}", ".probes"
    port = "where the probe asks: its own port, else that of the container"
    fields = ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold")
    return (
        rule(
            f"{where}.httpGet.path", f"the path that the {kind} probe asks for",
            f"{own}.path", f"{common}.path", default="handlers of the framework serve /health",
        ),
        rule(f"{where}.httpGet.port", port, f"{own}.port", f"{common}.port", ".port"),
        rule(f"{where}.httpGet.scheme", API_DEFAULT),
        rule(f"{where}.tcpSocket.port", port, f"{own}.port", f"{common}.port", ".port"),
        rule(f"{where}.grpc.port", port, f"{own}.port", f"{common}.port", ".port"),
        rule(
            f"{where}.grpc.service", "the service that is asked",
            f"{own}.service", f"{common}.service", default="the server as a whole is asked",
        ),
        rule(f"{where}.successThreshold", API_DEFAULT),
        *(
            rule(
                f"{where}.{name}", f"{name} of the {kind} probe",
                f"{own}.{name}", f"{common}.{name}",
                default=f"{name} of a {kind} probe is {value} where nobody says otherwise",
            )
            for name, value in zip(fields, timing, strict=True)
        ),
    )  # fmt: skip


_CONTAINER = (
    rule(f"{BOX}.name", "handler or module"),
    rule(f"{BOX}.image", "the image that runs", ".image", also=("mirror:",)),
    rule(f"{BOX}.command[]", "in place of the image's entrypoint", ".command[$1]"),
    rule(f"{BOX}.args[]", "in place of the image's arguments", ".args[$1]"),
    *variables.RULES,
    rule(
        f"{BOX}.imagePullPolicy", "when a node pulls the image",
        ".imagePullPolicy",
        default="IfNotPresent for an image with a tag or digest, Always for latest",
        also=(".image",),
    ),
    rule(
        f"{BOX}.lifecycle.preStop.sleep.seconds",
        "how long a pod that leaves waits until routers have noticed",
        ".drain.delaySeconds", default="15 seconds are enough for most routers",
    ),
    rule(f"{BOX}.ports[name=metrics].containerPort", "where metrics are read", ".metrics.port"),
    rule(f"{BOX}.ports[name=metrics].name", "Prometheus finds declared ports", ".metrics.port"),
    rule(f"{BOX}.ports[].containerPort", "the port that the container listens on", ".port"),
    rule(f"{BOX}.ports[].name", "http for handlers, rpc for modules"),
    rule(f"{BOX}.ports[].protocol", API_DEFAULT),
    *_probe("startup", 0, 5, 3, 30),
    *_probe("readiness", 0, 10, 3, 3),
    *_probe("liveness", 0, 20, 5, 3),
    *(
        chosen(
            f"{BOX}.resources.{part}.$k", f"what a pod {does}", _resource(part),
            _resource_default(part),
        )
        for part, does in (("requests", "asks for"), ("limits", "may use"))
    ),
    rule(f"{BOX}.resources", "what a pod asks for and may use", ".resources"),
    rule(
        f"{BOX}.securityContext.readOnlyRootFilesystem",
        "whether the container may write outside of its volumes",
        ".security.readOnlyRoot", default="nothing is written outside of volumes",
    ),
    rule(
        f"{BOX}.securityContext.capabilities.add[]",
        "a port below 1024 needs it, without being root", ".port",
    ),
    rule(f"{BOX}.securityContext.**", _RESTRICTED),
    rule(f"{BOX}.terminationMessagePath", API_DEFAULT),
    rule(
        f"{BOX}.terminationMessagePolicy", "a crash without a message shows the end of the log"
    ),
)  # fmt: skip

_PODS = (
    rule(
        f"{POD}.automountServiceAccountToken", "whether pods get a token of the API server",
        ".serviceAccount.token", default="pods that call no API server need no token",
    ),
    rule(f"{POD}.dnsPolicy", API_DEFAULT),
    rule(f"{POD}.enableServiceLinks", "variables for every Service of the namespace help nobody"),
    rule(
        f"{POD}.imagePullSecrets[].name", "a Secret that opens the registry",
        ".imagePullSecrets[$0]",
    ),
    rule(f"{POD}.nodeSelector.$k", "where pods may run", ".placement.nodeSelector.$k"),
    rule(
        f"{POD}.priorityClassName", "who goes first when there is no room",
        ".placement.priorityClass", "project:spec.defaults.priorityClass",
    ),
    rule(f"{POD}.restartPolicy", API_DEFAULT),
    rule(
        f"{POD}.runtimeClassName", "what runs the container on its node",
        ".placement.runtimeClass", "project:spec.defaults.wasmRuntimeClass",
    ),
    rule(f"{POD}.schedulerName", API_DEFAULT),
    rule(
        f"{POD}.securityContext.runAsUser", "whom the container runs as",
        ".security.runAsUser", default="the user of the framework's images",
    ),
    *(
        rule(
            f"{POD}.securityContext.{name}", "the group of the container and its volumes",
            ".security.runAsGroup", default="the group of the framework's images",
        )
        for name in ("runAsGroup", "fsGroup")
    ),
    rule(f"{POD}.securityContext.**", _RESTRICTED),
    rule(
        f"{POD}.serviceAccountName", "whose rights the pods have",
        ".serviceAccount.name", default="an account of the version's own, without any rights",
        also=("unit:metadata.name", "id"),
    ),
    rule(
        f"{POD}.terminationGracePeriodSeconds",
        "time to leave: the delay and the longest request together",
        ".drain.delaySeconds", ".drain.requestSeconds",
        default="15 seconds until routers have noticed, and 30 to finish",
        also=(".drain.requestSeconds",),
    ),
    rule(
        f"{POD}.tolerations[].operator", "a taint that pods put up with",
        ".placement.tolerations[$0].operator", default="Equal, as the API server has it",
    ),
    rule(
        f"{POD}.tolerations[].$k", "a taint that pods put up with",
        ".placement.tolerations[$0].$k",
    ),
    *selector(f"{POD}.topologySpreadConstraints[].labelSelector.matchLabels"),
    rule(f"{POD}.topologySpreadConstraints[].**", "pods spread over nodes and zones if they can"),
    *volumes.RULES,
)  # fmt: skip

_DEPLOYMENT = (
    *VERSION,
    chosen("spec.replicas", "the number of pods, where no scaler owns it", replicas),
    rule("spec.progressDeadlineSeconds", API_DEFAULT),
    rule("spec.revisionHistoryLimit", API_DEFAULT),
    *selector("spec.selector.matchLabels"),
    rule("spec.strategy.**", "a new pod is ready before an old one goes"),
    *below("spec.template", LABELS),
    rule(
        'spec.template.metadata.annotations["gati.dev/files-digest"]',
        "restarts the pods when a file changes", ".volumes",
    ),
    *below("spec.template", VERSION),
    *_CONTAINER,
    *_PODS,
)  # fmt: skip

# -- the others ----------------------------------------------------------------------------------

_SERVICE = (
    *VERSION,
    rule("spec.ports[].name", "http for handlers, rpc for modules"),
    rule("spec.ports[].port", "callers use the port of the container", ".port"),
    rule("spec.ports[].targetPort", "the port that the container listens on", ".port"),
    rule("spec.ports[].protocol", API_DEFAULT),
    *selector("spec.selector"),
    rule("spec.internalTrafficPolicy", API_DEFAULT),
    rule("spec.sessionAffinity", API_DEFAULT),
    rule("spec.type", "nothing but routes leads into the cluster"),
)

_ACCOUNT = (
    *VERSION,
    rule(
        "metadata.annotations.$k", "an annotation of the account, such as a cloud's role",
        ".serviceAccount.annotations.$k",
    ),
    rule(
        "automountServiceAccountToken", "whether pods get a token of the API server",
        ".serviceAccount.token", default="pods that call no API server need no token",
    ),
)  # fmt: skip

_MODULE_SERVICE = (
    *UNIT,
    rule('spec.selector["gati.dev/version"]', "the version that callers of the module get: the"
         " Active one", "ledger:phase", also=("id",)),
    *_SERVICE[len(VERSION):],
)  # fmt: skip

RULES = {
    "Deployment": _DEPLOYMENT,
    "Service": _SERVICE,
    "module-service": _MODULE_SERVICE,
    "ServiceAccount": _ACCOUNT,
    "ConfigMap": (*VERSION, chosen("data.$f", "a file of a volume", volumes.file_of)),
}
