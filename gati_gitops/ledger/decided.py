"""What decisions share: changing entries, and folding the stored plan with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from gati_gitops.errors import Misnamed, Refused
from gati_gitops.ledger.fold import Policy, refold
from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.ledger.outcome import Outcome
from gati_gitops.ledger.stored import Stored, recovered

Key = tuple[str, str]
"""Version id and digest."""


class NoVersion(Misnamed, Refused):
    """A cluster does not have the version that a decision is about.

    Who named it has misnamed it. In a pass nobody has: there it is one more thing that is refused.
    """


class NotRun(NoVersion):
    """It has the version, and nothing of it has run."""

    exit_code = Refused.exit_code


def current(stored: Stored) -> Ledger:
    return stored.ledger or recovered(stored)


def decided(policy: Policy, stored: Stored, ledger: Ledger, note: str = "") -> Outcome:
    outcome = refold(policy, stored, _needed(stored, ledger))
    return replace(outcome, notes=(note,) if note else ())


def _needed(stored: Stored, ledger: Ledger) -> Ledger:
    """Without a rollout, nobody is told to keep the pods that its plan gives it anyway."""
    if ledger.rolling is not None:
        return ledger

    def needed(entry: Entry) -> Entry:
        version = stored.plan.version(*entry.key)
        spare = version is None or version.scaling.at_least(entry.floor) is version.scaling
        return replace(entry, floor=0) if entry.floor and spare else entry

    return ledger.with_entries(needed(entry) for entry in ledger.entries)


def unchanged(policy: Policy, stored: Stored, note: str) -> Outcome:
    """Nothing to decide; a ledger that a person deleted is written again all the same."""
    return decided(policy, stored, current(stored), note)


def with_changed(ledger: Ledger, which: list[Entry], change: Callable[[Entry], Entry]) -> Ledger:
    return ledger.with_entries(change(e) if e in which else e for e in ledger.entries)


def rejected(entry: Entry) -> Entry:
    entry = disproved(entry)
    if entry.phase in (Phase.PARKED, Phase.REMOVED):
        return replace(entry, rejected=True)
    return replace(entry, phase=Phase.REJECTED, weight=0, previous="", rejected=False, floor=0)


def disproved(entry: Entry) -> Entry:
    """What is judged bad has proved nothing to anybody."""
    return replace(entry, proved=0) if entry.proved else entry


def alone(ledger: Ledger) -> Ledger:
    """While no rollout runs, who serves needs no more pods than its scaler finds right."""
    if ledger.rolling is not None:
        return ledger
    return ledger.with_entries(replace(e, floor=0) if e.floor else e for e in ledger.entries)


def filled(ledger: Ledger) -> Ledger:
    """What has lost its weight gives it to the Active version."""
    missing = 100 - sum(entry.weight for entry in ledger.entries)
    active = ledger.active
    if active is None or not missing:
        return ledger
    return with_changed(ledger, [active], lambda e: replace(e, weight=e.weight + missing))


def tombstone(stored: Stored, entry: Entry) -> Entry:
    version = stored.plan.version(*entry.key)
    image = version.image if version is not None else entry.image
    return replace(
        entry, phase=Phase.REMOVED, weight=0, previous="", image=image, floor=0, overtaken=0
    )


def more(digests: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*digests, *new}))


def names(entries: Iterable[Entry]) -> str:
    return ", ".join(dict.fromkeys(entry.id for entry in entries))


def release_words(stored: Stored) -> str:
    return f"release {stored.plan.unit}"


def unknown(stored: Stored, ledger: Ledger, version: str) -> NoVersion:
    known = [e for e in ledger.entries if e.phase is not Phase.PENDING]
    waiting = [e for e in ledger.entries if e.phase is Phase.PENDING]
    if any(e.id == version for e in waiting):
        return NotRun(
            f"{version} of {stored.plan.unit} waits; nothing of it has run here",
            remedy=f"{release_words(stored)} starts what waits",
        )
    has = names([*known, *waiting]) or "none"
    return NoVersion(
        f"{stored.plan.unit} has no version {version} here; it has {has}",
        remedy="name one of them",
    )
