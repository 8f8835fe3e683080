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
from gati_gitops.yamlio.goyaml_drafts import draft_text
from gati_gitops.yamlio.goyaml_patterns import Draft
from gati_gitops.yamlio.goyaml_scalars import is_null, text_of, untagged_over
from gati_gitops.yamlio.goyaml_write import write_document

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
        "_id", "_obj", "behavior", "blank", "draft", "file", "kind_change", "name_change",
        "needs_hash", "origin", "prefixes", "previous", "suffixes", "transformations", "variables",
    )  # fmt: skip

    def __init__(self, obj: dict[str, Any] | Draft, file: str = "", *, blank: bool = True) -> None:
        # What was read, as long as nobody has asked for the object.
        self.draft = obj if type(obj) is Draft else None
        self._obj: Any = obj
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
    def obj(self) -> dict[str, Any]:
        """The object, for whoever looks into it or changes it."""
        if self.draft is not None:
            self._obj = self.draft.filled()
            self.draft = None
        obj: dict[str, Any] = self._obj
        return obj

    @obj.setter
    def obj(self, obj: dict[str, Any]) -> None:
        self._obj = obj
        self.draft = None

    @property
    def is_empty(self) -> bool:
        return self.draft is None and not self._obj

    def text(self) -> str:
        """The object as kustomize prints it."""
        text = None if self.draft is None else draft_text(self.draft)
        return write_document(self.obj) if text is None else text

    @property
    def api_version(self) -> str:
        if self.draft is not None:
            return self.draft.api_version
        value = self.obj.get("apiVersion")
        return value if type(value) is str else _scalar_text(value)

    @property
    def kind(self) -> str:
        if self.draft is not None:
            return self.draft.kind
        value = self.obj.get("kind")
        return value if type(value) is str else _scalar_text(value)

    @property
    def name(self) -> str:
        if self.draft is not None:
            return self.draft.name
        return self._meta("name")

    @property
    def namespace(self) -> str:
        if self.draft is not None:
            return self.draft.namespace
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
        what = self.draft or self
        api_version, kind, namespace = what.api_version, what.kind, what.namespace
        if schema.is_cluster_scoped(api_version, kind):
            namespace = NOWHERE
        elif not namespace:
            namespace = "default"
        self._id = Id(api_version, kind, what.name, namespace)
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

    def extend(self, resources: ResMap | Iterable[Resource]) -> None:
        if isinstance(resources, ResMap):
            mine, theirs = self.index(), resources.index()
            if len(theirs) == len(resources) and mine.keys().isdisjoint(theirs):
                mine.update(theirs)
                self.items += resources.items
                return
        for resource in resources:
            self.append(resource)

    def drop_empty(self) -> None:
        if any(resource.is_empty for resource in self.items):
            self.items = [resource for resource in self.items if not resource.is_empty]
            self._index = None

    def by_any_id(self) -> dict[Id, list[Resource]]:
        """Every id that a resource has or had."""
        found: dict[Id, list[Resource]] = {}
        for resource in self.items:
            if resource.is_empty:
                continue
            current = resource.id(self.schema)
            found.setdefault(current, []).append(resource)
            if resource.previous:
                for key in dict.fromkeys(resource.previous_ids()):
                    if key != current:
                        found.setdefault(key, []).append(resource)
        return found
