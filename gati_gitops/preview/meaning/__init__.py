"""What a change means: rules that look at one unit, one cluster or the whole, and find something.

A rule is a function from what it looks at to Findings; it is named here, and its codes in
``preview/codes.py``. What it finds alike on several clusters is said once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gati_gitops.preview.meaning import (
    contracts,
    network,
    objects,
    pods,
    rbac,
    rollout,
    scaling,
    settings,
    traffic,
)
from gati_gitops.preview.meaning.scene import ClusterScene, Merged, Scene, UnitScene
from gati_gitops.preview.model import Finding

OF_UNITS: tuple[Callable[[UnitScene], Iterator[Finding]], ...] = (
    objects.removed,
    objects.recreated,
    objects.pruned,
    objects.secrets,
    pods.restarts,
    pods.images,
    pods.resources,
    pods.probes,
    pods.privileges,
    scaling.scaling,
    scaling.budgets,
    traffic.weights,
    traffic.pins,
    traffic.routes,
    network.policies,
    network.services,
    rbac.rights,
    contracts.breaking,
    rollout.findings,
)
OF_CLUSTERS: tuple[Callable[[ClusterScene], Iterator[Finding]], ...] = (
    settings.namespaces,
    settings.rights,
    settings.engines,
    contracts.definitions,
)
OF_ALL: tuple[Callable[[Scene], Iterator[Finding]], ...] = (
    settings.environments,
    settings.settings,
    contracts.problems,
)


def findings(scene: Scene, clusters: Iterable[ClusterScene]) -> tuple[Finding, ...]:
    """All that the change means, worst first."""
    merged = Merged()
    for rule in OF_ALL:
        merged.add(rule(scene))
    for cluster in clusters:
        for of_cluster in OF_CLUSTERS:
            merged.add(of_cluster(cluster))
        for unit in cluster.units:
            for of_unit in OF_UNITS:
                merged.add(of_unit(unit))
    return merged.sorted()
