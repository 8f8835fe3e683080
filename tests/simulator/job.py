"""The job: looks, decides, writes, and may die between any two of these.

The protocol is the real one: a move is written only on the ledger that it was decided on and while its
evidence is fresh; after a lost race everything is decided again on what is there now, from
the clocks of before. Deciding and writing the ledger is the real code.
"""

from __future__ import annotations

from gati_gitops.decide.clocks import UnitClock, clock_data, clock_from
from gati_gitops.decide.moves import moved
from gati_gitops.decide.observation import Gap, Live, LiveRoute, Missing, Observation, Window
from gati_gitops.decide.verdict import Verdict
from gati_gitops.errors import Refused
from gati_gitops.ledger.stored import Stored
from tests.simulator.delivery import UNKNOWN
from tests.simulator.setup import LATE

DOWN = Missing(Gap.ERROR, "connection refused", "prometheus")
PARTIAL = Missing(Gap.PARTIAL, "the answer has warnings", "prometheus")
FAR = Missing(Gap.ERROR, "its clock is 95 s away from ours", "prometheus")
EMPTY = Missing(Gap.NO_DATA, "no series", "prometheus")
DIRECT = (Verdict.ROLLBACK, Verdict.RETURN, Verdict.HOLD)
"""What is never asked for by a pull request."""
UNANSWERED = Missing(Gap.ERROR, "the API server answers 503", "kubernetes")


def has_moved(now, then):
    """Whether the ledger is another one than was decided on."""
    return now.ledger.seq != then.ledger.seq


def is_late(decision, now):
    """Whether the evidence of a decision is too old to act on."""
    return bool(decision.best_before) and now > decision.best_before


def push_takes(job):
    """Seconds until what was decided is written."""
    dice = job.site.world.dice
    return dice.between(0.5, 6) + (job.waits * dice.random() if job.waits else 0.0)


