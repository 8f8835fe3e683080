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

from gati_gitops.ledger.model import DEPLOYED, WEIGHTED, Entry, Ledger, Phase
from gati_gitops.ledger.outcome import Objection, Outcome, followed, needed, numbered
from gati_gitops.ledger.policy import Policy
from gati_gitops.ledger.queue import overtaken, waiting
from gati_gitops.ledger.revisions import judged, refusal, revised, without_release
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.plan.model import PlannedVersion, UnitPlan

__all__ = ["Objection", "Outcome", "Policy", "TakenBack", "fold", "folded", "refold", "seed"]


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A person removed a whole unit that we had written."""

    highest: int
    """The highest number that its ledger had."""
    reason: str


def fold(
    policy: Policy,
    wanted: UnitPlan | None,
    stored: Stored | None,
    sibling: Stored | None = None,
    taken_back: TakenBack | None = None,
) -> Outcome:
    """The plan and ledger of one unit on one cluster after this compile."""
    if stored is None:
        if wanted is None:
            return Outcome(None, Ledger())
        if taken_back is not None:
            return _still_wanted(_in_order(wanted), taken_back)
        return _first(policy, _in_order(wanted), sibling)
    return folded(policy, wanted, stored, stored.ledger or recovered(stored))


def refold(policy: Policy, stored: Stored, ledger: Ledger) -> Outcome:
    """What a compile of the specs as they were last would give if the ledger were ``ledger``.

    So a decision is made without the specs, and the next compile finds nothing to add to it.
    """
    return folded(policy, stored.plan.wanted, stored, ledger)


def folded(policy: Policy, wanted: UnitPlan | None, stored: Stored, ledger: Ledger) -> Outcome:
    """What the specs want and what was decided, over what is stored."""
    if wanted is None:
        return _retire(policy, stored, ledger)
    wanted = _completed(_in_order(wanted), stored, ledger)
    if ledger.hold:
        return _held(policy, wanted, stored, ledger)
    return _merge(policy, wanted, stored, ledger)


def _in_order(wanted: UnitPlan) -> UnitPlan:
    """The versions in the order in which they are stored, so that no other order decides."""
    return replace(wanted, versions=tuple(sorted(wanted.versions, key=lambda v: v.key)))


def _completed(wanted: UnitPlan, stored: Stored, ledger: Ledger) -> UnitPlan:
    """A version whose spec does not say how it runs is the one that was published before."""

    def complete(version: PlannedVersion) -> PlannedVersion:
        entry = ledger.live(version.id) if not version.release else None
        known = stored.plan.version(*entry.key) if entry is not None else None
        return replace(known, weight=version.weight, gone=False) if known is not None else version

    return replace(wanted, versions=tuple(complete(version) for version in wanted.versions))


# -- a unit that is new here ---------------------------------------------------------------------


def _first(policy: Policy, wanted: UnitPlan, sibling: Stored | None) -> Outcome:
    if sibling is not None and sibling.ledger is not None:
        # a cluster that joins gets what its siblings run; from there it goes on like them
        ledger = _copied(sibling.ledger)
        here = replace(sibling, ledger=ledger)
        if ledger.hold:
            return _held(policy, wanted, here, ledger)
        return _merge(policy, wanted, here, ledger)
    lacking = [v for v in wanted.versions if not v.release]
    entries = seed(policy, wanted)
    ledger = Ledger(target=wanted.target).with_entries(entries)
    return followed(wanted, ledger, None, tuple(without_release(v) for v in lacking))


def _still_wanted(wanted: UnitPlan, taken_back: TakenBack) -> Outcome:
    """The specs have it, a person took it away: it is stored, and waits for a release."""
    entries = [Entry(v.id, v.digest, Phase.PENDING) for v in wanted.versions if v.release]
    held = Ledger(target=wanted.target, hold=taken_back.reason).with_entries(entries)
    outcome = followed(wanted, held, None, notes=(f"held: {taken_back.reason}",))
    return replace(outcome, ledger=replace(outcome.ledger, seq=taken_back.highest + 1))


def seed(policy: Policy, wanted: UnitPlan) -> list[Entry]:
    """What stands in the ledger after the first publish."""
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


def _copied(ledger: Ledger) -> Ledger:
    """What is Active, what is judged bad and a hold; not how far a rollout has come."""
    return Ledger(target=ledger.target, hold=ledger.hold).with_entries(
        replace(e, weight=100 if e.phase is Phase.ACTIVE else 0, previous="", floor=0, proved=0)
        for e in ledger.entries
        if e.phase is Phase.ACTIVE or e.barred
    )


# -- a unit that the specs no longer have --------------------------------------------------------


def _retire(policy: Policy, stored: Stored, ledger: Ledger) -> Outcome:
    deployed = ledger.deployed
    if not ledger.hold and (policy.on_delete == "immediate" or not deployed):
        return Outcome(None, ledger)
    kept = ledger if ledger.hold else replace(ledger, retiring=True)
    kept = kept.with_entries(e for e in kept.entries if e.phase is not Phase.PENDING)
    note = "held: not retired" if ledger.hold else "retiring: serves until nobody calls"
    versions = needed(kept, None, prefer=stored.plan, other=None)
    return numbered(replace(stored.plan, versions=versions), None, kept, stored, (), (note,))


# -- a unit that stands still --------------------------------------------------------------------


def _held(policy: Policy, wanted: UnitPlan, stored: Stored, ledger: Ledger) -> Outcome:
    """Phases, weights and manifests freeze; only what waits is brought up to date."""
    live = [e for e in ledger.entries if e.phase is not Phase.PENDING]
    known = {entry.key for entry in live}
    waits: list[Entry] = []
    objections: list[Objection] = []
    for version in wanted.versions:
        entry = ledger.live(version.id)
        if version.key in known or (entry is not None and version.digest in entry.revoked):
            continue
        objection = refusal(policy, wanted, stored, version, entry)
        if objection is not None:
            objections.append(objection)
        else:
            waits.append(waiting(version, ledger))
    waits += overtaken(policy, wanted, stored, ledger, waits)
    frozen = ledger.with_entries([*live, *waits])
    plan = replace(
        stored.plan,
        cluster=wanted.cluster,
        target=wanted.target,
        versions=needed(frozen, wanted, prefer=stored.plan, other=wanted),
    )
    return numbered(plan, wanted, frozen, stored, tuple(objections), (f"held: {ledger.hold}",))


# -- a unit that goes on -------------------------------------------------------------------------


def _merge(policy: Policy, wanted: UnitPlan, stored: Stored, ledger: Ledger) -> Outcome:
    objections: list[Objection] = []
    ledger = _called_off(wanted, replace(ledger, retiring=False))
    entries = {e.id: e for e in ledger.entries if e.phase is not Phase.PENDING}
    pending: list[Entry] = []
    busy = policy.strategy != "manual" and ledger.rolling is not None
    for version in wanted.versions:
        entry = entries.get(version.id)
        refused = refusal(policy, wanted, stored, version, entry)
        if refused is not None:
            objections.append(refused)
            continue
        target = version.id == wanted.target
        paused = waiting(version, ledger).paused
        entry, waits = _step(policy, version, entry, target=target, busy=busy, paused=paused)
        if entry is not None:
            entries[version.id] = entry
        if waits:
            pending.append(waiting(version, ledger))
    if not busy and _may_start(wanted.target, entries, pending):
        ledger = replace(ledger, target=wanted.target)
    pending += overtaken(policy, wanted, stored, ledger, pending)
    ledger = ledger.with_entries([*entries.values(), *pending])
    ledger = _drain_forgotten(wanted, ledger)
    if policy.strategy == "manual":
        ledger = _follow_weights(wanted, ledger)
    return followed(wanted, ledger, stored, tuple(objections), _unheard(wanted, ledger))


def _step(
    policy: Policy,
    version: PlannedVersion,
    entry: Entry | None,
    *,
    target: bool,
    busy: bool,
    paused: bool,
) -> tuple[Entry | None, bool]:
    """What stands in the ledger of a version, and whether the version waits beside that."""
    new = Entry(version.id, version.digest, Phase.STARTING, revoked=judged(entry))
    waits = paused or policy.promoted or (target and busy)  # of targets only the newest waits
    if entry is None:
        return (None, True) if waits else (new, False)
    if version.digest in entry.revoked:
        return entry, False
    if version.release and entry.digest != version.digest:
        if entry.barred or entry.phase is Phase.REMOVED:
            return (entry, target) if waits or not target else (new, False)
        if policy.promoted or paused:
            return entry, True
        entry = revised(entry, version)
    if _comes_back(policy, version, entry, target=target, busy=busy):
        if policy.promoted and entry.phase is Phase.REMOVED:
            return entry, True
        return replace(entry, phase=Phase.STARTING, image="", previous=""), False
    return entry, False


def _called_off(wanted: UnitPlan, ledger: Ledger) -> Ledger:
    """A rollout ends when its spec is gone and the specs want what is Active: a release undone."""
    rolling, back = ledger.rolling, ledger.live(wanted.target)
    spoken = {version.id for version in wanted.versions}
    undone = rolling is not None and rolling.id not in spoken
    if undone and back and back.phase is Phase.ACTIVE and not back.barred:
        return replace(ledger, target=wanted.target)
    return ledger


def _may_start(target: str, entries: Mapping[str, Entry], pending: list[Entry]) -> bool:
    entry = entries.get(target)
    return entry is not None and not entry.barred and not any(e.id == target for e in pending)


def _comes_back(
    policy: Policy, version: PlannedVersion, entry: Entry, *, target: bool, busy: bool
) -> bool:
    """A version on its way out that the specs want again starts as a new one would."""
    if entry.barred:
        return False
    if policy.strategy == "manual":  # what drains still serves, so it takes its weight back at once
        return bool(version.weight) and entry.phase in (Phase.PARKED, Phase.REMOVED)
    leaving = (Phase.DRAINING, Phase.PARKED, Phase.REMOVED)
    return target and not busy and entry.phase in leaving


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
    if any(e is None or e.barred or e.phase not in (*WEIGHTED, Phase.DRAINING) for e in weighted):
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


# -- words ----------------------------------------------------------------------------------------


def _unheard(wanted: UnitPlan, ledger: Ledger) -> tuple[str, ...]:
    """What the specs ask for in vain."""
    found = []
    for version in wanted.versions:
        entry = ledger.live(version.id)
        if entry is not None and version.digest in entry.revoked:
            found.append(f"{version.id}: this revision was rejected, so the one before it stays")
        elif entry is not None and entry.barred and version.id == wanted.target:
            found.append(f"{version.id} was rejected, so it is not rolled out")
        elif waiting(version, ledger).paused:
            found.append(f"{version.id} waits: it starts when a person releases the unit")
    return tuple(found)
