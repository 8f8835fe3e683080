"""How often to start again, and how long to wait before."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retry:
    """Kargo's numbers, and no more time than this altogether."""

    attempts: int = 10
    first: float = 1.0
    factor: float = 1.5
    jitter: float = 0.5
    cap: float = 30.0
    budget: float = 600.0
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic

    def pause(self, attempt: int) -> float:
        """Seconds to wait after an attempt that failed; the first attempt is 1."""
        base = min(self.cap, self.first * self.factor ** (attempt - 1))
        return base * (1 + self.jitter * (2 * self.random() - 1))
