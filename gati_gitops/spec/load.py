"""Loading: files in, checked documents out, or every problem of every file at once.

    files → gather (which documents are ours) → project → bases → partials over them → Specs

Pure: ``files`` are names and bytes, their order does not matter, and nothing is read or written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from gati_gitops.errors import Place, Problem, SpecsInvalid
from gati_gitops.spec.explain import Fault, explain, faults
from gati_gitops.spec.gather import KINDS, Gathered, Key, Raw, gather
from gati_gitops.spec.kinds import GatiHandler, GatiModule, GatiVersion
from gati_gitops.spec.project import GatiProject, default_project
from gati_gitops.spec.sound import sound
from gati_gitops.spec.source import Layer, place_of
from gati_gitops.spec.template import Template, is_template, read_template
from gati_gitops.spec.workload import override

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Doc(Generic[M]):
    """One checked document, with what is needed to point into the files that made it."""

    file: str
    number: int
    model: M
    data: dict[str, Any]
    files: tuple[str, ...]
    layers: tuple[Layer, ...] = field(default=(), repr=False, compare=False)

    def place(self, *path: str | int) -> Place:
        """Where a field was set; where it was not, its nearest parent."""
        return place_of(self.layers, path) if self.layers else Place(self.file)


@dataclass(frozen=True, slots=True)
class Specs:
    """Everything that a project says. Documents are sorted by namespace and name."""

    project: GatiProject
    project_doc: Doc[GatiProject] | None = None
    handlers: tuple[Doc[GatiHandler], ...] = ()
    modules: tuple[Doc[GatiModule], ...] = ()
    versions: tuple[Doc[GatiVersion], ...] = ()
    warnings: tuple[Problem, ...] = ()
    partials: Mapping[tuple[str, str], Mapping[Key, Doc[Any]]] = field(
        default_factory=dict, repr=False
    )
    """By environment and cluster ("" for all of them): the documents that differ there."""
    templates: tuple[Template, ...] = ()

    def on(self, env: str, cluster: str) -> Specs:
        """These specs as one cluster of one environment has them."""
        differing = self.partials.get((env, cluster)) or self.partials.get((env, ""))
        if not differing:
            return self
        return replace(
            self,
            handlers=_exchanged(self.handlers, differing),
            modules=_exchanged(self.modules, differing),
            versions=_exchanged(self.versions, differing),
        )


@dataclass(slots=True)
class Known:
    """What earlier loads have read and checked: the same bytes give the very same documents."""

    files: dict[tuple[str, bytes], Gathered] = field(default_factory=dict, repr=False)
    entries: dict[tuple[int, ...], tuple[_Entry, list[Problem]]] = field(
        default_factory=dict, repr=False
    )


def load(files: Iterable[tuple[str, bytes]], known: Known | None = None) -> Specs:
    """Check everything; raises SpecsInvalid with all problems, warnings included."""
    specs, problems = examine(files, known)
    if specs is None or any(problem.is_error for problem in problems):
        raise SpecsInvalid(problems)
    return specs


def examine(
    files: Iterable[tuple[str, bytes]], known: Known | None = None
) -> tuple[Specs | None, list[Problem]]:
    """Every problem, and those of the specs that no error has to do with.

    Rules across documents can be checked on these. None where a fault may have hidden a document.
    """
    files = sorted(files)
    specs_files = (pair for pair in files if not is_template(pair[0]))
    raws, problems, whole = gather(specs_files, known.files if known is not None else None)
    templates = [read_template(*pair) for pair in files if is_template(pair[0])]
    problems += [problem for problem in templates if isinstance(problem, Problem)]
    checked = _Checked(problems, known.entries if known is not None else {})
    projects = [raw for raw in raws if raw.kind == "GatiProject"]
    project_doc = checked.project(projects)
    clusters = _clusters(projects, project_doc)
    for raw in raws:
        if raw.kind != "GatiProject" and not _in_environments(raw):
            checked.base(raw)
    for raw in sorted(raws, key=lambda raw: raw.cluster != ""):
        if raw.kind != "GatiProject" and _in_environments(raw):
            checked.partial(raw, clusters)
    checked.fill_in_clusters()
    if not raws and not any(problem.is_error for problem in problems):
        problems.append(_empty())
    specs = Specs(
        project=project_doc.model if project_doc else default_project(),
        project_doc=project_doc,
        handlers=checked.of("GatiHandler"),
        modules=checked.of("GatiModule"),
        versions=checked.of("GatiVersion"),
        warnings=tuple(sorted(set(problems), key=Problem.sort_key)),
        partials=checked.docs_on,
        templates=tuple(found for found in templates if isinstance(found, Template)),
    )
    return sound(specs, raws, problems) if whole else None, problems


@dataclass(slots=True)
class _Entry:
    """A document on the way: what it says so far, and what is wrong with that."""

    kind: str
    layers: tuple[Layer, ...]
    data: dict[str, Any]
    faults: list[Fault]
    doc: Doc[Any] | None


class _Checked:
    """What has been checked so far. Problems go into the list that was given."""

    def __init__(
        self, problems: list[Problem], known: dict[tuple[int, ...], tuple[_Entry, list[Problem]]]
    ) -> None:
        self._problems = problems
        self._known = known
        self._bases: dict[Key, _Entry] = {}
        self._on: dict[tuple[str, str], dict[Key, _Entry]] = {}

    def of(self, kind: str) -> tuple[Doc[Any], ...]:
        """The base documents of a kind, sorted by namespace and name."""
        found = ((key, entry.doc) for key, entry in self._bases.items() if key[0] == kind)
        return tuple(doc for _, doc in sorted(found, key=lambda pair: pair[0]) if doc is not None)

    @property
    def docs_on(self) -> dict[tuple[str, str], dict[Key, Doc[Any]]]:
        return {
            where: {key: entry.doc for key, entry in entries.items() if entry.doc is not None}
            for where, entries in self._on.items()
        }

    def project(self, raws: list[Raw]) -> Doc[GatiProject] | None:
        for raw in raws:
            if _in_environments(raw):
                self._problems.append(_misplaced(raw, "GatiProject stands above the environments"))
        for again in raws[1:]:
            self._twice(again, raws[0].place(), "a second GatiProject", "keep one gati.yaml")
        return (
            self._check(raws[0].kind, (raws[0].layer,), raws[0].data, raws[0]).doc if raws else None
        )

    def base(self, raw: Raw) -> None:
        entry = self._check(raw.kind, (raw.layer,), raw.data, raw)
        if raw.key is None:
            return
        first = self._bases.setdefault(raw.key, entry)
        if first is not entry:
            what = f"a second document for {_named(raw.key)}"
            place = place_of(first.layers, ("metadata", "name"))
            self._twice(raw, place, what, "keep one of the two, or rename one")

    def partial(self, raw: Raw, clusters: dict[str, set[str]] | None) -> None:
        """Lay a partial document over the document it is about."""
        if not raw.env:
            self._problems.append(_misplaced(raw, "it belongs to no environment"))
            return
        if clusters is not None and (unknown := _unknown_place(raw, clusters)):
            self._problems.append(unknown)
        if raw.key is None:
            self._problems.append(_nameless(raw))
            return
        here = self._on.setdefault((raw.env, raw.cluster), {})
        if raw.key in here:
            place = place_of(here[raw.key].layers[-1:], ("metadata", "name"))
            what = f"a second partial document for {_named(raw.key)} in {raw.env}"
            self._twice(raw, place, what, "merge the two into one")
            return
        below = self._on.get((raw.env, ""), {}).get(raw.key) if raw.cluster else None
        below = below or self._bases.get(raw.key)
        if below is None:
            self._problems.append(_no_base(raw, self._bases))
            return
        data = override(below.data, raw.data)
        here[raw.key] = self._check(raw.kind, (*below.layers, raw.layer), data, raw, below)

    def fill_in_clusters(self) -> None:
        """A cluster with partials of its own also has those of its environment."""
        for (env, cluster), entries in self._on.items():
            if cluster:
                for key, entry in self._on.get((env, ""), {}).items():
                    entries.setdefault(key, entry)

    def _check(
        self,
        kind: str,
        layers: tuple[Layer, ...],
        data: dict[str, Any],
        raw: Raw,
        below: _Entry | None = None,
    ) -> _Entry:
        """Check a document against its model; a fault that was there before is not told again."""
        whose = tuple(id(layer) for layer in layers)  # they say all that there is to say
        if whose not in self._known:
            self._known[whose] = self._checked(kind, layers, data, raw, below)
        entry, problems = self._known[whose]
        self._problems += problems
        return entry

    def _checked(
        self,
        kind: str,
        layers: tuple[Layer, ...],
        data: dict[str, Any],
        raw: Raw,
        below: _Entry | None,
    ) -> tuple[_Entry, list[Problem]]:
        model, found = _validate(KINDS[kind], data)
        known = {fault.identity for fault in below.faults} if below else set()
        new = [fault for fault in found if fault.identity not in known]
        # What was refused while reading is no second problem, nor is what it would have given.
        if any(problem.code in ("yaml-alias", "yaml-key") for problem in raw.problems):
            new = [fault for fault in new if fault.type != "missing"]
        told = {p.field for p in raw.problems if p.field and p.code != "yaml-duplicate-key"}
        problems = [p for p in explain(KINDS[kind], new, layers) if p.field not in told]
        doc = None
        if model is not None:
            files = tuple(dict.fromkeys(layer.file for layer in layers))
            doc = Doc(layers[0].file, layers[0].number, model, data, files, layers)
        return _Entry(kind, layers, data, found, doc), problems

    def _twice(self, raw: Raw, first: Place, what: str, remedy: str) -> None:
        self._problems.append(
            Problem(
                "duplicate-object",
                what,
                raw.place("metadata", "name"),
                "metadata.name",
                remedy,
                related=((first, "the first one"),),
            )
        )


def _validate(kind: type[BaseModel], data: dict[str, Any]) -> tuple[BaseModel | None, list[Fault]]:
    try:
        return kind.model_validate(data, by_alias=True, by_name=False), []
    except ValidationError as error:
        return None, faults(error)


def _exchanged(docs: tuple[Doc[M], ...], by: Mapping[Key, Doc[Any]]) -> tuple[Doc[M], ...]:
    return tuple(by.get(_key(doc), doc) for doc in docs)


def _key(doc: Doc[Any]) -> Key:
    metadata = doc.model.metadata
    return (doc.model.kind, metadata.namespace, metadata.name)


def _in_environments(raw: Raw) -> bool:
    return raw.layer.file.startswith("environments/")


def _named(key: Key) -> str:
    return f"{key[0]} {key[1]}/{key[2]}"


def _clusters(projects: list[Raw], doc: Doc[GatiProject] | None) -> dict[str, set[str]] | None:
    """The clusters of each environment; None while the project itself is wrong."""
    if projects and doc is None:
        return None
    project = doc.model if doc else default_project()
    return {name: set(env.clusters) for name, env in project.spec.environments.items()}


def _unknown_place(raw: Raw, clusters: dict[str, set[str]]) -> Problem | None:
    if raw.env not in clusters:
        return Problem(
            "unknown-environment",
            f"there is no environment {raw.env}",
            raw.place(),
            remedy=f"name it in gati.yaml under spec.environments, or use {_either(clusters)}",
        )
    if raw.cluster and raw.cluster not in clusters[raw.env]:
        return Problem(
            "unknown-cluster",
            f"the environment {raw.env} has no cluster {raw.cluster}",
            raw.place(),
            remedy=f"name it under spec.environments.{raw.env}.clusters, "
            f"or use {_either(clusters[raw.env])}",
        )
    return None


def _either(known: Iterable[str]) -> str:
    return " or ".join(sorted(known)[:5])


def _no_base(raw: Raw, bases: Mapping[Key, _Entry]) -> Problem:
    key = raw.key
    assert key is not None
    elsewhere = sorted(k[1] for k in bases if (k[0], k[2]) == (key[0], key[2]))
    return Problem(
        "partial-without-base",
        f"there is no {_named(key)} that this could be laid over",
        raw.place("metadata", "name"),
        "metadata.name",
        f"set metadata.namespace to {elsewhere[0]}"
        if elsewhere
        else "add the whole document outside environments/, or correct kind, namespace and name",
    )


def _misplaced(raw: Raw, why: str) -> Problem:
    return Problem(
        "partial-misplaced",
        f"{raw.kind} in {raw.layer.file}: {why}",
        raw.place(),
        remedy="partial documents live in environments/<environment>/ or "
        "environments/<environment>/clusters/<cluster>/, everything else outside environments/",
    )


def _nameless(raw: Raw) -> Problem:
    metadata = raw.data.get("metadata")
    said = metadata if isinstance(metadata, dict) else {}
    for name in ("namespace", "name"):
        if not isinstance(said.get(name, ""), str):
            place = raw.place("metadata", name)
            what = f"{name} must be text, and it is not"
            return Problem("wrong-type", what, place, f"metadata.{name}", "put it in quotes")
    return Problem(
        "missing-field",
        "a partial document must say whom it is about",
        raw.place("metadata", "name"),
        "metadata.name",
        "add metadata.name and kind",
    )


def _empty() -> Problem:
    return Problem(
        "empty-input",
        "there is no Gati document here",
        Place("."),
        remedy="name the folder that holds the specs; no input never means to delete",
    )
