"""The restricted Pod Security standard, rule by rule, as the admission controller checks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Pod = Mapping[str, Any]

VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
    "projected", "secret",
}  # fmt: skip
SYSCTLS: set[str] = set()
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


def violations(pod: Pod) -> Iterator[str]:
    """What the standard forbids in a pod's spec."""
    own = pod.get("securityContext") or {}
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield name
    if own.get("sysctls"):
        yield "sysctls"
    if own.get("runAsUser") == 0:
        yield "runAsUser"
    for volume in pod.get("volumes") or ():
        if not volume.keys() - {"name"} <= VOLUMES:
            yield f"volume {volume['name']}"
    kinds = ("initContainers", "containers", "ephemeralContainers")
    for container in (c for kind in kinds for c in pod.get(kind) or ()):
        yield from _container(container, own)


def _container(container: Mapping[str, Any], pod: Mapping[str, Any]) -> Iterator[str]:
    own = container.get("securityContext") or {}
    capabilities = own.get("capabilities") or {}
    if own.get("privileged"):
        yield "privileged"
    if own.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation"
    if "ALL" not in (capabilities.get("drop") or ()):
        yield "capabilities.drop"
    if not set(capabilities.get("add") or ()) <= {"NET_BIND_SERVICE"}:
        yield "capabilities.add"
    if own.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
        yield "runAsNonRoot"
    if own.get("runAsUser") == 0:
        yield "runAsUser"
    seccomp = (own.get("seccompProfile") or pod.get("seccompProfile") or {}).get("type")
    if seccomp not in ("RuntimeDefault", "Localhost"):
        yield "seccompProfile"
    if own.get("procMount", "Default") != "Default":
        yield "procMount"
    if any(port.get("hostPort") for port in container.get("ports") or ()):
        yield "hostPort"
    hooks = [container.get(name) or {} for name in PROBES]
    hooks += list((container.get("lifecycle") or {}).values())
    for hook in hooks:
        for action in ("httpGet", "tcpSocket"):
            if (hook.get(action) or {}).get("host"):
                yield "host of a probe or hook"
