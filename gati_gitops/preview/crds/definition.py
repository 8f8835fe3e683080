"""A CustomResourceDefinition as it is compared, whichever API version it was written for.

In ``apiextensions.k8s.io/v1beta1`` schema, subresources and columns could stand beside the versions
and count for all of them, and fields that the schema does not list were kept unless it said
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from gati_gitops.preview.crds.model import At, Node, mapping, sequence, text

KIND = "CustomResourceDefinition"
_OLD_API = "apiextensions.k8s.io/v1beta1"
_SHARED = ("validation", "subresources", "additionalPrinterColumns")


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a definition."""

    name: str
    served: bool
    storage: bool
    schema: Node
    """What objects look like; empty: anything."""
    subresources: Node
    columns: tuple[Any, ...]
    selectable: frozenset[str]
    deprecated: bool
    other: Node
    at: At
    """Where it stands in the document."""
    schema_at: At

    @property
    def used(self) -> bool:
        """Whether anybody can have objects of it now."""
        return self.served or self.storage


@dataclass(frozen=True, slots=True)
class Definition:
    """One CRD."""

    name: str
    group: str
    kind: str
    scope: str
    names: Node
    versions: dict[str, Version]
    strategy: str
    webhook: Any
    keeps_unknown: bool
    stored: frozenset[str]
    """Versions that objects are stored in, as the cluster says; empty: nobody knows."""
    spec: Node
    read: frozenset[str] = field(default_factory=frozenset)
    """Words of the spec that were understood as something else."""
    twice: bool = False

    @property
    def storage(self) -> Version | None:
        return next((version for version in self.versions.values() if version.storage), None)


def definitions(documents: Iterable[object]) -> dict[str, Definition]:
    """The CRDs among documents, by name; of two with one name the last counts."""
    found: dict[str, Definition] = {}
    for document in documents:
        if is_definition(document):
            made = _definition(mapping(document))
            found[made.name] = replace(made, twice=made.name in found)
    return found


def is_definition(document: object) -> bool:
    return mapping(document).get("kind") == KIND


def definition_name(document: object) -> str:
    """``<plural>.<group>``, which the API server asks for as its name."""
    spec = mapping(mapping(document).get("spec"))
    named = text(mapping(mapping(document).get("metadata")).get("name"))
    plural = text(mapping(spec.get("names")).get("plural"))
    return named or f"{plural}.{text(spec.get('group'))}"


def _definition(document: Node) -> Definition:
    spec = mapping(document.get("spec"))
    names = mapping(spec.get("names"))
    group = text(spec.get("group"))
    old_api = document.get("apiVersion") == _OLD_API
    conversion = mapping(spec.get("conversion"))
    webhook = conversion.get("webhook") or {
        word: value for word, value in conversion.items() if word != "strategy"
    }
    stored = sequence(mapping(document.get("status")).get("storedVersions"))
    return Definition(
        name=definition_name(document),
        group=group,
        kind=text(names.get("kind")),
        scope=text(spec.get("scope")) or ("Namespaced" if old_api else ""),
        names=names,
        versions=_versions(spec, old_api=old_api),
        strategy=text(conversion.get("strategy")) or "None",
        webhook=webhook,
        keeps_unknown=spec.get("preserveUnknownFields", old_api) is True,
        stored=frozenset(name for name in stored if isinstance(name, str)),
        spec=spec,
        read=frozenset((*_SHARED, "version") if old_api else ()),
    )


def _versions(spec: Node, *, old_api: bool) -> dict[str, Version]:
    listed = [mapping(version) for version in sequence(spec.get("versions"))]
    if not listed and old_api and text(spec.get("version")):
        listed = [{"name": spec["version"], "served": True, "storage": True}]
    found: dict[str, Version] = {}
    for number, version in enumerate(listed):
        name = text(version.get("name"))
        at: At = ("spec", "versions", number)
        shared = old_api and not mapping(version.get("schema"))
        holder: Node = mapping(spec.get("validation") if shared else version.get("schema"))
        found[name] = Version(
            name=name,
            served=version.get("served") is True,
            storage=version.get("storage") is True,
            schema=mapping(holder.get("openAPIV3Schema")),
            subresources=mapping(_either(version, spec, "subresources", old_api)),
            columns=tuple(sequence(_either(version, spec, "additionalPrinterColumns", old_api))),
            selectable=frozenset(
                text(mapping(one).get("jsonPath"))
                for one in sequence(version.get("selectableFields"))
            ),
            deprecated=version.get("deprecated") is True,
            other={word: value for word, value in version.items() if word not in _KNOWN},
            at=at,
            schema_at=(("spec", "validation") if shared else (*at, "schema"))
            + ("openAPIV3Schema",),
        )
    return found


_KNOWN = {
    "name", "served", "storage", "schema", "subresources", "additionalPrinterColumns",
    "selectableFields", "deprecated", "deprecationWarning",
}  # fmt: skip


def _either(version: Node, spec: Node, word: str, old_api: bool) -> Any:
    return spec.get(word) if old_api and word not in version else version.get(word)
