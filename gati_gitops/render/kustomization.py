"""The kustomization file: its fields, their types, and what kustomize puts right in old ones."""

from __future__ import annotations

from typing import Any, Final

from gati_gitops.render.decode import ANY, decode
from gati_gitops.render.errors import Broken, Unsupported
from gati_gitops.yamlio.goyaml_read import GoYamlError, read_config
from gati_gitops.yamlio.goyaml_read import decode as decode_text

FILE_NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")

_STRINGS: Final = {ANY: str}
FIELD_SPEC: Final = {"group": str, "version": str, "kind": str, "path": str, "create": bool}
_ID: Final = {"group": str, "version": str, "kind": str, "name": str, "namespace": str}
SELECTOR: Final = {**_ID, "annotationSelector": str, "labelSelector": str}
_OPTIONS: Final = {
    "labels": _STRINGS,
    "annotations": _STRINGS,
    "disableNameSuffixHash": bool,
    "immutable": bool,
}
CONFIG_MAP: Final = {
    "namespace": str,
    "name": str,
    "behavior": str,
    "literals": [str],
    "files": [str],
    "envs": [str],
    "env": str,
    "options": _OPTIONS,
}
SECRET: Final = {**CONFIG_MAP, "type": str}
_FIELD_OPTIONS: Final = {"delimiter": str, "index": int, "encoding": str, "create": bool}
REPLACEMENT: Final = {
    "source": {**_ID, "fieldPath": str, "options": _FIELD_OPTIONS},
    "sourceValue": str,
    "targets": [
        {
            "select": SELECTOR,
            "reject": [SELECTOR],
            "fieldPaths": [str],
            "options": _FIELD_OPTIONS,
        }
    ],
}
PATCH: Final = {
    "path": str,
    "patch": str,
    "target": SELECTOR,
    "options": {"allowNameChange": bool, "allowKindChange": bool},
}
IMAGE: Final = {"name": str, "newName": str, "tagSuffix": str, "newTag": str, "digest": str}
REPLICA: Final = {"name": str, "count": int}
_META: Final = {"name": str, "namespace": str, "labels": _STRINGS, "annotations": _STRINGS}
_ANYTHING: Final = object()

SCHEMA: Final[dict[str, Any]] = {
    "kind": str,
    "apiVersion": str,
    "metadata": _META,
    "openapi": _STRINGS,
    "namePrefix": str,
    "nameSuffix": str,
    "namespace": str,
    "commonLabels": _STRINGS,
    "labels": [
        {
            "pairs": _STRINGS,
            "includeSelectors": bool,
            "includeTemplates": bool,
            "includeVolumeClaimTemplates": bool,
            "fields": [FIELD_SPEC],
        }
    ],
    "commonAnnotations": _STRINGS,
    "patchesStrategicMerge": [str],
    "patchesJson6902": [PATCH],
    "patches": [PATCH],
    "images": [IMAGE],
    "imageTags": [IMAGE],
    "replacements": [{**REPLACEMENT, "path": str}],
    "replicas": [REPLICA],
    "vars": [
        {
            "name": str,
            "objref": {**_ID, "apiVersion": str},
            "fieldref": {"fieldPath": str},
        }
    ],
    "sortOptions": {
        "order": str,
        "legacySortOptions": {"orderFirst": [str], "orderLast": [str]},
    },
    "resources": [str],
    "components": [str],
    "crds": [str],
    "bases": [str],
    "configMapGenerator": [CONFIG_MAP],
    "secretGenerator": [SECRET],
    "generatorOptions": _OPTIONS,
    "configurations": [str],
    "generators": [str],
    "transformers": [str],
    "validators": [str],
    "buildMetadata": [str],
}
_HELM: Final = ("helmGlobals", "helmCharts", "helmChartInflationGenerator")
# Fields that have old spellings, or are one.
_MENDED: Final = ("bases", "imageTags", "configMapGenerator", "secretGenerator")
_API_VERSIONS: Final = {
    "Kustomization": "kustomize.config.k8s.io/v1beta1",
    "Component": "kustomize.config.k8s.io/v1alpha1",
}


def read_kustomization(data: bytes, file: str) -> dict[str, Any]:
    """The fields that are given, with old spellings moved to the new ones."""
    try:
        document = read_config(decode_text(data))
    except GoYamlError as error:
        kind = Unsupported if error.unsupported else Broken
        raise kind(f"invalid Kustomization: {error.message}", file=file, line=error.line) from error
    if document is None:
        document = {}
    if isinstance(document, dict) and not document.keys().isdisjoint(_HELM):
        for field in _HELM:
            if document.get(field):
                raise Unsupported("Helm charts are not supported", file=file, field=field)
            document.pop(field, None)
    fields: dict[str, Any] = decode(document, SCHEMA, file)
    _check_kind(fields, file)
    if not any(value != "" for name, value in fields.items() if name not in ("kind", "apiVersion")):
        raise Broken(
            "kustomization.yaml is empty", file=file, remedy="name resources, or remove it"
        )
    fields["kind"] = fields.get("kind") or "Kustomization"
    if not fields.keys().isdisjoint(_MENDED):
        _mend(fields)
    return fields


def _mend(fields: dict[str, Any]) -> None:
    for old, new in (("bases", "resources"), ("imageTags", "images")):
        if fields.get(old):
            fields[new] = [*fields.get(new, ()), *fields.pop(old)]
    for name in ("configMapGenerator", "secretGenerator"):
        for entry in fields.get(name, ()):
            if entry.get("env"):
                entry["envs"] = [*entry.get("envs", ()), entry.pop("env")]


def _check_kind(fields: dict[str, Any], file: str) -> None:
    kind = fields.get("kind") or "Kustomization"
    if kind not in _API_VERSIONS:
        raise Broken("kind should be Kustomization or Component", file=file, field="kind")
    version = fields.get("apiVersion")
    if version and version != _API_VERSIONS[kind]:
        raise Broken(
            f"apiVersion for {kind} should be {_API_VERSIONS[kind]}", file=file, field="apiVersion"
        )
