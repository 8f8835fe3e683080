"""The ServiceAccount of one version: an identity without any rights."""

from __future__ import annotations

from gati_gitops.emit.objects.meta import Object, of_release
from gati_gitops.plan.model import Release


def service_account(release: Release) -> Object | None:
    """None when the spec names an account that exists already."""
    wanted = release.workload.service_account
    if wanted is not None and wanted.name:
        return None
    found = of_release(
        release, "v1", "ServiceAccount", wanted.annotations if wanted is not None else None
    )
    found["automountServiceAccountToken"] = bool(wanted and wanted.token)
    return found
