"""What a template may add: namespaced objects, under names that can't meet anybody else's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gati_gitops.plan.templates.budget import BadTemplate
from gati_gitops.plan.templates.filled import Filled
from gati_gitops.redact import holds_password, is_secret
from gati_gitops.spec.common import DNS_SUBDOMAIN, GROUP, LABEL_KEY, LABEL_VALUE

Object = dict[str, Any]

_API_VERSION = re.compile(r"(?:(?P<group>[a-z0-9.-]+)/)?v[0-9][a-z0-9]*")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_OURS = re.compile(r"(?:handler|module)-")
CLUSTER_SCOPED = frozenset(
    (
        "APIService", "CertificateSigningRequest", "ClusterExternalSecret", "ClusterIssuer",
        "ClusterPolicy", "ClusterRole", "ClusterRoleBinding", "ClusterSecretStore",
        "ClusterTrustBundle", "CSIDriver", "CSINode", "CustomResourceDefinition", "DeviceClass",
        "FlowSchema", "GatewayClass", "IPAddress", "IngressClass", "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "Namespace", "Node",
        "PersistentVolume", "PriorityClass", "PriorityLevelConfiguration", "ResourceSlice",
        "RuntimeClass", "ServiceCIDR", "StorageClass", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "VolumeAttachment",
        "VolumeAttributesClass",
    )
)  # fmt: skip
# Prefix to why: what would change how kustomize builds, or when an engine applies.
_ANNOTATIONS = {
    "config.kubernetes.io/": "kustomize takes orders by it",
    "config.k8s.io/": "kustomize takes orders by it",
    "internal.config.kubernetes.io/": "kustomize takes orders by it",
    "kustomize.config.k8s.io/": "kustomize takes orders by it",
    "argocd.argoproj.io/hook": "order comes from commits, not from hooks",
    "argocd.argoproj.io/sync-wave": "order comes from commits, not from waves",
    "helm.sh/hook": "order comes from commits, not from hooks",
    f"{GROUP}/": "the compiler writes it",
}
_WRITTEN = frozenset(
    f"app.kubernetes.io/{name}" for name in ("instance", "managed-by", "name", "part-of", "version")
)
_DIRECTIVES = ("$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList")


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom an object is made for."""

    scope: str
    namespace: str
    labels: Mapping[str, str]
    prefix: str
    """What its name begins with; empty for objects of a namespace."""


def checked(filled: Filled, owner: Owner) -> Object:
    """An object with namespace and labels; raises BadTemplate at the line of what is wrong."""
    value = filled.value
    if not isinstance(value, dict):
        raise BadTemplate(filled.line(), "what it gives is no object", "give apiVersion and kind")
    for path, message, remedy in _wrong(value, owner):
        raise BadTemplate(filled.line(*path), message, remedy)
    metadata: Object = {"name": value["metadata"]["name"], "namespace": owner.namespace}
    own = value["metadata"].get("labels") or {}
    metadata["labels"] = dict(sorted({**owner.labels, **own}.items()))
    if value["metadata"].get("annotations"):
        metadata["annotations"] = dict(sorted(value["metadata"]["annotations"].items()))
    rest = {k: v for k, v in value.items() if k not in ("apiVersion", "kind", "metadata")}
    rest = _said(rest)
    head = {"apiVersion": value["apiVersion"], "kind": value["kind"]}
    return {**head, "metadata": metadata, **rest}


def _said(value: Any) -> Any:
    """Without fields that are null: a loop that gave nothing leaves such a field behind."""
    if isinstance(value, dict):
        return {key: _said(item) for key, item in value.items() if item is not None}
    return [_said(item) for item in value] if isinstance(value, list) else value


Wrong = tuple[tuple[str | int, ...], str, str]


def _wrong(value: Object, owner: Owner) -> Iterator[Wrong]:
    """Everything that is wrong with an object, the gravest first."""
    yield from _head(value)
    yield from _kind(value)
    yield from _metadata(value["metadata"], owner)
    texts: list[str] = []
    yield from _orders(value, (), texts)
    together = "\n".join(texts)
    if is_secret(together) or holds_password(together):
        yield from _secrets(value, ())


def _head(value: Object) -> Iterator[Wrong]:
    for name, pattern, example in (
        ("apiVersion", _API_VERSION, "v1 or apps/v1"),
        ("kind", _KIND, "ConfigMap"),
    ):
        text = value.get(name)
        if not isinstance(text, str) or not pattern.fullmatch(text):
            yield (name,), f"an object has no valid {name}", f"write one such as {example}"
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        yield ("metadata",), "an object has no metadata.name", "add metadata.name"
    elif not re.fullmatch(DNS_SUBDOMAIN, metadata["name"]) or len(metadata["name"]) > 253:
        name = metadata["name"][:60]
        remedy = "use lower-case letters, digits, - and ., at most 253"
        yield ("metadata", "name"), f"{name!r} is no name of an object", remedy
    if "status" in value:
        yield ("status",), "status is the cluster's to write", "remove it"


