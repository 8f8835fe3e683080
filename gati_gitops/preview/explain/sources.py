"""Sources: the fields of documents that rules name, and whether somebody wrote them.

``.port``                 a field of the version's spec: of its GatiVersion, else of its handler
``@v1|.port``             a field of the spec of version v1
``id weight tier …``      what handlers and GatiVersions call differently
``unit:spec.handlerPath`` a field of the unit's own document
``project:spec.sync``     a field of gati.yaml
``env:`` ``cluster:``     a field of the environment, or of the cluster, in gati.yaml
``routing:hosts``         the cluster's routing laid over the environment's
``network:dns``           the environment's network laid over the project's
``job:interval``          the cluster's, else the environment's, else the project's job
``over:deletionBudget``   the environment's, else the project's, whole; ``laid:`` field by field
``module:spec.port``      a field of the module that a variable is about; ``module/x:`` of module x
``namespace:``            the namespace of a document, where it is about all units of one
``beside:0``              the path of another unit, which this one leaves to it
``partial:``              the partial document of the environment
``mirror:``               the environment's registry that serves the image
``template:``             the template that made the object
``ledger:``               rollout.yaml

``$name`` in a path stands for what a pattern was filled with, ``[$1]`` for its second index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gati_gitops.errors import Place
from gati_gitops.plan.job import OF_RELEASE
from gati_gitops.plan.naming import UnitId
from gati_gitops.preview.explain.fields import Step, lookup, pattern, show
from gati_gitops.preview.explain.model import Cause, Path
from gati_gitops.preview.explain.scope import RELEASED, Scope
from gati_gitops.spec.load import Doc
from gati_gitops.yamlio.strict import marks

GATI_YAML = "gati.yaml"
_HOLE = re.compile(r"\$(\w+)")
_WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "id": {
        "GatiVersion": ("spec.versionId",),
        "GatiHandler": ("spec.version",),
        "GatiModule": ("spec.version", "spec.image"),
    },
    "weight": {
        "GatiVersion": ("spec.routingWeight",),
        "GatiHandler": ("spec.timescape.routingWeight",),
    },
    "tier": {"GatiVersion": ("spec.tier",), "GatiHandler": ("spec.timescape.tier",)},
    "transformers": {
        "GatiVersion": ("spec.transformers",),
        "GatiHandler": ("spec.timescape.transformers",),
    },
}


@dataclass(frozen=True, slots=True)
class Found:
    """A field of a document; ``there`` tells whether somebody wrote it."""

    field: str
    place: Place
    there: bool
    ledger: bool = False

    @property
    def cause(self) -> Cause:
        if not self.there:
            return Cause(self.field, self.place.file)
        return Cause(self.field, self.place.file, self.place.line, self.place.column)


def find(scope: Scope, source: str) -> Found | None:
    """A source as it is here; None where it says nothing of this place."""
    if source.startswith("@"):  # of a version that is named
        id_, _, source = source[1:].partition("|")
        return find(scope.of_version(id_), source)
    if source.startswith("."):
        return _of_docs(scope, list(scope.docs), (f"spec{source}",))
    if source in _WORDS:
        return _word(scope, source)
    where, _, text = source.partition(":")
    where, _, name = where.partition("/")
    if where == "unit":
        docs = [scope.linked.doc] if scope.linked else []
        return _of_docs(scope, docs, (text,))
    if where == "module":
        return _module(scope, name, text)
    if where == "namespace":
        return _namespace(scope, name)
    if where in _OTHERS:
        return _OTHERS[where](scope, text)
    return _setting(scope, where, text)


def _of_docs(scope: Scope, docs: list[Doc[Any]], texts: tuple[str, ...]) -> Found | None:
    """The first document that has one of the fields; else where it would be written."""
    if not docs or not texts:
        return None
    for doc in docs:
        for text in texts:
            path = _path(scope, text, doc.data)
            if path is not None and _has(doc.data, path):
                return Found(show(path), doc.place(*path), there=True)
    path = _path(scope, texts[0], docs[-1].data)
    if path is None:
        return None
    return Found(show(_writable(docs[-1].data, path)), Place(docs[-1].file), there=False)


def _word(scope: Scope, word: str) -> Found | None:
    docs = scope.docs
    if word in ("weight", "tier", "transformers"):
        docs = docs[:1]  # A GatiVersion counts, whatever its handler says.
    elif word == "id" and len(docs) > 1 and docs[-1].model.spec.version != scope.id:
        docs = docs[:1]
    for doc in docs:
        found = _of_docs(scope, [doc], _WORDS[word].get(doc.model.kind, ()))
        if found is not None and found.there:
            return found
    texts = _WORDS[word].get(docs[0].model.kind, ()) if docs else ()
    return _of_docs(scope, list(docs[:1]), texts)


def _module(scope: Scope, name: str, text: str) -> Found | None:
    """Of a module that is called, by the name of its objects or of a variable about it."""
    variable = str(scope.bound.get("n", ""))
    place = (scope.environment, scope.cluster)
    for unit in scope.explainer.modules(place, scope.unit.namespace if scope.unit else ""):
        spelled = re.escape(unit.name.upper().replace("-", "_"))
        known = UnitId(unit.namespace, "module", unit.name).object_name
        if name == known or re.fullmatch(rf"GATI_MODULE_{spelled}_(HOST|PORT|URL)", variable):
            return _of_docs(scope, [unit.doc], (text,))
    return None


def _namespace(scope: Scope, name: str) -> Found | None:
    """Of some unit that is in a namespace."""
    wanted = name or str(scope.bound.get("namespace") or scope.namespace)
    for unit in scope.explainer.units_in((scope.environment, scope.cluster), wanted):
        return _of_docs(scope, [unit.doc], ("metadata.namespace",))
    return None


def _beside(scope: Scope, text: str) -> Found | None:
    """The path of another unit, which a route leaves to it."""
    route = scope.plan.route if scope.plan else None
    number = int(text or 0)
    if route is None or number >= len(route.beside):
        return None
    for unit in scope.explainer.handlers((scope.environment, scope.cluster)):
        if unit.path == route.beside[number]:
            return _of_docs(scope, [unit.doc], ("spec.handlerPath",))
    return None


def _partial(scope: Scope, text: str) -> Found | None:
    """The document of the environment that is laid over one of the unit's."""
    for version in scope.linked.versions if scope.linked else ():
        for doc in version.docs:
            if len(doc.layers) > 1:
                layer = doc.layers[-1]
                mark = layer.mark(("spec",)) or layer.mark(())
                return Found(
                    "spec", Place(layer.file, *mark.key) if mark else Place(layer.file), there=True
                )
    return None


