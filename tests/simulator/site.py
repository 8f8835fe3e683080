"""One cluster: a route with its gateway, the Deployments behind it, and who calls them.

Requests that name no version are a flow, split by the weights that the gateway has programmed.
Those that name one, or come by another road, are calls of their own. What meets nobody is told to
the watch, which knows whose fault that is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gati_gitops.decide import observation as seen
from gati_gitops.decide.observation import Gap, Missing
from tests.simulator.pods import Call, Deployment, Pod, Wanted
from tests.simulator.scraped import BROKEN, QUICK, SLOW, Scraped, edge_series, pod_series

VERSIONS = 4
STILL = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one commit says of the unit: the parts that the world reacts to."""

    number: int
    weights: dict[str, int]
    pins: frozenset[str]
    gone: frozenset[str]
    deployments: dict[str, Wanted]


class Site:
    """One cluster with one unit."""

    def __init__(self, world, name, setup):
        self.world = world
        self.name = name
        self.setup = setup
        self.deployments: dict[int, Deployment] = {}
        self.ending: dict[int, Deployment] = {}
        """Those that are gone, of which pods may still be there."""
        self.weights: dict[int, int] = {}
        self.live_weights: dict[str, int] = {}
        self.edition = 1
        self.live_pins: frozenset[str] = frozenset()
        self.live_gone: frozenset[str] = frozenset()
        self.pins: frozenset[str] = frozenset()
        self.gone: frozenset[str] = frozenset()
        self.current = True
        self.generation = 0
        self.annotated = ""
        self.break_glass = ""
        self.rate = 0.0
        self.rate_since = 0.0
        """Since when anybody calls at all, or did before it became quiet."""
        self.rate_last = 0.0
        """How many called then."""
        self.idle = (setup.probes, 0.0, 0.0, 0.0)
        self.calls: list[Call] = []
        self.buried: list[tuple[int, Pod]] = []
        self.flow_until = [0.0] * VERSIONS
        """Until when each version had a share of the flow."""
        self.flow_before = [0.0] * VERSIONS
        """The same, as it was when the last flow began."""
        self.seen_since = [0.0] * VERSIONS
        """Since when a job can know of it."""
        self.shown_since = [0.0] * VERSIONS
        """Since when the gateway gives each version the share that Git gave it last."""
        self.brought = [0] * VERSIONS
        """That share; what a person gives by hand makes nobody the way back."""
        self.served = [0.0] * VERSIONS
        """Requests of the flow that each version has served since its share was committed."""
        self.lasted = [0.0] * VERSIONS
        """For how long the gateway has given it that share."""
        self.undone: dict[int, tuple] = {}
        self.shares: dict[int, int] = {}
        """What the ledger says."""
        self.served_at = world.now
        self.made = 0
        self.sent: dict[int, list[seen.Sent]] = {}
        self.stored = None
        self.stored_before = None
        self.engine = None
        self.by_hand = False
        """A person has changed the live route, and nobody has changed it back."""
        self.given_by_hand = False
        """What the gateway has programmed is such a route: it follows a little later."""
        self.raised_by_job: set[int] = set()
        self.raised_by_person: set[int] = set()
        self.references: set[int] = set()
        """Versions that another route on the cluster names."""
        self.callers: set[int] = set()
        """Versions that another unit in Git names."""
        self.standby = False
        self.park_look = [0.0] * VERSIONS
        self.park_committed = [0.0] * VERSIONS
        self.gates_gone: list[Scraped] = []
        self.gates = [
            Scraped(
                f"gateway-{number}", 3 * world.versions, world.versions, world.now,
                setup.edge_scrape, world.dice.between(0, setup.edge_scrape),
                setup.faults_of("gateway", number),
            )
            for number in range(setup.gateways)
        ]  # fmt: skip

    # -- pods

    def new_pod(self, index, release):
        world, setup = self.world, self.setup
        self.made += 1
        name = f"{world.names[index]}-{self.made}"
        faults = setup.faults_of(index, self.made)
        offset = world.dice.between(0, setup.scrape) + setup.discovery
        return Pod(name, release, world.now, setup.scrape, offset, faults)

    def takes_traffic(self, index):
        return bool(self.weights.get(index)) and self.rate > 0

    # -- manifests arrive

    def apply_route(self, manifest):
        """The API server has the new route; the gateway follows a little later."""
        world = self.world
        said = (manifest.weights, manifest.pins, manifest.gone)
        if said == (self.live_weights, self.live_pins, self.live_gone):
            return
        self.edition += 1
        self.live_weights = dict(manifest.weights)
        self.live_pins, self.live_gone = manifest.pins, manifest.gone
        self.break_glass = ""
        self.by_hand = False
        self.program(self.setup.programs())
        world.say(f"route: {_shares(self.live_weights)}")

    def edit_route(self, weights):
        """A person changes the live object."""
        self.edition += 1
        self.live_weights = dict(weights)
        self.by_hand = True
        self.program(self.setup.programs())
        self.world.say(f"a person edits the live route: {_shares(weights)}")

    def program(self, lag):
        self.current = False
        self.generation += 1
        self.world.later(lag, self.programmed, self.generation)

    def programmed(self, generation):
        if generation != self.generation:
            return
        self.current = True
        self.given_by_hand = self.by_hand
        world = self.world
        self.count_flow()
        self.pins, self.gone = self.live_pins, self.live_gone
        for index, name in enumerate(world.names):
            share = self.live_weights.get(name, 0)
            if share != self.brought[index] and not self.by_hand:
                self.shown_since[index], self.brought[index] = world.now, share
            if share != self.weights.get(index, 0):
                if not share and self.rate:
                    self.flow_until[index] = world.now
                if share and not self.weights.get(index):
                    self.seen_since[index] = 0.0
                self.weights[index] = share
                self.undone.pop(index, None)
        self.reflow()

    def apply_deployments(self, manifest):
        world = self.world
        for index, name in enumerate(world.names):
            want = manifest.deployments.get(name)
            have = self.deployments.get(index)
            if want is None:
                if have is not None:
                    have.want = Wanted(name, have.want.release, "", 0, parked=True)
                    have.desired = 0
                    have.delete()
                    del self.deployments[index]
                    self.ending[index] = have
            elif have is None:
                have = self.deployments[index] = Deployment(self, index, want)
                have.settle()
            else:
                have.apply(want)
        self.reflow()

    # -- traffic

    def set_rate(self, rate):
        self.count_flow()
        if rate and not self.rate:
            self.rate_since = self.world.now
            self.flow_before = list(self.flow_until)
        self.rate_last = rate or self.rate_last
        if rate == 0 < self.rate:
            for index, share in self.weights.items():
                if share:
                    self.flow_until[index] = self.world.now
        self.rate = rate
        self.reflow()

    def set_shares(self, ledger):
        """A commit gives other shares: what is proved of them begins anew."""
        self.count_flow()
        for entry in ledger.entries:
            index = self.world.ids.index(entry.id)
            if entry.weight != self.shares.get(index):
                was = (self.shares.get(index), self.served[index], self.lasted[index])
                self.served[index] = self.lasted[index] = 0.0
                share, served, lasted = self.undone.pop(index, (None, 0.0, 0.0))
                if share == entry.weight == self.weights.get(index):
                    # taken back before the cluster had heard of it
                    self.served[index], self.lasted[index] = served, lasted
                self.undone[index] = was
                self.shares[index] = entry.weight

    def count_flow(self):
        """Add up what each version has served of the flow."""
        now = self.world.now
        past = now - self.served_at
        self.served_at = now
        for index, share in self.shares.items():
            if share == self.weights.get(index):
                self.lasted[index] += past
        if self.rate and past > 0:
            total = sum(self.weights.values())
            for index, share in self.weights.items():
                deployment = self.deployments.get(index)
                if share and deployment is not None and deployment.serving:
                    self.served[index] += past * self.rate * share / total

    def reflow(self):
        """Spread the flow over the pods that are ready."""
        world = self.world
        now, rate = world.now, self.rate
        total = sum(self.weights.values()) or 1
        shares = []
        for index in range(world.versions):
            share = rate * self.weights.get(index, 0) / total
            deployment = self.deployments.get(index)
            pods = deployment.pods if deployment is not None else ()
            ready = [pod for pod in pods if pod.ready]
            if not share or not ready:
                for pod in pods:
                    if pod.moving or self.idle[0]:
                        pod.set_rates(now, self.idle if pod.ready else STILL)
                shares += (0.0, 0.0, share)
                if share:
                    world.watch.flow_meets_nobody(self, index)
                continue
            each = share / len(ready)
            errors = 0.0
            for pod in pods:
                if not pod.ready:
                    if pod.moving:
                        pod.set_rates(now, STILL)
                    continue
                nature = world.natures[index, pod.release]
                broken = each * nature.errors
                missed = each * nature.missed
                slow = each * nature.slow
                errors += broken
                pod.set_rates(now, (each - broken - missed - slow, slow, missed, broken))
            shares += (share - errors, errors, 0.0)
        split = self.setup.gateway_split
        for number, gate in enumerate(self.gates):
            part = split if number == 0 else 1 - split
            gate.set_rates(now, tuple([s * part for s in shares]) if part != 1 else tuple(shares))

    def call(self, index, seconds=0.0, *, direct=False):
        """Somebody calls one version, for a moment or for long."""
        world = self.world
        now = world.now
        call = Call(index, now, now + seconds, stray=not self.weights.get(index))
        self.calls.append(call)
        deployment = self.deployments.get(index)
        if not direct:
            if world.ids[index] in self.gone:
                call.met, call.ended = "tombstone", now
                world.watch.call_meets_nobody(self, call)
                return call
            call.gate = world.dice.pick(self.gates)
        ready = deployment.serving if deployment is not None else []
        if not ready:
            call.met, call.ended = "nobody", now
            if call.gate is not None:
                call.gate.add(now, 3 * index + 2)
            if deployment is not None and deployment.want.owned and not deployment.want.parked:
                world.later(world.dice.between(5, 20), self.wake, index)
            world.watch.call_meets_nobody(self, call)
            return call
        call.pod = pod = world.dice.pick(ready)
        if seconds:
            pod.calls[id(call)] = call
            pod.open(now, 0, 1)
            if call.gate is not None:
                call.gate.open(now, index, 1)
            world.say(f"a long request to {world.ids[index]} begins")
            world.later(seconds, self.end_call, call)
        else:
            self.answered(call)
        return call

    def wake(self, index):
        deployment = self.deployments.get(index)
        if deployment is not None and not deployment.desired:
            deployment.scale(1)

    def end_call(self, call):
        pod = call.pod
        if pod.calls.pop(id(call), None) is None:
            return
        pod.open(self.world.now, 0, -1)
        if call.gate is not None:
            call.gate.open(self.world.now, call.index, -1)
        self.answered(call)

    def answered(self, call):
        """Both ends count an answer when it is given."""
        now = self.world.now
        nature = self.world.natures[call.index, call.pod.release]
        bad, kind = answer(self.world.dice, nature)
        call.pod.add(now, kind)
        if call.gate is not None:
            call.gate.add(now, 3 * call.index + (1 if bad else 0))

    def cut_at(self, gate):
        """What goes through a gateway pod ends with it, whoever serves it."""
        now = self.world.now
        for deployment in (*self.deployments.values(), *self.ending.values()):
            for pod in deployment.pods:
                for call in [call for call in pod.calls.values() if call.gate is gate]:
                    call.ended, call.met = now, "cut"
                    pod.calls.pop(id(call))
                    pod.open(now, 0, -1)

    def drop_calls(self, pod, by_us=False):
        """What was open ends with its pod."""
        now = self.world.now
        for call in pod.calls.values():
            call.ended, call.met = now, "cut"
            if call.gate is not None:
                call.gate.open(now, call.index, -1)
            self.world.watch.call_is_cut(self, call, by_us)
        pod.calls.clear()

    # -- what is told of it

    def live(self):
        """What the API server says, faults of the reader aside."""
        world = self.world
        workloads = {
            world.names[index]: deployment.workload()
            for index, deployment in self.deployments.items()
        }
        for index, deployment in self.ending.items():
            if deployment.pods and index not in self.deployments:
                workloads[world.names[index]] = replace(deployment.workload(), settled=False)
        route = None
        if self.live_weights or self.live_pins or self.live_gone:
            route = seen.LiveRoute(
                dict(self.live_weights),
                self.current,
                "" if self.current else "the gateway has not got to it",
                self.live_pins | self.live_gone,
                self.break_glass,
                f"{self.edition}",
            )
        return workloads, route

    def telemetry(self, index, start, end, window):
        """What the metric server has of one version."""
        setup = self.setup
        pods = {}
        deployment = self.deployments.get(index)
        for pod in deployment.pods if deployment is not None else ():
            found = pod_series(pod, start, end, setup.gauge)
            if found.up is not None or found.requests:
                pods[pod.name] = found
        for other, pod in self.buried:
            if other == index and pod.gone > start:
                found = pod_series(pod, start, min(end, pod.gone), setup.gauge)
                if found.up is not None:
                    pods[pod.name] = found
        edge = (
            edge_series([*self.gates, *self.gates_gone], index, start, end, setup.edge_active)
            if setup.edge
            else Missing(Gap.UNSUPPORTED, "this gateway counts nothing by version")
        )
        sent = tuple(self.sent.get(index, ()))
        return seen.Telemetry(window, pods, edge, sent, setup.gauge)

    def send(self, index):
        """A request of the job's own to one version."""
        world = self.world
        deployment = self.deployments.get(index)
        ready = deployment.serving if deployment is not None else []
        status = 0
        if ready:
            nature = world.natures[index, ready[0].release]
            bad, kind = answer(world.dice, nature)
            status = 500 if bad else 200
            ready[0].add(world.now, kind)
            self.served[index] += 1
            self.gates[0].add(world.now, 3 * index + bad)
        self.sent.setdefault(index, []).append(seen.Sent(world.now, status, 0.02))


def answer(dice, nature):
    """Whether one answer is an error, and as what its pod counts it."""
    drawn = dice.random()
    if drawn < nature.errors:
        return True, BROKEN
    return False, SLOW if drawn < nature.errors + nature.slow else QUICK


def _shares(weights):
    return ", ".join(f"{name} {weight}" for name, weight in weights.items()) or "none"
