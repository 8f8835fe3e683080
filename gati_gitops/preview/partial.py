"""Both sides at the price of what differs.

Only units are compiled that differ, or that depend on one that does (``scope.py``): for all others
the compiler would be given the same on both sides, and it is a pure function. What is wrong among
documents that are the same on both sides, and that nothing which differs depends on, is not looked
for again; ``validate`` tells.

    documents that differ → namespaces → linked and checked there → units → compiled among what they
    depend on → what stands around them, where units come or go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gati_gitops.compiler import Narrowed, compile_specs
from gati_gitops.compiler.run import Run
from gati_gitops.compiler.write import surroundings
from gati_gitops.errors import SpecsInvalid
from gati_gitops.output import Output, UnitKey
from gati_gitops.plan.calls import Directory, calls, directory
from gati_gitops.plan.check import check
from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.templates import templates_of
from gati_gitops.preview.given import Given, both, clusters_of, seen_from, side_of
from gati_gitops.preview.part import Part
from gati_gitops.preview.scope import (
    called,
    changed,
    documents,
    doors_matter,
    key_of,
    meets,
    namespaces,
    within,
)
from gati_gitops.preview.side import Side, UnitPlace, unit_place
from gati_gitops.spec.gather import Key
from gati_gitops.spec.link import Linked, LinkedUnit, link_all
from gati_gitops.spec.load import Specs
from gati_gitops.tree import Snapshot, Tree

Where = tuple[str, str]
"""Environment and cluster."""


@dataclass(slots=True)
class _Linked:
    """One side in the namespaces that matter."""

    given: Given
    linked: Linked
    problems: tuple[Any, ...]
    modules: dict[int, Directory] = field(default_factory=dict)

    def on(self, where: Where) -> dict[UnitKey, LinkedUnit]:
        return {_key(unit): unit for unit in self.linked.on[where]}

    def units(self) -> Iterator[tuple[UnitKey, LinkedUnit]]:
        """Every unit as each cluster has it; where several have the same, once."""
        views = {id(units): units for units in (self.linked.base, *self.linked.on.values())}
        return ((_key(unit), unit) for units in views.values() for unit in units)

    def content(self, unit: LinkedUnit, where: Where) -> tuple[Any, ...]:
        """All that the documents have to say about a unit, and what it borrows from modules."""
        units = self.linked.on[where]
        if id(units) not in self.modules:
            self.modules[id(units)] = directory(units)
        known = self.modules[id(units)]
        versions = tuple(
            (v.id, v.data, v.workload is None, v.weight, v.breaking, v.transformers, v.files,
             v.tier, calls(unit, v, known))
            for v in unit.versions
        )  # fmt: skip
        return (unit.target, unit.path, unit.doc.data, unit.doc.files, versions)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """One side with the units that were asked for."""

    side: Side
    live: frozenset[UnitPlace]
    """Units of which something is left, those that only helped included."""


class Partial:
    """Two sides with the same settings."""

    def __init__(self, base: Given, head: Given, before: Snapshot, narrowed: Narrowed) -> None:
        self._given = (base, head)
        self._before = before
        self._narrowed = narrowed
        self._source = head.specs.project.spec.source or head.specs.project.metadata.name
        self._clusters = [
            (env, cluster)
            for env, names in clusters_of(head.specs, Narrowed()).items()
            for cluster in names
        ]

    def sides(self) -> tuple[Side, Side]:
        base, head = (given.specs for given in self._given)
        differing = changed(base, head)
        if not differing:
            return self._empty(0), self._empty(1)
        names = namespaces(base, head, differing)
        modules = self._called(names)

        def wanted(key: Key) -> bool:
            return key[1] in names or (key[0] == "GatiModule" and key[1:] in modules)

        visible = Part(self._before, self._clusters, names)
        known = visible.names()
        linked = both(lambda n: _link(self._given[n], wanted, known), *self._given)
        matters = doors_matter(base) or doors_matter(head)
        units = self._affected(*linked)
        units |= _beside(linked, units) if matters else set()
        context = _context(linked, units) | (_beside(linked, units) if matters else set())
        context |= self._strangers(linked, units, visible)
        made = both(lambda n: self._compile(linked[n], units, context), *self._given)
        return self._with_surroundings(linked, made, units, visible, names)

    def _empty(self, number: int) -> Side:
        given = self._given[number]
        clusters = clusters_of(given.specs, self._narrowed)
        return Side({}, {}, given.compared, environments=clusters)

    def _called(self, names: set[str]) -> set[tuple[str, str]]:
        """Modules that documents in these namespaces name."""
        docs = [doc for given in self._given for doc in _all_documents(given.specs)]
        here = (doc for doc in docs if doc.model.metadata.namespace in names)
        return {module for doc in here for module in called(doc)}

    def _affected(self, one: _Linked, two: _Linked) -> set[UnitKey]:
        """Units that the documents describe differently."""
        found: set[UnitKey] = set()
        seen: set[tuple[int, int]] = set()
        for where in self._clusters:
            views = (id(one.linked.on[where]), id(two.linked.on[where]))
            if views in seen:
                continue
            seen.add(views)
            here, there = one.on(where), two.on(where)
            found |= here.keys() ^ there.keys()
            found |= {
                key
                for key in here.keys() & there.keys()
                if one.content(here[key], where) != two.content(there[key], where)
            }
        return found

    def _strangers(
        self, linked: tuple[_Linked, _Linked], units: set[UnitKey], visible: Part
    ) -> set[UnitKey]:
        """Stored units that no spec speaks of, where they could be in the way of these."""
        spoken = {key for given in self._given for key in map(_spoken, documents(given.specs))}
        stored = {key for _, _, key in visible.units()}
        paths = [{unit.path for key, unit in side.units() if key in units} for side in linked]
        if paths[0] != paths[1] or units - stored:  # a route comes, or moves: to whose place?
            everywhere = self._before.paths("overlays")
            places = (unit_place(path) for path in everywhere if path.endswith("/unit.yaml"))
            stored |= {place[2:] for place in places if place is not None}
        return stored - spoken

    def _compile(self, mine: _Linked, units: set[UnitKey], context: set[UnitKey]) -> _Compiled:
        given, wanted = mine.given, units | context
        docs = {
            key_of(doc) for key, unit in mine.units() if key in wanted for doc in _documents(unit)
        }
        part = Part(self._before, self._clusters, {name for name, _ in wanted}, wanted)
        small = within(given.specs, docs.__contains__)
        compilation = compile_specs(
            small, part, narrowed=self._narrowed, discard=True, upgrade=True, partial=True
        )
        side = side_of(given, compilation, mine.linked, self._narrowed)
        files = {
            path: content
            for path, content in compilation.tree.items()
            if path.startswith("base/")
            or ((place := unit_place(path)) is not None and place[2:] in units)
        }
        for env in side.environments:
            settings = f"overlays/{env}/project.yaml"
            content = compilation.tree.get(settings) or self._before.read(settings)
            files |= {settings: content} if content is not None else {}
        narrow = {place: unit for place, unit in side.units.items() if place[2:] in units}
        more = (seen_from(problem, given.prefix) for problem in mine.problems)
        problems = tuple(dict.fromkeys((*side.problems, *more)))
        return _Compiled(
            replace(side, files=files, units=narrow, problems=problems), frozenset(side.units)
        )

    # -- around the units ------------------------------------------------------------------------

    def _with_surroundings(
        self,
        linked: tuple[_Linked, _Linked],
        made: tuple[_Compiled, _Compiled],
        units: set[UnitKey],
        visible: Part,
        names: set[str],
    ) -> tuple[Side, Side]:
        """Namespaces, and what syncs them, of clusters on which units come or go."""
        moved = [
            where
            for where in self._clusters
            if self._narrowed.has(*where)
            and _on(made[0].side.units, where) != _on(made[1].side.units, where)
        ]
        if not moved:
            return made[0].side, made[1].side
        stored = Output(visible)

        def around(number: int) -> Side:
            run = self._run(linked[number], names)
            side = made[number].side
            files: Tree = dict(side.files)
            for where in moved:
                # the same on both sides, but for what was compiled
                keys = {key for one in linked for key in one.on(where)} - units
                keys |= self._foreign(stored, where) | self._elsewhere(names)
                keys |= _on(made[number].live, where)
                files |= surroundings(run, *where, sorted(keys))
            if run.templates is not None and run.templates.problems:
                raise SpecsInvalid(run.templates.problems)
            return replace(side, files=files)

        return both(around, *self._given)

    def _run(self, mine: _Linked, names: set[str]) -> Run:
        specs = mine.given.specs
        output = Output(Part(self._before, self._clusters, names, engines=True))
        return Run(specs, mine.linked, output, self._source, Narrowed(), [], templates_of(specs))

    def _foreign(self, stored: Output, where: Where) -> set[UnitKey]:
        """Units of other sources."""
        found = stored.units(*where)
        return {key for key, unit in found.items() if unit.plan.source != self._source}

    def _elsewhere(self, names: set[str]) -> set[UnitKey]:
        """One unit for each namespace that is the same on both sides: only its name matters."""
        keys = (key for given in self._given for key in documents(given.specs))
        found = {key[1]: _spoken(key) for key in keys if key[1] not in names}
        return set(found.values())


def _link(
    given: Given, wanted: Callable[[Key], bool], known: Mapping[tuple[str, str], str]
) -> _Linked:
    specs = within(given.specs, wanted)
    linked = link_all(specs, known)
    problems = check(specs, linked)
    if any(problem.is_error for problem in problems):
        raise SpecsInvalid(problems)
    return _Linked(given, linked, problems)


def _all_documents(specs: Specs) -> Iterator[Any]:
    yield from documents(specs).values()
    for docs in specs.partials.values():
        yield from docs.values()


def _key(unit: LinkedUnit) -> UnitKey:
    return UnitId(unit.namespace, unit.kind, unit.name).key


def _spoken(key: Key) -> UnitKey:
    """The unit that a document would make by itself."""
    kind, namespace, name = key
    return UnitId(namespace, "module" if kind == "GatiModule" else "handler", name).key


def _documents(unit: LinkedUnit) -> list[Any]:
    return [unit.doc, *(doc for version in unit.versions for doc in version.docs)]


def _on(places: Iterable[UnitPlace], where: Where) -> set[UnitKey]:
    return {place[2:] for place in places if place[:2] == where}


def _beside(linked: tuple[_Linked, _Linked], units: set[UnitKey]) -> set[UnitKey]:
    """Units whose path meets one of these units' paths."""
    every = [(key, unit.path) for side in linked for key, unit in side.units() if unit.path]
    paths = {path for key, path in every if key in units}
    return {key for key, path in every if meets(path, paths)}


def _context(linked: tuple[_Linked, _Linked], units: set[UnitKey]) -> set[UnitKey]:
    """Modules that must be there, so that who calls them comes out as it would among all."""
    docs = [
        doc
        for side in linked
        for key, unit in side.units()
        if key in units
        for doc in _documents(unit)
    ]
    return {
        UnitId(namespace, "module", name).key for doc in docs for namespace, name in called(doc)
    }
