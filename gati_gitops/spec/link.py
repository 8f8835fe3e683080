"""Which documents make one unit, and which versions it has.

A handler's versions are its own ``spec.version``, every GatiVersion that belongs to it, and every
other GatiHandler with the same namespace and path. A module is a unit with one version.

A GatiVersion belongs by its ``handler`` field, else by deploymentName or serviceName, else to the
one handler of its namespace that has its version id and whose name starts its own. Anything less
certain is an error that lists the candidates: guessing would send traffic to the wrong place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gati_gitops.errors import Problem, Severity
from gati_gitops.spec.kinds import GatiHandler, GatiModule, GatiVersion, ModuleSpec
from gati_gitops.spec.load import Doc, Specs
from gati_gitops.spec.workload import RunningWorkload, override

_WORKLOAD = frozenset(
    (field.alias or name) for name, field in RunningWorkload.model_fields.items()
)  # what a GatiVersion may say about how its version runs


@dataclass(frozen=True, slots=True)
class LinkedVersion:
    """One version as the documents describe it."""

    id: str
    workload: RunningWorkload | None
    """None: only a release that was compiled earlier knows how this version runs."""
    data: Mapping[str, Any]
    weight: int | None
    breaking: bool
    transformers: tuple[str, ...]
    docs: tuple[Doc[Any], ...]
    tier: str = "hot"
    """How warm it is kept: hot as its spec says, warm by one pod, cold by none."""

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(file for doc in self.docs for file in doc.files))


@dataclass(frozen=True, slots=True)
class LinkedUnit:
    """One unit with its versions, in the order of their ids."""

    kind: str
    namespace: str
    name: str
    doc: Doc[Any]
    target: str
    path: str
    module: ModuleSpec | None
    versions: tuple[LinkedVersion, ...]


@dataclass(frozen=True, slots=True)
class Linked:
    """The units of a project: without any environment, and as each cluster has them."""

    base: tuple[LinkedUnit, ...]
    on: Mapping[tuple[str, str], tuple[LinkedUnit, ...]]
    """By environment and cluster; the very same tuple as ``base`` where nothing differs."""
    problems: tuple[Problem, ...]


def link_all(specs: Specs, names: Mapping[tuple[str, str], str] | None = None) -> Linked:
    """Link the specs for every cluster that the project names."""
    base, problems = link(specs, names)
    on: dict[tuple[str, str], tuple[LinkedUnit, ...]] = {}
    found = list(problems)
    for env, settings in specs.project.spec.environments.items():
        for cluster in settings.clusters:
            view = specs.on(env, cluster)
            on[env, cluster] = base
            if view is not specs:
                on[env, cluster], problems = link(view, names)
                found += problems
    return Linked(base, on, tuple(found))


def link(
    specs: Specs, names: Mapping[tuple[str, str], str] | None = None
) -> tuple[tuple[LinkedUnit, ...], tuple[Problem, ...]]:
    """All units of ``specs``; ``names`` remembers what a path's unit was called before."""
    problems: list[Problem] = []
    by_path: dict[tuple[str, str], list[Doc[GatiHandler]]] = defaultdict(list)
    for doc in specs.handlers:
        by_path[doc.model.metadata.namespace, doc.model.spec.handler_path].append(doc)
    belongs = _versions_by_path(specs, problems)
    paths = {(doc.model.metadata.namespace, doc.model.metadata.name) for doc in specs.handlers}
    units = []
    for key, docs in by_path.items():
        known = (names or {}).get(key)
        own = {doc.model.metadata.name for doc in docs}
        if known not in own and (key[0], known) in paths:
            known = None  # that unit has moved to another path and took its name along
        units.append(_handler_unit(key, docs, belongs.get(key, ()), known, problems))
    units += [_module_unit(doc) for doc in specs.modules]
    units.sort(key=lambda unit: (unit.namespace, unit.kind, unit.name))
    return tuple(units), tuple(problems)


def module_version(spec: ModuleSpec) -> str:
    """A module's version id: its own, else what tells one image from the next."""
    if spec.version:
        return spec.version
    reference, _, digest = spec.image.partition("@")
    tag = reference.rpartition("/")[2].partition(":")[2]
    return tag or (digest.partition(":")[2][:12] if digest else "latest")


