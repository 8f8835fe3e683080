"""What happens to one unit on one cluster in one pass, and why.

Every version is judged by itself; of what they ask for, one thing is done. The order says what
matters more: a person's hand, then the way back, then whoever is called, then progress, then what
can go.
"""

from __future__ import annotations

from dataclasses import replace

from gati_gitops.decide.absorb import absorbed, broken_glass
from gati_gitops.decide.around import Around
from gati_gitops.decide.clocks import UnitClock
from gati_gitops.decide.judged import Judged
from gati_gitops.decide.observation import (
    Engine,
    Gap,
    Live,
    LiveRoute,
    Missing,
    Observation,
    Telemetry,
)
from gati_gitops.decide.rules import Rules
from gati_gitops.decide.shown import route_differs
from gati_gitops.decide.ticking import edition, stamp, ticked
from gati_gitops.decide.verdict import Decision, Fact, Finding, Verdict
from gati_gitops.decide.versions import judged_versions
from gati_gitops.decide.view import Unit, viewed
from gati_gitops.ledger.model import Ledger
from gati_gitops.ledger.stored import Stored, recovered

ORDER = (
    Verdict.ABSORB, Verdict.ROLLBACK, Verdict.HOLD, Verdict.RETURN, Verdict.REVIVE,
    Verdict.ACTIVATE, Verdict.ADVANCE, Verdict.PREPARE, Verdict.START, Verdict.SETTLE,
    Verdict.HAND_OVER, Verdict.PROVE, Verdict.PARK, Verdict.RETIRE, Verdict.REMOVE,
)  # fmt: skip
"""Of several things that could be done, the first is."""
QUIETER = (
    Verdict.ERROR, Verdict.INCONCLUSIVE, Verdict.FROZEN, Verdict.WAIT, Verdict.STEADY,
)  # fmt: skip
"""Where nothing is done, the first says why."""
ALWAYS = frozenset((Verdict.ABSORB, Verdict.ROLLBACK, Verdict.HOLD, Verdict.RETURN, Verdict.REVIVE))
"""What no window stops."""
UNSEEN_LIMIT = 30.0
SCRAPE = 15.0


def decide(
    rules: Rules,
    place: Stored,
    seen: Observation,
    clock: UnitClock,
    now: float,
    around: Around,
) -> tuple[Decision, UnitClock]:
    """The one thing to do, if any, and the clocks as they stand after this look."""
    ledger = place.ledger or recovered(place)
    live = seen.live
    if isinstance(live, Missing):
        return _blind(live, clock)
    unit = viewed(rules, place.plan, ledger, seen, live, clock, now, around)
    state = stamp(ledger)
    unit = _ticked(unit, clock, same=clock.stamp == state)
    found = judged_versions(unit)
    kept = {
        f"{sight.id}@{sight.entry.digest}": judged.clock
        for sight, judged in zip(unit.sights, found, strict=True)
    }
    if (stopped := _by_hand(place, live) or _held(ledger, live)) is not None:
        # who calls meanwhile is remembered, and no step or count of looks goes on from here
        kept = {name: one._replace(passes=0, passed=0.0) for name, one in kept.items()}
        return stopped, UnitClock("", kept, unit.now, edition(live))
    return _decision(unit, found, seen), UnitClock(state, kept, unit.now, edition(live))


def _held(ledger: Ledger, live: Live) -> Decision | None:
    """What a person has frozen does not move."""
    if not (ledger.hold or live.frozen):
        return None
    said = f"a person wants nothing to move: {live.frozen}"
    findings = tuple(
        Finding(entry.id, Verdict.HELD, f"{entry.id} is {entry.phase}, and stays so")
        for entry in ledger.entries
    )
    return Decision(Verdict.HELD, f"held: {ledger.hold}" if ledger.hold else said, findings)


def _by_hand(place: Stored, live: Live) -> Decision | None:
    """What becomes of traffic that a person has taken into their own hands."""
    if not isinstance(live.route, LiveRoute) or not live.route.break_glass:
        return None
    if (move := absorbed(place, live)) is not None:
        reason = f"a person moved the traffic by hand: {move.reason}"
        fresh = live.at + 2 * SCRAPE + UNSEEN_LIMIT
        return Decision(Verdict.ABSORB, reason, move=move, seen_at=live.at, best_before=fresh)
    return Decision(Verdict.HELD, f"the traffic is in a person's hands: {broken_glass(live)}")


