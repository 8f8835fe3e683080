"""What was found of one version in one pass."""

from __future__ import annotations

from dataclasses import dataclass

from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.verdict import Fact, Move, Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict on one version, with the clocks as they stand now."""

    verdict: Verdict
    reason: str
    clock: VersionClock
    facts: tuple[Fact, ...] = ()
    move: Move | None = None
    """None: nothing changes."""
    rolling: bool = False
    """It is being tried, so it may fail."""
    fails: bool = False
    """What was seen of it speaks against it, or nothing could be seen; many at once are doubted."""
    urgent: bool = False
    """A rollback waits for it, so no window stops it."""
