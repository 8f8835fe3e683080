"""Taking the number of pods out of Git's hands without losing a pod.

When Git stops to name `replicas` and nobody else holds the field, the API server sets it to 1. So
somebody else takes hold of it first, with the number that is live: server-side apply under a name
of its own. The scaler takes it from there when it first changes it.
"""

from __future__ import annotations

from gati_gitops.ledger.handover import HOLDER
from gati_gitops.observe.kube import Kube, KubeConflict, KubeError

_TRIES = 3


def hand_over(kube: Kube, namespace: str, name: str) -> int:
    """Hold the live number of pods of a Deployment; the number. Raises KubeError."""
    for left in reversed(range(_TRIES)):
        item = kube.get("apps/v1", "Deployment", name, namespace)
        if item is None:
            raise KubeError(
                f"there is no Deployment {namespace}/{name} to hand over",
                remedy="was the commit that has it synced?",
                status=404,
            )
        replicas = int(item["spec"].get("replicas", 1))
        change = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            # the uid: a Deployment that was made anew meanwhile is another one
            "metadata": {"name": name, "namespace": namespace, "uid": item["metadata"]["uid"]},
            "spec": {"replicas": replicas},
        }
        try:
            kube.apply(change, manager=HOLDER)
        except KubeConflict:
            # the same number is no conflict, so somebody has just changed it
            if not left:
                raise
            continue
        return replicas
    raise AssertionError("unreachable")  # pragma: no cover
