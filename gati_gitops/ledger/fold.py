"""Specs meet ledger: what a compile may change, and what it must leave alone.

``fold`` is the whole rule. It takes what the specs want of one unit on one cluster, what was stored
there and what was decided there, and gives the plan and ledger to write. It never moves weight,
except under ``manual``, where the spec's weights are the traffic, and on a unit's first publish.
A version leaves only through its ledger, so what vanished from the specs stays until a successor is
Active and evidence lets it go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from gati_gitops.ledger.model import DEPLOYED, WEIGHTED, Entry, Ledger, Phase
from gati_gitops.ledger.store import dump_plan
from gati_gitops.plan.model import PlannedVersion, UnitPlan
from gati_gitops.spec.project import Revisions, Strategy

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Policy:
    """What an environment says about changes."""

    strategy: Strategy = "manual"
    promoted: bool = False
    """New versions wait until another environment has proved them."""
    revisions: Revisions = "roll"
    on_delete: str = "drain"


@dataclass(frozen=True, slots=True)
class Stored:
    """What the output holds of one unit on one cluster."""

    plan: UnitPlan
    ledger: Ledger | None
    """None: a person deleted it."""
    weights: Mapping[str, int]
    """Weights by object name as its route has them; asked only when the ledger is gone."""


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


def fold(
    policy: Policy, wanted: UnitPlan | None, stored: Stored | None, sibling: Stored | None = None
) -> Outcome:
    """The plan and ledger of one unit on one cluster after this compile."""
    if stored is None:
        if wanted is None:
            return Outcome(None, Ledger())
        return _first(policy, wanted, sibling)
    ledger = stored.ledger or _recovered(stored)
    if wanted is None:
        return _retire(policy, stored, ledger)
    if ledger.hold:
        return _held(wanted, stored, ledger)
    return _merge(policy, wanted, stored, ledger)


# -- a unit that is new here ---------------------------------------------------------------------


def _first(policy: Policy, wanted: UnitPlan, sibling: Stored | None) -> Outcome:
    if sibling is not None and sibling.ledger is not None:
        return _copied(policy, wanted, sibling.plan, sibling.ledger)
    lacking = [v for v in wanted.versions if not v.release]
    entries = _seed(policy, wanted)
    ledger = Ledger(target=wanted.target).with_entries(entries)
    return _outcome(wanted, ledger, None, tuple(_without_release(v) for v in lacking))


def _seed(policy: Policy, wanted: UnitPlan) -> list[Entry]:
    if policy.promoted:
        return [Entry(v.id, v.digest, Phase.PENDING) for v in wanted.versions]
    top = max(wanted.versions, key=lambda v: (v.weight or 0, v.id == wanted.target))
    others = sum(v.weight or 0 for v in wanted.versions if v is not top)
    return [
        Entry(v.id, v.digest, Phase.ACTIVE, 100 - others)
        if v is top
        else Entry(v.id, v.digest, Phase.CANARY, v.weight)
        if v.weight
        else Entry(v.id, v.digest, Phase.STARTING)
        for v in wanted.versions
    ]


def _copied(policy: Policy, wanted: UnitPlan, plan: UnitPlan, ledger: Ledger) -> Outcome:
    """A cluster that joins an environment gets what its siblings run, not what the spec says."""
    entries = [
        replace(e, weight=100 if e.phase is Phase.ACTIVE else 0, previous="")
        for e in ledger.entries
        if e.phase in (Phase.ACTIVE, Phase.REJECTED)
    ]
    known = {entry.id for entry in entries}
    entries += [
        Entry(v.id, v.digest, Phase.PENDING)
        for v in wanted.versions
        if v.id == wanted.target and v.id not in known
    ]
    fresh = Ledger(target=ledger.target).with_entries(entries)
    return _outcome(wanted, fresh, Stored(plan, ledger, {}))


# -- a unit that the specs no longer have --------------------------------------------------------


def _retire(policy: Policy, stored: Stored, ledger: Ledger) -> Outcome:
    deployed = ledger.deployed
    if not ledger.hold and (policy.on_delete == "immediate" or not deployed):
        return Outcome(None, ledger)
    kept = ledger if ledger.hold else replace(ledger, retiring=True)
    kept = kept.with_entries(e for e in kept.entries if e.phase is not Phase.PENDING)
    note = "held: not retired" if ledger.hold else "retiring: serves until nobody calls"
    return _outcome(stored.plan, kept, stored, notes=(note,))


# -- a unit that stands still --------------------------------------------------------------------


def _held(wanted: UnitPlan, stored: Stored, ledger: Ledger) -> Outcome:
    """Phases, weights and manifests freeze; only what waits is brought up to date."""
    live = [e for e in ledger.entries if e.phase is not Phase.PENDING]
    known = {entry.key for entry in live}
    waiting = [
        Entry(v.id, v.digest, Phase.PENDING)
        for v in wanted.versions
        if v.key not in known and v.release and v.id == wanted.target
    ]
    frozen = ledger.with_entries([*live, *waiting])
    plan = replace(
        stored.plan,
        versions=_versions(frozen, prefer=stored.plan, other=wanted),
    )
    return _numbered(plan, frozen, stored, (), (f"held: {ledger.hold}",))


def _recovered(stored: Stored) -> Ledger:
    """A ledger deleted by hand means held; its phases are read back from the route."""
    top = max(stored.weights.values(), default=0)
    entries = []
    for version in stored.plan.versions:
        weight = stored.weights.get(version.name, 0)
        phase = Phase.STARTING
        if weight:
            phase = Phase.ACTIVE if weight == top else Phase.CANARY
            top = -1 if weight == top else top  # one version is Active
        entries.append(Entry(version.id, version.digest, phase, weight))
    ledger = Ledger(target=stored.plan.target, hold="the ledger was deleted by hand")
    return ledger.with_entries(entries)


# -- a unit that goes on -------------------------------------------------------------------------


def _merge(policy: Policy, wanted: UnitPlan, stored: Stored, ledger: Ledger) -> Outcome:
    objections: list[Objection] = []
    entries: dict[Key, Entry] = {e.key: e for e in ledger.entries if e.phase is not Phase.PENDING}
    pending: list[Entry] = []
    ledger = replace(ledger, retiring=False)
    for version in wanted.versions:
        entry = ledger.live(version.id)
        if entry is None:
            _enter(policy, wanted, version, ledger, entries, pending, objections)
        elif entry.digest != version.digest and version.release:
            _revise(policy, wanted, stored, version, entry, entries, pending, objections)
        elif version.id == wanted.target and entry.phase in (
            Phase.DRAINING,
            Phase.PARKED,
            Phase.REMOVED,
        ):
            _restart(policy, version, entry, ledger, entries, pending)
    if not ledger.rolling and not pending and _may_start(wanted.target, entries):
        ledger = replace(ledger, target=wanted.target)
    ledger = ledger.with_entries([*entries.values(), *pending])
    ledger = _drain_forgotten(wanted, ledger)
    if policy.strategy == "manual":
        ledger = _follow_weights(wanted, ledger)
    return _outcome(wanted, ledger, stored, tuple(objections))


def _may_start(target: str, entries: Mapping[Key, Entry]) -> bool:
    return any(e.id == target and e.phase is not Phase.REJECTED for e in entries.values())


def _enter(
    policy: Policy,
    wanted: UnitPlan,
    version: PlannedVersion,
    ledger: Ledger,
    entries: dict[Key, Entry],
    pending: list[Entry],
    objections: list[Objection],
) -> None:
    """A version id that is new here: deployed at weight 0, or waiting for its turn."""
    if not version.release:
        objections.append(_without_release(version))
        return
    target = version.id == wanted.target
    busy = target and policy.strategy != "manual" and ledger.rolling is not None
    if policy.promoted or busy:
        if target or not ledger.deployed:  # only the newest waits, once something runs
            pending.append(Entry(version.id, version.digest, Phase.PENDING))
        return
    entries[version.key] = Entry(version.id, version.digest, Phase.STARTING)


def _revise(
    policy: Policy,
    wanted: UnitPlan,
    stored: Stored,
    version: PlannedVersion,
    entry: Entry,
    entries: dict[Key, Entry],
    pending: list[Entry],
    objections: list[Objection],
) -> None:
    """The same version id with other pods."""
    before = stored.plan.version(entry.id, entry.digest)
    image = before.image if before is not None else entry.image
    if image and image != version.image and policy.revisions != "any":
        objections.append(
            Objection(
                "image-changed",
                version.id,
                f"version {version.id} was published with image {image}, now it names"
                f" {version.image}",
                "a version never changes its image: give the new image a new version id",
            )
        )
        return
    if entry.phase is Phase.REJECTED and version.id != wanted.target:
        return
    if policy.revisions == "refuse":
        objections.append(
            Objection(
                "revision-refused",
                version.id,
                f"version {version.id} changed, and {wanted.environment} refuses revisions",
                "give it a new version id, or set revisions: roll for this environment",
            )
        )
        return
    if policy.promoted:
        pending.append(Entry(version.id, version.digest, Phase.PENDING))
        return
    del entries[entry.key]
    restart = entry.phase in (Phase.REJECTED, Phase.PARKED, Phase.REMOVED)
    restart = restart and version.id == wanted.target
    entries[version.key] = replace(
        entry,
        digest=version.digest,
        phase=Phase.STARTING if restart else entry.phase,
        previous="" if restart else entry.digest,
    )


def _restart(
    policy: Policy,
    version: PlannedVersion,
    entry: Entry,
    ledger: Ledger,
    entries: dict[Key, Entry],
    pending: list[Entry],
) -> None:
    """The target is a version on its way out: it comes back as a new one would."""
    rolling = ledger.rolling
    if policy.strategy != "manual" and rolling is not None and rolling.id != version.id:
        return
    if policy.promoted and entry.phase is Phase.REMOVED:
        pending.append(Entry(version.id, version.digest, Phase.PENDING))
        return
    entries[entry.key] = replace(entry, phase=Phase.STARTING)


def _drain_forgotten(wanted: UnitPlan, ledger: Ledger) -> Ledger:
    """What has no spec and no weight goes out once another version is Active."""
    spoken = {version.id for version in wanted.versions}
    if not any(e.phase is Phase.ACTIVE for e in ledger.entries):
        return ledger
    rolling = ledger.rolling
    return ledger.with_entries(
        replace(entry, phase=Phase.DRAINING)
        if entry.phase is Phase.STARTING and entry.id not in spoken and entry != rolling
        else entry
        for entry in ledger.entries
    )


def _follow_weights(wanted: UnitPlan, ledger: Ledger) -> Ledger:
    """Under ``manual`` the spec's weights are the traffic, once all that get some were released."""
    weights = {version.id: version.weight or 0 for version in wanted.versions}
    weighted = [ledger.live(name) for name, weight in weights.items() if weight]
    if any(e is None or e.phase not in (*WEIGHTED, Phase.DRAINING) for e in weighted):
        return ledger
    top = max(weights, key=lambda name: (weights[name], name == wanted.target))

    def moved(entry: Entry) -> Entry:
        if entry.phase not in DEPLOYED:
            return entry
        weight = weights.get(entry.id, 0)
        if weight:
            phase = Phase.ACTIVE if entry.id == top else Phase.CANARY
            return replace(entry, phase=phase, weight=weight)
        return replace(
            entry, weight=0, phase=Phase.DRAINING if entry.phase in WEIGHTED else entry.phase
        )

    return ledger.with_entries(
        moved(e) if e.phase is not Phase.PENDING else e for e in ledger.entries
    )


