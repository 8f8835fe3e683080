"""What a repository's references are at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HEADS = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Heads:
    """References by name, and the branch that the repository itself calls its default."""

    refs: Mapping[str, str]
    default: str = ""

    def branch(self, name: str) -> str:
        """The commit at the tip of a branch; empty if there is no such branch."""
        return self.refs.get(f"{HEADS}{name}", "")

    def branches(self, prefix: str = "") -> dict[str, str]:
        start = f"{HEADS}{prefix}"
        return {
            name.removeprefix(HEADS): value
            for name, value in sorted(self.refs.items())
            if name.startswith(start)
        }
