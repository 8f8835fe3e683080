"""ingress-nginx: requests of a canary are counted under the other version's Service, and tell the
canary in a label of their own. Open requests are counted for the controller as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping

from gati_gitops.decide.observation import Gap, Missing
from gati_gitops.emit.routes.ingress_nginx import canary_name
from gati_gitops.emit.routes.naming import numbered
from gati_gitops.observe.profiles_model import Counts, Profile, label, named
from gati_gitops.observe.prometheus_query import literal
from gati_gitops.observe.wanted import Deployed

_namespace = label("namespace")
_service = label("service")


def _read(labels: Mapping[str, str]) -> str:
    canary = labels.get("canary", "")
    return f"canary {canary}" if canary else f"{_namespace(labels)}/{_service(labels)}"


def _ingresses(deployed: Deployed) -> frozenset[str]:
    plan = deployed.stored.plan
    return frozenset((literal(numbered(plan, 1)), literal(canary_name(plan))))


INGRESS_NGINX = Profile(
    "ingress-nginx",
    Counts(
        metric="nginx_ingress_controller_requests",
        label="ingress",
        names=named("{namespace}/{service}", "canary {namespace}-{service}-{port}"),
        read=_read,
        code="status",
        ours="(handler|module)-.+",
        asked=_ingresses,
    ),
    Missing(
        Gap.UNSUPPORTED,
        "ingress-nginx counts open requests for all versions together;"
        " name a gauge of the pods in metrics.evidence.inFlight",
    ),
    unseen="ingress-nginx gives requests that name a parked version to another one, and does not"
    " tell; a person has to judge",
)
