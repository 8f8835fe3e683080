"""Who knows the truth: holds every decision against what was really so.

A decision rests on a look. The truth of that moment is kept beside it, and when the decision is
written the watch asks whether it kept what the rules promise. It also hears of every request that met
nobody. What it finds is unsafe, or one of the costs that the rules name and count.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from math import ceil

from gati_gitops.decide.verdict import Move, Verdict
from gati_gitops.ledger.model import DEPLOYED, WEIGHTED, Phase

HARM = frozenset(
    (
        "flow to nobody", "given to nobody", "parked in use", "parked though named", "cut",
        "removed in use", "left alone",
    )
)  # fmt: skip
"""A request that a version would have served meets nobody, or may; the rest are broken rules."""
FRESH = (
    Verdict.ADVANCE, Verdict.ACTIVATE, Verdict.PARK, Verdict.REMOVE, Verdict.RETIRE,
)  # fmt: skip
"""What must rest on a look that is not older than two scrapes and half a minute."""
ALWAYS = (
    Verdict.ROLLBACK, Verdict.HOLD, Verdict.REVIVE, Verdict.ABSORB, Verdict.RETURN,
    Verdict.PREPARE,
)  # fmt: skip
"""What may happen in a frozen window: the way back, and waking whoever is the way back."""


BY_ANSWERS = re.compile(r"requests? (failed|were slow),")
"""Rolled back for what the pods themselves counted."""


@dataclass(slots=True)
class Truth:
    """How it really was at the moment of a look."""

    at: float
    newest: float
    """Up to when metrics were told."""
    ready: list[int]
    desired: list[int]
    restarted: list[float]
    """When a pod of each version last began again."""
    weights: dict[int, int]
    live: dict[str, int]
    shown: list[float]
    lasted: list[float]
    served: list[float]
    suspended: bool
    referenced: frozenset[int]
    annotated: str
    glass: str
    """Why a person has taken the traffic into their hands, on the live route."""
    blind: bool
    """The live route could not be read."""
    frozen: str
    cannot_write: str
    rate: float
    judged: frozenset[tuple[str, str]]
    """What was rejected elsewhere, whether or not the job could read it."""
    flow_until: list[float]
    flow_before: list[float]
    """Until when there were requests before those that came last."""
    flow: tuple[float, float]
    """Since when they come, and how many a second."""
    left: list[float]
    """Since when the job that decides has seen each version without a share; 0: it has not."""


class Watch:
    """Collects what is unsafe, and what it cost."""

    def __init__(self, world):
        self.world = world
        self.unsafe: list[tuple[str, str]] = []
        self.costs: Counter[str] = Counter()
        self.rollbacks: list[float] = []
        """Of releases that are clearly bad: how many intervals it took."""

    def bad(self, kind, text):
        self.unsafe.append((kind, text))
        self.world.say(f"UNSAFE {kind}: {text}")

    # -- requests

    def flow_meets_nobody(self, site, index):
        """Requests that name no version are given to one that has no ready pod."""
        world = self.world
        deployment = site.deployments.get(index)
        gone = deployment is None or deployment.want.parked
        retiring = site.stored is None or site.stored.ledger.retiring
        if index in site.raised_by_person or site.by_hand or site.given_by_hand:
            self.costs["requests that a person sent to nobody"] += 1
        elif gone and retiring:
            self.costs["requests to a unit that has retired"] += 1
        elif gone and not (site.engine.disorder and _is_deployed(site, index)):
            self.bad("flow to nobody", f"{world.ids[index]} has a share and was taken away")
        elif site.engine.disorder:  # it may have taken away what was ready at the look
            self.costs["requests to what the engine took away and brought again"] += 1
        elif not deployment.ever_ready and index in site.raised_by_job:
            self.bad("flow to nobody", f"{world.ids[index]} has a share and was never ready")
        else:
            self.costs["requests to pods that failed by themselves"] += 1

    def call_meets_nobody(self, site, call):
        deployment = site.deployments.get(call.index)
        if call.met == "tombstone":
            self.costs["calls to what was removed"] += 1
        elif deployment is None or deployment.want.parked:
            self.costs["calls to what was parked"] += 1
        else:
            self.costs["calls to pods that failed by themselves"] += 1

    def call_is_cut(self, site, call, by_us):
        if not by_us:
            self.costs["calls cut by failing pods"] += 1
            return
        look = site.park_look[call.index]
        if _is_hidden(site, call):
            self.costs["calls cut that no gauge could show"] += 1
        elif look and _seen(site, call, call.began, look):
            self.bad("cut", f"a request to {self.world.ids[call.index]} was open, and was cut")
        else:
            self.costs["calls cut that began after the look"] += 1

    # -- decisions

    def truth(self, site, around, left):
        """What is so right now, beside what a job is about to see of it."""
        site.count_flow()
        held = site.stored is not None and site.stored.ledger.hold
        if site.current and not (held or site.annotated or site.break_glass):
            for index, share in site.weights.items():
                if share:
                    site.seen_since[index] = site.seen_since[index] or self.world.now
        ready, desired = [0] * self.world.versions, [0] * self.world.versions
        restarted = [0.0] * self.world.versions
        for index, deployment in site.deployments.items():
            ready[index] = sum(pod.ready for pod in deployment.pods)
            desired[index] = deployment.desired
            for pod in deployment.pods:
                if pod.restarts and pod.restarted > restarted[index]:
                    restarted[index] = pod.restarted
        return Truth(
            self.world.now,
            self.world.now,
            ready,
            desired,
            restarted,
            dict(site.weights),
            dict(site.live_weights),
            list(site.shown_since),
            list(site.lasted),
            list(site.served),
            site.setup.engine_known and bool(site.engine.stopped(self.world.now)),
            frozenset(site.references | site.callers),
            site.annotated,
            site.break_glass,
            not site.setup.tells_route(self.world.now),
            around.frozen,
            around.cannot_write,
            site.rate,
            frozenset(site.rejected_elsewhere()),
            list(site.flow_until),
            list(site.flow_before),
            (site.rate_since, site.rate_last),
            list(left),
        )

    def decided(self, site, move: Move, before, after, truth: Truth):
        """A decision was written."""
        ledger = before.ledger
        if after is not None:
            self.numbers(
                site.stored.ledger, after.ledger
            )  # what is there by now, not what was read
        age = self.world.now - truth.at
        # two scrapes, half a minute, and as much again by which clocks may differ
        if move.verdict in FRESH and age > 2 * max(site.setup.scrape, 15.0) + 65:
            self.bad("stale", f"{move.verdict} {move.version} by a look {age:.0f} s before")
        index = self.world.ids.index(move.version) if move.version else -1
        if ledger.hold and move.verdict is not Verdict.ABSORB:
            self.bad("moved though held", f"{move.verdict} {move.version}")
        # Who fails goes back even if nobody can read whose hands the traffic is in: the engine waits for them.
        unknown = truth.blind and move.verdict in ALWAYS
        if truth.glass and move.verdict is not Verdict.ABSORB and not unknown:
            self.bad("moved by two", f"{move.verdict} {move.version}, and a person had the traffic")
        if (truth.frozen or truth.annotated) and move.verdict not in ALWAYS:
            self.bad("moved though frozen", f"{move.verdict} {move.version}")
        back = move.verdict is Verdict.REVIVE and ledger.retiring  # requests went there anyway
        if after is not None and move.verdict is not Verdict.ABSORB and not back:
            self.given(site, ledger, after.ledger, truth)
        match move.verdict:
            case Verdict.ADVANCE | Verdict.ACTIVATE:
                self.tried(site, move, index, ledger, truth)
            case Verdict.ROLLBACK:
                self.left(site, index, ledger, truth, move.reason)
            case Verdict.PARK:
                self.parked(site, index, ledger, truth)
                site.park_look[index] = truth.at
                site.park_committed[index] = self.world.now
            case Verdict.REVIVE:
                site.park_look[index] = 0.0
            case Verdict.REMOVE if ledger.live(move.version).phase is not Phase.REMOVED:
                self.removed(site, index, truth)
            case Verdict.RETIRE:
                for entry in ledger.deployed:
                    self.removed(site, self.world.ids.index(entry.id), truth)

    def numbers(self, before, after):
        if after.seq <= before.seq:
            self.bad("seq", f"{before.seq} became {after.seq}")
        total = sum(entry.weight for entry in after.entries)
        if total != 100 and not (total == 0 and (after.retiring or not after.active)):
            self.bad("weights", f"they sum to {total}")
        if any(entry.weight and entry.phase not in WEIGHTED for entry in after.entries):
            self.bad("weights", "a version has a share that its phase does not allow")

    def given(self, site, before, after, truth):
        """Who gets more than it had must have had a ready pod."""
        for entry in after.entries:
            old = before.live(entry.id)
            if entry.phase is Phase.PENDING or entry.weight <= (old.weight if old else 0):
                continue
            index = self.world.ids.index(entry.id)
            site.raised_by_job.add(index)
            site.raised_by_person.discard(index)
            if not truth.ready[index]:
                self.bad("given to nobody", f"{entry.id} had no ready pod at the look")
            if old is not None and old.barred and entry.phase is not Phase.ACTIVE:
                self.bad("rejected", f"{entry.id} was rejected and got weight")

    def tried(self, site, move, index, ledger, truth):
        """More traffic needs the last step shown for its time, with its requests seen."""
        rules, entry = site.rules, ledger.live(move.version)
        names = self.world.names
        declared = {names[self.world.ids.index(e.id)]: e.weight for e in ledger.entries if e.weight}
        live = {name: weight for name, weight in truth.live.items() if weight}
        if live != declared:
            self.bad("advanced blindly", f"the route had {live}, the ledger {declared}")
        if truth.suspended:
            self.bad("advanced blindly", "the engine was suspended")
        if truth.cannot_write:
            self.bad("advanced blindly", "the job could not have rolled back")
        if entry.key in truth.judged:
            self.bad("advanced blindly", f"{move.version} was rejected elsewhere")
        active = ledger.active
        if active is not None and not truth.ready[self.world.ids.index(active.id)]:
            self.bad("advanced blindly", "the Active version had no ready pod")
        if site.rules.strategy != "canary" or not entry.weight or site.standby:
            return
        lasted = truth.lasted[index]
        if lasted < rules.step_for - 1:
            self.bad("hasty", f"{move.version} was at {entry.weight} for {lasted:.0f} s")
        counted = site.setup.edge or not site.setup.probes
        if truth.served[index] < rules.min_requests - 2 and counted:
            self.bad("without data", f"{move.version} had served {truth.served[index]:.0f}")
        fell = truth.at - truth.restarted[index]
        if fell < rules.step_for - 1:
            self.bad("hasty", f"a pod of {move.version} began again {fell:.0f} s before")
        nature = self.nature(site, index, entry)
        if max(nature.errors, nature.slow) > 0.2 and counted:
            self.bad("bad advanced", f"{move.version} was {nature.kind}")
        weight = 100 if move.verdict is Verdict.ACTIVATE else move.weight
        if weight < 100 and site.stored.plan.version(*entry.key).breaking:
            self.bad("cannot share", f"{move.version} breaks with the Active version")
        if weight not in rules.steps or any(entry.weight < s < weight for s in rules.steps):
            self.bad("hasty", f"{move.version} went from {entry.weight} to {weight}")

    def nature(self, site, index, entry):
        """How a version really is."""
        planned = site.stored_before.plan.version(*entry.key)
        return self.world.natures[index, planned.release]

    def left(self, site, index, ledger, truth, reason):
        """A version is judged bad: it must be.

        Pods that were struck may fall over once too often; that their answers were bad is still not true.
        """
        entry = ledger.live(self.world.ids[index])
        nature = self.nature(site, index, entry)
        struck = (site.name, index) in self.world.shaken and not BY_ANSWERS.search(reason)
        if nature.good and not struck:
            self.bad("false rollback", f"{entry.id} was well")
        enough = truth.rate * entry.weight >= 100  # one request a second
        if nature.kind in ("bad", "slow") and enough and not site.faulty:
            took = truth.at - site.seen_since[index]
            passes = ceil(0.9 * site.rules.interval / site.every)
            self.rollbacks.append(took / (passes * site.every))

    def parked(self, site, index, ledger, truth):
        """What goes must have been left alone for as long as the rules promise."""
        id, rules, at = self.world.ids[index], site.rules, truth.at
        if truth.weights.get(index) and not ledger.retiring:
            self.bad("parked in use", f"the gateway gave {id} {truth.weights[index]}")
        if index in truth.referenced:
            self.bad("parked in use", f"somebody names the Service of {id}")
        flows = bool(truth.weights.get(index) and truth.rate)
        quiet = 0.0 if flows else at - truth.flow_until[index]
        if quiet < rules.grace - 1 and _began_unseen(site, index, truth, flows):
            self.costs["requests that began after the look"] += 1
            quiet = at - truth.flow_before[index]
        if quiet < rules.grace - 1:
            self.bad("parked in use", f"{id} had requests {quiet:.0f} s before")
        for call in site.calls:
            reached = call.met == "served" or (call.met == "nobody" and call.gate is not None)
            if call.index == index and reached:
                self.quiet(site, call, truth)
        if not ledger.retiring:
            self.spared(site, index, ledger, truth)

    def spared(self, site, index, ledger, truth):
        """Whether somebody else serves, and is to be trusted."""
        id, rules = self.world.ids[index], site.rules
        entry, active = ledger.live(id), ledger.active
        other = self.world.ids.index(active.id) if active is not None else -1
        if active is not None and truth.desired[other] and not truth.ready[other]:
            self.bad("left alone", f"{active.id} had no ready pod when {id} was parked")
        if entry.barred:
            return
        # a route that an engine takes back for a moment, nobody sees who does not look then
        left = truth.at - min(truth.shown[index], truth.left[index] or truth.shown[index])
        if left < rules.rollback_for - 1:
            self.bad("way back", f"{id} was the way back, {left:.0f} s after it was left")
        if active is not None and (active.barred or active.key in truth.judged):
            self.bad("way back", f"{active.id} was rejected when {id} was parked")
        planned = site.stored.plan.version(*entry.key)
        quiet = truth.at - truth.flow_until[index]
        if planned is not None and not planned.gone and quiet < rules.idle_for - 1:
            self.bad("parked though named", f"the specs have {id}, and it was quiet {quiet:.0f} s")

    def quiet(self, site, call, truth):
        id, at, rules = self.world.ids[call.index], truth.newest, site.rules
        if call.began > at:
            return
        if call.ended > at:
            if _seen(site, call, call.began, at) and not _is_hidden(site, call):
                self.bad("parked in use", f"a request to {id} was open")
        elif _seen(site, call, call.ended, at) and at - call.ended < rules.grace - 1:
            self.bad("parked in use", f"{id} was called {at - call.ended:.0f} s before")
        left, setup = truth.left[call.index], site.setup
        known = left + 2 * max(setup.scrape, setup.edge_scrape) + 2  # everybody was read since
        ago = truth.at - call.began
        named = call.stray and left and call.began > known and _scraped(site, call, call.ended, at)
        if named and ago < rules.idle_for - 1:
            self.bad("parked though named", f"somebody named {id} {ago:.0f} s before")

    def removed(self, site, index, truth):
        """What is removed was called by nobody while it was parked."""
        id, at = self.world.ids[index], truth.newest
        since = max(site.park_committed[index], at - site.rules.park_for)
        for call in site.calls:
            if (
                call.index == index
                and call.gate is not None
                and since < call.began < at
                and _seen(site, call, call.began, at)
            ):
                if _is_unheard_of(site, call, at):
                    self.costs["calls by a pod of the gateway that nobody scrapes"] += 1
                    continue
                self.bad("removed in use", f"{id} was called {at - call.began:.0f} s before")
        if truth.weights.get(index) and truth.rate and not self.world.story.retired:
            self.bad("removed in use", f"{id} had a share")


def _is_deployed(site, index):
    """Whether Git has it with pods, whatever the engine has brought."""
    entry = site.stored.ledger.live(site.world.ids[index])
    return entry is not None and entry.phase in DEPLOYED and entry.phase is not Phase.PARKED


def _began_unseen(site, index, truth, flows):
    """Whether the flow began so late that no scrape can have shown it, whether or not it goes on.

    Who has a share of it counts the first request when that share amounts to one.
    """
    at, (began, rate) = truth.newest, truth.flow
    if began <= at - 2 * site.setup.scrape:
        return False
    deployment = site.deployments.get(index)
    pods = deployment.pods if deployment is not None else ()
    first = began + max(1.0, max(len(pods), len(site.gates)) / rate)
    if not flows and first > truth.flow_until[index]:
        return True
    return not any(one.saw(first, at) for one in (*pods, *site.gates))


def _is_unheard_of(site, call, at):
    """No sample of a gateway pod for as long as samples are asked for: nobody knows that it is there."""
    last = call.gate.up_times[-1] if call.gate.up_times else 0.0
    return last < min(call.began, at - site.setup.span)


def _is_hidden(site, call):
    """By another road, to pods without a gauge: open requests of that kind show nowhere."""
    return call.gate is None and not site.setup.gauge


def _seen(site, call, moment, at):
    """Whether the rules can have known of it: it was scraped, or should have been by then."""
    return moment <= at - 2 * site.setup.scrape or _scraped(site, call, moment, at)


def _scraped(site, call, moment, at):
    """Whether somebody has read what was counted of it."""
    pod, gate = call.pod, call.gate
    if pod is not None and pod.saw(moment, at) and not pod.is_spoiled(pod.gone or at):
        return True
    if gate is None or not site.setup.edge:
        return False
    return gate.saw(moment, at) and not gate.is_spoiled(at)
