"""What a unit's route says, whatever the provider: shares, pins and tombstones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gati_gitops.ledger.model import DEPLOYED, Entry, Ledger, Phase
from gati_gitops.plan.model import PlannedVersion, UnitPlan
from gati_gitops.plan.naming import hashed, slug

HEADERS = ("X-Gati-Version", "X-Api-Version")
QUERIES = ("version", "v")


@dataclass(frozen=True, slots=True)
class Backend:
    """A Service and its share of the traffic."""

    name: str
    port: int
    weight: int


@dataclass(frozen=True, slots=True)
class Pin:
    """Requests that name one version. Without a backend they must fail, never go elsewhere."""

    version: str
    backend: Backend | None


@dataclass(frozen=True, slots=True)
class RouteTable:
    """The traffic of one unit. ``split`` is empty or has a positive sum."""

    split: tuple[Backend, ...]
    pins: tuple[Pin, ...]
    active: str = ""
    """The Service of the version that is Active."""


def route_table(plan: UnitPlan, ledger: Ledger) -> RouteTable | None:
    """None when there is nothing to route to or to answer for."""
    split: list[Backend] = []
    pins: list[Pin] = []
    parked: list[PlannedVersion] = []
    active = ""
    for entry in ledger.entries:
        if entry.phase is Phase.REMOVED:
            pins.append(Pin(entry.id, None))
        version = plan.version(entry.id, entry.digest)
        if version is None or entry.phase not in DEPLOYED:
            continue
        pins.append(Pin(entry.id, Backend(version.name, version.port, 1)))
        if entry.phase is Phase.ACTIVE:
            active = version.name
        if entry.phase is Phase.PARKED:
            parked.append(version)
        else:
            # weight 0 stays in the list: the next step is then a change of one number
            split.append(Backend(version.name, version.port, _weight(entry)))
    if not any(backend.weight for backend in split):
        # never all zero: either nobody asks yet, or a parked unit answers 503 for itself
        split = [Backend(v.name, v.port, 1) for v in parked] if ledger.retiring else []
    if not split and not pins:
        return None
    return RouteTable(tuple(split), tuple(sorted(pins, key=lambda pin: pin.version)), active)


def rule_names(pins: Iterable[Pin]) -> dict[Pin, str]:
    """What the rule of each pin is called; ``v1.0`` and ``v1-0`` may both have gone."""
    names: dict[str, Pin] = {}
    for pin in pins:
        name = f"{'pin' if pin.backend else 'gone'}-{slug(pin.version)}"
        names[name if name not in names else hashed(name, pin.version, 63)] = pin
    return {pin: name for name, pin in names.items()}


def _weight(entry: Entry) -> int:
    return entry.weight if entry.phase in (Phase.CANARY, Phase.ACTIVE) else 0
