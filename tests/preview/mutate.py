"""Specs changed in one field, and what that does to the output: the judge of explanations."""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from gati_gitops.compiler import compile_specs
from gati_gitops.errors import GatiError
from gati_gitops.output import Output
from gati_gitops.preview.explain import Explainer, Origin, leaves, origins, show
from gati_gitops.preview.explain.files import scope_of
from gati_gitops.preview.explain.origins import located
from gati_gitops.spec.kinds import GatiHandler, GatiModule, GatiVersion
from gati_gitops.spec.link import link_all
from gati_gitops.spec.load import load
from gati_gitops.spec.project import GatiProject
from gati_gitops.spec.schema import schema_of
from gati_gitops.tree import MemorySnapshot, Tree
from gati_gitops.yamlio.emit import dump_all
from gati_gitops.yamlio.goyaml_read import decode, read_resources
from gati_gitops.yamlio.goyaml_scalars import plain
from gati_gitops.yamlio.strict import marks, read

Key = tuple[str, str, str]
"""File, kind and name of an object."""
REMOVED = object()
RENAMED = object()
MODELS = {m.__name__: m for m in (GatiHandler, GatiModule, GatiVersion, GatiProject)}
_INDEX = re.compile(r"\[\d+\]")
_CRDS = re.compile(r"(crds|overlays/[^/]+/[^/]+/_crds)/")


def compiled(files: Tree, before: Tree) -> Tree:
    return compile_specs(load(files.items()), MemorySnapshot(before)).tree


def objects(tree: Tree) -> dict[Key, dict[str, Any]]:
    """Every document of a tree but CRDs, which are the same everywhere."""
    found: dict[Key, dict[str, Any]] = {}
    for file, content in tree.items():
        if not _CRDS.match(file):
            for document in read_resources(decode(content)):
                made = plain(document)
                name = (made.get("metadata") or {}).get("name", "")
                found[file, str(made.get("kind", "")), name] = made
    return found


@dataclass(frozen=True)
class Field:
    """One field of one object, explained."""

    key: Key
    table: str
    path: tuple[str | int, ...]
    value: Any
    origin: Origin

    @property
    def shape(self) -> str:
        """The same for fields that the same line of a table is about."""
        return f"{self.table} {_INDEX.sub('[]', show(self.path))}"


def explained(files: Tree, tree: Tree) -> list[Field]:
    specs = load(files.items())
    output = MemorySnapshot(tree)
    explainer = Explainer(specs, link_all(specs, Output(output).names()))
    found = []
    for key, made in objects(tree).items():
        scope = scope_of(explainer, output, key[0])
        table = located(scope, made, key[0])[1]
        by_path = origins(scope, made, key[0])
        for path, value in leaves(made):
            found.append(Field(key, table, path, value, by_path[show(path)]))
    return found


# -- changing a spec -----------------------------------------------------------------------------


@dataclass
class Spot:
    """A field of a document of the specs."""

    file: str
    documents: list[Any]
    number: int
    steps: list[str | int]

    @property
    def kind(self) -> str:
        return self.documents[self.number].get("kind", "")

    def value(self) -> Any:
        value = self.documents[self.number]
        for step in self.steps:
            value = value[step]
        return value

    def changed(self, new: Any) -> bytes:
        documents = copy.deepcopy(self.documents)
        holder = documents[self.number]
        for step in self.steps[:-1]:
            holder = holder.setdefault(step, {}) if isinstance(holder, dict) else holder[step]
        last = self.steps[-1]
        if last == "routingWeight" and isinstance(new, int):
            _balance(documents, documents[self.number], new - holder[last])
        if new is REMOVED:
            del holder[last]
        elif new is RENAMED:
            holder[f"{last}x"] = holder.pop(last)
        else:
            holder[last] = new
        return dump_all(documents, "Changed.")


def _balance(documents: list[Any], but: Any, more: int) -> None:
    """Weights sum to 100, so another version gets less."""
    for document in documents:
        for holder in (document["spec"], document["spec"].get("timescape") or {}):
            if document is not but and "routingWeight" in holder:
                holder["routingWeight"] -= more
                return


def steps_of(field: str) -> list[str | int]:
    found = re.findall(r'\.?([^.\[\]]+)|\[(\d+)\]|\["(.*?)"\]', field)
    return [int(index) if index else name or key for name, index, key in found]


def spot(files: Tree, origin: Origin) -> Spot:
    """Where an origin points."""
    steps = steps_of(origin.field)
    content = files[origin.file]
    documents = [document.value for document in read(content, origin.file).documents]
    for number, document in enumerate(documents):
        mark = marks(content, number).get(tuple(steps))
        if mark is not None and origin.line in (mark.key[0], mark.value[0]):
            return Spot(origin.file, documents, number, steps)
        if not origin.line and "kind" in document:  # Nobody wrote it: any document will do.
            return Spot(origin.file, documents, number, steps)
    raise AssertionError(f"{origin.place} does not hold {origin.field}")


