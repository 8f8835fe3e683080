"""What a decision rests on: a line in the commit, and all of it in the note on the commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.clocks import UnitClock
from gati_gitops.decide.observation import Observation
from gati_gitops.decide.verdict import Decision, Fact, Finding, Move, Verdict
from gati_gitops.ledger.stored import Stored
from gati_gitops.publish.message import line
from gati_gitops.publish.places import unit_id

FORMAT = 1
NOTES = "refs/notes/gati-evidence"
"""`git log --notes=gati-evidence` shows them."""
LINES = 20
"""So many decisions have a line of their own in a commit."""
_LONG = 300


@dataclass(frozen=True, slots=True)
class Judged:
    """What was decided about one unit on one cluster, and from what."""

    where: Where
    decision: Decision
    clock: UnitClock
    stored: Stored | None = None
    """None: what is stored of it cannot be read."""
    seen: Observation | None = None

    @property
    def unit(self) -> str:
        return str(unit_id(self.where[2]))

    @property
    def seq(self) -> int:
        ledger = self.stored.ledger if self.stored is not None else None
        return ledger.seq if ledger is not None else 0


def deed(unit: str, move: Move) -> str:
    """What a move does, as the subject of a commit says it."""
    version = move.version
    match move.verdict:
        case Verdict.ADVANCE if move.weight:
            return f"shift {unit} {version} to {move.weight} %"
        case Verdict.ROLLBACK:
            return f"roll back {unit} {version}"
        case Verdict.RETURN:
            return f"return {unit} to {version}"
        case Verdict.RETIRE:
            return f"remove {unit}"
        case Verdict.HAND_OVER:
            return f"hand the pods of {unit} {version} to its scaler"
        case Verdict.ABSORB:
            return f"hold {unit} as a person left it"
        case Verdict.HOLD:
            return f"hold {unit}"
        case Verdict.ADVANCE:
            return f"release {unit} {version}"
        case _:
            return f"{move.verdict} {unit} {version}"


def evidence_lines(decided: Sequence[Judged]) -> tuple[str, ...]:
    """A line for each decision, and how many have none."""
    lines = [_line(one) for one in decided[:LINES]]
    if (more := len(decided) - LINES) > 0:
        lines.append(f"and of {more} more, in the note {NOTES}")
    return tuple(lines)


def _line(one: Judged) -> str:
    move = one.decision.move
    what = deed(one.unit, move) if move is not None else f"{one.decision.verdict} {one.unit}"
    return line(f"{what} on {one.where[1]}: {one.decision.reason}", _LONG)


def evidence_note(decided: Iterable[Judged]) -> bytes:
    """All of it, for programs; what people wrote is harmless by then."""
    data = {"format": FORMAT, "decisions": [decision_data(one) for one in decided]}
    return json.dumps(data, indent=1, ensure_ascii=False).encode() + b"\n"


def decision_data(one: Judged) -> dict[str, Any]:
    """One decision as data."""
    env, cluster, (namespace, _) = one.where
    decision = one.decision
    data: dict[str, Any] = {
        "unit": one.unit,
        "namespace": namespace,
        "environment": env,
        "cluster": cluster,
        "seq": one.seq,
        "verdict": str(decision.verdict),
        "reason": line(decision.reason),
    }
    if decision.move is not None:
        data["move"] = _move_data(decision.move)
    if decision.seen_at:
        data["seenAt"] = moment(decision.seen_at)
    if decision.best_before:
        data["bestBefore"] = moment(decision.best_before)
    data["facts"] = [_fact_data(fact) for fact in decision.facts]
    data["versions"] = [_finding_data(finding) for finding in decision.findings]
    return data


def _move_data(move: Move) -> dict[str, Any]:
    data = {
        "verdict": str(move.verdict),
        "version": move.version,
        "digest": move.digest,
        "weight": move.weight,
        "floor": move.floor,
        "seconds": move.seconds,
        "weights": dict(move.weights),
        "reason": line(move.reason),
    }
    return {name: value for name, value in data.items() if value}


def _finding_data(finding: Finding) -> dict[str, Any]:
    return {
        "version": finding.version,
        "verdict": str(finding.verdict),
        "reason": line(finding.reason),
        "facts": [_fact_data(fact) for fact in finding.facts],
    }


def _fact_data(fact: Fact) -> dict[str, Any]:
    data: dict[str, Any] = {"name": fact.name, "value": line(fact.value)}
    if fact.wanted:
        data["wanted"] = line(fact.wanted)
    if fact.ok is not None:
        data["ok"] = fact.ok
    if fact.source:
        data["source"] = line(fact.source)
    return data


def moment(seconds: float) -> str:
    """A time for programs and people alike."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