# -- what is written -----------------------------------------------------------------------------


def _outcome(
    wanted: UnitPlan,
    ledger: Ledger,
    stored: Stored | None,
    objections: tuple[Objection, ...] = (),
    notes: tuple[str, ...] = (),
) -> Outcome:
    other = stored.plan if stored is not None else None
    plan = replace(wanted, versions=_versions(ledger, prefer=wanted, other=other))
    return _numbered(plan, ledger, stored, objections, notes)


def _versions(
    ledger: Ledger, *, prefer: UnitPlan, other: UnitPlan | None
) -> tuple[PlannedVersion, ...]:
    """The plan of every version that the ledger speaks of, and of revisions it may return to."""
    keys: dict[Key, None] = {}
    for entry in ledger.entries:
        if entry.phase is not Phase.REMOVED:
            keys[entry.key] = None
        if entry.previous:
            keys[entry.id, entry.previous] = None
    found = []
    for key in keys:
        version = prefer.version(*key) or (other.version(*key) if other is not None else None)
        if version is not None:
            found.append(version)
    return tuple(sorted(found, key=lambda v: v.key))


def _numbered(
    plan: UnitPlan,
    ledger: Ledger,
    stored: Stored | None,
    objections: tuple[Objection, ...],
    notes: tuple[str, ...],
) -> Outcome:
    """Every change of plan or ledger raises ``seq``; no change keeps it, so nothing is written."""
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
    key = sha256(unit_yaml + _decided(ledger).encode()).hexdigest()[:12]
    return Outcome(plan, replace(ledger, seq=before + 1, key=key), objections, notes, unit_yaml)


def _decided(ledger: Ledger) -> str:
    """What a ledger says, without its number."""
    entries = [f"{e.id} {e.digest} {e.phase} {e.weight} {e.previous}" for e in ledger.entries]
    return "\n".join([ledger.target, ledger.hold, str(ledger.retiring), *entries])


def _without_release(version: PlannedVersion) -> Objection:
    return Objection(
        "version-without-image",
        version.id,
        f"version {version.id} has no image, and no release of it was compiled before",
        "set spec.image on its GatiVersion, or publish it from its GatiHandler first",
    )
