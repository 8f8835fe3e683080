"""Modules and who calls them: finding what specs name, and what is wrong with that."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gati_gitops.errors import Place, Problem, Severity
from gati_gitops.plan import capabilities, defaults
from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.reach import Call, Fence, Outbound, outbound
from gati_gitops.spec.link import LinkedUnit, LinkedVersion
from gati_gitops.spec.network import Egress, Network
from gati_gitops.spec.project import GatiProject
from gati_gitops.spec.routing import Routing
from gati_gitops.spec.workload import Defaults

if TYPE_CHECKING:
    from gati_gitops.plan.model import Added
    from gati_gitops.plan.templates.render import Templates

Directory = Mapping[tuple[str, str], Call]
"""Modules by namespace and name."""

_SCHEMES = {"http": "http", "grpc": "grpc"}
# Where the pods of a provider usually are; Gateway API and Istio also name it in their gateways.
_GATEWAYS = {"istio": "istio-system", "traefik": "traefik", "ingress-nginx": "ingress-nginx"}


@dataclass(frozen=True, slots=True)
class Around:
    """What a release takes from elsewhere than its own documents."""

    modules: Directory = field(default_factory=dict)
    defaults: Defaults = field(default_factory=Defaults)
    templates: Templates | None = None
    """What a team adds to every version; None: there are no templates."""

    def added(self, unit: LinkedUnit, version: LinkedVersion) -> tuple[Added, ...]:
        """The objects that templates add to a version."""
        return self.templates.of_version(unit, version) if self.templates is not None else ()


def directory(units: Iterable[LinkedUnit]) -> Directory:
    """Every module, as its callers know it."""
    found = {}
    for unit in units:
        if unit.module is not None:
            asked = {p.kind: p.type for p in defaults.probes(unit.module, unit.module)}
            scheme = _SCHEMES.get(asked.get("readiness", ""), "tcp")
            call = Call(unit.namespace, unit.name, unit.module.port, scheme)
            found[unit.namespace, unit.name] = call
    return found


def calls(unit: LinkedUnit, version: LinkedVersion, modules: Directory) -> tuple[Call, ...]:
    """What a version calls, of what is there."""
    if version.workload is None or not version.workload.modules:
        return ()
    named = (_key(reference, unit.namespace) for reference in version.workload.modules)
    return tuple(sorted(modules[key] for key in set(named) if key in modules))


def egress(unit: LinkedUnit, version: LinkedVersion) -> tuple[Outbound, ...]:
    """What a version may call beside modules; what it lists itself narrows its capabilities."""
    own = version.workload.egress if version.workload is not None else []
    if own or unit.module is None:
        return rules(own)
    return tuple(outbound(rule) for rule in capabilities.egress(unit.module.capabilities))


def rules(declared: Iterable[Egress]) -> tuple[Outbound, ...]:
    """Rules of a spec, with units as their pods are labelled."""
    found = []
    for rule in declared:
        data = rule.model_dump(exclude_none=True)
        if rule.unit:
            kind, _, name = rule.unit.partition("-")
            kind, name = (kind, name) if kind in ("handler", "module") else ("handler", rule.unit)
            data["unit"] = UnitId(rule.namespace or "", kind, name).object_name
        found.append(outbound(data))
    return tuple(dict.fromkeys(found))


def fence(project: GatiProject, env: str, routing: Routing) -> Fence | None:
    """What holds for all pods of a cluster; None where no policies are wanted."""
    network = network_of(project, env)
    if not network.policies:
        return None
    scraping = project.spec.monitoring.namespace if project.spec.monitoring else ""
    return Fence(
        tuple(sorted(set(network.gateway_namespaces) or _gateways(routing))),
        network.monitoring_namespace or scraping,
        network.dns.namespace,
        network.dns.port,
        network.dns.cidr or "",
        rules(network.egress),
    )


def network_of(project: GatiProject, env: str) -> Network:
    """The project's settings with what the environment says laid over them."""
    own = project.spec.environments[env].network
    if own is None:
        return project.spec.network
    said = {name: getattr(own, name) for name in own.model_fields_set}
    return project.spec.network.model_copy(update=said)


def _gateways(routing: Routing) -> set[str]:
    found = {_GATEWAYS[routing.provider]} if routing.provider in _GATEWAYS else set()
    if routing.provider == "istio" and routing.istio and routing.istio.gateways:
        return found | {name.partition("/")[0] for name in routing.istio.gateways}
    if routing.provider in ("gateway-api", "istio"):
        found.add(routing.gateway.namespace)
    return found


