"""What a release folder holds: Deployment, Service, ServiceAccount, ConfigMap."""

from __future__ import annotations

from typing import Any

from gati_gitops.ledger.model import Phase
from gati_gitops.plan.capabilities import STORAGE, stores
from gati_gitops.plan.defaults import RESOURCES
from gati_gitops.preview.explain.rule import Choose, Rule, Sources, chosen, rule
from gati_gitops.preview.explain.rules.head import (
    API_DEFAULT,
    LABELS,
    UNIT,
    VERSION,
    below,
    selector,
)
from gati_gitops.preview.explain.scope import Scope

_POD = "spec.template.spec"
_BOX = f"{_POD}.containers[]"
_RESTRICTED = "the restricted Pod Security standard asks for it"

# -- values that depend on more than one field ---------------------------------------------------


def replicas(scope: Scope, value: Any) -> Sources:
    """A tier lowers the number of pods, a parked version has none."""
    if scope.entry is not None and scope.entry.phase is Phase.PARKED:
        return ("ledger:phase",)
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


def _variable(scope: Scope, value: Any) -> Sources:
    """What a spec says wins over where modules are."""
    host = str(scope.bound.get("n")).endswith("_HOST")
    return (".env.$n", *(reference(scope) if host else ("module:spec.port",)))


def _variable_name(scope: Scope, value: Any) -> Sources:
    """The runtime's own variables are there whether a spec sets them or not."""
    module = scope.linked.module if scope.linked else None
    own = {"GATI_VERSION", "HOST", "PORT"}
    own |= {"NODE_ENV"} if module is None or module.module_type == "node" else set()
    own |= {"WASM_RUNTIME"} if module is not None and module.module_type == "wasm" else set()
    if value == "GATI_TRANSFORMERS":
        return ("transformers",)
    return () if value in own else (".env.$n", ".envRefs.$n")


def reference(scope: Scope, value: Any = None) -> Sources:
    """The entry of ``modules`` that a variable is about."""
    name = str(scope.bound.get("n"))
    workload = scope.version.workload if scope.version else None
    for number, entry in enumerate(workload.modules if workload else ()):
        spelled = entry.rpartition("/")[2].upper().replace("-", "_")
        if name.startswith(f"GATI_MODULE_{spelled}_"):
            return (f".modules[{number}]",)
    return (".modules",)


def _resource_default(part: str) -> str:
    listed = ", ".join(f"{name} {amount}" for name, amount in RESOURCES[part].items())
    return f"{part} where neither spec nor gati.yaml has resources: {listed}"


def _scratch(scope: Scope, value: Any) -> Sources:
    """The folder of a volume that the compiler added."""
    workload = scope.version.workload if scope.version else None
    security = workload.security if workload else None
    paths = [path.rstrip("/") for path in (security.writable_paths if security else [])]
    path = _mounted(scope)
    module = scope.linked.module if scope.linked else None
    if path == STORAGE and module is not None and stores(module.capabilities):
        return ("unit:spec.capabilities",)
    if path in paths:
        return (f".security.writablePaths[{paths.index(path)}]",)
    return (".security.readOnlyRoot",)


def _mounted(scope: Scope) -> str:
    """Where the volume in question is mounted."""
    made = scope.bound.get("object") or {}
    boxes = made.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [{}])
    mounts = boxes[0].get("volumeMounts", []) if boxes else []
    name = scope.bound.get("n")
    return next((mount["mountPath"] for mount in mounts if mount.get("name") == name), "")


def _of_volume(path: str) -> Choose:
    """A field of a volume of the spec, or what made a scratch folder."""

    def choose(scope: Scope, value: Any) -> Sources:
        workload = scope.version.workload if scope.version else None
        names = [volume.name for volume in workload.volumes] if workload else []
        if scope.bound.get("n") in names or scope.version is None:
            return (f".volumes[name=$n].{path}",)
        return _scratch(scope, value)

    return choose


def _file(scope: Scope, value: Any) -> Sources:
    """``<volume>.<file>`` of a ConfigMap's data."""
    workload = scope.version.workload if scope.version else None
    for number, volume in enumerate(workload.volumes if workload else ()):
        for file in volume.files or ():
            if f"{volume.name}.{file}" == scope.bound.get("f"):
                return (f'.volumes[{number}].files["{file}"]',)
    return (".volumes",)


_SCRATCH = "the root file system is read-only, and the runtime writes there"

# -- Deployment ----------------------------------------------------------------------------------


def _probe(kind: str, *timing: int) -> tuple[Rule, ...]:
    where, own, common = f"{_BOX}.{kind}Probe", f".probes.{kind}", ".probes"
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


