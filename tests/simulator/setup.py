"""What kind of world a schedule has: how it is built, and what will go wrong in it.

Everything is drawn before the first second. A fault has a time; most worlds have several, some have
none, and the rates are hostile: what takes a year to meet in a quiet cluster is met every few
schedules here.
"""

from __future__ import annotations

from tests.simulator.scraped import BELOW, DEAD, GAP, INF, LEAK, MUTE, NAN, RENAMED, TWICE
from tests.simulator.world import START

SCRAPE_FAULTS = (
    (0.26, GAP), (0.20, DEAD), (0.16, RENAMED), (0.08, NAN), (0.06, INF), (0.04, LEAK),
    (0.05, BELOW), (0.07, MUTE), (0.08, TWICE),
)  # fmt: skip


LATE = 20.0
"""Seconds by which an answer may be old without being wrong."""


def drawn_fault(dice):
    """What goes wrong with scrapes."""
    return dice.drawn(SCRAPE_FAULTS)


def drawn_target(dice):
    """Whose scrapes."""
    return dice.drawn(((0.35, "subject"), (0.2, "other"), (0.2, "all"), (0.25, "gateway")))


def drawn_gateway(dice):
    """Whether the gateway counts at all."""
    return not dice.chance(0.05)


def drawn_memory(dice):
    """What share of what is asked for the metric server still has."""
    return dice.between(0.3, 0.9) if dice.chance(0.02) else 1.0


class Setup:
    """The dials of one cluster."""

    def __init__(self, dice, story, horizon, rules, *, calm=False):
        self.dice = dice
        self.scrape = 15.0 if dice.chance(0.7) else dice.pick((10.0, 20.0))
        self.edge_scrape = self.scrape if dice.chance(0.85) else dice.pick((10.0, 30.0))
        """Gateways are often read at another pace than pods."""
        self.gateways = 2 if dice.chance(0.2) else 1
        self.gateway_split = 0.5 if self.gateways == 2 else 1.0
        self.edge = drawn_gateway(dice)
        self.gauge = dice.chance(0.8)
        self.edge_active = dice.chance(0.6) or (not self.gauge and dice.chance(0.6))
        self.engine_known = not dice.chance(0.04)
        self.rules = rules
        slowest = max(self.scrape, self.edge_scrape)
        self.span = max(rules.grace, 2 * rules.interval) + 4 * slowest
        if not calm:
            self.span *= drawn_memory(dice)
        self.names: list[str] = []
        self.targets: list[tuple[object, object, str, float, float]] = []
        self.blind: list[tuple[str, float, float]] = []
        """When the metric server or the API server does not answer as it should."""
        self.slow_programming = 0.0
        self.discovery = dice.between(5, 25) if dice.chance(0.3) else 0.0
        """How long it takes until a new pod is scraped at all."""
        self.probes = 0.1 if dice.chance(0.02) else 0.0
        """Probes that pods count like requests, since nobody has said how to tell them apart."""
        if not calm and dice.chance(0.75):
            self.scraping(dice, story, horizon)
        if not calm and dice.chance(0.35):
            self.asking(dice, horizon)
        if not calm and dice.chance(0.08):
            self.slow_programming = dice.between(20, 90)
            self.names.append("slow gateway")

    @property
    def measures(self):
        """Whether a version can go without a person's word."""
        return self.edge and (self.gauge or self.edge_active)

    def time(self, horizon, most=0.55):
        """Some time, more often when there is something to decide."""
        dice = self.dice
        if dice.chance(0.4):
            return START + dice.between(0.4, 1) * self.span + dice.between(0, 150)
        return START + dice.between(-self.span, horizon * most)

    def scraping(self, dice, story, horizon):
        """Faults of single targets, of all of one version, or of everything."""
        for _ in range(1 if dice.chance(0.6) else 2):
            kind = drawn_fault(dice)
            start = self.time(horizon)
            if kind == RENAMED and dice.chance(0.3):
                start = START - 1000.0  # it never had the right name
            long = dice.chance(0.25)
            end = start + (dice.between(100, 2 * horizon) if long else dice.between(5, 100))
            end = START + horizon if start < START - 900.0 else end
            whom = drawn_target(dice)
            one = dice.pick((1, 2, 3)) if dice.chance(0.5) else None
            if kind == RENAMED:  # a rule of the unit's monitor, or of the gateway's
                whom, one = ("gateway" if whom == "gateway" else "all"), None
            if whom == "subject":
                target = int(story.subject[1:]) - 1
            elif whom == "other":
                target = int(story.target[1:]) - 1
            else:
                target = whom
            if target == "gateway":
                one = 0 if dice.chance(0.5) and kind != RENAMED else None
                if kind == TWICE:
                    kind = GAP
            self.targets.append((target, one, kind, start, end))
            self.names.append(f"{kind} {whom}{'' if one is None else ' (one)'}")

    def asking(self, dice, horizon):
        """Faults of whole answers."""
        kinds = (
            "metrics error", "metrics partial", "metrics frozen", "metrics late", "metrics empty",
            "metrics one partial", "api error", "route missing", "references missing",
            "engine missing", "far clock",
        )  # fmt: skip
        for _ in range(1 if dice.chance(0.7) else 2):
            kind = dice.pick(kinds)
            start = self.time(horizon)
            end = start + dice.between(10, 150)
            self.blind.append((kind, start, end))
            self.names.append(kind)

    def faults_of(self, target, number):
        """The scrape faults of one pod or gateway pod."""
        if not self.targets:
            return ()
        found = []
        for whom, one, kind, start, end in self.targets:
            hit = whom == target or (whom == "all" and target != "gateway")
            if whom == "all" and target == "gateway" and kind in (GAP, DEAD):
                hit = True
            if hit and (one is None or one % 2 == number % 2):
                found.append((kind, start, end))
        return tuple(found)

    def blinded(self, at):
        return {kind for kind, start, end in self.blind if start <= at < end}

    def tells_route(self, at):
        """Whether the API server shows the route."""
        return not {"api error", "route missing"} & self.blinded(at)

    def newest(self, at):
        """Up to when the metric server tells: it may be late, or have stopped and answer as if nothing was."""
        told = at
        for kind, start, end in self.blind:
            if start <= at < end:
                if kind == "metrics late":
                    told = min(told, at - LATE)
                elif kind == "metrics frozen":
                    told = min(told, start)
        return told

    def programs(self):
        """How long the gateway takes to follow its route."""
        if self.slow_programming:
            return self.slow_programming * self.dice.between(0.3, 1)
        return self.dice.between(0.5, 6)
