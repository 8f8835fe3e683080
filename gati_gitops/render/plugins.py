"""Built-in transformers and generators that are configured as objects of their own.

    transformers:
    - |-
      apiVersion: builtin
      kind: PrefixTransformer
      metadata: {name: any}
      prefix: foo-
      fieldSpecs: [{path: metadata/name}]

The same work as the fields of a kustomization, with field specs of the user's choice. Plugins
that are programs are not supported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gati_gitops.render import transforms
from gati_gitops.render.config import spec
from gati_gitops.render.decode import ANY, decode
from gati_gitops.render.errors import Broken, Unsupported
from gati_gitops.render.fieldspec import FieldSpec
from gati_gitops.render.generators import add_hashes
from gati_gitops.render.generators import generate as generate_object
from gati_gitops.render.kustomization import (
    CONFIG_MAP,
    FIELD_SPEC,
    IMAGE,
    PATCH,
    REPLACEMENT,
    REPLICA,
    SECRET,
    SELECTOR,
)
from gati_gitops.render.load import Loader, resources_from
from gati_gitops.render.patches import (
    apply_json6902,
    apply_patches,
    apply_strategic_merges,
    load_json6902,
    load_patch,
    load_strategic_merges,
)
from gati_gitops.render.replacements import apply_replacements, load_replacements
from gati_gitops.render.resource import ResMap, Resource
from gati_gitops.yamlio.goyaml_scalars import plain, resolve

_SPECS: Final = [FIELD_SPEC]
_TEXTS: Final = {ANY: str}
_META: Final = {"name": str, "namespace": str}
Settings = dict[str, Any]


def transform(plugin: Resource, resources: ResMap, loader: Loader, file: str) -> None:
    kind = _builtin(plugin)
    if kind not in _TRANSFORMERS:
        raise Unsupported(f"the transformer {kind} is not supported", file=plugin.file)
    schema, run = _TRANSFORMERS[kind]
    settings = decode(plain(plugin.obj), schema, plugin.file, strict=False)
    run(settings, resources, loader, plugin.file or file)
    resources.changed()


def generate(plugin: Resource, loader: Loader, file: str) -> list[Resource]:
    kind = _builtin(plugin)
    if kind == "IAMPolicyGenerator":
        return [_workload_identity(plugin)]
    if kind not in ("ConfigMapGenerator", "SecretGenerator"):
        raise Unsupported(f"the generator {kind} is not supported", file=plugin.file)
    schema = {**(CONFIG_MAP if kind == "ConfigMapGenerator" else SECRET), "metadata": _META}
    settings = decode(plain(plugin.obj), schema, plugin.file, strict=False)
    for field in ("name", "namespace"):
        settings[field] = settings.get(field) or settings.get("metadata", {}).get(field, "")
    return [generate_object(loader, kind.removesuffix("Generator"), settings, {}, file)]


def _workload_identity(plugin: Resource) -> Resource:
    """The service account that binds pods to an identity of Google's cloud."""
    schema = {
        "cloud": str,
        "kubernetesService": {"name": str, "namespace": str},
        "serviceAccount": {"name": str, "projectId": str},
    }
    settings = decode(plain(plugin.obj), schema, plugin.file, strict=False)
    if settings.get("cloud") != "gke":
        raise Broken(f"cloud provider {settings.get('cloud', '')} not supported", file=plugin.file)
    service, account = settings.get("kubernetesService", {}), settings.get("serviceAccount", {})
    member = f"{account.get('name', '')}@{account.get('projectId', '')}.iam.gserviceaccount.com"
    metadata: dict[str, Any] = {
        "annotations": {"iam.gke.io/gcp-service-account": resolve(member)},
        "name": resolve(service.get("name", "")),
    }
    if service.get("namespace"):
        metadata["namespace"] = resolve(service["namespace"])
    obj = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    return Resource(obj, plugin.file)


def _builtin(plugin: Resource) -> str:
    if plugin.api_version != "builtin":
        raise Unsupported(
            f"plugins that are programs are not supported: {plugin.api_version} {plugin.kind}",
            file=plugin.file,
        )
    return plugin.kind


