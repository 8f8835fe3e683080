"""Going back: to the version that served before, or to the revision before.

Traffic moves at once where the version that takes it still runs. One that is parked or gone starts
first; the version that is left serves on meanwhile, judged bad already.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gati_gitops.errors import Refused
from gati_gitops.ledger.decided import (
    current,
    decided,
    disproved,
    filled,
    more,
    names,
    rejected,
    release_words,
    unchanged,
    unknown,
    with_changed,
)
from gati_gitops.ledger.fold import Policy
from gati_gitops.ledger.model import WEIGHTED, Entry, Ledger, Phase
from gati_gitops.ledger.outcome import Outcome
from gati_gitops.ledger.stored import Stored


def rollback(policy: Policy, stored: Stored, version: str = "") -> Outcome:
    """Leave what runs, and return to the named or the last good version."""
    ledger = current(stored)
    active, rolling = ledger.active, ledger.rolling
    if ledger.returning is not None and version in ("", ledger.returning.id):
        waits = f"{ledger.returning.id} starts, and takes the traffic when it is ready"
        return unchanged(policy, stored, f"{waits}: {release_words(stored)}")
    to: Entry | None
    if version:
        to = _named(stored, ledger, version)
    elif rolling is not None:
        to = active
    else:
        if done := _already(stored, ledger):
            return unchanged(policy, stored, done)
        to = active if active is not None and active.previous else _last_good(stored, ledger)
    if to is None or (active is None and to.phase is not Phase.DRAINING):
        raise Refused(
            f"no version of {stored.plan.unit} serves, so there is nothing to go back to",
            remedy=f"reject {stored.plan.unit} VERSION stops what starts",
        )
    if to is active and (rolling is None or ledger.returning is not None):
        if not to.previous:
            return unchanged(policy, stored, f"{to.id} serves already")
        return revision_before(policy, stored, ledger, to)
    return decided(policy, stored, *_left(stored, _paused(policy, ledger), to))


def _paused(policy: Policy, ledger: Ledger) -> Ledger:
    """What was queued behind the version that is left does not start unasked in its place."""
    if policy.promoted:  # it waits for evidence anyway
        return ledger
    waiting = [e for e in ledger.entries if e.phase is Phase.PENDING]
    return with_changed(ledger, waiting, lambda e: replace(e, paused=True))


def _left(stored: Stored, ledger: Ledger, to: Entry) -> tuple[Ledger, str]:
    """Leave the rollout in progress and, unless it is what we return to, the Active version."""
    active, rolling = ledger.active, ledger.rolling
    dropped = ledger.returning
    if dropped is not None:  # a rollback to elsewhere: nobody has judged where it was going
        ledger = with_changed(ledger, [dropped], lambda e: replace(e, phase=Phase.DRAINING))
        rolling = None
    if to.phase in (*WEIGHTED, Phase.DRAINING):
        return returned(ledger, to, [rolling, None if to is active else active]), ""
    starts = replace(to, phase=Phase.STARTING, image="", previous="")
    judged = {entry.id: rejected(entry) for entry in [rolling] if entry is not None}
    if active is not None:  # it serves until the other one is ready
        judged[active.id] = replace(disproved(active), rejected=True)
    judged[to.id] = starts
    entries = [e if e.phase is Phase.PENDING else judged.get(e.id, e) for e in ledger.entries]
    ledger = filled(replace(ledger, target=to.id).with_entries(entries))
    return ledger, (
        f"{to.id} was {to.phase}, so it starts first; once it is ready,"
        f" {release_words(stored)} gives it the traffic"
    )


def returned(ledger: Ledger, to: Entry, left: Iterable[Entry | None]) -> Ledger:
    """Give ``to`` the weight of those that are left, and judge them bad."""
    gone = {entry.id for entry in left if entry is not None}
    kept = sum(e.weight for e in ledger.entries if e.id not in gone and e.id != to.id)

    def moved(entry: Entry) -> Entry:
        if entry.phase is Phase.PENDING or entry.id not in (*gone, to.id):
            return entry
        if entry.id == to.id:
            return replace(entry, phase=Phase.ACTIVE, weight=100 - kept)
        return rejected(entry)

    return replace(ledger, target=to.id).with_entries(moved(e) for e in ledger.entries)


def revision_before(policy: Policy, stored: Stored, ledger: Ledger, entry: Entry) -> Outcome:
    """Return to the pods that a version had before it was revised."""
    revoked = more(entry.revoked, [entry.digest])
    before = replace(disproved(entry), digest=entry.previous, previous="", revoked=revoked)
    ledger = _paused(policy, with_changed(ledger, [entry], lambda _: before))
    return decided(policy, stored, ledger)


def _named(stored: Stored, ledger: Ledger, version: str) -> Entry:
    """The version to return to, if one can."""
    entry = ledger.live(version)
    unit = stored.plan.unit
    if entry is None:
        raise unknown(stored, ledger, version)
    if entry.barred:
        raise Refused(
            f"{version} of {unit} was rejected itself",
            remedy=f"release {unit} {version} lifts that, if it was a mistake",
        )
    if entry == ledger.rolling and ledger.returning is None:
        raise Refused(
            f"{version} of {unit} is being rolled out; it is nothing to go back to",
            remedy=f"rollback {unit} leaves it",
        )
    if stored.plan.version(*entry.key) is None:
        raise Refused(
            f"{version} of {unit} was removed, and how it ran is no longer stored",
            remedy="publish its spec again, as the version of the handler: then it starts",
        )
    return entry


def _last_good(stored: Stored, ledger: Ledger) -> Entry:
    """The version that served last: what still serves before what is parked."""
    unit = stored.plan.unit
    for phase in (Phase.CANARY, Phase.DRAINING, Phase.PARKED, Phase.REMOVED):
        found = [e for e in ledger.entries if e.phase is phase and not e.barred]
        found = [e for e in found if stored.plan.version(*e.key) is not None]
        most = max((e.weight for e in found), default=0)
        found = [e for e in found if e.weight == most]
        if len(found) > 1:
            raise Refused(
                f"{names(found)} of {unit} could each take the traffic",
                remedy=f"name one: rollback {unit} {found[-1].id}",
            )
        if found:
            return found[0]
    raise Refused(
        f"no other version of {unit} can take the traffic",
        remedy="publish a version that works; until then nothing changes",
    )


def _already(stored: Stored, ledger: Ledger) -> str:
    """Why a rollback without a version has nothing left to do."""
    active, plan = ledger.active, stored.plan
    if active is None:
        return ""
    target = ledger.live(plan.target)
    wanted = [v for v in plan.wanted.versions if v.id == active.id] if plan.wanted else []
    if target is not None and target.barred:
        gone = f"{target.id} is rejected already"
    elif active.revoked and not active.previous and all(v.key != active.key for v in wanted):
        gone = f"the last revision of {active.id} is rejected already"
    elif waits := names(e for e in ledger.entries if e.paused):
        gone = f"it was rolled back already, {waits} waits"
    else:
        return ""
    return f"{gone}, and {active.id} serves; to go further back, name the version"
