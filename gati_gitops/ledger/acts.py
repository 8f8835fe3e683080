"""What a person decides about a unit on one cluster: hold, release, reject, roll back, retire.

Each takes what is stored and gives what to write, as a compile of the unchanged specs would leave
it, so the next compile has nothing to add. The same decision again changes nothing. What cannot be
done is refused, and the remedy says what can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gati_gitops.errors import Refused
from gati_gitops.ledger.decided import (
    Key,
    current,
    decided,
    filled,
    more,
    names,
    rejected,
    release_words,
    tombstone,
    unchanged,
    unknown,
    with_changed,
)
from gati_gitops.ledger.fold import Policy, refold, seed
from gati_gitops.ledger.model import WEIGHTED, Entry, Ledger, Phase
from gati_gitops.ledger.outcome import Outcome
from gati_gitops.ledger.rollback import returned, rollback
from gati_gitops.ledger.stored import Stored

__all__ = [
    "forgive", "hold", "lift", "reject", "release", "remove", "retire", "rollback",
]  # fmt: skip


def hold(policy: Policy, stored: Stored, reason: str) -> Outcome:
    """Everything stands still until it is released."""
    return decided(policy, stored, replace(current(stored), hold=reason))


# -- release -------------------------------------------------------------------------------------


def lift(policy: Policy, stored: Stored) -> Outcome:
    """End a hold; what waited goes on as the policy lets it."""
    ledger = current(stored)
    if not ledger.hold:
        return unchanged(policy, stored, "it is not held")
    return decided(policy, stored, replace(ledger, hold=""))


def release(policy: Policy, stored: Stored, elsewhere: Mapping[Key, str] | None = None) -> Outcome:
    """Let what waits for a person go on. ``elsewhere``: what was judged bad, and where."""
    ledger = current(stored)
    if ledger.hold:
        return lift(policy, stored)
    if (back := ledger.returning) is not None:
        return decided(policy, stored, returned(ledger, back, [ledger.active]))
    pending = [entry for entry in ledger.entries if entry.phase is Phase.PENDING]
    weights = _wanted_weights(stored) if policy.strategy == "manual" else {}
    starting = [e for e in ledger.entries if e.phase is Phase.STARTING and weights.get(e.id)]
    for entry in pending or starting:
        if entry.key in (elsewhere or {}) and not entry.overtaken:
            raise _bad_elsewhere(stored, entry, (elsewhere or {})[entry.key])
    if pending:
        return _started(policy, stored, ledger, pending)
    if starting:
        return _given_weight(policy, stored, ledger, starting)
    return unchanged(policy, stored, "nothing waits to be released")


def _started(policy: Policy, stored: Stored, ledger: Ledger, pending: list[Entry]) -> Outcome:
    """Start what waits for promotion, by a person's decision."""
    here = replace(policy, promoted=False)
    before, wanted = ledger, stored.plan.wanted
    ledger = with_changed(ledger, pending, lambda e: replace(e, paused=False))
    if wanted is not None and len(pending) == len(ledger.entries):
        # nothing of it was ever here: as on a unit's first publish
        first = replace(ledger, target=wanted.target).with_entries(seed(here, wanted))
        return decided(policy, stored, first)
    outcome = refold(here, stored, ledger)
    if outcome.ledger.entries in (before.entries, ledger.entries):
        rolling = f"{ledger.rolling.id} is" if ledger.rolling else "others are"
        raise Refused(
            f"{names(pending)} of {stored.plan.unit} waits its turn: {rolling} being rolled out",
            remedy="it starts when that rollout has ended; reject or roll back what is in its way",
        )
    return replace(outcome, notes=())


def _given_weight(policy: Policy, stored: Stored, ledger: Ledger, starting: list[Entry]) -> Outcome:
    """Under ``manual``: the spec's weights become the traffic."""
    ready = with_changed(ledger, starting, lambda e: replace(e, phase=Phase.CANARY))
    outcome = refold(policy, stored, ready)
    if not any(e.weight for e in outcome.ledger.entries if e.id in {s.id for s in starting}):
        others = [e for e in ledger.entries if _wanted_weights(stored).get(e.id)]
        blocked = [e for e in others if e.barred or e.phase in (Phase.PARKED, Phase.REMOVED)]
        raise Refused(
            f"{names(starting)} of {stored.plan.unit} cannot get the weight of its spec: the spec"
            f" also gives some to {names(blocked) or 'a version'} that does not serve",
            remedy="change the weights in the specs and publish them, or lift the rejection",
        )
    return replace(outcome, notes=())


def forgive(policy: Policy, stored: Stored, version: str) -> Outcome:
    """Lift the rejection of one version: it starts as a new one would, if the specs want it."""
    ledger = current(stored)
    entry = ledger.live(version)
    if entry is None:
        raise unknown(stored, ledger, version)
    if not entry.barred and not entry.revoked:
        return unchanged(policy, stored, f"{version} is not rejected")
    phase = entry.phase
    if phase is Phase.REJECTED:
        # what drains under manual would take its weight back at once, and nobody released it yet
        manual = policy.strategy == "manual" and _wanted_weights(stored).get(version)
        phase = Phase.STARTING if manual else Phase.DRAINING
    innocent = replace(entry, phase=phase, rejected=False, revoked=())
    return decided(policy, stored, with_changed(ledger, [entry], lambda _: innocent))


