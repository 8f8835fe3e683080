"""A procedure: stages of commands, each with what it is for."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from gati_gitops.decide.drift.owners import BREAK_GLASS_MANAGER


@dataclass(frozen=True, slots=True)
class Command:
    """One call of kubectl, or of ourselves."""

    arguments: tuple[str, ...]
    why: str = ""
    program: str = "kubectl"

    def __str__(self) -> str:
        return shlex.join((self.program, *self.arguments))


@dataclass(frozen=True, slots=True)
class Stage:
    """Commands that belong together."""

    name: str
    """``look``, ``stop``, ``move``, ``check`` or ``hand back``."""
    title: str
    commands: tuple[Command, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Procedure:
    """What to do about one unit on one cluster."""

    unit: str
    environment: str
    cluster: str
    to: str
    """The version that takes the traffic."""
    left: tuple[str, ...]
    """Those that lose theirs."""
    reason: str
    stages: tuple[Stage, ...]
    refused: str = ""
    """Why traffic must not move yet; its stages say what comes first."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Writes commands for one cluster and namespace."""

    namespace: str
    context: str = ""

    def __call__(self, *arguments: str, why: str = "") -> Command:
        where = (f"--context={self.context}",) if self.context else ()
        return Command((*where, f"--namespace={self.namespace}", *arguments), why)

    def patch(self, what: str, name: str, change: Any, why: str = "") -> Command:
        """A merge patch of a mapping, or a JSON patch of a list of operations.

        Under a name of our own: Flux undoes what is written under kubectl's.
        """
        form = "json" if isinstance(change, list) else "merge"
        return self(
            "patch",
            what,
            name,
            f"--type={form}",
            f"--field-manager={BREAK_GLASS_MANAGER}",
            f"--patch={json.dumps(change, separators=(',', ':'), ensure_ascii=False)}",
            why=why,
        )

    def annotate(self, what: str, name: str, note: str, why: str = "") -> Command:
        """``key=value`` writes it, ``key-`` takes it away."""
        return self(
            "annotate",
            what,
            name,
            note,
            "--overwrite",
            f"--field-manager={BREAK_GLASS_MANAGER}",
            why=why,
        )