def _ticked(unit: Unit, clock: UnitClock, *, same: bool) -> Unit:
    """The unit, with what this look at the cluster tells its clocks."""
    route = route_differs(unit)
    away = unit.now - clock.looked if clock.looked else 0.0
    stirred = bool(clock.edition) and edition(unit.live) not in ("", clock.edition)
    sights = tuple(
        sight.at(ticked(unit, sight, same=same, away=away, route=route, stirred=stirred))
        for sight in unit.sights
    )
    return replace(unit, sights=sights, differs=route)


def _blind(live: Missing, clock: UnitClock) -> tuple[Decision, UnitClock]:
    """Who cannot see the cluster decides nothing."""
    verdict = Verdict.ERROR if live.gap is Gap.ERROR else Verdict.INCONCLUSIVE
    # a look that saw nothing is not one of several in a row that agree
    versions = {name: one._replace(passes=0, passed=0.0) for name, one in clock.versions.items()}
    reason = f"the cluster could not be seen: {live}"
    return Decision(verdict, reason), replace(clock, versions=versions)


def _decision(unit: Unit, found: list[Judged], seen: Observation) -> Decision:
    findings = tuple(
        Finding(sight.id, judged.verdict, judged.reason, judged.facts)
        for sight, judged in zip(unit.sights, found, strict=True)
    )
    facts = _facts(unit)
    rolling = any(judged.rolling for judged in found)
    chosen = min(
        (judged for judged in found if judged.move is not None),
        key=lambda judged: ORDER.index(judged.verdict),
        default=None,
    )
    if chosen is None:
        said = min(found, key=lambda judged: QUIETER.index(judged.verdict), default=None)
        if said is None:
            return Decision(Verdict.STEADY, "there is nothing to decide")
        return Decision(said.verdict, said.reason, findings, facts, rolling=rolling)
    if window := _closed(unit, chosen):
        why = f"{window}: {chosen.verdict} waits. {chosen.reason}"
        return Decision(Verdict.FROZEN, why, findings, facts, rolling=rolling)
    seen_at, scrape = _age(unit, seen)
    return Decision(
        chosen.verdict,
        chosen.reason,
        findings,
        facts,
        move=chosen.move,
        seen_at=seen_at,
        best_before=seen_at + 2 * scrape + UNSEEN_LIMIT,
        rolling=rolling,
        fails=chosen.fails,
    )


def _closed(unit: Unit, chosen: Judged) -> str:
    """The window in which this waits; nothing stops the way back."""
    return "" if chosen.verdict in ALWAYS or chosen.urgent else unit.around.frozen


def _facts(unit: Unit) -> tuple[Fact, ...]:
    """What holds for the unit as a whole."""
    engine, route = unit.live.engine, unit.differs
    state = (
        f"{engine.state} {engine.revision}".strip() if isinstance(engine, Engine) else str(engine)
    )
    return (
        Fact("route", route or "as the ledger has it", "as the ledger has it", ok=not route),
        Fact("sync engine", state),
        _job(unit.around.cannot_write),
        Fact("window", unit.around.frozen or "open", "open", ok=not unit.around.frozen),
    )


def _job(cannot_write: str | None) -> Fact:
    if cannot_write is None:  # a dry run may have other rights, and what does not roll needs none
        return Fact("job", "not asked whether it can write")
    return Fact("job", cannot_write or "can write", "can write", ok=not cannot_write)


def _age(unit: Unit, seen: Observation) -> tuple[float, float]:
    """When the oldest of the evidence was seen, and how often it is scraped."""
    said = seen.telemetry.values() if not isinstance(seen.telemetry, Missing) else ()
    windows = [one.window for one in said if isinstance(one, Telemetry)]
    seen_at = min([unit.live.at, *(window.at for window in windows)])
    return seen_at, max((window.scrape for window in windows), default=SCRAPE)
