"""What a unit's fate hangs on that is not its own: other clusters, other environments, the job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Key = tuple[str, str]
"""Version id and digest."""


@dataclass(frozen=True, slots=True)
class Around:
    """What is known around one unit on one cluster."""

    frozen: str = ""
    """Why nothing but a rollback may happen now: a window, in words."""
    cannot_write: str | None = ""
    """Why the job could not commit a rollback; empty: it could; None: nobody asked."""
    judged: Mapping[Key, str] = field(default_factory=dict)
    """What was rejected on sibling clusters or upstream, and where."""
    unread: str = ""
    """Whose judgement could not be read, and why; empty: all of it is known."""
    proved: Mapping[Key, str] = field(default_factory=dict)
    """What every serving cluster upstream has proved for the dwell, and by which evidence."""
    unproved: Mapping[Key, str] = field(default_factory=dict)
    """What is not proved yet, and what it waits for."""
    dwells: tuple[float, ...] = ()
    """How long environments downstream want a version to be Active here, in seconds."""
    callers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By version id: units elsewhere in Git that name it."""
    led: frozenset[Key] = frozenset()
    """What every serving cluster of the environment has Active: a standby follows."""
    left: frozenset[Key] = frozenset()
    """What every serving cluster of the environment has parked or removed."""
    standby: bool = False
    """Whether the cluster gets traffic only when another one fails."""
