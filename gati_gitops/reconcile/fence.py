"""Who may write: the job's name and the number of its term, in the very tree that it writes to.

A lease in a cluster ends without the one who holds it noticing. So each job takes a term above the
one that it finds, and writes it together with its first decision, never alone. Whoever finds
another's term at its own or above has been replaced, however long ago it looked, and stops. Moving
the branch compares commits, so of two jobs that do not know of each other one is told.
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
OWNER = "gati-gitops"
"""What a job is called that nobody gave a name."""


class LostFence(Refused):
    """Another job writes here."""


@dataclass(frozen=True, slots=True)
class Term:
    """Whose an environment is."""

    owner: str
    """The name of an installation: the same for all of its processes."""
    number: int
    holder: str
    """The one process that took this term."""


def fence_path(env: str) -> str:
    return f"overlays/{env}/job.yaml"


def fence_file(term: Term) -> bytes:
    data = {
        "format": FORMAT,
        "owner": term.owner,
        "term": term.number,
        "holder": term.holder,
    }
    return dump(data, header(["the job"]))


def read_term(said: Mapping[str, Any], env: str) -> Term | None:
    """The term that an environment has; None if no job has written there yet."""
    if not said:
        return None
    owner, number, holder = said.get("owner"), said.get("term"), said.get("holder", "")
    texts = isinstance(owner, str) and isinstance(holder, str)
    if said.get("format") != FORMAT or not texts or type(number) is not int:
        raise Refused(
            f"{fence_path(env)} is nothing that this version of gati-gitops knows",
            remedy="use the version that wrote it, or a newer one; or restore the file from Git",
        )
    return Term(str(owner), number, str(holder))


@dataclass(slots=True)
class Fence:
    """What one process remembers of its terms, by environment."""

    owner: str = OWNER
    take_over: bool = False
    """Whether it may replace a job of another name."""
    holder: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _terms: dict[str, int] = field(default_factory=dict)
    _ours: set[str] = field(default_factory=set)

    def admitted(self, env: str, found: Term | None) -> Term:
        """The term to write with. Raises LostFence if the environment is another's by now."""
        if found is not None and found.owner != self.owner:
            if not self.take_over or env in self._ours:
                raise LostFence(
                    f"{env} is in the hands of the job {found.owner}, and this one is {self.owner}",
                    remedy="stop one of the two; --take-over replaces the other for good",
                )
        elif found is not None:
            self._ours.add(env)
        mine = self._terms.setdefault(env, (found.number if found is not None else 0) + 1)
        if found is not None and found.holder != self.holder and found.number >= mine:
            raise LostFence(
                f"another process of the job {self.owner} has written to {env} meanwhile",
                remedy="nothing was written; the other one goes on",
            )
        return Term(self.owner, mine, self.holder)

    def renew(self) -> None:
        """Begin new terms: whoever led meanwhile leads no more."""
        self._terms.clear()
