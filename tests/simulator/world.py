"""Time, and all that happens in it."""

from __future__ import annotations

from heapq import heappop, heappush

from tests.simulator.watch import Watch

START = 100_000.0
"""When schedules begin: some time after 0, which stands for never."""


class World:
    """One schedule: events in order, and what is known of them afterwards."""

    def __init__(self, dice, story, names, ids, natures, *, tells=False):
        self.dice = dice
        self.story = story
        self.names = names
        self.ids = ids
        self.versions = len(names)
        self.natures = natures
        self.now = START
        self.queue: list[tuple] = []
        self.count = 0
        self.tells = tells
        self.told: list[str] = []
        self.shaken: set[tuple[str, int]] = set()
        """Versions whose pods had troubles that are not their release's."""
        self.watch = Watch(self)
        self.ended = False

    def at(self, moment, act, *arguments):
        """Something will happen, so many seconds after the beginning."""
        self.count += 1
        heappush(self.queue, (START + moment, self.count, act, arguments))

    def later(self, seconds, act, *arguments):
        self.count += 1
        heappush(self.queue, (self.now + seconds, self.count, act, arguments))

    def run(self, until):
        """Let so many seconds pass."""
        queue = self.queue
        until += START
        while queue and not self.ended:
            moment, _, act, arguments = heappop(queue)
            if moment > until:
                break
            self.now = max(self.now, moment)
            act(*arguments)

    def disturbed(self, site, index):
        self.shaken.add((site.name, index))

    def say(self, text):
        if self.tells:
            self.told.append(f"{self.now - START:7.1f}  {text}")
