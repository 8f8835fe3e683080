"""The status of Gati objects: where a unit and its versions stand, in the words of their CRDs.

Written by server-side apply, and only when something of it is another than what stands there: a
thousand units that stand still cost one list. What counts pass by pass (requests, seconds) is no
status; metrics and logs tell it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.observation import Live, Observation, Workload
from gati_gitops.decide.verdict import Decision, Verdict
from gati_gitops.ledger.model import DEPLOYED, Entry, Ledger, Phase
from gati_gitops.ledger.stored import Stored
from gati_gitops.observe.kube import Kube
from gati_gitops.reconcile.announce import Listener, Pass
from gati_gitops.reconcile.gati_objects import GatiObjects, Object, gati_objects
from gati_gitops.redact import redact

CONDITION = "Rollout"
MANAGER = "gati-gitops-status"
MOST = 200
"""Objects that one pass writes; the others wait for the next."""
BUDGET = 20.0
"""Seconds that writing may take."""
_UNKNOWN = frozenset((Verdict.ERROR, Verdict.INCONCLUSIVE))
_STOPPED = frozenset((Verdict.HOLD, Verdict.HELD, Verdict.FROZEN))
_VERSION_PHASES = {
    Phase.STARTING: "Active",
    Phase.CANARY: "Active",
    Phase.ACTIVE: "Active",
    Phase.DRAINING: "Draining",
    Phase.PARKED: "Draining",
    Phase.REJECTED: "Draining",
    Phase.REMOVED: "Decommissioned",
}


@dataclass(frozen=True, slots=True)
class _Told:
    where: Where
    decision: Decision
    stored: Stored
    seen: Observation


class Status(Listener):
    """Writes the status of Gati objects in the clusters that have them."""

    def __init__(self, kubes: Mapping[str, Kube], clock: Callable[[], float] = time.time) -> None:
        self._kubes = kubes
        self._clock = clock
        self._told: list[_Told] = []

    def started(self, this: Pass) -> None:
        self._told = []

    def decided(
        self, where: Where, decision: Decision, stored: Stored | None, seen: Observation | None
    ) -> None:
        if stored is not None and seen is not None:
            self._told.append(_Told(where, decision, stored, seen))

    def ended(self, this: Pass, now: float, waiting: int) -> None:
        """Write what differs. Raises the first error, when the rest is written."""
        errors: list[Exception] = []
        end, left = self._clock() + BUDGET, MOST
        for cluster, kube in self._kubes.items():
            try:
                objects = gati_objects(kube)
            except Exception as error:  # noqa: BLE001 - other clusters are told all the same
                errors.append(error)
                continue
            mine = [one for one in self._told if one.where[1] == cluster]
            for item, status in self._differing(objects, mine):
                if not left or self._clock() > end or len(errors) > 3:
                    break
                left -= 1
                try:
                    self._write(kube, item, status)
                except Exception as error:  # noqa: BLE001 - one object says nothing of the others
                    errors.append(error)
        if errors:
            raise errors[0]

    def _differing(
        self, objects: GatiObjects, told: list[_Told]
    ) -> Iterator[tuple[Object, dict[str, Any]]]:
        for one in told:
            ledger, live = one.stored.ledger, one.seen.live
            if ledger is None or not isinstance(live, Live):
                continue  # what is not known is left as it was
            unit = one.stored.plan.unit
            if (item := objects.of(unit)) is not None:
                status = unit_status(item["kind"], ledger, live, one.decision)
                if _differs(item, status):
                    yield item, status
            for entry in ledger.entries:
                item = objects.version(unit, entry.id)
                if (
                    item is not None
                    and (status := version_status(entry))
                    and _differs(item, status)
                ):
                    yield item, status

    def _write(self, kube: Kube, item: Object, status: dict[str, Any]) -> None:
        now = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        written = {**status, "observedGeneration": item["metadata"].get("generation", 0)}
        if item["kind"] == "GatiVersion":
            gone = status["phase"] == "Decommissioned"
            since = item["status"].get("decommissionedAt") or now
            written |= {"decommissionedAt": since} if gone else {}
        else:
            written["lastUpdated"] = now
        for condition in written.get("conditions", ()):
            condition["lastTransitionTime"] = _since(item, condition, now)
        head = {name: item["metadata"][name] for name in ("name", "namespace")}
        whole = {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": head}
        kube.apply({**whole, "status": written}, manager=MANAGER, force=True, part="status")


# -- in the words of the CRDs --------------------------------------------------------------------


def unit_status(kind: str, ledger: Ledger, live: Live, decision: Decision) -> dict[str, Any]:
    """Of a GatiHandler or a GatiModule, without times."""
    pods = list(live.workloads.values())
    status: dict[str, Any] = {
        "phase": _phase(kind, ledger, live),
        "replicas": sum(len(one.pods) for one in pods),
        "readyReplicas": sum(one.ready for one in pods),
    }
    if kind == "GatiHandler":
        status["conditions"] = [_condition(decision)]
    return status


def version_status(entry: Entry) -> dict[str, Any]:
    """Of a GatiVersion; nothing while it waits."""
    phase = _VERSION_PHASES.get(entry.phase)
    return {"phase": phase} if phase else {}


def _phase(kind: str, ledger: Ledger, live: Live) -> str:
    if kind == "GatiHandler" and not any(e.phase in DEPLOYED for e in ledger.entries):
        gone = any(entry.phase is Phase.REMOVED for entry in ledger.entries)
        return "Decommissioned" if gone else "Pending"
    if kind == "GatiHandler" and ledger.retiring and not _serves(live):
        return "Decommissioned"
    if _serves(live):
        return "Running"
    trouble = any(one.stalled or any(pod.waiting for pod in one.pods) for one in _wanted(live))
    return "Failed" if trouble else "Pending"


def _serves(live: Live) -> bool:
    return any(one.ready for one in live.workloads.values())


def _wanted(live: Live) -> Iterator[Workload]:
    return (one for one in live.workloads.values() if one.desired)


def _condition(decision: Decision) -> dict[str, Any]:
    verdict = decision.verdict
    status = "Unknown" if verdict in _UNKNOWN else "False" if verdict in _STOPPED else "True"
    return {
        "type": CONDITION,
        "status": status,
        "reason": "".join(word.capitalize() for word in str(verdict).split()),
        "message": redact(decision.reason)[:1024],
    }


def _differs(item: Object, status: dict[str, Any]) -> bool:
    """Whether something of it is another than what stands there; words alone are no reason."""
    stands = item["status"]
    plain = {name: value for name, value in status.items() if name != "conditions"}
    if any(stands.get(name) != value for name, value in plain.items()):
        return True
    known = {c.get("type"): (c.get("status"), c.get("reason")) for c in _conditions(item)}
    said = status.get("conditions", ())
    return any(known.get(c["type"]) != (c["status"], c["reason"]) for c in said)


def _since(item: Object, condition: dict[str, Any], now: str) -> str:
    """When it became so: as long as the status is the same, as before."""
    for one in _conditions(item):
        same = (one.get("type"), one.get("status")) == (condition["type"], condition["status"])
        if same and one.get("lastTransitionTime"):
            return str(one["lastTransitionTime"])
    return now


def _conditions(item: Object) -> list[dict[str, Any]]:
    found = item["status"].get("conditions")
    return found if isinstance(found, list) else []