def _template(scope: Scope, text: str) -> Found | None:
    name = str(scope.bound.get("template", ""))
    template = scope.explainer.templates.get(name)
    file = template.file if template else f"templates/{name}.yaml.j2"
    return Found("", Place(file, 1, 1) if template else Place(file), there=True)


def _mirror(scope: Scope, text: str) -> Found | None:
    """The registry of the environment that serves the image."""
    planned, doc = scope.planned, scope.project
    if planned is None or doc is None or not planned.images or not scope.environment:
        return None
    registries = _value(doc.data, ("spec", "environments", scope.environment, "registries"))
    name = planned.images[0]["name"]
    for prefix in sorted(registries or (), key=len, reverse=True):
        if name == prefix.rstrip("/") or name.startswith(f"{prefix.rstrip('/')}/"):
            path = ("spec", "environments", scope.environment, "registries", prefix)
            return Found(show(path), doc.place(*path), there=True)
    return None


def _ledger(scope: Scope, text: str) -> Found | None:
    """An entry of rollout.yaml; its line if the file is at hand."""
    entry = scope.entry
    if scope.ledger is None:
        return None
    path: Path = (text,) if text in ("hold", "retiring", "target", "seq") else ("versions",)
    if entry is not None and path == ("versions",):
        path = ("versions", scope.ledger.entries.index(entry), text or "phase")
    elif scope.id and path == ("versions",):
        numbers = [n for n, one in enumerate(scope.ledger.entries) if one.id == scope.id]
        path = ("versions", *numbers[:1], *([text] if numbers and text else []))
    place = Place(scope.rollout_file)
    found = marks(scope.stored, 0) if scope.stored else {}
    for length in range(len(path), 0, -1):
        if (mark := found.get(path[:length])) is not None:
            place = Place(scope.rollout_file, *mark.key)
            break
    return Found(show(path), place, there=True, ledger=True)


_OTHERS: Mapping[str, Callable[[Scope, str], Found | None]] = {
    "template": _template,
    "ledger": _ledger,
    "mirror": _mirror,
    "beside": _beside,
    "partial": _partial,
}


# -- gati.yaml -----------------------------------------------------------------------------------