_ENV = f"{_BOX}.env"
_VARIABLES = (
    rule(
        f"{_ENV}[name=GATI_VERSION].value", "tells the runtime which version it is",
        ".env.GATI_VERSION", "id",
    ),
    rule(
        f"{_ENV}[name=HOST].value", "where the runtime listens",
        ".env.HOST", default="the runtime listens on all addresses",
    ),
    rule(
        f"{_ENV}[name=PORT].value", "tells the runtime its port",
        ".env.PORT", ".port",
    ),
    rule(
        f"{_ENV}[name=NODE_ENV].value", "what Node is told about where it runs",
        ".env.NODE_ENV", default="everything runs as in production",
    ),
    rule(
        f"{_ENV}[name=WASM_RUNTIME].value", "tells the image what runs it",
        ".env.WASM_RUNTIME", "unit:spec.runtime",
    ),
    rule(
        f"{_ENV}[name=GATI_TRANSFORMERS].value", "the transformers that this version has",
        ".env.GATI_TRANSFORMERS", "transformers",
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.secretKeyRef.name", "the Secret that the variable comes from",
        ".envRefs.$n.secret",
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.secretKeyRef.key", "the key of the Secret", ".envRefs.$n.key"
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.secretKeyRef.optional", "whether it may be missing",
        ".envRefs.$n.optional",
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.configMapKeyRef.name",
        "the ConfigMap that the variable comes from", ".envRefs.$n.configMap",
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.configMapKeyRef.key", "the key of the ConfigMap",
        ".envRefs.$n.key",
    ),
    rule(
        f"{_ENV}[name=$n].valueFrom.configMapKeyRef.optional", "whether it may be missing",
        ".envRefs.$n.optional",
    ),
    rule(f"{_ENV}[name=$n].valueFrom.fieldRef.apiVersion", API_DEFAULT),
    rule(
        f"{_ENV}[name=$n].valueFrom.fieldRef.fieldPath", "the field of the pod it comes from",
        ".envRefs.$n.field",
    ),
    chosen(
        f"{_ENV}[name=$n@GATI_MODULE_*].name", "where a module that it calls is found", reference
    ),
    chosen(
        f"{_ENV}[name=$n@GATI_MODULE_*].value", "where a module that it calls is found", _variable,
        also=reference,
    ),
    rule(f"{_ENV}[name=$n].value", "a variable of the spec", ".env.$n"),
    chosen(f"{_ENV}[name=$n].name", "a variable of the framework's runtime", _variable_name),
)  # fmt: skip

_FROM = f"{_BOX}.envFrom[]"
_SOURCES = (
    rule(f"{_FROM}.secretRef.name", "all keys of a Secret as variables", ".envFrom[$1].secret"),
    rule(f"{_FROM}.secretRef.optional", "whether it may be missing", ".envFrom[$1].optional"),
    rule(
        f"{_FROM}.configMapRef.name", "all keys of a ConfigMap as variables",
        ".envFrom[$1].configMap",
    ),
    rule(f"{_FROM}.configMapRef.optional", "whether it may be missing", ".envFrom[$1].optional"),
    rule(f"{_FROM}.prefix", "what the variables' names begin with", ".envFrom[$1].prefix"),
)  # fmt: skip

_MOUNT, _VOLUME = f"{_BOX}.volumeMounts[name=$n]", f"{_POD}.volumes[name=$n]"
_VOLUMES = (
    chosen(f"{_MOUNT}.name", "the volume that is mounted", _of_volume("name"), _SCRATCH),
    chosen(f"{_MOUNT}.mountPath", "where it is mounted", _of_volume("mountPath"), _SCRATCH),
    rule(
        f"{_MOUNT}.readOnly", "whether the container may write there",
        ".volumes[name=$n].readOnly",
        default="files, ConfigMaps and Secrets are mounted read-only",
    ),
    rule(f"{_MOUNT}.subPath", "the part that is mounted", ".volumes[name=$n].subPath"),
    chosen(f"{_VOLUME}.name", "a volume of the spec", _of_volume("name"), _SCRATCH),
    chosen(f"{_VOLUME}.emptyDir", "scratch space", _of_volume("emptyDir"), _SCRATCH),
    chosen(
        f"{_VOLUME}.emptyDir.sizeLimit", "how much may be stored",
        _of_volume("emptyDir.sizeLimit"), _SCRATCH,
    ),
    rule(f"{_VOLUME}.emptyDir.medium", "what holds it", ".volumes[name=$n].emptyDir.medium"),
    rule(
        f"{_VOLUME}.configMap.items[path=$f].$any", "one file of the version's own ConfigMap",
        ".volumes[name=$n].files.$f",
    ),
    rule(f"{_VOLUME}.configMap.defaultMode", API_DEFAULT),
    rule(
        f"{_VOLUME}.configMap.name", "the ConfigMap that is mounted; files have the version's own",
        ".volumes[name=$n].configMap", "unit:metadata.name", also=("id",),
    ),
    rule(f"{_VOLUME}.secret.secretName", "the Secret that is mounted", ".volumes[name=$n].secret"),
    rule(f"{_VOLUME}.secret.defaultMode", API_DEFAULT),
    rule(
        f"{_VOLUME}.persistentVolumeClaim.claimName", "the claim that is mounted",
        ".volumes[name=$n].claim",
    ),
)  # fmt: skip