def _module_unit(doc: Doc[GatiModule]) -> LinkedUnit:
    spec, meta = doc.model.spec, doc.model.metadata
    version = LinkedVersion(
        module_version(spec), spec, doc.data["spec"], 100, breaking=False, transformers=(),
        docs=(doc,),
    )  # fmt: skip
    return LinkedUnit("module", meta.namespace, meta.name, doc, version.id, "", spec, (version,))


def _versions_by_path(
    specs: Specs, problems: list[Problem]
) -> dict[tuple[str, str], list[Doc[GatiVersion]]]:
    handlers: dict[str, list[Doc[GatiHandler]]] = defaultdict(list)
    for doc in specs.handlers:
        handlers[doc.model.metadata.namespace].append(doc)
    found: dict[tuple[str, str], list[Doc[GatiVersion]]] = defaultdict(list)
    for version in specs.versions:
        namespace = version.model.metadata.namespace
        candidates = _candidates(version, handlers.get(namespace, ()))
        paths = sorted({doc.model.spec.handler_path for doc in candidates})
        if len(paths) == 1:
            found[namespace, paths[0]].append(version)
        else:
            problems.append(_unlinked(version, candidates, handlers.get(namespace, ())))
    return found


def _candidates(
    version: Doc[GatiVersion], handlers: Sequence[Doc[GatiHandler]]
) -> list[Doc[GatiHandler]]:
    spec = version.model.spec
    if spec.handler is not None:
        return [doc for doc in handlers if doc.model.metadata.name == spec.handler]
    named = {f"handler-{doc.model.metadata.name}": doc for doc in handlers}
    by_name = [named[n] for n in (spec.deployment_name, spec.service_name) if n in named]
    if by_name:
        return by_name
    return [
        doc
        for doc in handlers
        if doc.model.spec.version == spec.version_id
        and version.model.metadata.name.startswith(doc.model.metadata.name)
    ]


def _unlinked(
    version: Doc[GatiVersion],
    candidates: Sequence[Doc[GatiHandler]],
    handlers: Sequence[Doc[GatiHandler]],
) -> Problem:
    spec, meta = version.model.spec, version.model.metadata
    path = ("spec", "handler") if spec.handler is not None else ("spec",)
    names = sorted(doc.model.metadata.name for doc in candidates or handlers)
    listed = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    if candidates:
        message = f"version {spec.version_id} could belong to several handlers: {listed}"
    elif spec.handler is not None:
        message = f"there is no handler {spec.handler} in namespace {meta.namespace}"
    else:
        message = f"version {spec.version_id} belongs to no handler of namespace {meta.namespace}"
    return Problem(
        "version-without-handler" if not candidates else "ambiguous-version",
        message,
        version.place(*path),
        ".".join(path),
        f"set spec.handler to one of: {listed}" if names else "add its GatiHandler",
    )


def _handler_unit(
    key: tuple[str, str],
    handlers: Sequence[Doc[GatiHandler]],
    versions: Sequence[Doc[GatiVersion]],
    known_name: str | None,
    problems: list[Problem],
) -> LinkedUnit:
    namespace, path = key
    primary = _primary(handlers, known_name)
    name = known_name or min(doc.model.metadata.name for doc in handlers)
    own: dict[str, Doc[GatiHandler]] = {}
    for doc in handlers:
        version_id = doc.model.spec.version
        if version_id in own:
            problems.append(
                _twice(doc, own[version_id], f"version {version_id} of {path}", "version")
            )
        own.setdefault(version_id, doc)
    separate: dict[str, Doc[GatiVersion]] = {}
    for version in versions:
        version_id = version.model.spec.version_id
        if version_id in separate:
            what = f"version {version_id} of {path}"
            problems.append(_twice(version, separate[version_id], what, "versionId"))
        separate.setdefault(version_id, version)
    linked = [
        _link_version(version_id, own.get(version_id), separate.get(version_id), primary, problems)
        for version_id in sorted(own.keys() | separate.keys())
    ]
    return LinkedUnit(
        "handler",
        namespace,
        name,
        primary,
        primary.model.spec.version,
        path,
        None,
        _share_out(linked),
    )


