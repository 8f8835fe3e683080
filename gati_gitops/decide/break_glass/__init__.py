"""Breaking the glass: what a person types when Git is down and traffic must move now."""

from __future__ import annotations

from gati_gitops.decide.break_glass.model import Command, Procedure, Stage
from gati_gitops.decide.break_glass.procedure import Contexts, break_glass

__all__ = ["Command", "Contexts", "Procedure", "Stage", "break_glass"]
