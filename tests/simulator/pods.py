"""Deployments and their pods, as controllers and kubelets treat them.

Pods start, become ready, crash, restart, hang in termination and are lost with their nodes. A
Deployment brings them to the number that Git or a scaler asks for, and rolls to another release
without ever having fewer that are ready.
"""

from __future__ import annotations

from dataclasses import dataclass

from gati_gitops.decide import observation as seen
from tests.simulator.scraped import Scraped

GRACE = 30.0
"""How long a pod may finish what it has begun."""
STALL = 100.0
"""When a Deployment says itself that it makes no progress."""


@dataclass(frozen=True, slots=True)
class Nature:
    """How a release truly is, which nobody in the world knows."""

    kind: str = "good"
    errors: float = 0.0
    slow: float = 0.0
    missed: float = 0.0
    start: float = 8.0

    @property
    def good(self) -> bool:
        return self.kind == "good"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a manifest says of a Deployment."""

    name: str
    release: str
    image: str
    replicas: int
    owned: bool = False
    low: int = 0
    high: int = 0
    parked: bool = False


class Pod(Scraped):
    """One pod: what the API server says of it, and what it counts."""

    __slots__ = (
        "calls", "created", "cut_off", "gone", "ready", "release", "restarted", "restarts",
        "terminating", "waiting",
    )  # fmt: skip

    def __init__(self, name, release, at, every, offset, faults):
        super().__init__(name, 4, 1, at, every, offset, faults)
        self.release = release
        self.created = at
        self.ready = False
        self.terminating = False
        self.restarts = 0
        self.restarted = at
        self.waiting = ""
        self.calls = {}
        self.cut_off = False
        """Its node is out of reach: nobody sees it, and what it has begun goes on."""
        self.gone = 0.0


@dataclass(slots=True)
class Call:
    """One request to one version."""

    index: int
    began: float
    ended: float = 0.0
    pod: Pod | None = None
    gate: Scraped | None = None
    met: str = "served"
    """served, nobody, tombstone, cut"""
    stray: bool = False
    """It came while the version had no share, so it named the version or used another road."""


class Deployment:
    """The pods of one version."""

    __slots__ = (
        "complete", "desired", "ever_ready", "index", "pods", "since", "site", "want",
    )  # fmt: skip

    def __init__(self, site, index, want):
        self.site = site
        self.index = index
        self.want = want
        self.desired = want.low if want.owned else want.replicas
        self.pods: list[Pod] = []
        self.ever_ready = False
        self.complete = False
        self.since = site.world.now

    @property
    def serving(self):
        return [pod for pod in self.pods if pod.ready]

    def nature(self, release):
        return self.site.world.natures[self.index, release]

    # -- what is asked of it

    def apply(self, want):
        """The sync engine brings another manifest."""
        if want == self.want:
            return
        fresh = want.release != self.want.release
        self.want = want
        if want.parked or not want.owned:
            self.desired = want.replicas
        else:
            self.desired = max(want.low, min(self.desired or want.low, want.high))
        if fresh:
            self.since = self.site.world.now
            self.complete = False
        self.settle()

    def scale(self, desired):
        """A scaler's decision."""
        if not self.want.parked and desired != self.desired:
            self.desired = desired
            self.site.world.say(f"{self.want.name}: a scaler wants {desired} pods")
            self.settle()

    def settle(self):
        """Make as many pods as are asked for; take away what is old or too much."""
        mine = [p for p in self.pods if not p.terminating and p.release == self.want.release]
        old = [p for p in self.pods if not p.terminating and p.release != self.want.release]
        for _ in range(self.desired - len(mine)):
            self.start()
        surplus = mine[self.desired :]
        ready = sum(pod.ready for pod in mine)
        if not self.desired:
            surplus += old
        elif old:
            surplus += old[: max(0, len(old) + ready - self.desired)]
        for pod in surplus:
            self.terminate(pod)

    # -- the life of a pod

    def start(self):
        world = self.site.world
        pod = self.site.new_pod(self.index, self.want.release)
        self.pods.append(pod)
        nature = self.nature(self.want.release)
        if nature.kind == "image":
            pod.waiting = "ImagePullBackOff"
        elif nature.kind == "crash":
            world.later(nature.start, self.crash, pod)
        elif nature.kind != "never":
            world.later(nature.start * world.dice.between(0.6, 1.5), self.become_ready, pod)

    def become_ready(self, pod):
        if pod.terminating or pod.gone or pod.cut_off:
            return
        pod.ready = True
        pod.waiting = ""
        self.ever_ready = True
        self.settle()
        self.site.reflow()
        if self.nature(pod.release).kind == "late crash":
            self.site.world.later(self.site.world.dice.between(20, 90), self.fall, pod)

    def crash(self, pod):
        """It ends by itself right after its start, again and again."""
        if pod.terminating or pod.gone:
            return
        world = self.site.world
        pod.restarts += 1
        pod.restarted = world.now
        pod.waiting = "CrashLoopBackOff"
        world.later(40.0, self.crash, pod)

    def fall(self, pod):
        """What was ready crashes, and goes on crashing."""
        if pod.ready and self.site.takes_traffic(self.index):
            self.down(pod)
            self.crash(pod)

    def restart(self, pod, seconds):
        """A container ends and begins again: what it counted is lost."""
        if pod.terminating or pod.gone or pod.cut_off:
            return
        world = self.site.world
        world.say(f"{pod.name} restarts")
        world.disturbed(self.site, self.index)
        self.down(pod)
        pod.restarts += 1
        pod.restarted = world.now + 1.0
        world.later(seconds, self.become_ready, pod)

    def down(self, pod):
        """Its process ends, and with it all that was open."""
        world = self.site.world
        pod.ready = False
        self.site.drop_calls(pod)
        self.site.reflow()
        pod.begin_again(world.now)

    def terminate(self, pod):
        if pod.terminating:
            return
        pod.terminating = True
        pod.ready = False
        self.site.reflow()
        self.site.world.later(GRACE if pod.calls else 2.0, self.ended, pod)

    def lose(self, pod, until, *, cut_off):
        """Its node is gone, or out of reach: it stays in the list, as terminating."""
        if pod.terminating or pod.gone:
            return
        world = self.site.world
        world.say(f"{pod.name} is lost with its node" + (" (still running)" if cut_off else ""))
        world.disturbed(self.site, self.index)
        pod.scrape(world.now)
        pod.faults += (("dead", world.now, until),)
        pod.ready = False
        pod.terminating = True
        pod.cut_off = cut_off
        if not cut_off:
            self.site.drop_calls(pod)
        self.site.reflow()
        world.later(until - world.now, self.ended, pod)
        world.later(20.0, self.settle)

    def ended(self, pod):
        if pod.gone:
            return
        pod.scrape(self.site.world.now)
        self.site.drop_calls(pod, self.want.parked)
        pod.gone = self.site.world.now
        self.pods.remove(pod)
        self.site.buried.append((self.index, pod))

    def delete(self):
        """The object itself is pruned."""
        for pod in list(self.pods):
            self.terminate(pod)

    # -- what the API server tells

    def workload(self):
        want, pods = self.want, self.pods
        live = [pod for pod in pods if not pod.terminating]
        fresh = all(pod.release == want.release for pod in live)
        ready = sum(pod.ready for pod in live)
        settled = fresh and len(live) == self.desired
        late = self.site.world.now - self.since > STALL
        stalled = "ProgressDeadlineExceeded" if late and ready < self.desired else ""
        if not self.desired or (fresh and ready >= self.desired):
            self.complete = True
        if self.complete and fresh:
            stalled = ""  # pods that come or fail later are no failed rollout
        told = tuple(
            seen.Pod(
                pod.name, pod.ready, pod.terminating, pod.restarts, pod.created, pod.restarted,
                pod.waiting, pod.restarted if pod.restarts else 0.0,
            )
            for pod in pods
        )  # fmt: skip
        return seen.Workload(
            desired=self.desired,
            ready=ready,
            settled=settled,
            stalled=stalled,
            pods=told,
            endpoints=sum(pod.ready or pod.terminating for pod in pods),
            ready_endpoints=ready,
            release=want.release,
            image=want.image,
            replicas_owner="scaler" if want.owned else "",
        )
