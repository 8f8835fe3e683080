"""Through what each cluster is seen: its API, the engine that syncs it, the metrics it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import ValidationError

from gati_gitops.decide.observation import Gap, Missing
from gati_gitops.emit.engines.target import RECORD, Target, recorded_target
from gati_gitops.errors import Refused
from gati_gitops.observe.engines import Elsewhere, Engines, engine_home
from gati_gitops.observe.kube import Kube
from gati_gitops.observe.kube_config import Access
from gati_gitops.observe.prometheus import Prometheus
from gati_gitops.observe.wanted import MetricsSource
from gati_gitops.output import Output
from gati_gitops.reconcile.drift.git import settings_of
from gati_gitops.reconcile.drift.look import Cluster
from gati_gitops.reconcile.drift.run import Sight
from gati_gitops.spec.metrics import MetricSource

Place = tuple[str, str]
"""Environment and cluster."""


class Sights:
    """Opens what is asked for, each cluster once; a context manager."""

    def __init__(
        self,
        output: Output,
        accesses: Mapping[str, Access],
        prometheus: Mapping[str, str] | None = None,
        *,
        traffic: bool = True,
    ) -> None:
        """``prometheus``: addresses that a person gave, by cluster; these count more."""
        self._output = output
        self._accesses = accesses
        self._prometheus = prometheus or {}
        self._traffic = traffic
        self._open: dict[str, Kube] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for kube in self._open.values():
            kube.close()

    def of(self, place: Place, now: float) -> Sight:
        """Through what a cluster is seen. What cannot be reached says so when it is asked."""
        env, cluster = place
        metrics = self._metrics(env, cluster)
        return Sight(Cluster(self._kube(cluster)), self.engines(place), metrics, now)

    def engines(self, place: Place) -> Engines | None:
        """The engine of a cluster; None if none is known."""
        target = target_at(self._output, *place)
        return self._engine(target, place[1]) if target is not None else None

    def _engine(self, target: Target, cluster: str) -> Engines:
        home = engine_home(target.here)
        kube: Kube | Missing
        if isinstance(home, Missing):
            kube = home
        elif isinstance(home, Elsewhere) and home.cluster not in self._accesses:
            hub = home.cluster
            why = f"the engine of {cluster} lives on {hub}; say --context {hub}=NAME"
            kube = Missing(Gap.ERROR, why, "the engine")
        else:
            kube = self._kube(home.cluster if isinstance(home, Elsewhere) else cluster)
        return Engines(target, self._output.keys(target.env, target.cluster), kube)

    def _metrics(self, env: str, cluster: str) -> MetricsSource | None:
        said = _settings(self._output, env, cluster).get("metrics") or {}
        if cluster in self._prometheus:
            said = {**said, "url": self._prometheus[cluster]}
        if not said or not self._traffic:
            return None
        try:
            return Prometheus(MetricSource.model_validate(said, by_alias=True))
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise Refused(
                f"overlays/{env}/project.yaml has metrics that this version does not know: {where}",
                remedy="use the version of gati-gitops that published it, or a newer one",
            ) from None

    def _kube(self, cluster: str) -> Kube:
        if cluster not in self._open:
            self._open[cluster] = Kube(self._accesses[cluster])
        return self._open[cluster]


def hubs(output: Output, places: list[Place]) -> set[str]:
    """Clusters on which the engines of these live."""
    targets = (target_at(output, *place) for place in places)
    return {target.here.hub for target in targets if target is not None and target.here.hub}


def target_at(output: Output, env: str, cluster: str) -> Target | None:
    """What the engine of a cluster is told, as it was written down."""
    project = str(settings_of(output, env).get("project", ""))
    return recorded_target(output.record(f"clusters/{cluster}/{RECORD}"), project, env, cluster)


def _settings(output: Output, env: str, cluster: str) -> Mapping[str, Any]:
    clusters = settings_of(output, env).get("clusters") or {}
    found = clusters.get(cluster) or {}
    return found if isinstance(found, dict) else {}
