"""Units as a cluster may have them, and what is meant to happen to a request there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from gati_gitops.emit.routes import routes
from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.plan.doors import Doors
from gati_gitops.plan.model import PlannedVersion, Route, Scaling, UnitPlan
from gati_gitops.plan.naming import UnitId
from tests.routes.gateways import FAILS, Answer, Request

HEADERS = ("x-gati-version", "x-api-version")
IDS = ("v1", "v1.0", "v2.1.0+build.7", "tsv:1732186200-users-001", "a`b", 'a"\\', "V1", "0")


@dataclass(frozen=True)
class Unit:
    """One unit: its path, and its versions by phase and weight."""

    path: str
    entries: tuple[tuple[str, Phase, int], ...]
    retiring: bool = False
    name: str = "users"
    namespace: str = "shop"
    hosts: tuple[str, ...] = ()

    @property
    def identity(self) -> UnitId:
        return UnitId(self.namespace, "handler", self.name)

    def backend(self, version: str) -> str:
        return self.identity.version_name(version)


def compiled(units: Sequence[Unit], provider: str, **settings: Any) -> list[list[dict[str, Any]]]:
    """The route objects of each unit, each compiled beside the others."""
    plans = [(_plan(unit, provider, settings), _ledger(unit)) for unit in units]
    doors = Doors(plan.route for plan, ledger in plans if plan.route and ledger.serving)
    found = []
    for plan, ledger in plans:
        assert plan.route is not None
        route = replace(plan.route, beside=doors.beside(plan.route))
        found.append(routes(replace(plan, route=route), ledger))
    return found


def _plan(unit: Unit, provider: str, settings: dict[str, Any]) -> UnitPlan:
    own: dict[str, dict[str, Any]] = {
        "gateway-api": {},
        "istio": {"gateways": ("gati-system/gati",)},
        "traefik": {"entry_points": ("websecure",)},
        "ingress-nginx": {"ingress_class": "nginx"},
    }
    route = Route(
        unit.path, unit.hosts, provider, "gati", "gati-system", **{**own[provider], **settings}
    )
    versions = tuple(
        PlannedVersion(id, unit.backend(id), "d", "r", "image", 3000, weight, False, Scaling(), ("u.yaml",))
        for id, _, weight in unit.entries
    )  # fmt: skip
    return UnitPlan(unit.identity, "prod", "east", "shop", "shop", "", route, versions)


def _ledger(unit: Unit) -> Ledger:
    entries = [Entry(id, "d", phase, weight) for id, phase, weight in unit.entries]
    return Ledger(retiring=unit.retiring).with_entries(entries)


# -- what is meant ---------------------------------------------------------------------------------


def meant(units: Sequence[Unit], request: Request) -> Answer:
    """What happens to a request, whatever the provider."""
    matching = [unit for unit in units if _matches(unit.path, request.path)]
    if not matching:
        return None
    unit = max(matching, key=lambda one: _specific(one.path))
    for asked in (
        [request.header(name) for name in HEADERS],
        [request.query.get(name) for name in ("version", "v")],
    ):
        for id, phase, _ in sorted(unit.entries):
            if id in asked and phase is not Phase.PENDING:
                return FAILS if phase is Phase.REMOVED else {unit.backend(id): 100}
    return split(unit)


def split(unit: Unit) -> dict[str, int]:
    weights = {unit.backend(id): weight for id, _, weight in unit.entries if weight}
    parked = [unit.backend(id) for id, phase, _ in unit.entries if phase is Phase.PARKED]
    return weights or dict.fromkeys(parked, 1)


def _matches(path: str, asked: str) -> bool:
    own = [part for part in path.split("/") if part]
    theirs = [part for part in asked.split("/") if part]
    if any(part.startswith(":") for part in own) and len(own) != len(theirs):
        return False
    return len(own) <= len(theirs) and all(
        a == b or a.startswith(":") for a, b in zip(own, theirs, strict=False)
    )


def _specific(path: str) -> tuple[int, list[bool]]:
    parts = [part for part in path.split("/") if part]
    return len(parts), [not part.startswith(":") for part in parts]


def ratio(answer: Answer) -> Answer:
    """An answer as shares of a hundred, so that 1 and 100 of a lone Service are the same."""
    if not isinstance(answer, dict):
        return answer
    total = sum(answer.values())
    return {name: weight * 100 // total for name, weight in answer.items()}


# -- strategies ------------------------------------------------------------------------------------

_LIVE = (Phase.STARTING, Phase.DRAINING, Phase.REJECTED, Phase.PARKED, Phase.REMOVED, Phase.PENDING)


@st.composite
def entries(draw: st.DrawFn, most: int = 5) -> tuple[tuple[str, Phase, int], ...]:
    """Versions of which at least one has weight, together 100."""
    ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=most, unique=True))
    weighted = draw(st.integers(1, len(ids)))
    cuts = sorted(
        draw(
            st.lists(st.integers(1, 99), min_size=weighted - 1, max_size=weighted - 1, unique=True)
        )
    )
    weights = [b - a for a, b in zip([0, *cuts], [*cuts, 100], strict=True)]
    found = [
        (id, Phase.ACTIVE if not number else Phase.CANARY, weight)
        for number, (id, weight) in enumerate(zip(ids, weights, strict=False))
    ]
    return (*found, *((id, draw(st.sampled_from(_LIVE)), 0) for id in ids[weighted:]))


def paths(words: Sequence[str] = ("a", "b", "me", "mex", ":x")) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(words), max_size=3).map(lambda parts: "/" + "/".join(parts))


@st.composite
def clusters(
    draw: st.DrawFn, words: Sequence[str] = ("a", "b", "me", "mex", ":x"), most: int = 5
) -> list[Unit]:
    chosen = draw(st.lists(paths(words), min_size=1, max_size=6, unique=True))
    units = [
        Unit(path, draw(entries(most)), name=f"u{number}") for number, path in enumerate(chosen)
    ]
    if draw(st.booleans()):  # one that is on its way out: parked, and its route answers 503
        units[0] = replace(units[0], entries=(("v1", Phase.PARKED, 0),), retiring=True)
    return units


_VALUES = st.sampled_from((*IDS, "v9", ""))


@st.composite
def requests(draw: st.DrawFn) -> Request:
    path = draw(paths(("a", "b", "c", "m", "me", "mex", "mexx", "x.y")))
    slash = "/" if path != "/" and draw(st.booleans()) else ""
    headers = draw(
        st.dictionaries(st.sampled_from(("X-Gati-Version", "x-api-version", "Accept")), _VALUES)
    )
    query = draw(st.dictionaries(st.sampled_from(("version", "v", "q")), _VALUES))
    return Request(path + slash, headers, query)
