"""What made one field of a manifest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Path = tuple[str | int, ...]


class Kind(StrEnum):
    SPEC = "spec"
    """A field that somebody wrote into the specs, gati.yaml and templates included."""
    DEFAULT = "default"
    """Nobody wrote it; a field of the specs would change it."""
    RULE = "rule"
    """The compiler's own doing, the same for everybody."""
    LEDGER = "ledger"
    """Decided by the rollout, or by a person, and kept in rollout.yaml."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A field of the specs and where it stands; line 0: it is not there, or nobody knows."""

    field: str
    file: str = ""
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one field of a manifest comes from."""

    kind: Kind
    sentence: str
    field: str = ""
    """The field of the specs that made it or, of a default, that would change it."""
    file: str = ""
    line: int = 0
    column: int = 0
    also: tuple[Cause, ...] = ()
    """Further fields that have a part in it."""

    @property
    def place(self) -> str:
        """``users.yaml:7:3``; without a line just the file."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Explained:
    """One field with its value and its origin."""

    path: str
    value: Any
    origin: Origin
