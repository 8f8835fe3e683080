"""Names and labels: every generated name is decided here.

Kubernetes derives pod names, host names and HPA names from ours, so a generated name has at most 46
characters. A name that must lose something, by length or by alphabet, gets eight hex digits of what
it stands for, so that two identities never share one name; the raw value stays in an annotation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from gati_gitops.yamlio.emit import Shared

MAX_NAME = 46
HASH = 8

UNIT_LABEL = "gati.dev/unit"
VERSION_LABEL = "gati.dev/version"
VERSION_ANNOTATION = "gati.dev/version-id"
MANAGER = "gati-gitops"

_PLAIN_VERSION = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")


def short_hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:HASH]


def shorten(name: str, limit: int = MAX_NAME) -> str:
    """``name`` itself if it fits, else its beginning and a hash of all of it."""
    if len(name) <= limit:
        return name
    return hashed(name, name, limit)


def hashed(name: str, identity: str, limit: int = MAX_NAME) -> str:
    """The beginning of ``name`` and a hash of what it stands for."""
    return f"{name[: limit - HASH - 1].rstrip('-')}-{short_hash(identity)}"


@lru_cache(maxsize=4096)
def slug(version: str) -> str:
    """A version id as part of a name: ``v1.2.0`` is ``v1-2-0``; what loses more gets a hash."""
    if _PLAIN_VERSION.match(version) and ".." not in version and "-." not in version:
        return shorten(version.replace(".", "-"), 40)
    readable = re.sub(r"[^a-z0-9]+", "-", version.lower()).strip("-")[: 40 - HASH - 1].rstrip("-")
    return f"{readable}-{short_hash(version)}" if readable else short_hash(version)


@dataclass(frozen=True, slots=True, order=True)
class UnitId:
    """Who a unit is, everywhere and for ever."""

    namespace: str
    kind: str
    name: str

    @property
    def folder(self) -> str:
        return f"{self.kind}-{self.name}"

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and folder: where it is on any cluster."""
        return (self.namespace, self.folder)

    @property
    def object_name(self) -> str:
        """The name of objects that belong to the unit as a whole."""
        return shorten(f"{self.kind}-{self.name}")

    def version_name(self, version: str) -> str:
        """The name of every object of one version."""
        return shorten(f"{self.kind}-{self.name}-{slug(version)}")

    @property
    def spellings(self) -> tuple[str, ...]:
        """What people may call it."""
        return (str(self), f"{self.namespace}/{self.folder}")

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name if self.kind == 'handler' else self.folder}"


def unit_labels(unit: UnitId, project: str, own: Mapping[str, str]) -> Shared:
    """Labels of an object that belongs to a unit, the team's own included, in order."""
    return _labels(unit, "", project, tuple(own.items()))


def version_labels(unit: UnitId, version: str, project: str, own: Mapping[str, str]) -> Shared:
    """Labels of an object that belongs to one version, the team's own included, in order."""
    return _labels(unit, slug(version), project, tuple(own.items()))


@lru_cache(maxsize=4096)
def _labels(
    unit: UnitId, version_slug: str, project: str, own: tuple[tuple[str, str], ...]
) -> Shared:
    labels = dict(own) | {
        "app.kubernetes.io/instance": unit.object_name,
        "app.kubernetes.io/managed-by": MANAGER,
        "app.kubernetes.io/name": f"gati-{unit.kind}",
        "app.kubernetes.io/part-of": project,
        UNIT_LABEL: unit.object_name,
    }
    if version_slug:
        labels["app.kubernetes.io/version"] = labels[VERSION_LABEL] = version_slug
    return Shared(sorted(labels.items()))


def selector(unit: UnitId, version: str) -> Shared:
    """The one selector of a version: two keys that never change."""
    return _selector(unit.object_name, slug(version))


@lru_cache(maxsize=4096)
def _selector(unit_name: str, version_slug: str) -> Shared:
    return Shared({UNIT_LABEL: unit_name, VERSION_LABEL: version_slug})
