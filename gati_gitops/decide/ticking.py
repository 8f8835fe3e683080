"""How clocks run on, whatever is judged: what a look at the cluster alone tells them.

A new state of the ledger restarts what belongs to a step; a new phase of a version restarts what
belongs to the phase. Who finds no clock for a version that leaves knows nothing of who named it
before, and takes it for named just now: losing clocks makes nothing faster.
"""

from __future__ import annotations

from hashlib import sha256

from gati_gitops.decide.clocks import Tally, VersionClock
from gati_gitops.decide.look import is_out
from gati_gitops.decide.observation import Live, LiveRoute
from gati_gitops.decide.ready import crashing, unready
from gati_gitops.decide.shown import version_differs
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.ledger.model import DEPLOYED, Ledger, Phase

LEAVING = frozenset((Phase.DRAINING, Phase.REJECTED, Phase.PARKED))
UNWATCHED = 900.0
"""Seconds between two looks after which nobody can say what happened in between."""


def stamp(ledger: Ledger) -> str:
    """What is deployed: a version that only waits restarts nobody's step."""
    said = [f"{ledger.target} {ledger.retiring}"]
    said += [f"{e.id} {e.digest} {e.phase} {e.weight}" for e in ledger.deployed]
    return sha256("\n".join(said).encode()).hexdigest()[:16]


def edition(live: Live) -> str:
    """Which state of the route this is; empty: that is not known."""
    return live.route.edition if isinstance(live.route, LiveRoute) else ""


def ticked(
    unit: Unit, sight: Sight, *, same: bool, away: float, route: str, stirred: bool = False
) -> VersionClock:
    """The clock of one version after this look.

    ``same``: the ledger is as it was; ``away``: how long nobody looked; ``route``: why the live
    route is not the ledger's; ``stirred``: it was changed since the last look.
    """
    clock, phase, now = sight.clock, str(sight.phase), unit.now
    if clock.phase != phase:
        lost = not clock.phase and _leaves(unit, sight)
        clock = _restarted(clock)._replace(
            phase=phase,
            known=clock.known or now,
            since=0.0,
            quiet=0.0,
            passes=0,
            passed=0.0,
            pinned=now if lost else clock.pinned,
            marked=0.0,
            pods_total=-1.0,
            edge_total=-1.0,
            owed=0.0,
            excused=0.0,
            back=0.0,
        )
    elif not same:
        clock = _restarted(clock)
    # what was so then and is so now may have been otherwise in between
    if away >= min(unit.rules.grace, unit.rules.progress_deadline):
        clock = clock._replace(out=0.0)
    if away >= unit.rules.progress_deadline:
        clock = clock._replace(ready=0.0, unready=0.0, crashing=0.0)
    if sight.phase not in DEPLOYED:
        return clock._replace(since=clock.since or now, shown=0.0)
    shown = not route and not version_differs(unit, sight)
    if not shown and clock.tally.since:
        clock = clock._replace(tally=Tally(), recent=Tally(), baseline=Tally())
    clock = _fallen(sight, clock, now)
    why = unready(sight)
    # a step is as long as it was watched: a job that was away finds no step that took too long
    stood = clock.shown + away if clock.shown and away > UNWATCHED else clock.shown
    is_there = sight.workload is not None and sight.workload.desired > 0
    return clock._replace(
        shown=(stood or now) if shown else 0.0,
        since=clock.since or (now if shown else 0.0),
        back=_back(unit, sight, clock, shown=shown),
        stirred=now if stirred else clock.stirred,
        ready=0.0 if why else clock.ready or now,
        unready=(clock.unready or now) if why and is_there else 0.0,
        crashing=(clock.crashing or now) if crashing(sight) else 0.0,
        out=(clock.out or now) if is_out(sight) else 0.0,
        left=_left(unit, sight, clock, shown=shown),
        active=_dwelled(unit, sight, clock, shown=shown and not why, away=away),
    )


def _fallen(sight: Sight, clock: VersionClock, now: float) -> VersionClock:
    """Whether a container began again. When, is told by our own clock: nodes have others."""
    pods = sight.workload.pods if sight.workload is not None else ()
    last = max((pod.restarted for pod in pods if pod.restarts), default=0.0)
    if last in (0.0, clock.restarted):
        return clock
    # who remembers nothing of it has the cluster's word alone
    return clock._replace(fell=now if clock.since else min(last, now), restarted=last)


def _leaves(unit: Unit, sight: Sight) -> bool:
    return sight.phase in LEAVING or unit.ledger.retiring


def _back(unit: Unit, sight: Sight, clock: VersionClock, *, shown: bool) -> float:
    """When it last lost its share: one that leaves may get it back, by an engine or a person."""
    live, planned = unit.live.route, sight.planned
    has_share = isinstance(live, LiveRoute) and planned and live.weights.get(planned.name)
    if has_share and not sight.entry.weight and _leaves(unit, sight):
        return -1.0
    return unit.now if clock.back < 0 and shown else clock.back


def _left(unit: Unit, sight: Sight, clock: VersionClock, *, shown: bool) -> float:
    """Since when only those who name it can call it: no other phase on its way out changes that.

    Whatever else the route is about to change: it gives nothing to this version, and is programmed.
    """
    if sight.entry.weight or not _leaves(unit, sight):
        return 0.0
    live, planned = unit.live.route, sight.planned
    if isinstance(live, LiveRoute) and planned is not None:
        shown = live.current and not live.weights.get(planned.name)
    return clock.left or (unit.now if shown else 0.0)


def _restarted(clock: VersionClock) -> VersionClock:
    return clock._replace(
        shown=0.0,
        checked=0.0,
        tally=Tally(),
        recent=Tally(),
        baseline=Tally(),
        failed=0,
        failed_in_step=0,
        inconclusive=0,
        errors=0,
    )


def _dwelled(unit: Unit, sight: Sight, clock: VersionClock, *, shown: bool, away: float) -> float:
    """Since when it is seen Active; time in which nobody looked does not count."""
    entry = sight.entry
    if entry.barred or sight.phase in (Phase.STARTING, Phase.CANARY):
        return 0.0
    if not clock.active:
        return unit.now if sight.phase is Phase.ACTIVE and shown else 0.0
    broken = clock.unready and unit.now - clock.unready >= unit.rules.progress_deadline
    if sight.phase is Phase.ACTIVE and broken:
        return 0.0
    return clock.active + (away if away > UNWATCHED else 0.0)
