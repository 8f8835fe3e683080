"""Rules that people write first, so that the harness can show what it finds in them.

``zero``: no data is no traffic and no errors, as with ``or vector(0)``. ``hold``: no data is a
reason to wait. ``thrice``: beside that, three looks in a row, and nothing in flight. All of them take
what is there at its word: they ask neither how much of the truth a look covers nor how old it is.
"""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.decide.clocks import UnitClock, VersionClock
from gati_gitops.decide.observation import Live, Missing, Telemetry
from gati_gitops.decide.verdict import Decision, Move, Verdict
from gati_gitops.ledger.model import Phase

WAITS = Decision(Verdict.WAIT, "")


def zero(rules, stored, seen, clock, now, around):
    return _decide(rules, stored, seen, clock, now, empty_is_zero=True, passes=1, in_flight=False)


def hold(rules, stored, seen, clock, now, around):
    return _decide(rules, stored, seen, clock, now, empty_is_zero=False, passes=1, in_flight=False)


def thrice(rules, stored, seen, clock, now, around):
    return _decide(rules, stored, seen, clock, now, empty_is_zero=False, passes=3, in_flight=True)


NAIVE = {"or vector(0)": zero, "hold on empty": hold, "3 looks and in-flight": thrice}


def _decide(rules, stored, seen, clock, now, *, empty_is_zero, passes, in_flight):
    ledger = stored.ledger
    stamp = str(ledger.seq)
    if clock.stamp != stamp:
        clock = UnitClock(stamp, {e.id: VersionClock(since=now) for e in ledger.entries})
    if ledger.hold:
        return WAITS, clock
    how = (empty_is_zero, in_flight)
    for entry in ledger.entries:
        if entry == ledger.rolling:
            move = _comes(rules, stored, seen, entry, clock.versions[entry.id], now, how)
        elif entry.phase in (Phase.DRAINING, Phase.REJECTED, Phase.PARKED) or ledger.retiring:
            move = _goes(rules, stored, seen, entry, clock.versions[entry.id], now, how)
        else:
            continue
        mine = clock.versions[entry.id]
        mine = mine._replace(passes=mine.passes + 1 if move is not None else 0)
        clock = replace(clock, versions={**clock.versions, entry.id: mine})
        if move is not None and mine.passes >= passes:
            return Decision(move.verdict, "", move=move), clock
    return WAITS, clock


def _comes(rules, stored, seen, entry, clock, now, how):
    found = _workload(stored, seen, entry)
    if found is None or not found.ready:
        return None
    if entry.weight:
        good, bad = _counted(stored, seen, entry, how)
        if good is None:
            return None
        total = good + bad
        if total and bad / total > rules.max_errors:
            return Move(Verdict.ROLLBACK, entry.id, entry.digest)
        if now - clock.since < rules.step_for:
            return None
    if stored.ledger.returning is not None:
        return Move(Verdict.RETURN, entry.id, entry.digest)
    step = next((step for step in rules.steps if step > entry.weight), 100)
    verdict = Verdict.ACTIVATE if step == 100 else Verdict.ADVANCE
    return Move(verdict, entry.id, entry.digest, weight=step)


def _goes(rules, stored, seen, entry, clock, now, how):
    if entry.phase is Phase.PARKED:
        if now - clock.since < rules.park_for:
            return None
        verdict = Verdict.RETIRE if stored.ledger.retiring else Verdict.REMOVE
        return Move(verdict, "" if stored.ledger.retiring else entry.id, entry.digest)
    good, bad = _counted(stored, seen, entry, how)
    if good is None or good + bad > 0 or now - clock.since < rules.grace:
        return None
    if how[1] and _open(stored, seen, entry):
        return None
    return Move(Verdict.PARK, entry.id, entry.digest)


def _workload(stored, seen, entry):
    if not isinstance(seen.live, Live):
        return None
    return seen.live.workloads.get(stored.plan.version(*entry.key).name)


def _told(stored, seen, entry):
    if isinstance(seen.telemetry, Missing):
        return None
    found = seen.telemetry.get(stored.plan.version(*entry.key).name)
    return found if isinstance(found, Telemetry) else None


def _counted(stored, seen, entry, how):
    """Answers that were good and bad: the last sample less the first."""
    told = _told(stored, seen, entry)
    series = [s for pod in told.pods.values() for s in pod.requests] if told is not None else []
    if not series:
        return (0, 0) if how[0] else (None, None)
    good = bad = 0.0
    for one in series:
        more = one.values[-1] - one.values[0]
        if dict(one.labels)["status_code"].startswith("5"):
            bad += more
        else:
            good += more
    return good, bad


def _open(stored, seen, entry):
    told = _told(stored, seen, entry)
    gauges = [pod.in_flight for pod in told.pods.values() if pod.in_flight is not None]
    return any(gauge.values[-1] > 0 for gauge in gauges)
