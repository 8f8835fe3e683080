"""The Service of one version: what routes and other units call."""

from __future__ import annotations

from gati_gitops.emit.objects.meta import Object, of_release
from gati_gitops.plan.model import Release
from gati_gitops.plan.naming import selector


def service(release: Release) -> Object:
    found = of_release(release, "v1", "Service")
    port = release.workload.port
    found["spec"] = {
        "internalTrafficPolicy": "Cluster",
        "ports": [{"name": release.port_name, "port": port, "protocol": "TCP", "targetPort": port}],
        "selector": selector(release.unit, release.version),
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    return found
