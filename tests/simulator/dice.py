"""Chance, from one number: the same number always tells the same story."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Dice(Random):
    """A seeded source of chance with the few throws that the world needs."""

    def chance(self, share: float) -> bool:
        return self.random() < share

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.random() * len(options))]

    def drawn(self, table: Sequence[tuple[float, T]]) -> T:
        """One of several, each with its share; the last takes what is left."""
        throw = self.random()
        for share, option in table:
            throw -= share
            if throw < 0:
                return option
        return table[-1][1]


def dice_of(seed: int, schedule: int) -> Dice:
    """Schedules differ by their number alone, so that any of them can be told again by itself."""
    return Dice(seed * 1_000_003 + schedule)
