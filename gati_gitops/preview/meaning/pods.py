"""What becomes of pods: restarts, images, what they may use and what they may do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gati_gitops.emit.objects.deployment import FILES_DIGEST
from gati_gitops.preview.locate import spec_field
from gati_gitops.preview.meaning.scene import UnitScene
from gati_gitops.preview.model import (
    FieldChange,
    Finding,
    Keyed,
    Level,
    ObjectChange,
    Op,
    VersionReview,
)
from gati_gitops.preview.words import change_words, counted, listed, short, short_path

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
# What a pod may do beyond its own container, and how bad that is.
_GRAVE, _LESSER = Level.DANGER, Level.WARNING


def restarts(unit: UnitScene) -> Iterator[Finding]:
    """Pods of a live version that are replaced, and by what."""
    for version in unit.review.versions:
        if not version.restarts or version.before is None or version.after is None:
            continue
        change = next((c for c in version.objects if c.id.kind == "Deployment"), None)
        if change is None:
            continue
        why = [one for one in (*change.fields, *change.noise) if one.path[:2] == _TEMPLATE]
        said = listed([_named(one) for one in why]) or "its selector"
        count = version.before.min
        pods = counted(count, "pod") if count else "the pods"
        verb = "restarts" if count == 1 else "restart"
        at = spec_field(why[0].path) if why else ("spec",)
        if version.before.digest != version.after.digest:
            yield unit.finding(
                "revision",
                Level.WARNING,
                f"version {version.id} changes under the same id: {pods} {verb} in place ({said})",
                version=version.id,
                at=at,
                change=change,
                remedy="give it a new version id to have it rolled out step by step",
            )
        else:
            yield unit.finding(
                "pods-restart",
                Level.WARNING,
                f"{pods} of version {version.id} {verb}: {said} changed",
                version=version.id,
                at=at,
                setting="registries" if at == ("spec", "image") else "",
                change=change,
            )


_TEMPLATE = ("spec", "template")


def _named(change: FieldChange) -> str:
    return "files" if change.path[-1] == FILES_DIGEST else short_path(change.path)


# -- images --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Image:
    """An image reference taken apart."""

    repository: str
    tag: str
    digest: str

    @property
    def floats(self) -> bool:
        """Whether the same name may mean something else tomorrow."""
        return not self.digest and self.tag in ("", "latest", "edge", "main", "master", "nightly")


def image(text: str) -> Image:
    name, _, digest = text.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return Image(f"{head}{slash}{last}", tag, digest)


def images(unit: UnitScene) -> Iterator[Finding]:
    for version in unit.review.versions:
        before, after = unit.deployment(version.id)
        if after is None:
            continue
        was, now = _containers(before), _containers(after)
        for name, container in now.items():
            new, old = str(container.get("image", "")), str(was.get(name, {}).get("image", ""))
            if new != old:
                yield from _image(unit, version, old, new)


def _image(unit: UnitScene, version: VersionReview, old: str, new: str) -> Iterator[Finding]:
    one, two = image(old), image(new)
    follows = version.like or version.was
    said = f"version {version.id} runs {short(new)}"
    if old:
        said += f", where {follows} runs {short(old)}" if follows else f" instead of {short(old)}"
    moved = bool(old) and replace(one, repository=two.repository) == two
    options: dict[str, Any] = {
        "version": version.id, "at": ("spec", "image"), "before": old, "after": new,
        "setting": "registries",
    }  # fmt: skip
    if not moved:  # else all there is to say is where it comes from
        yield unit.finding("image", Level.NOTE, said, **options)
    if two.floats and not (old and one.floats):
        yield unit.finding(
            "image-floats",
            Level.WARNING,
            f"the image of version {version.id}, {short(new)}, has no tag or digest that stays",
            remedy="name a version tag, or better a digest",
            **options,
        )
    if old and one.repository != two.repository:
        yield unit.finding(
            "image-registry",
            Level.WARNING,
            f"the image of version {version.id} comes from {two.repository} instead of"
            f" {one.repository}",
            **options,
        )


def _containers(deployment: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    pod = pod_of(deployment)
    found = [*(pod.get("initContainers") or ()), *(pod.get("containers") or ())]
    return {str(container.get("name")): container for container in found}


def pod_of(deployment: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The pod that a Deployment makes."""
    template = ((deployment or {}).get("spec") or {}).get("template") or {}
    found: Mapping[str, Any] = template.get("spec") or {}
    return found