def _kind(value: Object) -> Iterator[Wrong]:
    kind = value["kind"]
    match = _API_VERSION.fullmatch(value["apiVersion"])
    group = (match["group"] or "") if match else ""
    if kind in CLUSTER_SCOPED:
        remedy = "apply it by other means; a unit has no say beyond its namespace"
        yield ("kind",), f"{kind} is not an object of a namespace", remedy
    if group in (GROUP, "kustomize.config.k8s.io") or (kind.endswith("List") and "items" in value):
        yield ("kind",), f"a template can't give a {kind}", "give the objects themselves"
    if (group, kind) == ("", "Secret") and (value.get("data") or value.get("stringData")):
        remedy = "refer to a Secret by name, or give an ExternalSecret"
        yield ("kind",), "a Secret with its content, and many can read Git", remedy


def _metadata(metadata: Object, owner: Owner) -> Iterator[Wrong]:
    name = metadata["name"]
    for field in metadata:
        if field not in ("name", "namespace", "labels", "annotations"):
            yield (
                ("metadata", field),
                f"metadata.{field[:60]} is not a template's to set",
                "remove it",
            )
    if metadata.get("namespace", owner.namespace) != owner.namespace:
        remedy = f"remove it: the namespace is {owner.namespace}"
        yield ("metadata", "namespace"), "an object of another namespace", remedy
    prefix = owner.prefix
    if prefix and name != prefix and not name.startswith((f"{prefix}-", f"{prefix}.")):
        what = "version.name" if owner.scope == "version" else "unit.object"
        remedy = f"begin it with {{{{ {what} }}}}, so that no other {owner.scope} can have it"
        yield ("metadata", "name"), f"the name {name[:60]} does not begin with {prefix}", remedy
    if not prefix and _OURS.match(name):
        remedy = "choose a name that does not begin with handler- or module-"
        yield ("metadata", "name"), f"the name {name[:60]} could be a unit's", remedy
    yield from _labels(metadata, owner)
    yield from _annotations(metadata)


def _labels(metadata: Object, owner: Owner) -> Iterator[Wrong]:
    labels = metadata.get("labels") or {}
    if not isinstance(labels, dict):
        yield ("metadata", "labels"), "labels are a mapping", "write name: value"
        return
    for key, value in labels.items():
        path = ("metadata", "labels", key)
        if not re.fullmatch(LABEL_KEY, key):
            yield path, f"{key[:60]!r} is no label", "use letters, digits, -, _, . and one /"
        elif not isinstance(value, str) or not re.fullmatch(LABEL_VALUE, value):
            remedy = "use at most 63 letters, digits, -, _ and .; quote numbers"
            yield path, f"the label {key} has a value that is none", remedy
        elif (key in _WRITTEN or key.startswith(f"{GROUP}/")) and value != owner.labels.get(key):
            yield path, f"the label {key} is the compiler's to write", "remove it"


def _annotations(metadata: Object) -> Iterator[Wrong]:
    annotations = metadata.get("annotations") or {}
    if not isinstance(annotations, dict):
        yield ("metadata", "annotations"), "annotations are a mapping", "write name: value"
        return
    for key, value in annotations.items():
        path = ("metadata", "annotations", key)
        if not re.fullmatch(LABEL_KEY, key):
            yield path, f"{key[:60]!r} is no annotation", "use letters, digits, -, _, . and one /"
        elif not isinstance(value, str):
            yield path, f"the annotation {key} is no text", "quote it"
        for prefix, why in _ANNOTATIONS.items():
            if key.startswith(prefix):
                yield path, f"the annotation {key} is not allowed: {why}", "remove it"


def _orders(value: Any, path: tuple[str | int, ...], texts: list[str]) -> Iterator[Wrong]:
    """Orders to kustomize, wherever they stand. Collects all texts on the way."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key.startswith(_DIRECTIVES):
                yield (*path, key), f"{key[:60]} is an order to kustomize", "remove it"
            yield from _orders(item, (*path, key), texts)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if item is None:
                yield (*path, number), "an item is null", "give a value, or leave it out"
            yield from _orders(item, (*path, number), texts)


def _secrets(value: Any, path: tuple[str | int, ...]) -> Iterator[Wrong]:
    if isinstance(value, str) and (is_secret(value) or holds_password(value)):
        remedy = "keep it in a Secret, and replace what has leaked"
        yield path, "the value is a key, token or password, and many can read Git", remedy
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from _secrets(item, (*path, key))
