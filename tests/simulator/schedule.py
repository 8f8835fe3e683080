"""One schedule: a world is made, something goes wrong, the job does its work, and it is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from gati_gitops.decide.clocks import UnitClock, VersionClock
from gati_gitops.ledger.model import Phase
from tests.simulator.clients import Clients
from tests.simulator.delivery import Engine
from tests.simulator.dice import dice_of
from tests.simulator.job import Job
from tests.simulator.people import released
from tests.simulator.place import Place
from tests.simulator.pods import Deployment, Nature
from tests.simulator.scraped import QUICK
from tests.simulator.setup import Setup
from tests.simulator.stories import (
    FIXED,
    IDS,
    NAMES,
    ONE,
    SCALED,
    STORIES,
    TO_ZERO,
    beginning,
    manifest_of,
    policy_of,
    rules_of,
)  # fmt: skip
from tests.simulator.trouble import Trouble
from tests.simulator.world import START, World

HORIZON = 900.0
"""Seconds after which a schedule ends undecided."""
NATURES = (
    (0.56, "good"), (0.14, "bad"), (0.05, "slow"), (0.04, "poor"), (0.06, "crash"),
    (0.03, "image"), (0.04, "never"), (0.04, "late crash"), (0.04, "slow start"),
)  # fmt: skip

SHARES = tuple((story.share, story) for story in STORIES)
BEFORE = {
    Phase.ACTIVE: Phase.ACTIVE, Phase.CANARY: Phase.STARTING, Phase.DRAINING: Phase.ACTIVE,
    Phase.PARKED: Phase.DRAINING, Phase.REJECTED: Phase.CANARY,
}  # fmt: skip
"""The phase that a version had when the job last looked."""


@dataclass(slots=True)
class Result:
    """What came of one schedule."""

    number: int
    story: str
    decided: bool
    unsafe: list[tuple[str, str]]
    costs: Counter[str]
    faults: tuple[str, ...]
    moves: Counter[str]
    rollbacks: list[float]
    passes: int
    told: list[str] = field(default_factory=list)


def run(seed, number, decide: Callable, *, tells=False) -> Result:
    """Play one schedule."""
    return Play(seed, number, decide, tells).played()


def story_of(seed, number) -> str:
    """Which story a schedule tells; the first thing that is drawn."""
    return _drawn_story(dice_of(seed, number)).name


def _drawn_story(dice):
    return dice.drawn(SHARES)


class Play:
    """Everything of one schedule, drawn and set in motion."""

    def __init__(self, seed, number, decide, tells):
        dice = self.dice = dice_of(seed, number)
        self.number = number
        self.horizon = HORIZON
        self.patience = HORIZON
        self.held = False
        self.expected = False
        """Whether a person is about to do something."""
        self.decide = decide
        self.story = story = _drawn_story(dice)
        self.scaling = drawn_scaling(dice)
        if story.name not in ("drain", "parked") and self.scaling is TO_ZERO:
            self.scaling = SCALED
        self.calm = dice.chance(0.1)
        self.breaking = story.name in ("canary", "blue-green") and dice.chance(0.04)
        self.subject = IDS.index(story.subject)
        count = min(len(story.phases) + 1, len(IDS))
        self.world = World(dice, story, NAMES[:count], IDS[:count], self.natures(), tells=tells)
        self.world.committed = self.committed
        grace, step = drawn_grace(dice), dice.pick((45, 60))
        sends = story.strategy in ("canary", "blue-green") and dice.chance(0.1)
        times = (grace, idle_for(dice, grace), way_back(dice, grace), step)
        self.rules = rules_of(story.strategy, *times, 5 if sends else 0)
        self.faults: list[str] = []
        self.sites = [self.place("east")]
        if dice.chance(0.06):
            self.sites.append(self.place("west"))
            one, other = self.sites
            other.sibling = one
            if dice.chance(0.5):
                other.standby = True
                other.set_rate(0.0)
            else:
                one.sibling = other
        if self.scaling.owned and not self.calm:
            self.faults.append("scaler")
        self.jobs = []
        for site in self.sites:
            self.jobs.append(Job(site, decide))
            if dice.chance(0.9):
                self.jobs[-1].clock = self.remembered(site)
            self.jobs[-1].start(dice.between(1, 30))
            site.every = self.jobs[-1].every
            own = self.jobs[-1].names + site.engine.names
            site.faulty |= bool(own)
            self.faults += own + ["sync in parts"] * site.engine.parts
            if not self.calm and dice.chance(0.06):
                self.jobs.append(Job(site, decide, "other job"))
                self.jobs[-1].start(dice.between(1, 30))
                self.faults.append("two jobs")

    def natures(self):
        """How the releases are; what serves already is good."""
        dice = self.dice
        found = {}
        for index, id in enumerate(IDS):
            for digest in "ab":
                kind = "good"
                new = self.story.ends != ("Removed",) and index == self.subject
                if new or digest == "b" or index > self.subject:
                    kind = dice.drawn(NATURES)
                found[index, f"{id}-{digest}"] = nature(dice, kind)
        if self.story.name == "return":
            found[0, "v1-a"] = nature(dice, "good")
        return found

    def place(self, name):
        dice, story, world = self.dice, self.story, self.world
        setup = Setup(dice, story, HORIZON, self.rules, calm=self.calm)
        stored = beginning(story, self.scaling, name, self.breaking)
        world.now = START - setup.span - 1.0
        site = Place(world, name, setup, stored, policy_of(story.strategy), self.rules)
        manifest = manifest_of(stored, 0)
        site.engine = Engine(site, manifest)
        self.settle(site, manifest, stored)
        world.now = START
        site.set_shares(stored.ledger)
        if not self.calm:
            trouble = Trouble(self, site)
            trouble.draw()
            self.faults += trouble.names
            self.expected |= any(name.startswith("person") for name in trouble.names)
        if story.ends == ("Removed",) and not setup.measures and dice.chance(0.5):
            self.patience = 0.5 * HORIZON  # only a person can end it
        clients = Clients(site, story, HORIZON)
        clients.begin()
        self.faults += [*setup.names, *clients.names]
        site.faulty = any(not name.startswith("client") for name in self.faults)
        return site

    def settle(self, site, manifest, stored):
        """The cluster as it was before: what the ledger says, and history to look back on."""
        world, dice = self.world, self.dice
        site.live_weights = dict(manifest.weights)
        site.live_pins, site.live_gone = manifest.pins, manifest.gone
        site.pins, site.gone = manifest.pins, manifest.gone
        recent = dice.chance(0.7)
        for index, name in enumerate(world.names):
            want = manifest.deployments.get(name)
            share = manifest.weights.get(name, 0)
            site.weights[index] = site.brought[index] = share
            site.shown_since[index] = START if recent else world.now
            site.flow_until[index] = START if recent and not share else world.now
            entry = stored.ledger.live(IDS[index])
            if want is None:
                continue
            deployment = site.deployments[index] = Deployment(site, index, want)
            if entry.phase is Phase.STARTING:
                world.at(0.0, deployment.settle)
                deployment.since = START
                continue
            for _ in range(deployment.desired or (0 if want.parked else 1)):
                pod = site.new_pod(index, want.release)
                pod.created -= 500.0
                pod.restarted = pod.created
                if share or not dice.chance(0.4):
                    pod.set_base(QUICK, dice.pick((200.0, 3000.0)))
                pod.ready = True
                deployment.pods.append(pod)
                deployment.ever_ready = True
            if want.owned and not want.parked:
                deployment.desired = len(deployment.pods)
            for gate in site.gates:
                gate.set_base(3 * index, 500.0)

    def remembered(self, site):
        """What a job knows that has been there all the time: what each version was before."""
        versions = {}
        for entry in site.stored.ledger.entries:
            was = BEFORE.get(entry.phase)
            if was is not None:
                known = VersionClock(phase=str(was), known=START - 500.0, since=START - 500.0)
                versions[f"{entry.id}@{entry.digest}"] = known
        return UnitClock("before", versions, START - 20.0)

    # -- the end

    def committed(self, site):
        """Whether the story has come to its end."""
        if site is not self.sites[0]:
            return
        if self.ended(site):
            self.world.later(40.0, self.finish)
        elif site.stored.ledger.hold and not self.held:
            self.held = True
            if self.dice.chance(0.6):
                self.world.later(self.dice.between(20, 120), released, site)
            elif not self.expected:
                self.world.later(60.0, self.give_up)
        elif not site.stored.ledger.hold:
            self.held = False

    def give_up(self):
        """Nobody will release it: nothing can happen any more."""
        site = self.sites[0]
        if site.stored is not None and site.stored.ledger.hold:
            self.world.ended = True

    def ended(self, site):
        if site.stored is None:
            return True
        entry = site.stored.ledger.live(self.story.subject)
        return entry is not None and entry.phase.value in self.story.ends

    def finish(self):
        if self.ended(self.sites[0]):
            self.world.ended = True

    def played(self) -> Result:
        world = self.world
        world.run(self.patience)
        moves: Counter[str] = Counter()
        for site in self.sites:
            moves += site.moves
        return Result(
            self.number,
            self.story.name,
            self.ended(self.sites[0]),
            world.watch.unsafe,
            world.watch.costs,
            tuple(self.faults),
            moves,
            world.watch.rollbacks,
            sum(job.passes for job in self.jobs),
            world.told,
        )


def drawn_scaling(dice):
    """How many pods a version has, and who says so."""
    return dice.drawn(((0.4, FIXED), (0.32, ONE), (0.16, SCALED), (0.12, TO_ZERO)))


def drawn_grace(dice) -> int:
    """Seconds that a version must have been left alone: about as long as the looks that must agree."""
    return dice.pick((30, 45, 60))


def idle_for(dice, grace) -> int:
    """How long a name is remembered; some forget at once."""
    return 1 if dice.chance(0.15) else 4 * grace


def way_back(dice, grace) -> int:
    """How long a version is the way back: mostly shorter than a look goes back."""
    return 5 * grace if dice.chance(0.15) else grace


def nature(dice, kind) -> Nature:
    match kind:
        case "good":
            missed = 0.02 if dice.chance(0.2) else 0.0
            slow = 0.005 if dice.chance(0.2) else 0.0
            return Nature(kind, slow=slow, missed=missed, start=dice.between(3, 25))
        case "bad":
            return Nature(kind, errors=dice.between(0.25, 1.0))
        case "poor":
            return Nature(kind, errors=dice.between(0.03, 0.12))
        case "slow":
            return Nature(kind, slow=dice.between(0.3, 0.9))
        case "slow start":
            return Nature(kind, start=dice.between(40, 200))
        case _:
            return Nature(kind, start=dice.between(3, 20))
