"""Phases and the ledger itself.

A ledger lives beside the manifests it controls. It holds no time: when something happened is the
commit's business, and the same decision must always give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

FORMAT = 1


class Phase(StrEnum):
    """Where a version stands. Weight follows the phase: only Canary and Active have one."""

    PENDING = "Pending"
    """Awaits promotion, a window, its turn or a person; nothing of it exists."""
    STARTING = "Starting"
    """Deployed at weight 0; pinned requests are served."""
    CANARY = "Canary"
    """Has the weight of its step."""
    ACTIVE = "Active"
    """Has the rest."""
    DRAINING = "Draining"
    """Weight 0, still serving pinned requests, until there is evidence that nobody calls."""
    PARKED = "Parked"
    """No pods; the edge answers 503, which would be evidence to revive it."""
    REMOVED = "Removed"
    """Gone; a tombstone answers for it."""
    REJECTED = "Rejected"
    """Judged bad: as Draining, and never promoted until its digest changes or a person says so."""


DEPLOYED = frozenset(
    (Phase.STARTING, Phase.CANARY, Phase.ACTIVE, Phase.DRAINING, Phase.PARKED, Phase.REJECTED)
)
"""Phases in which the version's objects exist."""
SCALED = DEPLOYED - {Phase.PARKED}
"""Phases in which its scaler exists."""
WEIGHTED = frozenset((Phase.CANARY, Phase.ACTIVE))
"""Phases that may carry weight."""
ROLLING = frozenset((Phase.STARTING, Phase.CANARY))
"""A target in one of these is a rollout in progress."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One version in the ledger."""

    id: str
    digest: str
    phase: Phase
    weight: int = 0
    previous: str = ""
    """Digest of the revision before this one, while it may still be returned to."""
    image: str = ""
    """Remembered by a tombstone, so that an id never comes back as something else."""
    rejected: bool = False
    """Judged bad, though it is Parked or Removed by now, or serves until the way back is ready."""
    revoked: tuple[str, ...] = ()
    """Digests of other revisions that were judged bad: the specs may name them in vain."""
    paused: bool = False
    """Pending, and it was so at a rollback: it starts when a person says so."""
    handed_over: bool = False
    """Somebody else holds the live replica count, so that Git may let go of it."""
    floor: int = 0
    """The fewest pods that it keeps while traffic moves to it, or may have to come back to it."""
    proved: int = 0
    """Seconds for which it was seen to serve well: what other environments wait for."""
    overtaken: int = 0
    """Pending, and since the ledger had this number the specs want a newer one; 0: they do not."""

    @property
    def key(self) -> tuple[str, str]:
        return (self.id, self.digest)

    @property
    def barred(self) -> bool:
        """Judged bad: it starts again only with another digest, or when a person says so."""
        return self.rejected or self.phase is Phase.REJECTED


@dataclass(frozen=True, slots=True)
class Ledger:
    """All versions of one unit on one cluster."""

    seq: int = 0
    key: str = ""
    target: str = ""
    hold: str = ""
    """Why everything stands still; empty when nothing is held."""
    retiring: bool = False
    entries: tuple[Entry, ...] = ()

    def live(self, id: str) -> Entry | None:
        """The entry of a version that got past Pending."""
        return next((e for e in self.entries if e.id == id and e.phase is not Phase.PENDING), None)

    def with_entries(self, entries: Iterable[Entry]) -> Ledger:
        order = {phase: number for number, phase in enumerate(Phase)}
        return replace(
            self, entries=tuple(sorted(entries, key=lambda e: (e.id, order[e.phase], e.digest)))
        )

    @property
    def rolling(self) -> Entry | None:
        """The rollout in progress, if there is one."""
        entry = self.live(self.target)
        return entry if entry is not None and entry.phase in ROLLING else None

    @property
    def active(self) -> Entry | None:
        return next((entry for entry in self.entries if entry.phase is Phase.ACTIVE), None)

    @property
    def returning(self) -> Entry | None:
        """The version that a rollback waits for, while the one that is left serves on."""
        active = self.active
        return self.rolling if active is not None and active.barred else None

    @property
    def serving(self) -> bool:
        """Whether requests that name no version are answered, if only with 503."""
        weighted = any(entry.phase in WEIGHTED for entry in self.entries)
        return weighted or (self.retiring and bool(self.deployed))

    @property
    def deployed(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.phase in DEPLOYED)
