"""The Namespace, with restricted Pod Security for everything in it."""

from __future__ import annotations

from gati_gitops.emit.objects.meta import Object, named
from gati_gitops.plan.naming import MANAGER


def namespace(name: str, project: str) -> Object:
    labels = {"app.kubernetes.io/managed-by": MANAGER, "app.kubernetes.io/part-of": project}
    for mode in ("enforce", "audit", "warn"):
        labels[f"pod-security.kubernetes.io/{mode}"] = "restricted"
        labels[f"pod-security.kubernetes.io/{mode}-version"] = "latest"
    return named("v1", "Namespace", name, "", labels)
