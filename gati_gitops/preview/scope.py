"""Which documents differ between two sets of specs, and what else has a say in their units.

A unit is made from its own documents, from the modules that it calls, and from routes beside its
own where a gateway would not know which of them wins. Which documents make a unit is decided within
a namespace. So what differs can only change units in the namespaces that this module finds; the
rest would compile to the same on both sides, and need not be compiled at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from gati_gitops.plan.paths import Pattern, overlap, parse
from gati_gitops.plan.units import routing
from gati_gitops.spec.gather import Key
from gati_gitops.spec.load import Doc, Specs

Module = tuple[str, str]
"""Namespace and name."""


def same_settings(one: Specs, two: Specs) -> bool:
    """Whether what everything depends on is the same: gati.yaml and the templates."""
    files = [specs.project_doc.file if specs.project_doc else "" for specs in (one, two)]
    return files[0] == files[1] and one.project == two.project and one.templates == two.templates


def documents(specs: Specs) -> dict[Key, Doc[Any]]:
    """Every document without its environments, by kind, namespace and name."""
    return {
        key_of(doc): doc for docs in (specs.handlers, specs.modules, specs.versions) for doc in docs
    }


def key_of(doc: Doc[Any]) -> Key:
    return (doc.model.kind, doc.model.metadata.namespace, doc.model.metadata.name)


def changed(one: Specs, two: Specs) -> set[Key]:
    """Documents that differ anywhere: as a whole, or as some environment changes them."""
    found = _differing(documents(one), documents(two))
    for where in one.partials.keys() | two.partials.keys():
        found |= _differing(one.partials.get(where, {}), two.partials.get(where, {}))
    return found


def _differing(one: Any, two: Any) -> set[Key]:
    return {key for key in one.keys() | two.keys() if not _same(one.get(key), two.get(key))}


def _same(one: Doc[Any] | None, two: Doc[Any] | None) -> bool:
    if one is None or two is None:
        return one is two
    return one is two or (one.data == two.data and one.files == two.files)


def within(specs: Specs, wanted: Callable[[Key], bool]) -> Specs:
    """The specs without documents that nobody wants."""

    def kept(docs: Iterable[Doc[Any]]) -> tuple[Doc[Any], ...]:
        return tuple(doc for doc in docs if wanted(key_of(doc)))

    return replace(
        specs,
        handlers=kept(specs.handlers),
        modules=kept(specs.modules),
        versions=kept(specs.versions),
        partials={
            where: {key: doc for key, doc in docs.items() if wanted(key)}
            for where, docs in specs.partials.items()
        },
    )


def namespaces(one: Specs, two: Specs, differing: set[Key]) -> set[str]:
    """Where units may differ, or have a say in one that does."""
    found = {namespace for _, namespace, _ in differing}
    modules = {(namespace, name) for kind, namespace, name in differing if kind == "GatiModule"}
    for specs in (one, two):
        for doc in _all(specs) if modules else ():
            if modules & called(doc):
                found.add(doc.model.metadata.namespace)
    routes = _routes(one, two)
    own = {path for namespace, path in routes if namespace in found}
    if doors_matter(one) or doors_matter(two):
        for _ in range(2):  # those that it may change, and those that these depend on
            near = {(n, path) for n, path in routes if meets(path, own)}
            found |= {namespace for namespace, _ in near}
            own |= {path for _, path in near}
    else:  # two units may still want the same path
        patterns = {parse(path) for path in own}
        found |= {namespace for namespace, path in routes if parse(path) in patterns}
    return found


def called(doc: Doc[Any]) -> set[Module]:
    """The modules that a document names."""
    names = (doc.data.get("spec") or {}).get("modules") or ()
    here = doc.model.metadata.namespace
    return {(str(n).rpartition("/")[0] or here, str(n).rpartition("/")[2]) for n in names}


def _all(specs: Specs) -> Iterator[Doc[Any]]:
    yield from documents(specs).values()
    for docs in specs.partials.values():
        yield from docs.values()


# -- routes that contend -------------------------------------------------------------------------


def doors_matter(specs: Specs) -> bool:
    """Whether there are routes beside each other that the gateway would not put in order."""
    providers = {
        routing(settings, cluster).provider
        for settings in specs.project.spec.environments.values()
        for cluster in settings.clusters
    }
    if "istio" in providers:
        return True
    paths = (doc.model.spec.handler_path for doc in specs.handlers)
    return "gateway-api" in providers and any(not parse(path).open for path in paths)


def _routes(*sides: Specs) -> set[tuple[str, str]]:
    return {
        (doc.model.metadata.namespace, doc.model.spec.handler_path)
        for specs in sides
        for doc in specs.handlers
    }


def meets(path: str, others: Iterable[str]) -> bool:
    """Whether some request for a path is one for another, too."""
    own = parse(path)
    return any(_first(own, other) and overlap(own, other) for other in map(parse, others))


def _first(one: Pattern, two: Pattern) -> bool:
    """A quick look at the first segments, which tell most paths apart."""
    if not one.segments or not two.segments:
        return True
    a, b = one.segments[0], two.segments[0]
    return a == b or not (a.isalnum() and b.isalnum())
