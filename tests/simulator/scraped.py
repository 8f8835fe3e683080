"""What is counted, and what of it is scraped.

A counter grows by a rate between two changes of the world, so a sample costs a multiplication and
not a walk over requests. Samples are taken as late as possible: when somebody looks, or when
what they would say is about to change. A process that begins again begins at nothing, and a series
is there only once it has counted something, as client libraries have it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from gati_gitops.decide.observation import EdgeSeries, Gap, Missing, PodSeries, Series

GAP = "gap"
"""Nobody scraped: the server was away, or did not know of the target."""
DEAD = "dead"
"""The scrape failed."""
NAN = "nan"
INF = "inf"
LEAK = "leak"
"""The gauge of open requests never comes back to where it was."""
BELOW = "below"
"""The gauge of open requests falls below nothing."""
RENAMED = "renamed"
"""A rule lost the name of the counters and gauges; the scrape itself is as it was."""
TWICE = "twice"
"""A second server scrapes too, and nothing tells its samples apart."""

_AWAY = (GAP, DEAD, RENAMED)

Fault = tuple[str, float, float]
"""What goes wrong with the scrapes of a target, from when until when."""

NOT_COUNTED = Missing(Gap.UNSUPPORTED, "the gateway does not count open requests by version")


class Scraped:
    """A process that counts, and the samples that were taken of it."""

    __slots__ = (
        "again", "base", "every", "faults", "gauges", "moving", "name", "next", "opens", "rates", "since",
        "times", "up_times", "ups", "values",
    )  # fmt: skip

    def __init__(self, name, width, gauges, at, every, offset, faults=()):
        self.name = name
        self.every = every
        self.next = at + offset
        self.faults: tuple[Fault, ...] = faults
        self.since = at
        self.base = [0.0] * width
        self.rates = (0.0,) * width
        self.moving = False
        self.opens = [0] * gauges
        self.times: list[float] = []
        self.values: list[list[float]] = [[] for _ in range(width)]
        self.gauges: list[list[float]] = [[] for _ in range(gauges)]
        self.up_times: list[float] = []
        self.ups: list[float] = []
        self.again = False

    # -- counting

    def set_rates(self, at, rates):
        """From now on it counts as fast as that."""
        if rates != self.rates:
            self.count(at)
            self.rates = rates
            self.moving = any(rates)

    def add(self, at, column):
        self.count(at)
        self.base[column] = int(self.base[column] + 1e-6) + 1.0

    def open(self, at, gauge, change):
        """A request begins or ends."""
        self.scrape(at)
        self.opens[gauge] += change

    def begin_again(self, at):
        """The process restarts: what it had counted and not told is lost."""
        self.scrape(at)
        self.since = at
        self.base = [0.0] * len(self.base)
        self.opens = [0] * len(self.opens)
        self.again = True

    def count(self, at):
        self.scrape(at)
        if self.moving:
            past = at - self.since
            self.base = [
                held + rate * past for held, rate in zip(self.base, self.rates, strict=True)
            ]
        self.since = at

    # -- scraping

    def scrape(self, at):
        """Take the samples that were due until now."""
        due = self.next
        if due > at:
            return
        moving, every, since, faults = self.moving, self.every, self.since, self.faults
        still = None if moving else [float(int(held + 1e-6)) for held in self.base]
        while due <= at:
            kind = ""
            for name, first, last in faults:
                if name in _AWAY and first <= due < last:
                    kind = name
                    break
            if not kind:
                self.up_times.append(due)
                self.ups.append(1.0)
                self.times.append(due)
                if moving:
                    past = due - since
                    for held, base, rate in zip(self.values, self.base, self.rates, strict=True):
                        held.append(float(int(base + rate * past + 1e-6)))
                else:
                    for held, value in zip(self.values, still, strict=True):
                        held.append(value)
                for held, number in zip(self.gauges, self.opens, strict=True):
                    held.append(float(number))
            elif kind != GAP:
                self.up_times.append(due)
                self.ups.append(0.0 if kind == DEAD else 1.0)
            due += every
        self.next = due

    def saw(self, since, until):
        """Whether a scrape succeeded in that time."""
        place = bisect_left(self.times, since)
        return place < len(self.times) and self.times[place] <= until

    # -- telling

    def flaws(self, at):
        """The faults of what is told now, by name."""
        return {name for name, first, last in self.faults if first <= at < last}

    def told(self, start, end):
        """Which samples lie in that time, and when they were taken."""
        times = self.times
        first, last = bisect_left(times, start), bisect_right(times, end)
        return first, last, tuple(times[first:last])

    def up(self, start, end, labels):
        times = self.up_times
        first, last = bisect_left(times, start), bisect_right(times, end)
        if last <= first:
            return None
        return Series(labels, tuple(times[first:last]), tuple(self.ups[first:last]))


def counter(times, values, labels, *, steady=True):
    """A counter's samples, if it has counted anything: before that there is no such series."""
    if not values or not (values[-1] if steady else max(values)):
        return None
    if not values[0] or not (steady or min(values)):
        kept = [number for number, value in enumerate(values) if value]
        times = tuple([times[number] for number in kept])
        values = [values[number] for number in kept]
    return Series(labels, times, tuple(values))


