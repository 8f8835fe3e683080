"""Publish: compile on top of the branch, commit, offer the rest, and say what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gati_gitops.errors import Problem
from gati_gitops.publish.prepare import Prepared, Request, Step, prepare
from gati_gitops.publish.reverts import Undone
from gati_gitops.repo.commit import Draft, Signature, Signer
from gati_gitops.repo.history import lowered
from gati_gitops.repo.repository import Repository, Tip
from gati_gitops.repo.retry import Retry
from gati_gitops.repo.trees import GitSnapshot
from gati_gitops.repo.writer import Written, write

BRANCHES = "gati/"
"""How the names of our own branches begin."""


@dataclass(frozen=True, slots=True)
class Writing:
    """Who writes, and how."""

    author: Signature
    signer: Signer | None = None
    retry: Retry = field(default_factory=Retry)
    clock: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class Published:
    """What a publish did, or would do."""

    steps: tuple[tuple[Step, str], ...]
    """Commits with their ids; without an id where nothing was written."""
    prepared: Prepared
    attempts: int = 1

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return self.prepared.warnings


def publish(
    request: Request, repository: Repository, writing: Writing, *, dry_run: bool = False
) -> Published:
    """Bring the repository to what the specs say."""
    last: list[Prepared] = []

    def propose(tip: Tip) -> Sequence[Draft]:
        last[:] = [prepared_on(request, repository, tip)]
        return [step.draft(request.root) for step in last[0].steps]

    if dry_run:
        propose(repository.tip())
        return Published(tuple((step, "") for step in last[0].steps), last[0])
    written: Written = write(
        repository,
        propose,
        author=writing.author,
        signer=writing.signer,
        retry=writing.retry,
        clock=writing.clock,
    )
    prepared = last[0]
    steps = tuple(zip(prepared.steps, written.commits, strict=True))
    return Published(steps, prepared, written.attempts)


def prepared_on(request: Request, repository: Repository, tip: Tip) -> Prepared:
    """What a publish comes to on a tip, with what people undid since our last commit."""

    def branches() -> list[GitSnapshot]:
        names = repository.branches(BRANCHES)
        return [repository.tip_of(name).snapshot(request.root) for name in names]

    return prepare(request, tip, undone_on(repository, tip, request.root), branches)


def undone_on(repository: Repository, tip: Tip, root: str) -> dict[str, Undone]:
    """Ledgers that people took back since our last commit."""
    if not tip.commit:
        return {}
    found = lowered(tip.objects, tip.commit, root=root, deepen=repository.deepen)
    return {
        path: Undone(item.highest, item.commit, item.author.name) for path, item in found.items()
    }
