"""gati.yaml: the settings of a project. All of it has defaults; the file itself is optional."""

from __future__ import annotations

from typing import Literal, Self, TypeVar

from pydantic import ConfigDict, Field, model_validator

from gati_gitops.spec.common import (
    API_VERSION,
    DnsLabel,
    Duration,
    LabelKey,
    LabelValue,
    Model,
)
from gati_gitops.spec.drift import DriftPolicy
from gati_gitops.spec.job import Job
from gati_gitops.spec.metrics import MetricSource
from gati_gitops.spec.monitoring import Monitoring
from gati_gitops.spec.network import Network
from gati_gitops.spec.policy import Policies
from gati_gitops.spec.publishing import Commits, DeletionBudget, Modes, PullRequests
from gati_gitops.spec.rollout import Decommission, Freeze, Rollout, Strategy
from gati_gitops.spec.routing import Routing, misfit
from gati_gitops.spec.sync import ClusterSync, Sync
from gati_gitops.spec.workload import Defaults, Resources

Revisions = Literal["roll", "refuse", "any"]

__all__ = [
    "Cluster", "Environment", "GatiProject", "Output", "ProjectSpec", "Promotion", "Revisions",
    "Rollout", "Strategy", "default_project",
]  # fmt: skip


class Cluster(Model):
    """One place where an environment runs."""

    role: Literal["serving", "standby"] = "serving"
    routing: Routing | None = None
    sync: ClusterSync | None = None
    metrics: MetricSource | None = Field(
        None, description="where the job reads metrics; without it nothing is judged by them"
    )
    freeze: list[Freeze] = Field(
        default_factory=list, max_length=64, description="besides those of the rollout"
    )
    job: Job | None = Field(None, description="laid over the environment's")


class Environment(Model):
    """A stage, and the clusters that are it."""

    clusters: dict[DnsLabel, Cluster] = Field(min_length=1)
    routing: Routing = Field(default_factory=Routing)
    rollout: Rollout | None = Field(None, description="laid over the project's")
    decommission: Decommission | None = Field(None, description="laid over the project's")
    revisions: Revisions = "roll"
    on_delete: Literal["drain", "immediate"] = "drain"
    modes: Modes = Field(default_factory=Modes)
    deletion_budget: DeletionBudget | None = Field(None, description="default: the project's")
    protected: bool = Field(
        False, description="a breaking change of CRDs waits for an approval here"
    )
    network: Network | None = Field(None, description="laid over the project's")
    registries: dict[str, str] = Field(
        default_factory=dict, description="image prefix to the registry that serves it here"
    )
    policies: Policies = Field(
        default_factory=Policies, description="laid over the project's policies"
    )
    drift: DriftPolicy = Field(
        "report", description="what follows when a cluster or a file is not as decided"
    )
    job: Job | None = Field(None, description="laid over the project's")

    @model_validator(mode="after")
    def _routing_fits_the_provider(self) -> Self:
        if why := misfit(self.routing, self.routing.provider):
            raise ValueError(f"{why}; remove it")
        for name, cluster in self.clusters.items():
            own = cluster.routing
            if own is None:
                continue
            said = own if "provider" in own.model_fields_set else self.routing
            if why := misfit(own, said.provider):
                raise ValueError(f"cluster {name}: {why}; remove it")
        return self


class Promotion(Model):
    """What must have happened elsewhere before a version enters an environment."""

    after: DnsLabel
    dwell: Duration = "24h"


class Output(Model):
    """Where the compiled tree lives in its repository."""

    root: str = Field(
        ".", pattern=r"^(\.|[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)$"
    )


