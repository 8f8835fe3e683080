"""One check of a version: what its requests prove, so far.

It passes on enough requests that went well, and fails as soon as what went wrong cannot be chance;
few requests are enough for that. Everything between proves nothing, and neither moves the version
on nor takes it back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from gati_gitops.decide.clocks import Tally, VersionClock
from gati_gitops.decide.observation import EdgeSeries, Gap, Missing
from gati_gitops.decide.rules import Rules
from gati_gitops.decide.stats import RARER, least, most, proves_more
from gati_gitops.decide.traffic import added, stretch
from gati_gitops.decide.verdict import Fact
from gati_gitops.decide.view import Sight, Unit
from gati_gitops.decide.words import percent, some, span

EARLY = 0.9
"""A check may come so much of its interval early: passes are never quite on time."""


class Outcome(Enum):
    PASSED = "passed"
    FAIL = "failed"
    TOO_FEW = "too few requests"
    UNPROVED = "proved nothing"
    UNSEEN = "saw nothing"
    ERROR = "could not be made"


@dataclass(frozen=True, slots=True)
class Check:
    """What a look at a version's requests gave."""

    outcome: Outcome
    why: str
    facts: tuple[Fact, ...]
    clock: VersionClock


def check(unit: Unit, sight: Sight, clock: VersionClock, beside: Sight | None) -> Check:
    """Judge a version by all requests of its step; ``beside``: the version to compare it with."""
    clock, missing = _counted(unit, sight, clock, beside)
    said = sight.telemetry
    # probes and whoever goes past the gateway are no proof of what its share of the traffic does
    sure = clock.tally.requests - clock.tally.born
    if not isinstance(said, Missing) and isinstance(said.edge, EdgeSeries):
        sure = min(sure, clock.tally.edge)
    facts = _facts(unit.rules, clock, beside, sure)
    # between two checks more is counted, and no check counts twice
    due = unit.now - clock.checked >= EARLY * unit.rules.interval
    if missing is not None:
        # what the gateway saw fail did fail, though the pods cannot tell of it
        outcome, why = _failed(unit.rules, clock) or (
            Outcome.ERROR if missing.gap is Gap.ERROR else Outcome.UNSEEN,
            str(missing),
        )
        facts += (Fact("metrics", str(missing), "all of them", ok=False, source=missing.source),)
    else:
        outcome, why = _outcome(unit.rules, clock, facts, sure)
    return Check(outcome, why, facts, _checked(clock, outcome, unit.now) if due else clock)


def _checked(clock: VersionClock, outcome: Outcome, now: float) -> VersionClock:
    failed = outcome is Outcome.FAIL
    unsure = outcome in (Outcome.UNPROVED, Outcome.UNSEEN)
    until, mark = clock.tally.until, clock.tally.sent_until
    return clock._replace(
        checked=now,
        recent=Tally(until, until, sent_until=mark),
        failed=clock.failed + 1 if failed else 0,
        failed_in_step=clock.failed_in_step + failed,
        inconclusive=clock.inconclusive + 1 if unsure else 0,
        errors=clock.errors + 1 if outcome is Outcome.ERROR else 0,
    )


# -- counting ------------------------------------------------------------------------------------


def _counted(
    unit: Unit, sight: Sight, clock: VersionClock, beside: Sight | None
) -> tuple[VersionClock, Missing | None]:
    """Add what came since the last look; or why that is not known."""
    said = sight.telemetry
    if isinstance(said, Missing):
        return clock, said
    if not clock.tally.since:
        # the first scrape that shows nothing of the step before
        begun = said.window.at + said.window.scrape
        tally = Tally(begun, begun, sent_until=said.window.at)
        clock = clock._replace(tally=tally, recent=tally, checked=unit.now, baseline=tally)
        return clock, None
    clock, missing = _own(unit, sight, clock)
    if missing is None and beside is not None:
        clock, missing = _beside(unit, beside, clock)
    return clock, missing


def _own(unit: Unit, sight: Sight, clock: VersionClock) -> tuple[VersionClock, Missing | None]:
    said = sight.telemetry
    assert not isinstance(said, Missing)
    found = stretch(said, sight.workload, clock.tally, unit.rules.latency)
    if isinstance(found.counted, Missing):
        tally = _with_edge(_passed_over(clock.tally, found.until, torn=found.torn), *found.edge)
        recent = _with_edge(_passed_over(clock.recent, found.until, torn=found.torn), *found.edge)
        return clock._replace(tally=tally, recent=recent), found.counted
    tally, recent = added(clock.tally, found.counted), added(clock.recent, found.counted)
    return clock._replace(tally=tally, recent=recent), None


def _beside(unit: Unit, beside: Sight, clock: VersionClock) -> tuple[VersionClock, Missing | None]:
    said = beside.telemetry
    if isinstance(said, Missing):
        return clock, replace(said, why=f"{beside.id}, to compare with: {said.why}")
    found = stretch(said, beside.workload, clock.baseline, unit.rules.latency)
    if isinstance(found.counted, Missing):
        baseline = _passed_over(clock.baseline, found.until, torn=found.torn)
        why = f"{beside.id}, to compare with: {found.counted.why}"
        return clock._replace(baseline=baseline), replace(found.counted, why=why)
    return clock._replace(baseline=added(clock.baseline, found.counted)), None


