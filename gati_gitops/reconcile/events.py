"""Events on what is decided about, for whoever asks `kubectl describe`.

What was done is told once it is committed. Trouble is told when it begins; while it lasts, its one
Event counts on, and is written now and then. Telling costs a pass seconds at most, and a pass never
fails by it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.observation import Observation
from gati_gitops.decide.verdict import Decision, Verdict
from gati_gitops.ledger.stored import Stored
from gati_gitops.observe.kube import Kube
from gati_gitops.plan.naming import shorten
from gati_gitops.reconcile.announce import Commit, Listener, Pass
from gati_gitops.reconcile.gati_objects import GatiObjects, gati_objects
from gati_gitops.redact import redact

API = "events.k8s.io/v1"
CONTROLLER = "gati.dev/gati-gitops"
DONE = frozenset(
    (
        Verdict.START, Verdict.ADVANCE, Verdict.ACTIVATE, Verdict.ROLLBACK, Verdict.RETURN,
        Verdict.PARK, Verdict.REMOVE, Verdict.REVIVE, Verdict.RETIRE, Verdict.ABSORB, Verdict.HOLD,
    )
)  # fmt: skip
"""What people want to know of once it is committed."""
TROUBLE = frozenset((Verdict.ERROR, Verdict.FROZEN))
_WARNINGS = frozenset((Verdict.ROLLBACK, Verdict.HOLD, *TROUBLE))
MOST = 100
"""Events of one pass; a breaker stops what would need more."""
BUDGET = 10.0
"""Seconds that telling may take."""
REFRESH = 300.0
"""Seconds between two writings of an Event that counts."""
FORGET = 3600.0
"""As long as the API server keeps Events."""
_NOTE = 1024


@dataclass(frozen=True, slots=True)
class _Told:
    """What there is to tell of one unit."""

    where: Where
    decision: Decision
    stored: Stored


@dataclass(slots=True)
class _Series:
    """One Event that may be told again."""

    name: str
    namespace: str
    count: int
    written: float
    seen: float


class Events(Listener):
    """Tells the API servers of clusters what was decided there."""

    def __init__(
        self,
        kubes: Mapping[str, Kube],
        instance: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._kubes = kubes
        self._instance = instance[:128]
        self._clock = clock
        self._commits: dict[Where, str] = {}
        self._told: list[_Told] = []
        self._series: dict[tuple[str, ...], _Series] = {}

    def started(self, this: Pass) -> None:
        self._commits, self._told = {}, []

    def written(self, commit: Commit) -> None:
        if not commit.pull_request:
            self._commits |= dict.fromkeys(commit.units, commit.id)

    def decided(
        self, where: Where, decision: Decision, stored: Stored | None, seen: Observation | None
    ) -> None:
        if stored is not None and decision.verdict in (DONE | TROUBLE):
            self._told.append(_Told(where, decision, stored))

    def ended(self, this: Pass, now: float, waiting: int) -> None:
        """Tell what is worth it. Raises what an API server says, when the rest is told."""
        end = self._clock() + BUDGET
        errors: list[Exception] = []
        for cluster, kube in self._kubes.items():
            mine = [one for one in self._told if one.where[1] == cluster and self._is_news(one)]
            if not mine:
                continue
            try:
                objects = gati_objects(kube)
                for one in mine[:MOST]:
                    if self._clock() > end:
                        break
                    self._tell(kube, objects, one)
            except Exception as error:  # noqa: BLE001 - other clusters are told all the same
                errors.append(error)
        self._forget()
        if errors:
            raise errors[0]

    def _is_news(self, one: _Told) -> bool:
        return one.decision.verdict in TROUBLE or one.where in self._commits

    # -- one Event -------------------------------------------------------------------------------

    def _tell(self, kube: Kube, objects: GatiObjects, one: _Told) -> None:
        verdict = one.decision.verdict
        trouble = verdict in TROUBLE
        note = self._note(one)
        key = (*one.where[:2], *one.where[2], str(verdict), "" if trouble else note)
        series, now = self._series.get(key), self._clock()
        if series is None:
            regarding = self._regarding(kube, objects, one)
            if regarding is not None:
                self._series[key] = self._create(kube, regarding, verdict, note)
            return
        series.count, series.seen = series.count + 1, now
        if now - series.written >= REFRESH:
            series.written = now
            change = {"series": {"count": series.count, "lastObservedTime": _micro(now)}}
            kube.patch(API, "Event", series.name, series.namespace, change)

    def _note(self, one: _Told) -> str:
        commit = self._commits.get(one.where, "")
        said = f"{one.decision.reason} (commit {commit[:12]})" if commit else one.decision.reason
        text = redact(said)
        return (
            text
            if len(text.encode()) <= _NOTE
            else text.encode()[: _NOTE - 4].decode("utf-8", "ignore") + "…"
        )

    def _regarding(self, kube: Kube, objects: GatiObjects, one: _Told) -> dict[str, Any] | None:
        """The unit's Gati object; else the Deployment of the version that it is about."""
        unit = one.stored.plan.unit
        found = objects.of(unit)
        if found is None:
            name = self._deployment(one)
            found = kube.get("apps/v1", "Deployment", name, unit.namespace) if name else None
        if found is None:
            return None
        head = found["metadata"]
        return {
            "apiVersion": found["apiVersion"],
            "kind": found["kind"],
            "name": head["name"],
            "namespace": head["namespace"],
            "uid": head["uid"],
        }

    def _deployment(self, one: _Told) -> str:
        """Of the version that moves; else of the one that serves."""
        ledger, move = one.stored.ledger, one.decision.move
        active = ledger.active if ledger is not None else None
        id = (move.version if move is not None else "") or (active.id if active else "")
        return one.stored.plan.unit.version_name(id) if id else ""

    def _create(
        self, kube: Kube, regarding: dict[str, Any], verdict: Verdict, note: str
    ) -> _Series:
        now = self._clock()
        # names of Events are those of what they are about, and something that nobody else has
        name = f"{shorten(regarding['name'], 200)}.{token_hex(8)}"
        namespace = str(regarding["namespace"])
        kube.create(
            {
                "apiVersion": API,
                "kind": "Event",
                "metadata": {"name": name, "namespace": namespace},
                "eventTime": _micro(now),
                "reportingController": CONTROLLER,
                "reportingInstance": self._instance,
                "action": "Decided",
                "reason": "".join(word.capitalize() for word in str(verdict).split()),
                "regarding": regarding,
                "note": note,
                "type": "Warning" if verdict in _WARNINGS else "Normal",
            }
        )
        return _Series(name, namespace, 1, now, now)

    def _forget(self) -> None:
        old = self._clock() - FORGET
        self._series = {key: one for key, one in self._series.items() if one.seen > old}


def _micro(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
