"""What a pass decided, for people and for programs: a line for each unit, or all of one.

On a terminal the table fits its width: a reason that is too long is cut, never wrapped; all of it
stands where one unit is explained. Clusters of an environment on which the same was decided for the
same reason share a line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gati_gitops.decide.clocks import Tally, VersionClock
from gati_gitops.decide.verdict import ACTS, Decision, Fact, Verdict
from gati_gitops.decide.words import span
from gati_gitops.publish.pulls import Pull
from gati_gitops.reconcile.commit import Batch
from gati_gitops.reconcile.evidence import Judged, decision_data, moment
from gati_gitops.reconcile.run import Passed
from gati_gitops.report.clean import neutral, safe

FORMAT = 1
HEADINGS = ("UNIT", "ENV", "CLUSTERS", "VERDICT", "REASON")
_GAP, _LEAST = "  ", 20
_COLOURS = {
    Verdict.ROLLBACK: "1;31",
    Verdict.HOLD: "1;31",
    Verdict.ERROR: "31",
    Verdict.HELD: "33",
    Verdict.FROZEN: "33",
    Verdict.INCONCLUSIVE: "33",
    Verdict.WAIT: "36",
    Verdict.STEADY: "2",
}
_ACTS = "1;32"

Row = tuple[str, str, str, str, str]


# -- for programs --------------------------------------------------------------------------------


def pass_data(passed: Passed, *, dry_run: bool) -> dict[str, Any]:
    """Everything, with a format number."""
    return {
        "format": FORMAT,
        "branch": passed.branch,
        "commit": passed.tip,
        "written": any(commit for *_, commit in passed.steps),
        "dryRun": dry_run,
        "decisions": [decision_data(one) for one in passed.judged],
        "commits": [
            {
                "commit": commit,
                "environment": step.environment,
                "message": step.message,
                "units": _units(batch),
            }
            for step, batch, commit in passed.steps
        ],
        "offers": [
            {"environment": one.batch.environment, "message": one.offer.step.message}
            for one in passed.proposal.offers
        ],
        "pullRequests": [
            {"branch": p.branch, "outcome": p.outcome, "url": p.url, "why": p.why}
            for p in passed.pulls
        ],
        "failures": [
            {"source": f.source, "why": f.why, "environment": f.environment, "cluster": f.cluster}
            for f in passed.failures
        ],
        "notes": list(passed.notes),
        "attempts": passed.attempts,
    }


def _units(batch: Batch | None) -> list[str]:
    return sorted({one.unit for one in batch.decided}) if batch is not None else []


# -- for people ----------------------------------------------------------------------------------


def table_lines(
    judged: Sequence[Judged], *, width: int = 0, colour: bool = False, quiet: bool = False
) -> list[str]:
    """A line for each unit; ``width`` 0 means that nobody minds long lines.

    ``quiet`` leaves out units about which there is nothing to decide.
    """
    shown = [one for one in judged if not quiet or one.decision.verdict is not Verdict.STEADY]
    rows = [(row, verdict) for row, verdict in _rows(shown)]
    if not rows:
        return []
    cells = [HEADINGS, *(row for row, _ in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    rest = max(_LEAST, width - sum(widths) - 4 * len(_GAP)) if width else 0
    lines = [_painted(_line(HEADINGS, widths, rest), "1", colour)]
    for row, verdict in rows:
        paint = _ACTS if verdict in ACTS else ""
        lines.append(_line(row, widths, rest, _COLOURS.get(verdict, paint) if colour else ""))
    return lines


def _rows(judged: Iterable[Judged]) -> Iterator[tuple[Row, Verdict]]:
    alike: dict[tuple[str, str, Verdict, str], list[str]] = {}
    for one in sorted(judged, key=lambda one: (one.unit, one.where)):
        env, cluster, _ = one.where
        key = (one.unit, env, one.decision.verdict, one.decision.reason)
        alike.setdefault(key, []).append(cluster)
    for (unit, env, verdict, reason), clusters in alike.items():
        where = neutral(", ".join(clusters))
        yield (neutral(unit), neutral(env), where, str(verdict), safe(reason)), verdict


def _line(row: Row, widths: Sequence[int], rest: int, paint: str = "") -> str:
    cells = [cell.ljust(size) for cell, size in zip(row[:4], widths, strict=True)]
    if paint:
        cells[3] = _painted(cells[3], paint, True)
    reason = row[4] if not rest or len(row[4]) <= rest else f"{row[4][: rest - 1]}…"
    return _GAP.join([*cells, reason]).rstrip()


def _painted(text: str, paint: str, colour: bool) -> str:
    return f"\x1b[{paint}m{text}\x1b[0m" if colour and paint else text


def written_lines(passed: Passed) -> Iterator[str]:
    """What became of the decisions."""
    for step, _, commit in passed.steps:
        yield safe(f"{commit[:12] or 'would commit'}  {step.message.partition(chr(10))[0]}")
    if not passed.pulls:
        for one in passed.proposal.offers:
            yield safe(f"to approve    {one.offer.step.message.partition(chr(10))[0]}")
    for pull in passed.pulls:
        yield _pull(pull)


def _pull(pull: Pull) -> str:
    why = f": {pull.why}" if pull.why else ""
    return safe(f"{pull.outcome}  {pull.url or pull.branch}{why}")


def summary(passed: Passed, *, dry_run: bool) -> str:
    """One line about all of it."""
    units = len({one.where[2] for one in passed.judged})
    acted = [one for one in passed.judged if one.decision.move is not None]
    held = sum(one.decision.verdict is Verdict.HELD for one in passed.judged)
    would = "to decide" if dry_run else "decided"
    parts = [f"{units} unit{'s' * (units != 1)}", f"{len(acted)} {would}", f"{held} held"]
    if passed.failures:
        parts.append(f"{len(passed.failures)} not seen")
    return f"{', '.join(parts)}, at {passed.tip[:12]} of {passed.branch}"


# -- all of one unit -----------------------------------------------------------------------------


def explain_lines(judged: Sequence[Judged], now: float, *, colour: bool = False) -> Iterator[str]:
    """Every fact, what was asked of it, where it came from, and the clocks."""
    for number, one in enumerate(judged):
        if number:
            yield ""
        yield from _explained(one, now, colour)


def _explained(one: Judged, now: float, colour: bool) -> Iterator[str]:
    env, cluster, _ = one.where
    decision = one.decision
    yield _painted(f"{neutral(one.unit)} in {env} on {cluster}", "1", colour)
    yield f"  {_verdict(decision.verdict, colour)}"
    yield from _wrapped(decision.reason, "    ")
    yield from _ages(decision, now)
    yield from (f"    {line}" for fact in decision.facts for line in _fact(fact, colour))
    stored = one.stored
    ledger = stored.ledger if stored is not None else None
    if ledger is not None:
        yield f"    ledger {ledger.seq}, target {neutral(ledger.target) or '-'}"
    entries = {entry.id: entry for entry in ledger.entries} if ledger is not None else {}
    for finding in decision.findings:
        entry = entries.get(finding.version)
        phase = f" ({entry.phase} at {entry.weight} %)" if entry is not None else ""
        verdict = _verdict(finding.verdict, colour)
        yield f"  version {neutral(finding.version)}{phase}: {verdict}"
        yield from _wrapped(finding.reason, "    ")
        yield from (f"    {line}" for fact in finding.facts for line in _fact(fact, colour))
        if entry is not None:
            yield from _clock(one.clock.of(*entry.key), now)


def _verdict(verdict: Verdict, colour: bool) -> str:
    return _painted(str(verdict), _COLOURS.get(verdict, _ACTS), colour)


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        safe(text), 96, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _ages(decision: Decision, now: float) -> Iterator[str]:
    if decision.seen_at:
        yield f"    seen {span(max(0.0, now - decision.seen_at))} ago"
    if decision.best_before:
        yield f"    good until {moment(decision.best_before)}"


def _fact(fact: Fact, colour: bool) -> Iterator[str]:
    mark = {True: _painted("+", "32", colour), False: _painted("-", "31", colour), None: " "}
    wanted = f" (wanted {fact.wanted})" if fact.wanted else ""
    source = f" [{fact.source}]" if fact.source else ""
    yield f"{mark[fact.ok]} {safe(f'{fact.name}: {fact.value}{wanted}{source}')}"


_SINCE = {
    "known": "known", "since": "in this phase", "shown": "shown by the cluster", "ready": "ready",
    "unready": "not ready", "crashing": "crashing", "checked": "checked", "out": "out of service",
    "quiet": "quiet", "passed": "last found quiet", "pinned": "last named", "active": "Active",
}  # fmt: skip
_COUNTS = {
    "failed": "checks failed in a row", "failed_in_step": "checks failed in this step",
    "inconclusive": "checks without an answer", "errors": "checks that could not be made",
    "passes": "looks that found it quiet",
}  # fmt: skip


def _clock(clock: VersionClock, now: float) -> Iterator[str]:
    times = [
        f"{words} {span(now - value)}"
        for name, words in _SINCE.items()
        if (value := getattr(clock, name))
    ]
    counts = [
        f"{value} {words}" for name, words in _COUNTS.items() if (value := getattr(clock, name))
    ]
    if times:
        yield from _wrapped(f"clocks: {', '.join(times)}", "    ")
    if counts:
        yield from _wrapped(f"counted: {', '.join(counts)}", "    ")
    if clock.tally != Tally():
        tally = clock.tally
        yield f"    in this step: {tally.requests} requests, {tally.failures} failed"
