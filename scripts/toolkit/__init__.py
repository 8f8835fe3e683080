"""What a component of the tools cache is, and the ways to get one."""

from pathlib import Path
from typing import Protocol

# Seconds for one run of a program: a network that hangs must not hang CI.
TIMEOUT = 1800


class ToolError(Exception):
    """One component can't be had; the text says why and what to do."""


class Component(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def pin(self) -> str:
        """All that decides the result: when it changes, the component is installed again."""

    def fill(self, stage: Path) -> None:
        """Put files into `stage` under the paths that they will have in the cache."""
