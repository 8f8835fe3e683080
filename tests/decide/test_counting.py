"""From samples to requests: coverage, growth, births, resets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gati_gitops.decide.clocks import Tally
from gati_gitops.decide.counters import Uncountable, grown, was_read_before
from gati_gitops.decide.coverage import uncovered, unscraped
from gati_gitops.decide.observation import (
    EdgeSeries,
    Gap,
    Missing,
    Pod,
    PodSeries,
    Sent,
    Series,
    Telemetry,
    Window,
    Workload,
)
from gati_gitops.decide.traffic import added, chosen_bound, stretch

S = 15.0


def series(values, *, until=600.0, step=S, labels=()):
    count = len(values)
    times = tuple(until - step * (count - 1 - n) for n in range(count))
    return Series(tuple(sorted(labels)), times, tuple(float(v) for v in values))


def every(until=600.0, since=180.0, value=1.0, step=S):
    times = [since + step * n for n in range(int((until - since) / step) + 1)]
    return Series((), tuple(times), (value,) * len(times))


# -- coverage ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ([], "no samples"),
        ([240 + S * n for n in range(25)], ""),
        ([240 + S * n for n in range(23)], ""),  # 30 s old is as old as it may be
        ([240 + S * n for n in range(22)], "45 s old"),
        ([300 + S * n for n in range(21)], "begin 60 s late"),
        ([240 + S * n for n in range(25) if n != 9], ""),  # one scrape may be missed
        ([240 + S * n for n in range(25) if n not in (9, 10)], "45 s without"),
        ([240 + S * n for n in range(25) if n not in (3, 9, 15)], "samples where there should be"),
        ([*(240 + S * n for n in range(24)), 570.0, 600.0], "out of order"),
    ],
)
def test_samples_cover_a_time_or_say_why_not(times, says):
    found = uncovered(Series((), tuple(times), (0.0,) * len(times)), 240.0, 600.0, S)
    assert says in found if says else found == ""


def test_a_failed_scrape_is_no_look():
    up = every()
    values = (*up.values[:-3], 0.0, 1.0, 1.0)
    assert unscraped(replace(up, values=values), 240.0, 600.0, S) == "1 of 25 scrapes failed"


def test_a_failed_scrape_before_the_time_does_not_matter():
    up = every()
    assert unscraped(replace(up, values=(0.0, *up.values[1:])), 240.0, 600.0, S) == ""


# -- one counter ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "since", "wanted", "reason"),
    [
        ([5, 5, 8, 12], 570.0, (7.0, 0.0), "from the last sample before to the last one"),
        ([5, 5, 5], 580.0, (0.0, 0.0), "it stood still"),
        ([3, 4], 590.0, (1.0, 0.0), "what came before the time does not count"),
        ([3, 4], 500.0, (1.0, 3.0), "it was not there before: its first value stands apart"),
    ],
)
def test_a_counter_grows(values, since, wanted, reason):
    assert grown(series(values), since, 600.0, stale=30.0) == wanted, reason


@pytest.mark.parametrize(
    ("values", "gap"),
    [
        ([5, 8, 2], Gap.PARTIAL),
        ([5, 8, 2, 5], Gap.PARTIAL),
        ([5, float("nan"), 9], Gap.NOT_A_NUMBER),
        ([5, float("inf")], Gap.NOT_A_NUMBER),
        ([-1, 5], Gap.NOT_A_NUMBER),
    ],
)
def test_what_no_counter_can_do_counts_for_nothing(values, gap):
    with pytest.raises(Uncountable) as problem:
        grown(series(values), 500.0, 600.0, stale=30.0)
    assert problem.value.missing.gap is gap


def test_a_counter_that_vanished_is_not_one_that_stood_still():
    with pytest.raises(Uncountable, match="has gone"):
        grown(series([5, 6], until=540.0), 500.0, 600.0, stale=30.0)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=40), st.data())
def test_stretches_add_up_to_the_whole(steps, data):
    """However the time is cut, no request counts twice and none is lost."""
    values = [sum(steps[: n + 1]) for n in range(len(steps))]
    whole = series(values)
    start = whole.times[0]
    cuts = sorted(data.draw(st.lists(st.floats(start, 600.0), max_size=5)))
    total = 0.0
    for since, until in zip([start, *cuts], [*cuts, 600.0], strict=True):
        total += grown(whole, since, until, stale=1e9)[0]
    assert total == values[-1] - values[0]


def test_birth_is_told_from_a_series_that_was_only_not_read():
    born = series([4, 6])
    assert was_read_before(born, every())
    assert not was_read_before(born, None)
    assert not was_read_before(born, series([1, 1]))  # both appear at once: nothing is known
    failed = Series((), (555.0, 570.0, 585.0, 600.0), (1.0, 0.0, 1.0, 1.0))
    assert not was_read_before(born, failed)


# -- a version's requests ------------------------------------------------------------------------


def counter(code, values, le=""):
    labels = [("status_code", code), *([("le", le)] if le else [])]
    return series(values, labels=labels)


def pod_series(*requests, faster=(), up=None, in_flight=None):
    return PodSeries(up or every(), requests, faster, in_flight)


def workload(*names, created=0.0, **fields):
    pods = tuple(Pod(name, ready=True, created=created, **fields) for name in names)
    return Workload(len(pods), len(pods), settled=True, pods=pods, ready_endpoints=len(pods))


def told(pods, edge=None, sent=()):
    window = Window(600.0, 420.0, S)
    edge = edge or Missing(Gap.UNSUPPORTED, "the gateway counts nothing by version")
    return Telemetry(window, pods, edge, sent)


SINCE = Tally(since=500.0, until=500.0, sent_until=500.0)


def counted(telemetry, load=None, tally=SINCE, bound=0.5):
    return stretch(telemetry, load or workload("a"), tally, bound)


def test_requests_of_all_pods_are_added_and_errors_are_the_servers_own():
    pods = {
        "a": pod_series(
            counter("200", [10] * 3 + [10, 20, 30, 40, 50]),
            counter("404", [1] * 7 + [3]),
            counter("500", [0] * 7 + [1]),
        ),
        "b": pod_series(counter("200", [0] * 7 + [7]), counter("503", [2] * 7 + [5])),
    }
    found = counted(told(pods), workload("a", "b")).counted
    assert (found.requests, found.failures) == (40 + 2 + 1 + 7 + 3, 1 + 3)


def test_a_series_that_is_born_counts_from_nothing_and_is_known_as_born():
    pods = {"a": pod_series(counter("200", [1] * 20), counter("500", [4, 6]))}
    found = counted(told(pods)).counted
    assert (found.requests, found.born, found.failures) == (6, 4, 6)


def test_a_pod_that_is_new_counts_from_nothing():
    up = every(since=555.0)
    pods = {"a": PodSeries(up, (counter("200", [3, 8, 9, 12]),))}
    found = counted(told(pods), workload("a", created=530.0)).counted
    assert found.requests == 12


def test_a_series_of_which_nothing_was_known_counts_from_its_first_sample():
    up = every(since=555.0)
    pods = {"a": PodSeries(up, (counter("200", [3, 8, 9, 12]),))}
    telemetry = replace(told(pods), window=Window(600.0, 50.0, S))
    found = counted(telemetry, tally=Tally(555.0, 555.0)).counted
    assert found.requests == 9


def test_mirrored_requests_are_not_judged():
    mirrored = series([0, 90], labels=[("mirrored", "true"), ("status_code", "500")])
    pods = {"a": pod_series(counter("200", [0] * 8 + [5]), mirrored)}
    found = counted(told(pods)).counted
    assert (found.requests, found.failures) == (5, 0)


def test_slow_requests_are_those_beyond_the_bound():
    faster = (
        counter("200", [0] * 8 + [90], le="0.5"),
        counter("200", [0] * 8 + [100], le="+Inf"),
        counter("200", [0] * 8 + [99], le="1"),
    )
    pods = {"a": pod_series(counter("200", [0] * 8 + [100]), faster=faster)}
    found = counted(told(pods), bound=0.4).counted
    assert (found.timed, found.slow) == (100, 10)


@pytest.mark.parametrize(
    ("bounds", "asked", "chosen"),
    [
        (("0.1", "0.5", "1", "+Inf"), 0.5, 0.5),
        (("0.1", "0.5", "1", "+Inf"), 0.3, 0.5),
        (("0.1", "+Inf"), 0.5, None),
        (("+Inf",), 0.5, None),
        ((), 0.5, None),
    ],
)
def test_the_bound_is_the_next_one_that_is_counted(bounds, asked, chosen):
    assert chosen_bound([counter("200", [0, 1], le=le) for le in bounds], asked) == chosen


def edge(*requests, up=None, active=()):
    return EdgeSeries(requests, active, (up or replace(every(), labels=(("pod", "gw"),)),))


def at_gateway(code, values):
    return series(values, labels=[("code", code), ("pod", "gw")])


def test_the_gateway_counts_beside_the_pods():
    pods = {"a": pod_series(counter("200", [0] * 8 + [5]))}
    telemetry = told(pods, edge(at_gateway("200", [0] * 8 + [5]), at_gateway("502", [0] * 8 + [2])))
    found = counted(telemetry).counted
    assert (found.edge, found.edge_failures) == (7, 2)


def test_a_gateway_that_cannot_be_read_leaves_nothing_to_judge():
    pods = {"a": pod_series(counter("200", [0] * 8 + [5]))}
    found = counted(told(pods, Missing(Gap.ERROR, "timed out")))
    assert isinstance(found.counted, Missing) and found.counted.gap is Gap.ERROR
    assert found.until == SINCE.until


def test_a_gateway_pod_that_goes_passes_the_time_over():
    pods = {"a": pod_series(counter("200", [0] * 8 + [5]))}
    two = (
        replace(every(), labels=(("pod", "gw"),)),
        replace(every(until=540.0), labels=(("pod", "old"),)),
    )
    telemetry = told(pods, EdgeSeries((), (), two))
    found = counted(telemetry)
    assert isinstance(found.counted, Missing) and found.until == 600.0 and not found.torn
    later = counted(telemetry, tally=Tally(560.0, 560.0))
    assert isinstance(later.counted, Tally), "it was gone before"


def test_a_gateway_is_read_at_its_own_pace():
    slow = Series((("pod", "gw"),), tuple(200.0 + 60 * n for n in range(7)), (1.0,) * 7)
    pods = {"a": pod_series(counter("200", [0] * 8 + [5]))}
    telemetry = told(pods, replace(edge(up=slow), scrape=60.0))
    found = counted(telemetry, tally=Tally(300.0, 300.0))
    assert isinstance(found.counted, Tally) and found.until == 560.0
    assert isinstance(counted(replace(telemetry, edge=edge(up=slow))).counted, Missing)


@pytest.mark.parametrize(
    ("bend", "gap", "moves_on", "reason"),
    [
        ({}, Gap.NO_DATA, False, "no pod is scraped: it may come later"),
        ({"a": PodSeries()}, Gap.PARTIAL, True, "this pod is not scraped"),
        ({"a": pod_series(up=every(until=540.0))}, Gap.STALE, False, "all samples are old"),
        (
            {"a": pod_series(counter("200", [1, 2]), counter("200", [1, 2]))},
            Gap.AMBIGUOUS,
            True,
            "one series twice",
        ),
        ({"a": pod_series(counter("200", [9] * 8 + [1]))}, Gap.PARTIAL, True, "it began again"),
        (
            {"a": pod_series(counter("200", [float("nan")] * 9))},
            Gap.NOT_A_NUMBER,
            True,
            "no number",
        ),
    ],
)
def test_what_cannot_be_counted_says_so(bend, gap, moves_on, reason):
    found = counted(told(bend))
    assert isinstance(found.counted, Missing) and found.counted.gap is gap, reason
    assert (found.until > SINCE.until) is moves_on


def test_a_hole_in_the_samples_tears_the_count():
    times = tuple(t for t in every().times if not 520 < t < 570)
    pods = {"a": pod_series(up=Series((), times, (1.0,) * len(times)))}
    found = counted(told(pods))
    assert isinstance(found.counted, Missing) and found.torn


def test_a_look_too_long_ago_tears_the_count():
    pods = {"a": pod_series(counter("200", [0, 5]))}
    assert counted(told(pods), tally=Tally(100.0, 100.0)).torn


def test_a_pod_that_is_gone_counts_as_far_as_it_was_seen():
    gone = PodSeries(every(until=555.0), (series([0, 4, 9], until=555.0),))
    gone = replace(
        gone, requests=tuple(replace(s, labels=(("status_code", "200"),)) for s in gone.requests)
    )
    pods = {"a": pod_series(counter("200", [0] * 8 + [5])), "gone": gone}
    found = counted(told(pods)).counted
    assert found.requests == 5 + 9


def test_counting_stops_where_the_slowest_pod_was_read():
    late = every(until=585.0)
    pods = {
        "a": pod_series(counter("200", [0, 0, 0, 0, 0, 0, 0, 3, 7])),
        "b": PodSeries(
            late, (replace(series([0] * 8 + [2], until=585.0), labels=(("status_code", "200"),)),)
        ),
    }
    found = counted(told(pods), workload("a", "b"))
    assert found.until == 585.0
    assert found.counted.requests == 3 + 2


def test_a_moment_without_a_new_scrape_is_no_gap():
    pods = {"a": pod_series(counter("200", [0] * 8 + [5]))}
    found = counted(told(pods), tally=Tally(600.0, 600.0))
    assert found.counted == Tally(600.0, 600.0) and found.until == 600.0


def test_requests_of_our_own_count_once():
    sent = (Sent(550.0, 200, 0.1), Sent(560.0, 503, 0.1), Sent(570.0, 0, 5.0))
    pods = {"a": pod_series(counter("200", [0] * 8 + [5]))}
    found = counted(told(pods, sent=sent)).counted
    assert (found.sent, found.sent_failures) == (3, 2)
    again = counted(told(pods, sent=sent), tally=added(SINCE, found)._replace(until=580.0)).counted
    assert again.sent == 0


def test_tallies_follow_one_another():
    one = Tally(100, 200, requests=5, failures=1, sent=1, sent_until=150)
    two = Tally(200, 300, requests=7, failures=2, slow=1, timed=7, edge=7, edge_failures=2)
    both = added(one, two)
    assert both.since == 100 and both.until == 300
    assert (both.requests, both.failures, both.slow, both.edge) == (12, 3, 1, 7)


@pytest.mark.parametrize(
    "broken",
    [
        pod_series(counter("200", [9] * 8 + [1])),
        pod_series(up=Series((), every().times, (1.0,) * (len(every().times) - 1) + (0.0,))),
    ],
    ids=["it began again", "it was not read"],
)
def test_the_gateway_tells_what_failed_while_pods_cannot(broken):
    gateway = edge(at_gateway("200", [0] * 8 + [10]), at_gateway("502", [0] * 8 + [6]))
    found = counted(told({"a": broken}, gateway))
    assert isinstance(found.counted, Missing)
    assert found.edge == (16, 6)


def test_a_gateway_that_began_again_tells_nothing_of_that_time():
    gateway = edge(at_gateway("502", [9] * 8 + [1]))
    found = counted(told({"a": pod_series(counter("200", [9] * 8 + [1]))}, gateway))
    assert found.edge == (0, 0)