class ProjectSpec(Model):
    """Everything that is about the project and not about one unit."""

    source: DnsLabel | None = Field(None, description="default: the project's name")
    output: Output = Field(default_factory=Output)
    sync: Sync | None = Field(None, description="without it nothing is written for engines")
    network: Network = Field(default_factory=Network)
    defaults: Defaults = Field(default_factory=Defaults)
    environments: dict[DnsLabel, Environment] = Field(min_length=1)
    rollout: Rollout = Field(default_factory=Rollout)
    decommission: Decommission = Field(default_factory=Decommission)
    promotion: dict[DnsLabel, Promotion] = Field(default_factory=dict)
    commits: Commits = Field(default_factory=Commits)
    pull_requests: PullRequests = Field(default_factory=PullRequests)
    deletion_budget: DeletionBudget = Field(default_factory=DeletionBudget)
    policies: Policies = Field(
        default_factory=Policies, description="rules that every unit must keep to"
    )

    monitoring: Monitoring | None = Field(
        None, description="without it nothing is written for Prometheus and Grafana"
    )
    job: Job | None = Field(None, description="without it nothing is deployed that watches")

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        owner: dict[str, str] = {}
        for env, settings in self.environments.items():
            for cluster in settings.clusters:
                if cluster in owner:
                    raise ValueError(
                        f"cluster {cluster} is in {owner[cluster]} and in {env}; rename one"
                    )
                owner[cluster] = env
                if settings.clusters[cluster].sync is not None and self.sync is None:
                    raise ValueError(
                        f"cluster {cluster} has a sync engine, but there is no repository to sync;"
                        " add spec.sync.repository"
                    )
        for env, rule in self.promotion.items():
            for name in (env, rule.after):
                if name not in self.environments:
                    raise ValueError(
                        f"promotion names the environment {name}, which is not there; "
                        "add it to spec.environments"
                    )
            seen, at = {env}, rule.after
            while at in self.promotion:
                if at in seen:
                    raise ValueError(f"promotion goes in a circle through {at}; break it")
                seen.add(at)
                at = self.promotion[at].after
            if at == env:
                raise ValueError(f"promotion goes in a circle through {at}; break it")
        return self

    @model_validator(mode="after")
    def _job_can_run(self) -> Self:
        for env, settings in self.environments.items():
            for cluster, here in settings.clusters.items():
                job = self.job_of(env, cluster)
                sync = here.sync or ClusterSync()
                if job is None:
                    continue
                if job.image is None:
                    raise ValueError(
                        f"the job on {cluster} has no image; add job.image, the one that was built"
                        " with the Dockerfile of gati-gitops"
                    )
                if job.repository is None and self.sync is None:
                    raise ValueError(
                        f"the job on {cluster} has no repository to write to; add job.repository,"
                        " or sync.repository"
                    )
                if self.sync is not None and sync.remote and not sync.unseen:
                    _engine_in_sight(cluster, sync, job)
        return self

    def job_of(self, env: str, cluster: str) -> Job | None:
        """What watches a cluster; None where nothing does."""
        settings = self.environments[env]
        said = [self.job, settings.job, settings.clusters[cluster].job]
        if said == [None, None, None]:
            return None
        job = Job()
        for layer in said:
            job = _laid_over(job, layer)
        return job if job.enabled else None

    def rollout_of(self, env: str) -> Rollout:
        """How new versions get their traffic in an environment."""
        return _laid_over(self.rollout, self.environments[env].rollout)

    def decommission_of(self, env: str) -> Decommission:
        """When versions may go there."""
        return _laid_over(self.decommission, self.environments[env].decommission)


def _engine_in_sight(cluster: str, sync: ClusterSync, job: Job) -> None:
    """Without the engine's word nothing advances, so a job that can't have it is of no use."""
    if sync.hub is None:
        raise ValueError(
            f"the engine that syncs {cluster} runs elsewhere, and the job asks it how it fares;"
            " add sync.hub, the cluster that it runs on, or sync.unseen: true to do without"
        )
    if job.secrets.engine is None:
        raise ValueError(
            f"the engine that syncs {cluster} is on {sync.hub}, which the job there can't reach;"
            " add job.secrets.engine, a Secret with a kubeconfig, or sync.unseen: true"
        )


Settings = TypeVar("Settings", bound=Model)


def _laid_over(base: Settings, own: Settings | None) -> Settings:
    """What an environment says itself counts; what it leaves out is the project's."""
    if own is None:
        return base
    said = {name: getattr(own, name) for name in own.model_fields_set}
    for name, value in said.items():
        below = getattr(base, name)
        # resources go together: a request of one place may be above the limit of another
        if isinstance(value, Model) and below is not None and not isinstance(value, Resources):
            said[name] = _laid_over(below, value)
    return base.model_copy(update=said)


class ProjectMetadata(Model):
    """A project needs a name and nothing else."""

    model_config = ConfigDict(extra="ignore")

    name: DnsLabel
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)


class GatiProject(Model):
    """The settings document."""

    api_version: Literal["gati.dev/v1alpha1"] = API_VERSION
    kind: Literal["GatiProject"] = "GatiProject"
    metadata: ProjectMetadata
    spec: ProjectSpec


def default_project() -> GatiProject:
    """What holds where there is no gati.yaml: one environment, one cluster, weights by hand."""
    return GatiProject(
        metadata=ProjectMetadata(name="default"),
        spec=ProjectSpec(environments={"default": Environment(clusters={"in-cluster": Cluster()})}),
    )
