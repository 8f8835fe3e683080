"""Who may write: the job's name and the number of its term, in the very tree that it writes to.

A lease in a cluster ends without the one who holds it noticing. So each job takes a term above the
one that it finds, and writes it together with its first decision, never alone. Whoever finds
another's term at its own or above has been replaced, however long ago it looked, and stops. Moving
the branch compares commits, so of two jobs that do not know of each other one is told. Each cluster
of an environment has a term of its own, since each may have a job of its own.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gati_gitops.errors import Refused
from gati_gitops.tree import header
from gati_gitops.yamlio.emit import dump

FORMAT = 1
At = tuple[str, str]
"""Environment and cluster."""
OWNER = "gati-gitops"
"""What a job is called that nobody gave a name."""


class LostFence(Refused):
    """Another job, or another process of this one, writes here."""

    def __init__(self, message: str, *, remedy: str, foreign: bool = False) -> None:
        super().__init__(message, remedy=remedy)
        self.foreign = foreign
        """It is a job of another name: no term of ours would help."""


@dataclass(frozen=True, slots=True)
class Term:
    """Whose a cluster is."""

    owner: str
    """The name of an installation: the same for all of its processes."""
    number: int
    holder: str
    """The one process that took this term."""


Terms = Mapping[str, Term]
"""By cluster of one environment."""


def fence_path(env: str) -> str:
    return f"overlays/{env}/job.yaml"


def fence_file(terms: Terms) -> bytes:
    clusters = {
        cluster: {"owner": term.owner, "term": term.number, "holder": term.holder}
        for cluster, term in sorted(terms.items())
    }
    return dump({"format": FORMAT, "clusters": clusters}, header(["the job"]))


def read_terms(said: Mapping[str, Any], env: str) -> Terms:
    """The terms that the clusters of an environment have; none where no job has written yet."""
    if not said:
        return {}
    try:
        if said["format"] != FORMAT:
            raise ValueError(said["format"])
        return {cluster: _term(term) for cluster, term in said["clusters"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Refused(
            f"{fence_path(env)} is nothing that this version of gati-gitops knows",
            remedy="use the version that wrote it, or a newer one; or restore the file from Git",
        ) from None


def _term(said: Mapping[str, Any]) -> Term:
    owner, number, holder = said["owner"], said["term"], said["holder"]
    if type(owner) is not str or type(number) is not int or type(holder) is not str:
        raise TypeError(said)
    return Term(owner, number, holder)


@dataclass(slots=True)
class Fence:
    """What one process remembers of its terms."""

    owner: str = OWNER
    take_over: bool = False
    """Whether it may replace a job of another name."""
    holder: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _terms: dict[At, int] = field(default_factory=dict)
    _ours: set[At] = field(default_factory=set)

    def admitted(self, at: At, found: Term | None) -> Term:
        """The term to write with. Raises LostFence if a cluster is another's by now."""
        env, cluster = at
        if found is not None and found.owner != self.owner:
            if not self.take_over or at in self._ours:
                raise LostFence(
                    f"{env} on {cluster} is in the hands of the job {found.owner},"
                    f" and this one is {self.owner}",
                    remedy="stop one of the two; --take-over replaces the other for good",
                    foreign=True,
                )
        elif found is not None:
            self._ours.add(at)
        mine = self._terms.setdefault(at, (found.number if found is not None else 0) + 1)
        if found is not None and found.holder != self.holder and found.number >= mine:
            raise LostFence(
                f"another process of the job {self.owner} has written to {env} on {cluster}"
                " meanwhile",
                remedy="nothing was written; the other one goes on",
            )
        return Term(self.owner, mine, self.holder)

    def renew(self) -> None:
        """Begin new terms: whoever led meanwhile leads no more."""
        self._terms.clear()