def _passed_over(tally: Tally, until: float, *, torn: bool) -> Tally:
    """A stretch that counts for nothing, not even as time; a hole lets counting begin anew."""
    if torn:
        return Tally(until, until, sent_until=tally.sent_until)
    return tally._replace(since=tally.since + until - tally.until, until=until)


def _with_edge(tally: Tally, requests: int, failures: int) -> Tally:
    return tally._replace(edge=tally.edge + requests, edge_failures=tally.edge_failures + failures)


# -- judging -------------------------------------------------------------------------------------


def _outcome(
    rules: Rules, clock: VersionClock, facts: tuple[Fact, ...], sure: int
) -> tuple[Outcome, str]:
    tally = clock.tally
    if failed := _failed(rules, clock):
        return failed
    if sure < rules.min_requests:
        short = f"{some(sure, 'request')} of {rules.min_requests}{ours_among(sure, tally)}"
        if tally.requests - tally.born >= rules.min_requests:
            short += f" by the gateway's count, {tally.requests} by the pods' own"
        return Outcome.TOO_FEW, short
    bad = next((fact for fact in facts if fact.ok is False), None)
    if bad is not None:
        return Outcome.UNPROVED, str(bad)
    return Outcome.PASSED, ""


def _failed(rules: Rules, clock: VersionClock) -> tuple[Outcome, str] | None:
    """What went wrong beyond chance, and lately."""
    tally, recent = clock.tally, clock.recent
    for name, wrong, total, limit in _shares(rules, tally):
        _, new, of, _ = next(row for row in _shares(rules, recent) if row[0] == name)
        lately = proves_more(new, of, limit, RARER)
        if lately or (new and proves_more(wrong, total, limit)):
            worst = max((wrong, total), (new, of), key=lambda pair: least(*pair))
            return Outcome.FAIL, (
                f"{worst[0]} of {some(worst[1], 'request')} {name},"
                f" at least {percent(least(*worst))} (wanted <= {percent(limit)})"
            )
    return None


def _shares(rules: Rules, tally: Tally) -> tuple[tuple[str, int, int, float], ...]:
    return (
        ("failed", tally.failures, tally.requests, rules.max_errors),
        ("failed at the gateway", tally.edge_failures, tally.edge, rules.max_errors),
        ("were slow", tally.slow, tally.timed, rules.max_slow),
        ("of our own failed", tally.sent_failures, tally.sent, rules.max_errors),
    )


def _facts(rules: Rules, clock: VersionClock, beside: Sight | None, sure: int) -> tuple[Fact, ...]:
    tally = clock.tally
    own = tally.requests - tally.born
    covered = tally.until - tally.since if tally.since else 0.0
    found = [
        Fact(
            "requests",
            f"{sure}{ours_among(sure, tally)}",
            f">= {rules.min_requests}",
            ok=sure >= rules.min_requests,
        ),
        Fact("measured for", span(covered), f">= {span(rules.step_for)}"),
        _share("failed", tally.failures, max(own, tally.failures), rules.max_errors),
        _slow(rules, tally),
    ]
    if tally.edge:
        found.append(
            _share("failed at the gateway", tally.edge_failures, tally.edge, rules.max_errors)
        )
    if tally.sent:
        found.append(_share("failed of our own", tally.sent_failures, tally.sent, rules.max_errors))
    if beside is not None:
        found += _compared(rules, clock, beside)
    return tuple(found)


def ours_among(requests: int, tally: Tally) -> str:
    """How many of so many requests we have sent ourselves, to be told beside their number."""
    own = min(requests, tally.sent)
    return f" ({own} of them our own)" if own > 0 else ""


def _share(name: str, wrong: int, total: int, limit: float) -> Fact:
    share = wrong / total if total else 0.0
    return Fact(name, f"{percent(share)} of {total}", f"<= {percent(limit)}", ok=share <= limit)


def _slow(rules: Rules, tally: Tally) -> Fact:
    name = f"slower than {rules.latency * 1000:.0f} ms"
    if tally.timed:
        return _share(name, tally.slow, tally.timed, rules.max_slow)
    return Fact(name, "not measured", f"<= {percent(rules.max_slow)}", ok=not tally.requests)


def _compared(rules: Rules, clock: VersionClock, beside: Sight) -> list[Fact]:
    """It must not be worse than what it is to replace."""
    tally, base = clock.tally, clock.baseline
    if not base.requests:
        return [Fact(f"compared with {beside.id}", "it had no requests", "some", ok=False)]
    sure = max(tally.requests - tally.born, tally.failures, 1)
    share, other = tally.failures / sure, base.failures / base.requests
    found = [
        Fact(
            f"failed more than {beside.id}",
            f"{percent(share)} against {percent(other)}",
            f"<= {rules.max_drop * 100:g} points more",
            ok=share - other <= rules.max_drop,
        )
    ]
    if base.timed and tally.timed:
        slow, slow_other = tally.slow / tally.timed, base.slow / base.timed
        # few are slow, so the numbers are small: only what cannot be chance counts as worse
        worse = slow > rules.max_slow_ratio * slow_other and proves_more(
            tally.slow, tally.timed, rules.max_slow_ratio * most(base.slow, base.timed)
        )
        found.append(
            Fact(
                f"slower than {beside.id}",
                f"{percent(slow)} against {percent(slow_other)}",
                f"<= {rules.max_slow_ratio:g} times as many",
                ok=not worse,
            )
        )
    return found
