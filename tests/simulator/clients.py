"""Who calls the unit: a flow that changes, and people who name a version.

The flow follows the weights. Beside it there are stragglers on connections that stay open after the
weights have moved, clients that pin a version and come back after a while, requests that last,
calls by another road that our gateway never sees, and one that comes long after all was quiet.
"""

from __future__ import annotations


def drawn_client(dice):
    """Who comes though a version is on its way out."""
    return dice.pick(("straggler", "pinned", "long", "late", "direct"))


def drawn_length(dice, grace):
    """Seconds that a call by another road lasts."""
    return dice.between(0.5, 3) * grace if dice.chance(0.3) else 0.0


class Clients:
    """The callers of one cluster."""

    def __init__(self, site, story, horizon, *, standby=False):
        self.site = site
        self.horizon = horizon
        dice = self.dice = site.world.dice
        self.rate = 0.0 if standby else dice.drawn(
            ((0.6, dice.between(10, 60)), (0.26, dice.between(4, 12)), (0.09, dice.between(0.3, 4)), (0.05, 0.0))
        )  # fmt: skip
        if story.retired:
            self.rate = dice.between(1, 5)
        self.direct = False
        self.subject = int(story.subject[1:]) - 1
        self.names: list[str] = []
        self.leaving = story.ends == ("Removed",) or story.name in ("rejected", "many", "step")
        self.old = 0 if story.name == "step" else 1 if story.name == "many" else self.subject
        self.story = story

    def begin(self):
        world, dice, site = self.site.world, self.dice, self.site
        site.set_rate(self.rate)
        if self.story.retired:
            self.fade()
        elif dice.chance(0.2):
            self.change()
        if not self.leaving and dice.chance(0.3):
            self.old = dice.pick(range(world.versions))
            self.leaving = True
        if self.leaving and dice.chance(0.75):
            grace = site.setup.rules.grace
            for _ in range(1 if dice.chance(0.6) else 2):
                kind = drawn_client(dice)
                self.names.append(f"client {kind}")
                getattr(self, f"come_{kind}")(self.old, grace)

    # -- the flow

    def fade(self):
        """Callers of a unit that goes leave one after the other."""
        world, dice = self.site.world, self.dice
        now = 0.0
        for _ in range(dice.pick((1, 1, 2, 3))):
            now += dice.between(0, 90)
            world.at(now, self.site.set_rate, 0.0)
            now += dice.between(5, 150)
            if dice.chance(0.5):
                world.at(now, self.site.set_rate, max(1.0, self.rate * dice.random()))
        world.at(now + dice.between(20, 100), self.site.set_rate, 0.0)

    def change(self):
        """A burst, or a silence."""
        world, dice = self.site.world, self.dice
        start = dice.between(0, self.horizon * 0.6)
        factor = dice.pick((0.0, 0.0, 0.1, 4.0))
        self.names.append("silence" if not factor else "burst")
        world.at(start, self.site.set_rate, self.rate * factor)
        world.at(start + dice.between(20, 200), self.site.set_rate, self.rate)

    # -- those that name a version

    def come_straggler(self, index, grace):
        """Calls on an old connection, ever more seldom."""
        now = self.dice.between(-grace, 40)
        gap = self.dice.between(2, 0.5 * grace)
        for _ in range(self.dice.pick((1, 2, 4))):
            self.site.world.at(max(now, 0.0), self.call, index)
            now += gap
            gap *= self.dice.between(1, 1.8)

    def come_pinned(self, index, grace):
        """Names the version, and comes back."""
        gap = (self.dice.between(0.3, 3) if self.dice.chance(0.8) else 7) * grace
        now = self.dice.between(0, gap)
        for _ in range(self.dice.pick((1, 2, 3, 5))):
            self.site.world.at(now, self.call, index)
            now += gap * self.dice.between(0.8, 1.2)

    def come_long(self, index, grace):
        """An upload, a stream or a socket."""
        start = self.dice.between(0, 2 * grace)
        seconds = self.dice.between(0.3, 5) * grace
        self.site.world.at(start, self.call, index, seconds)

    def come_late(self, index, grace):
        """One call when everybody thinks that it is over; some try again."""
        start = self.dice.between(0.5, 5) * grace
        for number in range(self.dice.pick((1, 1, 3))):
            self.site.world.at(start + 7.0 * number, self.call, index)

    def come_direct(self, index, grace):
        """By another route or a Service's own name: our gateway counts nothing of it."""
        self.direct = True
        now = self.dice.between(0, grace)
        for _ in range(self.dice.pick((1, 3, 6))):
            long = drawn_length(self.dice, grace)
            self.site.world.at(now, self.call, index, long, True)
            now += self.dice.between(0.2, 1.5) * grace

    def call(self, index, seconds=0.0, direct=False):
        world = self.site.world
        world.say(f"a call to {world.ids[index]}" + (" by another road" if direct else ""))
        self.site.call(index, seconds, direct=direct)
