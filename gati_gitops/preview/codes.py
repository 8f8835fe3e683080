"""What a finding's code means, and what to say where there are many of it.

``{n}`` in a title is the number of units (or of objects, where it is about no unit).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Meaning(NamedTuple):
    title: str
    """A heading for all findings of the code."""
    why: str
    """Why somebody who approves wants to know."""


CODES: Mapping[str, Meaning] = MappingProxyType(
    {
        # -- loses something
        "object-recreated": Meaning(
            "Objects that are deleted and made again",
            "the API server lets nobody change these fields, so the sync fails until the object is"
            " deleted; what it gave is gone in between",
        ),
        "object-pruned": Meaning("Objects that go", "the engine deletes what Git no longer has"),
        "unit-removed": Meaning("Units that go", "requests to them are no longer answered"),
        "unit-renamed": Meaning(
            "Units with another name", "Kubernetes knows no renaming: all objects go and come"
        ),
        "unit-retires": Meaning(
            "Units that retire", "they serve until nobody calls, then park and go"
        ),
        "namespace-removed": Meaning(
            "Namespaces that go", "deleting a Namespace deletes all that is in it"
        ),
        # -- traffic and pods
        "pods-restart": Meaning("Pods that restart", "the pod template of a live version changed"),
        "revision": Meaning(
            "Versions that change in place",
            "the content changed under the same version id: pods are replaced without a canary",
        ),
        "traffic-moves": Meaning("Traffic that moves", "weights before and after"),
        "pins-break": Meaning(
            "Pinned versions that are no longer served",
            "clients that name the version get an error",
        ),
        "scaling-bounds": Meaning("Scaling bounds", "the fewest and the most pods that may run"),
        "scaled-to-zero": Meaning("Versions without pods", "no pod runs until something scales up"),
        "scaler-changed": Meaning("Scalers", "who decides how many pods run"),
        "disruption-budget": Meaning(
            "Disruption budgets", "how many pods a drained node may take at once"
        ),
        "rollout": Meaning("What the rollout will do", "after the merge"),
        "promotion": Meaning("What waits for promotion", "nothing of it runs here yet"),
        "held": Meaning("Held units", "nothing of them moves until somebody releases them"),
        # -- what runs
        "image": Meaning("Images", "what runs in the pods"),
        "image-floats": Meaning(
            "Images that may change under the same name",
            "a tag like latest is no fixed content",
        ),
        "image-registry": Meaning("Images from another registry", "somebody else serves them"),
        "resources": Meaning("Requests and limits", "what one pod asks for and may use"),
        "resources-removed": Meaning(
            "Requests or limits that are gone", "the pod may take what others need"
        ),
        "probe-removed": Meaning("Probes that are gone", "a pod that hangs is not noticed"),
        "privileges": Meaning(
            "Privileges", "the pod may do more on its node, or as another user, than before"
        ),
        # -- who may reach what
        "route-added": Meaning("New routes", "requests from outside reach something new"),
        "route-removed": Meaning("Routes that go", "requests that were answered no longer are"),
        "gateway-changed": Meaning(
            "Other gateways", "requests must take another way, and the old one closes"
        ),
        "host-added": Meaning("New hosts", "a unit answers under another name"),
        "host-removed": Meaning("Hosts that go", "a unit no longer answers under a name"),
        "path-changed": Meaning("Paths", "callers must use the new path"),
        "egress-opened": Meaning("Egress", "pods may call what they could not"),
        "ingress-opened": Meaning("Ingress", "pods may be called by whom they could not"),
        "network-policy-removed": Meaning(
            "NetworkPolicies that go", "without one every pod may call and be called"
        ),
        "network-open": Meaning("Open NetworkPolicies", "everything may call, or be called"),
        "service-exposed": Meaning(
            "Services that leave the cluster", "a node port or load balancer opens them"
        ),
        "rbac": Meaning("Rights in the cluster", "who may do what with the API server"),
        "rbac-widened": Meaning(
            "Rights in the cluster that grow", "somebody may do what they could not"
        ),
        "secret-changed": Meaning("Secrets", "shown by fingerprint; the values are never shown"),
        # -- contracts
        "breaking-version": Meaning(
            "Breaking versions", "old callers fail unless a chain of transformers leads there"
        ),
        "crd-breaking": Meaning("CRD changes that break", "stored objects or callers would fail"),
        "crd-changed": Meaning("CRD changes", "the schema of stored objects"),
        "policy-broken": Meaning("Policies newly broken", "the project's own rules"),
        "warning": Meaning("New warnings", "what validate would say of the specs"),
        # -- settings
        "environment-added": Meaning("New environments", ""),
        "environment-removed": Meaning("Environments that the project no longer names", ""),
        "cluster-added": Meaning("New clusters", ""),
        "cluster-removed": Meaning(
            "Clusters that the project no longer names", "they stay as they are"
        ),
        "settings": Meaning("Settings", "how the environment rolls out, promotes and deletes"),
        "sync": Meaning("What engines sync", "objects that Argo CD or Flux follow"),
        "namespace-added": Meaning("New namespaces", ""),
        "cost": Meaning("Cost", "of what the pods request"),
        "blast-radius": Meaning("Blast radius", "how much is touched at once"),
    }
)
