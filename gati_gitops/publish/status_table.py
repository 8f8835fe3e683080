"""Where units stand, as data for programs and as a table for people.

Clusters of an environment on which a unit stands alike share their lines. On a terminal the table
fits its width: what is too long is cut, never wrapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from gati_gitops.ledger.model import Entry, Phase
from gati_gitops.publish.status import HOLD, Since, Standing
from gati_gitops.report.clean import neutral, safe

FORMAT = 1
HEADINGS = ("UNIT", "ENV", "CLUSTERS", "VERSION", "PHASE", "WEIGHT", "SINCE")
_PHASE, _CUT = 4, (0, 2, 3)
_GAP = "  "
_LEAST = 12
"""No column is cut below this."""
_COLOURS = {
    Phase.PENDING: "33",
    Phase.STARTING: "36",
    Phase.CANARY: "1;33",
    Phase.ACTIVE: "32",
    Phase.DRAINING: "34",
    Phase.PARKED: "2",
    Phase.REMOVED: "2",
    Phase.REJECTED: "31",
}
_BOLD, _RED = "1", "1;31"

Row = tuple[str, ...]


def status_data(rows: Iterable[Standing], branch: str, commit: str) -> dict[str, Any]:
    """Everything, with a format number."""
    return {
        "format": FORMAT,
        "branch": branch,
        "commit": commit,
        "units": [_unit_data(row) for row in rows],
    }


def _unit_data(row: Standing) -> dict[str, Any]:
    ledger, held = row.ledger, row.since.get(HOLD)
    return {
        "unit": str(row.unit),
        "namespace": row.unit.namespace,
        "kind": row.unit.kind,
        "name": row.unit.name,
        "environment": row.environment,
        "cluster": row.cluster,
        "seq": ledger.seq,
        "target": ledger.target,
        "hold": ledger.hold,
        "held": _since_data(held) if ledger.hold else None,
        "retiring": ledger.retiring,
        "problem": row.problem,
        "versions": [
            {
                "id": entry.id,
                "phase": str(entry.phase),
                "weight": entry.weight,
                "digest": entry.digest,
                "rejected": entry.barred,
                "floor": entry.floor,
                "proved": entry.proved,
                "overtaken": entry.overtaken > 0,
                "since": _since_data(row.since_of(entry)),
            }
            for entry in ledger.entries
        ],
    }


def _since_data(since: Since | None) -> dict[str, Any] | None:
    if since is None:
        return None
    when = datetime.fromtimestamp(since.time, UTC).isoformat().replace("+00:00", "Z")
    return {"time": when, "commit": since.commit, "exact": since.exact}


# -- for people ----------------------------------------------------------------------------------


def status_lines(
    rows: Sequence[Standing], now: float, *, width: int = 0, colour: bool = False
) -> list[str]:
    """A table; ``width`` 0 means that nobody minds long lines."""
    table = [line for item in _together(rows) for line in _rows(*item, now)]
    table = list(_once(table))
    cells = [HEADINGS, *(row for row, _ in table if len(row) > 1)]
    widths = _widths(cells, width)
    lines = [_painted(_line(HEADINGS, widths), _BOLD, colour)]
    for row, paint in table:
        if len(row) > 1:
            lines.append(_line(row, widths, paint if colour else ""))
        else:
            indent = sum(widths[:3]) + 3 * len(_GAP)
            text = " " * indent + row[0]
            lines.append(_painted(_cut(text, width or len(text)), paint, colour))
    return lines


def _together(rows: Sequence[Standing]) -> list[tuple[Standing, list[str]]]:
    """Clusters of an environment on which a unit stands alike."""
    found: list[tuple[Standing, list[str]]] = []
    for _, group in groupby(rows, key=lambda row: (row.unit, row.environment)):
        alike: list[tuple[Standing, list[str]]] = []
        for row in group:
            same = next((names for other, names in alike if _said(other) == _said(row)), None)
            if same is None:
                alike.append((row, [row.cluster]))
            else:
                same.append(row.cluster)
        found += alike
    return found


def _said(row: Standing) -> tuple[object, ...]:
    """What the table says of a unit on a cluster."""
    ledger = row.ledger
    times = {part: (since.time, since.exact) for part, since in row.since.items()}
    return (row.problem, ledger.hold, ledger.retiring, ledger.entries, times)


def _once(table: Iterable[tuple[Row, str]]) -> Iterable[tuple[Row, str]]:
    """The name of a unit on its first line only."""
    last = ""
    for row, paint in table:
        repeated = len(row) > 1 and row[0] in ("", last)
        last = last if repeated or len(row) == 1 else row[0]
        yield (("", *row[1:]), paint) if repeated else (row, paint)


def _rows(row: Standing, clusters: list[str], now: float) -> Iterable[tuple[Row, str]]:
    head = (neutral(str(row.unit)), neutral(row.environment), neutral(", ".join(clusters)))
    if row.problem:
        yield (*head, "-", "unreadable", "-", "-"), _RED
        yield (safe(row.problem),), _RED
        return
    for entry in row.ledger.entries:
        weight = "-" if row.unit.kind == "module" else str(entry.weight)
        age = _age(row.since_of(entry), now)
        yield (*head, neutral(entry.id), _phase(entry), weight, age), _COLOURS[entry.phase]
        head = ("", "", "")
    if not row.ledger.entries:
        yield (*head, "-", "-", "-", "-"), ""
    if row.ledger.retiring:
        yield ("retiring: its specs are gone",), _COLOURS[Phase.DRAINING]
    if row.ledger.hold:
        since = row.since.get(HOLD)
        ago = f" (since {_age(since, now)})" if since is not None else ""
        yield (f"held: {safe(row.ledger.hold)}{ago}",), _RED


def _phase(entry: Entry) -> str:
    bad = entry.barred and entry.phase is not Phase.REJECTED
    return f"{entry.phase}{' (rejected)' * bad}{' (paused)' * entry.paused}"


def _age(since: Since | None, now: float) -> str:
    if since is None:
        return "-"
    seconds = max(0, int(now - since.time))
    units = ((86400, "d"), (3600, "h"), (60, "m"))
    text = next((f"{seconds // size}{unit}" for size, unit in units if seconds >= size), "now")
    return text if since.exact else f">{text}"


def _widths(cells: Sequence[Row], width: int) -> list[int]:
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADINGS))]
    while width and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        longest = max(_CUT, key=lambda column: widths[column])
        if widths[longest] <= _LEAST:
            break
        widths[longest] -= 1
    return widths


def _line(row: Row, widths: Sequence[int], paint: str = "") -> str:
    cells = [_cut(cell, size).ljust(size) for cell, size in zip(row, widths, strict=True)]
    if paint:
        cells[_PHASE] = _painted(cells[_PHASE], paint, True)
    return _GAP.join(cells).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(0, width - 1)]}…"


def _painted(text: str, paint: str, colour: bool) -> str:
    return f"\x1b[{paint}m{text}\x1b[0m" if colour and paint else text
