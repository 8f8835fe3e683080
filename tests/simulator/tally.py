"""What many schedules come to."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.simulator.watch import HARM

KEPT = 20
"""Unsafe schedules that are named; the rest are counted."""


@dataclass(slots=True)
class Sum:
    """Results added up; sums of parts add up to the sum of the whole."""

    schedules: int = 0
    decided: int = 0
    unsafe: int = 0
    met_nobody: int = 0
    """Those of them in which a request met nobody, or may have; in the others a rule was broken."""
    passes: int = 0
    stories: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    harmed: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    costs: Counter[str] = field(default_factory=Counter)
    moves: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    rollbacks: Counter[float] = field(default_factory=Counter)
    """Of clearly bad releases, by how many intervals it took, in quarters."""
    named: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, result):
        self.schedules += 1
        self.decided += result.decided
        self.passes += result.passes
        self.stories[result.story] += 1
        self.ended[result.story] += result.decided
        for name, number in result.costs.items():
            self.costs[name] += number
        for name, number in result.moves.items():
            self.moves[name] += number
        for name in result.faults:
            self.faults[name] += 1
        for intervals in result.rollbacks:
            self.rollbacks[round(intervals * 4) / 4] += 1
        if result.unsafe:
            self.unsafe += 1
            self.harmed[result.story] += 1
            kinds = {kind for kind, _ in result.unsafe}
            self.met_nobody += not HARM.isdisjoint(kinds)
            self.kinds.update(kinds)
            if len(self.named) < KEPT:
                self.named.append((result.number, *result.unsafe[0]))

    def __iadd__(self, other):
        self.schedules += other.schedules
        self.decided += other.decided
        self.unsafe += other.unsafe
        self.met_nobody += other.met_nobody
        self.passes += other.passes
        for name in (
            "stories",
            "ended",
            "harmed",
            "kinds",
            "costs",
            "moves",
            "faults",
            "rollbacks",
        ):
            getattr(self, name).update(getattr(other, name))
        self.named = sorted(self.named + other.named)[:KEPT]
        return self

    def within(self, share):
        """By how many intervals that share of the clearly bad releases was rolled back."""
        left = share * sum(self.rollbacks.values())
        for intervals, number in sorted(self.rollbacks.items()):
            left -= number
            if left <= 1e-9:
                return intervals
        return 0.0
