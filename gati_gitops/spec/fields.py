"""The models by YAML spelling, and what a misspelt field was probably meant as."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from gati_gitops.yamlio.strict import Path

# Fields of documents from before the CRDs were published, by kind, under spec.
OLD_NAMES = {
    "GatiHandler": {
        "route": "spec.handlerPath",
        "path": "spec.handlerPath",
        "handlerId": "metadata.name",
        "healthCheck": "spec.probes",
        "traffic": "spec.timescape.routingWeight",
        "weight": "spec.timescape.routingWeight",
    },
    "GatiModule": {"type": "spec.moduleType", "config": "spec.env", "healthCheck": "spec.probes"},
    "GatiVersion": {
        "traffic": "spec.routingWeight",
        "weight": "spec.routingWeight",
        "handlerId": "spec.handler",
        "handlers": "spec.handler",
        "version": "spec.versionId",
        "healthCheck": "spec.probes",
    },
}
NO_LONGER = {
    "method": "remove it: a handler answers every method of its path",
    "timestamp": "remove it: a version's age is not part of its spec",
    "active": "set the weight instead: 0 takes a version out of the traffic",
}


def step(annotation: Any, part: str | int) -> Any:
    """The type of one field or item of a type; None where there is none."""
    inner = _bare(annotation)
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        return next((kind for name, kind in names(inner) if name == part), None)
    origin, arguments = get_origin(inner), get_args(inner)
    if origin is list and isinstance(part, int):
        return arguments[0]
    return arguments[1] if origin is dict else None


def names(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    """The fields of a model as YAML spells them, with their types."""
    for name, field in model.model_fields.items():
        yield field.alias or name, field.annotation


def model_at(kind: type[BaseModel], path: Path) -> type[BaseModel] | None:
    """The model that describes the mapping at ``path``."""
    found: Any = kind
    for part in path:
        found = step(found, part)
    bare = _bare(found)
    return bare if isinstance(bare, type) and issubclass(bare, BaseModel) else None


def suggest(kind: type[BaseModel], path: Path) -> Path | None:
    """The field that an unknown one at ``path`` was probably meant as."""
    *parents, last = path
    parent, name = tuple(parents), str(last)
    old = OLD_NAMES.get(kind.__name__, {}).get(name)
    if old and parent == ("spec",):
        return tuple(old.split("."))
    here = model_at(kind, parent)
    if here is None:
        return None
    siblings = {_plain(field): field for field, _ in names(here)}
    close = difflib.get_close_matches(_plain(name), siblings, n=1, cutoff=0.75)
    if close:
        return (*parent, siblings[close[0]])
    for length in range(len(parent), -1, -1):
        start = parent[:length]
        for below in _below(kind, start):
            if _plain(str(below[-1])) == _plain(name):
                return below
    return next(
        (found for found in _below(kind, parent) if _close(str(found[-1]), name)),
        None,
    )


def _below(kind: type[BaseModel], start: Path) -> Iterator[Path]:
    """Fields under a mapping, nearest first; not into lists and free maps."""
    level = [start]
    for _ in range(3):
        deeper: list[Path] = []
        for path in level:
            model = model_at(kind, path)
            if model is not None:
                deeper += [(*path, field) for field, _ in names(model) if field != "status"]
        yield from deeper
        level = deeper


def _close(a: str, b: str) -> bool:
    return bool(difflib.get_close_matches(_plain(a), [_plain(b)], n=1, cutoff=0.85))


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _bare(annotation: Any) -> Any:
    """A type without Annotated and without the None of an optional field."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, types.UnionType):
            annotation = next(arm for arm in get_args(annotation) if arm is not types.NoneType)
        else:
            return annotation
