"""A rule of origin: which fields of a manifest it is about, and what makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gati_gitops.preview.explain.fields import Step, pattern
from gati_gitops.preview.explain.scope import Scope

Sources = tuple[str, ...]
Choose = Callable[[Scope, Any], Sources]
"""Sources that depend on more than what is written; gets the field's own value, too."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the tables."""

    steps: tuple[Step, ...]
    why: str
    sources: Sources | Choose = ()
    """Fields of the specs, strongest first; the first that somebody wrote made the field."""
    default: str = ""
    """What holds where nobody wrote any of them."""
    also: Sources | Choose = ()
    """Further fields that have a part in it."""

    def chosen(self, scope: Scope, value: Any) -> Sources:
        return self.sources(scope, value) if callable(self.sources) else self.sources

    def parts(self, scope: Scope, value: Any) -> Sources:
        return self.also(scope, value) if callable(self.also) else self.also


def rule(
    where: str, why: str, *sources: str, default: str = "", also: Sources | Choose = ()
) -> Rule:
    return Rule(pattern(where), why, sources, default, also)


def chosen(
    where: str, why: str, choose: Choose, default: str = "", also: Sources | Choose = ()
) -> Rule:
    return Rule(pattern(where), why, choose, default, also)