def _setting(scope: Scope, where: str, text: str) -> Found | None:
    paths = list(_settings(scope, where, text))
    if not paths:
        return None
    doc = scope.project
    if doc is None:
        return Found(show(_writable({}, paths[-1])), Place(GATI_YAML), there=False)
    for path in paths:
        if _has(doc.data, path):
            return Found(show(path), doc.place(*path), there=True)
    return Found(show(_writable(doc.data, paths[-1])), Place(doc.file), there=False)


def _settings(scope: Scope, where: str, text: str) -> Iterator[Path]:
    """Where in gati.yaml a setting may stand, strongest first."""
    data = scope.project.data if scope.project else {}
    environment = ("spec", "environments", scope.environment)
    cluster = (*environment, "clusters", scope.cluster)
    path = _path(scope, text, data)
    if path is None:
        return
    if where == "routed":
        cluster = (*environment, "clusters", str(scope.bound.get("c")))
        where = "routing"
    if where == "project":
        yield path
    elif where == "job":
        yield from _job(scope, path)
    elif not scope.environment:
        return
    elif where == "env":
        yield (*environment, *path)
    elif where == "cluster":
        yield (*cluster, *path)
    elif where == "routing":
        # What a cluster says replaces a whole part of the environment's routing.
        own = _has(data, (*cluster, "routing", path[0]))
        yield (*(cluster if own else environment), "routing", *path)
    elif where == "network":
        own = _has(data, (*environment, "network", path[0]))
        yield (*(environment if own else ("spec",)), "network", *path)
    elif where == "over":  # the environment's, else the project's, as a whole
        own = _has(data, (*environment, path[0]))
        yield (*(environment if own else ("spec",)), *path)
    elif where == "laid":  # the same field by field
        own = _has(data, (*environment, *path))
        yield (*(environment if own else ("spec",)), *path)


def _job(scope: Scope, path: Path) -> Iterator[Path]:
    """Layer by layer; what clusters share is the project's, but for what makes it another one."""
    if RELEASED not in scope.bound or (path and path[0] in OF_RELEASE):
        environment = ("spec", "environments", scope.environment)
        yield (*environment, "clusters", scope.cluster, "job", *path)
        yield (*environment, "job", *path)
    yield ("spec", "job", *path)


# -- paths ---------------------------------------------------------------------------------------


def _path(scope: Scope, text: str, data: Any) -> Path | None:
    """A source's path with its holes filled; an element that is named becomes its index."""
    path: list[str | int] = []
    value = data
    for step in _steps(text):
        if isinstance(step, tuple):
            wanted = filled(scope, step[1])
            items = value if isinstance(value, list) else []
            found = [n for n, item in enumerate(items) if str(lookup(item, step[0])) == wanted]
            key: str | int = found[0] if found else -1
        elif isinstance(step, str) and step.startswith("$"):
            value_of = _hole(scope, step[1:])
            if value_of is None:
                return None
            key = value_of
        else:
            assert step is not None
            key = step
        path.append(key)
        value = _child(value, key)
    if -1 in path:
        return tuple(path[: path.index(-1)])  # No such element: the list is as near as it gets.
    return tuple(path)


@lru_cache(maxsize=2048)
def _steps(text: str) -> tuple[Step, ...]:
    """Holes for indexes are written [$1]; the parser knows [n] and ["key"] only."""
    return pattern(re.sub(r"\[\$(\d+)\]", r".$\1", text))


def _hole(scope: Scope, name: str) -> str | int | None:
    if name == "environment":
        return scope.environment
    if name.isdecimal():
        indexes = scope.bound.get("indexes", ())
        number = int(name)
        return int(indexes[number]) if number < len(indexes) else None
    value = scope.bound.get(name)
    return value if isinstance(value, (str, int)) else None


def filled(scope: Scope, text: str) -> str:
    """A text with its holes filled."""
    return _HOLE.sub(lambda match: str(_hole(scope, match[1])), text)


def _child(value: Any, key: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
        return value[key]
    return None


def _value(data: Any, path: Path) -> Any:
    for key in path:
        data = _child(data, key)
    return data


def _writable(data: Any, path: Path) -> Path:
    """What a person would write: where a list lacks an element, the list."""
    for number, step in enumerate(path):
        if isinstance(step, int) and not _has(data, path[: number + 1]):
            return path[:number]
    return path


def _has(data: Any, path: Path) -> bool:
    return _value(data, path) is not None
