"""Many at once: then what is measured is doubted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gati_gitops.decide.breaker import broken, tripped
from gati_gitops.decide.verdict import Decision, Move, Verdict
from tests.decide.worlds import rules


def place(number, cluster="east"):
    return ("prod", cluster, ("shop", f"handler-u{number:04}"))


def made(verdict, *, rolling=True):
    acts = verdict not in (Verdict.WAIT, Verdict.STEADY)
    fails = verdict in (Verdict.ROLLBACK, Verdict.HOLD)
    move = Move(verdict) if acts else None
    return Decision(verdict, "because", move=move, rolling=rolling, fails=fails)


def decisions(**counts):
    found = {}
    for word, count in counts.items():
        for _ in range(count):
            verdict = Verdict(word.replace("_", " "))
            found[place(len(found))] = made(
                verdict, rolling=word not in ("steady", "park", "remove")
            )
    return found


@pytest.mark.parametrize(
    ("failing", "rolling", "trips", "reason"),
    [
        (1, 1, False, "a unit that is alone may fail"),
        (3, 3, False, "three may"),
        (4, 4, True, "four of four have one cause"),
        (4, 19, True, "more than three, and more than a fifth"),
        (4, 20, False, "a fifth of twenty may"),
        (5, 20, True, "more than a fifth"),
        (20, 100, False, "a fifth of many may"),
        (21, 100, True, "more than that may not"),
    ],
)
def test_too_many_failures_have_one_cause(failing, rolling, trips, reason):
    given = decisions(rollback=failing, wait=rolling - failing, steady=500)
    assert bool(tripped(rules(), given)) is trips, reason
    found = broken(rules(), given, len(given))
    rolled_back = [d for d in found.values() if d.verdict is Verdict.ROLLBACK]
    assert len(rolled_back) == (0 if trips else failing)


def test_of_a_thousand_units_those_that_are_rolled_out_count():
    given = decisions(rollback=10, steady=990)
    assert "10 of 10 rollouts fail at once" in tripped(rules(), given)


def test_holds_count_as_failures():
    assert tripped(rules(), decisions(hold=2, rollback=2, steady=100))


def test_a_release_that_is_bad_on_every_cluster_is_one_failure():
    given = {place(1, f"c{number}"): made(Verdict.ROLLBACK) for number in range(9)}
    assert not tripped(rules(), given)
    assert broken(rules(), given, 1) == given
    others = {place(2 + n, f"c{n}"): made(Verdict.ROLLBACK) for n in range(3)}
    assert "4 of 4 rollouts fail" in tripped(rules(), given | others)


def test_who_is_held_without_having_failed_stops_nobody():
    """Few requests, or a rejection on another cluster, say nothing of what is measured."""
    quiet = {place(n): replace(made(Verdict.HOLD), fails=False) for n in range(9)}
    given = quiet | {place(10): made(Verdict.ROLLBACK)}
    assert broken(rules(), given, 10) == given


def test_nothing_moves_then_but_what_helps_those_who_call():
    given = decisions(rollback=5, advance=1, start=1, park=1, revive=1, wait=1, **{"return": 1})
    found = broken(rules(), given, 100)
    acting = sorted(str(d.verdict) for d in found.values() if d.move is not None)
    assert acting == ["return", "revive"]
    frozen = [d for d in found.values() if d.verdict is Verdict.FROZEN]
    assert all("what is measured is doubted" in d.reason and "because" in d.reason for d in frozen)


def test_what_takes_away_takes_turns():
    found = broken(rules(), decisions(park=5, remove=2, advance=4), 11)
    taken = [d for d in found.values() if d.verdict in (Verdict.PARK, Verdict.REMOVE)]
    assert len(taken) == 3
    assert sum(1 for d in found.values() if d.verdict is Verdict.ADVANCE) == 4
    assert [d.verdict for d in found.values()][:3] == [Verdict.PARK] * 3


def test_what_takes_away_takes_a_unit_on_all_clusters_at_once():
    given = {place(n, f"c{c}"): made(Verdict.PARK, rolling=False) for n in range(5) for c in (1, 2)}
    found = broken(rules(), given, 5)
    taken = [where for where, d in found.items() if d.verdict is Verdict.PARK]
    assert sorted(taken) == [place(n, f"c{c}") for c in (1, 2) for n in range(3)]


def test_large_environments_take_more_away_at_once():
    found = broken(rules(), decisions(park=50), 200)
    assert sum(1 for d in found.values() if d.verdict is Verdict.PARK) == 40


def test_the_limits_are_settings():
    tight = rules(breaker={"units": 1, "percent": 1})
    assert tripped(tight, decisions(rollback=2, wait=50))
    loose = rules(breaker={"units": 100})
    assert not tripped(loose, decisions(rollback=80))