def _key(reference: str, namespace: str) -> tuple[str, str]:
    head, slash, name = reference.rpartition("/")
    return (head if slash else namespace, name)


# -- what is wrong -------------------------------------------------------------------------------


def check_modules(units: Iterable[LinkedUnit], project: GatiProject) -> Iterator[Problem]:
    """Modules that are not there, capabilities that mean nothing, names that would clash."""
    units = list(units)
    known = directory(units)
    for unit in units:
        if unit.module is not None:
            yield from _capabilities(unit)
            yield from _runtime_class(unit, project)
            yield from _service_name(unit, known)
        for version in unit.versions:
            if version.workload is not None and version.workload.modules:
                yield from _references(unit, version, known)


def _references(unit: LinkedUnit, version: LinkedVersion, known: Directory) -> Iterator[Problem]:
    assert version.workload is not None
    seen: dict[str, str] = {}
    for number, reference in enumerate(version.workload.modules):
        key = _key(reference, unit.namespace)
        if key not in known:
            yield Problem(
                "unknown-module",
                f"there is no module {key[1]} in namespace {key[0]}",
                *_place(version, "modules", number),
                _nearest(key, unit.namespace, known),
            )
        elif key[1] in seen:
            prefix = f"GATI_MODULE_{key[1].upper().replace('-', '_')}"
            yield Problem(
                "duplicate-entry",
                f"the modules {seen[key[1]]} and {reference} would share the variables {prefix}_*",
                *_place(version, "modules", number),
                "keep one of the two, or rename one of the modules",
            )
        seen.setdefault(key[1], reference)


def _nearest(key: tuple[str, str], namespace: str, known: Directory) -> str:
    spelled = {
        name if found == namespace else f"{found}/{name}": (found, name) for found, name in known
    }
    same = sorted(spelling for spelling, (_, name) in spelled.items() if name == key[1])
    wanted = key[1] if key[0] == namespace else "/".join(key)
    near = same or difflib.get_close_matches(wanted, sorted(spelled), n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    return "add its GatiModule to the specs, or remove it here"


def _capabilities(unit: LinkedUnit) -> Iterator[Problem]:
    assert unit.module is not None
    for number, name in enumerate(unit.module.capabilities):
        if capabilities.known(name):
            continue
        # The published schema takes any word, and old documents have theirs; a typo is no such.
        meant = capabilities.suggestion(name)
        every = ", ".join(capabilities.CAPABILITIES)
        yield Problem(
            "unknown-capability",
            f"there is no capability {name}; it {'would grant' if meant else 'grants'} nothing",
            unit.doc.place("spec", "capabilities", number),
            f"spec.capabilities[{number}]",
            f"did you mean {meant}?" if meant else f"use one of: {every}",
            Severity.ERROR if meant else Severity.WARNING,
        )


def _runtime_class(unit: LinkedUnit, project: GatiProject) -> Iterator[Problem]:
    module = unit.module
    assert module is not None
    own = module.placement.runtime_class if module.placement else None
    if module.module_type == "wasm" and not own and not project.spec.defaults.wasm_runtime_class:
        yield Problem(
            "wasm-without-runtime-class",
            f"module {unit.name} is wasm, and no RuntimeClass says what runs it",
            unit.doc.place("spec", "moduleType"),
            "spec.moduleType",
            "set spec.placement.runtimeClass here, or spec.defaults.wasmRuntimeClass in gati.yaml",
            Severity.WARNING,
        )


def _service_name(unit: LinkedUnit, known: Directory) -> Iterator[Problem]:
    """A version of one module must not be called what another module is called as a whole."""
    own = UnitId(unit.namespace, "module", unit.name)
    for version in unit.versions:
        name = own.version_name(version.id).removeprefix("module-")
        if (unit.namespace, name) in known:
            yield Problem(
                "name-collision",
                f"version {version.id} of {own.folder} would be named module-{name}, as the Service"
                f" of module {name} is",
                unit.doc.place("spec"),
                "spec",
                "rename one of the modules, or change the version id",
            )


def _place(version: LinkedVersion, field: str, number: int) -> tuple[Place, str]:
    """Where a list that a version has, by itself or from its handler, was written."""
    said = next((d for d in reversed(version.docs) if field in d.data["spec"]), version.docs[0])
    return said.place("spec", field, number), f"spec.{field}[{number}]"
