"""Volumes: those of the spec, and the folders that can be written although the root cannot."""

from __future__ import annotations

from typing import Any

from gati_gitops.plan.capabilities import STORAGE, stores
from gati_gitops.preview.explain.rule import Choose, Sources, chosen, rule
from gati_gitops.preview.explain.rules.head import API_DEFAULT, BOX, POD
from gati_gitops.preview.explain.scope import Scope


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


def file_of(scope: Scope, value: Any) -> Sources:
    """``<volume>.<file>`` of a ConfigMap's data."""
    workload = scope.version.workload if scope.version else None
    for number, volume in enumerate(workload.volumes if workload else ()):
        for file in volume.files or ():
            if f"{volume.name}.{file}" == scope.bound.get("f"):
                return (f'.volumes[{number}].files["{file}"]',)
    return (".volumes",)


_SCRATCH = "the root file system is read-only, and the runtime writes there"

_MOUNT, _VOLUME = f"{BOX}.volumeMounts[name=$n]", f"{POD}.volumes[name=$n]"
RULES = (
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
