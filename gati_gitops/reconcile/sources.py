"""Through what real clusters are seen: their APIs, the engines that sync them, their metrics.

Connections last for the life of the process; what the settings say of a cluster may change under
it, and then its sources are made anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Self

from pydantic import ValidationError

from gati_gitops.compiler.stored import Where
from gati_gitops.decide.observation import Gap, Missing
from gati_gitops.emit.engines.target import Target
from gati_gitops.errors import Misnamed
from gati_gitops.observe.cluster import Cluster
from gati_gitops.observe.cluster_handover import hand_over
from gati_gitops.observe.engines import Elsewhere, Engines, engine_home
from gati_gitops.observe.kube import Kube
from gati_gitops.observe.kube_config import Access
from gati_gitops.observe.live_revisions import Built
from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.observe.synthetic import Synthetic
from gati_gitops.observe.wanted import MetricsSource
from gati_gitops.output import UnitKey
from gati_gitops.publish.objects import Overlaid
from gati_gitops.reconcile.drift.sights import target_at
from gati_gitops.reconcile.looking import Eyes
from gati_gitops.reconcile.nudge import nudge
from gati_gitops.reconcile.places import At, Scene
from gati_gitops.redact import redact
from gati_gitops.render import render
from gati_gitops.spec.metrics import MetricSource
from gati_gitops.spec.rollout import Rollout


class Sources:
    """Opens eyes for clusters; a context manager that closes what it opened."""

    def __init__(
        self,
        accesses: Mapping[str, Access],
        environ: Mapping[str, str],
        *,
        prometheus: Mapping[str, str] | None = None,
        hubs: Collection[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._accesses = accesses
        self.judged = {name: access for name, access in accesses.items() if name not in hubs}
        """Clusters with units that are judged; on the others there are only engines."""
        self._environ = environ
        self._prometheus = dict(prometheus or {})
        self._clock = clock
        self._kubes: dict[str, Kube] = {}
        self._metrics: dict[At, tuple[object, MetricsSource | None]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for kube in self._kubes.values():
            kube.close()

    def eyes(self, scene: Scene, at: At) -> Eyes:
        """Through what a cluster is seen. Raises Misnamed where nobody said how."""
        kube = self.kube(at[1])
        engines, built = self._engines(scene, at), _built(scene, at)
        live = Cluster(kube, engines, built=built, clock=self._clock)
        return Eyes(live, self._measured(scene, at))

    def kube(self, cluster: str) -> Kube:
        if cluster not in self._accesses:
            raise Misnamed(
                f"nobody said how the cluster {cluster} is reached",
                remedy=f"--context {cluster}=NAME names the context of a kubeconfig",
            )
        if cluster not in self._kubes:
            self._kubes[cluster] = Kube(self._accesses[cluster])
        return self._kubes[cluster]

    def home(self) -> Kube:
        """The cluster that the job runs in, or the only one that it looks at."""
        if "KUBERNETES_SERVICE_HOST" in self._environ:
            return self._kubes.setdefault("", Kube(Access(in_cluster=True)))
        if len(self.judged) != 1:
            raise Misnamed(
                "which of several clusters the clocks are kept in is not said",
                remedy="keep them in a file: --clocks FILE",
            )
        return self.kube(next(iter(self.judged)))

    def tell(self, scene: Scene, wheres: Sequence[Where], commit: str) -> Sequence[str]:
        """Tell engines that there is something to sync; notes about what failed."""
        notes: list[str] = []
        for at in sorted({where[:2] for where in wheres}):
            engines = self._engines(scene, at)
            if engines is not None:
                keys = [key for env, cluster, key in wheres if (env, cluster) == at]
                notes += nudge(engines, keys, commit, now=self._clock(), environ=self._environ)
        return notes

    def hold(self, where: Where, name: str) -> int:
        """Hold the live number of pods of a Deployment; the number. Raises KubeError."""
        _, cluster, (namespace, _) = where
        return hand_over(self.kube(cluster), namespace, name)

    # -- engines ---------------------------------------------------------------------------------

    def _engines(self, scene: Scene, at: At) -> Engines | None:
        target = target_at(scene.output, *at)
        if target is None:
            return None
        return Engines(target, scene.output.keys(*at), self._home(target))

    def _home(self, target: Target) -> Kube | Missing:
        """Where the engine's own objects are."""
        home = engine_home(target.here)
        if isinstance(home, Missing):
            return home
        name = home.cluster if isinstance(home, Elsewhere) else target.cluster
        try:
            return self.kube(name)
        except Misnamed as error:
            why = f"{error.message}; {error.remedy}, or set sync.unseen to judge without its word"
            return Missing(Gap.ERROR, why, "the engine")

    # -- metrics ---------------------------------------------------------------------------------

    def _measured(self, scene: Scene, at: At) -> MetricsSource | None:
        source = self._source(scene, at)
        rollout = Rollout.model_validate(scene.output.settings(at[0]).get("rollout") or {})
        synthetic = rollout.analysis.synthetic
        known, found = self._metrics.get(at, (None, None))
        if known != (source, synthetic):
            found = Prometheus(source, environ=self._environ, clock=self._clock) if source else None
            if found is not None and synthetic is not None:
                found = Synthetic(synthetic, found, environ=self._environ, clock=self._clock)
            self._metrics[at] = ((source, synthetic), found)
        return found

    def _source(self, scene: Scene, at: At) -> MetricSource | None:
        """Where a cluster's metrics are; an address that a person gave counts more."""
        said = scene.cluster(*at).metrics
        url = self._prometheus.get(at[1])
        if url is None:
            return said
        if said is None:
            return MetricSource(url=url)
        try:  # a token must not go there in the clear
            return MetricSource.model_validate({**said.model_dump(), "url": url})
        except ValidationError as error:
            why = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise Misnamed(f"--prometheus {at[1]}={redact(url)}: {why}") from None


def _built(scene: Scene, at: At) -> Built:
    """The Deployments of a unit, as the tip builds them."""

    def built(key: UnitKey) -> dict[str, dict[str, Any]]:
        folder = "/".join(("overlays", *at, *key))
        items = render(Overlaid(scene.before), folder).objects()
        return {str(i["metadata"]["name"]): i for i in items if i["kind"] == "Deployment"}

    return built
