"""What waits: versions of which nothing runs here yet.

Of targets only the newest waits its turn. Under promotion the ones before it wait on as well, until
one of them or a newer one has started: each proves itself elsewhere for a while, and a stream of
releases would never let one through.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.ledger.policy import Policy
from gati_gitops.ledger.stored import Stored
from gati_gitops.plan.model import PlannedVersion, UnitPlan

KEPT = 20
"""So many older versions wait: the oldest, which are the next to be proved."""


def waiting(version: PlannedVersion, ledger: Ledger) -> Entry:
    """A version that waits; one that people paused stays so."""
    paused = any(e.key == version.key and e.paused for e in ledger.entries)
    return Entry(version.id, version.digest, Phase.PENDING, paused=paused)


def overtaken(
    policy: Policy, wanted: UnitPlan, stored: Stored, ledger: Ledger, waits: Iterable[Entry]
) -> list[Entry]:
    """Versions that wait on beside the newer one, which the specs want by now and which waits."""
    is_queued = any(entry.id == wanted.target for entry in waits)
    if not policy.promoted or policy.strategy == "manual" or not is_queued:
        return []
    spoken = {version.key for version in wanted.versions}
    last = stored.plan.wanted.target if stored.plan.wanted is not None else ""
    found = [
        entry if entry.overtaken else replace(entry, overtaken=ledger.seq + 1)
        for entry in ledger.entries
        if entry.phase is Phase.PENDING
        and entry.key not in spoken
        and (entry.overtaken or entry.id == last)
        and stored.plan.version(*entry.key) is not None
        and not _known(ledger.live(entry.id), entry.digest)
    ]
    return sorted(found, key=lambda entry: entry.overtaken)[:KEPT]


def _known(live: Entry | None, digest: str) -> bool:
    """Whether a revision runs already, or was judged."""
    return live is not None and digest in (live.digest, *live.revoked)


def started(ledger: Ledger, entry: Entry) -> Ledger:
    """What waits on when ``entry`` starts: nothing that is older."""
    newest = entry.overtaken or ledger.seq + 1

    def waits(other: Entry) -> bool:
        older = 0 < other.overtaken <= newest
        return other.phase is not Phase.PENDING or (other.key != entry.key and not older)

    return ledger.with_entries(other for other in ledger.entries if waits(other))
