"""Whether something that was sent has arrived, found out by reading alone."""

from __future__ import annotations

from collections import deque

from gati_gitops.repo.commit import Commit, read_commit, trailers
from gati_gitops.repo.objects import Missing
from gati_gitops.repo.repository import Repository, Tip

DECISION = "Gati-Decision"
LIMIT = 1000
"""So many commits may have come on top meanwhile; more do not come within a time-out."""


def landed(repository: Repository, tip: Tip, commit: str, base: str) -> bool:
    """Whether a commit made on a base is in a tip's history, or its decision under another id."""
    if tip.commit in (commit, base):
        return tip.commit == commit
    decision = trailers(read_commit(tip.objects, commit).message).get(DECISION)
    waiting, seen = deque([tip.commit]), {base, ""}
    while waiting and len(seen) < LIMIT:
        id = waiting.popleft()
        if id == commit:
            return True
        if id in seen:
            continue
        seen.add(id)
        found = read_commit(tip.objects, id)
        if decision and trailers(found.message).get(DECISION) == decision:
            return True
        waiting += _parents(repository, tip, found)
    return False


def _parents(repository: Repository, tip: Tip, commit: Commit) -> tuple[str, ...]:
    """The parents of a commit, which can then be read."""
    try:
        for parent in commit.parents:
            read_commit(tip.objects, parent)
    except Missing:
        repository.deepen(commit.id)
    return commit.parents
