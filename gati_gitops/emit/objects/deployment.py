"""The Deployment of one version: restricted, probed, drained, spread; no replica count."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from hashlib import sha256
from typing import Any

from gati_gitops.emit.objects.meta import Object, of_release, release_labels
from gati_gitops.plan.model import Release, ResolvedProbe
from gati_gitops.plan.naming import selector
from gati_gitops.spec.workload import Drain, EnvRef, Security, Volume
from gati_gitops.yamlio.emit import Shared

_REFERENCE = re.compile(r"(?<!\$)\$\(([^)]+)\)")
FILES_DIGEST = "gati.dev/files-digest"

_STRATEGY = Shared(
    {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}
)


def deployment(release: Release) -> Object:
    """What runs the version. How many pods is the overlay's business."""
    found = of_release(release, "apps/v1", "Deployment")
    found["spec"] = {
        "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10,
        "selector": {"matchLabels": selector(release.unit, release.version)},
        "strategy": _STRATEGY,
        "template": {"metadata": _pod_metadata(release), "spec": _pod(release)},
    }
    return found


def _pod_metadata(release: Release) -> Object:
    annotations = dict(release.annotations)
    files = {volume.name: volume.files for volume in release.workload.volumes if volume.files}
    if files:
        # the ConfigMap keeps its name from revision to revision; this is what restarts the pods
        text = json.dumps(files, sort_keys=True)
        annotations[FILES_DIGEST] = sha256(text.encode()).hexdigest()[:16]
    return {
        "labels": release_labels(release),
        "annotations": dict(sorted(annotations.items())),
    }


def _pod(release: Release) -> Object:
    workload = release.workload
    security = workload.security or Security()
    drain = workload.drain or Drain()
    account = workload.service_account
    placement = workload.placement
    pod: Object = {
        "automountServiceAccountToken": bool(account and account.token),
        "containers": [_container(release, security, drain)],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": False,
    }
    if workload.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in workload.image_pull_secrets]
    if placement and placement.node_selector:
        pod["nodeSelector"] = dict(sorted(placement.node_selector.items()))
    if release.priority_class:
        pod["priorityClassName"] = release.priority_class
    pod["restartPolicy"] = "Always"
    if release.runtime_class:
        pod["runtimeClassName"] = release.runtime_class
    pod["schedulerName"] = "default-scheduler"
    pod["securityContext"] = _pod_security(security.run_as_user, security.run_as_group)
    pod["serviceAccountName"] = account.name if account and account.name else release.name
    pod["terminationGracePeriodSeconds"] = drain.delay_seconds + drain.request_seconds
    if placement and placement.tolerations:
        pod["tolerations"] = [
            toleration.model_dump(by_alias=True, exclude_none=True)
            for toleration in placement.tolerations
        ]
    pod["topologySpreadConstraints"] = [
        _spread(release, "kubernetes.io/hostname"),
        _spread(release, "topology.kubernetes.io/zone"),
    ]
    volumes: list[Object] = [
        {"name": name, "emptyDir": {"sizeLimit": size} if size else {}}
        for name, _, size in release.writable
    ]
    volumes += [_volume(volume, release.name) for volume in workload.volumes]
    if volumes:
        pod["volumes"] = volumes
    return pod


