"""Where a field of a manifest comes from: a field of the specs, a default, a rule or the ledger.

    object → table of its kind → first pattern that fits → sources, strongest first → place

Nothing is tried out and nothing is recorded while compiling. The tables say what the builders do,
and tests hold them to it: every field has a rule, and changing what a rule names changes the field.
"""

from gati_gitops.preview.explain.fields import BadField, find, leaves, show
from gati_gitops.preview.explain.model import Cause, Explained, Kind, Origin
from gati_gitops.preview.explain.origins import origin, origins
from gati_gitops.preview.explain.scope import Explainer, Scope

__all__ = [
    "BadField",
    "Cause",
    "Explained",
    "Explainer",
    "Kind",
    "Origin",
    "Scope",
    "find",
    "leaves",
    "origin",
    "origins",
    "show",
]
