"""What comes of a judgement: a verdict, its reason, its evidence and what to change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The one word for what happens to a unit in a pass."""

    START = "start"
    """A version that waited is deployed at weight 0."""
    PREPARE = "prepare"
    """Pods come before the traffic that will need them."""
    ADVANCE = "advance"
    """A version gets the weight of its next step."""
    ACTIVATE = "activate"
    """A version gets all of the traffic."""
    ROLLBACK = "rollback"
    RETURN = "return"
    """The version that a rollback waited for is ready, and takes the traffic."""
    PARK = "park"
    REMOVE = "remove"
    REVIVE = "revive"
    """Somebody calls what was on its way out."""
    RETIRE = "retire"
    """The last version of a unit goes, and the unit with it."""
    SETTLE = "settle"
    """Something that was kept for the way back is not needed any more."""
    HAND_OVER = "hand over"
    """A scaler takes the number of pods from Git."""
    PROVE = "prove"
    """A version has stood the time that another environment asks for."""
    ABSORB = "absorb"
    """What a person did to the cluster while Git was down becomes a decision."""
    HOLD = "hold"
    """A person has to look: the unit stands still until one has."""
    WAIT = "wait"
    """All is well, and it is not time yet."""
    INCONCLUSIVE = "inconclusive"
    """What was seen does not tell."""
    ERROR = "error"
    """It could not be seen."""
    HELD = "held"
    """A person has frozen it."""
    FROZEN = "frozen"
    """It would move, and a window, a breaker or the engine says no."""
    STEADY = "steady"
    """There is nothing to decide."""


ACTS = frozenset(
    (
        Verdict.START, Verdict.PREPARE, Verdict.ADVANCE, Verdict.ACTIVATE, Verdict.ROLLBACK,
        Verdict.RETURN, Verdict.PARK, Verdict.REMOVE, Verdict.REVIVE, Verdict.RETIRE,
        Verdict.SETTLE, Verdict.HAND_OVER, Verdict.PROVE, Verdict.ABSORB, Verdict.HOLD,
    )
)  # fmt: skip
"""Verdicts that change a ledger."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that was seen, and what was asked of it."""

    name: str
    value: str
    wanted: str = ""
    ok: bool | None = None
    """None: it is told, and nothing hangs on it."""
    source: str = ""

    def __str__(self) -> str:
        asked = f", wanted {self.wanted}" if self.wanted else ""
        return f"{self.name}: {self.value}{asked}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one version."""

    version: str
    verdict: Verdict
    reason: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """The change of a ledger that a verdict asks for; ``ledger/moves.py`` knows what it means."""

    verdict: Verdict
    version: str = ""
    digest: str = ""
    weight: int = 0
    to: str = ""
    """Of a rollback: the version that takes the traffic."""
    floor: int = 0
    """The fewest pods that the Active version keeps while the other one is tried."""
    room: int = 0
    """The fewest pods that the version itself keeps, for the traffic of its next step."""
    seconds: int = 0
    """How long it has proved itself."""
    weights: tuple[tuple[str, int], ...] = ()
    """By version id, as a person has set them."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to one unit on one cluster in one pass, and why."""

    verdict: Verdict
    reason: str
    findings: tuple[Finding, ...] = ()
    """Version by version, in the ledger's order."""
    facts: tuple[Fact, ...] = ()
    """Of the unit as a whole."""
    move: Move | None = None
    """None: nothing changes."""
    seen_at: float = 0.0
    """When the oldest of its evidence was seen."""
    best_before: float = 0.0
    """Until when it may be acted on; 0: always, since it rests on no evidence."""
    rolling: bool = False
    """A version is being tried, or was until a moment ago: it is one of those that may fail."""
    fails: bool = False
    """It does: what was seen of it speaks against it, or nothing could be seen."""
