"""What a change of CustomResourceDefinitions does to the objects and clients that are there.

    two sets of CRDs → paired by name → versions paired → schemas walked together → CrdChanges

Pure, and for any CRD, not only ours. A change that cannot be proved harmless is never called safe.
"""

from gati_gitops.preview.crds.compare import compare_crds
from gati_gitops.preview.crds.model import CrdChange, Level, Rule, worst

__all__ = ["CrdChange", "Level", "Rule", "compare_crds", "worst"]
