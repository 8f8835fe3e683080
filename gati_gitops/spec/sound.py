"""Which documents no error has to do with.

A report names every problem at once. Rules across documents (weights that sum to 100, versions that
find their handler) would accuse the innocent where a document that belongs to them is broken, so
they are checked on what is left without such documents, and without whatever could depend on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gati_gitops.errors import Problem
from gati_gitops.spec.gather import Key, Raw

if TYPE_CHECKING:
    from gati_gitops.spec.load import Specs


def sound(specs: Specs, raws: Iterable[Raw], problems: Iterable[Problem]) -> Specs | None:
    """The specs without what an error touches; None if it is not sure what that is."""
    errors = [problem for problem in problems if problem.is_error]
    if not errors:
        return specs
    files = {problem.place.file for problem in errors}
    broken = [raw for raw in raws if raw.layer.file in files]
    named = {raw.key: raw for raw in broken if raw.key is not None}
    unsure = any(raw.key is None or raw.kind == "GatiProject" for raw in broken)
    if unsure or any(p.field.startswith("metadata") or p.code == "empty-input" for p in errors):
        return None
    known = {_key(doc): _path(doc.data) for doc in specs.handlers}
    handlers = {
        key: _path(raw.data) or known.get(key, "")  # a partial document has no path, its base does
        for key, raw in named.items()
        if key[0] == "GatiHandler"
    }
    lost = _namespaces_lost(specs, named, handlers)
    paths = {(key[1], path) for key, path in handlers.items()}
    keys = {_key(doc) for doc in (*specs.handlers, *specs.modules, *specs.versions)}
    gone = {key for key in keys if key[1] in lost} | named.keys()
    gone |= {key for key, path in known.items() if (key[1], path) in paths}
    gone |= {
        _key(doc)
        for doc in specs.versions
        if ("GatiHandler", _key(doc)[1], doc.model.spec.handler) in gone
    }
    return replace(
        specs,
        handlers=tuple(doc for doc in specs.handlers if _key(doc) not in gone),
        modules=tuple(doc for doc in specs.modules if _key(doc) not in gone),
        versions=tuple(doc for doc in specs.versions if _key(doc) not in gone),
        partials={
            where: {key: doc for key, doc in docs.items() if key not in gone}
            for where, docs in specs.partials.items()
        },
    )


def _namespaces_lost(specs: Specs, broken: Iterable[Key], handlers: Mapping[Key, str]) -> set[str]:
    """Namespaces where a version, broken or by rules of linking, could belong to any handler."""
    touched = {key[1] for key in broken}
    lost = {key[1] for key in broken if key[0] == "GatiVersion"}
    lost |= {key[1] for key, path in handlers.items() if not path}
    loose = (doc for doc in specs.versions if doc.model.spec.handler is None)
    return lost | ({_key(doc)[1] for doc in loose} & touched)


def _path(data: dict[str, Any]) -> str:
    spec = data.get("spec")
    path = spec.get("handlerPath") if isinstance(spec, dict) else None
    return path.rstrip("/") or "/" if isinstance(path, str) else ""


def _key(doc: Any) -> Key:
    metadata = doc.model.metadata
    return (doc.model.kind, metadata.namespace, metadata.name)
