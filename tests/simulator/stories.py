"""Where schedules begin: a unit that was published, and how far its versions have come.

Every beginning is made by the ledger's own code, once for each process, from plans such as a compile
makes. What the schedules do to it from there on is the world's business.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from gati_gitops.decide.rules import Rules, rules_from
from gati_gitops.emit.overlay import _deployed
from gati_gitops.emit.routes.table import route_table
from gati_gitops.ledger.fold import Policy, fold, refold
from gati_gitops.ledger.model import Phase
from gati_gitops.ledger.stored import Stored
from gati_gitops.plan.model import PlannedVersion, Route, Scaling, UnitPlan
from gati_gitops.plan.naming import UnitId
from tests.simulator.pods import Wanted
from tests.simulator.site import Manifest

UNIT = UnitId("shop", "handler", "orders")
IDS = ("v1", "v2", "v3", "v4")
NAMES = tuple(UNIT.version_name(id) for id in IDS)
ROUTE = Route("/orders", ("shop.example.com",), "gateway-api", "public", "gateways")

FIXED = Scaling(replicas=2)
ONE = Scaling(replicas=1)
SCALED = Scaling(type="hpa", min=2, max=5)
TO_ZERO = Scaling(type="keda", min=0, max=3)


@dataclass(frozen=True, slots=True)
class Story:
    """A beginning, and the end that it asks for."""

    name: str
    share: float
    strategy: str
    phases: tuple[tuple[str, str, int], ...]
    """What stands in the ledger, beside what the fold makes of it."""
    target: str
    subject: str
    """The version whose end it is."""
    ends: tuple[str, ...]
    """Phases of it that are an end."""
    retired: bool = False
    kept: tuple[str, ...] = ()
    """Versions that the specs have beside the target."""
    rejected: tuple[str, ...] = ()


def _story(name, share, strategy, phases, subject, ends, **more):
    found = tuple((id, *said) for id, said in phases.items())
    return Story(name, share, strategy, found, max(phases), subject, ends, **more)


_IN, _OUT = ("Active", "Rejected"), ("Removed",)
STORIES = (
    _story("canary", 0.30, "canary", {"v1": ("Active", 100), "v2": ("Starting", 0)}, "v2", _IN),
    _story("step", 0.08, "canary", {"v1": ("Active", 90), "v2": ("Canary", 10)}, "v2", _IN),
    _story("blue-green", 0.03, "blue-green", {"v1": ("Active", 100), "v2": ("Starting", 0)}, "v2", _IN),
    _story("direct", 0.02, "direct", {"v1": ("Active", 100), "v2": ("Starting", 0)}, "v2", _IN),
    _story("manual", 0.03, "manual", {"v1": ("Active", 100), "v2": ("Starting", 0)}, "v2", ("Active", "Canary", "Rejected")),
    _story("kept", 0.03, "canary", {"v1": ("Draining", 0), "v2": ("Active", 100)}, "v1", ("Parked", "Removed"), kept=("v1",)),
    _story("drain", 0.27, "canary", {"v1": ("Draining", 0), "v2": ("Active", 100)}, "v1", _OUT),
    _story("rejected", 0.05, "canary", {"v1": ("Active", 100), "v2": ("Rejected", 0)}, "v2", ("Parked", "Removed")),
    _story("parked", 0.05, "canary", {"v1": ("Parked", 0), "v2": ("Active", 100)}, "v1", _OUT),
    _story("many", 0.05, "canary", {"v1": ("Parked", 0), "v2": ("Draining", 0), "v3": ("Active", 100), "v4": ("Starting", 0)}, "v4", _IN),
    _story("return", 0.04, "canary", {"v1": ("Starting", 0), "v2": ("Active", 100)}, "v1", ("Active",), rejected=("v2",)),
    _story("retire", 0.05, "canary", {"v1": ("Active", 100)}, "v1", _OUT, retired=True),
)  # fmt: skip


def settings(strategy, *, grace, idle, back, step_for, synthetic):
    """What gati.yaml would say, in proportion, with all that takes hours made short."""
    sent = (
        {"synthetic": {"url": "https://shop.example.com", "requests": synthetic}}
        if synthetic
        else {}
    )
    return {
        "rollout": {
            "strategy": strategy,
            "analysis": {
                "interval": "60s",
                "stepFor": f"{step_for}s",
                "maxStep": "10m",
                "successPercent": 95,
                "latencyPercent": 95,
                "maxSuccessDrop": 4,
                "maxLatencyRatio": 3,
                "progressDeadline": "100s",
                **sent,
            },
        },
        "decommission": {
            "grace": f"{grace}s",
            "rollbackFor": f"{back}s",
            "idleFor": f"{idle}s",
            "maxDrain": "15m",
            "parkFor": f"{3 * grace // 2}s",
            "tombstoneFor": "1h",
        },
    }


@lru_cache(maxsize=256)
def rules_of(
    strategy: str, grace: int, idle: int, back: int, step_for: int, synthetic: int = 0
) -> Rules:
    said = settings(
        strategy, grace=grace, idle=idle, back=back, step_for=step_for, synthetic=synthetic
    )
    return rules_from(said, "prod")


@lru_cache(maxsize=256)
def version(id: str, digest: str, scaling: Scaling, breaking: bool = False) -> PlannedVersion:
    return PlannedVersion(
        id=id,
        name=UNIT.version_name(id),
        digest=digest,
        release=f"{id}-{digest}",
        image=f"registry.example.com/orders:{id}",
        port=3000,
        weight=100,
        breaking=breaking,
        scaling=scaling,
        files=("orders.yaml",),
    )


@lru_cache(maxsize=256)
def wanted(
    target: str,
    digest: str,
    scaling: Scaling,
    cluster: str,
    kept: tuple[str, ...] = (),
    breaking: bool = False,
) -> UnitPlan:
    """What specs say that have one version, or others beside it."""
    others = tuple(version(id, "a", scaling) for id in kept)
    versions = (*others, version(target, digest, scaling, breaking))
    return UnitPlan(UNIT, "prod", cluster, "shop", "main", target, ROUTE, versions)


@lru_cache(maxsize=64)
def policy_of(strategy: str) -> Policy:
    return Policy(strategy=strategy)


@lru_cache(maxsize=1024)
def beginning(story: Story, scaling: Scaling, cluster: str, breaking: bool = False) -> Stored:
    """The unit as it stands when the schedule begins."""
    policy = policy_of(story.strategy)
    stored: Stored | None = None
    order = [id for id, *_ in story.phases]
    if story.name == "return":
        order.reverse()
    for id in sorted(order):
        beside = tuple(other for other in story.kept if other < id)
        breaks = breaking and id == story.target
        outcome = fold(policy, wanted(id, "a", scaling, cluster, beside, breaks), stored)
        stored = Stored(outcome.plan, outcome.ledger)
        stored = _put(policy, stored, {id: ("Active", 100)}, ())
    said = {id: (phase, weight) for id, phase, weight in story.phases}
    stored = _put(policy, stored, said, story.rejected)
    if story.retired:
        outcome = fold(policy, None, stored)
        stored = Stored(outcome.plan, outcome.ledger)
    return stored


def _put(policy, stored, said, barred):
    ledger = stored.ledger
    entries = []
    for entry in ledger.entries:
        phase, weight = said.get(entry.id, ("Draining", 0))
        barred_too = entry.id in barred
        entries.append(replace(entry, phase=Phase(phase), weight=weight, rejected=barred_too))
    target = max(said) if not barred else min(said)
    outcome = refold(policy, stored, replace(ledger, target=target).with_entries(entries))
    return Stored(outcome.plan, outcome.ledger)


def manifest_of(stored: Stored, number: int) -> Manifest:
    """What the compiler writes of a unit, where the cluster reacts to it."""
    plan, ledger = stored.plan, stored.ledger
    table = route_table(plan, ledger)
    weights = {b.name: b.weight for b in table.split} if table is not None else {}
    pins = frozenset(pin.version for pin in table.pins if pin.backend) if table else frozenset()
    gone = frozenset(pin.version for pin in table.pins if not pin.backend) if table else frozenset()
    deployments = {}
    for entry, planned in _deployed(plan, ledger):
        scaling = planned.scaling
        parked = entry.phase is Phase.PARKED
        deployments[planned.name] = Wanted(
            planned.name,
            planned.release,
            planned.image,
            0 if parked else scaling.replicas,
            scaling.owned and not parked,
            scaling.min,
            scaling.max,
            parked,
        )
    return Manifest(number, weights, pins, gone, deployments)


def nothing(number: int) -> Manifest:
    """The unit's folder is gone: its objects are pruned."""
    return Manifest(number, {}, frozenset(), frozenset(), {})
