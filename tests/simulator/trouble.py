"""What else goes wrong: nodes, pods, scalers, engines, gateways, windows and people."""

from __future__ import annotations

from tests.simulator.people import Person
from tests.simulator.scraped import GAP, Scraped
from tests.simulator.world import START

STRIKES = (
    (0.16, "restart"), (0.08, "eviction"), (0.05, "node lost"), (0.04, "node cut off"),
    (0.10, "unlucky call"), (0.05, "outage"),
)  # fmt: skip


def somebody_acts(dice):
    """Whether a person interferes."""
    return dice.chance(0.2)


def fails_elsewhere(dice):
    """Whether another cluster rejects what runs here, or its ledger breaks."""
    return dice.chance(0.04)


class Trouble:
    """The troubles of one cluster."""

    def __init__(self, play, site):
        self.play = play
        self.site = site
        self.dice = play.dice
        self.world = play.world
        self.horizon = play.horizon
        self.names: list[str] = []

    def at(self, most=0.5):
        """Some time, more often when there is something to decide."""
        if self.dice.chance(0.4):
            return self.dice.between(0.4, 1) * self.site.setup.span + self.dice.between(0, 120)
        return self.dice.between(0, self.horizon * most)

    def draw(self):
        self.pods()
        self.scalers()
        self.around()
        self.gateway()
        if somebody_acts(self.dice):
            person = Person(self.site, self.horizon, self.play.scaling)
            self.names.append(f"person {person.act}")

    # -- pods

    def pods(self):
        dice, world, site = self.dice, self.world, self.site
        for share, name in STRIKES:
            if dice.chance(share):
                self.names.append(name)
                index = self.play.subject if dice.chance(0.7) else dice.pick([*site.deployments])
                if name == "outage":
                    index = max(site.weights, key=lambda index: site.weights[index])
                world.at(self.at(), self.strike, index, name)

    def strike(self, index, name):
        world, dice, site = self.world, self.dice, self.site
        deployment = site.deployments.get(index)
        pods = deployment.serving if deployment is not None else []
        if not pods:
            return
        pod = dice.pick(pods)
        match name:
            case "restart":
                deployment.restart(pod, dice.between(3, 30))
            case "eviction":
                self.again(deployment, pod, name)
            case "outage":  # a node with all of them, or a database that they need
                seconds = dice.between(40, 250)
                for one in pods:
                    deployment.restart(one, seconds)
            case "unlucky call":  # what it counted last is never scraped
                world.say(f"a call to {world.ids[index]} by another road")
                call = site.call(index, direct=True)
                again = dice.pick(("eviction", "blink", "blink"))
                soon = dice.between(0.1, 0.4 * site.setup.scrape)
                world.later(soon, self.again, deployment, call.pod, again)
            case _:
                until = world.now + dice.between(60, 300)
                deployment.lose(pod, until, cut_off=name == "node cut off")

    def again(self, deployment, pod, how):
        """A pod makes room for another one, or its container blinks."""
        if pod.terminating or pod.gone:
            return
        if how == "blink":
            deployment.restart(pod, self.dice.between(0.5, 4))
            return
        self.world.say(f"{pod.name} is evicted")
        self.world.disturbed(self.site, deployment.index)
        deployment.terminate(pod)
        deployment.settle()

    def scalers(self):
        """They go up and down; those that may let a version sleep do."""
        scaling, dice, site = self.play.scaling, self.dice, self.site
        if not scaling.owned:
            return
        for _ in range(2):
            self.world.at(self.at(0.7), self.scale, dice.pick([*site.deployments]), None)
        if not scaling.min:
            for index in site.deployments:
                if not site.weights.get(index) and dice.chance(0.8):
                    self.world.at(self.at(0.2), self.sleep, index)

    def sleep(self, index):
        """A scaler lets a version sleep; it may have been called a moment before."""
        if self.dice.chance(0.4):
            self.site.call(index, direct=True)
            self.world.say(f"a call to {self.world.ids[index]} by another road")
        self.world.later(self.dice.between(0.1, 3), self.scale, index, 0)

    def scale(self, index, desired):
        deployment = self.site.deployments.get(index)
        if deployment is None or not deployment.want.owned or deployment.want.parked:
            return
        want = deployment.want
        if desired is None:
            used = self.site.takes_traffic(index)
            desired = self.dice.pick(range(max(want.low, used), want.high + 1))
        deployment.scale(max(desired, want.low))

    # -- what stands around it

    def around(self):
        dice, site, world = self.dice, self.site, self.world
        if dice.chance(0.08):
            start = self.at()
            world.at(start, site.engine.suspend, 0.0, dice.between(30, 200))
            self.names.append("engine suspended")
        if dice.chance(0.05):
            start = START + self.at()
            site.frozen = (start, start + dice.between(60, 300))
            self.names.append("window")
        if dice.chance(0.04):
            start = START + self.at()
            site.cut = (start, start + dice.between(60, 200))
            site.reviewed = dice.chance(0.5)
            self.names.append("Git cut")
        if dice.chance(0.06):
            where = site.references if dice.chance(0.5) else site.callers
            where.add(self.play.subject)
            world.at(dice.between(100, self.horizon), where.discard, self.play.subject)
            self.names.append("reference")
        if fails_elsewhere(dice):
            world.at(self.at(), self.reject_elsewhere, dice.between(60, 300))
            self.names.append("rejected elsewhere")
        if fails_elsewhere(dice):
            start = START + self.at()
            site.broken = (start, start + dice.between(60, 400))
            self.names.append("ledger elsewhere broken")
        if dice.chance(0.1):
            site.dwells = (dice.pick((60.0, 120.0)),)

    def reject_elsewhere(self, seconds):
        """A cluster that we know nothing else of has judged what is Active or comes here."""
        stored = self.site.stored
        if stored is None:
            return
        entry = stored.ledger.rolling or stored.ledger.active
        if entry is not None:
            self.world.say(f"{entry.id} is rejected on another cluster")
            self.site.elsewhere[entry.key] = "west-2"
            self.world.later(seconds, self.site.elsewhere.clear)

    # -- the gateway

    def gateway(self):
        if self.dice.chance(0.06):
            self.world.at(self.at(0.6), self.gateway_restarts)
            self.names.append("gateway restarts")
        if self.dice.chance(0.05):
            self.world.at(self.at(0.6), self.gateway_replaced)
            self.names.append("gateway replaced")

    def gateway_restarts(self):
        self.world.say("a gateway pod restarts")
        gate = self.dice.pick(self.site.gates)
        self.site.cut_at(gate)
        gate.begin_again(self.world.now)

    def gateway_replaced(self):
        """A new gateway pod, a new series; of the old one nothing more is heard."""
        site, world = self.site, self.world
        number = self.dice.pick(range(len(site.gates)))
        old = site.gates[number]
        if any(old.opens):
            return
        world.say("a gateway pod is replaced")
        old.scrape(world.now)
        old.faults += ((GAP, world.now, float("inf")),)
        new = Scraped(
            f"{old.name}-new", len(old.base), len(old.opens), world.now, old.every,
            self.dice.between(0, old.every),
        )  # fmt: skip
        site.gates[number] = new
        site.gates_gone.append(old)
        site.reflow()
