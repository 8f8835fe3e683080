"""Validation of what we emit: Kubernetes' own schemas for several minors, CRDs for the rest.

A schema is compiled once into nested functions, so checking an object costs about as much as
walking it. Findings are Problems like those of ``validate``.
"""

from gati_gitops.check.custom import CustomKind, read_crds
from gati_gitops.check.objects import check_objects

__all__ = ["CustomKind", "check_objects", "read_crds"]