# -- what they may use ---------------------------------------------------------------------------


def resources(unit: UnitScene) -> Iterator[Finding]:
    for version, change in unit.changes("Deployment"):
        fields = [one for one in change.fields if _inside(one, "resources")]
        if not fields:
            continue
        less = [one for one in fields if one.op is Op.REMOVE]
        options: dict[str, Any] = {
            "version": version,
            "at": spec_field(fields[0].path),
            "change": change,
            "field": fields[0].shown,
        }
        if less:
            yield unit.finding(
                "resources-removed",
                Level.WARNING,
                f"version {version} loses {listed([short_path(one.path) for one in less])}",
                **options,
            )
        if more := [one for one in fields if one.op is not Op.REMOVE]:
            yield unit.finding(
                "resources",
                Level.NOTE,
                f"version {version}: {listed([change_words(one) for one in more])}",
                **options,
            )


def probes(unit: UnitScene) -> Iterator[Finding]:
    for version, change in unit.changes("Deployment"):
        lost = [one for one in change.fields if one.op is Op.REMOVE and one.path[-1] in _PROBES]
        for one in lost:
            yield unit.finding(
                "probe-removed",
                Level.WARNING,
                f"version {version} has no {one.path[-1]} any more",
                version=version,
                at=spec_field(one.path),
                change=change,
                field=one.shown,
            )


def _inside(change: FieldChange, name: str) -> bool:
    path = change.path
    at = next((n for n, step in enumerate(path) if isinstance(step, Keyed)), None)
    return at is not None and len(path) > at + 1 and path[at + 1] == name


# -- what they may do ----------------------------------------------------------------------------


def privileges(unit: UnitScene) -> Iterator[Finding]:
    """Rights on the node or in the container that the pods did not have."""
    for version in unit.review.versions:
        before, after = unit.deployment(version.id)
        if after is None:
            continue
        had = {what for what, _, _ in _rights(pod_of(before))} if before else set()
        for what, level, at in _rights(pod_of(after)):
            if what not in had and (before is not None or level is _GRAVE):
                yield unit.finding(
                    "privileges",
                    level,
                    f"pods of version {version.id} {what}",
                    version=version.id,
                    at=at,
                    change=_deployment(version),
                )


def _deployment(version: VersionReview) -> ObjectChange | None:
    return next((c for c in version.objects if c.id.kind == "Deployment"), None)


Right = tuple[str, Level, tuple[str, ...]]


def _rights(pod: Mapping[str, Any]) -> Iterator[Right]:
    security = ("spec", "security")
    for name, what in (("hostNetwork", "network"), ("hostPID", "processes"), ("hostIPC", "memory")):
        if pod.get(name):
            yield f"share the {what} of their node", _GRAVE, ("spec",)
    for volume in pod.get("volumes") or ():
        if "hostPath" in volume:
            path = (volume["hostPath"] or {}).get("path", "")
            yield f"see the folder {path} of their node", _GRAVE, ("spec", "volumes")
    if pod.get("automountServiceAccountToken", True):
        yield "carry a token of the API server", _LESSER, ("spec", "serviceAccount", "token")
    whole = pod.get("securityContext") or {}
    for container in (*(pod.get("initContainers") or ()), *(pod.get("containers") or ())):
        own = container.get("securityContext") or {}
        if own.get("privileged"):
            yield "are privileged: they may do all that their node may", _GRAVE, security
        if own.get("allowPrivilegeEscalation", True):
            yield "may gain privileges", _GRAVE, security
        if not own.get("runAsNonRoot", whole.get("runAsNonRoot", False)) or not own.get(
            "runAsUser", whole.get("runAsUser", 1)
        ):
            yield "may run as root", _GRAVE, security
        if not own.get("readOnlyRootFilesystem"):
            yield "may write to their own file system", _LESSER, security
        for capability in (own.get("capabilities") or {}).get("add") or ():
            level = _LESSER if capability == "NET_BIND_SERVICE" else _GRAVE
            yield f"have the capability {capability}", level, security
