"""Units, decisions and observations to tell of."""

from __future__ import annotations

from functools import cache

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.observation import Engine, EngineState, Live, Observation, Pod, Workload
from gati_gitops.decide.verdict import Decision, Move, Verdict
from gati_gitops.ledger.model import Entry, Ledger, Phase
from gati_gitops.ledger.stored import Stored
from gati_gitops.output import Output
from gati_gitops.tree import MemorySnapshot
from tests.compile.kit import compiled, document, handler

WHERE: Where = ("default", "in-cluster", ("shop", "handler-users"))
MODULE: Where = ("default", "in-cluster", ("shop", "module-pool"))


@cache
def _output(namespace: str) -> Output:
    pool = {"moduleName": "pool", "moduleType": "node", "runtime": "node:20", "replicas": 1,
            "image": "ghcr.io/acme/pool:1.0.0", "port": 50051, "version": "v1"}  # fmt: skip
    module = document("GatiModule", "pool", pool, namespace)
    files = {"u.yaml": handler(namespace=namespace), "m.yaml": module}
    return Output(MemorySnapshot(compiled(files).tree))


def stored(
    where: Where = WHERE, *entries: tuple[str, Phase, int], retiring: bool = False
) -> Stored:
    """The unit as it is compiled, with a ledger of our own."""
    found = _output(where[2][0]).unit(*where)
    assert found is not None
    made = tuple(Entry(id, "digest", phase, weight) for id, phase, weight in entries)
    given = made or (Entry("v1", "digest", Phase.ACTIVE, 100),)
    return Stored(found.plan, Ledger(1, "key", "v1", retiring=retiring, entries=given))


def decision(verdict: Verdict, reason: str = "because", **more: object) -> Decision:
    return Decision(verdict, reason, **more)  # type: ignore[arg-type]


def move(version: str = "v1") -> Move:
    return Move(Verdict.ADVANCE, version)


def seen(ready: int = 2, desired: int = 2, waiting: str = "", stalled: str = "") -> Observation:
    pods = tuple(Pod(f"p{n}", n < ready, waiting=waiting) for n in range(desired))
    workload = Workload(desired, ready, settled=True, stalled=stalled, pods=pods)
    live = Live(1.0, {"handler-users-v1": workload}, None, {}, Engine(EngineState.SYNCED))
    return Observation(live, {})