def _primary(handlers: Sequence[Doc[GatiHandler]], known_name: str | None) -> Doc[GatiHandler]:
    """The handler whose version the rollout aims at: of several, the one with most weight."""

    def rank(doc: Doc[GatiHandler]) -> tuple[int, bool, str]:
        timescape = doc.model.spec.timescape
        weight = timescape.routing_weight if timescape else None
        return (-(weight or 0), doc.model.metadata.name != known_name, doc.model.metadata.name)

    return min(handlers, key=rank)


def _twice(doc: Doc[Any], first: Doc[Any], what: str, field: str) -> Problem:
    return Problem(
        "version-twice",
        f"{what} is described twice",
        doc.place("spec", field),
        f"spec.{field}",
        "give one of them another version id, or remove it",
        related=((first.place("spec", field), "the other one"),),
    )


def _link_version(
    version_id: str,
    handler: Doc[GatiHandler] | None,
    version: Doc[GatiVersion] | None,
    primary: Doc[GatiHandler],
    problems: list[Problem],
) -> LinkedVersion:
    if version is None:
        assert handler is not None  # the id came from one of the two
        timescape = handler.model.spec.timescape
        return LinkedVersion(
            version_id,
            handler.model.spec,
            handler.data["spec"],
            timescape.routing_weight if timescape else None,
            bool(timescape and timescape.breaking),
            tuple(timescape.transformers) if timescape else (),
            (handler,),
            (timescape and timescape.tier) or "hot",
        )
    spec = version.model.spec
    if handler is not None:
        problems.extend(_disagreements(handler, version))
    base = handler or primary
    said = {key: value for key, value in version.data["spec"].items() if key in _WORKLOAD}
    data: Mapping[str, Any] = {}
    workload: RunningWorkload | None = None
    if handler is not None or spec.image is not None:
        # a version with an image of its own shares everything it does not say with the handler
        data = override(base.data["spec"], said)
        workload = _workload(data, version, problems) if said else base.model.spec
    return LinkedVersion(
        version_id,
        workload,
        data,
        spec.routing_weight,
        spec.breaking,
        tuple(spec.transformers),
        (base, version) if workload is not None else (version,),
        spec.tier or "hot",
    )


def _workload(
    data: Mapping[str, Any], version: Doc[GatiVersion], problems: list[Problem]
) -> RunningWorkload | None:
    from pydantic import ValidationError

    try:
        return RunningWorkload.model_validate({k: v for k, v in data.items() if k in _WORKLOAD})
    except ValidationError as error:
        for detail in error.errors():
            path = ("spec", *detail["loc"])
            problems.append(
                Problem(
                    "version-does-not-fit",
                    f"laid over its handler this is not valid: {detail['msg']}",
                    version.place(*path),
                    ".".join(map(str, path)),
                    "change it here, or in the handler that it inherits from",
                )
            )
        return None


def _disagreements(handler: Doc[GatiHandler], version: Doc[GatiVersion]) -> list[Problem]:
    timescape, spec = handler.model.spec.timescape, version.model.spec
    if timescape is None:
        return []
    pairs = (
        ("routingWeight", timescape.routing_weight, spec.routing_weight),
        ("breaking", timescape.breaking, spec.breaking),
    )
    return [
        Problem(
            "documents-disagree",
            f"the GatiVersion says {name} {there}, its handler says {here}; the GatiVersion counts",
            version.place("spec", name),
            f"spec.{name}",
            f"say it once: remove spec.timescape.{name} from the handler",
            Severity.WARNING,
            ((handler.place("spec", "timescape", name), "the handler's word"),),
        )
        for name, here, there in pairs
        if here is not None and here != there
    ]


def _share_out(versions: Sequence[LinkedVersion]) -> tuple[LinkedVersion, ...]:
    """A single version without a weight gets what the others leave."""
    silent = [version for version in versions if version.weight is None]
    if len(silent) != 1:
        return tuple(versions)
    rest = 100 - sum(version.weight or 0 for version in versions)
    return tuple(
        _with_weight(version, rest) if version is silent[0] and rest >= 0 else version
        for version in versions
    )


def _with_weight(version: LinkedVersion, weight: int) -> LinkedVersion:
    return LinkedVersion(
        version.id,
        version.workload,
        version.data,
        weight,
        version.breaking,
        version.transformers,
        version.docs,
        version.tier,
    )


__all__ = ["LinkedUnit", "LinkedVersion", "link", "module_version"]