_CONTAINER = (
    rule(f"{_BOX}.name", "handler or module"),
    rule(f"{_BOX}.image", "the image that runs", ".image", also=("mirror:",)),
    rule(f"{_BOX}.command[]", "in place of the image's entrypoint", ".command[$1]"),
    rule(f"{_BOX}.args[]", "in place of the image's arguments", ".args[$1]"),
    *_SOURCES,
    *_VARIABLES,
    rule(
        f"{_BOX}.imagePullPolicy", "when a node pulls the image",
        ".imagePullPolicy",
        default="IfNotPresent for an image with a tag or digest, Always for latest",
        also=(".image",),
    ),
    rule(
        f"{_BOX}.lifecycle.preStop.sleep.seconds",
        "how long a pod that leaves waits until routers have noticed",
        ".drain.delaySeconds", default="15 seconds are enough for most routers",
    ),
    rule(f"{_BOX}.ports[name=metrics].containerPort", "where metrics are read", ".metrics.port"),
    rule(f"{_BOX}.ports[name=metrics].name", "Prometheus finds declared ports", ".metrics.port"),
    rule(f"{_BOX}.ports[].containerPort", "the port that the container listens on", ".port"),
    rule(f"{_BOX}.ports[].name", "http for handlers, rpc for modules"),
    rule(f"{_BOX}.ports[].protocol", API_DEFAULT),
    *_probe("startup", 0, 5, 3, 30),
    *_probe("readiness", 0, 10, 3, 3),
    *_probe("liveness", 0, 20, 5, 3),
    *(
        chosen(
            f"{_BOX}.resources.{part}.$k", f"what a pod {does}", _resource(part),
            _resource_default(part),
        )
        for part, does in (("requests", "asks for"), ("limits", "may use"))
    ),
    rule(f"{_BOX}.resources", "what a pod asks for and may use", ".resources"),
    rule(
        f"{_BOX}.securityContext.readOnlyRootFilesystem",
        "whether the container may write outside of its volumes",
        ".security.readOnlyRoot", default="nothing is written outside of volumes",
    ),
    rule(
        f"{_BOX}.securityContext.capabilities.add[]",
        "a port below 1024 needs it, without being root", ".port",
    ),
    rule(f"{_BOX}.securityContext.**", _RESTRICTED),
    rule(f"{_BOX}.terminationMessagePath", API_DEFAULT),
    rule(
        f"{_BOX}.terminationMessagePolicy", "a crash without a message shows the end of the log"
    ),
)  # fmt: skip

_PODS = (
    rule(
        f"{_POD}.automountServiceAccountToken", "whether pods get a token of the API server",
        ".serviceAccount.token", default="pods that call no API server need no token",
    ),
    rule(f"{_POD}.dnsPolicy", API_DEFAULT),
    rule(f"{_POD}.enableServiceLinks", "variables for every Service of the namespace help nobody"),
    rule(
        f"{_POD}.imagePullSecrets[].name", "a Secret that opens the registry",
        ".imagePullSecrets[$0]",
    ),
    rule(f"{_POD}.nodeSelector.$k", "where pods may run", ".placement.nodeSelector.$k"),
    rule(
        f"{_POD}.priorityClassName", "who goes first when there is no room",
        ".placement.priorityClass", "project:spec.defaults.priorityClass",
    ),
    rule(f"{_POD}.restartPolicy", API_DEFAULT),
    rule(
        f"{_POD}.runtimeClassName", "what runs the container on its node",
        ".placement.runtimeClass", "project:spec.defaults.wasmRuntimeClass",
    ),
    rule(f"{_POD}.schedulerName", API_DEFAULT),
    rule(
        f"{_POD}.securityContext.runAsUser", "whom the container runs as",
        ".security.runAsUser", default="the user of the framework's images",
    ),
    *(
        rule(
            f"{_POD}.securityContext.{name}", "the group of the container and its volumes",
            ".security.runAsGroup", default="the group of the framework's images",
        )
        for name in ("runAsGroup", "fsGroup")
    ),
    rule(f"{_POD}.securityContext.**", _RESTRICTED),
    rule(
        f"{_POD}.serviceAccountName", "whose rights the pods have",
        ".serviceAccount.name", default="an account of the version's own, without any rights",
        also=("unit:metadata.name", "id"),
    ),
    rule(
        f"{_POD}.terminationGracePeriodSeconds",
        "time to leave: the delay and the longest request together",
        ".drain.delaySeconds", ".drain.requestSeconds",
        default="15 seconds until routers have noticed, and 30 to finish",
        also=(".drain.requestSeconds",),
    ),
    rule(
        f"{_POD}.tolerations[].operator", "a taint that pods put up with",
        ".placement.tolerations[$0].operator", default="Equal, as the API server has it",
    ),
    rule(
        f"{_POD}.tolerations[].$k", "a taint that pods put up with",
        ".placement.tolerations[$0].$k",
    ),
    *selector(f"{_POD}.topologySpreadConstraints[].labelSelector.matchLabels"),
    rule(f"{_POD}.topologySpreadConstraints[].**", "pods spread over nodes and zones if they can"),
    *_VOLUMES,
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
    "ConfigMap": (*VERSION, chosen("data.$f", "a file of a volume", _file)),
}
