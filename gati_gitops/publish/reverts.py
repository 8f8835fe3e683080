"""What a person has undone stays undone.

A ledger whose number fell was reverted by hand, and that is a decision: its content holds, under a
number above all before, and the unit stands still until somebody releases it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gati_gitops.errors import Refused
from gati_gitops.ledger.fold import TakenBack
from gati_gitops.ledger.store import dump_ledger
from gati_gitops.ledger.stored import Stored, recovered
from gati_gitops.output import Output, UnitKey
from gati_gitops.tree import Changes, Snapshot


@dataclass(frozen=True, slots=True)
class Undone:
    """A ledger that a person took back."""

    highest: int
    """The highest number that it ever had."""
    commit: str
    author: str

    @property
    def reason(self) -> str:
        return f"reverted by {self.author} in {self.commit[:12]}"

    @property
    def deletion(self) -> str:
        return f"deleted by {self.author} in {self.commit[:12]}"


@dataclass(frozen=True, slots=True)
class Adopted:
    """Ledgers that say what a person decided, by environment."""

    changes: Mapping[str, Changes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    gone: Mapping[tuple[str, str, UnitKey], TakenBack] = field(default_factory=dict)
    """Units that went altogether."""

    def all(self) -> Changes:
        return {path: c for changes in self.changes.values() for path, c in changes.items()}


def adopt(before: Snapshot, undone: Mapping[str, Undone]) -> Adopted:
    """The ledgers to write for what was undone; ``undone`` is by path of the ledger."""
    if not undone:
        return Adopted()
    output = Output(before)
    changes: dict[str, Changes] = {}
    notes: list[str] = []
    for path, env, content, note in _adopted(output, undone):
        changes.setdefault(env, {})[path] = content
        notes.append(note)
    return Adopted(changes, tuple(notes), dict(_gone(output, undone)))


def _gone(
    output: Output, undone: Mapping[str, Undone]
) -> Iterator[tuple[tuple[str, str, UnitKey], TakenBack]]:
    for path, found in undone.items():
        _, env, cluster, namespace, folder, _ = path.split("/")
        if output.read(f"{path.rpartition('/')[0]}/unit.yaml") is None:
            yield (env, cluster, (namespace, folder)), TakenBack(found.highest, found.reason)


def _adopted(output: Output, undone: Mapping[str, Undone]) -> Iterator[tuple[str, str, bytes, str]]:
    for path, found in sorted(undone.items()):
        _, env, cluster, namespace, folder, _ = path.split("/")
        stored = _read(output, env, cluster, (namespace, folder))
        if stored is None:
            continue
        ledger = stored.ledger or recovered(stored)
        why = found.reason if stored.ledger else f"its ledger was {found.deletion}"
        hold = ledger.hold if stored.ledger and ledger.hold else why
        seq = max(found.highest, ledger.seq) + 1
        ledger = replace(ledger, seq=seq, key=f"undo-{found.commit[:7]}", hold=hold)
        fresh = dump_ledger(ledger, stored.plan.files)
        content = output.with_comments(path, fresh) if stored.ledger else fresh
        yield path, env, content, f"{stored.plan.unit} in {env} on {cluster}: held: {hold}"


def _read(output: Output, env: str, cluster: str, key: UnitKey) -> Stored | None:
    """A unit; None if it is gone, or for those to refuse who need what nobody can read."""
    try:
        return output.unit(env, cluster, key)
    except Refused:
        return None
