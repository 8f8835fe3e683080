"""What the job decides about one unit on one cluster.

Each takes what is stored and gives what to write, as a compile of the unchanged specs would leave
it: no spec is read, so nothing gets in that nobody published. Whether it is time for a move is
judged elsewhere; here it is only refused what a ledger cannot become.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeGuard

from gati_gitops.errors import Refused
from gati_gitops.ledger import acts
from gati_gitops.ledger.decided import (
    alone,
    current,
    decided,
    filled,
    names,
    rejected,
    release_words,
    unknown,
    with_changed,
)
from gati_gitops.ledger.fold import Policy, refold
from gati_gitops.ledger.model import DEPLOYED, ROLLING, SCALED, WEIGHTED, Entry, Ledger, Phase
from gati_gitops.ledger.outcome import Outcome
from gati_gitops.ledger.queue import started
from gati_gitops.ledger.revisions import judged, revised
from gati_gitops.ledger.rollback import returned, revision_before, rollback
from gati_gitops.ledger.stored import Stored

__all__ = [
    "absorb", "activate", "follow", "forget", "give_back", "handed_over", "park", "prepare",
    "prove", "remove", "retire_done", "returns", "revive", "settle", "start", "stop", "weigh",
]  # fmt: skip

LEAVING = frozenset((Phase.DRAINING, Phase.REJECTED))


# -- a version that comes ------------------------------------------------------------------------


def start(policy: Policy, stored: Stored, id: str, digest: str) -> Outcome:
    """Deploy what waited, at weight 0; at once with all of it where nobody serves yet."""
    ledger = _free(stored)
    waits = next((e for e in ledger.entries if e.key == (id, digest) and _is_waiting(e)), None)
    version = stored.plan.version(id, digest)
    wanted = stored.plan.wanted
    if waits is None or version is None or wanted is None:
        raise Refused(f"{id} of {stored.plan.unit} does not wait", remedy="look at its status")
    targeted = bool(waits.overtaken) or id == wanted.target
    rolling, live = ledger.rolling, ledger.live(id)
    if targeted and rolling is not None and rolling.id != id:
        raise Refused(
            f"{id} of {stored.plan.unit} waits its turn: {rolling.id} is being rolled out",
            remedy="it starts when that rollout has ended",
        )
    if not ledger.deployed:
        new = Entry(id, digest, Phase.ACTIVE, 100, revoked=judged(live))
    elif live is None or live.barred or live.phase is Phase.REMOVED:
        new = Entry(id, digest, Phase.STARTING, revoked=judged(live))
    else:
        new = revised(live, version)
        if targeted and new.phase in (Phase.DRAINING, Phase.PARKED):
            new = replace(new, phase=Phase.STARTING, previous="")
    left = started(ledger, waits) if targeted else ledger
    entries = [e for e in left.entries if e is not live and e.key != waits.key]
    left = replace(left, target=id) if targeted else left
    return decided(policy, stored, left.with_entries([*entries, new]))


def prepare(policy: Policy, stored: Stored, id: str, floor: int = 0, room: int = 0) -> Outcome:
    """Let pods come before the traffic: ``room`` of the version, ``floor`` of the Active one."""
    ledger = _free(stored)
    entry = ledger.live(id)
    if entry is None or entry.phase not in SCALED:
        raise unknown(stored, ledger, id)
    return decided(policy, stored, _floored(ledger, id, floor, room))


def weigh(
    policy: Policy, stored: Stored, id: str, weight: int, floor: int = 0, room: int = 0
) -> Outcome:
    """Give a version the weight of its step; the Active one has the rest.

    The Active one keeps ``floor`` pods meanwhile, so that it can take all of it back; the version
    itself gets ``room`` for its next step.
    """
    ledger = _free(stored)
    entry = _rolling(stored, ledger, id)
    active = ledger.active
    if active is None or not 0 < weight < 100:
        raise Refused(
            f"{id} of {stored.plan.unit} cannot get {weight} %: nobody would have the rest",
            remedy="a version that is alone is made Active",
        )
    left = 100 - weight
    moved: dict[str, Entry] = {id: replace(entry, phase=Phase.CANARY, weight=weight)}
    for other in ledger.entries:
        if other.phase is Phase.CANARY and other.id != id:  # it gives way before the Active one
            kept = min(other.weight, left)
            phase = Phase.CANARY if kept else Phase.DRAINING
            moved[other.id] = replace(other, phase=phase, weight=kept)
            left -= kept
    moved[active.id] = replace(active, weight=left)
    return decided(policy, stored, _floored(_with(ledger, moved), id, floor, room))


def activate(policy: Policy, stored: Stored, id: str) -> Outcome:
    """Give a version all of the traffic; who had it drains, and is the way back meanwhile.

    So it keeps the pods that could carry all of it, until the version is seen to be well.
    """
    ledger = _free(stored)
    entry = _rolling(stored, ledger, id)
    moved = {
        other.id: rejected(other)
        if other.barred
        else replace(other, phase=Phase.DRAINING, weight=0)
        for other in ledger.entries
        if other.phase in WEIGHTED
    }
    moved[id] = replace(entry, phase=Phase.ACTIVE, weight=100)
    return decided(policy, stored, _with(replace(ledger, target=id), moved))


def follow(policy: Policy, stored: Stored, id: str) -> Outcome:
    """Under ``manual``: what was seen ready gets the weight of its spec."""
    ledger = _free(stored)
    entry = _rolling(stored, ledger, id)
    ready = with_changed(ledger, [entry], lambda e: replace(e, phase=Phase.CANARY))
    outcome = refold(policy, stored, ready)
    now = outcome.ledger.live(id)
    if now is None or not now.weight:
        raise Refused(
            f"{id} of {stored.plan.unit} cannot get the weight of its spec yet: not every version"
            " that the spec gives some to can serve",
            remedy=f"{release_words(stored)} says which",
        )
    return replace(outcome, notes=())


# -- the way back --------------------------------------------------------------------------------


def give_back(policy: Policy, stored: Stored, id: str, digest: str, to: str = "") -> Outcome:
    """Leave a version, and judge it bad; its traffic returns to ``to``, or to who had it."""
    ledger = _free(stored)
    entry = ledger.live(id)
    if entry is None or entry.digest != digest:
        raise unknown(stored, ledger, id)
    if entry.phase is Phase.ACTIVE and entry.previous and to in ("", id):
        return revision_before(policy, stored, ledger, entry)
    if entry.phase in ROLLING and entry != ledger.rolling:  # a canary beside the target
        judged_bad = with_changed(ledger, [entry], rejected)
        return decided(policy, stored, filled(judged_bad))
    back, rolling = ledger.live(to), ledger.rolling
    if entry.phase is Phase.ACTIVE and rolling is not None and _runs(back):
        # nobody has judged what comes behind it, and it may be what mends it
        left = replace(returned(ledger, back, [entry]), target=rolling.id)
        return decided(policy, stored, left)
    return replace(rollback(policy, stored, to), notes=())


def _runs(back: Entry | None) -> TypeGuard[Entry]:
    return back is not None and back.phase is Phase.DRAINING and not back.barred


def returns(policy: Policy, stored: Stored) -> Outcome:
    """The version that a rollback waits for takes the traffic."""
    ledger = _free(stored)
    back = ledger.returning
    if back is None:
        raise Refused(f"no rollback of {stored.plan.unit} waits", remedy="look at its status")
    return decided(policy, stored, returned(ledger, back, [ledger.active]))


def absorb(policy: Policy, stored: Stored, weights: Mapping[str, int], reason: str) -> Outcome:
    """Take over what a person made of the traffic, and hold: whoever lost all of it was left."""
    ledger = current(stored)
    deployed = {entry.id for entry in ledger.deployed}
    strange = sorted(weights.keys() - deployed)
    if strange or sum(weights.values()) != 100 or min(weights.values()) < 0:
        said = ", ".join(f"{id} {weight}" for id, weight in sorted(weights.items()))
        raise Refused(
            f"{stored.plan.unit} cannot be held as a person left it: {said}",
            remedy="weights of versions that are deployed must sum to 100",
        )
    top = max(sorted(weights), key=lambda id: (weights[id], id != ledger.target))

    def moved(entry: Entry) -> Entry:
        weight = weights.get(entry.id, 0)
        if entry.phase is Phase.PENDING or entry.id not in deployed:
            return entry
        if weight:
            phase = Phase.ACTIVE if entry.id == top else Phase.CANARY
            return replace(entry, phase=phase, weight=weight, rejected=False)
        return rejected(entry) if entry.phase in WEIGHTED else entry

    held = replace(ledger.with_entries(moved(e) for e in ledger.entries), hold=reason)
    if (target := held.live(held.target)) is not None and target.barred:
        held = replace(held, target=top)
    return decided(policy, stored, held)


def stop(policy: Policy, stored: Stored, reason: str) -> Outcome:
    """Hold: a person has to look."""
    return acts.hold(policy, stored, reason)


# -- a version that goes -------------------------------------------------------------------------


def park(policy: Policy, stored: Stored, id: str) -> Outcome:
    """Take the pods of a version that nobody calls; one commit brings them back."""
    ledger = _free(stored)
    entry = ledger.live(id)
    if entry is None:
        raise unknown(stored, ledger, id)
    if entry.phase not in LEAVING and not (ledger.retiring and entry.phase in DEPLOYED):
        raise Refused(
            f"{id} of {stored.plan.unit} is {entry.phase}, and on no way out",
            remedy=f"move its traffic first: rollback {stored.plan.unit} VERSION",
        )
    parked = replace(
        entry, phase=Phase.PARKED, weight=0, previous="", rejected=entry.barred, floor=0
    )
    left = with_changed(ledger, [entry], lambda _: parked)
    return decided(policy, stored, alone(_handed_on(left)))


def _handed_on(ledger: Ledger) -> Ledger:
    """In a unit that retires, what is left has all of the traffic, until nothing is."""
    weighted = [entry for entry in ledger.entries if entry.phase in WEIGHTED]
    if ledger.active is None and weighted:
        most = max(weighted, key=lambda entry: entry.weight)
        ledger = with_changed(ledger, [most], lambda e: replace(e, phase=Phase.ACTIVE))
    return filled(ledger)


def revive(policy: Policy, stored: Stored, id: str) -> Outcome:
    """Bring back what somebody calls: its pods, and in a unit that retires the traffic."""
    ledger = _free(stored)
    entry = ledger.live(id)
    if entry is None or entry.phase is not Phase.PARKED:
        raise Refused(f"{id} of {stored.plan.unit} is not parked", remedy="look at its status")
    alone = ledger.retiring and not any(e.phase in WEIGHTED for e in ledger.entries)
    back = replace(
        entry,
        phase=Phase.ACTIVE if alone else Phase.REJECTED if entry.rejected else Phase.DRAINING,
        weight=100 if alone else 0,
        rejected=entry.rejected and alone,
    )
    return decided(policy, stored, with_changed(ledger, [entry], lambda _: back))


def remove(policy: Policy, stored: Stored, id: str) -> Outcome:
    """Take a parked version away; its tombstone answers for it."""
    ledger = _free(stored)
    entry = ledger.live(id)
    if entry is not None and entry.phase is not Phase.PARKED:
        raise Refused(
            f"{id} of {stored.plan.unit} is {entry.phase}; only what is parked is removed",
            remedy=f"retire {stored.plan.unit} {id} takes it away at once",
        )
    return replace(acts.remove(policy, stored, id), notes=())


def retire_done(policy: Policy, stored: Stored) -> Outcome:
    """The unit goes: its specs are gone, and the last of its versions is parked."""
    ledger = _free(stored)
    left = [e for e in ledger.deployed if e.phase is not Phase.PARKED]
    if not ledger.retiring or left:
        serving = names(left) or "it"
        raise Refused(
            f"{stored.plan.unit} does not go: {serving} is still wanted or serves",
            remedy=f"retire {stored.plan.unit} takes it away at once",
        )
    return Outcome(None, ledger)


def forget(policy: Policy, stored: Stored, id: str) -> Outcome:
    """End the time in which a name fails loudly. What was judged bad is never forgotten."""
    ledger = _free(stored)
    entry = ledger.live(id)
    if entry is None or entry.phase is not Phase.REMOVED or entry.barred or entry.revoked:
        raise Refused(
            f"{id} of {stored.plan.unit} has no tombstone that may go", remedy="look at its status"
        )
    without = ledger.with_entries(e for e in ledger.entries if e is not entry)
    outcome = refold(policy, stored, without)
    if any(e.id == id for e in outcome.ledger.entries):
        raise Refused(
            f"the specs still have {id} of {stored.plan.unit}: without its tombstone it would"
            " start again",
            remedy="take it out of the specs and publish",
        )
    return replace(outcome, notes=())


# -- what changes nothing that runs --------------------------------------------------------------


def settle(policy: Policy, stored: Stored, id: str, digest: str) -> Outcome:
    """Let go of what was kept for the way back: the revision before, and pods beyond need.

    Of what waits, an older version is struck that will not start.
    """
    ledger = alone(_free(stored))
    entries = [
        replace(e, previous="") if e.key == (id, digest) and not _is_waiting(e) else e
        for e in ledger.entries
        if not (e.key == (id, digest) and _is_waiting(e) and e.overtaken)
    ]
    return decided(policy, stored, ledger.with_entries(entries))


def handed_over(policy: Policy, stored: Stored, id: str) -> Outcome:
    """Somebody else holds the live number of pods, so Git lets go of it, and the scaler comes."""
    ledger = _free(stored)
    entry = ledger.live(id)
    if entry is None:
        raise unknown(stored, ledger, id)
    over = with_changed(ledger, [entry], lambda e: replace(e, handed_over=True))
    return replace(refold(policy, stored, over), notes=())


def prove(policy: Policy, stored: Stored, id: str, digest: str, seconds: int) -> Outcome:
    """Write down how long a version was seen to serve well; other environments read it."""
    ledger = _free(stored)
    entry = ledger.live(id)
    if entry is None or entry.digest != digest or entry.barred:
        raise unknown(stored, ledger, id)
    known = max(entry.proved, seconds)
    return decided(
        policy, stored, with_changed(ledger, [entry], lambda e: replace(e, proved=known))
    )


# -- what they share -----------------------------------------------------------------------------


def _free(stored: Stored) -> Ledger:
    """The ledger, unless a person has frozen it."""
    ledger = current(stored)
    if ledger.hold:
        raise Refused(
            f"{stored.plan.unit} is held: {ledger.hold}",
            remedy=f"{release_words(stored)} ends the hold",
        )
    return ledger


def _rolling(stored: Stored, ledger: Ledger, id: str) -> Entry:
    entry = ledger.live(id)
    if entry is None:
        raise unknown(stored, ledger, id)
    if entry.phase not in ROLLING:
        raise Refused(
            f"{id} of {stored.plan.unit} is {entry.phase}, and is not being rolled out",
            remedy="look at its status",
        )
    return entry


def _is_waiting(entry: Entry) -> bool:
    return entry.phase is Phase.PENDING


def _with(ledger: Ledger, moved: Mapping[str, Entry]) -> Ledger:
    return ledger.with_entries(e if _is_waiting(e) else moved.get(e.id, e) for e in ledger.entries)


def _floored(ledger: Ledger, id: str, floor: int, room: int) -> Ledger:
    """The Active version keeps ``floor`` pods, the named one ``room``; neither ever falls here."""

    def floored(entry: Entry) -> Entry:
        wanted = room if entry.id == id else floor if entry.phase is Phase.ACTIVE else 0
        held_back = _is_waiting(entry) or entry.phase not in SCALED or wanted <= entry.floor
        return entry if held_back else replace(entry, floor=wanted)

    return ledger.with_entries(floored(entry) for entry in ledger.entries)
