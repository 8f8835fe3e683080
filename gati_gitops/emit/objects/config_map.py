"""The ConfigMap of one version: the files its spec carries, and nothing else.

Environment variables stay in the Deployment, where a change of them restarts the pods.
"""

from __future__ import annotations

from gati_gitops.emit.objects.meta import Object, of_release
from gati_gitops.plan.model import Release


def config_map(release: Release) -> Object | None:
    """None when the spec carries no files."""
    data = {
        f"{volume.name}.{file}": text
        for volume in release.workload.volumes
        for file, text in (volume.files or {}).items()
    }
    if not data:
        return None
    found = of_release(release, "v1", "ConfigMap")
    found["data"] = dict(sorted(data.items()))
    return found
