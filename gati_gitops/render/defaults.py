"""The field specs that kustomize has built in.

Written as what they say, not as the list they unfold to: workloads hold pods at some path, and
pods refer to config maps, secrets and the like at some paths below that. A test compares the
unfolded tables with those of the kustomize that the tests run against.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from gati_gitops.render.fieldspec import FieldSpec
from gati_gitops.render.resource import Gvk

POD = {
    "Pod": "spec",
    "PodTemplate": "template/spec",
    "Deployment": "spec/template/spec",
    "ReplicaSet": "spec/template/spec",
    "DaemonSet": "spec/template/spec",
    "StatefulSet": "spec/template/spec",
    "Job": "spec/template/spec",
    "CronJob": "spec/jobTemplate/spec/template/spec",
    "ReplicationController": "spec/template/spec",
}
# Kinds whose pods' config maps and secrets are followed.
_CONFIGURED = [
    "Pod",
    "PodTemplate",
    "Deployment",
    "ReplicaSet",
    "DaemonSet",
    "StatefulSet",
    "Job",
    "CronJob",
]
# Kinds whose pods' service accounts, claims and priority classes are followed.
_SCHEDULED = [
    "Pod",
    "StatefulSet",
    "Deployment",
    "ReplicationController",
    "CronJob",
    "Job",
    "DaemonSet",
]
_CONTAINERS = ("containers", "initContainers")
_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"


@lru_cache(maxsize=1)
def name_references() -> list[tuple[Gvk, list[FieldSpec]]]:
    """Kinds that are referred to by name, and the fields that do so."""
    kind = _kind
    pull = [f"{POD[k]}/imagePullSecrets/name" for k in _CONFIGURED]
    return [
        *(
            (Gvk(kind=k), [kind("spec/scaleTargetRef/name", "HorizontalPodAutoscaler")])
            for k in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
        ),
        (
            Gvk(version="v1", kind="ConfigMap"),
            [
                *_configured(
                    "configMap/name", "configMapKeyRef/name", "configMapRef/name", "configMap/name"
                ),
                kind("spec/configSource/configMap", "Node"),
                kind("rules/resourceNames", "Role"),
                kind("rules/resourceNames", "ClusterRole"),
                kind(
                    r"metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap",
                    "Ingress",
                ),
            ],
        ),
        (
            Gvk(version="v1", kind="Secret"),
            [
                *_configured(
                    "secret/secretName", "secretKeyRef/name", "secretRef/name", "secret/name"
                ),
                *(_pod(path, k) for path, k in zip(pull, _CONFIGURED, strict=True)),
                kind("spec/tls/secretName", "Ingress"),
                kind(r"metadata/annotations/ingress.kubernetes.io\/auth-secret", "Ingress"),
                kind(r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret", "Ingress"),
                kind(
                    r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret", "Ingress"
                ),
                kind("imagePullSecrets/name", "ServiceAccount"),
                *(
                    kind(f"parameters/{field}", "StorageClass")
                    for field in ("secretName", "adminSecretName", "userSecretName", "secretRef")
                ),
                kind("rules/resourceNames", "Role"),
                kind("rules/resourceNames", "ClusterRole"),
                FieldSpec(
                    "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
                    Gvk("serving.knative.dev", "v1", "Service"),
                ),
                kind("spec/azureFile/secretName", "PersistentVolume"),
            ],
        ),
        (
            Gvk(version="v1", kind="Service"),
            [
                FieldSpec("spec/serviceName", Gvk("apps", kind="StatefulSet")),
                kind("spec/rules/http/paths/backend/serviceName", "Ingress"),
                kind("spec/backend/serviceName", "Ingress"),
                kind("spec/rules/http/paths/backend/service/name", "Ingress"),
                kind("spec/defaultBackend/service/name", "Ingress"),
                FieldSpec("spec/service/name", Gvk("apiregistration.k8s.io", kind="APIService")),
                *(
                    FieldSpec("webhooks/clientConfig/service", Gvk(_ADMISSION, kind=k))
                    for k in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
                ),
            ],
        ),
        (
            Gvk(_RBAC, kind="Role"),
            [FieldSpec("roleRef/name", Gvk(_RBAC, kind="RoleBinding"))],
        ),
        (
            Gvk(_RBAC, kind="ClusterRole"),
            [
                FieldSpec("roleRef/name", Gvk(_RBAC, kind="RoleBinding")),
                FieldSpec("roleRef/name", Gvk(_RBAC, kind="ClusterRoleBinding")),
            ],
        ),
        (
            Gvk(version="v1", kind="ServiceAccount"),
            [
                FieldSpec("subjects", Gvk(_RBAC, kind="RoleBinding")),
                FieldSpec("subjects", Gvk(_RBAC, kind="ClusterRoleBinding")),
                *_scheduled("serviceAccountName"),
            ],
        ),
        (
            Gvk(version="v1", kind="PersistentVolumeClaim"),
            _scheduled("volumes/persistentVolumeClaim/claimName"),
        ),
        (
            Gvk(version="v1", kind="PersistentVolume"),
            [
                kind("spec/volumeName", "PersistentVolumeClaim"),
                kind("rules/resourceNames", "ClusterRole"),
            ],
        ),
        (
            Gvk("storage.k8s.io", "v1", "StorageClass"),
            [
                kind("spec/storageClassName", "PersistentVolume"),
                kind("spec/storageClassName", "PersistentVolumeClaim"),
                kind("spec/volumeClaimTemplates/spec/storageClassName", "StatefulSet"),
            ],
        ),
        (Gvk("scheduling.k8s.io", "v1", "PriorityClass"), _scheduled("priorityClassName")),
        # kustomize spells the group so, and a group so spelled matches nothing.
        (
            Gvk("networking.k8s.io/v1", "v1", "IngressClass"),
            [kind("spec/ingressClassName", "Ingress")],
        ),
        (
            Gvk(_ADMISSION, kind="ValidatingAdmissionPolicy"),
            [
                FieldSpec(
                    "spec/policyName", Gvk(_ADMISSION, kind="ValidatingAdmissionPolicyBinding")
                )
            ],
        ),
    ]


def _kind(path: str, kind: str) -> FieldSpec:
    return FieldSpec(path, Gvk(kind=kind))


def _pod(path: str, kind: str) -> FieldSpec:
    return FieldSpec(path, Gvk(version="v1" if kind == "Pod" else "", kind=kind))


def _configured(volume: str, key: str, source: str, projected: str) -> list[FieldSpec]:
    return [
        _pod(f"{POD[kind]}/{path}", kind)
        for kind in _CONFIGURED
        for path in (
            f"volumes/{volume}",
            *(f"{containers}/env/valueFrom/{key}" for containers in _CONTAINERS),
            *(f"{containers}/envFrom/{source}" for containers in _CONTAINERS),
            f"volumes/projected/sources/{projected}",
        )
    ]


def _scheduled(path: str) -> list[FieldSpec]:
    return [_kind(f"{POD[kind]}/{path}", kind) for kind in _SCHEDULED]


@lru_cache(maxsize=1)
def metadata_labels() -> list[FieldSpec]:
    return _templates("labels", apps_only=("StatefulSet",))


@lru_cache(maxsize=1)
def common_annotations() -> list[FieldSpec]:
    return _templates("annotations", apps_only=())


def _templates(field: str, apps_only: Iterable[str]) -> list[FieldSpec]:
    def made(path: str, kind: str, group: str = "", version: str = "") -> FieldSpec:
        return FieldSpec(f"{path}/metadata/{field}", Gvk(group, version, kind), create=True)

    return [
        FieldSpec(f"metadata/{field}", create=True),
        made("spec/template", "ReplicationController", version="v1"),
        *(
            made("spec/template", kind, "apps" if kind in apps_only else "")
            for kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")
        ),
        made("spec/template", "Job", "batch"),
        made("spec/jobTemplate", "CronJob", "batch"),
        made("spec/jobTemplate/spec/template", "CronJob", "batch"),
    ]


@lru_cache(maxsize=1)
def claim_labels() -> list[FieldSpec]:
    return [
        FieldSpec(
            "spec/volumeClaimTemplates[]/metadata/labels",
            Gvk("apps", kind="StatefulSet"),
            create=True,
        )
    ]


@lru_cache(maxsize=1)
def common_labels() -> list[FieldSpec]:
    def field(
        path: str, kind: str, group: str = "", version: str = "", *, create: bool = False
    ) -> FieldSpec:
        return FieldSpec(path, Gvk(group, version, kind), create)

    match = "labelSelector/matchLabels"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm"
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinities = [
        field(f"spec/template/spec/{path}/{match}", kind, "apps")
        for kind in ("Deployment", "StatefulSet")
        for path in (
            *(
                f"affinity/{side}/{when}"
                for side in ("podAffinity", "podAntiAffinity")
                for when in (preferred, required)
            ),
            "topologySpreadConstraints",
        )
    ]
    return [
        field("spec/selector", "Service", version="v1", create=True),
        field("spec/selector", "ReplicationController", version="v1", create=True),
        *(
            field("spec/selector/matchLabels", kind, group, create=True)
            for kind, group in (
                ("Deployment", ""),
                ("ReplicaSet", ""),
                ("DaemonSet", ""),
                ("StatefulSet", "apps"),
            )
        ),
        *affinities,
        field("spec/selector/matchLabels", "Job", "batch"),
        field("spec/jobTemplate/spec/selector/matchLabels", "CronJob", "batch"),
        field("spec/selector/matchLabels", "PodDisruptionBudget", "policy"),
        *(
            field(f"spec/{path}podSelector/matchLabels", "NetworkPolicy", "networking.k8s.io")
            for path in ("", "ingress/from/", "egress/to/")
        ),
        *metadata_labels(),
        *claim_labels(),
    ]


@lru_cache(maxsize=1)
def images() -> list[FieldSpec]:
    return [
        FieldSpec(path, create=True)
        for path in (
            "spec/containers[]/image",
            "spec/initContainers[]/image",
            "spec/volumes[]/image/reference",
            "spec/template/spec/containers[]/image",
            "spec/template/spec/initContainers[]/image",
            "spec/template/spec/volumes[]/image/reference",
            "spec/jobTemplate/spec/template/spec/volumes[]/image/reference",
        )
    ]


@lru_cache(maxsize=1)
def replicas() -> list[FieldSpec]:
    kinds = ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
    return [FieldSpec("spec/replicas", Gvk(kind=kind), create=True) for kind in kinds]


@lru_cache(maxsize=1)
def namespaces() -> list[FieldSpec]:
    return [
        FieldSpec("metadata/name", Gvk(kind="Namespace"), create=True),
        FieldSpec(
            "spec/service/namespace", Gvk("apiregistration.k8s.io", kind="APIService"), create=True
        ),
        FieldSpec(
            "spec/conversion/webhook/clientConfig/service/namespace",
            Gvk("apiextensions.k8s.io", kind="CustomResourceDefinition"),
        ),
    ]


@lru_cache(maxsize=1)
def variable_references() -> list[FieldSpec]:
    fields = [
        f"{containers}/{field}"
        for containers in _CONTAINERS
        for field in ("args", "command", "env/value", "volumeMounts/mountPath")
    ]
    kinds = ("CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet")
    pods = [_kind(f"{POD[kind]}/{field}", kind) for kind in kinds for field in fields]
    servers = [
        _kind(f"{POD[kind]}/volumes/nfs/server", kind)
        for kind in ("DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet")
    ]
    return [
        *pods,
        *servers,
        _kind("spec/jobTemplate/spec/template/volumes/nfs/server", "CronJob"),
        _kind("spec/template/metadata/annotations", "Deployment"),
        _kind("spec/rules/host", "Ingress"),
        _kind("spec/tls/hosts", "Ingress"),
        _kind("spec/tls/secretName", "Ingress"),
        _kind("spec/ports/port", "Service"),
        _kind("spec/ports/targetPort", "Service"),
        _kind("spec/volumeClaimTemplates/spec/nfs/server", "StatefulSet"),
        _kind("spec/nfs/server", "PersistentVolume"),
        FieldSpec("metadata/labels"),
        FieldSpec("metadata/annotations"),
    ]
