"""gati.yaml: the settings of a project. All of it has defaults; the file itself is optional."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gati_gitops.spec.common import (
    API_VERSION,
    DnsLabel,
    Duration,
    LabelKey,
    LabelValue,
    Model,
)
from gati_gitops.spec.monitoring import Monitoring
from gati_gitops.spec.network import Network
from gati_gitops.spec.policy import Policies
from gati_gitops.spec.publishing import Commits, DeletionBudget, Modes, PullRequests
from gati_gitops.spec.routing import Routing, misfit
from gati_gitops.spec.sync import ClusterSync, Sync
from gati_gitops.spec.workload import Defaults

Strategy = Literal["manual", "canary", "blue-green", "direct"]
Revisions = Literal["roll", "refuse", "any"]
Step = Annotated[int, Field(ge=1, le=100)]


class Cluster(Model):
    """One place where an environment runs."""

    role: Literal["serving", "standby"] = "serving"
    routing: Routing | None = None
    sync: ClusterSync | None = None


class Rollout(Model):
    """How a new version gets its traffic."""

    strategy: Strategy = "manual"
    steps: list[Step] = Field(default_factory=lambda: [10, 50, 100], min_length=1, max_length=100)

    @model_validator(mode="after")
    def _steps_rise(self) -> Self:
        if any(a >= b for a, b in zip(self.steps, self.steps[1:], strict=False)):
            raise ValueError(
                f"steps must rise: {self.steps}; write them in order, such as [10, 50, 100]"
            )
        if self.steps[-1] != 100:
            raise ValueError("the last step must be 100; add it")
        return self


class Environment(Model):
    """A stage, and the clusters that are it."""

    clusters: dict[DnsLabel, Cluster] = Field(min_length=1)
    routing: Routing = Field(default_factory=Routing)
    rollout: Rollout | None = None
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