class Job:
    """One instance of the job, for one cluster."""

    def __init__(self, site, decide, name="job"):
        dice = site.world.dice
        self.site = site
        self.decide = decide
        self.name = name
        self.clock = UnitClock()
        self.every = dice.drawn(((0.4, 30.0), (0.3, 40.0), (0.3, dice.between(30, 60))))
        self.slow = dice.between(10, 160) if dice.chance(0.06) else 0.0
        self.waits = dice.between(30, 150) if dice.chance(0.06) else 0.0
        """How long it takes to push, when others push too."""
        self.dies = dice.chance(0.08)
        self.forgets = dice.chance(0.06)
        self.stores = dice.chance(0.05)
        self.skew = dice.between(-25, 25) if dice.chance(0.06) else 0.0
        self.passes = 0
        self.left = [0.0] * site.world.versions
        """Since when it has seen that each version has no share."""

    @property
    def names(self):
        """Its faults."""
        found = {
            "job slow": self.slow, "job waits to push": self.waits, "job dies": self.dies,
            "job forgets": self.forgets, "job skew": self.skew,
        }  # fmt: skip
        return [name for name, there in found.items() if there]

    def start(self, at):
        self.site.world.at(at, self.run_pass)

    # -- one pass

    def run_pass(self):
        site, world = self.site, self.site.world
        world.later(self.every, self.run_pass)
        stored = site.stored
        if stored is None:
            return
        self.passes += 1
        if self.forgets and world.dice.chance(0.1):
            world.say(f"{self.name} lost its clocks")
            self.clock = UnitClock()
        around = site.around(world.now)
        rolling = stored.ledger.rolling
        if site.rules.synthetic and rolling is not None:
            for _ in range(site.rules.synthetic):
                site.send(world.ids.index(rolling.id))
        seen = self.look(stored)
        self.see_shares(seen)
        truth = world.watch.truth(site, around, self.left)
        truth.newest = site.setup.newest(world.now)
        if self.slow:
            world.later(self.slow, self.judge, seen, truth, around)
        else:
            self.judge(seen, truth, around)

    def judge(self, seen, truth, around, tries=0):
        site, world, dice = self.site, self.site.world, self.site.world.dice
        stored = site.stored
        if stored is None:
            return
        now = world.now + self.skew
        decision, clock = self.decide(site.rules, stored, seen, self.clock, now, around)
        if world.tells:
            world.say(f"{self.name}: {decision.verdict}: {decision.reason}")
        if decision.move is None:
            self.clock = self.kept(clock)
            return
        if self.dies and dice.chance(0.15):
            world.say(f"{self.name} dies before it writes")
            return
        delay = push_takes(self)
        world.later(delay, self.write, decision, clock, stored, seen, truth, around, tries)

    def write(self, decision, clock, stored, seen, truth, around, tries):
        site, world = self.site, self.site.world
        if site.stored is None:
            return
        if has_moved(site.stored, stored):
            world.say(f"{self.name} lost a race")
            if tries < 3:
                self.judge(seen, truth, around, tries + 1)
            return
        if is_late(decision, world.now + self.skew):
            world.say(f"{self.name}: the evidence is too old")
            self.clock = self.kept(clock)
            return
        if around.cannot_write and (not site.reviewed or decision.verdict in DIRECT):
            world.say(f"{self.name} cannot push")
            self.clock = self.kept(clock)
            return
        try:
            outcome = moved(site.policy, stored, decision.move)
        except Refused as refused:
            world.watch.costs[f"refused: {decision.move.verdict}"] += 1
            world.say(f"{self.name} is refused: {refused}")
            self.clock = self.kept(clock)
            return
        after = Stored(outcome.plan, outcome.ledger) if outcome.plan is not None else None
        if after is not None and after.ledger.seq == stored.ledger.seq:
            world.watch.costs[f"changed nothing: {decision.move.verdict}"] += 1
            self.clock = self.kept(clock)
            return
        site.stored_before = stored
        if world.tells:
            world.say(f"COMMIT {decision.move.verdict} {decision.move.version}")
        site.moves[str(decision.move.verdict)] += 1
        world.watch.decided(site, decision.move, stored, after, truth)
        site.commit(after)
        if self.dies and world.dice.chance(0.15):
            world.say(f"{self.name} dies before it writes its clocks")
            return
        self.clock = self.kept(clock)

    def kept(self, clock):
        stored = self.stores and self.site.world.dice.chance(0.2)
        return clock_from(clock_data(clock)) if stored else clock

    # -- looking

    def look(self, stored):
        """What the job sees now, faults of those it asks included."""
        site, world = self.site, self.site.world
        setup = site.setup
        now = world.now
        blind = setup.blinded(now) if setup.blind else ()
        return Observation(self.live(now, blind), self.telemetry(stored, now, blind))

    def see_shares(self, seen):
        """What it can know by now of who has no share."""
        site, live = self.site, seen.live
        if isinstance(live, Missing) or not isinstance(live.route, LiveRoute) or not site.current:
            return
        for index, share in site.weights.items():
            self.left[index] = 0.0 if share else self.left[index] or site.world.now

    def live(self, now, blind):
        site = self.site
        if "api error" in blind:
            return UNANSWERED
        workloads, route = site.live()
        engine = site.engine.says(now, site.setup.engine_known)
        references = {
            site.world.names[index]: ("Ingress legacy/orders",) for index in site.references
        }
        if blind:
            route = UNANSWERED if "route missing" in blind else route
            references = UNANSWERED if "references missing" in blind else references
            engine = UNKNOWN if "engine missing" in blind else engine
        return Live(now + self.skew, workloads, route, references, engine, site.annotated)

    def telemetry(self, stored, now, blind):
        site, setup = self.site, self.site.setup
        late = 0.0
        if blind:
            if "metrics error" in blind:
                return DOWN
            if "metrics partial" in blind:
                return PARTIAL
            if "far clock" in blind:
                return FAR
            if "metrics late" in blind:
                late = LATE
        at = now - late
        end = setup.newest(now)
        window = Window(at, setup.span, setup.scrape, "prometheus")
        found = {}
        for entry in stored.ledger.deployed:
            index = site.world.ids.index(entry.id)
            name = site.world.names[index]
            if "metrics empty" in blind or ("metrics one partial" in blind and index == 0):
                found[name] = EMPTY if "metrics empty" in blind else PARTIAL
                continue
            found[name] = site.telemetry(index, at - setup.span, end, window)
        return found
