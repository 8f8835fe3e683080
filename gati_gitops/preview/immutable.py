"""Fields that the API server lets nobody change once an object is there.

A sync that tries fails, and goes on failing until somebody deletes the object, or the engine was
told to replace it; either way what the object gave is gone in between. The list is what the API
server of Kubernetes refuses on update, for kinds that specs and templates can make.
"""

from __future__ import annotations

from collections.abc import Iterable

from gati_gitops.preview.model import FieldChange, ObjectId, Op

_SELECTOR = (("spec", "selector"),)
_IMMUTABLE: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("apps", "Deployment"): _SELECTOR,
    ("apps", "DaemonSet"): _SELECTOR,
    ("apps", "ReplicaSet"): _SELECTOR,
    ("batch", "Job"): (
        ("spec", "selector"),
        ("spec", "template"),
        ("spec", "completionMode"),
        ("spec", "podFailurePolicy"),
        ("spec", "successPolicy"),
        ("spec", "backoffLimitPerIndex"),
        ("spec", "managedBy"),
    ),
    ("rbac.authorization.k8s.io", "RoleBinding"): (("roleRef",),),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): (("roleRef",),),
    ("storage.k8s.io", "StorageClass"): (
        ("provisioner",),
        ("parameters",),
        ("reclaimPolicy",),
        ("volumeBindingMode",),
    ),
    ("scheduling.k8s.io", "PriorityClass"): (("value",), ("preemptionPolicy",)),
    ("node.k8s.io", "RuntimeClass"): (("handler",),),
    ("networking.k8s.io", "IngressClass"): (("spec", "controller"),),
    ("", "ResourceQuota"): (("spec", "scopes"), ("spec", "scopeSelector")),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        ("spec", "group"),
        ("spec", "scope"),
        ("spec", "names", "kind"),
        ("spec", "names", "plural"),
    ),
}
# All of the spec, but for these.
_ALL_BUT: dict[tuple[str, str], frozenset[str]] = {
    ("apps", "StatefulSet"): frozenset(
        ("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
         "persistentVolumeClaimRetentionPolicy", "minReadySeconds")
    ),
    ("", "PersistentVolumeClaim"): frozenset(("resources", "volumeAttributesClassName")),
    ("", "Pod"): frozenset(("containers", "initContainers", "tolerations", "activeDeadlineSeconds",
                            "terminationGracePeriodSeconds", "schedulingGates")),
}  # fmt: skip
# Chosen once, unless the Service becomes, or was, a mere name.
_ADDRESSES = (("spec", "clusterIP"), ("spec", "clusterIPs"), ("spec", "ipFamilies"))


def immutable(
    id: ObjectId, before: dict[str, object], after: dict[str, object], fields: Iterable[FieldChange]
) -> tuple[FieldChange, ...]:
    """Those of the changes that cannot be made in place."""
    kind = (id.group, id.kind)
    fixed = _IMMUTABLE.get(kind, ())
    if kind == ("", "Service") and "ExternalName" not in (_type(before), _type(after)):
        fixed = _ADDRESSES
    elif id.kind in ("ConfigMap", "Secret") and not id.group and before.get("immutable") is True:
        fixed = (("data",), ("stringData",), ("binaryData",), ("immutable",))
    elif kind == ("", "Secret"):
        fixed = (("type",),)
    return tuple(
        change
        for change in fields
        if any(change.path[: len(path)] == path for path in fixed) or _frozen(kind, change)
    )


def _frozen(kind: tuple[str, str], change: FieldChange) -> bool:
    free = _ALL_BUT.get(kind)
    path = change.path
    if free is None or len(path) < 2 or path[0] != "spec":
        return False
    if kind == ("", "PersistentVolumeClaim") and path[1] == "resources":
        return change.op is not Op.ADD and _shrinks(change)
    return path[1] not in free


def _shrinks(change: FieldChange) -> bool:
    from gati_gitops.preview.quantities import memory

    return change.op is Op.REMOVE or memory(change.after) < memory(change.before)


def _type(item: dict[str, object]) -> object:
    spec = item.get("spec")
    return spec.get("type") if isinstance(spec, dict) else None
