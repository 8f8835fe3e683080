"""Whether each weight can happen: pods behind it, a route that wins, a provider that can do it.

What the specs alone show is checked by ``validate``; what earlier compiles left behind is checked
by ``compile``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gati_gitops.errors import Place, Problem, Severity
from gati_gitops.plan import defaults
from gati_gitops.plan.doors import Door, Doors, doors
from gati_gitops.plan.model import Route, UnitPlan
from gati_gitops.plan.naming import UnitId
from gati_gitops.plan.paths import MAX_PATH, Pattern, entangled, parse, regex
from gati_gitops.plan.units import route
from gati_gitops.spec.link import Linked, LinkedUnit, LinkedVersion
from gati_gitops.spec.load import Specs

NGINX_VERSIONS = 2

Routed = tuple[LinkedUnit, Route]


def check_realizable(specs: Specs, linked: Linked) -> Iterator[Problem]:
    """Weights that could not happen, on every cluster."""
    for env, settings in specs.project.spec.environments.items():
        seen: set[tuple[int, int]] = set()
        for cluster, own in settings.clusters.items():
            units = linked.on[env, cluster]
            if (id(units), id(own.routing)) in seen:
                continue  # the same units behind the same doors
            seen.add((id(units), id(own.routing)))
            routed = [(unit, found) for unit in units if (found := route(unit, settings, cluster))]
            yield from _pods(routed, env)
            yield from _same_path(routed)
            yield from _contention([found for _, found in routed], routed)
            if routed and routed[0][1].provider == "ingress-nginx":
                yield from _nginx(specs, routed, env, cluster)


# -- pods ----------------------------------------------------------------------------------------


def _pods(routed: Sequence[Routed], env: str) -> Iterator[Problem]:
    for unit, _ in routed:
        weighted = [version for version in unit.versions if version.weight]
        for version in weighted:
            if version.workload is None:
                continue
            scaling = defaults.scaling(version.workload, version.tier)
            if scaling.floor:
                continue
            lone = len(weighted) == 1
            if scaling.owned:
                why = "its scaler may leave no pods: until one is up they get 503"
                remedy = "set autoscaling.min or warmFloor to 1, or accept the cold start"
            else:
                why = "has no pods: they get 503"
                remedy = "give it replicas, or weight 0"
            yield Problem(
                "weight-without-pods",
                f"version {version.id} of {unit.name} gets {version.weight} % of the requests in"
                f" {env}, and {why}",
                version.docs[-1].place("spec", "autoscaling" if scaling.owned else "replicas"),
                "spec.autoscaling" if scaling.owned else "spec.replicas",
                remedy,
                Severity.WARNING if lone or scaling.owned else Severity.ERROR,
            )


# -- routes that contend -------------------------------------------------------------------------


def _same_path(routed: Sequence[Routed]) -> Iterator[Problem]:
    """Two units with one path behind one door."""
    taken: dict[tuple[Door, Pattern], LinkedUnit] = {}
    told: set[tuple[int, int]] = set()
    for unit, found in routed:
        for door in doors(found):
            other = taken.setdefault((door, parse(found.path)), unit)
            if other is unit or (id(other), id(unit)) in told:
                continue
            told.add((id(other), id(unit)))
            yield Problem(
                "path-taken",
                f"{_named(unit)} and {_named(other)} both answer on {found.path}{_behind(door)}:"
                " the older route would get all requests, whatever the weights say",
                _path_place(unit),
                "spec.handlerPath",
                "give one of them another path or host; versions of one handler belong into one"
                " namespace",
                related=((_path_place(other), "the other one"),),
            )


def _contention(routes: Sequence[Route], routed: Sequence[Routed]) -> Iterator[Problem]:
    """Paths that no expression can keep apart."""
    known = Doors(routes)
    for unit, found in routed:
        if not known.crowded(found):
            continue
        tangled = entangled(found.path, known.stronger(found))
        uneven = known.uneven(found)
        if tangled or uneven:
            why = (
                "a parameter inside of a segment can't be told apart from other words"
                if tangled
                else "they share some of their hosts and not all of them"
            )
            yield _undecided(unit, (tangled or uneven)[0], why)
        elif found.provider == "gateway-api":
            beside = known.beside(found)
            if beside and len(regex(found.path, beside)) > MAX_PATH:
                why = "too many paths with parameters lie beside it for one expression"
                yield _undecided(unit, beside[0], why)


def _undecided(unit: LinkedUnit, other: str, why: str) -> Problem:
    return Problem(
        "path-order",
        f"requests for {other} match {unit.path} too, and the gateway decides which of them wins:"
        f" {why}",
        _path_place(unit),
        "spec.handlerPath",
        "give them the same hosts, or paths that differ in a whole segment",
        Severity.WARNING,
    )


def contested(wanted: Sequence[Routed], stored: Iterable[UnitPlan], source: str) -> list[Problem]:
    """Routes that stand there from elsewhere or from before, on a path that a unit is to have."""
    taken: dict[tuple[Door, Pattern], UnitPlan] = {}
    for plan in stored:
        if plan.route is not None:
            for door in doors(plan.route):
                taken[door, parse(plan.route.path)] = plan
    found: dict[int, Problem] = {}
    for unit, way in wanted:
        for door in doors(way):
            other = taken.get((door, parse(way.path)))
            if other is not None:
                found[id(unit)] = _older(unit, other, door, foreign=other.source != source)
    return list(found.values())


def _older(unit: LinkedUnit, other: UnitPlan, door: Door, *, foreign: bool) -> Problem:
    whose = f"{other.unit} of source {other.source}" if foreign else str(other.unit)
    return Problem(
        "path-taken" if foreign else "route-left-behind",
        f"{whose} still answers on {unit.path}{_behind(door)} on {other.cluster}: its route is"
        f" older and gets all requests that are meant for {_named(unit)}",
        _path_place(unit),
        "spec.handlerPath",
        f"agree with {other.source} on who answers there"
        if foreign
        else f"run retire {other.unit} when {_named(unit)} may take over",
        Severity.ERROR if foreign else Severity.WARNING,
    )


# -- what ingress-nginx cannot do ----------------------------------------------------------------


def _nginx(specs: Specs, routed: Sequence[Routed], env: str, cluster: str) -> Iterator[Problem]:
    doc = specs.project_doc
    place = doc.place("spec", "environments", env, "routing", "provider") if doc else Place("")
    yield Problem(
        "pins-limited",
        f"ingress-nginx pins only the canary, and only by X-Gati-Version, on {cluster}: requests"
        " that ask for another version get whatever the weights give them",
        place,
        f"spec.environments.{env}.routing.provider",
        "use another provider where clients choose versions; ingress-nginx itself is retired",
        Severity.WARNING,
    )
    for unit, found in routed:
        if len(unit.versions) > NGINX_VERSIONS:
            third = unit.versions[NGINX_VERSIONS]
            yield Problem(
                "too-many-live-versions",
                f"{unit.name} has {len(unit.versions)} versions in {env}, and ingress-nginx can"
                f" have {NGINX_VERSIONS}: one, and a canary beside it",
                _version_place(third),
                "spec.versionId",
                "remove versions that are done with, or use another routing provider",
            )
        if not parse(found.path).open:
            yield Problem(
                "path-parameters",
                f"{found.path} has parameters; ingress-nginx would turn every path of its host"
                f" into an expression that ignores case, in {env}",
                _path_place(unit),
                "spec.handlerPath",
                "use a path without parameters, or another routing provider",
            )


def _named(unit: LinkedUnit) -> UnitId:
    return UnitId(unit.namespace, unit.kind, unit.name)


def _behind(door: Door) -> str:
    _, gateway, host = door
    where = f" behind {gateway.rstrip('/')}" if gateway else ""
    return where + (f" for {host}" if host != "*" else "")


def _path_place(unit: LinkedUnit) -> Place:
    return unit.doc.place("spec", "handlerPath")


def _version_place(version: LinkedVersion) -> Place:
    doc = version.docs[-1]
    return doc.place("spec", "versionId" if doc.model.kind == "GatiVersion" else "version")