def spoiled(series, flaws):
    """A sample that is no number, and a counter that two servers tell a little apart."""
    if NAN in flaws or INF in flaws:
        bad = float("nan") if NAN in flaws else float("inf")
        series = [Series(s.labels, s.times, (*s.values[:-1], bad)) for s in series]
    if TWICE in flaws:
        series = series + [
            Series(s.labels, tuple(time + 1.0 for time in s.times), s.values) for s in series
        ]
    return series


def gauge(values, flaws):
    if LEAK in flaws:
        return tuple(value + 1.0 for value in values)
    if BELOW in flaws:
        return tuple(value - 1.0 for value in values)
    return tuple(values)


# -- pods -----------------------------------------------------------------------------------------

QUICK, SLOW, MISSED, BROKEN = range(4)
"""What a pod counts: answers 200 that were fast enough and those that were not, 404 and 500."""


def pod_series(pod, start, end, gauged):
    """What the metric server has of one pod."""
    pod.scrape(end)
    first, last, times = pod.told(start, end)
    name = ("pod", pod.name)
    flaws = pod.flaws(end) if pod.faults else ()
    steady = not pod.again
    quick, slow, missed, broken = [held[first:last] for held in pod.values]
    faster: tuple[Series, ...] = ()
    if not times:
        requests = []
    elif steady and not (slow[-1] or missed[-1] or broken[-1]):
        found = counter(times, quick, (name, ("status_code", "200")))
        requests = []
        if found is not None:
            requests = [found]
            faster = (
                Series((("le", "0.5"), name), found.times, found.values),
                Series((("le", "+Inf"), name), found.times, found.values),
            )
    else:
        good = [a + b for a, b in zip(quick, slow, strict=True)]
        fast = [a + b for a, b in zip(quick, missed, strict=True)]
        whole = [a + b + c for a, b, c in zip(good, missed, broken, strict=True)]
        requests = [
            counter(times, good, (name, ("status_code", "200")), steady=steady),
            counter(times, missed, (name, ("status_code", "404")), steady=steady),
            counter(times, broken, (name, ("status_code", "500")), steady=steady),
        ]
        requests = [one for one in requests if one is not None]
        pair = (
            counter(times, fast, (("le", "0.5"), name), steady=steady),
            counter(times, whole, (("le", "+Inf"), name), steady=steady),
        )
        faster = tuple([one for one in pair if one is not None])
    if flaws:
        requests = spoiled(requests, flaws)
    inside = None
    if gauged and times:
        inside = Series((name,), times, gauge(pod.gauges[0][first:last], flaws))
    return PodSeries(pod.up(start, end, (name,)), tuple(requests), faster, inside)


# -- the gateway ----------------------------------------------------------------------------------

EDGE_CODES = ("200", "500", "503")


def edge_series(gates, version, start, end, active):
    """What the gateway's pods say of one version, of which each holds three columns."""
    requests, opened, ups = [], [], []
    for gate in gates:
        gate.scrape(end)
        first, last, times = gate.told(start, end)
        name = ("pod", gate.name)
        flaws = gate.flaws(end) if gate.faults else ()
        found = []
        for number, code in enumerate(EDGE_CODES):
            series = counter(
                times,
                gate.values[3 * version + number][first:last],
                (("code", code), name),
                steady=not gate.again,
            )
            if series is not None:
                found.append(series)
        requests += spoiled(found, flaws) if flaws else found
        up = gate.up(start, end, (name,))
        if up is not None:
            ups.append(up)
        if active and times and times[-1] > end - 3 * gate.every:
            values = gauge(gate.gauges[version][first:last], flaws)
            opened.append(Series((name,), times, values))
    return EdgeSeries(tuple(requests), tuple(opened) if active else NOT_COUNTED, tuple(ups))