# -- reject --------------------------------------------------------------------------------------


def reject(policy: Policy, stored: Stored, version: str) -> Outcome:
    """Judge a version bad: it loses its weight, and nobody promotes it again."""
    ledger = current(stored)
    entry = ledger.live(version)
    waiting = [e for e in ledger.entries if e.id == version and e.phase is Phase.PENDING]
    if entry is None and not waiting:
        raise unknown(stored, ledger, version)
    left = [e for e in ledger.entries if e not in waiting]
    if entry is None:
        # nothing of it ever ran; its tombstone is what remembers
        tombs = [tombstone(stored, replace(e, rejected=True)) for e in waiting[:1]]
        revoked = tuple(sorted(e.digest for e in waiting[1:]))
        tombs = [replace(tomb, revoked=revoked) for tomb in tombs]
        return decided(policy, stored, ledger.with_entries([*left, *tombs]))
    judged = replace(entry, revoked=more(entry.revoked, [e.digest for e in waiting]))
    if not entry.barred and entry.phase is not Phase.ACTIVE:
        judged = rejected(judged)
    elif not entry.barred and not waiting:
        raise _serves(stored, entry)
    ledger = ledger.with_entries([judged if e is entry else e for e in left])
    return decided(policy, stored, filled(ledger))


def _serves(stored: Stored, entry: Entry) -> Refused:
    unit = stored.plan.unit
    back = (
        f"rollback {unit} returns to the revision before it"
        if entry.previous
        else (f"rollback {unit} VERSION moves its traffic to another version and rejects it")
    )
    return Refused(
        f"{entry.id} of {unit} is Active: with it rejected, nobody would answer"
        f" {entry.weight} % of the requests",
        remedy=back,
    )


# -- retire --------------------------------------------------------------------------------------


def retire(policy: Policy, stored: Stored, *, now: bool = False) -> Outcome:
    """Take a unit away at once, without the evidence that nobody calls it."""
    ledger = current(stored)
    unit = stored.plan.unit
    if ledger.hold:
        raise _frozen(stored, ledger)
    if stored.plan.wanted is not None and not now:
        raise Refused(
            f"the specs still have {unit}: the next publish would bring it back",
            remedy="delete its specs and publish, or say --now to take it away until then",
        )
    back = "the specs still have it: the next publish brings it back"
    return Outcome(None, ledger, notes=(back,) if stored.plan.wanted is not None else ())


def remove(policy: Policy, stored: Stored, version: str) -> Outcome:
    """Take one version away that has no weight; its tombstone answers for it."""
    ledger = current(stored)
    unit = stored.plan.unit
    entry = ledger.live(version)
    if entry is None:
        waits = any(e.id == version for e in ledger.entries)
        if not waits:
            raise unknown(stored, ledger, version)
        raise Refused(
            f"{version} of {unit} waits, and nothing of it is there",
            remedy=f"reject {unit} {version} strikes it from what waits",
        )
    if entry.phase is Phase.REMOVED:
        return unchanged(policy, stored, f"{version} is removed already")
    if ledger.hold:
        raise _frozen(stored, ledger)
    if entry.weight or entry.phase in WEIGHTED:
        raise Refused(
            f"{version} of {unit} is {entry.phase} with {entry.weight} % of the requests",
            remedy=f"move its traffic first: rollback {unit} VERSION, or publish a successor",
        )
    gone = with_changed(ledger, [entry], lambda e: tombstone(stored, replace(e, rejected=e.barred)))
    outcome = refold(policy, stored, gone)
    now = outcome.ledger.live(version) if outcome.plan is not None else None
    if now is not None and now.phase is not Phase.REMOVED:
        raise Refused(
            f"the specs want {version} of {unit}: the next publish would start it again",
            remedy=f"reject {unit} {version} first, or take it out of the specs and publish",
        )
    return replace(outcome, notes=())


def _frozen(stored: Stored, ledger: Ledger) -> Refused:
    return Refused(
        f"{stored.plan.unit} is held: {ledger.hold}",
        remedy=f"{release_words(stored)} ends the hold; nothing is taken away before",
    )


# -- words ----------------------------------------------------------------------------------------


def _wanted_weights(stored: Stored) -> dict[str, int]:
    wanted = stored.plan.wanted
    return {v.id: v.weight or 0 for v in wanted.versions} if wanted is not None else {}


def _bad_elsewhere(stored: Stored, entry: Entry, where: str) -> Refused:
    return Refused(
        f"{entry.id} of {stored.plan.unit} was rejected in {where}",
        remedy=f"{release_words(stored)} {entry.id} lifts that there, if it was a mistake",
    )
