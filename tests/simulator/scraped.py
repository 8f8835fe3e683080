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
MUTE = "mute"
"""The gauge of open requests is gone; the counters are as they were."""
TWICE = "twice"
"""A second server scrapes too, and nothing tells its samples apart."""

SPOILED = frozenset((NAN, INF, TWICE))
_AWAY = (GAP, DEAD, RENAMED)

Fault = tuple[str, float, float]
"""What goes wrong with the scrapes of a target, from when until when."""

NOT_TOLD = Missing(Gap.NO_DATA, "the gateway shows no open requests of this version")
NOT_COUNTED = Missing(Gap.UNSUPPORTED, "the gateway does not count open requests by version")


class Scraped:
    """A process that counts, and the samples that were taken of it."""

    __slots__ = (
        "again", "base", "every", "faults", "gauges", "losses", "moving", "name", "next", "opens", "rates",
        "since", "starts", "times", "up_times", "ups", "used", "values",
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
        self.used: list[int] = []
        """Columns that have counted something; of others nothing is kept."""
        self.starts: dict[int, int] = {}
        """How many samples there were before each of those."""
        self.values: list[list[float]] = [[] for _ in range(width)]
        self.gauges: list[list[float]] = [[] for _ in range(gauges)]
        self.up_times: list[float] = []
        self.ups: list[float] = []
        self.again = False
        self.losses: list[float] = []

    # -- counting

    def set_rates(self, at, rates):
        """From now on it counts as fast as that."""
        if rates != self.rates:
            self.count(at)
            self.rates = rates
            self.moving = False
            for column, rate in enumerate(rates):
                if rate:
                    self.moving = True
                    if column not in self.starts:
                        self.use(column)

    def set_base(self, column, value):
        """What it had counted before anybody looked."""
        self.use(column)
        self.base[column] = value

    def add(self, at, column):
        self.count(at)
        if column not in self.starts:
            self.use(column)
        self.base[column] = int(self.base[column] + 1e-6) + 1.0

    def use(self, column):
        self.used.append(column)
        self.starts[column] = len(self.times)

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
        self.losses.append(at)
        self.again = True

    def count(self, at):
        self.scrape(at)
        if self.moving:
            past, base, rates = at - self.since, self.base, self.rates
            for column in self.used:
                base[column] += rates[column] * past
        self.since = at

    # -- scraping

    def scrape(self, at):
        """Take the samples that were due until now."""
        due = self.next
        if due > at:
            return
        every, since, faults, used = self.every, self.since, self.faults, self.used
        base, rates, values = self.base, self.rates, self.values
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
                past = due - since
                for column in used:
                    values[column].append(float(int(base[column] + rates[column] * past + 1e-6)))
                for held, number in zip(self.gauges, self.opens, strict=True):
                    held.append(float(number))
            elif kind != GAP:
                self.up_times.append(due)
                self.ups.append(0.0 if kind == DEAD else 1.0)
            due += every
        self.next = due

    def saw(self, since, until):
        """Whether what it had counted by then was read before it was lost."""
        place = bisect_left(self.times, since)
        if place == len(self.times) or self.times[place] > until:
            return False
        return not any(since <= lost < self.times[place] for lost in self.losses)

    def is_spoiled(self, at):
        """Whether what it tells then is no number, or told twice."""
        return not SPOILED.isdisjoint(self.flaws(at)) if self.faults else False

    # -- telling

    def flaws(self, at):
        """The faults of what is told now, by name."""
        return {name for name, first, last in self.faults if first <= at < last}

    def told(self, start, end):
        """Which samples lie in that time, and when they were taken."""
        times = self.times
        first, last = bisect_left(times, start), bisect_right(times, end)
        return first, last, tuple(times[first:last])

    def column(self, column, first, last):
        """The samples of a counter between two places, and how many of those it was not there."""
        start = self.starts.get(column)
        if start is None or start >= last:
            return 0, None
        late = start - first
        if late > 0:
            return late, self.values[column][: last - start]
        return 0, self.values[column][first - start : last - start]

    def up(self, start, end, labels):
        times = self.up_times
        first, last = bisect_left(times, start), bisect_right(times, end)
        if last <= first:
            return None
        return Series(labels, tuple(times[first:last]), tuple(self.ups[first:last]))


def counter(times, late, values, labels, *, steady=True):
    """A counter's samples, if it has counted anything: before that there is no such series."""
    if not values or not (values[-1] if steady else max(values)):
        return None
    if late:
        times = times[late:]
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
        return tuple(value or -1.0 for value in values)
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
    faster: tuple[Series, ...] = ()
    if not times:
        requests = []
    elif not pod.again and len(pod.used) == 1 and pod.used[0] == QUICK:
        late, quick = pod.column(QUICK, first, last)
        found = counter(times, late, quick, (name, ("status_code", "200")))
        requests = []
        if found is not None:
            requests = [found]
            faster = (
                Series((("le", "0.5"), name), found.times, found.values),
                Series((("le", "+Inf"), name), found.times, found.values),
            )
    else:
        requests, faster = _many(pod, first, last, times, name)
    if flaws:
        requests = spoiled(requests, flaws)
    inside = None
    if gauged and times and MUTE not in flaws:
        inside = Series((name,), times, gauge(pod.gauges[0][first:last], flaws))
    return PodSeries(pod.up(start, end, (name,)), tuple(requests), faster, inside)


def _many(pod, first, last, times, name):
    """The series of a pod that has given several kinds of answers, or has begun again."""
    quick, slow, missed, broken = (_filled(pod, column, first, last) for column in range(4))
    steady = not pod.again
    good = [a + b for a, b in zip(quick, slow, strict=True)]
    fast = [a + b for a, b in zip(quick, missed, strict=True)]
    whole = [a + b + c for a, b, c in zip(good, missed, broken, strict=True)]
    requests = (
        counter(times, 0, good, (name, ("status_code", "200")), steady=steady),
        counter(times, 0, missed, (name, ("status_code", "404")), steady=steady),
        counter(times, 0, broken, (name, ("status_code", "500")), steady=steady),
    )
    faster = (
        counter(times, 0, fast, (("le", "0.5"), name), steady=steady),
        counter(times, 0, whole, (("le", "+Inf"), name), steady=steady),
    )
    return (
        [one for one in requests if one is not None],
        tuple([one for one in faster if one is not None]),
    )


def _filled(pod, column, first, last):
    late, values = pod.column(column, first, last)
    if values is None:
        return [0.0] * (last - first)
    return [0.0] * late + values if late else values


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
            late, values = gate.column(3 * version + number, first, last)
            if values:
                labels = (("code", code), name)
                series = counter(times, late, values, labels, steady=not gate.again)
                if series is not None:
                    found.append(series)
        requests += spoiled(found, flaws) if flaws else found
        up = gate.up(start, end, (name,))
        if up is not None:
            ups.append(up)
        if active and times and times[-1] > end - 3 * gate.every and MUTE not in flaws:
            values = gauge(gate.gauges[version][first:last], flaws)
            opened.append(Series((name,), times, values))
    told = (tuple(opened) or NOT_TOLD) if active else NOT_COUNTED
    return EdgeSeries(tuple(requests), told, tuple(ups), gates[0].every)
