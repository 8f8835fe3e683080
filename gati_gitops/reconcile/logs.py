"""What the job says to whoever reads its output: a line for every event.

A thousand units that wait are no news. So a decision is told when it does something, when it is not
the one of the last pass, or when everything is asked for; the end of a pass sums up the rest.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Literal, TextIO

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.observation import Observation
from gati_gitops.decide.verdict import ACTS, Decision, Verdict
from gati_gitops.ledger.stored import Stored
from gati_gitops.reconcile.announce import Commit, Listener, Pass
from gati_gitops.redact import redact
from gati_gitops.report.clean import safe

Format = Literal["text", "json"]
Level = Literal["debug", "info", "warning", "error"]
_RANK: dict[Level, int] = {"debug": 0, "info": 1, "warning": 2, "error": 3}
_WARNINGS = frozenset((Verdict.ROLLBACK, Verdict.HOLD, Verdict.ERROR, Verdict.FROZEN))
_QUIET = frozenset((Verdict.STEADY, Verdict.WAIT))
_LONGEST = 2000
"""Of one value; what a server says may be a page."""


class Logs(Listener):
    """Lines of text, or of JSON."""

    def __init__(
        self,
        stream: TextIO,
        format: Format,
        clock: Callable[[], float],
        ids: Callable[[], tuple[str, str]] = lambda: ("", ""),
        level: Level = "info",
    ) -> None:
        self._stream, self._format = stream, format
        self._clock, self._ids = clock, ids
        self._least = _RANK[level]
        self._lock = Lock()
        self._before: dict[Where, Verdict] = {}
        self._now: dict[Where, Verdict] = {}
        self._breakers: dict[str, str] = {}

    # -- what is heard ---------------------------------------------------------------------------

    def started(self, this: Pass) -> None:
        self._now = {}
        self.line("debug", "pass started", number=this.number)

    def decided(
        self, where: Where, decision: Decision, stored: Stored | None, seen: Observation | None
    ) -> None:
        verdict = decision.verdict
        self._now[where] = verdict
        level: Level = "warning" if verdict in _WARNINGS else "info"
        # what was not known of before is taken for what it was
        before = self._before.get(where, verdict if verdict in _QUIET else None)
        if verdict not in ACTS and before == verdict:
            level = "debug"
        env, cluster, key = where
        unit = str(stored.plan.unit) if stored is not None else "/".join(key)
        about = {"env": env, "cluster": cluster, "unit": unit}
        told = {"verdict": str(verdict), "reason": decision.reason}
        self.line(level, "decided", **about, **told)

    def breaker(self, env: str, why: str) -> None:
        if why != self._breakers.get(env, ""):
            self._breakers[env] = why
            level: Level = "error" if why else "info"
            self.line(level, "breaker open" if why else "breaker closed", env=env, reason=why)

    def written(self, commit: Commit) -> None:
        more: dict[str, Any] = {"retries": commit.retries} if commit.retries else {}
        if commit.pull_request:
            more["pull_request"] = commit.pull_request
        what = "offered" if commit.pull_request else "committed"
        self.line("info", what, env=commit.env, commit=commit.id, subject=commit.subject, **more)

    def failed(self, source: str, error: str, env: str, cluster: str) -> None:
        about = {k: v for k, v in (("env", env), ("cluster", cluster)) if v}
        self.line("error", "failed", source=source, **about, reason=error)

    def ended(self, this: Pass, now: float, waiting: int) -> None:
        self._before = self._now
        counts = Counter(str(verdict) for verdict in self._now.values())
        self.line(
            "info",
            "pass ended",
            number=this.number,
            seconds=round(now - this.began, 3),
            units=len(self._now),
            verdicts=dict(sorted(counts.items())),
            waiting=waiting,
        )

    def leads(self, leader: str, ours: bool) -> None:
        self.line("info", "leads" if ours else "follows", leader=leader or "nobody")

    # -- what is said ----------------------------------------------------------------------------

    def line(self, level: Level, message: str, **fields: Any) -> None:
        """One event. Values are cut and cleaned, and secrets are taken out of them."""
        if _RANK[level] < self._least:
            return
        moment = datetime.fromtimestamp(self._clock(), UTC)
        time = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told = {name: _shown(value) for name, value in fields.items()}
        trace, span = self._ids()
        if self._format == "json":
            found = {"time": time, "level": level, "message": message}
            found |= {"trace_id": trace, "span_id": span} if trace else {}
            text = json.dumps({**found, **told}, ensure_ascii=False)
        else:
            text = f"{time} {level:<7} {message}{_words(told)}"
        with self._lock:
            self._stream.write(text + "\n")
            self._stream.flush()


def _shown(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = redact(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _words(fields: dict[str, Any]) -> str:
    """``prod/eu-1 shop/cart advance: it is well`` and what else there is."""
    rest = dict(fields)
    place = "/".join(str(rest.pop(name)) for name in ("env", "cluster") if name in rest)
    unit, verdict = rest.pop("unit", ""), rest.pop("verdict", "")
    reason = rest.pop("reason", "")
    said = " ".join(part for part in (place, unit, verdict) if part)
    more = [f"{name}={value}" for name, value in rest.items()]
    text = " ".join(part for part in (said, *more) if part)
    text = f": {text}" if text else ""
    return safe(f"{text}{': ' + str(reason) if reason else ''}")
