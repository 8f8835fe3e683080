"""Who called a version by its name.

Once a version has no weight, whatever it counts was asked for by name, or by somebody who goes past
the gateway: either may come again next week. Two witnesses count, its pods and the gateway, and
each is heard twice. What a look shows by itself is believed in every look. And counters only grow,
so what they stood at an hour ago tells what came since, even if nobody looked in between. A witness
that began anew cannot tell that, and the other one must; if neither can, or if nobody was there to
look, somebody may have come. What was still open when the version lost its weight may end.
"""

from __future__ import annotations

from gati_gitops.decide.clocks import VersionClock
from gati_gitops.decide.look import edge_scrape, told
from gati_gitops.decide.observation import Missing, Telemetry
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.witnesses import (
    UNKNOWN,
    Witness,
    counted_by_edge,
    counted_by_pods,
    edge_since,
    edge_total,
    newest,
    open_in_edge,
    open_in_pods,
    pods_since,
    pods_total,
    unread_since,
)


def heard(unit: Unit, sight: Sight, clock: VersionClock) -> VersionClock:
    """The clock, with when somebody last named the version."""
    said = told(sight)
    if clock.pinned and not clock.marked:
        # named once, or its clocks were lost: until somebody hears, it may be so again
        clock = _named(clock, unit.now)
    if said is None or not clock.left:
        return clock
    left = said.window.at - (unit.now - clock.left)
    if not clock.marked:
        return _first(unit, sight, said, clock, left)
    pods, edge = pods_since(sight, said, clock), edge_since(said, clock)
    why = _unheard(said, clock, pods, edge)
    came = _number(pods) or _number(edge)
    if why is Witness.LOST or (came and _is_more(said, clock, _number(pods), _number(edge))):
        return _marked(said, _named(clock, unit.now), pods=True, edge=True)
    if why is Witness.BLIND:
        # what one has lost, the other one must tell when it can
        clock = clock._replace(pods_total=UNKNOWN) if pods is Witness.LOST else clock
        clock = clock._replace(edge_total=UNKNOWN) if edge is Witness.LOST else clock
    clock = _shown(unit, sight, said, clock, left, pods, edge)
    return _marked(said, clock, pods=_tells(pods, why), edge=_tells(edge, why))


def _first(
    unit: Unit, sight: Sight, said: Telemetry, clock: VersionClock, left: float
) -> VersionClock:
    """The first look with metrics: its samples tell what came since the version was left."""
    window = said.window
    if window.at - max(window.scrape, edge_scrape(said)) < left:
        return clock  # not everybody was read since
    if window.start > left or unread_since(sight, said, left):
        clock = _named(clock, unit.now)  # nobody has seen the time before
    else:
        owed = max(open_in_pods(said, left), open_in_edge(said, left))
        clock = _shown(unit, sight, said, clock._replace(owed=owed), left)
    return _marked(said, clock, pods=True, edge=True)


def _shown(
    unit: Unit,
    sight: Sight,
    said: Telemetry,
    clock: VersionClock,
    left: float,
    *sums: float | Witness,
) -> VersionClock:
    """What this look shows by itself; ``sums``: what pods and gateway tell since the last one."""
    since = max(left, said.window.start)
    anew = not (sums and isinstance(sums[-1], float))
    pods = counted_by_pods(sight, said, since, clock.excused)
    edge = counted_by_edge(said, since, clock.excused, anew=anew)
    # what the gateway still has open cannot be what its pods have counted by then
    beside = pods.number + open_in_edge(said, pods.last) if pods.number else 0.0
    if beside > clock.owed or _is_more(said, clock, pods.number, edge.number):
        is_open = _is_more(said, clock, 0.0, 0.0)
        last = (newest(said) or said.window.at) if is_open else max(pods.last, edge.last)
        return _named(clock, unit.now - (said.window.at - last))
    if not clock.owed:
        return clock
    came = max(pods.number, edge.number, *map(_number, sums))
    if _is_ahead(said, pods.last):
        return clock  # whether it was what was owed, the gateway is about to tell
    # what is open no more without having been counted was cut off, and nobody owes it
    still = max(open_in_pods(said), open_in_edge(said))
    # and what is excused must not be heard again in the next look
    excused = max(clock.excused, pods.last, edge.last)
    return clock._replace(owed=min(clock.owed - came, still), excused=excused)


def _is_ahead(said: Telemetry, last: float) -> bool:
    """Whether pods have counted something that the gateway's gauges were not read after."""
    edge = said.edge
    if not last or isinstance(edge, Missing) or isinstance(edge.active, Missing):
        return False
    fresh = said.window.at - 2 * edge_scrape(said)
    return any(fresh <= gauge.times[-1] < last for gauge in edge.active if gauge.times)


def _unheard(
    said: Telemetry, clock: VersionClock, pods: float | Witness, edge: float | Witness
) -> Witness | None:
    """Whether nobody can tell what came since the last look that was heard; None: somebody can."""
    if Witness.LOST in (pods, edge) and said.window.start > clock.marked:
        return Witness.LOST
    if isinstance(pods, float) or isinstance(edge, float):
        return None
    return Witness.BLIND if Witness.BLIND in (pods, edge) else Witness.LOST


def _is_more(said: Telemetry, clock: VersionClock, pods: float, edge: float) -> bool:
    """Whether more was counted, or is open, than was when it was left; each by its own gauge."""
    owed = clock.owed
    return pods + open_in_pods(said) > owed or edge + open_in_edge(said) > owed


def _named(clock: VersionClock, at: float) -> VersionClock:
    return clock._replace(pinned=max(clock.pinned, at), owed=0.0)


def _number(said: float | Witness) -> float:
    return said if isinstance(said, float) else 0.0


def _tells(said: float | Witness, why: Witness | None) -> bool:
    """Whether what a witness stands at now may be what it is held against next time."""
    return isinstance(said, float) or (said is Witness.LOST and why is None)


def _marked(said: Telemetry, clock: VersionClock, *, pods: bool, edge: bool) -> VersionClock:
    """What the witnesses stand at now, of those that can be asked."""
    if pods:
        clock = clock._replace(marked=newest(said), pods_total=pods_total(said))
    if edge:
        clock = clock._replace(edge_total=edge_total(said))
    return clock
