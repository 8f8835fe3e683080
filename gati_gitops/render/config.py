"""Which fields each transformation touches: the built-in specs, with what a kustomization adds.

A kustomization adds by `configurations` (files of field specs) and by `crds` (OpenAPI definitions
whose extensions mark references). What a base adds holds for the overlays above it as well.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Final

from gati_gitops.render import defaults
from gati_gitops.render.decode import decode
from gati_gitops.render.errors import Broken
from gati_gitops.render.fieldspec import FieldSpec, merge_specs
from gati_gitops.render.resource import Gvk

_FIELD_SPEC: Final = {"group": str, "version": str, "kind": str, "path": str, "create": bool}
_REFERENCE: Final = {"group": str, "version": str, "kind": str, "fieldSpecs": [_FIELD_SPEC]}
_NAMES: Final = {
    "namePrefix": "name_prefix",
    "nameSuffix": "name_suffix",
    "namespace": "namespace",
    "commonLabels": "common_labels",
    "labels": "labels",
    "templateLabels": "template_labels",
    "volumeClaimTemplateLabels": "claim_labels",
    "commonAnnotations": "common_annotations",
    "varReference": "variable_references",
    "images": "images",
    "replicas": "replicas",
}
_SCHEMA: Final[dict[str, Any]] = {
    **{name: [_FIELD_SPEC] for name in _NAMES},
    "nameReference": [_REFERENCE],
}
_FIRST: Final = (
    "Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition", "ServiceAccount",
    "PodSecurityPolicy", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap",
    "Secret", "Endpoints", "Service", "LimitRange", "PriorityClass", "PersistentVolume",
    "PersistentVolumeClaim", "Deployment", "StatefulSet", "CronJob", "PodDisruptionBudget",
)  # fmt: skip
_LAST: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
ORDER: Final = {
    **{kind: index - len(_FIRST) for index, kind in enumerate(_FIRST)},
    **{kind: index + 1 for index, kind in enumerate(_LAST)},
}

Specs = list[FieldSpec]
References = list[tuple[Gvk, Specs]]


@dataclass(frozen=True, slots=True)
class Config:
    name_prefix: Specs
    name_suffix: Specs
    namespace: Specs
    common_labels: Specs
    labels: Specs
    template_labels: Specs
    claim_labels: Specs
    common_annotations: Specs
    variable_references: Specs
    images: Specs
    replicas: Specs
    name_references: References

    def merged(self, other: Config) -> Config:
        if other is self:
            return self
        merged = {
            field.name: sorted(
                merge_specs(getattr(self, field.name), getattr(other, field.name)), key=_spec_order
            )
            for field in fields(self)
            if field.name != "name_references"
        }
        references = _merge_references(self.name_references, other.name_references)
        return Config(**merged, name_references=references)


def _merge_references(base: References, more: References) -> References:
    result = dict(base)
    for gvk, specs in more:
        result[gvk] = merge_specs(result[gvk], specs) if gvk in result else specs
    return sorted(result.items(), key=lambda item: _gvk_order(item[0]))


def _spec_order(spec: FieldSpec) -> tuple[int, str]:
    return _gvk_order(spec.gvk)


def _gvk_order(gvk: Gvk) -> tuple[int, str]:
    stable = f"{gvk.group or '~G'}_{gvk.version or '~V'}_{gvk.kind or '~K'}"
    return ORDER.get(gvk.kind, 0), stable


@lru_cache(maxsize=1)
def default() -> Config:
    name = [FieldSpec("metadata/name")]
    plain = Config(
        name_prefix=name,
        name_suffix=name,
        namespace=defaults.namespaces(),
        common_labels=defaults.common_labels(),
        labels=[],
        template_labels=defaults.metadata_labels(),
        claim_labels=defaults.claim_labels(),
        common_annotations=defaults.common_annotations(),
        variable_references=defaults.variable_references(),
        images=defaults.images(),
        replicas=defaults.replicas(),
        name_references=defaults.name_references(),
    )
    return empty().merged(plain.merged(empty()))


@lru_cache(maxsize=1)
def empty() -> Config:
    return Config(*([] for _ in fields(Config)))


def read(document: Any, file: str) -> Config:
    """A file of `configurations`."""
    data = decode(document, _SCHEMA, file)
    specs = {ours: [spec(entry) for entry in data.get(name, ())] for name, ours in _NAMES.items()}
    references: References = [
        (_gvk(entry), [spec(field) for field in entry.get("fieldSpecs", ())])
        for entry in data.get("nameReference", ())
    ]
    return Config(**specs, name_references=references)


def spec(entry: dict[str, Any]) -> FieldSpec:
    return FieldSpec(entry.get("path", ""), _gvk(entry), entry.get("create", False))


def _gvk(entry: dict[str, Any]) -> Gvk:
    return Gvk(entry.get("group", ""), entry.get("version", ""), entry.get("kind", ""))


# ------------------------------------------------------------------------------------------- crds

_ANNOTATION: Final = "x-kubernetes-annotation"
_SELECTOR: Final = "x-kubernetes-label-selector"
_IDENTITY: Final = "x-kubernetes-identity"
_REF_VERSION: Final = "x-kubernetes-object-ref-api-version"
_REF_KIND: Final = "x-kubernetes-object-ref-kind"
_REF_NAME: Final = "x-kubernetes-object-ref-name-key"


def from_crds(definitions: Any, file: str) -> Config:
    """What the extensions of OpenAPI definitions say about references and labels."""
    if not isinstance(definitions, dict) or not all(
        isinstance(definition, (dict, type(None))) for definition in definitions.values()
    ):
        raise Broken("unable to parse open API definition", file=file)
    result = empty()
    for name, definition in definitions.items():
        properties = _properties(definition)
        if {"kind", "apiVersion", "metadata"} <= properties.keys():
            found = _Crd(definitions, Gvk(kind=name.rsplit(".", 1)[-1]))
            found.load(name, (), ())
            result = result.merged(found.config())
    return result


class _Crd:
    def __init__(self, definitions: dict[str, Any], gvk: Gvk) -> None:
        self.definitions = definitions
        self.gvk = gvk
        self.annotations: Specs = []
        self.labels: Specs = []
        self.prefixes: Specs = []
        self.references: References = []

    def config(self) -> Config:
        return replace(
            empty(),
            common_annotations=self.annotations,
            common_labels=self.labels,
            name_prefix=self.prefixes,
            name_references=self.references,
        )

    def load(self, name: str, path: tuple[str, ...], seen: tuple[str, ...]) -> None:
        if name in seen:
            raise Broken(f"the definition {name} refers to itself", field="crds")
        for field, schema in _properties(self.definitions.get(name)).items():
            here = (*path, field)
            own = FieldSpec("/".join(here), self.gvk)
            if isinstance(schema.get(_ANNOTATION), str):
                self.annotations = merge_specs(self.annotations, [own])
            if isinstance(schema.get(_SELECTOR), str):
                self.labels = merge_specs(self.labels, [own])
            if isinstance(schema.get(_IDENTITY), str):
                self.prefixes = merge_specs(self.prefixes, [own])
            version, kind = schema.get(_REF_VERSION), schema.get(_REF_KIND)
            if isinstance(version, str) and isinstance(kind, str):
                key = schema.get(_REF_NAME, "name")
                named = FieldSpec("/".join((*here, key)), self.gvk)
                entry = (Gvk(version=version, kind=kind), [named])
                self.references = _merge_references(self.references, [entry])
            if isinstance(schema.get("$ref"), str):
                self.load(schema["$ref"], here, (*seen, name))


def _properties(definition: Any) -> dict[str, Any]:
    schema = (definition or {}).get("Schema") or (definition or {}).get("schema") or {}
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    return {key: value for key, value in properties.items() if isinstance(value, dict)}
