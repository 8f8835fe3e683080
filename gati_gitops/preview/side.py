"""One of the two sides that are compared: files, and the plans and ledgers that they come from.

A side need not be whole. What stands on both sides in the same way may be left out of both, which
is how a preview costs what has changed, and not what there is (``partial.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gati_gitops.compiler import Compilation
from gati_gitops.errors import Place, Problem
from gati_gitops.ledger.model import Ledger
from gati_gitops.ledger.stored import recovered
from gati_gitops.output import Output
from gati_gitops.plan.model import UnitPlan
from gati_gitops.preview.model import Compared
from gati_gitops.tree import Snapshot

UnitPlace = tuple[str, str, str, str]
"""Environment, cluster, namespace and folder."""

Locate = Callable[[UnitPlace, str, tuple[str, ...]], Place | None]
"""Where the specs say a field (``("spec", "image")``) of a version ("" for the unit) of a unit."""


@dataclass(frozen=True, slots=True)
class UnitSide:
    """One unit on one cluster."""

    plan: UnitPlan
    ledger: Ledger
    notes: tuple[str, ...] = ()
    """What the compile could not do yet."""

    @property
    def place(self) -> UnitPlace:
        return (self.plan.environment, self.plan.cluster, *self.plan.unit.key)


@dataclass(frozen=True, slots=True)
class Side:
    """What a review compares."""

    files: Mapping[str, bytes]
    units: Mapping[UnitPlace, UnitSide]
    compared: Compared = field(default_factory=lambda: Compared(""))
    problems: tuple[Problem, ...] = ()
    """Warnings of the specs, and policies that they break."""
    locate: Locate = lambda _place, _version, _field: None
    environments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Their names and clusters, in the order of the project; empty where nobody knows."""
    prefix: str = ""
    """What stands before the names of spec files, for who looks from elsewhere."""

    def template(self, file: str) -> Place:
        """A template, as the specs' files are called from outside."""
        return Place(f"{self.prefix}{file}", 1, 1)

    @property
    def homes(self) -> dict[str, str]:
        """The environment of each cluster."""
        return {name: env for env, names in self.environments.items() for name in names}


def compiled_side(
    compilation: Compilation,
    compared: Compared,
    locate: Locate,
    environments: Mapping[str, tuple[str, ...]] | None = None,
) -> Side:
    """A side that has just been compiled."""
    units = [
        UnitSide(placed.outcome.plan, placed.outcome.ledger, placed.outcome.notes)
        for placed in compilation.units
        if placed.outcome.plan is not None
    ]
    return Side(
        compilation.tree,
        {unit.place: unit for unit in units},
        compared,
        compilation.warnings,
        locate,
        environments or {},
    )


def stored_side(before: Snapshot, compared: Compared, touched: Iterable[str]) -> Side:
    """A side that is stored: a branch's tip, say. Only units of ``touched`` folders are read."""
    output = Output(before)
    units: dict[UnitPlace, UnitSide] = {}
    for place in sorted({p for path in touched if (p := unit_place(path)) is not None}):
        env, cluster, *key = place
        stored = output.unit(env, cluster, (key[0], key[1]))
        if stored is not None:
            units[place] = UnitSide(stored.plan, stored.ledger or recovered(stored))
    return Side(SnapshotFiles(before), units, compared)


def unit_place(path: str) -> UnitPlace | None:
    """The unit that a file of the output belongs to."""
    parts = path.split("/")
    if len(parts) < 6 or parts[0] != "overlays" or parts[4].startswith("_"):
        return None
    return (parts[1], parts[2], parts[3], parts[4])


class SnapshotFiles(Mapping[str, bytes]):
    """A snapshot as a mapping; nothing is read before it is asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __getitem__(self, path: str) -> bytes:
        content = self._snapshot.read(path)
        if content is None:
            raise KeyError(path)
        return content

    def __iter__(self) -> Iterator[str]:
        return iter(self._snapshot.paths(""))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def below(self, folder: str) -> Iterable[str]:
        """The files of a folder."""
        return self._snapshot.paths(folder)
