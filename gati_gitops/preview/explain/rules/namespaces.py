"""Namespaces, CRDs, and what users' templates make."""

from __future__ import annotations

from gati_gitops.preview.explain.rule import rule
from gati_gitops.preview.explain.rules.head import KIND

_NAMESPACE = (
    *KIND,
    rule("metadata.name", "the namespace of units that are on the cluster", "namespace:"),
    rule('metadata.labels["app.kubernetes.io/managed-by"]', "who writes these manifests"),
    rule(
        'metadata.labels["app.kubernetes.io/part-of"]', "the project's name",
        "project:metadata.name", default="without gati.yaml the project is called default",
    ),
    rule("metadata.labels.$k", "everything in the namespace keeps to restricted Pod Security"),
)  # fmt: skip

RULES = {
    "Namespace": _NAMESPACE,
    "CustomResourceDefinition": (
        rule("**", "generated from the compiler's own models of the specs"),
    ),
    "template": (rule("**", "a template of the project made the object", "template:"),),
}