tree_of = cache(schema_of)
_TEXTS = (
    "x", "y9", "v9", "/x", "/x/:id", "7", "150m", "96Mi", "40s", "3h", "x.example.com", "a/b", "x/y:9",
    "10.99.0.0/16", "https://x.example/a.git", "status.hostIP", "Europe/Paris", "0 5 * * *",
    "up", "http://x:9090", "X",
)  # fmt: skip


def samples(kind: str, steps: list[str | int]) -> Iterator[Any]:
    """Values that a field of a kind may have."""
    node = tree_of(MODELS[kind])
    for step in steps:
        if isinstance(step, int):
            node = node.get("items", {})
        elif "properties" in node:
            node = node["properties"].get(step, {})
        else:
            extra = node.get("additionalProperties")
            node = extra if isinstance(extra, dict) else {}
    if steps[-1] == "steps":
        yield [25, 100]
    elif steps[-1] == "freeze":
        yield [{"reason": "x", "from": "Fri 18:00", "until": "Mon 06:00"}]
    elif steps[-1] == "metrics" and node.get("type") == "array":
        yield from ([{"type": "external", "name": "x", "target": "1"}], [_TOGETHER["type"][0]])
    else:
        yield from _samples(node)


def _samples(node: dict[str, Any]) -> Iterator[Any]:
    if "enum" in node:
        yield from node["enum"]
    elif node.get("type") == "boolean":
        yield from (True, False)
    elif node.get("type") in ("integer", "number"):
        low, high = node.get("minimum", 1), node.get("maximum", 99)
        yield from (v for v in (low, low + 1, low + 2, low + 3, 7, 41, high) if low <= v <= high)
    elif node.get("type") == "array":
        yield from ([item] for item in _samples(node["items"]))
    elif node.get("type") == "object":
        needed = {
            name: next(_samples(node["properties"][name])) for name in node.get("required", ())
        }
        yield needed or {"x": "y"}
    elif node.get("type") == "string" or not node:
        pattern = re.compile(node.get("pattern", ""))
        yield from (text for text in _TEXTS if pattern.search(text))


_TOGETHER = {
    "engine": ({"engine": "flux"}, {"engine": "argocd"}),
    "provider": ({"provider": "gateway-api"}, {"provider": "istio"}, {"provider": "traefik"}),
    "type": (
        {"type": "memory", "utilization": 50},
        {"type": "external", "name": "x", "target": "1"},
        {"type": "cron", "timezone": "UTC", "start": "0 5 * * *", "end": "0 6 * * *", "replicas": 9},
    ),
}  # fmt: skip
"""Fields that decide which others may stand beside them."""


def changes(where: Spot) -> Iterator[tuple[Spot, Any]]:
    """Ways to change a field, with what cannot stay as it is beside it."""
    last = where.steps[-1]
    if last in ("engine", "provider") or (last == "type" and "metrics" in where.steps):
        parent = Spot(where.file, where.documents, where.number, where.steps[:-1])
        yield from ((parent, new) for new in _TOGETHER[last] if new[last] != where.value())
    yield from ((where, new) for new in variants(where) if new != where.value())


def variants(where: Spot) -> Iterator[Any]:
    """Other values for a field, likely ones first."""
    value = where.value()
    if where.kind == "GatiProject" and isinstance(value, dict):
        yield RENAMED
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, value + 5)
    elif isinstance(value, str):
        yield from (f"{value}x", f"x{value}", REMOVED, f"{value}/x", f"{value}9")
        image = re.fullmatch(r"(.*/)?([^:@]+)((?::|@).*)?", value)
        if image and "/" in value:
            yield f"{image[1]}{image[2]}-x:9"
        yield re.sub(r"\d+", lambda m: str(int(m[0]) + 1), value)
    elif isinstance(value, list):
        yield from ([*value[1:]], [*value[:-1]])
        for index, item in enumerate(value):
            if isinstance(item, str):
                yield [*value[:index], f"{item}x", *value[index + 1 :]]
            if isinstance(item, dict):
                for name in item:
                    for new in variants(Spot(where.file, [item], 0, [name])):
                        if new not in (REMOVED, RENAMED):
                            yield [*value[:index], {**item, name: new}, *value[index + 1 :]]
    elif isinstance(value, dict):
        for name in value:
            for new in variants(Spot(where.file, [value], 0, [name])):
                if new not in (REMOVED, RENAMED):
                    yield {**value, name: new}
            yield {k: v for k, v in value.items() if k != name}
    yield from samples(where.kind, where.steps) if where.kind in MODELS else ()
    yield REMOVED


def recompiled(
    files: Tree, before: Tree, where: Spot, new: Any
) -> dict[Key, dict[str, Any]] | None:
    """The objects after a change; None where it is no valid spec."""
    try:
        changed = {**files, where.file: where.changed(new)}
        return objects(compiled(changed, before))
    except (GatiError, KeyError, IndexError, TypeError):
        return None


def differs(field: Field, old: dict[Key, Any], new: dict[Key, Any]) -> bool:
    """Whether a field is another one after a change; an object may have another name by then."""
    if field.key in new:
        candidates = [new[field.key]]
    else:
        kind = field.key[1]
        candidates = [made for key, made in new.items() if key not in old and key[1] == kind]
    return all(value_at(made, field.path) != field.value for made in candidates)


def value_at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return REMOVED
    return value
