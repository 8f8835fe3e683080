"""A release folder: the compiled, immutable base of one version.

Its name ends in a digest of its bytes, so two overlays that name the same folder get the same
objects for ever, and a change is always a new folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from gati_gitops.emit.objects.config_map import config_map
from gati_gitops.emit.objects.deployment import deployment
from gati_gitops.emit.objects.meta import Object
from gati_gitops.emit.objects.service import service
from gati_gitops.emit.objects.service_account import service_account
from gati_gitops.plan.model import Added, Release
from gati_gitops.plan.naming import UnitId, slug
from gati_gitops.tree import header
from gati_gitops.yamlio.emit import dump

TEMPLATED = "template-"
"""How the file names of users' objects begin."""
KUSTOMIZATION = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}


@dataclass(frozen=True, slots=True)
class ReleaseFolder:
    """A release as files."""

    unit: UnitId
    name: str
    files: Mapping[str, bytes]

    @property
    def path(self) -> str:
        return release_path(self.unit, self.name)


def release_path(unit: UnitId, name: str) -> str:
    return f"base/{unit.namespace}/{unit.folder}/{name}"


def release_objects(release: Release) -> dict[str, Object]:
    """File name to object: everything of a version that no environment decides."""
    built = {
        "configmap.yaml": config_map(release),
        "deployment.yaml": deployment(release),
        "service.yaml": service(release),
        "serviceaccount.yaml": service_account(release),
    }
    found = {file: item for file, item in built.items() if item is not None}
    for item in release.added:
        found[_free(template_file(item), found)] = item.object
    return found


def template_file(item: Added) -> str:
    """Where an object that a template made stands."""
    name = item.template.rpartition("/")[2].partition(".")[0]
    return f"{TEMPLATED}{name}.yaml"


def _free(file: str, taken: Mapping[str, Object]) -> str:
    """``file``, or it with a number: a template may make several objects."""
    stem = file.removesuffix(".yaml")
    names = (file, *(f"{stem}-{number}.yaml" for number in range(2, len(taken) + 2)))
    return next(name for name in names if name not in taken)


def release_folder(release: Release, objects: Mapping[str, Object]) -> ReleaseFolder:
    """The folder, named by what is in it."""
    line = header(release.files)
    files = {file: dump(item, line) for file, item in objects.items()}
    files["kustomization.yaml"] = dump({**KUSTOMIZATION, "resources": sorted(objects)}, line)
    return ReleaseFolder(release.unit, f"{slug(release.version)}-{folder_digest(files)}", files)


def unspoilt(path: str, files: Mapping[str, bytes]) -> bool:
    """Whether the folder at ``path`` still holds what its name says; ``files`` are full paths."""
    relative = {file.removeprefix(f"{path}/"): content for file, content in files.items()}
    return path.endswith(f"-{folder_digest(relative)}")


def folder_digest(files: Mapping[str, bytes]) -> str:
    digest = sha256()
    for file in sorted(files):
        digest.update(f"{file}\0{len(files[file])}\0".encode())
        digest.update(files[file])
    return digest.hexdigest()[:8]
