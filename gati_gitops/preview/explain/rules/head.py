"""Names, labels and annotations, which objects of units have in common."""

from __future__ import annotations

from gati_gitops.preview.explain.rule import Rule, rule

POD = "spec.template.spec"
BOX = f"{POD}.containers[]"
"""The one container of a Deployment."""
API_DEFAULT = "what the API server would fill in, written out so that no engine sees a difference"
OWN_NAME = "<kind>-<name>-<version>: every object of a version is called so"
UNIT_NAME = "<kind>-<name>: what belongs to the unit as a whole is called so"

KIND = (
    rule("apiVersion", "the API that this kind of object belongs to"),
    rule("kind", "the kind of object that the compiler writes for this purpose"),
)

_LABELS = (
    rule(
        'metadata.labels["app.kubernetes.io/instance"]', "the unit's own name", "unit:metadata.name"
    ),
    rule('metadata.labels["gati.dev/unit"]', "the unit's own name", "unit:metadata.name"),
    rule('metadata.labels["app.kubernetes.io/managed-by"]', "who writes these manifests"),
    rule('metadata.labels["app.kubernetes.io/name"]', "whether it is a handler or a module"),
    rule(
        'metadata.labels["app.kubernetes.io/part-of"]', "the project's name",
        "project:metadata.name", default="without gati.yaml the project is called default",
    ),
    rule('metadata.labels["app.kubernetes.io/version"]', "the version id, fit for a label", "id"),
    rule('metadata.labels["gati.dev/version"]', "the version id, fit for a label", "id"),
)  # fmt: skip
_OWN_LABELS = (
    rule(
        "metadata.labels.$k", "a label of the unit's document, on every object made from it",
        "unit:metadata.labels.$k",
    ),
)  # fmt: skip

NAMESPACE = rule(
    "metadata.namespace", "the namespace of the unit's document",
    "unit:metadata.namespace", default="a document without a namespace is in default",
)  # fmt: skip

_ANNOTATIONS = (
    rule('metadata.annotations["gati.dev/version-id"]', "the version id as it is", "id"),
    rule(
        'metadata.annotations["gati.dev/path"]', "the path that the handler answers on",
        "unit:spec.handlerPath",
    ),
    rule(
        'metadata.annotations["gati.dev/module"]', "what handlers call the module",
        "unit:spec.moduleName",
    ),
    rule(
        'metadata.annotations["gati.dev/module-type"]', "what the module's image holds",
        "unit:spec.moduleType",
    ),
    rule('metadata.annotations["gati.dev/runtime"]', "what runs the module", "unit:spec.runtime"),
    rule(
        'metadata.annotations["kustomize.toolkit.fluxcd.io/substitute"]',
        "a value holds ${…}, and Flux must leave it as it is",
    ),
)  # fmt: skip

LABELS = (*_LABELS, *_OWN_LABELS)

VERSION = (
    *KIND,
    rule("metadata.name", OWN_NAME, "unit:metadata.name", also=("id",)),
    NAMESPACE,
    *LABELS,
    *_ANNOTATIONS,
)
"""The head of an object of one version."""

UNIT = (*KIND, rule("metadata.name", UNIT_NAME, "unit:metadata.name"), NAMESPACE, *LABELS)
"""The head of an object of a unit as a whole."""


def selector(where: str) -> tuple[Rule, ...]:
    """The two labels that select the pods of a version."""
    return (
        rule(f'{where}["gati.dev/unit"]', "selects the unit's own pods", "unit:metadata.name"),
        rule(f'{where}["gati.dev/version"]', "selects the pods of this version only", "id"),
    )


def below(where: str, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules of a part that stands deeper in another object."""
    from dataclasses import replace

    from gati_gitops.preview.explain.fields import pattern

    return tuple(replace(one, steps=(*pattern(where), *one.steps)) for one in rules)
