"""The tables: for every kind of object that the compiler writes, what makes each of its fields.

A table is read from its top: the first pattern that fits counts. Tests hold them to be complete
(every field of every golden tree has a rule) and true (changing the source changes the field).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gati_gitops.preview.explain.rule import Rule
from gati_gitops.preview.explain.rules import (
    engines,
    job,
    job_around,
    monitoring,
    namespaces,
    network,
    records,
    routes,
    scaling,
    workload,
)

RULES: Mapping[str, tuple[Rule, ...]] = MappingProxyType(
    {
        **workload.RULES,
        **scaling.RULES,
        **routes.RULES,
        **network.RULES,
        **monitoring.RULES,
        **namespaces.RULES,
        **engines.RULES,
        **job.RULES,
        **job_around.RULES,
        **records.RULES,
    }
)
"""By kind; what has no kind goes by the name of its file, and what differs by a name of ours."""