def _specs(settings: Settings) -> list[FieldSpec]:
    return [spec(entry) for entry in settings.get("fieldSpecs", ())]


def _required_specs(settings: Settings, file: str) -> list[FieldSpec]:
    if "fieldSpecs" not in settings:
        raise Broken("fieldSpecs is not expected to be nil", file=file)
    return _specs(settings)


def _prefix(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    specs = _required_specs(settings, file)
    transforms.add_prefix(resources, settings.get("prefix", ""), specs)


def _suffix(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    specs = _required_specs(settings, file)
    transforms.add_suffix(resources, settings.get("suffix", ""), specs)


def _prefix_and_suffix(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    _prefix(settings, resources, loader, file)
    _suffix(settings, resources, loader, file)


def _namespace(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    namespace = settings.get("metadata", {}).get("namespace", "")
    subjects = settings.get("setRoleBindingSubjects") or "defaultOnly"
    if subjects not in ("defaultOnly", "none", "allServiceAccounts"):
        raise Broken(f"invalid value {subjects!r}", file=file, field="setRoleBindingSubjects")
    if namespace:
        transforms.set_namespace(
            resources,
            namespace,
            _specs(settings),
            unset_only=settings.get("unsetOnly", False),
            subjects=subjects,
        )


def _labels(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    transforms.add_texts(resources, settings.get("labels", {}), _specs(settings))


def _annotations(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    transforms.add_texts(resources, settings.get("annotations", {}), _specs(settings))


def _image(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    transforms.set_image(resources, settings.get("imageTag", {}), _specs(settings))


def _replicas(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    replica = settings.get("replica", {})
    name, count = replica.get("name", ""), replica.get("count", 0)
    transforms.set_replicas(resources, name, count, _specs(settings))


def _patch(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    apply_patches(resources, [load_patch(loader, settings, file)])


def _strategic(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    paths, text = settings.get("paths", []), settings.get("patches", "")
    if not paths and not text:
        raise Broken("empty file path and empty patch content", file=file)
    patches = load_strategic_merges(loader, paths, file) if paths else []
    patches += resources_from(text, file) if text else []
    apply_strategic_merges(resources, patches)


def _json6902(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    entry = {**settings, "patch": settings.get("jsonOp", "")}
    apply_json6902(resources, load_json6902(loader, entry, file))


def _replacement(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    entries = settings.get("replacements", [])
    apply_replacements(resources, load_replacements(loader, entries, file))


def _hash(settings: Settings, resources: ResMap, loader: Loader, file: str) -> None:
    add_hashes(resources)


Run = Callable[[Settings, ResMap, Loader, str], None]
_TRANSFORMERS: Final[dict[str, tuple[dict[str, Any], Run]]] = {
    "PrefixTransformer": ({"prefix": str, "fieldSpecs": _SPECS}, _prefix),
    "SuffixTransformer": ({"suffix": str, "fieldSpecs": _SPECS}, _suffix),
    "PrefixSuffixTransformer": (
        {"prefix": str, "suffix": str, "fieldSpecs": _SPECS},
        _prefix_and_suffix,
    ),
    "NamespaceTransformer": (
        {
            "metadata": _META,
            "fieldSpecs": _SPECS,
            "unsetOnly": bool,
            "setRoleBindingSubjects": str,
        },
        _namespace,
    ),
    "LabelTransformer": ({"labels": _TEXTS, "fieldSpecs": _SPECS}, _labels),
    "AnnotationsTransformer": ({"annotations": _TEXTS, "fieldSpecs": _SPECS}, _annotations),
    "ImageTagTransformer": ({"imageTag": IMAGE, "fieldSpecs": _SPECS}, _image),
    "ReplicaCountTransformer": ({"replica": REPLICA, "fieldSpecs": _SPECS}, _replicas),
    "PatchTransformer": (PATCH, _patch),
    "PatchStrategicMergeTransformer": ({"paths": [str], "patches": str}, _strategic),
    "PatchJson6902Transformer": ({"target": SELECTOR, "path": str, "jsonOp": str}, _json6902),
    "ReplacementTransformer": (
        {"replacements": [{**REPLACEMENT, "path": str}]},
        _replacement,
    ),
    "HashTransformer": ({}, _hash),
}
