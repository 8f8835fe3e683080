"""What a repository's references are at one moment, and how one is to move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Heads:
    """References by name, and the branch that the repository itself calls its default."""

    refs: Mapping[str, str]
    default: str = ""

    def ref(self, name: str) -> str:
        """The commit that a reference is at; empty if there is none of this name."""
        return self.refs.get(name, "")

    def branch(self, name: str) -> str:
        return self.ref(f"{HEADS}{name}")

    def branches(self, prefix: str = "") -> dict[str, str]:
        """The tips of all branches that begin like this."""
        start = f"{HEADS}{prefix}"
        return {
            name.removeprefix(HEADS): value
            for name, value in sorted(self.refs.items())
            if name.startswith(start)
        }


@dataclass(frozen=True, slots=True)
class Move:
    """A reference from the commit that it must be at to the one that it shall be at.

    Empty means that it is not there: a move from nothing makes it, one to nothing takes it away.
    """

    ref: str
    old: str
    new: str
    force: bool = False
    """Whether ``new`` may leave history behind that ``old`` had."""
