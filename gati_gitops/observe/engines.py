"""How the sync engine fares with the folder that a unit is in.

The engine's objects may live on another cluster than the units: Argo CD often has one of its own.
Where that is, is a setting; what cannot be seen is said to be missing. An engine's word that all is
synced is never taken for what the cluster runs: that is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gati_gitops.decide.observation import Engine, Gap, Missing
from gati_gitops.emit.engines.roots import Root, sync_roots
from gati_gitops.emit.engines.target import Target
from gati_gitops.observe.cluster_lists import missing
from gati_gitops.observe.engines_argocd import argocd_states
from gati_gitops.observe.engines_flux import flux_states
from gati_gitops.observe.kube import Kube, KubeError
from gati_gitops.output import UnitKey
from gati_gitops.spec.sync import IN_CLUSTER, ClusterSync

SOURCE = "the engine"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The engine's objects are on another cluster."""

    cluster: str


def engine_home(here: ClusterSync) -> Elsewhere | Missing | None:
    """Where the engine's objects are; None: on the cluster that it syncs.

    Missing: nobody says, or nobody shall ask.
    """
    if here.unseen:
        why = "sync.unseen is set: the engine is not asked how it fares"
        return Missing(Gap.UNSUPPORTED, why, SOURCE)
    if here.hub is not None:
        return Elsewhere(here.hub)
    remote = here.server not in (None, IN_CLUSTER) or here.name not in (None, "in-cluster")
    if remote or here.kube_config is not None:
        return Missing(
            Gap.ERROR,
            "the engine runs on another cluster, and sync.hub does not say on which;"
            " set it to that cluster's name, or sync.unseen to judge without the engine's word",
            SOURCE,
        )
    return None


class Engines:
    """The engine of one cluster, and the folders that it syncs."""

    def __init__(self, target: Target, keys: Iterable[UnitKey], kube: Kube | Missing) -> None:
        """``keys`` are all units of the cluster: how many there are decides on the folders."""
        self.target = target
        self.engine = target.here.engine
        self.kube = kube
        roots = sync_roots(target.env, target.cluster, keys, {}, ())
        self._roots = {(root.namespace, root.unit): root for root in roots if _holds_units(root)}

    def root(self, key: UnitKey) -> Root | None:
        """The folder that a unit is synced with."""
        return self._roots.get(key) or self._roots.get((key[0], ""))

    def look(
        self, keys: Iterable[UnitKey], now: float
    ) -> Mapping[UnitKey, Engine | Missing] | Missing:
        """How it fares with each unit. Never raises for what the engine's cluster does."""
        if isinstance(self.kube, Missing):
            return self.kube
        states = flux_states if self.engine == "flux" else argocd_states
        try:
            found = states(self.kube, self.target, self._roots.values(), now)
        except KubeError as error:
            told = missing(error)
            return Missing(told.gap, told.why, SOURCE)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            why = f"the objects of {self.engine} are not as it writes them ({type(error).__name__})"
            return Missing(Gap.ERROR, why, SOURCE)
        return {key: self._of(key, found) for key in keys}

    def _of(self, key: UnitKey, found: Mapping[str, Engine]) -> Engine | Missing:
        root = self.root(key)
        if root is None:
            return Missing(Gap.NO_DATA, "no folder that is synced holds it", SOURCE)
        if root.name not in found:
            kind = "Kustomization" if self.engine == "flux" else "Application"
            why = (
                f"the cluster has no {kind} {root.name}; is clusters/{self.target.cluster} applied?"
            )
            return Missing(Gap.NO_DATA, why, SOURCE)
        return found[root.name]


def _holds_units(root: Root) -> bool:
    return bool(root.namespace) and not root.guarded
