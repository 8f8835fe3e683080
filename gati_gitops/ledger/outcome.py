"""What a fold gives: plan and ledger to write, numbered when they are new.

The stored plan holds what the specs say and what the ledger still needs beside that, so that
whatever is decided later can be folded again without the specs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256

from gati_gitops.ledger.handover import hand_over
from gati_gitops.ledger.model import Ledger, Phase
from gati_gitops.ledger.store import dump_plan
from gati_gitops.ledger.stored import Stored
from gati_gitops.plan.model import PlannedVersion, UnitPlan

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Objection:
    """Why the specs cannot be followed here; the caller knows file and line."""

    code: str
    version: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to write. No plan means that nothing of the unit is left."""

    plan: UnitPlan | None
    ledger: Ledger
    objections: tuple[Objection, ...] = ()
    notes: tuple[str, ...] = ()
    unit_yaml: bytes = b""
    """The plan as it is stored, if making the key needed it already."""


def followed(
    wanted: UnitPlan,
    ledger: Ledger,
    stored: Stored | None,
    objections: tuple[Objection, ...] = (),
    notes: tuple[str, ...] = (),
) -> Outcome:
    """The specs' plan, with what the ledger needs beside it."""
    other = stored.plan if stored is not None else None
    versions = needed(ledger, wanted, prefer=wanted, other=other)
    if stored is not None and stored.plan.cluster == wanted.cluster:
        ledger, versions, waiting = hand_over(ledger, versions, stored)
        notes += waiting
    return numbered(replace(wanted, versions=versions), wanted, ledger, stored, objections, notes)


def needed(
    ledger: Ledger, wanted: UnitPlan | None, *, prefer: UnitPlan, other: UnitPlan | None
) -> tuple[PlannedVersion, ...]:
    """The plan of every version that ledger or specs speak of, and of revisions to return to."""
    keys: dict[Key, None] = {}
    for entry in ledger.entries:
        if entry.phase is not Phase.REMOVED:
            keys[entry.key] = None
        if entry.previous:
            keys[entry.id, entry.previous] = None
    if wanted is not None:
        keys |= {version.key: None for version in wanted.versions if version.release}
    found = []
    for key in keys:
        version = prefer.version(*key) or (other.version(*key) if other is not None else None)
        if version is not None:
            found.append(version)
    return tuple(sorted(found, key=lambda v: v.key))


def numbered(
    plan: UnitPlan,
    wanted: UnitPlan | None,
    ledger: Ledger,
    stored: Stored | None,
    objections: tuple[Objection, ...] = (),
    notes: tuple[str, ...] = (),
) -> Outcome:
    """Every change of plan or ledger raises ``seq``; no change keeps it, so nothing is written."""
    plan = _remembering(plan, wanted)
    old = stored.ledger if stored is not None else None
    if (
        old is not None
        and stored is not None
        and plan.cluster == stored.plan.cluster
        and plan == stored.plan
        and replace(ledger, seq=old.seq, key=old.key) == old
    ):
        return Outcome(plan, old, objections, notes)
    same_place = stored is not None and stored.plan.cluster == plan.cluster
    before = old.seq if old is not None and same_place else 0
    unit_yaml = dump_plan(plan)
    key = decision_of(unit_yaml, ledger)
    return Outcome(plan, replace(ledger, seq=before + 1, key=key), objections, notes, unit_yaml)


def decision_of(unit_yaml: bytes, ledger: Ledger) -> str:
    """The key of a decision: what plan and ledger say together, without the ledger's number."""
    return sha256(unit_yaml + _decided(ledger).encode()).hexdigest()[:12]


def _remembering(plan: UnitPlan, wanted: UnitPlan | None) -> UnitPlan:
    """The plan, from which what the specs say can be told again."""
    spoken = {version.key for version in wanted.versions} if wanted is not None else set[Key]()
    versions = tuple(
        v if v.gone == (v.key not in spoken) else replace(v, gone=not v.gone) for v in plan.versions
    )
    plan = replace(plan, versions=versions, next=None)
    return replace(plan, next=wanted) if plan.wanted != wanted else plan


def _decided(ledger: Ledger) -> str:
    """What a ledger says, without its number."""
    entries = [
        f"{e.id} {e.digest} {e.phase} {e.weight} {e.previous} {e.image}"
        f" {e.rejected} {e.handed_over} {' '.join(e.revoked)}".rstrip()
        + " paused" * e.paused
        + "".join(
            f" {name} {number}"
            for name, number in (
                ("floor", e.floor),
                ("proved", e.proved),
                ("overtaken", e.overtaken),
            )
            if number
        )
        for e in ledger.entries
    ]
    return "\n".join([ledger.target, ledger.hold, str(ledger.retiring), *entries])