@lru_cache
def _pod_security(user: int, group: int) -> Shared:
    return Shared(
        {
            "fsGroup": group,
            "runAsGroup": group,
            "runAsNonRoot": True,
            "runAsUser": user,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
    )


@lru_cache
def _container_security(read_only: bool, low_port: bool) -> Shared:
    capabilities: Object = {"drop": ["ALL"]}
    if low_port:
        capabilities["add"] = ["NET_BIND_SERVICE"]
    return Shared(
        {
            "allowPrivilegeEscalation": False,
            "capabilities": capabilities,
            "readOnlyRootFilesystem": read_only,
            "runAsNonRoot": True,
        }
    )


def _container(release: Release, security: Security, drain: Drain) -> Object:
    workload = release.workload
    container: Object = {"name": release.unit.kind, "image": workload.image}
    if workload.command:
        container["command"] = list(workload.command)
    if workload.args:
        container["args"] = list(workload.args)
    if workload.env_from:
        container["envFrom"] = [_env_from(source) for source in workload.env_from]
    container["env"] = _env(release)
    container["imagePullPolicy"] = release.pull_policy
    if drain.delay_seconds:
        container["lifecycle"] = {"preStop": {"sleep": {"seconds": drain.delay_seconds}}}
    container["ports"] = [
        {"name": name, "containerPort": port, "protocol": "TCP"}
        for name, port in ((release.port_name, workload.port), ("metrics", release.metrics_port))
        if port
    ]
    for probe in release.probes:
        container[f"{probe.kind}Probe"] = _probe(probe)
    container["resources"] = release.resources
    low_port = workload.port < 1024
    container["securityContext"] = _container_security(security.read_only_root, low_port)
    container["terminationMessagePath"] = "/dev/termination-log"
    container["terminationMessagePolicy"] = "FallbackToLogsOnError"
    mounts: list[Object] = [{"name": name, "mountPath": path} for name, path, _ in release.writable]
    mounts += [_mount(volume) for volume in workload.volumes]
    if mounts:
        container["volumeMounts"] = mounts
    return container


def _env(release: Release) -> list[Object]:
    values: dict[str, Object] = {
        name: {"name": name, "value": value} for name, value in release.env
    }
    for name, ref in release.workload.env_refs.items():
        values[name] = {"name": name, "valueFrom": _env_ref(ref)}
    return _in_order(values)


def _in_order(values: dict[str, Object]) -> list[Object]:
    """By name, but after what a value refers to: Kubernetes expands only what stands before."""
    found: dict[str, Object] = {}
    waiting = sorted(values, reverse=True)
    begun: set[str] = set()
    while waiting:
        name = waiting.pop()
        references = set(_REFERENCE.findall(values[name].get("value", ""))) & values.keys()
        missing = sorted(references - begun - found.keys(), reverse=True)
        if name not in begun and missing:
            waiting += [name, *missing]
        else:
            found.setdefault(name, values[name])
        begun.add(name)
    return list(found.values())


def _env_ref(ref: EnvRef) -> Object:
    if ref.field is not None:
        return {"fieldRef": {"apiVersion": "v1", "fieldPath": ref.field}}
    key: Object = {"name": ref.secret or ref.config_map, "key": ref.key}
    if ref.optional:
        key["optional"] = True
    return {"secretKeyRef" if ref.secret else "configMapKeyRef": key}


def _env_from(source: Any) -> Object:
    reference: Object = {"name": source.secret or source.config_map}
    if source.optional:
        reference["optional"] = True
    found: Object = {"secretRef" if source.secret else "configMapRef": reference}
    if source.prefix:
        found["prefix"] = source.prefix
    return found


@lru_cache(maxsize=1024)
def _probe(probe: ResolvedProbe) -> Shared:
    actions: dict[str, Object] = {
        "http": {"httpGet": {"path": probe.path, "port": probe.port, "scheme": "HTTP"}},
        "tcp": {"tcpSocket": {"port": probe.port}},
        "grpc": {"grpc": {"port": probe.port, "service": probe.service}},
    }
    found = dict(actions[probe.type])
    if probe.initial_delay:
        found["initialDelaySeconds"] = probe.initial_delay
    found["periodSeconds"] = probe.period
    found["timeoutSeconds"] = probe.timeout
    found["successThreshold"] = 1
    found["failureThreshold"] = probe.failures
    return Shared(found)


def _spread(release: Release, key: str) -> Object:
    return {
        "labelSelector": {"matchLabels": selector(release.unit, release.version)},
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway",
    }


def _volume(volume: Volume, release_name: str) -> Object:
    if volume.empty_dir is not None:
        source = volume.empty_dir.model_dump(by_alias=True, exclude_none=True)
        return {"name": volume.name, "emptyDir": {k: v for k, v in source.items() if v != ""}}
    if volume.claim is not None:
        return {"name": volume.name, "persistentVolumeClaim": {"claimName": volume.claim}}
    if volume.secret is not None:
        return {"name": volume.name, "secret": {"secretName": volume.secret, "defaultMode": 420}}
    found: Object = {"name": volume.config_map or release_name, "defaultMode": 420}
    if volume.files is not None:
        found["items"] = [
            {"key": f"{volume.name}.{file}", "path": file} for file in sorted(volume.files)
        ]
    return {"name": volume.name, "configMap": found}


def _mount(volume: Volume) -> Object:
    found: Object = {"name": volume.name, "mountPath": volume.mount_path}
    fixed = volume.config_map is not None or volume.secret is not None or volume.files is not None
    if volume.read_only or (volume.read_only is None and fixed):
        found["readOnly"] = True
    if volume.sub_path:
        found["subPath"] = volume.sub_path
    return found
