"""One folder with a kustomization: gather, generate, transform.

The order is kustomize's: resources, configuration, generators, components, then the
transformations in a fixed sequence whatever their order in the file. Hashes, references and vars
come last and once, for the whole build.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gati_gitops.render import config as configs
from gati_gitops.render import openapi, transforms
from gati_gitops.render.config import Config
from gati_gitops.render.errors import Broken, RenderError, Unsupported
from gati_gitops.render.fieldspec import FieldSpec, merge_specs
from gati_gitops.render.files import FileSystem
from gati_gitops.render.finish import drop_local, finish
from gati_gitops.render.kustomization import FILE_NAMES, read_kustomization
from gati_gitops.render.load import Loader, resources_from, wrapped
from gati_gitops.render.namerefs import fix_references
from gati_gitops.render.order import sorted_resources
from gati_gitops.render.origin import Tracker, annotate
from gati_gitops.render.patches import (
    apply_json6902,
    apply_patches,
    apply_strategic_merges,
    load_json6902,
    load_patch,
    load_strategic_merges,
)
from gati_gitops.render.resource import ResMap, Resource
from gati_gitops.yamlio.goyaml_read import GoYamlError, read_config

Fields = dict[str, Any]
Variables = dict[str, dict[str, Any]]
Steps = Iterator[tuple[str, Callable[[], None]]]


@dataclass(slots=True)
class Gathered:
    """What a folder hands to the one above it."""

    resources: ResMap
    config: Config | None = None
    variables: Variables = field(default_factory=dict)

    def add_config(self, config: Config) -> Config:
        if self.config is None and config is configs.default():
            self.config = config
        else:
            # Not the same as just taking it over: merging drops what an earlier spec covers.
            self.config = (self.config or configs.empty()).merged(config)
        return self.config

    def add(self, other: Gathered, file: str) -> None:
        self.resources.extend(other.resources)
        if other.config is not None:
            self.add_config(other.config)
        if other.variables:
            from gati_gitops.render.variables import merge_variable

            for variable in other.variables.values():
                merge_variable(self.variables, variable, file)


def build(files: FileSystem, path: str) -> list[Resource]:
    """The resources of a folder, as they would be printed."""
    if not files.is_dir(path):
        raise Broken("must build at directory", file=path or ".")
    root = files.real(path)
    loader = Loader(files, root, openapi.builtin())
    fields, file = _load(loader)
    schema = _schema(loader, fields, file)
    loader = Loader(files, root, schema or openapi.builtin())
    gathered = Gathered(ResMap(loader.schema))
    options = fields.get("buildMetadata", [])
    tracked = "" if options else None
    _Target(loader, fields, file, custom=schema is not None, origin=tracked).gather(gathered)
    resources = gathered.resources
    assert gathered.config is not None
    try:
        _add_hashes(resources)
        fix_references(resources, gathered.config.name_references)
        _resolve_variables(gathered, gathered.config)
    except RenderError as error:
        error.at(file)
        raise
    drop_local(resources)
    ordered = sorted_resources(resources.items, fields.get("sortOptions"))
    resources.changed()
    if len(resources.index()) != len(resources):
        raise Broken("two resources have the same id", file=file)
    for resource in ordered:
        finish(resource)
        if options:
            annotate(resource, options)
    return ordered


# Most builds generate nothing, and have no vars, replacements or plugins: what does these is
# imported by the first who needs it.


def _add_hashes(resources: ResMap) -> None:
    if any(resource.needs_hash for resource in resources):
        from gati_gitops.render.generators import add_hashes

        add_hashes(resources)


def _resolve_variables(gathered: Gathered, config: Config) -> None:
    if gathered.variables:
        from gati_gitops.render.variables import resolve_variables

        resolve_variables(gathered.resources, gathered.variables, config.variable_references)


def _load(loader: Loader) -> tuple[Fields, str]:
    prefix = f"{loader.root}/" if loader.root else ""
    paths = [prefix + name for name in FILE_NAMES if loader.files.is_file(prefix + name)]
    read = loader.files.read
    found = [(data, path) for path in paths if (data := read(path)) is not None]
    if not found and not loader.files.is_dir(loader.root):
        raise Broken("no such file or folder", file=loader.root)
    if not found:
        raise Broken(
            "unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization'",
            file=loader.root or ".",
            remedy="add a kustomization.yaml that names the resources",
        )
    if len(found) > 1:
        raise Broken("Found multiple kustomization files", file=loader.root)
    return read_kustomization(*found[0]), found[0][1]


def _schema(loader: Loader, fields: Fields, file: str) -> openapi.Schema | None:
    """The schema that a kustomization brings along."""
    given = fields.get("openapi", {})
    if "path" in given:
        if "version" in given:
            raise Broken("builtin version and custom schema provided, cannot use both", file=file)
        text = loader.text(given["path"])
        try:
            document = json.loads(text) if text.startswith("{") else read_config(text)
        except GoYamlError as error:
            raise wrapped(error, loader.path(given["path"])) from error
        except ValueError as error:
            raise Broken(
                f"invalid schema file: {error}", file=loader.path(given["path"])
            ) from error
        if not isinstance(document, dict):
            raise Broken("invalid schema file", file=loader.path(given["path"]))
        return openapi.custom(document)
    if given.get("version") not in (None, "", "v1.21.2"):
        raise Broken("the specified OpenAPI version is not built in", file=file, field="openapi")
    return None


class _Target:
    def __init__(
        self, loader: Loader, fields: Fields, file: str, *, custom: bool, origin: str | None
    ) -> None:
        self.loader = loader
        self.fields = fields
        self.file = file
        self.custom = custom
        self.track = Tracker(origin, posixpath.basename(file))

    def gather(self, into: Gathered) -> None:
        """Fill `into`, which is empty for a kustomization and the parent's for a component."""
        fields = self.fields
        self._resources(fields.get("resources", ()), into)
        self._configure(into)
        if not fields.keys().isdisjoint(_GENERATING):
            self._generate(into)
        for path in fields.get("components", ()):
            self._component(path, into)
        if not fields.keys().isdisjoint(_TRANSFORMING):
            try:
                self._transform(into)
            except RenderError as error:
                error.at(self.file)
                raise
        for path in fields.get("validators", ()):
            raise Unsupported("validators are not supported", file=self.file, field=path)
        if fields.get("vars"):
            from gati_gitops.render.variables import add_variables

            add_variables(into.resources, into.variables, fields["vars"], self.file)

    # ---------------------------------------------------------------------------------- resources

    def _resources(self, paths: Any, into: Gathered) -> None:
        for path in paths:
            try:
                found = None if path.startswith("..") else self.loader.find_resources(path)
                if found is None:
                    self._base(path, into)
                else:
                    self.track.from_file(found, path)
                    into.resources.extend(found)
            except RenderError as error:
                error.at(self.file)
                raise

    def _enter(self, path: str) -> _Target:
        loader = self.loader.enter(path)
        fields, file = _load(loader)
        if not self.custom and not {"path", "version"}.isdisjoint(fields.get("openapi", {})):
            raise Unsupported("openapi below the top is not supported", file=file)
        return _Target(loader, fields, file, custom=self.custom, origin=self.track.below(path))

    def _base(self, path: str, into: Gathered) -> None:
        target = self._enter(path)
        if target.fields["kind"] == "Component":
            raise Broken(
                "a component cannot be a resource",
                file=self.file,
                remedy="name it under components",
            )
        gathered = Gathered(ResMap(self.loader.schema))
        target.gather(gathered)
        into.add(gathered, self.file)

    def _component(self, path: str, into: Gathered) -> None:
        try:
            target = self._enter(path)
            if target.fields["kind"] != "Component":
                raise Broken(
                    f"expected kind 'Component' but got '{target.fields['kind']}'",
                    file=target.file,
                    remedy="name it under resources",
                )
            target.gather(into)
        except RenderError as error:
            error.at(self.file)
            raise

    def _configure(self, into: Gathered) -> None:
        config = configs.default()
        added = configs.empty()
        for path in self.fields.get("configurations", ()):
            document = self.loader.config(path)
            added = added.merged(configs.read(document, self.loader.path(path)))
        if added is not configs.empty():
            config = config.merged(added)
        into.add_config(config)
        for path in self.fields.get("crds", ()):
            document = self.loader.config(path)
            into.add_config(configs.from_crds(document, self.loader.path(path)))

    # --------------------------------------------------------------------------------- generators

    def _generate(self, into: Gathered) -> None:
        from gati_gitops.render import plugins
        from gati_gitops.render.generators import absorb, generate

        fields = self.fields
        common = fields.get("generatorOptions", {})
        made: list[Resource] = []
        for kind, name in (("ConfigMap", "configMapGenerator"), ("Secret", "secretGenerator")):
            entries = fields.get(name, ())
            objects = [generate(self.loader, kind, entry, common, self.file) for entry in entries]
            self.track.generated(objects, f"{kind}Generator")
            made += objects
        for plugin in self._plugins("generators"):
            objects = plugins.generate(plugin, self.loader, self.file)
            self.track.generated_by(objects, plugin)
            made += objects
        for resource in made:
            absorb(into.resources, resource)

    def _plugins(self, name: str) -> list[Resource]:
        """The configurations of plugins: in place, in files or in folders."""
        gathered = Gathered(ResMap(self.loader.schema))
        paths = []
        for entry in self.fields.get(name, ()):
            try:
                inline = resources_from(entry, self.file)
            except Broken:
                paths.append(entry)
                continue
            self.track.from_file(inline, posixpath.basename(self.file))
            gathered.resources.extend(inline)
        self._resources(paths, gathered)
        return gathered.resources.items

    # ------------------------------------------------------------------------------- transformers

    def _transform(self, into: Gathered) -> None:
        assert into.config is not None
        resources = into.resources
        # Everything is read before anything is changed.
        steps = [
            *self._patch_steps(resources),
            *self._name_steps(resources, into.config),
            *self._value_steps(resources, into.config),
        ]
        extra = self._plugins("transformers")
        for kind, step in steps:
            step()
            resources.drop_empty()
            self.track.transformed(resources, f"{kind}Transformer")
        for plugin in extra:
            from gati_gitops.render import plugins

            plugins.transform(plugin, resources, self.loader, self.file)
            self.track.transformed_by(resources, plugin)
            resources.drop_empty()

    def _patch_steps(self, resources: ResMap) -> Steps:
        fields, loader = self.fields, self.loader
        if merges := fields.get("patchesStrategicMerge"):
            strategic = load_strategic_merges(loader, merges, self.file)
            yield "PatchStrategicMerge", partial(apply_strategic_merges, resources, strategic)
        patches = [load_patch(loader, entry, self.file) for entry in fields.get("patches", ())]
        if self.track.path is None and patches:
            yield "Patch", partial(apply_patches, resources, patches)
        else:
            for patch in patches:
                yield "Patch", partial(apply_patches, resources, [patch])

    def _name_steps(self, resources: ResMap, config: Config) -> Steps:
        fields = self.fields
        if namespace := fields.get("namespace"):
            run = partial(transforms.set_namespace, resources, namespace, config.namespace)
            yield "Namespace", run
        if prefix := fields.get("namePrefix"):
            yield "Prefix", partial(transforms.add_prefix, resources, prefix, config.name_prefix)
        if suffix := fields.get("nameSuffix"):
            yield "Suffix", partial(transforms.add_suffix, resources, suffix, config.name_suffix)
        for pairs, specs in self._label_specs(config):
            yield "Label", partial(transforms.add_texts, resources, pairs, specs)
        if texts := fields.get("commonAnnotations"):
            run = partial(transforms.add_texts, resources, texts, config.common_annotations)
            yield "Annotations", run

    def _value_steps(self, resources: ResMap, config: Config) -> Steps:
        fields, loader = self.fields, self.loader
        for entry in fields.get("patchesJson6902", ()):
            patch = load_json6902(loader, entry, self.file)
            yield "PatchJson6902", partial(apply_json6902, resources, patch)
        for replica in fields.get("replicas", ()):
            name, count = replica.get("name", ""), replica.get("count", 0)
            run = partial(transforms.set_replicas, resources, name, count, config.replicas)
            yield "ReplicaCount", run
        for image in fields.get("images", ()):
            yield "ImageTag", partial(transforms.set_image, resources, image, config.images)
        if replacements := fields.get("replacements"):
            from gati_gitops.render.replacements import apply_replacements, load_replacements

            loaded = load_replacements(loader, replacements, self.file)
            yield "Replacement", partial(apply_replacements, resources, loaded)

    def _label_specs(self, config: Config) -> list[tuple[dict[str, str], list[FieldSpec]]]:
        if not self.fields.get("labels") and not self.fields.get("commonLabels"):
            return []
        result = []
        for label in self.fields.get("labels", ()):
            specs = merge_specs(
                [configs.spec(entry) for entry in label.get("fields", ())], config.labels
            )
            if label.get("includeSelectors"):
                specs = merge_specs(specs, config.common_labels)
            else:
                if label.get("includeTemplates"):
                    specs = merge_specs(specs, config.template_labels)
                if label.get("includeVolumeClaimTemplates"):
                    specs = merge_specs(specs, config.claim_labels)
                specs = merge_specs(specs, [FieldSpec("metadata/labels", create=True)])
            result.append((label.get("pairs", {}), specs))
        result.append((self.fields.get("commonLabels", {}), config.common_labels))
        return result


_GENERATING = frozenset(("configMapGenerator", "secretGenerator", "generators"))
_TRANSFORMING = frozenset(
    (
        "patchesStrategicMerge", "patches", "namespace", "namePrefix", "nameSuffix", "labels",
        "commonLabels", "commonAnnotations", "patchesJson6902", "replicas", "images",
        "replacements", "transformers",
    )
)  # fmt: skip
