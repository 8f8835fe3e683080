"""Resources on their way through a build, and the ordered set that holds them.

kustomize remembers what a resource used to be called (and what made it so) in annotations that it
takes off again at the end. Here that memory is fields of `Resource`.

A resource is known by its id: apiVersion, kind, name and namespace, where the namespace of a
cluster-scoped kind is NOWHERE and no namespace means "default".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from gati_gitops.render.errors import Broken
from gati_gitops.render.openapi import Schema
from gati_gitops.yamlio.goyaml_scalars import is_null, text_of, untagged_over

NOWHERE: Final = "_non_namespaceable_"


class Id(NamedTuple):
    api_version: str
    kind: str
    name: str
    namespace: str

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace != NOWHERE else ""
        return f"{self.kind}.{self.api_version} {self.name}{where}"


class Gvk(NamedTuple):
    """A selector of kinds; an empty part matches anything."""

    group: str = ""
    version: str = ""
    kind: str = ""

    def selects(self, group: str, version: str, kind: str) -> bool:
        return (
            (not self.group or self.group == group)
            and (not self.version or self.version == version)
            and (not self.kind or self.kind == kind)
        )


def split_api_version(api_version: str) -> tuple[str, str]:
    group, slash, version = api_version.partition("/")
    return (group, version) if slash else ("", group)


def effective_namespace(schema: Schema, api_version: str, kind: str, namespace: str) -> str:
    if schema.is_cluster_scoped(api_version, kind):
        return NOWHERE
    return namespace or "default"


class Resource:
    __slots__ = (
        "_id", "behavior", "blank", "file", "kind_change", "name_change", "needs_hash", "obj",
        "origin", "prefixes", "previous", "suffixes", "transformations", "variables",
    )  # fmt: skip

    def __init__(self, obj: dict[str, Any], file: str = "", *, blank: bool = True) -> None:
        self.obj = obj
        self.file = file
        # Whether some key may have no value at all.
        self.blank = blank
        self._id: Id | None = None
        # (kind, name, namespace) before each change of name or namespace, oldest first.
        self.previous: list[tuple[str, str, str]] = []
        self.prefixes: list[str] = []
        self.suffixes: list[str] = []
        self.needs_hash = False
        self.behavior = ""
        self.variables: list[str] = []
        self.name_change = False
        self.kind_change = False
        self.origin: dict[str, Any] | None = None
        self.transformations: list[dict[str, Any]] = []

    @property
    def api_version(self) -> str:
        value = self.obj.get("apiVersion")
        return value if type(value) is str else _scalar_text(value)

    @property
    def kind(self) -> str:
        value = self.obj.get("kind")
        return value if type(value) is str else _scalar_text(value)

    @property
    def name(self) -> str:
        return self._meta("name")

    @property
    def namespace(self) -> str:
        return self._meta("namespace")

    def _meta(self, field: str) -> str:
        metadata = self.obj.get("metadata")
        value = metadata.get(field) if type(metadata) is dict else None
        if type(value) is str:
            return value
        return "" if is_null(value) or isinstance(value, (dict, list)) else text_of(value)

    def set_name(self, name: str) -> None:
        metadata = self.obj["metadata"]
        metadata["name"] = untagged_over(metadata.get("name"), name)
        self._id = None

    def touch(self) -> None:
        """The id may have changed."""
        self._id = None

    def id(self, schema: Schema) -> Id:
        if self._id is not None:
            return self._id
        api_version, kind = self.api_version, self.kind
        namespace = self.namespace
        if schema.is_cluster_scoped(api_version, kind):
            namespace = NOWHERE
        elif not namespace:
            namespace = "default"
        self._id = Id(api_version, kind, self.name, namespace)
        return self._id

    def previous_ids(self) -> Iterator[Id]:
        api_version = self.api_version
        for kind, name, namespace in self.previous:
            yield Id(api_version, kind, name, namespace)

    def original_id(self, schema: Schema) -> Id:
        return next(self.previous_ids()) if self.previous else self.id(schema)

    def remember(self, schema: Schema) -> None:
        """Note what the resource is called now, because that may change."""
        current = self.id(schema)
        if not current.name or not current.kind:
            raise Broken("a resource has lost its name or kind", file=self.file)
        self.previous.append((current.kind, current.name, current.namespace))

    def forget(self) -> None:
        """Lose the memory, as kustomize does when a patch wipes the annotations."""
        self.previous, self.prefixes, self.suffixes = [], [], []
        self.needs_hash = False
        self.behavior = ""
        self.origin = None
        self.transformations = []

    def texts(self, field: str) -> dict[str, str]:
        """Labels or annotations."""
        metadata = self.obj.get("metadata")
        values = metadata.get(field) if isinstance(metadata, dict) else None
        if not isinstance(values, dict):
            return {}
        return {
            key: "" if isinstance(value, (dict, list)) else text_of(value)
            for key, value in values.items()
        }


def _scalar_text(value: Any) -> str:
    return "" if value is None or isinstance(value, (dict, list)) else text_of(value)


class ResMap:
    """Resources in the order they came, no two with the same id."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.items: list[Resource] = []
        self._index: dict[Id, Resource] | None = {}

    def __iter__(self) -> Iterator[Resource]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def changed(self) -> None:
        """Ids or members are no longer what they were."""
        self._index = None
        for resource in self.items:
            resource.touch()

    def index(self) -> dict[Id, Resource]:
        if self._index is None:
            self._index = {resource.id(self.schema): resource for resource in self.items}
        return self._index

    def append(self, resource: Resource) -> None:
        index = self.index()
        key = resource.id(self.schema)
        if key in index:
            raise Broken(
                f"may not add resource with an already registered id: {key}",
                file=resource.file,
                remedy="the same object is named twice; remove one of the two",
            )
        index[key] = resource
        self.items.append(resource)

    def extend(self, resources: Iterable[Resource]) -> None:
        for resource in resources:
            self.append(resource)

    def drop_empty(self) -> None:
        if not all(resource.obj for resource in self.items):
            self.items = [resource for resource in self.items if resource.obj]
            self._index = None

    def by_any_id(self) -> dict[Id, list[Resource]]:
        """Every id that a resource has or had."""
        found: dict[Id, list[Resource]] = {}
        for resource in self.items:
            if not resource.obj:
                continue
            current = resource.id(self.schema)
            found.setdefault(current, []).append(resource)
            if resource.previous:
                for key in dict.fromkeys(resource.previous_ids()):
                    if key != current:
                        found.setdefault(key, []).append(resource)
        return found
